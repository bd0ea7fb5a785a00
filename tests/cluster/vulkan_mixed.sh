#!/usr/bin/env bash
# DiLoCo on unequal devices: a worker on the processor and one on this machine's Vulkan device share a run, each with a plan for its
# own target; the run ends where one of two workers on the processor ends. And when the Vulkan worker is killed in the
# middle, the other one takes its work over.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash

if ! "$bin/pcp" devices | grep -q '^vulkan:0 ' || ! command -v glslc >/dev/null; then
    skip "vulkan workers" "no Vulkan driver here, or no glslc (scripts/setup)"
    tap_done
    exit
fi
export XDG_CACHE_HOME=$work/cache
vulkan=(--target vulkan:spirv1.3-f64)
gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 256 --batch 8 >"$work/model.mlir"

# run NAME FLAGS...: two workers, w2 with the flags
run() {
    local name=$1
    shift
    cluster "$work/$name"
    prepare --replicas 2 --inner-steps 8 --rounds 3 --val-fraction 0.02 --validate-every 3 || return 1
    shepherd --workers 2 --aggregators 1 --timeout-ms 5000
    aggregator a0 --once
    compiler c0 --once
    worker w1 --once
    worker w2 --once "$@"
}

# last KEY: of the run's last round
last() {
    sed -n "s/.*event=round round=3 .*[ ]$1=\([0-9.]*\).*/\1/p" "$dir/shepherd.log"
}

run plain
check "two workers on the processor end well" ends 0
plain=$(last val_loss)
dismiss
run mixed "${vulkan[@]}"
check "one of each ends well" ends 0
mixed=$(last val_loss)
check "the Vulkan worker trained in each round" test "$(grep -c 'event=lease_done' "$dir/w2.log")" -ge 3
check "within 1e-4 of the same loss" awk -v a="$plain" -v b="$mixed" \
    'BEGIN { d = a - b; print a, b; exit !(a > 0 && d < a * 1e-4 && -d < a * 1e-4) }'
echo "# validation loss: two on the processor $plain, one of each $mixed"
dismiss
run killed "${vulkan[@]}"
check "the Vulkan worker begins" eventually 60 event w2 'event=lease'
slay KILL w2
check "the other one ends the run" ends 0
dismiss
check "nothing is left running" no_orphans
tap_done
