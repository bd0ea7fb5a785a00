# shellcheck shell=bash
# What is asked of a device that tests/tools/cuda-emulated stands in for. Source it behind tap.bash and units.bash; $work has
# model.mlir.
# shellcheck disable=SC2154 # of the test that sources this file

emulated=$PWD/tests/tools/cuda-emulated

# emulated_library FILE FLAG...: a library in the driver's place, and what the compiler in nvcc's place wants for each kernel.
emulated_library() {
    local library=$1 arch
    shift
    export PCP_EMULATED_HEADERS=$work/headers
    case "$*" in
    *-DEMULATED_HIP*) for arch in gfx90a gfx1100; do "$emulated/compile" --offload-arch=$arch --headers=hip || exit 1; done ;;
    *) "$emulated/compile" --headers=cuda || exit 1 ;;
    esac
    cc -std=gnu17 -O2 -Wall -Wextra -Werror -fPIC -shared "$@" -o "$library" "$emulated/driver.c" -ldl || exit 1
}

# own_clock KIND: each of a profile's N steps takes 4 us by the emulated device's clock.
own_clock() {
    PCP_EMULATED_MS=0.004 "$bin/pcp" profile "$work/model.mlir" --device "$1" --steps 1 --warmup 0 |
        awk '/ together$/ { exit !($(NF - 1) > 10 && $1 > 0.0039 * $(NF - 1) && $1 < 0.0041 * $(NF - 1)) }'
}

# numbers_in_64_bits TARGET: elements of large.mlir's matrix are found by rows and columns, and as one row after the other.
numbers_in_64_bits() {
    "$bin/pcp" compile "$emulated/large.mlir" --role x=batch --role w=param --target "$1" --emit c >"$work/large" &&
        grep -q 'a0\[int64_t(uint64_t(i[0-9]*) \* UINT64_C(1024)' "$work/large" &&
        grep -q 'uint64_t(i[0-9]*) \* UINT64_C(3000000)' "$work/large" && ! grep '(i[0-9]* \* 3000000' "$work/large"
}

# emulated_device TARGET OTHER: of $PCP_TARGET's kind, which has TARGET and not OTHER.
emulated_device() {
    local kind=${1%%:*} arch=${1#*:} other=$2 n
    check "the device is listed" grep -qE "^$kind:0 .*$arch" <("$bin/pcp" devices)
    check "a plan for another architecture is refused" refuses "is of $arch" env PCP_TARGET="$other" \
        "$bin/pcp" check --backend cpu "$emulated/groups.mlir"
    check "a driver that is not there is named" refuses "no ${kind^^} driver" env "PCP_LIB${kind^^}=/nowhere" \
        "$bin/pcp" check --backend cpu "$emulated/groups.mlir"
    check "a device alone stands for its best target; training steps in bf16" "$bin/pcp" compare "$work/model.mlir" \
        --targets "$kind,c:scalar" --precision bf16 --steps 2 --max-deviation 1e-3
    for n in 20011 20012; do # in turns of one column and of four
        "$bin/pcp" model gpt2 --layers 1 --heads 1 --width 8 --block 4 --vocab $n --batch 2 >"$work/vocabulary.mlir"
        check "rows of a vocabulary of $n" "$bin/pcp" compare "$work/vocabulary.mlir" --targets "$kind,cpu" --steps 1 \
            --max-deviation 1e-5 --max-drift 1e-4
    done
    check "steps take what the device's clock says" own_clock "$kind"
    for n in 214 719 999; do # memory that is broken, a kernel that failed, what has no name
        check "a device is lost by error $n" refuses "is lost" env "PCP_CUDA_LOST=3:$work/lost$n" PCP_CUDA_LOST_AS=$n \
            "$bin/pcp" check --backend cpu "$emulated/groups.mlir"
    done
    check "attention as one kernel each way" "$tests/fuse_test"
    check "groups of threads" "$bin/pcp" check --backend cpu "$emulated/groups.mlir"
    check "elements beyond 2^31 have numbers of 64 bits" numbers_in_64_bits "$1"
    check "integers wrap" "$bin/pcp" check --backend cpu "$emulated/wraps.mlir"
    for n in 1410 700 1536; do # tiles of 128 x 128 and of 64 x 64; the other tests have small ones. 1536: long sums in parts
        sed "s/1410/$n/g" "$emulated/products.mlir" >"$work/products.mlir"
        check "products of $n x $n, in f32 and bf16" "$bin/pcp" check --backend cpu "$work/products.mlir"
    done
}
