#!/usr/bin/env bash
# pcp train on a terminal of 60 columns: no line is broken, each round has a line that stays, long phases are shown.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
"$bin/pcp" model gpt2 --layers 2 --heads 8 --width 512 --block 32 --vocab 256 --batch 1 >"$work/large.mlir" || exit 1

# on_terminal NAME COMMAND: what a terminal of 60 columns gets, into NAME.
on_terminal() { script -qefc "stty cols 60; $2" /dev/null >"$work/$1" 2>&1 </dev/null; }
# What stood on each line at some time: without escape sequences, one state a line.
states() { sed 's/\x1b\[[0-9]*[A-Za-z]//g' "$work/$1" | tr '\r' '\n' | grep -v '^$'; }

train="$bin/pcp train $work/model.mlir --data $work/text.txt --tokenizer byte --workers 2 --threads 1 --inner-steps 5 --rounds 6"
check "a run on a terminal ends well" on_terminal run "$train --validate-every 2 --run-dir $work/run.dir"
# A note may be longer than the terminal is wide; what is redrawn may not.
narrow() { states run | grep -v '^validation loss ' | grep -E '^(\[|round|valid|compil|wait|writ|hash|hand)' | awk 'length > 59 { print; bad = 1 } END { exit bad }'; }
check "no line of it is broken" narrow
kept() { tr -d '\r' <"$work/run" | sed 's/.*\x1b\[J//' | grep -c "^round $1/6  loss "; }
for round in 1 2 3 4 5 6; do check "round $round has one line that stays" test "$(kept $round)" -eq 1; done
check "the next round is shown below, with a bar" bash -c "sed 's/\x1b/\n/g' '$work/run' | grep -q '\[[#.]*\] round 4/6  eta '"
check "the last line is the checkpoint" bash -c "tail -n 1 '$work/run' | grep -q '^checkpoint $work/run.dir/checkpoint'"

check "a large model is prepared" on_terminal large \
    "$bin/pcp train $work/large.mlir --data $work/text.txt --tokenizer byte --prepare-only --run-dir $work/large.run"
check "the terminal shows how far its initial values are" bash -c "grep -q 'making the initial values of' '$work/large'"
"$bin/pcp" train "$work/large.mlir" --data "$work/text.txt" --tokenizer byte --prepare-only --run-dir "$work/log.run" >"$work/log"
check "a log has a line for that, and no escape sequence" bash -c \
    "grep -q '^making the initial values of' '$work/log' && ! grep -q \$'\x1b' '$work/log'"

# --- help: of flags in lines that fit, the same words as in a pipe ---
words() { sed 's/ /\n/g' | grep .; }
flags() { sed '0,/^Flags/d; /^$/,$d'; }
wraps() { # COLUMNS
    script -qefc "stty cols $1; $bin/pcp train --help" /dev/null </dev/null | tr -d '\r' | flags >"$work/help"
    "$bin/pcp" train --help | flags >"$work/help.piped"
    cmp <(words <"$work/help") <(words <"$work/help.piped") && awk -v most="$1" 'length > most { print; bad = 1 } END { exit bad || NR < 100 }' "$work/help"
}
check "help on 60 columns" wraps 60
check "help on 80 columns" wraps 80
check "nothing is left running" eventually 60 no_orphans
tap_done
