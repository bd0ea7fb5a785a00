#!/usr/bin/env bash
# A tracker (tests/tools/tracker.c) hears of a real run: its values are those of the records, whether it answers, refuses, cuts
# connections or is slow, and over restarts; it changes nothing for the run; the token is nowhere to be seen.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
at_exit "end_all; rm -rf '$work'"
pids=()
end_all() { [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null; }

# tracker NAME [TOKEN]: $port
tracker() {
    mkdir -p "$work/$1"
    "$bin/tracker" "$work/$1" "${@:2}" >"$work/$1.port" &
    pids+=($!)
    eventually 20 test -s "$work/$1.port"
    port=$(cat "$work/$1.port")
}
exact() { awk '$1 == "metric" { $5 = sprintf("%.17g", $5) } { print }' | LC_ALL=C sort; }
mode() { echo "$2" >"$work/$1/mode"; }
dump() { curl -sS --max-time 20 "http://127.0.0.1:$port/dump" | exact; }

text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
export XDG_CACHE_HOME=$work
train() { # NAME FLAGS
    timeout $((100 * slow)) "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 1 --threads 1 --inner-steps 5 \
        --rounds 9 --validate-every 4 --lr 3e-3 --run-dir "$work/$1" "${@:2}" >"$work/$1.out" 2>&1 || { tail -n 10 "$work/$1.out"; return 1; }
}
# wanted NAME: what a tracker should have of that run
wanted() {
    sqlite3 "$work/$1/pcp.db" "
        SELECT printf('metric $1 loss %d %!.17g %d', round + 1, loss, committed_ms) FROM round WHERE state = 'committed';
        SELECT printf('metric $1 validation_loss %d %!.17g %d', round + 1, validation_loss, committed_ms) FROM round WHERE validation_loss IS NOT NULL;
        SELECT printf('metric $1 tokens_per_second %d %!.17g', s.round, s.tokens_per_second) || printf(' %d', r.committed_ms)
            FROM pcp_speed s JOIN round r ON r.round + 1 = s.round;
        SELECT printf('run $1 FINISHED %d', finished_ms) FROM run;
        SELECT 'param $1 ' || j.key || ' ' || CASE j.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE j.value END
            FROM run, json_each(run.config) j WHERE j.type <> 'real'" | exact
}
# same NAME: it has that, and nothing twice with another value
same() {
    dump >"$work/dump"
    wanted "$1" >"$work/wanted"
    ! grep '^conflict' "$work/dump" && diff <(grep -E "^(run|metric|param) $1 " "$work/dump" | grep -vE '^param [^ ]* [^ ]* [0-9.e-]*[.e][0-9.e-]*$') "$work/wanted" &&
        [ "$(grep -c "^metric $1 loss" "$work/dump")" -eq 9 ] && [ "$(grep -c "^metric $1 validation_loss" "$work/dump")" -ge 2 ]
}

# --- beside a run ---
tracker first
check "a run with a tracker" train one --track "mlflow:http://127.0.0.1:$port"
check "the tracker has what the records have" same one
check "options are parameters" grep -qx 'param one lr 0.003' "$work/dump"
mode first slow
check "a run with a tracker that does not answer" train two --track "mlflow:http://127.0.0.1:$port"
bits() { cmp "$work/one/checkpoint/latest/model.safetensors" "$work/two/checkpoint/latest/model.safetensors"; }
check "has the same bits" bits
check "a tracker that is not there is no reason to stop" train three --track mlflow:http://127.0.0.1:9
kill -KILL "${pids[0]}"

# --- later, from the records; a tracker with a token and moods ---
echo "s3cret-word" >"$work/token"
tracker second s3cret-word
# follow FLAGS: pcp-metrics with the records of run two
follow() {
    "$bin/pcp-metrics" --events none --http none --web-store "sqlite://$work/two/pcp.db" --track "mlflow:http://127.0.0.1:$port" "$@" \
        >>"$work/metrics.log" 2>&1 &
    metrics=$!
    pids+=("$metrics")
}
log() { grep -q -- "$1" "$work/metrics.log"; }
follow
check "without the token it is refused" eventually 20 log 'event=tracker_lost .*status 401'
kill -TERM "$metrics"
mode second refuse
follow --track-token-file "$work/token"
check "a tracker that refuses is tried again" eventually 20 log 'event=tracker_lost .*status 503'
mode second cut
check "one that cuts connections gets all the same" eventually 60 same two
check "once" test "$(grep -c '^run two' "$work/dump")" -eq 1
check "the token is in no log and no argument" sh -c "! grep -r s3cret-word '$work/metrics.log' '$work'/*/logs && ! tr '\\0' ' ' <'/proc/$metrics/cmdline' | grep s3cret"
kill -KILL "$metrics"
mode second ok
requests() { dump | sed -n 's/^requests //p'; }
: >"$work/metrics.log"
before=$(requests)
MLFLOW_TRACKING_TOKEN=s3cret-word follow
check "one that follows goes on where that one was" eventually 20 log 'event=tracked .*sent=9'
check "and has nothing to send" sh -c "sleep 1.5; [ $(($(requests) - before)) -le 3 ]"
check "the records are still the same there" same two
check "a password in the address is refused" refuses "which others can see" "$bin/pcp-metrics" --events none --http none \
    --web-store "sqlite://$work/two/pcp.db" --track mlflow:http://me:word@127.0.0.1
check "so is a token over plain http to elsewhere" refuses "https alone" env MLFLOW_TRACKING_TOKEN=a "$bin/pcp-metrics" --events none --http none \
    --web-store "sqlite://$work/two/pcp.db" --track mlflow:http://elsewhere.invalid
check "pcp train goes on without, and says why" grep -q "the run goes on (.*which others can see" \
    <(timeout $((120 * slow)) "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --workers 1 --rounds 1 --inner-steps 1 \
        --run-dir "$work/aside" --track mlflow:http://me:word@127.0.0.1 2>/dev/null)
check "and another kind of tracker" refuses "expected mlflow:" "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --track file:///tmp
tap_done
