#!/usr/bin/env bash
# control: one shepherd and a crowd of simulated workers, over TCP on this machine.
#
#   tests/bench/control.sh [WORKERS [SECONDS]]     (default 1000 20; as `scripts/bench control`)
#
# The workers speak the real protocol (HELLO, HEARTBEAT, leases, a pseudo-gradient of a tiny model to a
# real aggregator, LEASE_DONE) and compute nothing; each is a replica of its own. Two clusters one after
# the other: the workers come within one second (a storm, as after an outage), then over ten. Printed: how
# long the shepherd took to answer (median, p99, max; HELLO with its connection, LEASE_DONE until it is in
# the store), rounds, and the shepherd's memory at the start and end.
set -euo pipefail
cd "$(dirname "$0")/../.."
case ${1:-} in -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit ;; esac
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
memory() { awk '/^VmRSS/ { printf "%.1f MB", $2 / 1024 }' "/proc/$shepherd/status"; }
since() { # PATTERN: the shepherd's log has it within 30 s
    for _ in {1..300}; do
        grep -q "$1" "$work/shepherd.log" && return
        sleep 0.1
    done
    echo "control: no '$1' in the shepherd's log" >&2
    exit 1
}

crowd() { # MILLISECONDS over which they come
    local port=$((20000 + RANDOM % 20000)) before
    local control=tcp://127.0.0.1:$port
    rm -rf "$work/cluster"
    mkdir "$work/cluster"
    serve shepherd --config "$work/run/run.json" --run-dir "$work/cluster" --bind "$control"
    shepherd=$!
    serve aggregator --shepherd "$control" --bind "tcp://127.0.0.1:*" --object-dir "$work/cluster/objects"
    serve compiler --shepherd "$control" --cache-dir "$work/plans"
    since kind=aggregator
    since kind=compiler
    # The plan is compiled beforehand, for the compiler would take the processors away.
    "$bin/worker-crowd" --shepherd "$control" --count 1 --threads 1 --seconds 0 --join-ms 0 >/dev/null
    since event=plan_ready
    before=$(memory)
    echo "== $count workers come within $1 ms"
    "$bin/worker-crowd" --shepherd "$control" --count "$count" --seconds "$seconds" --join-ms "$1"
    echo "rounds: $(grep -c event=round "$work/shepherd.log")"
    echo "shepherd's memory: $before alone, $(memory) at the end"
    ps -o cputime= -p "$shepherd" | awk '{ print "shepherd cpu time:", $1 }'
    kill -KILL "${pids[@]}"
    wait "${pids[@]}" 2>/dev/null || true
    pids=()
}
crowd 1000
crowd 10000
