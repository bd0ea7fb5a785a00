#!/usr/bin/env bash
# Inner states that are lost: files and objects deleted, and the workers that had them in memory killed. The run
# goes back to a checkpoint by itself and ends with the weights of an undisturbed one, each window once. With
# `pcp train`; with a leader and a stand-by, the leader killed on the way back; in a cluster, the front killed on the
# way back; without any checkpoint.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
rounds=120 inner=10

text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1

# --- pcp train ---
train() { # NAME
    timeout $((300 * slow)) "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 2 \
        --threads 1 --inner-steps $inner --rounds $rounds --lr 3e-3 --validate-every 0 --checkpoint-every 5 \
        --run-dir "$work/$1" >"$work/$1.txt" 2>&1
}
parameters() {
    local bytes=$((4 * $(sed -n 's/.*: \([0-9]*\) parameters in .*/\1/p' "$work/calm.txt" | head -n 1)))
    tail -c "$bytes" "$1/checkpoint/latest/model.safetensors" | sha256sum
}
same_end() { test -s "$1/checkpoint/latest/model.safetensors" && [ "$(parameters "$work/calm")" = "$(parameters "$1")" ]; }
ask_store() { sqlite3 -cmd '.timeout 20000' "file:$1/pcp.db?mode=ro" "$2"; }

# A message of the shepherd that is not there yet; or the run is over.
logged() { grep -sqE -- "$1|event=run_done" "$log"; }
rounds_logged() { grep -sc 'event=round ' "$log"; }
further() { [ "$(rounds_logged)" -gt "$1" ] || logged 'event=run_done'; }
states_of() { # DIRECTORY: all that is kept of inner states since the last two rounds, and before
    local hash
    find "$1" -path '*state/*.safetensors' -delete
    ask_store "$1" "SELECT state_in FROM lease UNION SELECT state_out FROM lease" |
        while read -r hash; do [ -z "$hash" ] || find "$1" -name "$hash" -delete; done
}
# lose DIRECTORY: in the middle of a round, until the run had to go back
lose() {
    local i seen
    for ((i = 0; i < 20; i++)); do
        seen=$(rounds_logged)
        eventually 60 further "$seen" || return 1
        workers STOP
        sleep 0.3 # what the workers have said is written meanwhile; if not, another attempt
        states_of "$1"
        seen=$(rounds_logged)
        workers KILL
        again
        eventually 60 hit_or_missed $((seen + 1)) || return 1
        refused || continue
        stall
        eventually 60 gone_back
        return
    done
    return 1
}
refused() { grep -q 'event=work_failed .*inner state .* of replica' "$log"; }
hit_or_missed() { refused || further "$1"; }
gone_back() { grep -q 'event=rewound' "$log"; }

check "an undisturbed run ends" train calm
train lost &
running=$! log=$work/lost/logs/shepherd.log
# shellcheck disable=SC2317 # these two: called by lose
workers() { pkill "-$1" -f -- "pcp-worker .*$work/lost"; }
# shellcheck disable=SC2317
again() { true; } # their supervisor starts them
# shellcheck disable=SC2317
stall() { true; }
check "a run trains" eventually 60 logged 'event=round round=7 '
check "its inner states are lost, and it goes back" lose "$work/lost"
wait "$running"
check "it ends" test $? -eq 0
check "bit for bit as the undisturbed one" same_end "$work/lost"
check "the reason is named" grep -qE 'event=state_lost .*inner state [0-9a-f]{12} of replica [01]' "$log"
check "its owner is told" grep -qE 'back from round [0-9]+ to [0-9]+ .*checkpoint/round-.*: inner state' "$work/lost.txt"
# A state lost in the first round after a checkpoint is that round again: from and to are the same.
row="SELECT count(*) FROM pcp_rewinds WHERE from_round >= to_round AND to_round % 5 = 1 AND checkpoint LIKE '%/round-%' AND reason LIKE 'inner state%' AND done_at >= begun_at"
check "a row says from where to where, and why" test "$(ask_store "$work/lost" "$row")" -ge 1
check "no window was trained twice or skipped" test \
    "$(ask_store "$work/lost" 'SELECT sum(doubled_windows) + sum(missing_windows) FROM pcp_ledger')" = 0
