#!/usr/bin/env bash
# pcp-metrics beside real runs: what it serves moves and matches the run's log, its store goes and comes, and
# a run trains the same bits whether it listens, sleeps or dies.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/servers.bash
at_exit "dismiss; servers_stop; rm -rf '$work'"
rounds=6 inner=300 # leases long enough for news of steps, twice a second

text >"$work/text.txt"
gpt2 --layers 2 --heads 2 --width 64 --block 64 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
check "pcp train --prepare-only writes a run.json" "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" \
    --tokenizer byte --workers 2 --inner-steps $inner --rounds $rounds --validate-every 3 --lr 3e-3 \
    --run-dir "$work/run" --prepare-only
check "and trains nothing" test ! -e "$work/run/checkpoint"

fresh() { diff docs/metrics.md <("$bin/pcp-metrics" --list-metrics) || { echo "write it anew: build/bin/pcp-metrics --list-metrics > docs/metrics.md"; return 1; }; }
check "docs/metrics.md is what pcp-metrics --list-metrics prints" fresh

# metrics NAME [FLAGS]: start it; sets `port`
metrics() {
    local name=$1
    shift
    serve "$name" metrics --id "$name" --events "ipc://$dir/events" --http 127.0.0.1:0 --stale-ms 2500 "$@"
    listening() { port=$(sed -n 's/.*event=listening.* port=\([0-9]*\).*/\1/p' "$dir/$name.log" 2>/dev/null) && [ -n "$port" ]; }
    eventually 60 listening
}

