#!/usr/bin/env bash
# pcp train as a user runs it: training, checkpoint, sampling, Ctrl-C, killed children, bad input.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1

# train NAME [FLAGS]: a short run in its own directory
train() {
    local name=$1
    shift
    timeout $((120 * slow)) "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte \
        --workers 2 --threads 1 --inner-steps 5 --rounds 6 --lr 3e-3 --validate-every 3 \
        --run-dir "$work/$name" "$@"
}

# signal SIG NAME: to the pcp train of that run, and to nobody else (timeout has the same words); valgrind's words come
# before its program's.
signal() { pkill "-$1" -f -- "^($bin/pcp|[^ ]*valgrind.* [^ ]*/pcp) train .*$work/$2"; }

# The first and last "loss X" of a plain progress log; succeeds when it fell.
loss_fell() {
    sed -n 's/^round [0-9]*\/[0-9]* *loss \([0-9.]*\).*/\1/p' "$1" |
        awk 'NR == 1 { first = $1 } { last = $1 } END { exit !(NR > 1 && last < first - 0.2) }'
}

train_well() { train first >"$work/first.txt" 2>"$work/first.err" || { tail -n 15 "$work"/first.{txt,err} "$work"/first/logs/*; return 1; }; }
check "pcp train ends well" train_well
check "the loss falls" loss_fell "$work/first.txt"
check "a validation loss is printed" grep -q '^validation loss [0-9.]* ' "$work/first.txt"
in_part() { read -r of n m < <(sed -n 's/^validation loss .* \(over\) \([0-9]*\) of \([0-9]*\) tokens, in whole batches$/\1 \2 \3/p' "$work/first.txt") && [ "$of" ] && [ "$n" -lt "$m" ]; }
check "over what was read of the split, not all of it" in_part
check "a checkpoint is written" test -s "$work/first/checkpoint/latest/model.safetensors"
check "nothing is left running" no_orphans
no_sockets() { # of a run, in the short-named directory that they are in
    local dir
    dir=$(grep -oh 'ipc:///tmp/pcp-[^/"]*' "$work/$1"/logs/*.log | head -n 1)
    [ -n "$dir" ] || { echo "no log tells where they are"; return 1; }
    [ ! -e "${dir#ipc://}" ] || ls -d "${dir#ipc://}"/*
    [ ! -e "${dir#ipc://}" ]
}
check "no socket is left in /tmp" no_sockets first

sample() { "$bin/pcp" generate --checkpoint "$work/first/checkpoint" --prompt "The " --tokens 40 --seed "$1"; }
sample 1 >"$work/s1" 2>"$work/s1.err"
sample 1 >"$work/s2" 2>"$work/s2.err"
sample 2 >"$work/s3" 2>"$work/s3.err"
check "generate writes at least the prompt and 40 bytes" test "$(wc -c <"$work/s1")" -ge 44
check "the same seed writes the same" cmp "$work/s1" "$work/s2"
check "another seed writes something else" bash -c "! cmp -s '$work/s1' '$work/s3'"

train second >"$work/second.txt" 2>&1
# The header names the run; the parameters are the last 4 bytes x count of the file.
parameters() {
    local bytes=$((4 * $(sed -n 's/.*: \([0-9]*\) parameters in .*/\1/p' "$work/$1.txt")))
    tail -c "$bytes" "$work/$1/checkpoint/latest/model.safetensors" | sha256sum
}
same_parameters() { [ "$(parameters "$1")" = "$(parameters "$2")" ]; }
check "the same run again gives the same parameters" same_parameters first second

train half --precision bf16 --rounds 4 >"$work/half.txt" 2>"$work/half.err"
check "pcp train with bf16 products ends well" test $? -eq 0
check "its loss falls" loss_fell "$work/half.txt"
check "it trains another plan" bash -c "! cmp -s \
    <(grep -h '^round 4/' '$work/first.txt') <(grep -h '^round 4/' '$work/half.txt')"

for what in first first/checkpoint first/checkpoint/latest; do
    check "generate takes ${what#first/}" bash -c "cmp '$work/s1' <('$bin/pcp' generate --checkpoint '$work/$what' \
        --prompt 'The ' --tokens 40 --seed 1 2>/dev/null)"
done
newest_named() { "$bin/pcp" generate --checkpoint "$work/first" --tokens 1 2>&1 >/dev/null | grep -q "first/checkpoint/round-000006"; }
check "and says which it is" newest_named
train unborn --prepare-only >/dev/null 2>&1
check "a run without one is refused" refuses "has written no checkpoint yet" "$bin/pcp" generate --checkpoint "$work/unborn"

# --- what is refused leaves nothing behind ---
printf 'odd' >"$work/odd.u16"
check "a text that does not become tokens" sh -c "! '$bin/pcp' train '$work/model.mlir' --data '$work/odd.u16' \
    --tokenizer raw --run-dir '$work/vain' --prepare-only"
check "leaves no directory" test ! -e "$work/vain"

# --- validation: a sample of a long text, the same whoever reads it ---
sampled() { train "sampled$1" --rounds 2 --validate-every 1 --validate-tokens 1000 --workers "$1" --replicas 2 >"$work/sampled$1.txt" 2>&1; }
check "a run validates on a sample" sampled 2
check "of whole batches" grep -qE '^validation loss [0-9.]+ over (896|992) of [0-9]+ tokens' "$work/sampled2.txt"
sampled 1
check "one worker gets the same losses as two" diff <(grep -oE 'val(idation loss)? [0-9.]+' "$work/sampled1.txt") \
    <(grep -oE 'val(idation loss)? [0-9.]+' "$work/sampled2.txt")

# --- when a round closes, and with what ---
train policy --rounds 3 --quorum 1 --deadline-s 2.5 --outlier 9.5 --balance >"$work/policy.txt" 2>&1
check "a run with policies ends well" test $? -eq 0
check "its shepherd has them" grep -qE 'event=start .*"quorum\\": 1,.*"deadline_s\\": 2.5,.*"outlier\\": 9.5,.*"balance\\": true' "$work/policy/logs/shepherd.log"
check "a quorum of more replicas than there are" refuses "quorum 3 is above replicas 2" train few --quorum 3
check "late updates where every round waits for all" refuses "set quorum, too" train few --late next
check "a rate below that which its schedule ends at" refuses "the schedule wsd ends at min_lr" train few --schedule wsd --lr 5e-5
check "a constant rate ends nowhere else" train flat --schedule constant --lr 5e-5 --prepare-only

# --- interrupted and damaged runs ---
train long --rounds 100000 >"$work/long.txt" 2>&1 &
pid=$!
started() { grep -q '^round 2/' "$1"; }
check "a long run makes progress" eventually 60 started "$work/long.txt"
signal INT long
check "Ctrl-C ends it" eventually 60 bash -c "! kill -0 $pid 2>/dev/null"
check "and leaves nothing running" eventually 60 no_orphans
check "nor sockets" no_sockets long
check "and leaves a checkpoint" test -s "$work/long/checkpoint/latest/model.safetensors"

# A second Ctrl-C leaves at once. Half of a checkpoint, which the shepherd may have been writing then, goes; what is
# not of that kind stays.
train hasty --rounds 100000 --checkpoint-every 1 >"$work/hasty.txt" 2>&1 &
pid=$!
check "another long run makes progress" eventually 60 started "$work/hasty.txt"
eventually 60 test -e "$work/hasty/checkpoint/latest"
mkdir "$work/hasty/checkpoint/round-999999.tmp.0123456789abcdef"
touch "$work/hasty/checkpoint/round-999999.tmp.0123456789abcdef/model.safetensors" "$work/hasty/checkpoint/notes.tmp.txt"
signal STOP hasty
signal INT hasty
signal TERM hasty # another signal: of one kind only one waits
signal CONT hasty
check "two signals end it" eventually 20 bash -c "! kill -0 $pid 2>/dev/null"
check "and leave nothing running" eventually 60 no_orphans
check "nor half a checkpoint" test -z "$(find "$work/hasty/checkpoint" -name 'round-*.tmp.*' -o -name 'latest.tmp.*')"
check "but all that is not one" test -e "$work/hasty/checkpoint/notes.tmp.txt"

# pcp train stands still until the shepherd has taken it for dead and gone.
train asleep --rounds 30 >"$work/asleep.txt" 2>&1 &
pid=$!
check "a run starts whose pcp train falls asleep" eventually 60 started "$work/asleep.txt"
signal STOP asleep
shepherd_gone() { ! pgrep -f "pcp-shepherd.*$work/asleep" >/dev/null; } # a zombie has no command line
check "the run ends without it" eventually 60 shepherd_gone
signal CONT asleep
woke_well() { wait "$pid" || { echo "status $?"; tail -n 15 "$work/asleep.txt" "$work"/asleep/logs/*; return 1; }; }
check "it ends well all the same" woke_well
check "and knows the result" grep -q '^validation loss [0-9.]* ' "$work/asleep.txt"

# A shepherd that takes its time to begin is no fault: valgrind's wrappers begin the one beside themselves.
late_shepherd() {
    mkdir "$work/slow" && cp "$bin/pcp" "$work/slow" && ln -s "$(realpath "$bin")"/pcp-{aggregator,compiler,supervisor,worker} "$work/slow" || return 1
    printf '#!/bin/bash\nsleep 3\nexec "%s" "$@"\n' "$(realpath "$bin/pcp-shepherd")" >"$work/slow/pcp-shepherd" && chmod +x "$work/slow/pcp-shepherd"
    bin=$work/slow train late >"$work/late.txt" 2>&1 || return 1
    cat "$work/late.txt"
    grep -qx 'waiting for the shepherd' "$work/late.txt" && ! grep -q event=unreachable "$work/late.txt"
}
[ "$slow" -ne 1 ] || check "a shepherd that begins late is waited for" late_shepherd

kill_one() { pkill -KILL -o -f -- "$1"; }
train lossy --rounds 60 >"$work/lossy.txt" 2>&1 &
pid=$!
check "a run with a worker to lose starts" eventually 60 started "$work/lossy.txt"
check "a worker is killed" kill_one "pcp-worker.*$work/lossy"
wait "$pid"
check "the run still ends well" test $? -eq 0
check "it said who died and starts again" grep -qE '^local-w[01] was killed by signal 9 .*starts again' "$work/lossy.txt"
check "a new worker took its place" test "$(grep -cE 'member_joined member=local-w' "$work/lossy/logs/shepherd.log")" -ge 3

crash_all() { pkill -KILL -f -- "pcp-worker.*$work/hopeless"; ! kill -0 "$pid" 2>/dev/null; }
train hopeless --rounds 100000 >"$work/hopeless.txt" 2>&1 &
pid=$!
check "a run with only doomed workers starts" eventually 60 started "$work/hopeless.txt"
check "they die again and again, until the run is given up" eventually 60 crash_all
wait "$pid"
check "with status 1" test $? -eq 1
check "and says why" grep -qE 'pcp train: .*(local-w[01]|supervisor)' "$work/hopeless.txt"
check "and leaves nothing running" eventually 60 no_orphans

train calm --rounds 300 >"$work/calm.txt" 2>&1
train headless --rounds 300 >"$work/headless.txt" 2>&1 &
pid=$!
check "a run with a shepherd to lose starts" eventually 60 started "$work/headless.txt"
check "the shepherd is killed" kill_one "pcp-shepherd.*$work/headless"
again() { grep -q "$1 was killed .*starts again" "$work/headless.txt"; }
check "it starts again" eventually 60 again shepherd
check "the aggregator is killed" kill_one "pcp-aggregator.*$work/headless"
wait "$pid"
check "the run ends well" test $? -eq 0
check "with the parameters of an undisturbed one" same_parameters calm headless
check "and leaves nothing running" eventually 60 no_orphans

kill_all() { pkill -KILL -f -- "pcp-shepherd.*$work/doomed"; ! kill -0 "$pid" 2>/dev/null; }
train doomed --rounds 100000 >"$work/doomed.txt" 2>&1 &
pid=$!
check "a run whose shepherd cannot live starts" eventually 60 started "$work/doomed.txt"
check "after some deaths it is given up" eventually 60 kill_all
wait "$pid"
check "with status 1" test $? -eq 1
check "and says who died" grep -q shepherd "$work/doomed.txt"
check "and leaves nothing running" eventually 60 no_orphans

train orphan --rounds 100000 >"$work/orphan.txt" 2>&1 &
check "a run whose pcp will be killed starts" eventually 60 started "$work/orphan.txt"
signal KILL orphan
check "kill -9 of pcp itself leaves nothing running" eventually 60 no_orphans
train after --prepare-only >/dev/null
check "nor sockets, once another one has started" no_sockets orphan

# --- bad input: a clear error, a non-zero exit ---
printf 'module {\n  func.func @main(%%a: tensor<2xf32>) -> tensor<f32> {\n    return %%b : tensor<f32>\n' >"$work/broken.mlir"
check "a malformed module" refuses "broken.mlir:3:" \
    "$bin/pcp" train "$work/broken.mlir" --data "$work/text.txt"
printf 'func.func @main(%%a: tensor<2xf32>, %%x: tensor<1x4xi64>) -> tensor<2xf32> {\n  return %%a : tensor<2xf32>\n}\n' >"$work/vector.mlir"
check "a loss that is no scalar" refuses "scalar" \
    "$bin/pcp" train "$work/vector.mlir" --data "$work/text.txt"
check "a missing model" refuses "absent.mlir" "$bin/pcp" train "$work/absent.mlir" --data "$work/text.txt"
check "a missing text" refuses "absent.txt" "$bin/pcp" train "$work/model.mlir" --data "$work/absent.txt"
check "an unknown flag" refuses "inner-step" "$bin/pcp" train "$work/model.mlir" --inner-step 3
printf '{"model": "%s", "data": "%s", "worker": 2}' "$work/model.mlir" "$work/text.txt" >"$work/bad.json"
check "an unknown key" refuses "worker" "$bin/pcp" train "$work/bad.json"
"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 11 --batch 4 >"$work/tiny.mlir"
check "a text with more symbols than the model has words" refuses "vocab" \
    "$bin/pcp" train "$work/tiny.mlir" --data "$work/text.txt" --tokenizer char

mkdir -p "$work/small"
if mount -t tmpfs -o size=20k tmpfs "$work/small" 2>/dev/null; then
    full() { train full --checkpoint "$work/small/checkpoint"; }
    check "a full disk at the checkpoint" refuses "checkpoint" full
    check "leaves no torn checkpoint" bash -c "! test -e '$work/small/checkpoint/latest/model.safetensors'"
    umount "$work/small"
else
    skip "a full disk at the checkpoint" "needs permission to mount a small tmpfs"
fi
check "no bad run left a process" no_orphans
tap_done
