#!/usr/bin/env bash
# The next round's parameters come down while this round's update goes up, over links of 20 Mbit/s: each byte once, and
# with the bits that a run has that waits for its rounds to end; also when a worker is killed meanwhile.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/world.bash
world_needs "parameters that come ahead"
# 1.6 million parameters: seven chunks, 1.6 MB each way and round with int8.
"$bin/pcp" model gpt2 --layers 2 --heads 2 --width 256 --block 16 --vocab 256 --batch 1 >"$work/model.mlir" || exit 1
rounds=5
host core
host edge0
host edge1

# begin NAME --fetch-ahead|--no-fetch-ahead [FLAGS]: a run of two replicas in $work/NAME
begin() {
    local name=$1 ahead=$2
    shift 2
    cluster "$work/$name" "tcp://${address[core]}:7000"
    prepare --inner-steps 2 --rounds $rounds --replicas 2 --workers 2 --codec int8 --down-codec int8 --validate-every 0 \
        --aggregators 2 "$@" || return 1
    on core shepherd --bind tcp://0.0.0.0:7000 --workers 2 --timeout-ms $((3000 * slow)) --keep-state local
    on core aggregator a0 --bind "tcp://${address[core]}:7100"
    on core aggregator a1 --bind "tcp://${address[core]}:7101"
    on core compiler c0
    for w in 0 1; do on "edge$w" trains "w$w" "$ahead"; done
}
trains() { # NAME FLAG; its inner states are on a shared disk
    serve "$1" worker --shepherd "$control" --id "$1" --cache-dir "$dir/$1.cache" --state-dir "$dir/states" --threads 1 \
        "$2"
}
# told KEY: of the leases of all rounds but the first, one line each
told() {
    cat "$dir"/w*.log | grep 'event=lease_done' | grep -v ' round=0 ' | grep -oE " $1=[0-9]+" | grep -oE '[0-9]+'
}
# Of the change's bytes at least half came before the lease, each time.
came_ahead() {
    told ahead_bytes
    [ "$(told ahead_bytes | wc -l)" -ge $((2 * (rounds - 1))) ] || return 1
    told ahead_bytes | awk -v change="$change" '2 * $1 < change { bad = 1 } END { exit bad }'
}
none_ahead() { [ "$(told ahead_bytes | sort -u)" = 0 ]; }
once() { # nothing twice: with the checks and windows of tokens a hundredth more
    told received_bytes
    told received_bytes | awk -v change="$change" '$1 > 1.01 * change + 4096 || $1 < change { bad = 1 } END { exit bad }'
}
share() { # seconds without training, in all leases but the first
    grep 'event=lease_done' "$dir/w0.log" | tr ' ' '\n' | awk -F= '
        $1 == "time" { split(substr($2, 12), t, ":"); now = t[1] * 3600 + t[2] * 60 + t[3] }
        $1 == "round" { r = $2; done[r] = now }
        $1 == "compute_s" && r > 0 { gap += done[r] - done[r - 1] - $2 }
        END { printf "%.1f\n", gap }'
}

check "a run without links begins" begin calm --no-fetch-ahead
check "it ends" ends 0
change=$(($(stat -c %s "$dir/init.safetensors") / 4))
dismiss
for name in edge0 edge1; do rate $name 20mbit; done

begin plain --no-fetch-ahead
check "a run over links that waits for its rounds ends" ends 0
check "with the same bits" same_bits
check "nothing came ahead" none_ahead
waits=$(share)
dismiss

begin ahead --fetch-ahead
check "a run over links that does not wait ends" ends 0
check "with the same bits" same_bits
check "parameters came ahead" came_ahead
check "once" once
echo "# seconds without training: $waits, $(share) with parameters that come ahead"
dismiss

# Its update is on its way, and the next parameters are on theirs: both are of no use, its lease is given again.
begin killed --fetch-ahead
shoot() {
    eventually 60 event w1 'event=lease_done .*round=1 ' || return 1
    eventually 60 event shepherd 'event=round round=2 ' || return 1
    sleep 0.6
    slay KILL w1
}
check "a worker is killed in a round" shoot
on edge1 trains w2 --fetch-ahead
check "the run ends" ends 0
check "with the same bits" same_bits
dismiss
world_end
check "nothing is left running" no_orphans
tap_done
