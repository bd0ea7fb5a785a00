#!/usr/bin/env bash
# Plans for Vulkan on this machine's first Vulkan device (lavapipe in the test command), with the validation layer
# listening (a word of it fails the run; it judges each shader, and spirv-val those that it does not see): golden
# gradients, expected values, attention, random programs and a sample of the conformance units. What the target lacks is refused by name and counted apart.
# With PCP_LONG=1 (scripts/test --long) all units and more programs: 12 minutes on two cores.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/units.bash

shared=${PCP_SHARED:-../shared}
every=60 programs=4
if [ -n "${PCP_LONG:-}" ]; then every=1 programs=100; fi

if ! "$bin/pcp" devices | grep -q '^vulkan:0 '; then
    skip "vulkan" "no Vulkan driver here (mesa-vulkan-drivers has lavapipe)"
    tap_done
    exit
fi
if ! command -v glslc >/dev/null || ! command -v spirv-val >/dev/null; then
    skip "vulkan" "needs glslc and spirv-val (scripts/setup)"
    tap_done
    exit
fi

# The compiler of shaders, and a judge of what it made, where the layer is not: that has the same rules inside, and twice
# takes a third of the test's time.
cat >"$work/glslc" <<'EOF'
#!/bin/sh
glslc "$@" || exit
[ "$PCP_VULKAN_VALIDATE" != 1 ] || [ -n "$PCP_LONG" ] || exit 0
for file; do
    case $file in *.comp) spirv-val --target-env vulkan1.1 "$file.spv" || exit ;; esac
done
EOF
chmod +x "$work/glslc"
export PCP_TARGET=vulkan:spirv1.3-f64 PCP_GLSLC=$work/glslc XDG_CACHE_HOME=$work/cache
layers=$(find /usr/share/vulkan /usr/local/share/vulkan /etc/vulkan -name 'VkLayer_khronos_validation*' 2>/dev/null)
if [ -n "$layers" ]; then export PCP_VULKAN_VALIDATE=1; else skip "the validation layer" "vulkan-validationlayers is not installed"; fi

# An instruction where none may be.
cat >"$work/spoiling-glslc" <<'EOF'
#!/bin/sh
glslc "$@" || exit
for file; do
    case $file in *.comp) printf '\021\000\002\000\001\000\000\000' >>"$file.spv" || exit ;; esac
done
EOF
chmod +x "$work/spoiling-glslc"
if [ -n "$layers" ]; then
    check "a shader that is not valid is a word of the layer's" refuses "SPIR-V module not valid" env PCP_GLSLC="$work/spoiling-glslc" \
        XDG_CACHE_HOME="$work/spoiled" "$bin/pcp" check --backend cpu tests/tools/cuda-emulated/groups.mlir
fi
device_sample $every 2000 $programs stablehlo/testdata/expm1_float32_20_20.mlir # lives by its order of rounding
check "attention as one kernel each way" "$tests/fuse_test"
check "groups of threads" "$bin/pcp" check --backend cpu tests/tools/cuda-emulated/groups.mlir
unset PCP_TARGET
"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 65 --batch 2 >"$work/model.mlir"
check "layers in a loop, whose gradients are parts of one" "$bin/pcp" compare tests/models/layers.mlir --targets cpu,vulkan:spirv1.3 \
    --steps 10 --max-deviation 1e-5 --max-drift 1e-5 --optimizer sgd
check "training steps with AdamW where there is no f64" "$bin/pcp" compare "$work/model.mlir" --targets cpu,vulkan:spirv1.3 \
    --steps 3 --max-deviation 1e-4 --max-drift 1e-3
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
    [ -e "$model" ] || model=$work/model.mlir
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
coreless() { "$bin/pcp" profile "$work/model.mlir" --device vulkan --steps 1 | grep -E '^ +[0-9.]+ +100.0% +- .* together$'; }
check "a profile of the device says nothing of cores" coreless
# By the host's clock a step begins where the one before it ends; by the device's, when it has come to the device.
own_clock() {
    "$bin/pcp" profile "$work/model.mlir" --device vulkan --steps 2 --trace "$work/trace.json" >/dev/null &&
        awk '/"tid":0,/ && match($0, /"ts":[0-9.]+/) {
                 begin = substr($0, RSTART + 5, RLENGTH - 5)
                 match($0, /"dur":[0-9.]+/)
                 n++
                 idle += n > 1 && begin - end > 3
                 end = begin + substr($0, RSTART + 6, RLENGTH - 6)
             }
             END { exit !(n > 10 && idle > n / 2) }' "$work/trace.json"
}
check "steps take what the device's clock says" own_clock
check "the share of what it does at best" grep -Eq '^of peak +[0-9]+% of a product.s [1-9][0-9.]* GFLOP/s' \
    <("$bin/pcp" profile "$work/model.mlir" --device vulkan --steps 1 --peak)
check "a driver that is not there is named" refuses "no Vulkan driver" env VK_ICD_FILENAMES=/nowhere VK_DRIVER_FILES=/nowhere \
    PCP_TARGET=vulkan:spirv1.3-f64 "$bin/pcp" profile "$work/model.mlir" --steps 1
check "a compiler of shaders that is not there is named" refuses "install glslc" env PCP_GLSLC=/nowhere \
    PCP_TARGET=vulkan:spirv1.3-f64 "$bin/pcp" profile "$work/model.mlir" --steps 1
tap_done
