#!/usr/bin/env bash
# slow: what a worker behind a slow link costs the others, and what it adds.
#
#   tests/bench/slow.sh [--fast 200] [--slow 10] [--workers 3] [--rounds 8] [--inner-steps 20] [--codec int8]
#                       [--down-codec int8] [--model "--layers 2 --heads 4 --width 256 --block 32"] [--cases "..."]
#                       [--late-rounds 1]
#
# Needs root: hosts in network namespaces (tests/cluster/world.bash) with links of those Mbit/s. Cases, each a run:
#   alone        the fast workers, no other
#   even         one more at the fast rate: what another worker costs a machine with too few processors for all
#   slow         one more at the slow rate; shares are even, and all wait for it
#   balance      the same with --balance
#   late         the same with --balance, --quorum of the fast ones, --late next and --late-rounds
# Printed: the median seconds of a round (from the third on, where shares follow what was measured), those of
# the case over those of `even`, and of the last worker: leases that counted, their steps and the tokens of them all.
set -euo pipefail
cd "$(dirname "$0")/../.."
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }
fast=200 slow_rate=10 workers=3 rounds=8 steps=20 codec=int8 down_codec=int8 cases='alone even slow balance late'
late_rounds=1
model=(--layers 2 --heads 4 --width 256 --block 32)
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage; exit ;;
    --fast) fast=$2 ;;
    --slow) slow_rate=$2 ;;
    --workers) workers=$2 ;;
    --rounds) rounds=$2 ;;
    --inner-steps) steps=$2 ;;
    --codec) codec=$2 ;;
    --down-codec) down_codec=$2 ;;
    --model) read -r -a model <<<"$2" ;;
    --cases) cases=$2 ;;
    --late-rounds) late_rounds=$2 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift 2
done
set +e
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/world.bash
world_needs "links with rates"
"$bin/pcp" model gpt2 "${model[@]}" --vocab 256 --batch 1 >"$work/model.mlir" || exit 1
cat docs/*.md | head -c 400000 >"$work/text.txt"
host core
for ((w = 0; w <= workers; w++)); do host "edge$w"; done

run() { # CASE
    local last=$workers policy=() w
    for ((w = 0; w <= workers; w++)); do rate "edge$w" "${fast}mbit"; done
    case $1 in
    alone) last=$((workers - 1)) ;;
    even) ;;
    *) rate "edge$workers" "${slow_rate}mbit" ;;
    esac
    case $1 in
    balance) policy=(--balance) ;;
    late) policy=(--balance --quorum "$workers" --late next --late-rounds "$late_rounds") ;;
    esac
    cluster "$work/$1" "tcp://${address[core]}:7000"
    prepare --inner-steps "$steps" --rounds "$rounds" --workers $((last + 1)) --codec "$codec" \
        --down-codec "$down_codec" --validate-every 0 --checkpoint-every 0 "${policy[@]}" 2>"$dir/prepare.err" || return 1
    on core shepherd --bind tcp://0.0.0.0:7000 --workers $((last + 1)) --timeout-ms 60000 --keep-state memory \
        --store "sqlite://$dir/pcp.db"
    on core aggregator a0 --bind "tcp://${address[core]}:7100"
    on core compiler c0
    for ((w = 0; w <= last; w++)); do
        on "edge$w" serve "w$w" worker --shepherd "$control" --id "w$w" --cache-dir "$dir/cache$w" --threads 1
    done
    ends 0 || return 1
    report "$1"
    dismiss
}

even_s=''
report() { # CASE
    local median
    median=$(sqlite3 "$dir/pcp.db" "SELECT (committed_ms - opened_ms) / 1000.0 FROM round
        WHERE round >= 2 AND state = 'committed' ORDER BY 1" |
        awk '{ s[NR] = $1 } END { printf "%.2f", s[int((NR + 1) / 2)] }')
    [ "$1" != even ] || even_s=$median
    printf '%-8s %9s %9s  %s\n' "$1" "$median" \
        "$(awk -v a="$median" -v b="$even_s" 'BEGIN { if (b) printf "%.2f", a / b; else print "-" }')" \
        "$(sqlite3 "$dir/pcp.db" "SELECT count(*) || ' leases of ' || $rounds || ', steps ' || coalesce(group_concat(n_steps, ' '), '-') ||
            ', ' || (coalesce(100 * sum(n_tokens), 0) / (SELECT sum(n_tokens) FROM lease WHERE state = 'committed')) || ' % of the tokens'
            FROM (SELECT * FROM lease WHERE state = 'committed' AND worker_id = 'w$workers' ORDER BY round)")"
}

printf '%-8s %9s %9s  %s\n' case 'round s' 'of even' "worker $workers"
for case in $cases; do run "$case" || { echo "slow: the run $case failed; see above" >&2; exit 1; }; done
world_end
