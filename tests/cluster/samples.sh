#!/usr/bin/env bash
# Samples while a model trains: the text is what pcp generate writes of the same round's checkpoint, the same each time; it
# changes no bit of the training, nor does one that fails; the records, pcp top and the page's service show it; on a cluster too.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
at_exit "dismiss; rm -rf '$work'"

export XDG_CACHE_HOME=$work/cache
text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
flags=(--data "$work/text.txt" --tokenizer byte --workers 1 --threads 1 --inner-steps 10 --rounds 6 --validate-every 0 --lr 3e-3 --seed 5)
train() { # NAME FLAGS
    timeout $((100 * slow)) "$bin/pcp" train "$work/model.mlir" "${flags[@]}" --run-dir "$work/$1" "${@:2}" >"$work/$1.out" 2>&1 ||
        { tail -n 10 "$work/$1.out"; return 1; }
}
texts() { sqlite3 "$work/$1/pcp.db" 'SELECT round, prompt, text FROM pcp_texts ORDER BY round'; }
# shellcheck disable=SC2329
same_bits() { cmp "$work/$1/checkpoint/latest/model.safetensors" "$work/$2/checkpoint/latest/model.safetensors"; }

check "a run without samples" train plain
check "one with samples" train one --sample-every 4 --sample-prompt "The " --sample-tokens 24
check "it has the same bits" same_bits plain one
written() { [ "$(texts one | wc -l)" -ge 2 ] || texts one | grep -c '^6|The |' | grep -qx 1; }
check "the text of the end is there, and of a round on the way unless rounds were faster" written
generated() { # of the last round
    "$bin/pcp" generate --checkpoint "$work/one" --prompt "The " --tokens 24 --seed 5 --threads 1 --json >"$work/json" || return 1
    texts one
    sqlite3 "$work/one/pcp.db" "SELECT json_extract(readfile('$work/json'), '\$.text') = text FROM pcp_texts WHERE round = 6" | grep -qx 1
}
check "it is what pcp generate writes of that checkpoint" generated
check "pcp train showed it" grep -q '^sample of round 6: The  | ' "$work/one.out"
check "a line of it is a line, whatever the model writes" sh -c "! LC_ALL=C grep -qP '[\\x00-\\x08\\x0b-\\x1f\\x7f]' '$work/one.out'"
check "so do the events of pcp top" sh -c "LINES=60 COLUMNS=120 '$bin/pcp' top --once '$work/one' | grep -q ' sample .*prompt The '"
again() { train two --sample-every 4 --sample-prompt "The " --sample-tokens 24 && [ "$(texts one | tail -n 1)" = "$(texts two | tail -n 1)" ]; }
check "the same run writes the same text" again
# shellcheck disable=SC2329
web() {
    "$bin/pcp-metrics" --events none --http none --web 127.0.0.1:0 --web-store "sqlite://$work/one/pcp.db" >"$work/metrics.log" 2>&1 &
    local page=$! port
    eventually 20 grep -q 'event=page' "$work/metrics.log"
    port=$(sed -n 's/.*event=page port=\([0-9]*\).*/\1/p' "$work/metrics.log")
    curl -sS --max-time 10 "http://127.0.0.1:$port/api/runs/one/samples" | tee "$work/samples.json" | grep -q '\[6,"The ",'
    local status=$?
    kill "$page"
    wait "$page"
    return $status
}
check "the page's service reports it" web

# A tokenizer of characters does not know this one: each sample fails, the run does not.
check "a sample that fails" train bad --tokenizer char --sample-every 4 --sample-prompt "☃"
check "is told" grep -q '^no sample of round 6: ' "$work/bad.out"
check "is a row of the events" sh -c "sqlite3 '$work/bad/pcp.db' \"SELECT level FROM pcp_events WHERE name = 'sample_failed'\" | grep -q warn"
check "the same run without it" train bare --tokenizer char
check "has the same bits" same_bits bad bare

check "raw tokens are refused" refuses "sample_every 4: a run without a tokenizer" "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" \
    --tokenizer raw --sample-every 4
cat >"$work/other.mlir" <<'END'
module {
  func.func public @main(%w: tensor<32xf32>, %x: tensor<4x32xi32>, %y: tensor<4x32xi32>) -> tensor<f32> {
    %0 = stablehlo.convert %x : (tensor<4x32xi32>) -> tensor<4x32xf32>
    %1 = stablehlo.convert %y : (tensor<4x32xi32>) -> tensor<4x32xf32>
    %2 = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<32xf32>) -> tensor<4x32xf32>
    %3 = stablehlo.multiply %0, %2 : tensor<4x32xf32>
    %4 = stablehlo.subtract %3, %1 : tensor<4x32xf32>
    %5 = stablehlo.multiply %4, %4 : tensor<4x32xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x32xf32>, tensor<f32>) -> tensor<f32>
    return %6 : tensor<f32>
  }
}
END
check "so is a model that writes nothing" refuses "sample_every 4: $work/other.mlir is no language model" "$bin/pcp" train "$work/other.mlir" \
    "${flags[@]}" --run-dir "$work/none" --sample-every 4

# A module that has a loss alone: its scores are what the loss compares with targets.
sed 's/@logits/@points/' "$work/model.mlir" >"$work/loss.mlir"
loss_alone() {
    timeout $((100 * slow)) "$bin/pcp" train "$work/loss.mlir" "${flags[@]}" --run-dir "$work/loss" --sample-every 4 --sample-prompt "The " \
        --sample-tokens 24 >"$work/loss.out" 2>&1 || { tail -n 10 "$work/loss.out"; return 1; }
    [ "$(texts loss | tail -n 1)" = "$(texts one | tail -n 1)" ]
}
check "a module without @logits writes the same" loss_alone

# --- on a cluster ---
cluster "$work/c"
control=ipc://$dir/front
export PCP_SHEPHERD=$control
serve front shepherd --cluster --store "sqlite://$work/front.db" --runs-dir "$work/runs" --socket-dir "$dir/s" --bind "$control" \
    --events "ipc://$dir/events" --id front --heartbeat-ms 100 --timeout-ms $((1500 * slow))
aggregator a0
serve c0 compiler --shepherd "$control" --id c0 --cache-dir "$work/cache/pcp/plans"
worker w0
submit() { timeout $((100 * slow)) "$bin/pcp" run submit "$work/model.mlir" "${flags[@]}" "$@"; }
check "raw tokens are refused at submit" refuses "sample_every 4: a run without a tokenizer" submit --tokenizer raw --sample-every 4
shown() { submit --name far --watch --sample-every 4 --sample-prompt "The " --sample-tokens 24 >"$work/far.out" 2>&1; }
check "a submitted run" shown
check "pcp run watch shows the text, which is that of the run alone" \
    sh -c "[ -n \"\$(grep '^sample of round 6: ' '$work/one.out')\" ] && [ \"\$(grep '^sample of round 6: ' '$work/one.out')\" = \"\$(grep '^sample of round 6: ' '$work/far.out')\" ]"
tap_done
