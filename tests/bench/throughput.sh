#!/usr/bin/env bash
# throughput: what the death of workers costs.
#
#   tests/bench/throughput.sh [PAIRS [SECONDS [STEPS]]]     (default 3 40 100; as `scripts/bench throughput`)
#
# A cluster over ipc:// (leader, aggregator, compiler, one supervisor with 4 workers of one thread each, inner
# states kept) trains a small GPT, leases of STEPS steps, and once more with one worker killed (SIGKILL, in
# turn) every 10 s; each for SECONDS after its third round, PAIRS times in turn. Printed: tokens in committed
# rounds per second of each, their ratio, and the ratio of the sums.
set -euo pipefail
cd "$(dirname "$0")/../.."
case ${1:-} in -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit ;; esac
pairs=${1:-3} seconds=${2:-40} steps=${3:-100} bin=${PCP_BIN:-build/bin}
work=$(mktemp -d "${TMPDIR:-/tmp}/pcp-bench.XXXXXX") pids=()
trap '{ kill -KILL "${pids[@]}"; wait; } 2>/dev/null; rm -rf "$work"' EXIT

cat README.md docs/*.md >"$work/text"
"$bin/pcp" model gpt2 --layers 2 --width 64 --block 64 --vocab 256 >"$work/gpt.mlir"
"$bin/pcp" train "$work/gpt.mlir" --data "$work/text" --tokenizer byte --workers 4 --replicas 4 --rounds 1000000 \
    --inner-steps "$steps" --validate-every 0 --run-dir "$work/run" --prepare-only >/dev/null

serve() {
    local program=$1
    shift
    "$bin/pcp-$program" "$@" 2>"$dir/$program.log" &
    pids+=($!)
}
rounds() { grep -c 'event=round ' "$dir/shepherd.log" || true; }
now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

cluster() {
    dir=$work/$1
    mkdir "$dir"
    local control=ipc://$dir/control
    serve shepherd --config "$work/run/run.json" --run-dir "$dir" --bind "$control" --keep-state local
    serve aggregator --shepherd "$control" --bind "ipc://$dir/data" --object-dir "$dir/objects"
    serve compiler --shepherd "$control" --cache-dir "$work/plans"
    serve supervisor --shepherd "$control" --id node --scale 4 --threads 1 --log-dir "$dir" --cache-dir "$dir/node"
    for _ in {1..600}; do
        [ "$(rounds)" -lt 3 ] || return 0
        sleep 0.1
    done
    tail -n 5 "$dir/shepherd.log" >&2
    exit 1
}

# The tokens of the rounds that end within SECONDS, per second. With a victim's number: every 10 s one dies.
measure() { # NAME [kill]
    cluster "$1"
    local first begin now next victim=0 n batch
    first=$(rounds) begin=$(now_ms)
    next=$((begin + 5000))
    while now=$(now_ms) && [ "$now" -lt $((begin + 1000 * seconds)) ]; do
        if [ "${2:-}" = kill ] && [ "$now" -ge "$next" ]; then
            pkill -KILL -f -- "pcp-worker .*--id node-w$((victim++ % 4)) .*$dir"
            next=$((next + 10000))
        fi
        sleep 0.05
    done
    n=$(($(rounds) - first))
    batch=$(grep -m 1 -o 'batch_tokens=[0-9]*' "$dir/shepherd.log" | cut -d= -f2)
    tokens=$((n * 4 * steps * batch * 1000 / (now - begin)))
    kill -KILL "${pids[@]}"
    wait "${pids[@]}" 2>/dev/null || true
    pids=()
}

calm_sum=0 shot_sum=0
printf '%-6s %12s %12s %8s\n' pair 'undisturbed' 'one killed' ratio
for ((i = 1; i <= pairs; i++)); do
    measure "calm$i"
    calm=$tokens
    measure "shot$i" kill
    calm_sum=$((calm_sum + calm)) shot_sum=$((shot_sum + tokens))
    awk -v i="$i" -v c="$calm" -v s="$tokens" 'BEGIN { printf "%-6s %8d t/s %8d t/s %6.0f %%\n", i, c, s, 100 * s / c }'
done
awk -v c="$calm_sum" -v s="$shot_sum" 'BEGIN { printf "%-32s %6.0f %%\n", "all", 100 * s / c }'
