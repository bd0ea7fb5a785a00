#!/usr/bin/env bash
# control: one shepherd and a crowd of simulated workers, over TCP on this machine.
#
#   tests/bench/control.sh [WORKERS [SECONDS [KIND [REPLICAS [HOLD_MS]]]]]
#                                      (default 1000 20 "leader front" WORKERS 500; as `scripts/bench control`)
#
# The workers speak the real protocol (HELLO, HEARTBEAT, leases, a pseudo-gradient of a tiny model to a
# real aggregator, LEASE_DONE) and compute nothing; a lease takes HOLD_MS on average, and twice that at most. They
# are in several processes, 2,500 in each. KIND leader: workers talk to the run's shepherd; front: to a cluster's front,
# which relays what they and the run's shepherd say. Each kind has two clusters one after the other: the workers come
# within one second (a storm, as after an outage), then over ten.
# Printed: how long the shepherd took to answer (median, p99, max; HELLO with its connection, LEASE_DONE until it is in
# the store), rounds, and of the shepherd and the front memory at the start and end and, while it was measured,
# processor time in a second, of the reactor's thread alone and for each round that closed.
set -euo pipefail
cd "$(dirname "$0")/../.."
case ${1:-} in -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit ;; esac
count=${1:-1000} seconds=${2:-20} bin=${PCP_BIN:-build/bin}
replicas=${4:-$count} hold_ms=${5:-500} processes=$(((count + 2499) / 2500))
read -ra kinds <<<"${3:-leader front}"
work=$(mktemp -d "${TMPDIR:-/tmp}/pcp-bench.XXXXXX") pids=()
trap '{ kill -KILL "${pids[@]}"; wait; } 2>/dev/null; rm -rf "$work"' EXIT
ulimit -n "$(ulimit -Hn)"

"$bin/pcp" model gpt2 --layers 1 --heads 1 --width 8 --block 8 --vocab 256 --batch 1 >"$work/gpt.mlir"
for _ in $(seq 100); do cat README.md; done >"$work/text"
"$bin/pcp" train "$work/gpt.mlir" --data "$work/text" --tokenizer byte --workers "$count" --replicas "$replicas" \
    --rounds 1000000 --codec f32 --inner-steps 2 --validate-every 0 --run-dir "$work/run" --prepare-only >/dev/null

serve() { # NAME PROGRAM FLAGS
    "$bin/pcp-$2" "${@:3}" 2>"$work/$1.log" &
    pids+=($!)
}
memory() { awk '/^VmRSS/ { printf "%.1f MB", $2 / 1024 }' "/proc/$1/status"; }
since() { # LOG PATTERN: the log has it within 30 s
    for _ in {1..300}; do
        grep -qs "$2" "$1" && return
        sleep 0.1
    done
    echo "control: no '$2' in $1" >&2
    exit 1
}

# Each sets log and `served`: names and process ids of what answers the workers.
start_leader() { # ENDPOINT
    serve shepherd shepherd --config "$work/run/run.json" --run-dir "$work/cluster" --bind "$1"
    log=$work/shepherd.log served=(shepherd $!)
    members "$1"
    since "$log" kind=aggregator
    since "$log" kind=compiler
}
start_front() { # ENDPOINT
    serve front shepherd --cluster --runs-dir "$work/cluster/runs" --bind "$1"
    served=(front $!)
    members "$1"
    "$bin/pcp" run submit "$work/run" --name crowd --shepherd "$1" --wait-ms 30000 >/dev/null
    log=$work/cluster/runs/crowd/shepherd.log
}
members() { # ENDPOINT
    serve aggregator aggregator --shepherd "$1" --bind "tcp://127.0.0.1:*" --object-dir "$work/cluster/objects"
    serve compiler compiler --shepherd "$1" --cache-dir "$work/plans"
}

each() { # COMMAND of a process id: printed for each that serves
    for ((i = 0; i < ${#served[@]}; i += 2)); do printf ' %s %s' "${served[i]}" "$("$1" "${served[i + 1]}")"; done
}
# Milliseconds that a process has had of a processor; that its first thread has had, which is the reactor's.
cpu_ms() { awk '{ n += $1 } END { printf "%.0f", n / 1e6 }' "/proc/$1"/task/*/schedstat; }
reactor_ms() { awk '{ printf "%.0f", $1 / 1e6 }' "/proc/$1/task/$1/schedstat"; }
rounds() { grep -c event=round "$1" || true; }

# What the crowd prints; and what those that serve it used while it measured.
measured() { # LOG
    local line i cpu reactor n
    while IFS= read -r line; do
        case $line in
        measuring)
            n=$(rounds "$1") cpu=() reactor=()
            for ((i = 1; i < ${#served[@]}; i += 2)); do
                cpu[i]=$(cpu_ms "${served[i]}") reactor[i]=$(reactor_ms "${served[i]}")
            done
            ;;
        measured)
            n=$(($(rounds "$1") - n))
            for ((i = 1; i < ${#served[@]}; i += 2)); do
                cpu[i]=$(($(cpu_ms "${served[i]}") - cpu[i])) reactor[i]=$(($(reactor_ms "${served[i]}") - reactor[i]))
            done
            ;;
        *) echo "$line" ;;
        esac
    done
    for ((i = 1; i < ${#served[@]}; i += 2)); do
        awk -v who="${served[i - 1]}" -v cpu="${cpu[i]}" -v reactor="${reactor[i]}" -v n="$n" -v s="$seconds" 'BEGIN {
            printf "%-8s processor %.0f ms/s, reactor %.0f ms/s", who, cpu / s, reactor / s
            if (n) printf ", %.1f ms for each of %d rounds", reactor / n, n
            printf "\n" }'
    done
}

crowd() { # KIND, MILLISECONDS over which they come
    local port=$((20000 + RANDOM % 10000)) before
    local control=tcp://127.0.0.1:$port
    rm -rf "$work/cluster"
    mkdir "$work/cluster"
    "start_$1" "$control"
    # The plan is compiled beforehand, for the compiler would take the processors away.
    "$bin/worker-crowd" --shepherd "$control" --count 1 --threads 1 --seconds 0 --join-ms 0 >/dev/null
    since "$log" event=plan_ready
    [ "$1" = leader ] || served+=(shepherd "$(pgrep -P "${served[1]}" | head -n 1)")
    before=$(each memory)
    echo "== $1: $count workers come within $2 ms"
    "$bin/worker-crowd" --shepherd "$control" --count "$count" --seconds "$seconds" --join-ms "$2" \
        --processes "$processes" --threads 2 --hold-ms "$hold_ms" | measured "$log"
    echo "in the log: $(grep -c event=member_lost "$log" || true) lost, $(grep -c event=work_lost "$log" || true)" \
        "pieces of work lost, $(grep -c event=lease_reopened "$log" || true) leases given again"
    echo "memory:$before alone,$(each memory) at the end"
    kill -KILL "${pids[@]}"
    wait "${pids[@]}" 2>/dev/null || true
    pids=()
}
for kind in "${kinds[@]}"; do
    crowd "$kind" 1000
    crowd "$kind" 10000
done
