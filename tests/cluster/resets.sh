#!/usr/bin/env bash
# Members with good keys who flood a shepherd and an aggregator, ping all the time, and reset their connections while
# queues are full: neither process ends, and a run beside them ends with its usual bits.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/keyed.bash
seconds=${PCP_RESETS_S:-15} rounds=10 keys=$work/keys port=$((20000 + RANDOM % 10000)) prepared=()
gpt2 --layers 2 --heads 2 --width 64 --block 16 --vocab 256 --batch 2 >"$work/model.mlir" || exit 1
"$bin/pcp" keys init --dir "$keys" >"$work/issue.out"
for role in worker aggregator compiler; do
    "$bin/pcp" keys issue --dir "$keys" --role $role --name $role >"$work/issue.out"
done
data="tcp://127.0.0.1:$((port + 3))?key=$(sed -n 's/^public //p' "$keys/aggregator.key")"

# reset NAME ENDPOINT FLAGS
reset() {
    local name=$1 to=$2
    shift 2
    launch "$name" "$bin/flood-member" --target "$to" --key "$keys/worker.key" --id "worker-$name" --ping-ms 1 --resets \
        --life-ms 150 --connections 6 "$@"
}
lives() { kill -0 "${pid[$1]}" 2>>"$work/noise"; }

calm_run
dismiss

train beset "tcp://127.0.0.1:$port" --key "$keys/shepherd.key" --telemetry "tcp://127.0.0.1:$((port + 1))" \
    --events "tcp://127.0.0.1:$((port + 2))"
aggregator aggregator-0 --bind "tcp://127.0.0.1:$((port + 3))" --key "$keys/aggregator.key"
compiler compiler-0 --key "$keys/compiler.key"
check "the aggregator joins" eventually 30 event shepherd 'event=member_joined member=aggregator-0'
SECONDS=0
reset control "$control" --how words,beats
reset data "$data" --how words,blocks,parts,crumbs
reset telemetry "tcp://127.0.0.1:$((port + 1))" --type PUB --how words,blocks
reset events "tcp://127.0.0.1:$((port + 2))" --type SUB --how topics
while [ $SECONDS -lt "$seconds" ] && lives shepherd && lives aggregator-0; do sleep 0.2; done
check "the shepherd lives" lives shepherd
check "and the aggregator" lives aggregator-0
for one in control data telemetry events; do
    slay TERM $one
    wait "${pid[$one]}"
    unset "pid[$one]"
    sed -n 's/.*event=summary/# '$one':/p' "$dir/$one.log"
done
worker worker-0 --key "$keys/worker.key"
worker worker-1 --key "$keys/worker.key"
check "the run ends well" ends 0
check "with the bits of the one in peace" same_bits
dismiss
check "nothing is left running" no_orphans
tap_done
