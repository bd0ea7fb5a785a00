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
. tests/cluster/emulated.bash

shared=${PCP_SHARED:-../shared}
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
    # spills MODEL OPTION...
    spills() {
        : >"$work/ptxas"
        env PCP_NVCC="$work/nvcc" "$bin/pcp" compile "$@" --target cuda:sm_90 --output "$work/plan" &&
            refuses "no CUDA driver" env PCP_NVCC="$work/nvcc" PCP_LIBCUDA=/nowhere PCP_TARGET=cuda:sm_90 \
                "$bin/pcp" check --backend cpu "$emulated/products.mlir" &&
            awk '/spill stores/ { n++; for (i = 1; i < NF; i++) if ($(i + 2) == "spill" && $(i + 3) ~ /^stores/ && $i > most) most = $i }
                /stack frame/ { if ($1 > stack) stack = $1 }
                /Used/ { for (i = 1; i < NF; i++) if ($(i + 1) == "registers," && $i > regs) regs = $i }
                END { printf "%d kernels, %d registers at most, %d bytes spilled at most, stacks of %d\n", n, regs, most, stack
                      exit !(n > 10 && most <= 256 && stack <= 256) }' \
                "$work/ptxas"
    }
    check "nvcc compiles all kernels for sm_90, and they fit in registers" spills "$model"
    sed -n 's/^\([0-9]* kernels.*\)$/# \1/p' "$work/check.out"
    # The widest heads that attention has a kernel for.
    "$bin/pcp" model gpt2 --layers 1 --heads 1 --width 128 --block 96 --vocab 65 --batch 2 >"$work/wide.mlir"
    check "so do those of attention in bf16 with heads of 128 columns" spills "$work/wide.mlir" --precision bf16
    sed -n 's/^\([0-9]* kernels.*\)$/# \1/p' "$work/check.out"
    # Rows of 200 kB: no group of threads has memory for them.
    "$bin/pcp" model gpt2 --layers 1 --heads 2 --width 64 --block 64 --vocab 50257 --batch 2 >"$work/vocabulary.mlir"
    check "so do those of GPT-2's vocabulary" spills "$work/vocabulary.mlir" --precision bf16
else
    skip "nvcc compiles all kernels for sm_90" "no nvcc here"
fi

if ! command -v g++ >/dev/null; then
    skip "emulated" "no g++ here"
    tap_done
    exit
fi
emulated_library "$work/libcuda.so"
export PCP_TARGET=cuda:sm_90 PCP_LIBCUDA=$work/libcuda.so PCP_NVCC=$emulated/compile PCP_LIBCUBLAS=none
emulated_device cuda:sm_90 cuda:sm_80
device_sample $every 3000 $programs

# Products of bf16 by asynchronous copies: tiles of all sizes; edges at and beside multiples of them; a long sum in parts; one whose
# rows of 33 cannot be copied by eights. Then sums that add to what is there.
while read -r m n k; do
    sed "s/1544/$m/g; s/776/$n/g; s/168/$k/g" "$emulated/products_by_eights.mlir" >"$work/products.mlir"
    check "products of bf16, $m x $n x $k, either way" "$bin/pcp" check --backend cpu "$work/products.mlir"
done <<'END'
1536 768 64
1544 776 40
3000 1096 72
136 200 33
64 40 4128
END
for precision in f32 bf16; do
    check "layers in a loop, whose gradients are parts of one, $precision" "$bin/pcp" compare tests/models/layers.mlir \
        --targets cuda,c:scalar --steps 10 --max-deviation 1e-3 --optimizer sgd --precision $precision
done
"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 64 --batch 16 |
    sed '1s/^module.*{$/module attributes {pcp.part_bytes = 20000 : i64} {/' >"$work/parts.mlir"
check "products of bf16 that add to their result" "$bin/pcp" compare "$work/parts.mlir" --targets cuda,c:scalar --precision bf16 \
    --steps 2 --max-deviation 1e-3

# Products by the vendor's library, in whose place there is one that says what it was asked for.
cc -std=gnu17 -O2 -Wall -Wextra -Werror -fPIC -shared -o "$work/libcublas.so" "$emulated/cublas.c" -ldl || exit 1
by_cublas() {
    sed "s/1410/200/g" "$emulated/products.mlir" >"$work/products.mlir"
    "$bin/pcp" check --backend cpu "$work/products.mlir" && "$bin/pcp" compare "$work/model.mlir" --targets cuda,c:scalar \
        --precision bf16 --steps 2 --max-deviation 1e-3 && awk '{ n[$1 " " $2]++ } END {
            for (kind in n) print kind, n[kind]
            exit !(n["f32 nt"] > 0 && n["f32 tn"] > 0 && n["bf16 nn"] > 0 && n["bf16 tn"] > 0 && n["bf16 nt"] > 0)
        }' "$work/told"
}
export PCP_LIBCUBLAS=$work/libcublas.so PCP_CUBLAS_TOLD=$work/told
check "products by cuBLAS" by_cublas
check "a profile says so" grep -q ', products by cuBLAS 12.3.4, ' <("$bin/pcp" profile "$work/model.mlir" --device cuda --steps 1)
mkdir "$work/blas" && cp "$work/libcublas.so" "$work/blas/libcublas.so.12" || exit 1
echo 'int no_function_of_ours;' | cc -shared -fPIC -x c -o "$work/blas/libcublas.so.13" - || exit 1
check "one that is of no use gives place to an older one" grep -q ', products by cuBLAS 12.3.4, ' <(env -u PCP_LIBCUBLAS \
    LD_LIBRARY_PATH="$work/blas" "$bin/pcp" profile "$work/model.mlir" --device cuda --steps 1)
if [ -e "$shared/conformance/golden/gradients.json" ]; then
    check "golden gradients with products by cuBLAS" "$bin/golden-check" \
        "$shared/data/models/nanogpt_small.mlir" "$shared/conformance/golden/gradients.json" --backend cpu
fi
check "a library for products that is not there is named" refuses "PCP_LIBCUBLAS: /nowhere" env PCP_LIBCUBLAS=/nowhere \
    "$bin/pcp" check --backend cpu "$emulated/products.mlir"
tap_done
