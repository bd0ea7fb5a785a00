#!/usr/bin/env bash
# Fine-tuning: adapters beside the weights of a published model, trained by two workers, resumed, written to,
# published alone and together with the weights; parameters that keep their values.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

pcp() { "$bin/pcp" "$@"; }
goes_on() { timeout $((120 * slow)) "$bin/pcp" train --resume "$1" --rounds 7; }
train() { timeout $((120 * slow)) "$bin/pcp" train "$@" --data "$work/text.txt" --tokenizer "$work/tokenizer.json" --threads 1 --inner-steps 20; }
for ((i = 0; i < 400; i++)); do echo "line $i: the king of $((i * 7)) says that the queen of $((i * 3)) is not here"; done >"$work/text.txt"
pcp tokenizer train --vocab 300 --out "$work/tokenizer.json" "$work/text.txt" 2>/dev/null
pcp model llama --layers 2 --heads 4 --kv-heads 2 --width 32 --block 16 --batch 4 --vocab 300 >"$work/model.mlir" 2>/dev/null
check "a model to begin with" train "$work/model.mlir" --workers 1 --rounds 4 --run-dir "$work/base"
pcp checkpoint export "$work/base/checkpoint" --hf "$work/hf" >/dev/null
pcp model --from "$work/hf" --block 16 --batch 4 --weights "$work/weights" >"$work/again.mlir" 2>/dev/null

tune() { train "$work/again.mlir" --init "$work/weights" --lora "rank=4,alpha=8,targets=*attn*,targets=*mlp*" --lr 1e-2 --workers 2 --rounds 6 --run-dir "$work/tuned"; }
check "adapters are trained by two workers" tune
cp "$work/check.out" "$work/told"
check "and it is told what they are" grep -q "adapters of rank 4, alpha 8 beside 14 weights" "$work/told"
loss() { pcp eval --checkpoint "$work/$1" "$work/text.txt" --tokens 2000 | sed -n 's/^loss *//p'; }
lower() { first=$(loss base) second=$(loss tuned); echo "$first $second"; awk "BEGIN { exit !($second < $first && $second > 0) }"; }
check "the loss is lower than before" lower
check "training goes on" goes_on "$work/tuned"

# Keys and values are kept by a program of the family, which adds the adapters to the weights; @logits has them apart.
says() { pcp generate --checkpoint "$1" --prompt "the " --tokens 12 --seed 3 "${@:2}" 2>/dev/null; }
check "texts with adapters added are those with adapters apart" \
    test "$(says "$work/tuned")" = "$(says "$work/tuned" --window)"
check "and not those of the model before" test "$(says "$work/tuned")" != "$(says "$work/base")"

check "the model is published with its adapters added" pcp checkpoint export "$work/tuned/checkpoint" --hf "$work/merged"
again() {
    pcp model --from "$work/merged" --block 16 --batch 4 --weights "$work/merged.weights" >"$work/merged.mlir" &&
        train "$work/merged.mlir" --init "$work/merged.weights" --lr 0 --min-lr 0 --workers 1 --rounds 1 --run-dir "$work/still" &&
        [ "$(says "$work/still")" = "$(says "$work/tuned")" ]
}
check "and says the same where it comes in again" again
check "adapters are published alone" pcp checkpoint export "$work/tuned/checkpoint" --adapters "$work/adapters"
layout() {
    jq -e '.peft_type == "LORA" and .r == 4 and .lora_alpha == 8 and (.target_modules | length) == 14' \
        "$work/adapters/adapter_config.json" &&
        grep -aq '"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"' "$work/adapters/adapter_model.safetensors"
}
check "as PEFT has them" layout
check "a checkpoint without adapters says so" refuses "has no adapters" pcp checkpoint export "$work/base/checkpoint" --adapters "$work/none"

# The embedding's group has no learning rate: its values stay, to the bit; those of the others do not.
grouped() {
    train "$work/model.mlir" --group '*embed*:lr=0' --group '*norm*:lr=0.1,decay=0' --workers 1 --rounds 1 --run-dir "$work/grouped" &&
        grep 'pcp.lr = "0.1"' "$work/grouped/model.mlir" | grep -q 'pcp.decay = "0"'
}
check "groups have learning rates of their own" grouped
tensor() { # FILE NAME: its bytes
    perl -MJSON::PP -0777 -e 'open F, "<:raw", $ARGV[0]; my $f = <F>; my $n = unpack "Q<", $f; my $h = decode_json(substr $f, 8, $n);
        my ($b, $e) = @{ $h->{$ARGV[1]}{data_offsets} }; print substr $f, 8 + $n + $b, $e - $b' "$1" "$2" | md5sum
}
trained() { [ "$(tensor "$work/grouped/init.safetensors" "$1")" != "$(tensor "$work/grouped/checkpoint/latest/model.safetensors" "$1")" ]; }
stays() { [ -s "$work/grouped/checkpoint/latest/model.safetensors" ] && ! trained "$1"; }
check "one without any keeps its values" stays model.embed_tokens.weight
check "the others learn" trained model.layers.0.self_attn.q_proj.weight
check "those with a small one, too" trained model.norm.weight
check "a group of nothing is refused" refuses "no parameter that is trained is called so" train "$work/model.mlir" --group 'none*:lr=1' --prepare-only
check "another form is refused" refuses "expected PATTERN:lr=X,decay=Y" train "$work/model.mlir" --group 'x:speed=1' --prepare-only
frozen() { train "$work/model.mlir" --freeze 'model.embed*,*norm*' --workers 1 --rounds 1 --run-dir "$work/frozen" && grep -q 'pcp.name = "model.norm.weight", pcp.role = "frozen"' "$work/frozen/model.mlir"; }
check "parameters that keep their values" frozen
check "a pattern that names nothing" refuses "no parameter is called nothing" pcp compile "$work/model.mlir" --lora targets=nothing
check "a rank that is none" refuses "1 to 4096" pcp compile "$work/model.mlir" --lora rank=0
tap_done
