#!/usr/bin/env bash
# pcp compare as a user runs it: the same steps on several targets, limits, JSON. With PCP_LONG=1 (scripts/test --long)
# nanogpt_small takes 50 steps on the processor and on this machine's Vulkan device, else 3, and a smaller model 50.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

export XDG_CACHE_HOME=$work/cache
text >"$work/text"
gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 256 --batch 4 >"$work/model.mlir"
compare() { "$bin/pcp" compare "$@" >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err"; return 1; }; }
small=("$work/model.mlir" --data "$work/text" --tokenizer byte)
near=(--max-deviation 1e-4 --max-drift 1e-3)

# beside NAME OPTIONS...: tests/models/NAME.mlir, or a file, with plain C as the judge
beside() {
    local model=$1
    shift
    compare "tests/models/$model.mlir" --targets cpu,c --steps 20 "$@"
}
check "a network of convolutions, plain C beside the processor" beside cnn "${near[@]}"
check "a recurrent one in f64 agrees to the last digits" beside gru --max-deviation 1e-12 --max-drift 1e-10
check "layers in a loop, one behind another" beside layers "${near[@]}"
check "a language model on a text" compare "${small[@]}" --targets cpu,c:scalar --steps 20 "${near[@]}"
losses() { awk '$1 ~ /^[0-9]+$/ && $2 ~ /^cpu:/ { print $3 }' "$work/out"; }
check "a row for each step" test "$(losses | wc -l)" -eq 20
losses >"$work/trained"
learns() { awk 'NR == 1 { first = $1 } END { exit !(first > 0 && $1 < first - 0.1) }' "$work/trained"; }
check "it learns" learns
mlp=(tests/models/roles/mlp.mlir --steps 10 --targets "c,cpu")
compare "${mlp[@]}"
losses >"$work/first"
compare "${mlp[@]}" --accumulate 2 --optimizer sgd --lr 0.1 --seed 2 "${near[@]}"
losses >"$work/second"
differ() { ! cmp -s "$1" "$2"; }
check "options change what is trained" differ "$work/first" "$work/second"

status=0
"$bin/pcp" compare "${mlp[@]}" -o json --max-deviation 1 --max-drift 1e-12 \
    >"$work/out" 2>"$work/err" || status=$?
check "a limit's exit status is 1" test "$status" -eq 1
check "with the name of the parameter" grep -q -- '--max-drift is 1e-12; furthest: [a-z]' "$work/err"
check "the other limit" refuses "--max-deviation is 1e-12" "$bin/pcp" compare "${mlp[@]}" \
    --max-deviation 1e-12 --max-drift 1e-12
if command -v jq >/dev/null; then
    judged() { jq -e "$1" "$work/out"; }
    check "what was measured is printed all the same, here as JSON" judged '.steps == 10 and (.sides | length == 2) and
        all(.sides[]; (.loss | length == 10) and (.update_norm | length == 10) and (.drift | length == 10))'
    check "the reference deviates by nothing" judged '.reference == "c:scalar" and .sides[0].largest_deviation == 0 and
        .sides[0].final_drift == 0 and .sides[1].largest_deviation == (.sides[1].deviation | max)'
else
    skip "JSON" "no jq"
fi
check "one target is none to compare with" refuses "give two or more" "$bin/pcp" compare "${mlp[@]}" --targets cpu
check "a device that is not there" refuses "no device c:7 here" "$bin/pcp" compare "${mlp[@]}" --targets cpu,c:7
check "too little memory is said before a step is taken" refuses "the limit is 0.0" "$bin/pcp" compare "${mlp[@]}" \
    --memory-limit 4Ki

if ! "$bin/pcp" devices | grep -q '^vulkan:0 ' || ! command -v glslc >/dev/null; then
    skip "vulkan" "no Vulkan driver here, or no glslc (scripts/setup)"
    tap_done
    exit
fi
vulkan=vulkan:spirv1.3-f64
check "a small model on Vulkan, 50 steps" compare "${small[@]}" --targets cpu,$vulkan --steps 50 "${near[@]}"
sed -n '/compared with/,$s/^/# /p' "$work/out"
shared=${PCP_SHARED:-../shared}/data
if [ -e "$shared/models/nanogpt_small.mlir" ] && [ "$slow" -eq 1 ]; then
    steps=3
    [ -z "${PCP_LONG:-}" ] || steps=50
    check "nanogpt_small on Vulkan, $steps steps" compare "$shared/models/nanogpt_small.mlir" \
        --data "$shared/tiny_shakespeare.txt" --targets cpu,$vulkan --lr 3e-4 --steps $steps "${near[@]}"
    sed -n '/compared with/,$s/^/# /p' "$work/out"
else
    skip "nanogpt_small" "no $shared/models: set PCP_SHARED"
fi
tap_done
