#!/usr/bin/env bash
# Plans for Vulkan as a GPU has them, on this machine's first Vulkan device (lavapipe in the test command), the validation
# layer listening: an arena in several buffers, what PCP_VULKAN_AS_GPU changes, and what Mesa's compiler for AMD's GPUs makes of kernels.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/vulkan.bash

shared=${PCP_SHARED:-../shared}

# An arena that takes several buffers, and rows that no group of threads has memory for.
"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 128 --block 16 --vocab 75011 --batch 2 >"$work/large.mlir"
large() {
    "$bin/pcp" compile "$work/large.mlir" --target vulkan:spirv1.3 --stats | awk '$1 == "arena" { n = $2 } END { exit !(n > 1.1 * 2 ^ 27) }' &&
        "$bin/pcp" compare "$work/large.mlir" --targets cpu,vulkan:spirv1.3 --steps 2 --max-deviation 1e-5 --max-drift 1e-4
}
check "an arena in several buffers, rows of a large vocabulary" large
# As on a GPU: groups of several subgroups, elements of buffers instead of texels, memory that the host does not see; products and
# attention by panels in memory that a group shares.
"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 256 --block 40 --vocab 65 --batch 2 >"$work/wide.mlir"
as_gpu() {
    PCP_TARGET=vulkan:spirv1.3-f64 "$bin/pcp" check --backend cpu tests/tools/cuda-emulated/groups.mlir &&
        PCP_TARGET=vulkan:spirv1.3-f64 "$bin/pcp" check --backend cpu "$work/products.mlir" &&
        "$bin/pcp" compare "$work/wide.mlir" --targets cpu,vulkan:spirv1.3 --steps 2 --max-deviation 1e-5 --max-drift 1e-3 &&
        "$bin/pcp" compare "$work/large.mlir" --targets cpu,vulkan:spirv1.3 --steps 1 --max-deviation 1e-5 --max-drift 1e-4
}
sed "s/1410/1536/g" tests/tools/cuda-emulated/products.mlir >"$work/products.mlir"
export PCP_VULKAN_AS_GPU=1
check "what a GPU does otherwise than a driver on the processor" as_gpu
if [ -e "$shared/conformance/golden/gradients.json" ]; then
    check "golden gradients as on a GPU" env PCP_TARGET=vulkan:spirv1.3-f64 "$bin/golden-check" \
        "$shared/data/models/nanogpt_small.mlir" "$shared/conformance/golden/gradients.json" --backend cpu
fi
if [ -n "${PCP_LONG:-}" ]; then
    check "attention as on a GPU, all spellings and types" env PCP_TARGET=vulkan:spirv1.3-f64 "$tests/fuse_test"
fi
unset PCP_VULKAN_AS_GPU
# Mesa's driver for AMD's GPUs compiles for one that is not there, and tells what each kernel takes.
radeon=$(find /usr/share/vulkan /usr/local/share/vulkan /etc/vulkan -name 'radeon_icd*.json' 2>/dev/null | head -n 1)
# fits GPU MODEL: nothing that a thread of MODEL's kernels keeps goes to memory there. A model has one plan for all GPUs.
fits() {
    local plan=$work/${2##*/}.plan
    { [ -s "$plan" ] || PCP_VULKAN_VALIDATE=0 "$bin/pcp" compile "$2" --target vulkan:spirv1.3-f64 --output "$plan"; } &&
        VK_ICD_FILENAMES=$radeon VK_DRIVER_FILES=$radeon RADV_FORCE_FAMILY=$1 RADV_DEBUG=shaderstats,nocache PCP_VULKAN_VALIDATE=0 \
            "$bin/shader-pipelines" "$plan" 2>"$work/stats" &&
        awk '/^[^:]*: [0-9]+ kernels$/ { kernels = $(NF - 1) } /^VGPRs:/ { n++; if ($2 > most) most = $2 }
            /^Spilled VGPRs:/ { spilled += $3 } /^Scratch size:/ { scratch += $3 }
            END { printf "%d kernels, %d registers at most, %d spilled, %d bytes beside them\n", n, most, spilled, scratch
                  exit !(n == kernels && n > 10 && spilled + scratch == 0) }' "$work/stats"
}
if [ -n "$radeon" ]; then
    model=$shared/data/models/nanogpt_small.mlir
    if [ ! -e "$model" ]; then
        model=$work/small.mlir
        "$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 65 --batch 2 >"$model"
    fi
    "$bin/pcp" model gpt2 --layers 1 --heads 12 --width 768 --block 256 --vocab 50257 --batch 2 >"$work/gpt2.mlir"
    for gpu in vega10 navi21; do
        check "kernels of a small model fit in registers of $gpu" fits $gpu "$model"
        sed -n 's/^\([0-9]* kernels.*\)$/# \1/p' "$work/check.out"
        check "so do those of GPT-2's width and vocabulary" fits $gpu "$work/gpt2.mlir"
        sed -n 's/^\([0-9]* kernels.*\)$/# \1/p' "$work/check.out"
    done
    check "and those of attention with heads of 128 columns" fits navi21 "$work/wide.mlir"
else
    skip "kernels fit in registers of GPUs" "Mesa's driver for AMD's is not here (mesa-vulkan-drivers)"
fi
tap_done
