#!/usr/bin/env bash
# Golden gradients and training traces (conformance/README.md of the shared material): by the interpreter
# and by compiled plans. And the checker itself: it must see a change of one value.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

shared=${PCP_SHARED:-../shared}
models=$shared/data/models golden=$shared/conformance/golden
if [ ! -e "$golden/gradients.json" ]; then
    skip "golden values" "no $golden: set PCP_SHARED"
    tap_done
    exit
fi

for model in nanogpt_small nanochat_forward_32 nanochat_smoke_d1_128; do
    for backend in interp cpu; do
        check "gradients of $model, $backend" "$bin/golden-check" "$models/$model.mlir" \
            "$golden/gradients.json" --backend "$backend"
    done
done
for backend in interp cpu; do
    check "training of nanogpt_small, $backend" "$bin/golden-check" "$models/nanogpt_small.mlir" \
        "$golden/training.json" --training --backend "$backend"
done

# The family of nanochat is the exported models: the same loss and gradients by the same parameters in the same order. It
# rounds rotary positions as they do; without that it is another model.
mkdir "$work/family"
nanochat() { # FILE FLAGS...
    "$bin/pcp" model nanochat --heads 4 --width 64 "${@:2}" >"$work/family/$1.mlir" 2>/dev/null
}
nanochat nanochat_forward_32 --layers 2 --block 32 --vocab 65 --batch 64
nanochat nanochat_smoke_d1_128 --layers 1 --block 128 --vocab 65536 --batch 1
for model in nanochat_forward_32 nanochat_smoke_d1_128; do
    check "gradients of the family as $model" "$bin/golden-check" "$work/family/$model.mlir" \
        "$golden/gradients.json" --backend cpu
done
differs() { ! "$bin/golden-check" "$work/family/nanochat_forward_32.mlir" "$golden/gradients.json" --backend cpu; }
nanochat nanochat_forward_32 --layers 2 --block 32 --vocab 65 --batch 64 --no-rope-bf16
check "rotary positions in f32 are another model" differs
nanochat nanochat_forward_32 --layers 2 --block 32 --vocab 65 --batch 64 --softcap=0
check "scores without a cap are another model" differs

# Logits held by parts of their rows (plan/schedule/parts.h), here of less than 100 kB: the same gradients, masked targets
# included.
mkdir "$work/parts"
for model in nanogpt_small nanochat_smoke_d1_128; do
    sed '1s/^module.*{$/module attributes {pcp.part_bytes = 100000 : i64} {/' "$models/$model.mlir" \
        >"$work/parts/$model.mlir"
    by_parts() { "$bin/pcp" compile "$work/parts/$model.mlir" --emit plan | grep -q "gemm tn 65[0-9]*x64x$1 "; }
    rows=384
    [ "$model" = nanogpt_small ] || rows=64
    check "$model comes by parts of $rows rows" by_parts "$rows"
    check "gradients of $model by parts" "$bin/golden-check" "$work/parts/$model.mlir" \
        "$golden/gradients.json" --backend cpu
done
check "training of nanogpt_small by parts" "$bin/golden-check" "$work/parts/nanogpt_small.mlir" \
    "$golden/training.json" --training --backend cpu

# What the backward pass reads is made again wherever it can be (plan/lower/recompute.h).
mkdir "$work/again"
for model in nanogpt_small nanochat_forward_32; do
    sed '1s/^module.*{$/module attributes {pcp.keep_bytes = 0 : i64} {/' "$models/$model.mlir" >"$work/again/$model.mlir"
    arena() { "$bin/pcp" compile "$1/$model.mlir" --stats | sed -n "s/^arena \([0-9]*\) .*/\1/p"; }
    check "$model takes less memory when values are made again" test "$(arena "$work/again")" -lt "$(arena "$models")"
done
check "training of nanogpt_small with values made again" "$bin/golden-check" "$work/again/nanogpt_small.mlir" \
    "$golden/training.json" --training --backend cpu

# finds_change FILE KEY [OPTIONS]: with the first value of KEY in FILE one thousandth larger, the checker fails.
finds_change() {
    local file=$1 key=$2 status=0
    shift 2
    awk -v key="\"$key\":" '!done && index($0, key) { sub(/-?[0-9][0-9.e-]*,?$/, $2 * 1.001 ","); done = 1 }
        { print }' CONVFMT=%.17g "$golden/$file" | sed -z 's/,\n *}/\n}/g' >"$work/changed.json"
    "$bin/golden-check" "$models/nanogpt_small.mlir" "$work/changed.json" "$@" || status=$?
    [ "$status" -eq 1 ]
}
check "a changed loss is found" finds_change gradients.json loss_f64
check "a changed norm is found" finds_change gradients.json l2
check "a changed sample is found" finds_change gradients.json 1386
check "a changed parameter is found" finds_change training.json first --training --backend cpu
check "a model without entry is an error" refuses "has no entry for" "$bin/golden-check" \
    "$models/nanogpt_medium_bf16.mlir" "$golden/gradients.json"
tap_done
