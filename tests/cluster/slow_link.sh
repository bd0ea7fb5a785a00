#!/usr/bin/env bash
# A worker behind a slow link: parameters and pseudo-gradients are carried once, as they are over a fast one; and with
# balance it trains fewer steps.
# PCP_RATES: the links' speeds in Mbit/s.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/world.bash
world_needs "a worker behind a slow link"
# 3.4 MB of parameters: more than the window of such a link. PCP_LONG=1: 12 MB, also at 10 Mbit/s.
layers=1 rates=25
[ "${PCP_LONG:-0}" != 1 ] || layers=4 rates='10 25 50'
"$bin/pcp" model gpt2 --layers $layers --heads 2 --width 256 --block 16 --vocab 256 --batch 1 >"$work/model.mlir" || exit 1
host core
host edge

counted() { # bytes that the worker's host has received and sent
    on edge cat /proc/net/dev | awk -F: '/eth0/ { split($2, n, " "); print n[1], n[9] }'
}
# train NAME: a run of one round; how much passed the link is in $down and $up
train() {
    local before after
    cluster "$work/$1" "tcp://${address[core]}:7000"
    prepare --inner-steps 1 --rounds 1 || return 1
    on core shepherd --bind tcp://0.0.0.0:7000 --workers 1 --timeout-ms 30000
    on core aggregator a0 --bind "tcp://${address[core]}:7100"
    on core compiler c0
    read -r -a before < <(counted)
    on edge worker w0
    ends 0 || return 1
    read -r -a after < <(counted)
    down=$((after[0] - before[0])) up=$((after[1] - before[1]))
    echo "down $down, up $up bytes"
    dismiss
}
same_bits() {
    cmp "$work/fast/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"
}
# once DOWN UP: what passed is at most a twentieth more than over the fast link
once() {
    echo "down $down of $1, up $up of $2 bytes"
    [ $((20 * down)) -le $((21 * $1)) ] && [ $((20 * up)) -le $((21 * $2)) ]
}

check "a run over a fast link ends" train fast
fast_down=$down fast_up=$up
for mbit in ${PCP_RATES:-$rates}; do
    check "a link of $mbit Mbit/s" rate edge "${mbit}mbit"
    check "the run over it ends" train "slow$mbit"
    echo "# $mbit Mbit/s: down $((1000 * down / fast_down)), up $((1000 * up / fast_up)) thousandths of what is needed"
    check "it carried everything once" once "$fast_down" "$fast_up"
    check "bit for bit the same run" same_bits
done

# --- shares ---
# With balance a slow link costs steps, not rounds that wait: a few of them beside one that has twenty.
host near
shared() {
    cluster "$work/shared" "tcp://${address[core]}:7000"
    prepare --inner-steps 20 --rounds 3 --workers 2 --balance || return 1
    rate edge 10mbit
    on core shepherd --bind tcp://0.0.0.0:7000 --workers 2 --timeout-ms 30000 --store "sqlite://$dir/pcp.db"
    on core aggregator a0 --bind "tcp://${address[core]}:7100"
    on core compiler c0
    on near worker w0
    on edge worker w1
    ends 0
}
steps() { # WHERE: how many leases that counted, the fewest and the most steps of them
    sqlite3 -batch "$dir/pcp.db" "SELECT count(*), min(n_steps), max(n_steps) FROM lease WHERE state = 'committed' AND $1"
}
few() {
    local slow fast
    slow=$(steps "worker_id = 'w1' AND round > 0") fast=$(steps "worker_id = 'w0'")
    echo "over the slow link: $slow; over the fast one: $fast"
    [ "$fast" = '3|20|20' ] || return 1
    IFS='|' read -r n _ most <<<"$slow"
    [ "$n" -eq 2 ] && [ "$most" -le 10 ]
}
check "a fast and a slow link share a run" shared
check "each of its leases counts, the slow one's with few steps" few
tap_done
