#!/usr/bin/env bash
# What the records say of a run that loses a worker, its aggregator and its leader, with nobody listening to its events:
# who was there and left, what happened, where the time went, each round's speed, and where the data is.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
rounds=12

text >"$work/text.txt"
gpt2 --layers 2 --heads 2 --width 64 --block 64 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
check "a run is prepared" "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte \
    --workers 2 --inner-steps 100 --rounds $rounds --validate-every 0 --lr 3e-3 --checkpoint-every 4 \
    --run-dir "$work/run" --prepare-only

lead() { # NAME: a shepherd of this cluster
    serve "$1" shepherd --run-dir "$dir/$1" --bind "ipc://$dir/$1.control" --id "$1" --config "$work/run/run.json" \
        --checkpoint "$dir/checkpoint" --store "sqlite://$dir/pcp.db" --keep-state local --heartbeat-ms 100 \
        --timeout-ms $((1500 * slow)) --leader-ttl-ms $((600 * slow))
}
trainer() { worker "$1" --state-dir "$dir/state"; }
ask_store() { sqlite3 "$dir/pcp.db" ".timeout 10000" "$1"; }
is() { [ "$(ask_store "$1")" = "$2" ] || { ask_store "$1"; return 1; }; }
passes() { [ "$(ask_store 'SELECT coalesce(max(round), 0) FROM pcp_loss')" -ge "$1" ]; }

cluster "$work/c" "ipc://$work/c/s0.control,ipc://$work/c/s1.control"
lead s0
check "the store is made" eventually 60 is "SELECT count(*) FROM run" 1
lead s1
aggregator a0
compiler c0
trainer w0
trainer w1
check "rounds pass" eventually 120 passes 1
check "workers are rows" is "SELECT count(*) || ' ' || min(n_starts) || ' ' || max(run) || ' ' || min(kind) FROM pcp_workers" "2 1 run worker"
check "they are idle or busy" eventually 30 is "SELECT count(*) > 0 FROM pcp_workers WHERE state = 'busy'" 1
check "in the middle of an epoch no window is twice or skipped" is "SELECT min(exactly_once) || ' ' || max(complete) FROM pcp_ledger" "1 0"
check "an operator asks for a checkpoint" "$bin/pcp" checkpoint now --shepherd "ipc://$dir/s0.control"

slay KILL w1
check "a worker that is killed is lost" eventually 30 is "SELECT state || ' ' || coalesce(run, '-') FROM pcp_workers WHERE worker = 'w1'" "lost -"
trainer w1
check "it comes again, as another process" eventually 30 is "SELECT n_starts FROM pcp_workers WHERE worker = 'w1' AND state <> 'lost'" 2
check "rounds pass" eventually 60 passes 3
slay KILL a0
sleep 0.5 # an outage that can be measured
aggregator a0
check "rounds pass" eventually 60 passes 5
held() { is "SELECT count(*) > 0 FROM lease l JOIN round o ON o.run_id = l.run_id AND o.round = l.round WHERE o.state = 'open' AND l.state = 'issued' AND l.issued_ms < (julianday('now') - 2440587.5) * 86400000.0 - 200" 1; }
check "leases are being trained" eventually 30 held
slay KILL s0
check "the stand-by takes over" eventually 60 event s1 event=resumed
check "rounds pass" eventually 90 passes 8
check "who is there again has not been started again" is "SELECT group_concat(n_starts, ' ') FROM (SELECT n_starts FROM pcp_workers WHERE state <> 'lost' ORDER BY worker)" "1 2"
check "the run ends well" eventually 120 event s1 event=run_done
eventually 30 not_running "${pid[s1]}"

check "rounds count from 1" is "SELECT min(round) || ' ' || max(round) || ' ' || count(*) FROM pcp_loss" "1 $rounds $rounds"
check "each step is an event" is "SELECT group_concat(name, ' ') FROM (SELECT DISTINCT name FROM pcp_events ORDER BY name)" \
    "checkpoint_asked member_joined member_left run_done take_over"
check "of whom, and when" is "SELECT member || ' ' || (told_at > '2020') FROM pcp_events WHERE name = 'take_over'" "s1 1"
check "once each" is "SELECT count(*) FROM pcp_events WHERE name = 'run_done'" 1
check "nobody works on the run any more" is "SELECT count(*) FROM pcp_workers WHERE run IS NOT NULL" 0
check "losses cost time" is "SELECT sum(recover_ms) >= 500 FROM pcp_round_time" 1
check "parameters down and updates up, too" is "SELECT min(transfer_ms) > 0 FROM pcp_round_time" 1
check "no part of a round's time is negative" is "SELECT min(other_ms) >= 0 AND min(total_ms) > 0 FROM pcp_round_time" 1
# What the leader said of each round's speed is what the store measured, also where another leader opened it.
check_speeds() {
    local round speed limit bad=0
    while read -r round speed; do
        limit=$(ask_store "SELECT CAST(tokens_per_second * 1.5 AS int) FROM pcp_speed WHERE round = $round")
        [ "${speed%.*}" -le "$limit" ] || { echo "round $round: $speed tokens/s, at most $limit by the store"; bad=1; }
    done < <(sed -n 's/.*event=round round=\([0-9]*\) .*tokens_per_s=\([0-9.]*\).*/\1 \2/p' "$dir/s0.log" "$dir/s1.log")
    return $bad
}
check "each round's speed is what the store measured" check_speeds
check "the run's row has its end" is "SELECT state || ' ' || rounds || ' ' || (loss > 0) || ' ' || (checkpoint <> '') || ' ' || (finished_at > started_at) FROM pcp_runs" \
    "done $rounds 1 1 1"
dismiss
check "nothing is left running" no_orphans
tap_done
