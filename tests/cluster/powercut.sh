#!/usr/bin/env bash
# The power fails: a run's directory (store, objects, state, checkpoints, inner states) is copied file by
# file at random moments while it runs, so that the files of a copy are of different moments and some
# are half written. A run that goes on from the copy ends with the undisturbed run's parameters.
#   tests/cluster/powercut.sh [COPIES [SEED]]     default 3, from seed 1, one for each copy; 200 is the long form
# POWERCUT_KEEP: a directory for what failed: seed-N/asis, the copy as it was taken; seed-N/ended, as it ended, with
# its logs; calm, the undisturbed run.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
copies=${1:-3} first=${2:-1}
rounds=60

text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 \
    >"$work/model.mlir" || exit 1

# train DIR [FLAGS]: in DIR/run
train() {
    local dir=$1
    shift
    mkdir -p "$dir"
    timeout "${POWERCUT_LIMIT:-$((300 * slow))}" "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte \
        --workers 2 --threads 1 --inner-steps 10 --rounds $rounds --lr 3e-3 --validate-every 0 \
        --checkpoint-every 4 --run-dir "$dir/run" "$@" >>"$dir/out.txt" 2>&1
}
parameters() {
    local bytes=$((4 * $(sed -n 's/.*: \([0-9]*\) parameters in .*/\1/p' "$work/calm/out.txt" | head -n 1)))
    tail -c "$bytes" "$1/run/checkpoint/latest/model.safetensors" | sha256sum
}
same_end() { test -s "$1/run/checkpoint/latest/model.safetensors" && [ "$(parameters "$work/calm")" = "$(parameters "$1")" ]; }

train "$work/calm"
check "an undisturbed run ends well" test $? -eq 0

# Goes on from a copy. A lost inner state takes the run back to a checkpoint by itself. A store that is broken
# beyond use is named; it is left out, and the newest whole checkpoint, which needs nothing else, is gone on from.
resumes() {
    train "$1" --resume latest && return
    grep -qE 'pcp.db|database' "$1/out.txt" || return 1
    echo "seed $2: $(grep -oE '(pcp.db|database).*' "$1/out.txt" | head -n 1)" >>"$work/notes"
    rm -rf "$1"/run/pcp.db* "$1"/run/objects
    train "$1" --resume latest
}

keep_failed() {
    local to=$POWERCUT_KEEP/seed-$1
    mkdir -p "$to" && cp -r "$work/asis$taken" "$to/asis" && cp -r "$copy" "$to/ended" && cp -r "$work/calm" "$POWERCUT_KEEP"
    echo "# seed $1: what was copied, how it ended, and its logs: $to"
}

taken=0 running=
while [ "$taken" -lt "$copies" ]; do
    if [ -z "$running" ] || ! kill -0 "$running" 2>/dev/null; then
        rm -rf "$work/source"
        train "$work/source" &
        running=$!
        eventually 60 grep -sq 'event=round round=2 ' "$work/source/run/logs/shepherd.log" || exit 1
    fi
    seed=$((first + taken))
    RANDOM=$seed
    sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
    kill -0 "$running" 2>/dev/null || continue
    taken=$((taken + 1))
    copy=$work/copy$taken
    mkdir -p "$copy"
    cp -r "$work/source/run" "$copy/" 2>/dev/null # what vanishes on the way is not in it
    rm -rf "$copy/run/logs"
    before=$tap_failed
    [ -z "${POWERCUT_KEEP:-}" ] || cp -r "$copy" "$work/asis$taken"
    kill -0 "$running" 2>/dev/null || echo "seed $seed: the run had ended" >>"$work/notes"
    check "seed $seed: the copy goes on" resumes "$copy" "$seed"
    check "seed $seed: to the undisturbed end, bit for bit" same_end "$copy"
    grep -shE 'event=(state_lost|rewound|restoring|state_ignored|checkpoint_refused|training)' "$copy"/run/logs/*.log |
        sed 's/^[^ ]* level=[a-z]* //; s/^/# /'
    if [ -n "${POWERCUT_KEEP:-}" ]; then
        [ "$tap_failed" -eq "$before" ] || keep_failed "$seed"
        rm -rf "$work/asis$taken"
    fi
    rm -rf "$copy"
done
[ -n "$running" ] && pkill -KILL -f -- "$work/source"
wait
test -s "$work/notes" && sed 's/^/# /' "$work/notes"
check "nothing is left running" eventually 60 no_orphans
tap_done
