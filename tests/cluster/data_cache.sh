#!/usr/bin/env bash
# Of a large text a worker fetches little more than the windows that it trains, each once, those of its next lease while it
# trains the present one; what it keeps has a limit. Always the bits of a worker that has all the room and fetches nothing ahead.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
megabytes=16 block=256 rounds=8 per_lease=64 # windows
"$bin/pcp" model gpt2 --layers 1 --heads 1 --width 16 --block $block --vocab 256 --batch 8 >"$work/model.mlir" || exit 1
perl -e 'srand 3; print join "", map { chr 32 + rand 90 } 1 .. 1e6' >"$work/piece"
for ((i = 0; i < megabytes; i++)); do cat "$work/piece"; done >"$work/text.txt"

# train NAME FLAGS: a run of two replicas in $work/NAME whose workers have these flags
train() {
    local name=$1
    shift
    cluster "$work/$name"
    prepare --inner-steps $((per_lease / 8)) --rounds $rounds --replicas 2 --workers 2 --validate-every 0 || return 1
    shepherd --workers 2 --keep-state local
    aggregator a0
    compiler c0
    worker w0 --state-dir "$dir/states" "$@"
    worker w1 --state-dir "$dir/states" "$@"
    ends 0 && dismiss
}
check "a run with all the room" train calm --cache-limit 0 --no-fetch-ahead
check "one with 800 KiB" train small --cache-limit 800Ki
check "has the same bits" same_bits
shrunk() { grep -h 'event=cache_shrunk' "$dir"/w?.log | head -n 3 | grep .; }
check "what was used longest ago went" shrunk

# received NAME ROUNDS: bytes of each lease of these rounds
received() { cat "$work/$1"/w?.log | grep 'event=lease_done' | grep -E " round=$2 " | sed 's/.* received_bytes=\([0-9]*\).*/\1/'; }
# Parameters, and windows of two bytes a token; the plan is in the cache.
parameters=$(($(tail -c +9 "$work/calm/init.safetensors" | wc -c) / 4 * 4)) windows=$((per_lease * (block + 1) * 2))
frugal() { # NAME ROUNDS LEASES
    received "$1" "$2" | awk -v w=$windows -v p="$parameters" -v n="$3" '
        { sum += $1 } END { rest = sum - n * p; print sum, rest / (n * w); exit !(NR == n && rest >= n * w && rest <= 1.2 * n * w) }'
}
check "a first lease fetches at most 1.2 of its windows" frugal small 0 2
check "all of them no more, those that came ahead with them" frugal small '[0-9]+' $((2 * rounds))
ahead() { [ "$(cat "$work/$1"/w?.log | grep -c 'event=windows_ahead.* came=1')" -eq "$2" ]; }
check "each but the last fetches the next one's" ahead small $((2 * (rounds - 1)))
check "who may not does not" ahead calm 0
check "nothing is left running" no_orphans
tap_done
