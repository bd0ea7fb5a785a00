#!/usr/bin/env bash
# Members that misbehave beside honest workers: names that are no text, targets that nobody knows, leases called
# done of which nothing was sent, errors that they say are the run's, validations that are never answered. The run
# goes on without them and ends with the bits that it has among honest members.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
gpt2 --layers 2 --heads 2 --width 64 --block 16 --vocab 256 --batch 2 >"$work/model.mlir" || exit 1

# train NAME ROUNDS: a run of two workers over its own socket
train() {
    cluster "$work/$1"
    prepare --replicas 2 --inner-steps 2 --rounds "$2" --validate-every 5 --val-fraction 0.1 || return 1
    sed -i 's/"run": "[^"]*"/"run": "same"/; s/{/{"work_wait_s": 2,/;' "$dir/run.json"
    shepherd --workers 2
    aggregator a0
    compiler c0
}
# hostile NAME FLAGS: its log is DIR/NAME.log
hostile() {
    local name=$1
    shift
    "$bin/hostile-member" --shepherd "$control" --log-level debug "$@" 2>"$dir/$name.log" &
    pid[$name]=$!
}
same_bits() {
    cmp "$work/calm/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"
}
honest() { worker w0; worker w1; }

train calm 30
honest
check "a run among honest members ends" ends 0
dismiss

train beset 30
hostile no_text --id 'x\xff\x0ay' --lease 'done'
hostile no_target --id h1 --target 'cpu:abacus'
check "an id that is no text is refused" eventually 60 event shepherd 'event=hello_refused'
check "a target that nobody knows costs its worker alone" eventually 60 event shepherd 'member=h1 .*no plan for target'
hostile empty --id h2 --lease 'done' --credit 2
hostile fatal --id h3 --lease fatal
hostile mute --id h4 --lease 'done' --eval nothing --credit 3
hostile bold --id h5 --lease fatal --says others
check "a worker that says an operator's command is refused" \
    eventually 60 event bold 'event=fault code=6 text="CONTROL may be said by a cli, and its sender is registered as worker"'
check "and what a supervisor says" event bold 'text="GONE may be said by a cli or a supervisor, and its'
check "the run trains" eventually 60 event shepherd 'event=training'
honest
check "it ends well beside them" ends 0
check "with the bits of the other one" same_bits
check "who says that the run must fail gets no more work" event shepherd 'worker=h3'
check "whose leases are empty is named" event shepherd 'worker=h2'
check "nobody ended at its word" test "$(grep -c 'checkpoint_asked\|member=w0 .*hostile' "$dir/shepherd.log")" -eq 0
check "no line of the log was forged by an id" test "$(grep -c '^y' "$dir/shepherd.log")" -eq 0
dismiss
check "nothing is left running" no_orphans
tap_done