get() { curl -sS --max-time 5 "http://127.0.0.1:$port$1"; }
status() { [ "$(curl -s -o /dev/null -w '%{http_code}' --max-time 5 "${@:3}" "http://127.0.0.1:$port$1")" = "$2" ]; }
# value NAME{LABELS}: the value of that line; fails when there is none
value() {
    get /metrics | awk -v key="$1" '$1 == key { print $2; found = 1 } END { exit !found }'
}
above() { local v; v=$(value "$1") && awk -v v="$v" -v low="$2" 'BEGIN { exit !(v > low) }'; }
is() {
    local v
    v=$(value "$1")
    [ "$v" = "$2" ] || { echo "$1 is '${v:-absent}', not $2"; return 1; }
}
absent() { ! get /metrics | grep -q "^$1"; }

# start_run NAME [SHEPHERD FLAGS]: a shepherd and its members but for the second worker
start_run() {
    cluster "$work/$1"
    mkdir -p "$dir"
    cp "$work/run/run.json" "$dir/run.json"
    shift
    shepherd "$@"
    aggregator a0
    compiler c0
    worker w0
}

# --- nobody listens: the run to compare with ---
start_run calm
worker w1
check "an undisturbed run" ends 0
dismiss
same_bits() {
    cmp "$work/calm/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"
}

# --- before, during and after a run ---
cluster "$work/seen"
mkdir -p "$dir"
"$bin/pcp" db migrate --store "sqlite://$dir/store.db" >/dev/null
metrics m0 --store "sqlite://$dir/store.db"
check "it is alive before any shepherd" status /healthz 200
check "but not ready" status /readyz 503
check "/readyz says what is missing" grep -q "events: connected to 0 of 1" <(get /readyz)
check "another path" status /etc/passwd 404
check "another method" status /metrics 405 -X POST -d x=1
check "HEAD" status /metrics 200 -I
exec 5<>"/dev/tcp/127.0.0.1/$port"
printf 'GET /metrics HTTP/1.1\r\nX: ' >&5 # and no more
printf 'no http at all\r\n\r\n' | timeout 30 bash -c "exec 6<>/dev/tcp/127.0.0.1/$port; cat >&6; cat <&6" >/dev/null
check "half a request and nonsense keep nobody waiting" status /healthz 200
exec 5>&-

start_run seen
busy_worker() { above 'pcp_workers{run="run",state="busy"}' 0; }
idle_aggregator() { is 'pcp_members{run="run",kind="aggregator",state="active"}' 1; }
check "it hears the shepherd" eventually 60 status /readyz 200
check "the run has not begun without its second worker" eventually 60 is 'pcp_round{run="run"}' 0
worker w1
check "workers are busy" eventually 60 busy_worker
check "the aggregator is active" eventually 60 idle_aggregator
check "rounds pass" eventually 60 above 'pcp_round{run="run"}' 0
check "a worker's steps are seen" eventually 60 above 'pcp_worker_step{run="run",worker="w0"}' 0
first=$(value 'pcp_tokens_total{run="run"}' || echo 0)
check "tokens grow" eventually 60 above 'pcp_tokens_total{run="run"}' "$first"
check "the run ends well with a listener" ends 0
check "the result is bit for bit that of the undisturbed run" same_bits

check "the end of the run is seen" eventually 60 is 'pcp_run_running{run="run"}' 0
logged() { # the last KEY=VALUE of the shepherd's rounds
    sed -n "s/.*event=round .* $1=\([^ ]*\).*/\1/p" "$dir/shepherd.log" | tail -n 1
}
# shellcheck disable=SC2015 # echo does not fail
matches() { # metric KEY: to the digits that the log has
    local v
    v=$(value "$1{run=\"run\"}")
    [ -n "$v" ] && [ "$(printf '%.4f' "$v")" = "$(printf '%.4f' "$(logged "$2")")" ] ||
        { echo "$1 is '${v:-absent}', the log says $(logged "$2")"; return 1; }
}
check "the loss is the log's" matches pcp_loss loss
check "the validation loss is the log's" matches pcp_validation_loss val_loss
check "all rounds are counted" is 'pcp_round{run="run"}' $rounds
step=$((4 * 64)) # batch x block
[ "$slow" -eq 1 ] || step=16 # as gpt2 has them there
check "all tokens are counted" is 'pcp_tokens_total{run="run"}' $((rounds * 2 * inner * step))
check "bytes of the shard" above 'pcp_received_bytes_total{run="run",shard="0"}' 100000
check "bytes the shard sent" above 'pcp_sent_bytes_total{run="run",shard="0"}' 100000
check "nothing was refused" is 'pcp_refused_chunks_total{run="run",shard="0"}' 0
check "time of the commit" value 'pcp_commit_seconds{run="run",shard="0"}'
check "nothing was malformed" is pcp_telemetry_malformed_total 0
check "workers are gone with the run" absent pcp_workers
# What Prometheus' parser wants: comments of two kinds, else name{labels} number.
well_formed() {
    get /metrics | grep -vE '^# (HELP (pcp|process)_[a-z_]+ .+|TYPE (pcp|process)_[a-z_]+ (gauge|counter|histogram))$' |
        grep -vE '^(pcp|process)_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? ([-+0-9.e]+|NaN|[-+]Inf)$' >"$work/odd"
    [ ! -s "$work/odd" ] || { cat "$work/odd"; return 1; }
}
check "the text is well-formed" well_formed
listed() {
    local name
    for name in $(get /metrics | awk '/^# TYPE/ { print $3 }'); do
        grep -q "^| $name " docs/metrics.md || { echo "docs/metrics.md does not know $name"; return 1; }
    done
}
check "each name is in docs/metrics.md" listed
check "records went to the store" eventually 60 above pcp_store_written_total $((5 * rounds))
check "none was dropped" is pcp_store_dropped_total 0
check "without a shepherd to hear it is not ready" eventually 60 status /readyz 503
slay TERM m0
check "SIGTERM ends it" leaves m0
dismiss

# --- it sleeps, it dies: nobody notices ---
start_run asleep
metrics m0
slay STOP m0
worker w1
check "a run with a sleeping listener ends well" ends 0
check "with the same bits" same_bits
dismiss
start_run dead
metrics m0
worker w1
check "rounds pass" eventually 60 above 'pcp_round{run="run"}' 1
slay KILL m0
check "a run whose listener is killed ends well" ends 0
check "with the same bits" same_bits
dismiss

# --- wrong flags ---
cluster "$work/wrong"
mkdir -p "$dir"
check "an address that is none" refuses "HOST:PORT" "$bin/pcp-metrics" --http 9464
check "a store that is none" refuses "mysql" "$bin/pcp-metrics" --http 127.0.0.1:0 --store mysql://x
check "no events" refuses "events" "$bin/pcp-metrics" --http 127.0.0.1:0 --events ,

# --- a database that is not ready, goes, and comes again ---
if postgres_start; then
    cluster "$work/base"
    mkdir -p "$dir"
    metrics m0 --store "$postgres_url"
    check "a database without tables: status 4" leaves m0 4
    check "the migration" "$bin/pcp" db migrate --store "$postgres_url"
    start_run base --rounds 100000
    metrics m1 --store "$postgres_url" --queue 64
    check "the store is up" eventually 60 is pcp_store_up 1
    worker w1
    check "records are written" eventually 60 above pcp_store_written_total 20
    postgres_stop immediate
    check "the loss of the store is seen" eventually 60 is pcp_store_up 0
    check "it is not ready" status /readyz 503
    check "what does not fit is dropped and counted" eventually 60 above pcp_store_dropped_total 0
    round=$(value 'pcp_round{run="run"}')
    check "the run goes on" eventually 60 above 'pcp_round{run="run"}' "$round"
    written=$(value pcp_store_written_total)
    postgres_again
    check "the store comes again" eventually 60 is pcp_store_up 1
    check "records are written again" eventually 60 above pcp_store_written_total "$written"
    check "it is ready" eventually 60 status /readyz 200
    slay TERM m1
    check "SIGTERM ends it" leaves m1
    dismiss
else
    skip "a database that goes and comes" "PostgreSQL is not installed"
fi

check "nothing is left running" no_orphans
tap_done
