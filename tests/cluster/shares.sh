#!/usr/bin/env bash
# One key on many connections gets no more than on one: what its connections say counts together, though each for itself
# says little; there may be only so many of them; and what waits of it has a share. Its connections end, which is counted,
# others' stay, and the run beside it ends with its usual bits.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/keyed.bash
command -v curl >"$work/which" || { skip "one key on many connections" "no curl"; tap_done; exit; }
keys=$work/keys port=$((20000 + RANDOM % 10000)) rounds=20 prepared=() files=400
gpt2 --layers 2 --heads 2 --width 64 --block 16 --vocab 256 --batch 2 >"$work/model.mlir" || exit 1
# Each connection says at most 40 messages a second that are refused, which count as 4,000: less than a connection may, 10,000.
loud() { # NAME KEY FLAGS
    launch "$1" "$bin/flood-member" --key "$keys/$2.key" --id "$2-flood" --how words "${@:3}"
}
counted() { curl -s --max-time 20 "http://127.0.0.1:$http/metrics" | grep -qE "^pcp_refusals_total\{run=\"same\",service=\"$1\",reason=\"$2\"\} [1-9]"; }
cuts() { event "$1" "event=guest_cut .*$2"; }
# Neither lost nor cut, after which it would join again.
stayed() {
    ! grep -E 'event=(member_lost|member_left) .*member=w[01]-' "$dir/shepherd.log" &&
        [ "$(grep -cE 'event=member_joined member=w[01]-0' "$dir/shepherd.log")" = 2 ]
}
end() {
    slay KILL "$1"
    wait "${pid[$1]}" 2>>"$work/noise"
    unset "pid[$1]"
}

calm_run
dismiss

"$bin/pcp" keys init --dir "$keys" >"$work/issue.out"
for name in w0 w1 loud many meek; do "$bin/pcp" keys issue --dir "$keys" --name $name >"$work/issue.out"; done
for role in aggregator compiler metrics; do "$bin/pcp" keys issue --dir "$keys" --role $role --name $role >"$work/issue.out"; done
data="tcp://127.0.0.1:$((port + 3))?key=$(sed -n 's/^public //p' "$keys/aggregator.key")"
train beset "tcp://127.0.0.1:$port" --key "$keys/shepherd.key" --telemetry "tcp://127.0.0.1:$((port + 1))" \
    --events "tcp://127.0.0.1:$((port + 2))" --timeout-ms $((6000 * slow)) # the floods keep small machines busy
# shellcheck disable=SC2016 # for the other shell
launch aggregator bash -c 'ulimit -n "$1" && shift && exec "$@"' limited $files "$bin/pcp-aggregator" --log-level debug --shepherd "$control" \
    --id aggregator --object-dir "$dir/objects" --bind "tcp://127.0.0.1:$((port + 3))" --key "$keys/aggregator.key"
compiler compiler-0 --key "$keys/compiler.key"
serve metrics metrics --events "tcp://127.0.0.1:$((port + 2))" --http 127.0.0.1:0 --key "$keys/metrics.key"
check "metrics are served" eventually 30 event metrics 'event=listening'
http=$(sed -n 's/.*event=listening port=\([0-9]*\).*/\1/p' "$dir/metrics.log" | head -n 1)
check "the aggregator joins" eventually 30 event shepherd 'event=member_joined member=aggregator'
worker w0-0 --key "$keys/w0.key"

loud meek meek --target "$control" --connections 1 --rate 40
loud meek_data meek --target "$data" --connections 1 --rate 40
check "a worker joins" eventually 30 event shepherd 'event=member_joined member=w0-0'
sleep 4
check "who says that much on one connection stays" eval '! cuts shepherd . && ! cuts aggregator .'
loud loud loud --target "$control" --connections 24 --rate 40
loud loud_data loud --target "$data" --connections 24 --rate 40
check "a key that says it on 24 is cut by the shepherd" eventually $((60 * slow)) cuts shepherd "its key says too much"
check "and by the aggregator" eventually $((60 * slow)) cuts aggregator "its key says too much"
check "the shepherd counts it" eventually 60 counted shepherd messages
check "so does the aggregator" eventually 60 counted aggregator messages
end loud
end loud_data
end meek
end meek_data

launch many "$bin/flood-member" --target "$data" --key "$keys/many.key" --how asks --rate 1 --connections 260
check "a key has no more than half of the connections" eventually $((60 * slow)) cuts aggregator "its key has too many connections"
check "which is counted" eventually 60 counted aggregator connections
worker w1-0 --key "$keys/w1.key"
check "the run ends well beside it" ends 0
check "with the bits of the one without keys" same_bits
check "no worker was lost" stayed
dismiss
check "nothing is left running" no_orphans
tap_done
