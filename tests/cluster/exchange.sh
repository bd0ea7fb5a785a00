#!/usr/bin/env bash
# What replicas exchange, by option of pcp train: outer rules and codecs, in runs that are shot at, are stopped and go on.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

[[ $bin = /* ]] || bin=$PWD/$bin
text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
cd "$work" || exit 1

# run NAME [FLAGS]: two replicas, 4 rounds; goes_on NAME [FLAGS]
run() {
    local name=$1
    shift
    timeout $((100 * slow)) "$bin/pcp" train model.mlir --data text.txt --tokenizer byte --workers 2 --replicas 2 --threads 1 \
        --inner-steps 5 --rounds 4 --lr 3e-3 --schedule constant --validate-every 0 --checkpoint-every 0 \
        --run-dir "$work/$name" "$@" >"$name.txt" 2>&1 || { tail -n 15 "$name.txt"; return 1; }
}
# together NAME FLAGS ...: such runs at a time
together() {
    local names=() pid=()
    while [ $# -gt 0 ]; do
        # shellcheck disable=SC2086 # flags and values
        run "$1" $2 &
        names+=("$1") pid+=($!)
        shift 2
    done
    for i in "${!pid[@]}"; do check "the run ${names[i]}" wait "${pid[i]}"; done
}
goes_on() {
    local name=$1
    shift
    timeout $((100 * slow)) "$bin/pcp" train --resume "$work/$name" "$@" >"$name.txt" 2>&1 || { cat "$name.txt"; return 1; }
}
parameters() {
    local bytes=$((4 * $(sed -n 's/.*: \([0-9]*\) parameters in .*/\1/p' average.txt | head -n 1)))
    tail -c "$bytes" "$1/checkpoint/latest/model.safetensors" | sha256sum
}
same_end() { [ "$(parameters "$1")" = "$(parameters "$2")" ]; }
other_end() { ! same_end "$1" "$2"; }
bytes_of() { stat -c %s "$1/checkpoint/latest/$2"; }

coded="--codec int8 --down-codec int8"
sparse="--codec topk --outer-rule average" # SparseLoCo
together average "--outer-rule average --checkpoint-every 1" nesterov "--outer-lr 1 --outer-momentum 0" diloco "" \
    again "--outer-rule average --rounds 2 --checkpoint-every 1" e3m0 "--codec e3m0" \
    both "$coded --rounds 40 --checkpoint-every 20" topk "$sparse --rounds 40 --checkpoint-every 20"

# --- outer rules: the mean of the replicas' parameters is DiLoCo's step with lr 1 and momentum 0 ---
check "an average of replicas is Nesterov's rule with lr 1 and momentum 0" same_end average nesterov
check "DiLoCo's options end elsewhere" other_end average diloco
check "a checkpoint has no state of a rule that keeps none" test "$(bytes_of average state.safetensors)" -lt 1024
check "and the momentum of one that does" test "$(bytes_of diloco state.safetensors)" -gt 10000
check "a run that averages goes on from its second round" goes_on again --rounds 4
check "to the same end" same_end average again
check "its rule may not change" refuses "the run in $work/again has average" "$bin/pcp" train --resume "$work/again" --outer-rule nesterov
check "without momentum there is no going on with Nesterov's" refuses "another rule made it" "$bin/pcp" train model.mlir \
    --data text.txt --tokenizer byte --replicas 2 --workers 2 --inner-steps 5 --rounds 9 --resume average/checkpoint --run-dir new

# --- codecs: what topk leaves out of a pseudo-gradient is part of the inner state, and survives what that does ---
sent() { sqlite3 "file:$1/pcp.db?mode=ro" "SELECT sum(received_bytes) FROM pcp_wire WHERE round BETWEEN 2 AND 3"; }
echo "# bytes in two rounds: f32 $(sent diloco), e3m0 $(sent e3m0), topk $(sent topk)"
# On a line that seems slow, f32 is packed and takes a tenth less.
check "e3m0 sends an eighth of f32" test $(($(sent e3m0) * 7)) -lt "$(sent diloco)" -a "$(sent e3m0)" -gt 0
check "and ends elsewhere" other_end e3m0 diloco
# By leases: which round's bytes are on the wire when one ends and the next begins is a matter of luck.
down() { sqlite3 "file:$1/pcp.db?mode=ro" "SELECT sum(received_bytes) FROM pcp_leases WHERE round BETWEEN 2 AND 3"; }
echo "# bytes down in two rounds: f32 $(down diloco), int8 $(down both)"
check "int8 on the way down sends a quarter" test $(($(down both) * 38 / 10)) -lt "$(down diloco)" -a "$(down both)" -gt 0
check "topk sends a hundredth" test $(($(sent topk) * 100)) -lt "$(sent diloco)" -a "$(sent topk)" -gt 0
has_error() { [ "$(grep -lc '"codec.error"' "$1"/checkpoint/latest/replica-000[01].state | wc -l)" -eq "$2" ]; }
check "a checkpoint has what topk left out" has_error topk 2
check "and nothing where nothing is" has_error average 0
# shoot NAME ROUND PROGRAM: one such process of the run, when the round is over
shoot() {
    eventually 60 grep -q "^round $2/" "$1.txt" && pkill -KILL -o -f -- "$3.*$work/$1"
}
killed_once() { test "$(grep -c 'was killed by signal 9 .*starts again' "$1")" -eq 1; }
lose() { [ "$(find "$1" -name 'slot-*' -print -delete | wc -l)" -gt 1 ]; }
# disturbed NAME FLAGS PROGRAM OTHER: 20 rounds in which one of a program is killed, then 20 with another
disturbed() {
    local name=$1 flags=$2 shot
    # shellcheck disable=SC2086 # flags and values
    run "$name" $flags --rounds 20 --checkpoint-every 20 &
    shot=$!
    check "one $3 of a run with $flags is killed" shoot "$name" 5 "pcp-$3"
    check "it ends after 20 rounds" wait "$shot"
    check "it said so" killed_once "$name.txt"
    check "its shards' files are lost" lose "$name"
    goes_on "$name" --rounds 40 &
    shot=$!
    check "it goes on from the checkpoint, and its $4 is killed" shoot "$name" 25 "pcp-$4"
    check "it ends after 40 rounds" wait "$shot"
    check "from there" grep -q 'event=restoring checkpoint=.*/round-000020 ' "$name/logs/shepherd.log"
    check "it said so" killed_once "$name.txt"
}
disturbed shot "$sparse" worker worker
check "it has the same bits" same_end topk shot

# --- the way down: what its codec leaves out is state of the shards, and of checkpoints ---
check "a checkpoint has what the way down left out" grep -q 'down_error' both/checkpoint/latest/state.safetensors
disturbed hit "$coded" aggregator worker
check "it has the same bits" same_end both hit
check "no worker had to do without changes" test "$(cat hit/logs/local-w*.log | grep -c 'event=parameters_whole')" -eq 0
check "topk cannot go down" refuses "topk" "$bin/pcp" train model.mlir --data text.txt --tokenizer byte \
    --down-codec topk --run-dir none
check "nothing is left running" eventually 60 no_orphans
tap_done
