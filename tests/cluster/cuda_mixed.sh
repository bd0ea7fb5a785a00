#!/usr/bin/env bash
# DiLoCo on unequal devices without a GPU: a worker on the processor and one on the emulated CUDA device (tests/tools/cuda-emulated) share
# a run, each with a plan for its own target; the run ends where one of two workers on the processor ends. And a CUDA
# device that is lost in the middle of a lease: exit status 11, its worker is started again and trains the lease again.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash

if ! command -v g++ >/dev/null; then
    skip "emulated" "no g++ here"
    tap_done
    exit
fi
export XDG_CACHE_HOME=$work/cache
emulated=$PWD/tests/tools/cuda-emulated
cc -std=gnu17 -O2 -fPIC -shared -o "$work/libcuda.so" "$emulated/driver.c" -ldl || exit 1
export PCP_LIBCUDA=$work/libcuda.so PCP_NVCC=$emulated/compile PCP_LIBCUBLAS=none PCP_EMULATED_HEADERS=$work/headers
"$emulated/compile" --headers=cuda || exit 1
gpt2 --layers 1 --heads 2 --width 16 --block 16 --vocab 256 --batch 2 >"$work/model.mlir"

# run NAME SHEPHERD_FLAGS...: a run of two replicas
run() {
    cluster "$work/$1"
    shift
    prepare --replicas 2 --inner-steps 8 --rounds 3 --val-fraction 0.02 --validate-every 3 || return 1
    shepherd --workers 2 --aggregators 1 --timeout-ms 5000 "$@"
    aggregator a0 --once
    compiler c0 --once
    worker w1 --once
    eventually 60 event shepherd "member_joined member=w1 " # replica 0 is the first one's
}
# last KEY: of the run's last round
last() {
    sed -n "s/.*event=round round=3 .*[ ]$1=\([0-9.]*\).*/\1/p" "$dir/shepherd.log"
}
# A run that is to end although something fails: not waited for without end.
over() { eventually 100 event shepherd 'event=run_done' && ends 0; }
ask_store() { sqlite3 "$dir/pcp.db" ".timeout 10000" "$1"; }
is() { [ "$(ask_store "$1")" = "$2" ] || { ask_store "$1"; return 1; }; }
shows() { "$bin/pcp" worker list --shepherd "$control" >"$work/list" 2>&1; grep -qE -- "$1" "$work/list" || { cat "$work/list"; return 1; }; }

run plain
worker w2 --once
check "two workers on the processor end well" ends 0
plain=$(last val_loss)
dismiss
run mixed
worker w2 --once --device cuda:0
check "who lists the workers sees their devices" eventually 60 shows '^w2 .* cuda:sm_90 .* 1\.0 GiB +cuda:0 +emulated'
check "one of each ends well" ends 0
mixed=$(last val_loss)
check "the CUDA worker trained in each round" test "$(grep -c 'event=lease_done' "$dir/w2.log")" -eq 3
check "within 1e-4 of the same loss" awk -v a="$plain" -v b="$mixed" \
    'BEGIN { d = a - b; print a, b; exit !(a > 0 && d < a * 1e-4 && -d < a * 1e-4) }'
echo "# validation loss: two on the processor $plain, one of each $mixed"
check "the ledger knows who trained what" is \
    "SELECT count(*), sum(target = 'cuda:sm_90'), sum(other_target), sum(moved) FROM pcp_targets" "6|3|0|0"
check "the records know the devices" is "SELECT device, target, memory_bytes, run IS NULL FROM pcp_workers WHERE worker = 'w2'" \
    "cuda:0 emulated, sm_90|cuda:sm_90|1073741824|1"
dismiss

# --- its device is lost ---
run lost --target-wait-s 60
launch node env PCP_CUDA_LOST="20:$work/gone" "$bin/pcp-supervisor" --shepherd "$control" --id node --cache-dir "$work/cache" --log-dir "$dir" \
    --devices cuda:0 --threads 1 --heartbeat-timeout-ms 20000
check "a run whose CUDA device is lost ends" over
check "the worker left with 11 and was started again" event node 'worker=node-w0 state=waiting .*status 11: its device was lost.*starts again'
check "in the middle of a lease" event node-w0 'event=device_failed .*status=11 error=".*CUDA device emulated is lost'
check "the lease was given again to CUDA" is "SELECT sum(target = 'cuda:sm_90'), sum(other_target), sum(moved) FROM pcp_targets" "3|0|0"
check "the weights are those of the undisturbed run" cmp "$work/mixed/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"
dismiss

check "nothing is left running" no_orphans
tap_done
