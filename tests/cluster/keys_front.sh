#!/usr/bin/env bash
# A cluster with keys over TCP: its front, the shepherd that it starts, an operator who submits, a supervisor whose
# workers use its key. The run has the bits that it has alone.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
keys=$work/keys port=7355
export XDG_CACHE_HOME=$work
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
text >"$work/text.txt"
flags=(--data "$work/text.txt" --tokenizer byte --workers 2 --inner-steps 4 --rounds 4 --val-fraction 0 --lr 3e-3)
check "a run alone" timeout $((120 * slow)) "$bin/pcp" train "$work/model.mlir" "${flags[@]}" --threads 1 --run-dir "$work/alone"
"$bin/pcp" keys init --dir "$keys" >"$work/issue.out"
for role in aggregator compiler operator supervisor viewer; do
    "$bin/pcp" keys issue --dir "$keys" --role "$role" --name "$role" >"$work/issue.out"
done

cluster "$work/c" "tcp://127.0.0.1:$port"
serve front shepherd --cluster --store "sqlite://$work/pcp.db" --runs-dir "$work/runs" --bind "$control" --id front \
    --telemetry 'tcp://127.0.0.1:*' --key "$keys/shepherd.key" --revoked "$keys/revoked"
aggregator aggregator --bind 'tcp://127.0.0.1:*' --key "$keys/aggregator.key" --revoked "$keys/revoked"
serve compiler compiler --shepherd "$control" --id compiler --cache-dir "$work/pcp/plans" --key "$keys/compiler.key"
serve supervisor supervisor --shepherd "$control" --id supervisor --scale 2 --threads 1 --cache-dir "$work/cache" \
    --log-dir "$dir" --key "$keys/supervisor.key"
check "the front leads" eventually 60 event front 'event=leads'
export PCP_KEY=$keys/operator.key
check "an operator submits over TCP" "$bin/pcp" run submit "$work/model.mlir" "${flags[@]}" --name one --wait-ms 30000 \
    --shepherd "$control"
check "the run ends" timeout $((60 * slow)) "$bin/pcp" run watch one --shepherd "$control"
check "with the bits that it has alone" \
    cmp "$work/alone/checkpoint/latest/model.safetensors" "$work/runs/one/checkpoint/latest/model.safetensors"
# The variable names the operator's key, not the one of the wish (--key).
check "other files are another run" "$bin/pcp" run submit "$work/model.mlir" "${flags[@]}" --rounds 5 --name two --wait-ms 30000 \
    --shepherd "$control"
# --- a key to look with ---
PCP_KEY=$keys/viewer.key
may() { check "a viewer may: $*" "$bin/pcp" "$@" --shepherd "$control" --wait-ms 30000; }
may_not() { check "a viewer may not: $*" refuses 'is registered as viewer' timeout 60 "$bin/pcp" "$@" --shepherd "$control" --wait-ms 30000; }
may run list
may run get one
may run logs one
may worker list
check "a viewer may: run watch" timeout $((60 * slow)) "$bin/pcp" run watch two --shepherd "$control"
for verb in pause resume cancel; do may_not run $verb one; done
may_not run delete one --yes
may_not worker drain supervisor
may_not worker scale supervisor 1
may_not worker trust worker-0
check "and is told why" event front 'event=message_refused .*from=viewer'
PCP_KEY=$keys/operator.key
check "its runs are as they were" "$bin/pcp" run get one --shepherd "$control"
PCP_KEY=$keys/compiler.key
for what in 'run list' 'run logs one' 'worker scale supervisor 1'; do
    # shellcheck disable=SC2086 # words
    check "a compiler's key asks for nothing: $what" refuses 'another role' "$bin/pcp" $what --shepherd "$control" --wait-ms 30000
done
check "and is told why" event front 'event=hello_refused .*another role'
dismiss
check "nothing is left running" no_orphans
tap_done
