#!/usr/bin/env bash
# What a key does not give, while a run trains with keys: a worker's scales no supervisor, says nothing of validations
# that it does not have, and no events but its own; who may look, or make plans, puts no objects and reads no parameters.
# Each is refused and counted, what metrics show is the run's, and the run ends with its usual bits.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/keyed.bash
command -v curl >"$work/which" || { skip "what a key does not give" "no curl"; tap_done; exit; }
keys=$work/keys port=$((20000 + RANDOM % 10000)) rounds=40 prepared=(--validate-every 2 --val-fraction 0.1)
export PCP_WORK_WAIT_S=2 # nobody waits for long for who has no credit
gpt2 --layers 2 --heads 2 --width 64 --block 16 --vocab 256 --batch 2 >"$work/model.mlir" || exit 1
hostile() { # NAME FLAGS
    launch "$1" "$bin/hostile-member" --shepherd "$control" --log-level debug --lease fatal --credit 0 "${@:2}"
}
at_data() { # NAME ROLE FLAGS: of a key of that role, at the aggregator
    launch "$1" "$bin/flood-member" --target "$data" --key "$keys/$2.key" --log-level debug --connections 2 "${@:3}"
}
scraped() { curl -s --max-time 20 "http://127.0.0.1:$http/metrics" >"$work/metrics"; }
counted() { scraped && grep -qE "^pcp_refusals_total\{run=\"same\",service=\"$1\",reason=\"$2\"\} [1-9]" "$work/metrics"; }
shows() { scraped && grep -E "$1" "$work/metrics"; }
refused() { eventually 60 event "$1" "event=answer type=NACK code=11"; }
rounds_done() { [ "$(grep -c 'event=round ' "$dir/shepherd.log")" -ge "$1" ]; }
objects_mb() { du -sm "$dir/aggregator.objects" | cut -f1; }

calm_run
dismiss

"$bin/pcp" keys init --dir "$keys" >"$work/issue.out"
for role in aggregator compiler supervisor metrics viewer; do "$bin/pcp" keys issue --dir "$keys" --role $role --name $role >"$work/issue.out"; done
"$bin/pcp" keys issue --dir "$keys" --name bold >"$work/issue.out"
data="tcp://127.0.0.1:$((port + 3))?key=$(sed -n 's/^public //p' "$keys/aggregator.key")"
train beset "tcp://127.0.0.1:$port" --key "$keys/shepherd.key" --telemetry "tcp://127.0.0.1:$((port + 1))" \
    --events "tcp://127.0.0.1:$((port + 2))"
aggregator aggregator --bind "tcp://127.0.0.1:$((port + 3))" --key "$keys/aggregator.key"
compiler compiler-0 --key "$keys/compiler.key"
serve metrics metrics --events "tcp://127.0.0.1:$((port + 2))" --http 127.0.0.1:0 --key "$keys/metrics.key"
check "metrics are served" eventually 30 event metrics 'event=listening'
http=$(sed -n 's/.*event=listening port=\([0-9]*\).*/\1/p' "$dir/metrics.log" | head -n 1)
check "the aggregator joins" eventually 30 event shepherd 'event=member_joined member=aggregator'
hostile bold --id bold-1 --says others --key "$keys/bold.key"
hostile boss --id bold-2 --kind cli --says others --key "$keys/bold.key"
at_data puts metrics --how puts --rate 5
at_data reads viewer --how asks --rate 20
at_data writes viewer --how puts --rate 5
check "a worker scales nobody" eventually 60 event bold 'event=fault .*CONTROL may be said by a cli'
check "nor does its key as an operator's" eventually 60 event boss 'event=fault .*another role'
check "nobody's key but a member's puts objects" refused puts
check "a viewer's neither" refused writes
check "nor reads it parameters" refused reads
launch supervisor "$bin/pcp-supervisor" --log-level debug --shepherd "$control" --id supervisor --scale 2 --threads 1 \
    --cache-dir "$work/cache" --log-dir "$dir" --key "$keys/supervisor.key"
check "rounds are trained" eventually 60 rounds_done 4
check "the shepherd counts what was not for a role" eventually 30 counted shepherd role
check "so does the aggregator" eventually 30 counted aggregator role
check "events in others' names are refused" event shepherd 'event=event_refused name=bold .*source=forged'
check "and in the shepherd's" event shepherd 'event=event_refused name=bold .*source=shepherd'
check "the workers' own are shown" eventually 30 shows '^pcp_worker_loss\{run="same",worker="supervisor-.*"\} [0-9]'
check "forged ones are not" eval '! shows "forged|123456|7777|1e-30"'
check "the validation is a number" eventually 60 shows '^pcp_validation_loss\{run="same"\} [0-9.]+$'
check "no objects have come" test "$(objects_mb)" -lt 30
check "the supervisor's workers are there" test "$(pgrep -cP "${pid[supervisor]}")" -ge 2
check "the run ends well beside them" ends 0
check "with the bits of the one without keys" same_bits
dismiss
check "nothing is left running" no_orphans
tap_done
