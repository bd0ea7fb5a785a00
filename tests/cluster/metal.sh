#!/usr/bin/env bash
# Shaders as Metal would be given them, by MoltenVK or by anybody: SPIRV-Cross turns every one of the golden model's into
# Metal's language (version 3, with argument buffers: the arena is an array of buffers), with floats that nobody contracts
# where ours are precise. Doubles are what Metal has not: they are seen to fail.
# No compiler of Apple's and no device takes part.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

shared=${PCP_SHARED:-../shared}
if ! command -v glslc >/dev/null || ! command -v spirv-cross >/dev/null; then
    skip "metal" "needs glslc and spirv-cross (scripts/setup)"
    tap_done
    exit
fi

# The compiler of shaders, and what becomes of them.
cat >"$work/glslc" <<EOF
#!/bin/sh
glslc "\$@" || exit
for file; do
    case \$file in
    *.comp)
        name=\$(cksum <"\$file.spv" | tr ' ' -)
        spirv-cross --msl --msl-version 30000 --msl-argument-buffers "\$file.spv" --output "$work/\$name.metal" || exit
        ;;
    esac
done
EOF
chmod +x "$work/glslc"
export PCP_GLSLC=$work/glslc XDG_CACHE_HOME=$work/cache
model=$shared/data/models/nanogpt_small.mlir
if [ ! -e "$model" ]; then
    "$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 65 --batch 2 >"$work/model.mlir"
    model=$work/model.mlir
fi

converts() {
    "$bin/pcp" compile "$model" --target vulkan:spirv1.3 --output "$work/plan" || return 1
    n=$(find "$work" -name '*.metal' | wc -l)
    echo "$n shaders, $(grep -l spvFMul "$work"/*.metal | wc -l) of them with products that are rounded by themselves"
    [ "$n" -gt 40 ] && ! grep -lw double "$work"/*.metal
}
check "every shader of the golden model has a text for Metal" converts
sed -n 's/^\([0-9]* shaders.*\)$/# \1/p' "$work/check.out"
cat >"$work/double.mlir" <<'EOF'
func.func @main(%x: tensor<64xf64>) -> tensor<64xf64> {
  %0 = stablehlo.add %x, %x : tensor<64xf64>
  return %0 : tensor<64xf64>
}
EOF
check "doubles have none" refuses "double" "$bin/pcp" compile "$work/double.mlir" --target vulkan:spirv1.3-f64 --output "$work/plan"
tap_done
