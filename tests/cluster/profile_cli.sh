#!/usr/bin/env bash
# pcp profile as a user runs it: the tables, the trace, what is refused.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 64 --batch 2 \
    >"$work/model.mlir" || exit 1

check "a profile is told" "$bin/pcp" profile "$work/model.mlir" --threads 2 --steps 3 \
    --trace "$work/trace.json"
cp "$work/check.out" "$work/profile.txt"
check "tokens a second" grep -Eq '^tokens +32 a step, [1-9][0-9]* a second' "$work/profile.txt"
check "arena and peak" grep -Eq '^memory +arena [0-9.]+ MiB, .* [1-9][0-9.]* MiB$' "$work/profile.txt"

# Shares of the table whose heading ends with the given words add up to 100, but for rounding.
adds_up() {
    awk -v title="$1" '
        $1 == "ms" { inside = index($0, "  " title) > 0; next }
        inside && / together$/ { seen = 1; inside = 0 }
        inside && NF { sum += $2 }
        END { print title, sum; exit !(seen && sum > 95 && sum < 105) }' "$work/profile.txt"
}
check "kinds of step add up" adds_up "kind of step"
check "equal steps add up" adds_up "equal steps"
check "steps add up" adds_up "step"
check "products are among the kinds" grep -q ' products$' "$work/profile.txt"

# Every step of the plan, three times over, on the lane of whole steps.
steps=$(sed -n 's/.* \([0-9]*\) steps of the plan, compiled.*/\1/p' "$work/profile.txt")
n=$(grep -c '"tid":0,"args":{"program":"train"' "$work/trace.json")
check "the trace has three times $steps steps" test "$n" -eq $((3 * steps))
check "and lanes of threads" grep -q '"ph":"X".*"tid":1,' "$work/trace.json"

check "micro-batches are programs of their own" bash -c \
    "'$bin/pcp' profile '$work/model.mlir' --accumulate 2 --steps 1 --top 0 | grep -q ' accumulate 0 '"
emit() { "$bin/pcp" compile "$work/model.mlir" --emit "$1" --precision "$2" >"$work/$1.$2"; }
for precision in f32 bf16 bf16x3; do emit train $precision; emit grad $precision; done
check "f32 products stay" bash -c "! grep -q bf16 '$work/train.f32'"
check "bf16 products sum in f32" grep -Eq 'dot_general.*xbf16>, .*xbf16>\) -> .*xf32>' "$work/train.bf16"
check "and so do those of gradients" grep -Eq 'dot_general.*xbf16>' "$work/grad.bf16"
three() { [ "$(grep -c dot_general "$work/train.bf16x3")" -eq $((3 * $(grep -c dot_general "$work/train.f32"))) ]; }
check "bf16x3 has three products for one" three
check "a profile in bf16, pinned" "$bin/pcp" profile "$work/model.mlir" --precision bf16 --steps 1 --pin
check "a precision that is none" refuses "none of f32|bf16|bf16x3" "$bin/pcp" profile "$work/model.mlir" \
    --precision f16

budget() { "$bin/pcp" compile "$work/model.mlir" --output "$work/plan" --memory-budget "$1"; }
check "a plan within its memory budget" budget 16Mi
rm "$work/plan"
check "a plan beyond it is refused" refuses "the plan needs 0." budget 64Ki
budget 64Ki 2>"$work/least"
check "and not written" test ! -e "$work/plan"
check "a budget without a plan" refuses "--output" "$bin/pcp" compile "$work/model.mlir" \
    --memory-budget 1Gi
least=$(sed -n 's/.*[(]\([0-9]*\) bytes[)] with all recomputed.*/\1/p' "$work/least")
stats() { "$bin/pcp" compile "$work/model.mlir" --stats --memory-budget "$1" >"$work/stats"; }
check "which does" stats "$least"
check "and says what is recomputed" grep -q 'recomputed for less memory' "$work/stats"
check "and where most is in use" grep -Eq 'temporaries [0-9]+ bytes, most at step [0-9]+: ' "$work/stats"

check "another device" bash -c "'$bin/pcp' profile '$work/model.mlir' --device c:0 --steps 1 | grep -q ': c:scalar, 1 threads'"
check "with too little memory" refuses "the limit is 0.0" "$bin/pcp" profile "$work/model.mlir" --device c \
    --memory-limit 4Ki
check "a device that is not there" refuses "no device c:9 here" "$bin/pcp" profile "$work/model.mlir" --device c:9
check "an unknown flag" refuses "--step" "$bin/pcp" profile "$work/model.mlir" --stepz 3
check "no model" refuses "give one StableHLO file" "$bin/pcp" profile
check "a missing model" refuses "nowhere.mlir" "$bin/pcp" profile "$work/nowhere.mlir"
check "a trace that cannot be written" refuses "nowhere" "$bin/pcp" profile "$work/model.mlir" \
    --steps 1 --trace "$work/nowhere/trace.json"
tap_done
