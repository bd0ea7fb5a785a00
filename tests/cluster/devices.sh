#!/usr/bin/env bash
# Devices that fail their workers: not there, without a driver, too small. What each worker leaves with, what its
# supervisor makes of it, and that the run goes on without it.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash

export XDG_CACHE_HOME=$work/cache
gpt2 --layers 1 --heads 2 --width 16 --block 16 --vocab 256 --batch 2 >"$work/model.mlir"

# leaves_with STATUS WORDS COMMAND...: it ends so, and says so
leaves_with() {
    local want=$1 words=$2 status=0
    shift 2
    "$@" >"$work/leaves.out" 2>&1 || status=$?
    if [ "$status" -eq "$want" ] && grep -qF -- "$words" "$work/leaves.out"; then return; fi
    echo "status $status"
    cat "$work/leaves.out"
    return 1
}
alone() { "$bin/pcp-worker" --shepherd "ipc://$work/nobody" --cache-dir "$work/cache" "$@"; }
no_driver=(env VK_ICD_FILENAMES=/nowhere VK_DRIVER_FILES=/nowhere)
check "a device that is not there" leaves_with 10 "no device c:3 here" alone --device c:3
check "a driver that is not there" leaves_with 10 "a device's driver may be missing" "${no_driver[@]}" "$bin/pcp-worker" \
    --shepherd "ipc://$work/nobody" --cache-dir "$work/cache" --target vulkan:spirv1.3-f64
check "a device of another kind than the target" leaves_with 1 "does not run" alone --device cpu --target c:scalar
check "no kind of device" leaves_with 10 "this build has: cpu" alone --device abacus:0
lists() { leaves_with 2 "$1" "$bin/pcp-supervisor" --shepherd "ipc://$work/nobody" --log-dir "$work/logs" --devices "$2"; }
check "a list of none" lists "give all, or names" "cpu,,c"
check "a number without a kind" lists "a device of which kind" "0,cpu"
check "an unknown kind in it" lists "abacus" "cpu,abacus:1"

# run NAME FLAGS...: on supervised workers
run() {
    cluster "$work/$1"
    shift
    prepare --workers 1 --replicas 2 --inner-steps 2 --rounds 3 --validate-every 0 --checkpoint-every 0 || return 1
    shepherd --timeout-ms 5000
    aggregator a0 --once
    compiler c0 --once
    serve node supervisor --shepherd "$control" --id node --cache-dir "$work/cache" --log-dir "$dir" --threads 1 "$@"
}

# --- no driver: given up at once, the other one trains ---
VK_ICD_FILENAMES=/nowhere VK_DRIVER_FILES=/nowhere run missing --devices c,vulkan:0 --stable-ms 60000
check "its supervisor gives it up" eventually 60 event node 'worker=node-w1 state=failed .*status 10: its device or the driver is not there'
check "after one start" test "$(grep -c 'worker=node-w1 state=starting' "$dir/node.log")" -eq 1
check "the other one ends the run" ends 0
check "on the device that it was given" event shepherd 'member=node-w0 .*target=c:scalar'
dismiss

unset VK_ICD_FILENAMES VK_DRIVER_FILES

# --- too little memory ---
cluster "$work/small"
prepare --workers 2 --replicas 2 --inner-steps 2 --rounds 2 --validate-every 0 --checkpoint-every 0
shepherd --timeout-ms 5000
aggregator a0 --once
compiler c0 --once
worker w1 --once
worker w2 --once --memory-limit 64Ki
check "too little memory: the worker leaves with 12" leaves w2 12
check "and says how much there was to be" event w2 'event=device_failed .*status=12 error=.*limit is 0.1'
check "the run is not blamed" ends 0
dismiss

# --- the same under a supervisor: given up at once, the other one trains ---
PCP_MEMORY_LIMIT=64Ki run narrow --devices cpu --stable-ms 60000
check "a supervisor gives up a worker with too little memory" eventually 60 event node \
    'worker=node-w0 state=failed .*status 12: its device has too little memory for the run'
check "after one start" test "$(grep -c 'worker=node-w0 state=starting' "$dir/node.log")" -eq 1
check "which leaves the supervisor without workers: status 4" leaves node 4
check "its lease was in hand" event shepherd 'lease_reopened .*round=0'
worker w1 --once
check "another one ends the run" ends 0
check "the records know how little it was" test "$(sqlite3 "$dir/pcp.db" "SELECT memory_bytes FROM pcp_workers WHERE worker = 'node-w0'")" = 65536
dismiss

check "nothing is left running" no_orphans
tap_done
