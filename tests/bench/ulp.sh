#!/usr/bin/env bash
# ulp: the largest error of the f32 functions of generated kernels, over all 2^32 inputs, against libm
# in double. Compiled as plans are, so that loops are vectorised and multiply-adds fused.
#
#   tests/bench/ulp.sh [--march ARCH] [FUNCTION...]     (as `scripts/bench ulp`)
#
#   --march ARCH   instruction set for gcc [native]
#   FUNCTION       exp, log, tanh, erf, ...: those of tests/unit/prelude_test.c [those of hot loops]
#
# One or two minutes of one core for each function; as many at a time as there are cores. Prints, for
# each, the error in ulp and the input, and then, after five more minutes, whether the bits are those of
# every other target that runs here. libshared/codegen/prelude/prelude_math.h states the figures.
set -euo pipefail
cd "$(dirname "$0")/../.."
march=native
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) sed -n '2,13s/^# \{0,1\}//p' tests/bench/ulp.sh; exit ;;
    --march) march=${2:?--march needs an instruction set}; shift 2 ;;
    -*) echo "ulp: unknown argument '$1' (try --help)" >&2; exit 2 ;;
    *) break ;;
    esac
done
names=("$@")
[ $# -gt 0 ] || names=(exp expm1 log log1p tanh logistic erf erfc rsqrt sqrt sin cos)
work=$(mktemp -d "${TMPDIR:-/tmp}/pcp-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

# The flags of libshared/codegen/c/compiler.c.
"${CC:-cc}" -std=gnu11 -O3 -march="$march" -fopenmp-simd -fwrapv -fno-math-errno -fno-trapping-math \
    -ffp-contract=fast -Ilibshared -o "$work/ulp" tests/unit/prelude_test.c \
    build/obj/release/libpcp.a -lcmocka -lm
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -n 1 "$work/ulp" --all
make -s build/tests/prelude_bits_test
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -n 1 build/tests/prelude_bits_test --all
