#!/usr/bin/env bash
# A compilation that does not end: the compiler leaves when it is told to, and takes along what it has started; a
# limit of time ends the run with an error that names it.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
# shellcheck disable=SC2016 # for the script's own shell
printf '#!/bin/sh\necho $$ >"%s/cc.pid"\nexec sleep 1000\n' "$work" >"$work/cc"
chmod +x "$work/cc"
export PCP_CC=$work/cc XDG_CACHE_HOME=$work/cache

# start NAME: pcp train with that C compiler, once it is called: its number in $train, the sleeper's in $cc.
start() {
    rm -f "$work/cc.pid"
    "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 1 --threads 1 \
        --inner-steps 5 --rounds 2 --run-dir "$work/$1" >"$work/$1.txt" 2>"$work/$1.err" &
    train=$!
    eventually 60 test -s "$work/cc.pid" || { tail -n 5 "$work/$1.err" "$work/$1"/logs/*; return 1; }
    cc=$(cat "$work/cc.pid")
}
gone() { ! kill -0 "$1" 2>"$work/kill.err"; }
compilers() { pgrep -P "$train" -f pcp-compiler; }

check "a compilation hangs" start hangs
compiler=$(compilers | head -n 1)
check "the compiler runs" test -n "$compiler"
kill -TERM "$compiler"
check "told to end, it ends" eventually 10 gone "$compiler"
check "and so does what it has started" eventually 10 gone "$cc"
kill -INT "$train" 2>"$work/kill.err"
wait "$train"

export PCP_COMPILE_TIMEOUT_S=3
check "a compilation hangs again" start limited
check "the run ends at the limit" eventually 60 gone "$train"
wait "$train"
check "with an error that names it" grep -q 'more than 3 s (--compile-timeout-s)' "$work/limited.err"
check "and leaves nothing" eventually 10 gone "$cc"
tap_done
