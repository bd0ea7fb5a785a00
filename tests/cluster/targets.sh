#!/usr/bin/env bash
# Plans for other targets than this machine's best: golden gradients, expected values and random programs as
# plain C and on lower levels of x86-64; aarch64 in an emulator; plans that this processor cannot run
# are compiled, and refused by name.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

shared=${PCP_SHARED:-../shared}
models=$shared/data/models golden=$shared/conformance/golden

# on TARGET COMMAND...: as if TARGET were the best of this machine
on() {
    local target=$1
    shift
    env PCP_TARGET="$target" "$@"
}

# The portable target is the reference for other renderers: it holds whatever the processor is.
others=(c:scalar)
if [ "$(uname -m)" = x86_64 ]; then others+=(cpu:x86-64-v2 cpu:x86-64-v3); fi
first=1000
for target in "${others[@]}"; do
    if [ "$target" = cpu:x86-64-v3 ] && ! grep -qw avx2 /proc/cpuinfo; then
        skip "$target" "this processor does not run it"
        continue
    fi
    check "$target: code generation" on "$target" "$tests/codegen_test"
    [ "$target" != c:scalar ] || check "$target: programs with expected values" on "$target" "$tests/checks_test"
    check "$target: random programs" on "$target" env PCP_PROGRAMS=$first:15 "$tests/random_cpu_test"
    if [ -e "$golden/gradients.json" ]; then
        check "$target: golden gradients" on "$target" "$bin/golden-check" "$models/nanogpt_small.mlir" \
            "$golden/gradients.json" --backend cpu
    else
        skip "$target: golden gradients" "no $golden: set PCP_SHARED"
    fi
    first=$((first + 15))
done

"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 65 --batch 2 >"$work/model.mlir"
if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
    check "cpu:aarch64, emulated: fused programs" on cpu:aarch64 "$tests/fuse_test"
else
    skip "cpu:aarch64, emulated: fused programs" "needs aarch64-linux-gnu-gcc and qemu-aarch64 (scripts/setup --with-cross)"
fi
if [ "$(uname -m)" = x86_64 ]; then
    check "cpu:x86-64-v4-amx: compiles" "$bin/pcp" compile "$work/model.mlir" --precision bf16 \
        --target cpu:x86-64-v4-amx --output "$work/amx.plan"
    if grep -qw amx_bf16 /proc/cpuinfo; then
        skip "cpu:x86-64-v4-amx: refused" "this processor has AMX"
    else
        check "cpu:x86-64-v4-amx: refused" refuses "cpu:x86-64-v4-amx" on cpu:x86-64-v4-amx \
            "$bin/pcp" profile "$work/model.mlir" --precision bf16 --steps 1
    fi
fi
check "a device for the portable target is listed" grep -qE '^c:0 ' <("$bin/pcp" devices)
check "the target of this machine is marked" grep -qE '^  \*\* ' <("$bin/pcp" devices)
check "an unknown target is refused" refuses "cpu:z80" on cpu:z80 "$bin/pcp" profile "$work/model.mlir"
tap_done
