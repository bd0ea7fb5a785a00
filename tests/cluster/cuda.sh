#!/usr/bin/env bash
# Plans for CUDA without a GPU. tests/tools/cuda-emulated stands in for nvcc and for libcuda: the source of each kernel becomes
# a function of the host, its threads coroutines. Golden gradients, random programs and a sample of the conformance
# units go through the backend, the device and its graphs; what the target lacks is refused by name. Where
# nvcc is installed it compiles the golden model's kernels for sm_90, and none may spill much.
# With PCP_LONG=1 (scripts/test --long) all units and more programs.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/units.bash

shared=${PCP_SHARED:-../shared}
emulated=$PWD/tests/tools/cuda-emulated
every=120 programs=2
if [ -n "${PCP_LONG:-}" ]; then every=1 programs=100; fi
export XDG_CACHE_HOME=$work/cache

"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 65 --batch 2 >"$work/model.mlir"
check "a compiler that is not there is named" refuses "install NVIDIA's CUDA toolkit" env PCP_NVCC=/nowhere \
    "$bin/pcp" compile "$work/model.mlir" --target cuda:sm_90 --output "$work/plan"

# A compiler that tells the registers of each kernel.
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
if [ -n "$nvcc" ]; then
    printf '#!/bin/sh\nexec "%s" -Xptxas -v "$@" 2>>"%s"\n' "$nvcc" "$work/ptxas" >"$work/nvcc"
    chmod +x "$work/nvcc"
    model=$shared/data/models/nanogpt_small.mlir
    [ -e "$model" ] || model=$work/model.mlir
    spills() {
        env PCP_NVCC="$work/nvcc" "$bin/pcp" compile "$model" --target cuda:sm_90 --output "$work/plan" &&
            refuses "no CUDA driver" env PCP_NVCC="$work/nvcc" PCP_LIBCUDA=/nowhere PCP_TARGET=cuda:sm_90 \
                "$bin/pcp" check --backend cpu "$emulated/products.mlir" &&
            awk '/spill stores/ { n++; for (i = 1; i < NF; i++) if ($(i + 2) == "spill" && $(i + 3) ~ /^stores/ && $i > most) most = $i }
                /Used/ { for (i = 1; i < NF; i++) if ($(i + 1) == "registers," && $i > regs) regs = $i }
                END { printf "%d kernels, %d registers at most, %d bytes spilled at most\n", n, regs, most; exit !(n > 10 && most <= 256) }' \
                "$work/ptxas"
    }
    check "nvcc compiles all kernels for sm_90, and they fit in registers" spills
    sed -n 's/^\([0-9]* kernels.*\)$/# \1/p' "$work/check.out"
else
    skip "nvcc compiles all kernels for sm_90" "no nvcc here"
fi

if ! command -v g++ >/dev/null; then
    skip "emulated" "no g++ here"
    tap_done
    exit
fi
cc -std=gnu17 -O2 -Wall -Wextra -Werror -fPIC -shared -o "$work/libcuda.so" "$emulated/driver.c" -ldl || exit 1
export PCP_TARGET=cuda:sm_90 PCP_LIBCUDA=$work/libcuda.so PCP_NVCC=$emulated/nvcc
check "the device is listed" grep -qE '^cuda:0 .*sm_90' <("$bin/pcp" devices)
check "a device alone stands for its best target" "$bin/pcp" compare "$work/model.mlir" --targets cuda,c:scalar --steps 2 \
    --max-deviation 1e-4 --max-drift 1e-3
check "a plan for another architecture is refused" refuses "is of sm_90" env PCP_TARGET=cuda:sm_80 \
    "$bin/pcp" profile "$work/model.mlir" --steps 1
check "a driver that is not there is named" refuses "no CUDA driver" env PCP_LIBCUDA=/nowhere "$bin/pcp" profile \
    "$work/model.mlir" --steps 1
check "training steps in bf16" "$bin/pcp" compare "$work/model.mlir" --targets cuda:sm_90,c:scalar --precision bf16 --steps 2 \
    --max-deviation 1e-3
for n in 1410 700; do # tiles of 128 x 128 and of 64 x 64; the other tests have small ones
    sed "s/1410/$n/g" "$emulated/products.mlir" >"$work/products.mlir"
    check "products of $n x $n, in f32 and bf16" "$bin/pcp" check --backend cpu "$work/products.mlir"
done
device_sample $every 3000 $programs
tap_done
