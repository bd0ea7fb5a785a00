#!/usr/bin/env bash
# Services that die, freeze, come late or are asked to leave; runs that cannot succeed. What is trained
# again from the same state under a higher fence gives the same bits as a run that nobody disturbed.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
steps=20 # per lease: long enough to be caught in

# run NAME [SHEPHERD FLAGS]: a cluster without workers
run() {
    cluster "$work/$1"
    prepare --replicas 3 --inner-steps $steps --rounds 2 || return 1
    shift
    shepherd "$@"
    aggregator a0
    compiler c0
}

saved() {
    test -s "$dir/checkpoint/latest/model.safetensors"
}

run calm --workers 3
for w in w1 w2 w3; do worker $w; done
check "an undisturbed run" ends 0
dismiss

# --- a worker is killed with a lease in hand ---
run killed --workers 4
worker w1
# shellcheck disable=SC2317 # called by eventually
joined() { event shepherd 'member_joined member=w1'; }
eventually 60 joined # first, so that it surely gets a replica
for w in w2 w3 w4; do worker $w; done
check "w1 has a lease" eventually 60 event shepherd 'event=lease .*round=0 .*worker=w1'
slay KILL w1
check "the run with a killed worker ends well" ends 0
check "its lease was given again under a higher fence" event shepherd 'event=lease_reopened round=0 .*fence=2'
check "the result is bit for bit that of the undisturbed run" same_bits
dismiss

# --- a worker freezes, is given up, and wakes up with old work ---
run frozen --workers 4
worker w1
# shellcheck disable=SC2317 # called by eventually
joined() { event shepherd 'member_joined member=w1'; }
eventually 60 joined # first, so that it surely gets a replica
for w in w2 w3 w4; do worker $w; done
check "w1 has a lease" eventually 60 event shepherd 'event=lease .*round=0 .*worker=w1'
slay STOP w1
check "the frozen worker is given up" eventually 60 event shepherd 'event=member_lost member=w1'
slay CONT w1
check "it joins again" eventually 60 event w1 'event=shepherd_lost'
check "the run with a frozen worker ends well" ends 0
check "the result is bit for bit that of the undisturbed run" same_bits
dismiss

# --- a worker joins in the middle; another one is asked to leave ---
run late --workers 1 --rounds 6 --inner-steps 10
worker w1
check "a run begins with one worker" eventually 60 event shepherd 'event=round round=1 '
worker w2
check "a worker that joins gets a lease" eventually 60 event w2 'event=lease_done'
slay TERM w1
check "a worker that is asked to leave does so" leaves w1
check "the run goes on without it" ends 0
check "its last rounds had one worker" event shepherd 'event=round round=6 .*workers=1'
dismiss

# --- the shepherd is asked to stop ---
run stopped --workers 1 --rounds 1000 --inner-steps 2
worker w1
check "a long run makes progress" eventually 60 event shepherd 'event=round round=3 '
slay TERM shepherd
check "the shepherd stops with status 3" ends 3
check "what was trained is saved" saved
check "the worker is dismissed" eventually 60 event w1 'event=dismissed'
dismiss

# --- the only copy of the parameters is lost ---
run lost --workers 1 --rounds 1000 --inner-steps 2 --shard-wait-s 1
worker w1
check "a run makes progress" eventually 60 event shepherd 'event=round round=2 '
slay KILL a0
check "without its aggregator the run fails" ends 1
check "it says why" event shepherd 'event=run_failed reason="aggregator a0'
dismiss

# --- a compiler is killed, another takes its job ---
run compilers --workers 1
slay STOP c0
worker w1
check "the job is given to the frozen compiler or waits" sleep 0.5
slay KILL c0
compiler c1
check "another compiler serves the run" ends 0
dismiss

# --- runs that cannot succeed ---
# fails NAME WORDS FLAGS...: the run ends with status 1 and these words
fails() {
    local name=$1 words=$2
    shift 2
    run "$name" --workers 1 "$@"
    worker w1
    check "$name: the run fails" ends 1
    check "$name: it says why" event shepherd "event=run_failed .*$words"
    dismiss
}

printf 'module { func.func @main() -> tensor<f32> { oops } }\n' >"$work/bad.mlir"
fails syntax 'bad.mlir:1:' --model "$work/bad.mlir"
fails vocabulary 'train.u16: token [0-9]* at place' --vocab 10
fails missing 'nowhere.u16: ' --train-tokens "$work/nowhere.u16"
fails init 'train.u16' --init "$work/calm/train.u16"
touch "$work/file"
fails unwritable "$work/file" --rounds 1 --inner-steps 1 --checkpoint "$work/file/checkpoint"

if [ "$(id -u)" = 0 ] && mkdir "$work/small" && mount -t tmpfs -o size=20k none "$work/small" 2>/dev/null; then
    fails full 'No space left' --rounds 1 --inner-steps 1 --checkpoint "$work/small/checkpoint"
    check "full: nothing half-written is left" test -z "$(ls -A "$work/small/checkpoint" 2>/dev/null)"
    umount "$work/small"
else
    skip "full: a full disk at the checkpoint" "cannot mount a small file system here"
fi

# --- parents ---
cluster "$work/orphan"
# shellcheck disable=SC2016 # expanded by the inner shell
bash -c '"$0" --shepherd ipc://nowhere --parent-death --cache-dir "$1" 2>"$1/orphan.log" & echo $! >"$1/pid"; sleep 60' \
    "$bin/pcp-worker" "$dir" &
parent=$!
check "a service starts below a parent" eventually 60 event orphan 'event=start'
kill -KILL "$parent"
wait "$parent" 2>/dev/null
check "it dies with its parent" eventually 60 not_running "$(cat "$dir/pid")"

check "nothing is left running" no_orphans
tap_done
