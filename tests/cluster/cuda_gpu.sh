#!/usr/bin/env bash
# Plans for CUDA on a GPU, where this machine has one: what cuda.sh asks of the emulator. Products by cuBLAS, where it is
# installed, and by the plan's own kernels; the same bits in every run; a worker on it beside one on the processor.
# With PCP_LONG=1 (scripts/test --long) all conformance units and more programs.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/units.bash
. tests/cluster/unequal.bash

arch=$("$bin/pcp" devices | sed -n 's/^cuda:0 .*, \(sm_[0-9]*\) .*/\1/p')
target=cuda:$arch
if [ -z "$arch" ] || ! "$bin/pcp" devices | grep -q " $target\$"; then
    skip "a GPU" "no CUDA device here that we have a target for"
    tap_done
    exit
fi
shared=${PCP_SHARED:-../shared} emulated=$PWD/tests/tools/cuda-emulated
every=12 programs=4
if [ -n "${PCP_LONG:-}" ]; then every=1 programs=100; fi
export XDG_CACHE_HOME=$work/cache
text >"$work/text"
"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 256 --batch 8 >"$work/model.mlir"

# of_target: what is asked of $target alone
of_target() {
    local n model=$shared/data/models/nanogpt_small.mlir steps=(--data "$shared/data/tiny_shakespeare.txt")
    [ -e "$model" ] || model=$work/model.mlir steps=(--data "$work/text" --tokenizer byte)
    export PCP_TARGET=$target
    device_sample "$every" 4000 "$programs"
    check "attention as one kernel each way" "$tests/fuse_test"
    check "groups of threads" "$bin/pcp" check --backend cpu "$emulated/groups.mlir"
    check "integers wrap" "$bin/pcp" check --backend cpu "$emulated/wraps.mlir"
    for n in 1410 700 1536; do
        sed "s/1410/$n/g" "$emulated/products.mlir" >"$work/products.mlir"
        check "products of $n x $n, in f32 and bf16" "$bin/pcp" check --backend cpu "$work/products.mlir"
        check "the same by the plan's own kernels" env PCP_LIBCUBLAS=none "$bin/pcp" check --backend cpu "$work/products.mlir"
    done
    unset PCP_TARGET
    check "50 steps beside the processor's" "$bin/pcp" compare "$model" --targets "cpu,$target" --steps 50 --lr 3e-4 --every 50 \
        "${steps[@]}" --max-deviation 1e-4 --max-drift 1e-3
    sed -n 's/^\(cuda:.*\)$/# \1/p' "$work/check.out"
    # Twice the same target: all losses, and the last parameters, are the same.
    check "the same bits in every run" "$bin/pcp" compare "$model" --targets "$target,$target" --steps 20 --every 20 "${steps[@]}" \
        --precision bf16 --max-deviation 1e-30 --max-drift 1e-30
}
of_target
unequal_devices CUDA cuda --device cuda:0
check "nothing is left running" no_orphans
tap_done
