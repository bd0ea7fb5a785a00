#!/usr/bin/env bash
# telemetry: what a store takes from pcp-metrics, and what telemetry takes from training.
#
#   tests/bench/telemetry.sh [WORKERS [SECONDS [PAIRS]]]     (default 10000 20 3)
#
# First WORKERS workers that tell their step once a second, for SECONDS: samples in PostgreSQL (two of each worker and
# second), what was dropped, and CPU time of pcp-metrics and of the server, as a share of one core. Then a small GPT is trained by two
# workers of one thread, with pcp-metrics and its PostgreSQL beside them and without, PAIRS times in turn: tokens/s of
# committed rounds, their ratio (medians), and the CPU time of pcp-metrics and server over that of the workers.
set -euo pipefail
cd "$(dirname "$0")/../.."
case ${1:-} in -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit ;; esac
workers=${1:-10000} seconds=${2:-20} pairs=${3:-3}
set +e
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/servers.bash
at_exit "dismiss; servers_stop; rm -rf '$work'"
postgres_start || exit 1
"$bin/pcp" db migrate --store "$postgres_url" >"$work/migrate.out" || exit 1
ask() { "$postgres_bin/psql" -qAt "$postgres_url" -c "$1"; }
ticks() { # PID...: user and system time, in seconds
    local one
    for one; do cat "/proc/$one/stat" 2>/dev/null; done | awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); s += $12 + $13 + $14 + $15 } END { printf "%.2f\n", s / hz }'
}
server() { pgrep -d ' ' -f -- "postgres.*$postgres_dir" ; pgrep -d ' ' -P "$(head -n 1 "$postgres_dir/data/postmaster.pid")"; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a - b }'; }

cluster "$work/flood"
serve metrics metrics --events "ipc://$dir/events" --http 127.0.0.1:0 --store "$postgres_url" --queue 100000
# shellcheck disable=SC2046 # pids
before=$(ticks "${pid[metrics]}") server_before=$(ticks $(server))
took=$("$bin/bench-steps" "ipc://$dir/events" "$workers" "$seconds")
port=$(sed -n 's/.*event=listening.* port=\([0-9]*\).*/\1/p' "$dir/metrics.log" | head -n 1)
written() { curl -s "http://127.0.0.1:$port/metrics" | awk '$1 == "'"$1"'" { print $2 }'; }
for _ in {1..100}; do
    now=$(written pcp_store_written_total)
    [ "$now" != "${last:-}" ] || break
    last=$now
    sleep 1
done
# shellcheck disable=SC2046
awk -v n="$(ask "SELECT count(*) FROM sample")" -v t="$took" -v m="$(less "$(ticks "${pid[metrics]}")" "$before")" \
    -v s="$(less "$(ticks $(server))" "$server_before")" -v d="$(written pcp_store_dropped_total)" -v w="$workers" \
    'BEGIN { printf "%d workers, %.1f s: %d samples written, %.0f a second, %d dropped; pcp-metrics %.1f s of CPU, PostgreSQL %.1f s\n", w, t, n, n / t, d, m, s }'
dismiss

text >"$work/text.txt"
gpt2 --layers 2 --heads 2 --width 64 --block 64 --vocab 256 --batch 12 >"$work/model.mlir" || exit 1
train() { # NAME [FLAGS of the shepherd]: 12 s of training behind the second round; sets tokens, share
    cluster "$work/$1"
    prepare --workers 2 --inner-steps 50 --rounds 1000000 --validate-every 0 || return 1
    shepherd --workers 2 --events "ipc://$dir/events" "${@:2}"
    [ $# -eq 1 ] || serve metrics metrics --events "ipc://$dir/events" --http 127.0.0.1:0 --store "$postgres_url"
    aggregator a0
    compiler c0
    worker w0
    worker w1
    # shellcheck disable=SC2317 # called by eventually
    begun() { event shepherd 'event=round round=2 '; }
    eventually 120 begun || return 1
    local first last watched watching
    first=$(grep -c 'event=round ' "$dir/shepherd.log") watched=$(ticks "${pid[w0]}" "${pid[w1]}")
    # shellcheck disable=SC2046
    [ $# -eq 1 ] || watching=$(ticks "${pid[metrics]}" $(server))
    sleep 12
    last=$(grep -c 'event=round ' "$dir/shepherd.log")
    tokens=$(((last - first) * 2 * 50 * 12 * 64 / 12)) share=0
    # shellcheck disable=SC2046
    [ $# -eq 1 ] || share=$(awk -v m="$(less "$(ticks "${pid[metrics]}" $(server))" "$watching")" \
        -v w="$(less "$(ticks "${pid[w0]}" "${pid[w1]}")" "$watched")" 'BEGIN { printf "%.2f", 100 * m / w }')
    dismiss
}
for ((i = 1; i <= pairs; i++)); do
    train "bare$i" || exit 1
    bare=$tokens
    train "told$i" --store "$postgres_url" || exit 1
    echo "$bare $tokens $share"
done | tee "$work/pairs" | awk '{ printf "pair %d: %d tokens/s alone, %d with telemetry (%.1f %%); CPU of metrics and server %.2f %% of the workers'"'"'\n", NR, $1, $2, 100 * $2 / $1, $3 }'