check "all rounds are there" test "$(ask_store "$work/lost" "SELECT count(*) FROM round WHERE state = 'committed'")" = $rounds
not() { ! "$@"; }
check "no lease was trained without its state" not grep -qhE 'event=lease_done .*fresh=1' "$work"/lost/logs/*

# --- a leader and a stand-by; the leader dies on the way back ---
"$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 2 --inner-steps $inner \
    --rounds $rounds --validate-every 0 --lr 3e-3 --run-dir "$work/run" --prepare-only >/dev/null
lead() { # NAME [FLAGS]
    local name=$1
    shift
    serve "$name" shepherd --run-dir "$dir/$name" --bind "ipc://$dir/$name.control" --id "$name" \
        --config "$work/run/run.json" --checkpoint "$dir/checkpoint" --store "sqlite://$dir/pcp.db" \
        --keep-state object --heartbeat-ms 100 --timeout-ms $((3000 * slow)) --leader-ttl-ms $((3000 * slow)) "$@"
}
machine() { worker "$1" --state-dir "$dir/$1.state"; } # with a directory of its own
workers() {
    local one
    for one in w0 w1; do
        slay "$1" $one
        [ "$1" != KILL ] || wait "${pid[$one]}" 2>/dev/null
    done
}
again() { machine w0 && machine w1; }
ended() { not_running "${pid[$1]}"; }
over() { # NAME: that shepherd ends, with status 0
    local status=0
    eventually 120 ended "$1" || { tail -n 20 "$dir/$1.log"; return 1; }
    wait "${pid[$1]}" || status=$?
    unset "pid[$1]"
    [ "$status" -eq 0 ] || { echo "exit status $status"; tail -n 20 "$dir/$1.log"; return 1; }
}

cluster "$work/two" "ipc://$work/two/s0.control,ipc://$work/two/s1.control"
lead s0 --checkpoint-every 5
log=$dir/s0.log
check "a leader leads" eventually 60 logged event=leads
lead s1 --checkpoint-every 5
aggregator a0
compiler c0
again
check "a run trains" eventually 120 logged 'event=round round=7 '
# The aggregator does not answer any more once the lease is refused by both workers: the way back takes long.
# shellcheck disable=SC2317
refused_by_both() {
    local k
    for k in 0 1; do [ "$(grep -cE "event=work_failed .*inner state .* of replica $k" "$log")" -lt 2 ] || return 0; done
    return 1
}
# shellcheck disable=SC2317
stall() { eventually 60 refused_by_both && sleep 0.3 && slay STOP a0; }
check "its inner states and their objects are lost, and it goes back" lose "$dir"
slay KILL s0
slay CONT a0
log=$dir/s1.log
check "its leader is killed, the stand-by leads" eventually 60 logged event=leads
# shellcheck disable=SC2317
stall() { true; }
check "the run ends" over s1
echo "# the stand-by had to begin the way back again: $(grep -c 'event=rewound' "$log")"
check "bit for bit as the undisturbed one" same_end "$dir"
check "the step back was finished" test "$(ask_store "$dir" 'SELECT count(*) FROM pcp_rewinds WHERE done_at IS NULL')" = 0
check "no window was trained twice or skipped" test \
    "$(ask_store "$dir" 'SELECT sum(doubled_windows) + sum(missing_windows) FROM pcp_ledger')" = 0
dismiss

# --- a cluster; its front, and with it the run's shepherd, dies on the way back ---
cluster "$work/front" "ipc://$work/front/a,ipc://$work/front/b"
front() { # NAME
    serve "$1" shepherd --cluster --store "sqlite://$dir/pcp.db" --runs-dir "$dir/runs" --bind "ipc://$dir/$1" --id "$1" \
        --socket-dir "$dir/$1.s" --heartbeat-ms 100 --timeout-ms $((3000 * slow)) --leader-ttl-ms $((1500 * slow))
}
front a
check "a front leads" eventually 60 event a 'event=leads'
front b
aggregator a0
compiler c0
again
check "a run is submitted" timeout $((60 * slow)) "$bin/pcp" run submit "$work/model.mlir" --data "$work/text.txt" --tokenizer byte \
    --workers 2 --inner-steps $inner --rounds $rounds --lr 3e-3 --validate-every 0 --checkpoint-every 5 \
    --name lost --shepherd "$control"
log=$dir/runs/lost/shepherd.log
check "it trains" eventually 120 logged 'event=round round=7 '
# shellcheck disable=SC2317
stall() { sleep 0.3 && slay STOP a0; }
check "its inner states and their objects are lost, and it goes back" lose "$dir"
slay KILL a
slay CONT a0
# shellcheck disable=SC2317
stall() { true; }
check "the front is killed, the stand-by leads" eventually 60 event b 'event=leads runs=1'
check "the run ends well there" timeout $((120 * slow)) "$bin/pcp" run watch lost --shepherd "$control"
check "bit for bit as the undisturbed one" same_end "$dir/runs/lost"
check "the step back was finished" test "$(ask_store "$dir" 'SELECT count(*) FROM pcp_rewinds WHERE done_at IS NULL')" = 0
check "no window was trained twice or skipped" test \
    "$(ask_store "$dir" 'SELECT sum(doubled_windows) + sum(missing_windows) FROM pcp_ledger')" = 0
dismiss

# --- no checkpoint: from the beginning; and not from other values than it began with ---
cluster "$work/none" "ipc://$work/none/s0.control"
lead s0 --checkpoint-every 0
log=$dir/s0.log
aggregator a0
compiler c0
again
check "a run without checkpoints trains" eventually 60 logged 'event=round round=3 '
check "its inner states are lost, and it goes back" lose "$dir"
check "to its beginning" grep -qE 'event=rewound from=[0-9]+ to=0 checkpoint=none' "$log"
check "the run ends" over s0
check "bit for bit as the undisturbed one" same_end "$dir"
dismiss

check "nothing is left running" eventually 60 no_orphans
tap_done
