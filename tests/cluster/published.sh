#!/usr/bin/env bash
# A model out as Hugging Face's programs read it, in again, trained on with its own tokenizer, evaluated.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

text >"$work/text.txt"
pcp() { "$bin/pcp" "$@"; }
train() { timeout $((120 * slow)) "$bin/pcp" train "$@" --data "$work/text.txt" --tokenizer "$work/tokenizer.json" --workers 1 --threads 1 --inner-steps 10 --rounds 2; }
pcp tokenizer train --vocab 320 --out "$work/tokenizer.json" "$work/text.txt"
printf '{ "eos_token":"\\u00e9",\r\n\n"chat_template" : "{{ messages }}" }' >"$work/tokenizer_config.json"
printf '{%%- for m in messages %%}\n  \303\251{{ m.content }}{%% endfor %%}' >"$work/chat_template.jinja"
model() { pcp model llama --layers 2 --heads 4 --kv-heads 2 --width 32 --block 16 --batch 2 --vocab 320 >"$work/$1" 2>"$work/told"; }
check "a llama is printed" model model.mlir
check "its size and cost are told" grep -q "parameters; a token takes" "$work/told"
check "it trains 20 steps" train "$work/model.mlir" --run-dir "$work/first"
check "it is published, in two files" pcp checkpoint export "$work/first/checkpoint" --hf "$work/hf" --shard-mb 1
there() { for f in config.json tokenizer.json; do [ -s "$work/hf/$f" ] || return 1; done; }
check "with its configuration and tokenizer" there
beside() { for f in tokenizer_config.json chat_template.jinja; do cmp "$work/$f" "$work/hf/$f" || return 1; done; }
check "what lay beside the tokenizer, byte for byte" beside
back() { pcp model --from "$work/hf" --block 16 --batch 2 --weights "$work/weights" >"$work/again.mlir"; }
check "it comes in again" back
same() { cmp <(grep -v '^module' "$work/model.mlir") <(grep -v '^module' "$work/again.mlir"); }
check "as the same graph" same
mv "$work/tokenizer.json" "$work/lost.json"
mv "$work/hf/tokenizer.json" "$work/tokenizer.json"
check "and trains on, from its weights, with its tokenizer" train "$work/again.mlir" --init "$work/weights" --run-dir "$work/second"
lower() {
    first=$(pcp eval --checkpoint "$work/first" "$work/text.txt" --tokens 2000 | sed -n 's/^loss *//p')
    second=$(pcp eval --checkpoint "$work/second" "$work/text.txt" --tokens 2000 | sed -n 's/^loss *//p')
    echo "$first $second"
    awk "BEGIN { exit !($second < $first && $second > 0) }"
}
check "its loss is lower than before" lower
out_again() { rm -r "$work/hf" && pcp checkpoint export "$work/second/checkpoint" --hf "$work/hf" && beside && cmp "$work/tokenizer.json" "$work/hf/tokenizer.json"; }
check "and out again the tokenizer's files are the same" out_again

# --- layouts that PyTorch has written (their logits: pcp_published_test) ---
tr -dc 'a-z ' <"$work/text.txt" | tr 'a-z ' '\000-\032' >"$work/numbers.u8"
tune() { timeout $((120 * slow)) "$bin/pcp" train "$@" --data "$work/numbers.u8" --tokenizer raw --workers 1 --threads 1 --inner-steps 10 --rounds 2; }
take_in() { pcp model --from "$1" --block 12 --batch 2 --weights "$2" | grep -v '^module' >"$2.mlir" && [ -s "$2.mlir" ]; } # DIR WEIGHTS
values() { tail -c +$((9 + $(od -An -td8 -N8 "$1"))) "$1"; } # of all tensors, in their order
goes_around() { # NAME: in, 20 steps, out, in again: the same graph and the same bits, so the same logits
    local at=$work/$1
    take_in tests/golden/published/"$1" "$at.in" || return 1
    pcp model --from tests/golden/published/"$1" --block 12 --batch 2 >"$at.mlir" || return 1
    tune "$at.mlir" --init "$at.in" --run-dir "$at.run" >"$at.out" || return 1
    pcp checkpoint export "$at.run/checkpoint" --hf "$at.hf" >>"$at.out" || return 1
    take_in "$at.hf" "$at.again" || return 1
    cmp "$at.in.mlir" "$at.again.mlir" && ! cmp -s "$at.in" "$at.again" &&
        cmp <(values "$at.again") <(values "$at.run/checkpoint/latest/model.safetensors")
}
for name in gpt2 llama mistral qwen2 qwen3 nanochat; do check "$name: in, 20 steps, out, and in again" goes_around $name; done
tap_done
