#!/usr/bin/env bash
# pcp train goes on with a run: its directory is enough, may be moved and asked for more rounds; a directory with a run in it
# is never begun in again; what is refused has changed nothing. And runs without a name do not share a directory.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

[[ $bin = /* ]] || bin=$PWD/$bin
text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
gpt2 --layers 1 --heads 2 --width 16 --block 16 --vocab 256 --batch 4 --no-bias >"$work/other.mlir" || exit 1
cd "$work" || exit 1

# begin NAME [FLAGS]: a new run; goes_on [FLAGS]: with one
begin() {
    local name=$1
    shift
    timeout $((100 * slow)) "$bin/pcp" train model.mlir --data text.txt --tokenizer byte --workers 2 --threads 1 \
        --inner-steps 10 --rounds 40 --lr 3e-3 --schedule constant --validate-every 0 --checkpoint-every 5 \
        --run-dir "$name" "$@" >"$name.txt" 2>&1
}
goes_on() { timeout $((100 * slow)) "$bin/pcp" train --resume "$@" >again.txt 2>&1 || { cat again.txt; return 1; }; }
parameters() {
    local bytes=$((4 * $(sed -n 's/.*: \([0-9]*\) parameters in .*/\1/p' calm.txt | head -n 1)))
    tail -c "$bytes" "$1/checkpoint/latest/model.safetensors" | sha256sum
}
same_end() { [ "$(parameters calm)" = "$(parameters "$1")" ]; }
# All files of a directory, with their bytes and times.
state_of() { find "$1" -type f -printf '%p %s %T@\n' | sort; find "$1" -type f -print0 | sort -z | xargs -0 sha256sum; }
refuses_untouched() {
    local dir=$1
    shift
    state_of "$dir" >before.state
    refuses "$@" || return 1
    state_of "$dir" | diff before.state -
}

begin calm
check "a run of 40 rounds ends well" test $? -eq 0

# --- without a run there is nothing to go on with ---
check "--resume latest where no run is" refuses "there is no run in runs/" "$bin/pcp" train --resume latest
check "nor of this model" refuses "there is no run of model.mlir in runs/" "$bin/pcp" train model.mlir \
    --data text.txt --tokenizer byte --resume latest
check "nor in an empty directory" refuses "pcp train has begun no run there" "$bin/pcp" train --resume latest --run-dir empty
check "none was begun instead" test ! -e runs -a ! -e empty
check "a directory that is no run" refuses "neither a run's directory" "$bin/pcp" train --resume "$work"

# --- directories by time ---
unnamed() { "$bin/pcp" train "$1" --data text.txt --tokenizer byte --prepare-only >/dev/null; }
for _ in 1 2 3 4; do unnamed model.mlir & done
wait
check "four runs of one second have four directories" test "$(find runs -mindepth 1 -maxdepth 1 | wc -l)" -eq 4
unnamed other.mlir
check "--resume latest says which is the newest" bash -c \
    "'$bin/pcp' train --resume latest --prepare-only | grep -q 'going on with the run in runs/.*, the newest'"
of_model() {
    local want
    want=$(grep -l '"model": ".*/model.mlir"' runs/*/train.json | tail -n 1)
    touch "${want%/train.json}/run.json" runs/*/train.json
    "$bin/pcp" train model.mlir --resume latest --prepare-only | grep -q "going on with the run in ${want%/train.json}, the newest"
}
check "of a model, if one is given" of_model

# --- a directory with a run in it ---
check "is not begun in again" refuses_untouched calm "there is a run in it already" "$bin/pcp" train model.mlir \
    --data text.txt --tokenizer byte --run-dir calm

# --- what may not change ---
for flags in "--lr 0.5" "--seed 7" "--inner-steps 11" "--tokenizer char" "--replicas 3" "--aggregators 2" "--val-fraction 0.2"; do
    # shellcheck disable=SC2086 # a flag and its value
    check "$flags is refused" refuses_untouched calm "$flags: the run in calm has " "$bin/pcp" train --resume calm $flags
done
check "fewer rounds, too" refuses_untouched calm "--rounds 39: the run in calm has 40" "$bin/pcp" train --resume calm --rounds 39
check "and another model" refuses_untouched calm "other.mlir is another model" "$bin/pcp" train other.mlir --resume calm
echo other >other.txt
check "and other data" refuses_untouched calm "--data other.txt: the run in calm has $work/text.txt" "$bin/pcp" train --resume calm \
    --data other.txt
check "a checkpoint of another seed begins nothing" refuses "its seed is 1337, the run's 7" "$bin/pcp" train model.mlir \
    --data text.txt --tokenizer byte --seed 7 --resume calm/checkpoint --run-dir seven
check "and leaves no directory" test ! -e seven

# --- a finished run ---
check "a finished run says so" goes_on calm
check "in words" grep -q 'the run had ended before' again.txt
begin short --rounds 15
check "a run of 15 rounds ends well" test $? -eq 0
check "it goes on to 40" goes_on short --rounds 40
check "and says so" grep -q 'going on with the run in short: 40 rounds instead of 15' again.txt
check "with the parameters of a run of 40" same_end short
check "its records say so" test "$(sqlite3 "file:short/pcp.db?mode=ro" "SELECT state || ' ' || n_rounds FROM run")" = "done 40"

# --- stopped, moved, with other workers, from elsewhere ---
begin stopped --rounds 100000 &
pid=$!
check "a run is at work" eventually 60 grep -q '^round 3/' stopped.txt
check "another one cannot go on with it meanwhile" refuses "another pcp train is at work in it" "$bin/pcp" train --resume stopped
pkill -INT -f -- "^($bin/pcp|[^ ]*valgrind.* [^ ]*/pcp) train .*--run-dir stopped"
wait "$pid"
check "it is stopped" test $? -eq 130
begin again --rounds 20
check "a run of 20 rounds ends well" test $? -eq 0
mv again moved
mkdir away inside
mv model.mlir text.txt away
check "moved, from elsewhere, without its model and data, with three workers" bash -c \
    "cd inside && timeout $((100 * slow)) '$bin/pcp' train --resume ../moved --rounds 40 --workers 3 >../again.txt 2>&1"
check "it goes on to the same end" same_end moved
check "with its own records" test "$(sqlite3 "file:moved/pcp.db?mode=ro" "SELECT group_concat(id) FROM run")" = again
check "nothing is left running" eventually 60 no_orphans
tap_done
