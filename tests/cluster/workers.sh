#!/usr/bin/env bash
# Workers that are killed, stopped or drained in the middle of a lease, on machines that share nothing: inner
# states travel by the object service. What is trained again gives the bits of an undisturbed run; a drained
# worker hands in the steps it has done.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
rounds=12 inner=10

text >"$work/text.txt"
gpt2 --layers 2 --heads 2 --width 64 --block 64 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
check "a run is prepared" "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte \
    --workers 2 --inner-steps $inner --rounds $rounds --validate-every 0 --lr 3e-3 --run-dir "$work/run" --prepare-only

machine() { # NAME: a worker with directories of its own
    serve "$1" worker --shepherd "$control" --id "$1" --cache-dir "$dir/$1.cache" --threads 1
}

# start NAME [SHEPHERD FLAGS]
start() {
    cluster "$work/$1"
    shift
    serve shepherd shepherd --run-dir "$dir" --bind "$control" --config "$work/run/run.json" \
        --checkpoint "$dir/checkpoint" --heartbeat-ms 100 --timeout-ms $((1500 * slow)) --keep-state object --workers 2 "$@"
    aggregator a0
    compiler c0
    machine w0
    machine w1
}

same_bits() {
    cmp "$work/calm/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"
}

# Round $1 (from 0) is open and this worker has a lease of it; or the run is over already.
has_lease() { event shepherd "event=lease .*round=$1 .*worker=$2" || event shepherd 'event=run_done'; }

start calm
check "an undisturbed run" ends 0
check "its leases name inner states" event w0 'event=lease_done .*round=5 .*state=[0-9a-f]{12}'
dismiss

# --- killed, each time later in a lease, and back at once as another machine ---
start killed
killed() {
    local round
    for round in 2 4 6 8; do
        eventually 60 has_lease $round w1 || return 1
        sleep "0.0$round"
        slay KILL w1
        wait "${pid[w1]}" 2>/dev/null
        rm -rf "$dir/w1.cache"
        cat "$dir/w1.log" >>"$dir/w1.lives"
        machine w1
    done
}
check "a worker is killed four times, and loses its disk" killed
check "the run ends" ends 0
check "bit for bit as the undisturbed one" same_bits
cat "$dir/w1.log" >>"$dir/w1.lives"
restored() { grep -hqE 'event=state_restored .*from=(object|file)' "$dir/w1.lives" "$dir/w0.log"; }
lost() { grep -hqE 'event=state_lost' "$dir/w1.lives" "$dir/w0.log"; }
not() { ! "$@"; }
check "it took over inner states" restored
check "none was lost" not lost
dismiss

# --- stopped, given up, and awake again ---
start stopped
stopped() {
    eventually 60 has_lease 3 w1 || return 1
    slay STOP w1
    eventually 60 event shepherd 'event=(member_lost member=w1|run_done)' || return 1
    slay CONT w1
}
check "a worker is stopped and given up" stopped
check "the run ends" ends 0
check "bit for bit as the undisturbed one" same_bits
dismiss

# --- drained in the middle of a long lease ---
long=1000
start drained --inner-steps $long --rounds 2
check "it has trained for a while" eventually 60 event w1 'event=lease_done .*round=0 '
in_round_1() { has_lease 1 w1; }
check "and is in its second lease" eventually 60 in_round_1
sleep 0.1
slay TERM w1
check "it leaves with status 0" leaves w1
in_part() {
    local steps
    steps=$(sed -n 's/.*event=lease_done .*round=1 .* steps=\([0-9]*\) .*/\1/p' "$dir/w1.log")
    grep 'event=lease_done' "$dir/w1.log"
    [ "$steps" -gt 0 ] && [ "$steps" -lt $long ]
}
check "what it had trained is handed in" in_part
check "and acknowledged" event w1 'event=leaving .*reason=.?drained.? unacknowledged=0'
check "the run goes on without it" ends 0
dismiss

check "nothing is left running" no_orphans
tap_done
