#!/usr/bin/env bash
# Replicas "auto": two workers begin, two more join, the leader is killed, one worker is killed, one is drained; on
# machines that share nothing. The number of replicas follows, each window is trained once, and what was decided
# is enough to train the same weights again with nobody coming or going.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash

text >"$work/text.txt"
gpt2 --layers 2 --heads 2 --width 64 --block 64 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
check "a run is prepared" "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte \
    --workers 2 --replicas auto --max-replicas 8 --shrink-s 2 --inner-steps 25 --rounds 100000 --validate-every 0 \
    --schedule constant --lr 3e-3 --checkpoint-every 5 --checkpoint-keep 0 --run-dir "$work/run" --prepare-only
check "memory is no place for states that move" refuses "keep_state must be local or object" \
    "$bin/pcp-shepherd" --run-dir "$work/no" --config "$work/run/run.json" --keep-state memory

lead() { # NAME [FLAGS]: a shepherd of this cluster
    local name=$1
    shift
    serve "$name" shepherd --run-dir "$dir/$name" --bind "ipc://$dir/$name.control" --id "$name" \
        --config "$work/run/run.json" --checkpoint "$dir/checkpoint" --store "sqlite://$dir/pcp.db" \
        --keep-state local --heartbeat-ms 100 --timeout-ms $((1500 * slow)) --leader-ttl-ms $((600 * slow)) "$@"
}
machine() { # NAME: a worker with directories of its own
    serve "$1" worker --shepherd "$control" --id "$1" --cache-dir "$dir/$1.cache" --threads 1
}
ask_store() { sqlite3 "$dir/pcp.db" ".timeout 10000" "$1"; }
is() { [ "$(ask_store "$1")" = "$2" ] || { ask_store "$1"; return 1; }; }
committed() { ask_store "SELECT count(*) FROM round WHERE state = 'committed'"; }
# The last decision is of so many replicas, and a round with so many leases is committed.
has() {
    is "SELECT replicas FROM pcp_replicas ORDER BY round DESC LIMIT 1" "$1" &&
        is "SELECT count(*) FROM lease WHERE round = (SELECT max(round) FROM round WHERE state = 'committed')" "$1"
}
passes() { [ "$(committed)" -ge "$1" ]; }

cluster "$work/live" "ipc://$work/live/s0.control,ipc://$work/live/s1.control"
lead s0
check "the first shepherd leads" eventually 60 event s0 event=leads
lead s1
aggregator a0
compiler c0
machine w0
machine w1
check "two workers: two replicas" eventually 60 has 2
machine w2
machine w3
check "two more: four" eventually 60 has 4
slay KILL s0
wait "${pid[s0]}" 2>/dev/null
unset 'pid[s0]'
check "the leader is killed: another leads" eventually 60 event s1 event=leads
n=$(committed)
check "rounds pass" eventually 60 passes $((n + 2))
check "with four replicas, as before" eventually 60 has 4
slay KILL w3
wait "${pid[w3]}" 2>/dev/null
unset 'pid[w3]'
check "a worker is killed: three after a while" eventually 60 has 3
check "why is in the store" is "SELECT count(*) > 0 FROM pcp_replicas WHERE replicas = 3 AND reason LIKE '3 workers are there, for % s too few'" 1
n=$(committed)
last_saved() { ask_store "SELECT coalesce(max(round), 0) FROM pcp_checkpoints WHERE state = 'good'"; }
is_saved() { [ "$(last_saved)" -gt "$n" ]; }
check "a checkpoint of a round with three" eventually 60 is_saved
saved=$(last_saved)
slay TERM w2
check "a worker is drained" leaves w2
check "two after a while" eventually 60 has 2
n=$(committed)
check "rounds pass" eventually 60 passes $((n + 3))
slay TERM s1
check "the run is stopped" leaves s1 3
check "no window was trained twice, none was skipped" is "SELECT sum(doubled_windows) + sum(missing_windows) FROM pcp_ledger" 0
check "none is left over" is "SELECT count(*) FROM returned" 0
# On a slow machine the two come one after the other, or one is missed for a while.
check "each change is a row" is "SELECT group_concat(replicas, ' ') GLOB '2*4*3*2' FROM (SELECT replicas FROM pcp_replicas ORDER BY round)" 1
decisions=$(ask_store "SELECT 'INSERT INTO replicas VALUES (' || quote(run) || ', ' || (round - 1) || ', ' || replicas || ', ''again'', 1, 0);' FROM pcp_replicas WHERE round <= $saved")
live=$(ask_store "SELECT path FROM pcp_checkpoints WHERE state = 'good' AND round = $saved")
dismiss

# --- two workers throughout, the same decisions ---
cluster "$work/calm" "ipc://$work/calm/s0.control"
"$bin/pcp" db migrate --store "sqlite://$dir/pcp.db" >/dev/null
check "what was decided, in another store" ask_store "$decisions"
lead s0 --rounds "$saved" --shrink-s 1000000 # from the last of them on nothing changes
aggregator a0
compiler c0
machine w0
machine w1
check "two workers train it" eventually 120 event s0 event=run_done
check "with the same numbers of replicas" is "SELECT count(*) FROM pcp_replicas WHERE reason <> 'again'" 0
check "the weights are the same, bit for bit" cmp "$live/model.safetensors" "$dir/checkpoint/latest/model.safetensors"
check "each window once" is "SELECT sum(doubled_windows) + sum(missing_windows) FROM pcp_ledger" 0
dismiss

check "nothing is left running" no_orphans
tap_done
