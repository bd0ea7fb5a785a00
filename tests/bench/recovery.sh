#!/usr/bin/env bash
# recovery: how long a cluster needs until a lost worker is replaced.
#
#   tests/bench/recovery.sh [TRIALS [PART...]]     (default 30 exit hang leader; as `scripts/bench recovery`)
#
# A run of a small GPT on one supervisor with two workers over ipc://. exit: in each trial one of them
# gets SIGKILL; measured from the signal, by the shepherd's and the workers' logs:
#   noticed    the shepherd gives the lease up (GONE), by which it can be given again
#   rejoined   the new process has joined
#   trained    the new process has finished a lease of two steps: plan and tokens loaded, parameters
#              fetched, pseudo-gradient uploaded
# leader: as many trials kill the shepherd that leads, of two (leader_ttl_ms 1500); until the other
#   leads      has taken over
#   round      has finished a round, which takes about the time the bench prints
# hang: as many trials with SIGSTOP under a heartbeat time-out of 1000 ms: from the signal
# until the stopped process is killed (hang) and until its successor has joined.
# Milliseconds: median and 95th percentile.
set -euo pipefail
cd "$(dirname "$0")/../.."
trials=${1:-30} parts=" ${*:2} " bin=${PCP_BIN:-build/bin}
case $trials in -h | --help) sed -n '2,16s/^# \{0,1\}//p' "$0"; exit ;; esac
work=$(mktemp -d "${TMPDIR:-/tmp}/pcp-bench.XXXXXX") pids=()
trap '{ kill -KILL "${pids[@]}"; wait; } 2>/dev/null; rm -rf "$work"' EXIT

"$bin/pcp" model gpt2 --layers 2 --width 64 --block 64 --vocab 256 >"$work/gpt.mlir"
"$bin/pcp" train "$work/gpt.mlir" --data README.md --tokenizer byte --workers 2 --rounds 1000000 \
    --inner-steps 2 --validate-every 0 --run-dir "$work/run" --prepare-only >/dev/null

control=ipc://$work/shepherd.control,ipc://$work/other.control
declare -A pid
serve() {
    local name=$1 program=$2
    shift 2
    "$bin/pcp-$program" --log-level debug "$@" 2>>"$work/$name.log" &
    pid[$name]=$!
    pids+=($!)
}
shepherd() {
    serve "$1" shepherd --config "$work/run/run.json" --run-dir "$work/$1" --bind "ipc://$work/$1.control" \
        --id "$1" --store "sqlite://$work/pcp.db" --no-store-sync --keep-state local
}
shepherd shepherd
serve aggregator aggregator --shepherd "$control" \
    --bind "ipc://$work/data" --object-dir "$work/objects"
serve compiler compiler --shepherd "$control" --cache-dir "$work/plans"
serve node supervisor --shepherd "$control" --id node --scale 2 --threads 1 --log-dir "$work" \
    --cache-dir "$work/cache" --heartbeat-timeout-ms 1000 --stable-ms 1 --max-exits 64 --window-s 1

now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# The time in ms of the first line of a log that matches, from a line number on; waits up to 20 s.
since() {
    local log=$1 from=$2 pattern=$3 line='' stamp
    for _ in {1..2000}; do
        line=$(tail -n "+$from" "$log" 2>/dev/null | grep -m 1 -E -- "$pattern" || true)
        [ -n "$line" ] && break
        sleep 0.01
    done
    [ -n "$line" ] || { echo "recovery: no '$pattern' in $log" >&2; tail -n 5 "$log" >&2; exit 1; }
    stamp=${line#time=}
    date -d "${stamp%% *}" +%s%3N
}
lines() { wc -l <"$1"; }
worker_pid() { pgrep -f -- "pcp-worker .*--id $1 .*$work" | head -n 1; }

figures() { # NAME VALUES...
    local name=$1
    shift
    [ $# -gt 0 ] || return 0 # this part was not wanted
    printf '%s\n' "$@" | sort -n | awk -v name="$name" '
        { v[NR] = $1 }
        END { printf "%-22s %6d ms %6d ms   (%d trials)\n", name, v[int((NR + 1) / 2)],
                   v[int(NR * 0.95 + 0.999)], NR }'
}

since "$work/node-w0.log" 1 event=lease_done >/dev/null
since "$work/node-w1.log" 1 event=lease_done >/dev/null
wanted() { [[ $parts = "  " || $parts = *" $1 "* ]]; }
noticed=() rejoined=() trained=() hang=() hang_rejoined=()
wanted exit && for ((i = 0; i < trials; i++)); do
    id=node-w$((i % 2))
    shepherd_from=$(($(lines "$work/shepherd.log") + 1))
    worker_from=$(($(lines "$work/$id.log") + 1))
    victim=$(worker_pid $id)
    begin=$(now_ms)
    kill -KILL "$victim"
    lost="event=member_lost.* member=$id " joined="event=member_joined.* member=$id "
    noticed+=($(($(since "$work/shepherd.log" "$shepherd_from" "$lost") - begin)))
    rejoined+=($(($(since "$work/shepherd.log" "$shepherd_from" "$joined") - begin)))
    started=$(grep -nE 'event=start ' "$work/$id.log" | tail -n 1 | cut -d: -f1)
    [ "$started" -ge "$worker_from" ]
    trained+=($(($(since "$work/$id.log" "$started" event=lease_done) - begin)))
done
wanted hang && for ((i = 0; i < trials; i++)); do
    id=node-w$((i % 2))
    shepherd_from=$(($(lines "$work/shepherd.log") + 1))
    node_from=$(($(lines "$work/node.log") + 1))
    victim=$(worker_pid $id)
    begin=$(now_ms)
    kill -STOP "$victim"
    hang+=($(($(since "$work/node.log" "$node_from" "worker=$id .*no sign of life") - begin)))
    joined="event=member_joined.* member=$id "
    hang_rejoined+=($(($(since "$work/shepherd.log" "$shepherd_from" "$joined") - begin)))
done
# --- the leader ---
wanted leader && shepherd other
wanted leader && since "$work/other.log" 1 event=standby >/dev/null
leads=() progress=() lasts=()
leader=shepherd next=other
wanted leader && for ((i = 0; i < trials; i++)); do
    since "$work/$leader.log" "$(($(lines "$work/$leader.log") + 1))" event=round >/dev/null
    from=$(($(lines "$work/$next.log") + 1))
    sleep "0.0$((RANDOM % 90 + 10))"
    begin=$(now_ms)
    kill -KILL "${pid[$leader]}"
    wait "${pid[$leader]}" 2>/dev/null || true
    leads+=($(($(since "$work/$next.log" "$from" event=leads) - begin)))
    first=$(since "$work/$next.log" "$from" 'event=round ')
    progress+=($((first - begin)))
    second=$((from + $(tail -n "+$from" "$work/$next.log" | grep -m 1 -n 'event=round ' | cut -d: -f1)))
    lasts+=($(($(since "$work/$next.log" "$second" 'event=round ') - first)))
    shepherd "$leader"
    former=$leader leader=$next next=$former
done
printf '%-22s %9s %9s\n' '' median p95
figures "exit to noticed" "${noticed[@]}"
figures "exit to rejoined" "${rejoined[@]}"
figures "exit to trained" "${trained[@]}"
figures "hang to killed" "${hang[@]}"
figures "hang to rejoined" "${hang_rejoined[@]}"
figures "leader to leads" "${leads[@]}"
figures "leader to round" "${progress[@]}"
figures "a round" "${lasts[@]}"
