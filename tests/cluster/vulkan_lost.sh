#!/usr/bin/env bash
# A Vulkan device that is lost in the middle of a round: tests/tools/vulkan-lost stands in for libvulkan, and lets one process lose its
# device at its N-th submission. That worker leaves with 11, its supervisor starts it again, its lease is given to a worker of the same
# target, though a faster one of another target is idle, and the run ends with the bits of an undisturbed one.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash

if ! "$bin/pcp" devices | grep -q '^vulkan:0 ' || ! command -v glslc >/dev/null || [ ! -e /usr/include/vulkan/vulkan.h ]; then
    skip "a lost device" "no Vulkan driver here, no headers, or no glslc (scripts/setup)"
    tap_done
    exit
fi
export XDG_CACHE_HOME=$work/cache
gpt2 --layers 1 --heads 2 --width 16 --block 16 --vocab 256 --batch 2 >"$work/model.mlir"
mkdir "$work/lib"
cc -std=gnu17 -O1 -fPIC -shared -o "$work/lib/libvulkan.so.1" tests/tools/vulkan-lost/vulkan.c -ldl || exit 1

# run NAME COMMAND...: two supervised Vulkan workers, which the command starts, and an idle one on the processor
run() {
    cluster "$work/$1"
    shift
    prepare --replicas 2 --inner-steps 4 --rounds 60 --validate-every 0 --checkpoint-every 0 || return 1
    shepherd --workers 2 --timeout-ms 5000 --target-wait-s 60
    aggregator a0 --once
    compiler c0 --once
    launch node "$@" "$bin/pcp-supervisor" --shepherd "$control" --id node --cache-dir "$work/cache" --log-dir "$dir" \
        --devices vulkan:0 --scale 2 --threads 1 --backoff-ms 10 --heartbeat-timeout-ms 20000
    eventually 60 event shepherd 'event=lease .*worker=node-w0' && eventually 60 event shepherd 'event=lease .*worker=node-w1' || return 1
    worker spare --once
}
# A run that is to end although something fails: not waited for without end.
over() { eventually 100 event shepherd 'event=run_done' && ends 0; }
ask_store() { sqlite3 "$dir/pcp.db" ".timeout 10000" "$1"; }
is() { [ "$(ask_store "$1")" = "$2" ] || { ask_store "$1"; return 1; }; }

check "two Vulkan workers and a spare on the processor" run calm env
check "an undisturbed run" ends 0
dismiss
check "the same, of whom one will lose its device" run lost env LD_LIBRARY_PATH="$work/lib" PCP_VULKAN_LOST="6:$work/gone"
check "the run ends" over
check "a device was lost" test -f "$work/gone"
victim=$(sed -n 's/.*worker=\(node-w[01]\) state=waiting .*status 11.*/\1/p' "$dir/node.log" | head -n 1)
check "in the middle of a lease" event "${victim:-nobody}" 'event=device_failed .*status=11 error=".* is lost .*running steps'
check "the supervisor starts that worker again" event node "worker=$victim state=waiting .*status 11: its device was lost.*starts again"
trains_again() { awk '/event=joined/ { lives++ } lives == 2 && /event=lease_done/ { n++ } END { print lives, n; exit !n }' "$dir/$victim.log"; }
check "and it trains again" trains_again
check "the lease was given again" event shepherd 'event=lease_reopened'
check "nobody was blamed" test "$(grep -cE 'event=(strike|blame|refused)' "$dir/shepherd.log")" -eq 0
check "to a worker of the same target" is "SELECT count(*), sum(other_target), sum(moved), max(target), min(target) FROM pcp_targets" \
    "120|0|0|vulkan:spirv1.3-f64|vulkan:spirv1.3-f64"
check "the weights are those of the undisturbed run" cmp "$work/calm/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"
dismiss

check "nothing is left running" no_orphans
tap_done
