#!/usr/bin/env bash
# What runs is signed: compilers with good keys that answer plans without a signature, with one of which a bit differs,
# or with another cluster's; a compiler whose key is revoked when its plan is in use; a worker that knows so before the
# shepherd does; checkpoints. Each is refused with a reason and counted; the run ends with its usual bits.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/keyed.bash
keys=$work/keys port=7360 prepared=(--val-fraction 0)
gpt2 --layers 2 --heads 2 --width 64 --block 16 --vocab 256 --batch 2 >"$work/model.mlir" || exit 1
# liar NAME FLAGS: a compiler that answers plans which are not there
liar() {
    local name=$1
    shift
    launch "$name" "$bin/hostile-member" --shepherd "$control" --kind compiler --id "$name" --key "$keys/$name.key" "$@"
}
# What the metrics' process says of a metric.
counted() {
    local url
    url=http://127.0.0.1:$(sed -n 's/.*event=listening port=\([0-9]*\).*/\1/p' "$dir/metrics.log")/metrics
    curl -s --max-time 5 "$url" | awk '/^pcp_refused_signatures_total/ {n = $2} END {exit !(n >= '"$1"')}'
}

calm_run
check "its checkpoint is not signed" grep -q 'it is not signed' \
    <("$bin/pcp" checkpoint verify "$dir/checkpoint/latest")
dismiss

"$bin/pcp" keys init --dir "$keys" >"$work/issue.out"
"$bin/pcp" keys init --dir "$work/other" >"$work/issue.out"
for name in bare flipped strange first last; do
    "$bin/pcp" keys issue --dir "$keys" --role compiler --name $name >"$work/issue.out"
done
for role in worker aggregator operator metrics; do
    "$bin/pcp" keys issue --dir "$keys" --role $role --name $role >"$work/issue.out"
done
"$bin/pcp" keys issue --dir "$keys" --role worker --name knows >"$work/issue.out"
"$bin/pcp" keys issue --dir "$work/other" --role compiler --name c9 >"$work/issue.out"
cp -r "$keys" "$work/early"
"$bin/pcp" keys revoke first --dir "$work/early" >"$work/issue.out"

train beset "tcp://127.0.0.1:$port" --key "$keys/shepherd.key" --revoked "$keys/revoked" \
    --events "tcp://127.0.0.1:$((port + 1))" --checkpoint-every 4
serve metrics metrics --events "tcp://127.0.0.1:$((port + 1))" --http 127.0.0.1:0 --key "$keys/metrics.key"
aggregator aggregator-0 --bind "tcp://127.0.0.1:*" --key "$keys/aggregator.key" --revoked "$keys/revoked"
worker knows-0 --key "$keys/knows.key" --revoked "$work/early/revoked"
liar bare --plan unsigned
liar flipped --plan flipped
liar strange --plan signed --seal-key "$work/other/c9.key"
refused() { eventually 60 event shepherd "event=plan_refused .*compiler=$1 .*$2"; }
check "a plan without signature is refused" refused bare 'it is not signed'
check "one of which a bit differs" refused flipped 'in the name of .*flipped.* is wrong'
check "one that another cluster has signed" refused strange 'not signed by this cluster'
compiler first-0 --key "$keys/first.key"
check "a signed one is taken" eventually 60 event shepherd 'event=plan_ready'
worker knows-1 --key "$keys/knows.key" --revoked "$work/early/revoked"
check "workers that know its key to be revoked refuse it" eventually 60 event knows-1 'event=unsigned .*whose key is revoked'
if command -v curl >"$work/which"; then
    check "what was refused is counted" eventually 60 counted 4
else
    skip "what was refused is counted" "no curl"
fi
"$bin/pcp" keys revoke first --dir "$keys" >"$work/issue.out"
check "the plan is void when the shepherd knows, too" eventually 30 event shepherd 'event=plan_void .*first'
compiler last-0 --key "$keys/last.key"
check "the run ends well" ends 0
check "with the bits of the one without keys" same_bits
check "the plan was compiled again" test "$(grep -c 'event=plan_ready' "$dir/shepherd.log")" -ge 2
dismiss

verify() { "$bin/pcp" checkpoint verify "$dir/checkpoint/latest" "$@"; }
check "the checkpoint says who signed it" grep -qE '^signed by shepherd \(shepherd\) at 20..-..-..T..:..:..Z$' \
    <(verify --key-file "$keys/operator.key")
check "another cluster's operator does not take it" refuses "not signed by this cluster" \
    verify --key-file "$work/other/c9.key"
manifest=$dir/checkpoint/latest/manifest.json
cp "$manifest" "$work/manifest"
sed -i 's/\(signature [0-9a-f]*\)[0-7]\\n/\18\\n/; t; s/\(signature [0-9a-f]*\)[89a-f]\\n/\10\\n/' "$manifest"
check "nor anybody one of which a bit differs" refuses 'in the name of "shepherd" is wrong' \
    verify --key-file "$keys/operator.key"
cp "$work/manifest" "$manifest"
check "an operator signs one of before" "$bin/pcp" checkpoint sign "$work/calm/checkpoint/latest" --key-file "$keys/operator.key"
check "and it is taken" grep -q '^signed by operator (operator)' \
    <("$bin/pcp" checkpoint verify "$work/calm/checkpoint/latest" --key-file "$keys/operator.key")
check "a worker's key signs none" refuses "only an operator's or shepherd's key" \
    "$bin/pcp" checkpoint sign "$work/calm/checkpoint/latest" --key-file "$keys/worker.key"
check "nothing is left running" no_orphans
tap_done
