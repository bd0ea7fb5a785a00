#!/usr/bin/env bash
# Updates in another's name, with keys: who has a worker's key of the cluster, but not the lease, sends them ahead of
# their owners, under the highest fence there is, damaged and misshapen, all the time, while the aggregator is killed and started
# again. They are refused and counted, and the run ends with its usual bits.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/keyed.bash
# Leases last long enough to be met by those who try every 40 ms.
rounds=30 keys=$work/keys port=7290 prepared=(--validate-every 0 --inner-steps 100)
gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 256 --batch 2 >"$work/model.mlir" || exit 1
# hostile NAME FLAGS: a worker of its own key, which gives its lease back at once, gets no other, and sends others'
hostile() {
    "$bin/hostile-member" --shepherd "$control" --id "$1-1" --key "$keys/$1.key" --target "$target" --lease fatal --log-level debug \
        "${@:2}" 2>"$dir/$1.log" &
    pid[$1]=$!
}
store_shards() {
    aggregator aggregator-0 --bind "tcp://127.0.0.1:$((port + 2))" --key "$keys/aggregator.key"
}
rounds_done() { [ "$(grep -c 'event=round ' "$dir/shepherd.log")" -ge "$1" ]; }

calm_run
target=$(sed -n 's/.*member=w0 kind=worker target=\([^ ]*\) .*/\1/p' "$dir/shepherd.log" | head -n 1)
dismiss

"$bin/pcp" keys init --dir "$keys" >"$work/issue.out"
for role in worker aggregator compiler metrics; do "$bin/pcp" keys issue --dir "$keys" --role $role --name $role >"$work/issue.out"; done
for name in eager lofty noisy crooked; do "$bin/pcp" keys issue --dir "$keys" --name $name >"$work/issue.out"; done
train beset "tcp://127.0.0.1:$port" --key "$keys/shepherd.key" --events "tcp://127.0.0.1:$((port + 1))"
store_shards
compiler compiler-0 --key "$keys/compiler.key"
serve counts metrics --events "tcp://127.0.0.1:$((port + 1))" --http 127.0.0.1:0 --key "$keys/metrics.key"
hostile eager --delta ahead
hostile lofty --delta highest
hostile noisy --delta damaged
hostile crooked --delta misshapen
# Who has had a lease knows where updates go; it is another's by then.
for one in eager lofty noisy crooked; do check "$one has had a lease" eventually 60 event $one 'event=lease '; done
refused() { eventually 60 event "$1" "event=delta_answer type=NACK code=$2"; }
for one in lofty noisy crooked; do check "$one: no such lease was announced" refused $one 9; done
worker worker-0 --key "$keys/worker.key"
worker worker-1 --key "$keys/worker.key"
for one in eager noisy crooked; do check "$one: it is another worker's" refused $one 11; done
check "rounds are trained beside them" eventually 60 rounds_done 3
slay KILL aggregator-0
wait "${pid[aggregator-0]}"
cp "$dir/aggregator-0.log" "$dir/before.log"
store_shards
check "the aggregator goes on where it was killed" eventually 60 event aggregator-0 'event=resumed'
if command -v curl >"$work/which"; then
    http=$(sed -n 's/.*event=listening port=\([0-9]*\).*/\1/p' "$dir/counts.log" | head -n 1)
    counted() {
        curl -s --max-time 20 "http://127.0.0.1:$http/metrics" >"$work/metrics" &&
            grep -E '^pcp_refusals_total\{run="same",service="aggregator-0",reason="sender"\} [1-9]' "$work/metrics"
    }
    check "what was refused is counted" eventually 30 counted
else
    skip "what was refused is counted" "no curl"
fi
check "the run ends well beside them" ends 0
check "with the bits of the one without keys" same_bits
dismiss
check "nothing is left running" no_orphans
tap_done
