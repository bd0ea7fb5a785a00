#!/usr/bin/env bash
# Plans for HIP (AMD's devices) without one. tests/tools/cuda-emulated stands in for clang and for libamdhip64: wavefronts
# of 64 threads (gfx90a) and of 32 (gfx1100). Golden gradients, random programs and a sample of the conformance units go through
# it. Where a clang for amdgcn and ROCm's device library are installed (scripts/setup --with-hip), it compiles
# the golden model's kernels to code objects, and none may spill. Where libamdhip64 is, it has all functions that we ask for.
# With PCP_LONG=1 (scripts/test --long) all units, more programs, code objects for every architecture.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/units.bash
. tests/cluster/emulated.bash

shared=${PCP_SHARED:-../shared}
every=160 programs=2 archs=gfx90a
if [ -n "${PCP_LONG:-}" ]; then every=1 programs=100 archs='gfx90a gfx942 gfx1100'; fi
export XDG_CACHE_HOME=$work/cache

"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 65 --batch 2 >"$work/model.mlir"
check "a compiler that is not there is named" refuses "install ROCm" env PCP_HIPCC=/nowhere PCP_HIP_LIBS="$work" \
    "$bin/pcp" compile "$work/model.mlir" --target hip:gfx90a --output "$work/plan"

# A compiler that tells the registers of each kernel. 17 is the first that knows gfx942.
clang=$(for name in /opt/rocm/llvm/bin/clang clang-{21,20,19,18,17}; do command -v "$name" && break; done)
model=$shared/data/models/nanogpt_small.mlir
[ -e "$model" ] || model=$work/model.mlir
# spills ARCH MODEL OPTION...
spills() {
    local arch=$1 model=$2
    shift 2
    printf '#!/bin/sh\nexec "%s" -Rpass-analysis=kernel-resource-usage "$@" 2>>"%s"\n' "$clang" "$work/usage.$arch" >"$work/clang"
    chmod +x "$work/clang"
    : >"$work/usage.$arch"
    env PCP_HIPCC="$work/clang" "$bin/pcp" compile "$model" --target "hip:$arch" --output "$work/plan" "$@" &&
        awk '/ Function Name:/ { n++ } / VGPRs: / && $(NF - 1) > regs { regs = $(NF - 1) } / VGPRs Spill: / { spilled += $(NF - 1) }
            END { printf "%d kernels, %d vector registers at most, %d spilled\n", n, regs, spilled; exit !(n > 10 && spilled == 0) }' \
            "$work/usage.$arch"
}
library=$(find /opt/rocm/amdgcn/bitcode/ /usr/lib/*/amdgcn/bitcode/ -name ocml.bc 2>/dev/null | head -n 1)
if [ -n "$clang" ] && [ -n "$library" ]; then
    for arch in $archs; do
        check "clang compiles the golden model's kernels for $arch, and they fit in registers" spills "$arch" "$model"
        sed -n 's/^\([0-9]* kernels.*\)$/# \1/p' "$work/check.out"
    done
    check "so it does those of products of bf16 for gfx942" spills gfx942 "$work/model.mlir" --precision bf16
    mkdir "$work/fewer" # newer libraries have fewer switches
    for name in "${library%/*}"/*.bc; do
        case $name in *correctly_rounded*) ;; *) ln -s "$name" "$work/fewer/" ;; esac
    done
    check "a device library without one of its switches will do" refuses "no HIP driver" env PCP_HIP_LIBS="$work/fewer" \
        PCP_HIPCC="$clang" PCP_LIBHIP=/nowhere PCP_TARGET=hip:gfx942 "$bin/pcp" check --backend cpu "$emulated/groups.mlir"
    check "a folder without the library is named" refuses "$work/nothing/ocml.bc" env PCP_HIP_LIBS="$work/nothing" \
        PCP_HIPCC="$clang" PCP_TARGET=hip:gfx942 "$bin/pcp" check --backend cpu "$emulated/groups.mlir"
else
    skip "clang compiles all kernels" "no clang 17 or newer, or no rocm-device-libs here: scripts/setup --with-hip"
fi
if ldconfig -p | grep -q 'libamdhip64\.so'; then
    finds_it() {
        "$bin/pcp" devices | grep -q '^hip:0 ' || refuses "no HIP driver finds a device" env PCP_HIP_LIBS="$work" \
            PCP_HIPCC="$emulated/compile" PCP_TARGET=hip:gfx90a "$bin/pcp" check --backend cpu "$emulated/groups.mlir"
    }
    check "ROCm's library has what we ask for" finds_it
else
    skip "ROCm's library has what we ask for" "no libamdhip64 here"
fi

if ! command -v g++ >/dev/null; then
    skip "emulated" "no g++ here"
    tap_done
    exit
fi
emulated_library "$work/libamdhip64.so" -DEMULATED_HIP
export PCP_LIBHIP=$work/libamdhip64.so PCP_HIPCC=$emulated/compile PCP_HIP_LIBS=$work
export PCP_TARGET=hip:gfx1100 PCP_EMULATED_ARCH=gfx1100
check "wavefronts of 32 threads" "$bin/pcp" check --backend cpu "$emulated/groups.mlir"
sed "s/1410/70/g" "$emulated/products.mlir" >"$work/products.mlir"
check "products of bf16 without an instruction for them" "$bin/pcp" check --backend cpu "$work/products.mlir"
export PCP_TARGET=hip:gfx90a PCP_EMULATED_ARCH=gfx90a
emulated_device hip:gfx90a hip:gfx942
device_sample $every 4000 $programs
tap_done
