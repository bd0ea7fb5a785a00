#!/usr/bin/env bash
# Text to tokens and back by hand; a run with a byte-pair encoding, whose checkpoint writes text again.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

text >"$work/text.txt"
t="$work/tokenizer.json"
pcp() { "$bin/pcp" "$@"; }
check "a tokenizer is learnt" pcp tokenizer train --vocab 400 --out "$t" "$work/text.txt"
same() { pcp tokenizer encode --tokenizer "$t" "$@" "$work/text.txt" | pcp tokenizer decode --tokenizer "$t" "$@" | cmp - "$work/text.txt"; }
check "text comes back from numbers as text" same
check "text comes back from two bytes each" same --format u16
fewer() { [ "$(pcp tokenizer encode --tokenizer "$t" "$work/text.txt" | wc -w)" -lt $(($(wc -c <"$work/text.txt") * 2 / 3)) ]; }
check "there are fewer tokens than bytes" fewer
shows() { pcp tokenizer show --tokenizer "$t" "a <|endoftext|>" | tee /dev/stderr | grep -q '0  "<|endoftext|>"  special'; }
check "a special token is shown as one" shows
refused() { ! pcp tokenizer decode --tokenizer "$t" <<<"12 x" 2>"$work/why" && grep -q "byte 3 is no token" "$work/why"; }
check "what is no number is refused" refused

"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 16 --block 16 --batch 2 --vocab 400 >"$work/model.mlir"
train() { timeout $((120 * slow)) "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --workers 1 --inner-steps 2 --rounds 2 "$@"; }
check "a run with that tokenizer" train --tokenizer "$t" --run-dir "$work/run"
rm "$t"
writes() { pcp generate --checkpoint "$work/run" --prompt "The " --tokens 20 >"$work/out" && grep -q "^The " "$work/out" && iconv -f utf8 -t utf8 "$work/out" >/dev/null; }
check "its checkpoint writes text without the file" writes
absent() { ! train --tokenizer "$t" 2>"$work/why" && grep -q "neither char, byte nor raw" "$work/why"; }
check "a file that is not there is named" absent
small() { "$bin/pcp" tokenizer train --vocab 500 --out "$t" "$work/text.txt" && ! train --tokenizer "$t" 2>"$work/why" && grep -q "vocabulary has 400" "$work/why"; }
check "a tokenizer too large for the model is refused" small
tap_done
