#!/usr/bin/env bash
# control: one shepherd and a crowd of simulated workers, over TCP on this machine.
#
#   tests/bench/control.sh [WORKERS [SECONDS]]     (default 1000 20; as `scripts/bench control`)
#
# The workers speak the real protocol (HELLO, HEARTBEAT, leases, a pseudo-gradient of a tiny model to a
# real aggregator, LEASE_DONE) and compute nothing; each is a replica of its own. Printed: how long
# the shepherd took to answer (median, p99, max), rounds, and the shepherd's memory at the start and end.
set -euo pipefail
cd "$(dirname "$0")/../.."
case ${1:-} in -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit ;; esac
count=${1:-1000} seconds=${2:-20} bin=${PCP_BIN:-build/bin}
work=$(mktemp -d "${TMPDIR:-/tmp}/pcp-bench.XXXXXX") pids=()
trap '{ kill -KILL "${pids[@]}"; wait; } 2>/dev/null; rm -rf "$work"' EXIT
ulimit -n "$(ulimit -Hn)"

"$bin/pcp" model gpt2 --layers 1 --heads 1 --width 8 --block 8 --vocab 256 --batch 1 >"$work/gpt.mlir"
for _ in $(seq 100); do cat README.md; done >"$work/text"
"$bin/pcp" train "$work/gpt.mlir" --data "$work/text" --tokenizer byte --workers "$count" --replicas "$count" \
    --rounds 1000000 --codec f32 --inner-steps 2 --validate-every 0 --run-dir "$work/run" --prepare-only >/dev/null

serve() {
    "$bin/pcp-$1" "${@:2}" 2>"$work/$1.log" &
    pids+=($!)
}
port=$((20000 + RANDOM % 20000))
control=tcp://127.0.0.1:$port
serve shepherd --config "$work/run/run.json" --run-dir "$work/run" --bind "$control"
shepherd=$!
serve aggregator --shepherd "$control" --bind "tcp://127.0.0.1:*" --object-dir "$work/objects"
serve compiler --shepherd "$control" --cache-dir "$work/plans"
memory() { awk '/^VmRSS/ { printf "%.1f MB", $2 / 1024 }' "/proc/$shepherd/status"; }
sleep 2
before=$(memory)
"$bin/worker-crowd" --shepherd "$control" --count "$count" --seconds "$seconds"
echo "rounds: $(grep -c event=round "$work/shepherd.log")"
echo "shepherd's memory: $before alone, $(memory) at the end"
ps -o cputime= -p "$shepherd" | awk '{ print "shepherd cpu time:", $1 }'
