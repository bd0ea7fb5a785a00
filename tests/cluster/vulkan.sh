#!/usr/bin/env bash
# Plans for Vulkan on this machine's first Vulkan device (lavapipe in the test command), with the validation layer
# listening (a word of it fails the run; it judges each shader, and spirv-val those that it does not see): golden
# gradients, expected values, attention, random programs and a sample of the conformance units. What the target lacks is refused by name and counted apart.
# With PCP_LONG=1 (scripts/test --long) all units and more programs: 12 minutes on two cores.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/units.bash
. tests/cluster/vulkan.bash

shared=${PCP_SHARED:-../shared}
every=60 programs=4
if [ -n "${PCP_LONG:-}" ]; then every=1 programs=100; fi
export PCP_TARGET=vulkan:spirv1.3-f64

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
