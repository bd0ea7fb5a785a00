#!/usr/bin/env bash
# Runs on a cluster with a front, its stand-by and a private PostgreSQL: two at once, submitted twice, paused and
# resumed, cancelled; a worker, a run's shepherd and the leading front are killed. Every run that ends has the weights it
# has alone, bit for bit.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/servers.bash
at_exit "dismiss; servers_stop; rm -rf '$work'"
if ! postgres_start; then
    skip "runs of a cluster" "PostgreSQL is not installed"
    tap_done
    exit
fi

# Plans are compiled once, for the runs alone and for the cluster.
export XDG_CACHE_HOME=$work
plans=$work/pcp/plans
text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
flags=(--data "$work/text.txt" --tokenizer byte --workers 2 --inner-steps 8 --validate-every 0 --lr 3e-3)
one=(--seed 1 --rounds 40) two=(--seed 2 --rounds 40) long=(--seed 3 --rounds 150)

# alone NAME FLAGS: the same run without a cluster
alone() {
    local name=$1
    shift
    timeout $((120 * slow)) "$bin/pcp" train "$work/model.mlir" "${flags[@]}" "$@" --threads 1 --run-dir "$work/alone/$name"
}
check "one run alone" alone one "${one[@]}"
check "another alone" alone two "${two[@]}"
check "a long one alone" alone long "${long[@]}"

# --- a cluster ---
cluster "$work/c"
runs=$work/runs front_a=ipc://$dir/a front_b=ipc://$dir/b
control=$front_a,$front_b
export PCP_SHEPHERD=$control
front() { # NAME
    serve "$1" shepherd --cluster --store "$postgres_url" --runs-dir "$runs" --socket-dir "$dir/$1.s" \
        --bind "ipc://$dir/$1" --events "ipc://$dir/$1.events" --id "$1" --heartbeat-ms 100 --timeout-ms $((1500 * slow))
}
run() { timeout $((100 * slow)) "$bin/pcp" run "$@"; }
submit() { run submit "$work/model.mlir" "${flags[@]}" "$@"; }
says() { # WORDS COMMAND: its output has these words
    local words=$1
    shift
    "$@" >"$work/says.out" 2>&1
    grep -qE -- "$words" "$work/says.out" || { cat "$work/says.out"; return 1; }
}
state() { says "\"state\": \"$2\"" run get "$1" --json; }
json() { run get "$1" --json | sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\).*/\1/p"; }
past() { # RUN ROUND: it has finished so many rounds
    local round
    round=$(json "$1" round)
    [ "${round:-0}" -ge "$2" ]
}
same_bits() { cmp "$work/alone/$1/checkpoint/latest/model.safetensors" "$runs/$1/checkpoint/latest/model.safetensors"; }

check "no cluster is an error" refuses "no cluster answers" "$bin/pcp" run list --wait-ms 300
check "the tables are made" "$bin/pcp" db migrate --store "$postgres_url"
front a
check "the front leads" eventually 60 event a 'event=leads'
front b
check "another one stands by" eventually 60 event b 'event=standby leader=a'
aggregator a0 --slots 2
serve c0 compiler --shepherd "$control" --id c0 --cache-dir "$plans" --slots 2
serve m0 metrics --id m0 --events "ipc://$dir/a.events,ipc://$dir/b.events" --http 127.0.0.1:0
check "metrics listen" eventually 60 event m0 'event=listening'
can_hear() { curl -sS --max-time 5 "http://127.0.0.1:$(sed -n 's/.*event=listening.* port=\([0-9]*\).*/\1/p' "$dir/m0.log")/readyz" | grep -qx ready; }
check "and are ready without a run" eventually 60 can_hear
run_row() { "$postgres_bin/psql" -X -q -A -t "$postgres_url" -c "SELECT state FROM pcp_runs WHERE run = '$1'" | grep -qx "$2"; }
check "a run without workers is queued" submit "${one[@]}" --name one --key first
check "and tells what it waits for" eventually 60 says 'waits for *a worker' run get one
check "another run is submitted" submit "${two[@]}" --name two
check "which waits for its turn" eventually 60 says '^two +queued .*its turn' run list
worker w0
worker w1
serve node supervisor --shepherd "$control" --id node --scale 2 --threads 1 --cache-dir "$work/cache" --log-dir "$dir"

# --- two at once ---
check "the first is watched to its end" run watch one
check "and so is the second" run watch two
check "both are done" says '^one +done +40/40' run list
# shellcheck disable=SC2317 # called by check
at_once() { # each had its shepherd before the other's ended
    sed -n 's/.*event=shepherd_\(started\|ended\) run=\(one\|two\) .*/\1/p' "$dir/a.log" >"$work/order"
    [ "$(head -n 2 "$work/order" | uniq)" = started ] || { cat "$work/order"; return 1; }
}
check "they were active at the same time" at_once
metric() { # LINE: the metrics service has it
    local port
    port=$(sed -n 's/.*event=listening.* port=\([0-9]*\).*/\1/p' "$dir/m0.log")
    curl -sS --max-time 5 "http://127.0.0.1:$port/metrics" | grep -qxF -- "$1"
}
check "metrics have heard of the first" eventually 60 metric 'pcp_round{run="one"} 40'
check "and of the second" eventually 60 metric 'pcp_round{run="two"} 40'
check "the first has the bits that it has alone" same_bits one
check "the second, too" same_bits two

# --- once for each key ---
check "submitting again under its key gives the run that there is" \
    test "$(submit "${one[@]}" --key first 2>/dev/null)" = one
check "without a key the files are the key" test "$(submit "${two[@]}" 2>/dev/null)" = two
check "so is what the cluster keeps of a run" test "$(run submit "$runs/two" 2>/dev/null)" = two
check "another run under a used key is refused" refuses "was used for run one" submit "${two[@]}" --key first
check "another run under a used name is refused" refuses "already, under another key" \
    submit "${two[@]}" --key other --name one
check "nothing of it is left" test -z "$(find "$runs" -maxdepth 1 -name '.upload*')"
check "an unknown run is an error" refuses 'there is no run "nobody"' run get nobody
check "a run that is done cannot be paused" refuses "run one is done" run pause one
check "nor cancelled" refuses "run one is done" run cancel one
check "nor resumed" refuses "run one is done" run resume one
check "logs are there" says 'event=run_done' run logs one
logs_are() { # FILE FLAGS
    local want=$1
    shift
    run logs one "$@" >"$work/said" && cmp "$work/said" "$want"
}
one_log() { printf 'a\nb\n' >"$runs/one/shepherd.log.1" && cat "$runs/one/shepherd.log.1" "$runs/one/shepherd.log" >"$work/both"; }
one_log
check "also what they had before they began anew" logs_are "$work/both"
tail -n 3 "$work/both" >"$work/some"
check "their last lines" logs_are "$work/some" --tail 3
lines=$(wc -l <"$work/both")
tail -n $((lines - 1)) "$work/both" >"$work/some"
check "of the one before, too" logs_are "$work/some" --tail $((lines - 1)) --follow
rm "$runs/one/shepherd.log.1"

# --- paused, and another run has its workers meanwhile ---
check "a long run is submitted" submit "${long[@]}" --name long
check "it trains" eventually 60 past long 5
check "it is paused" run pause long
check "its shepherd saves and ends" eventually 60 event a 'event=shepherd_ended run=long how=.ended with status 3'
check "it is paused" state long paused
check "in the table of runs, too" eventually 60 run_row long paused
check "a run for its workers" submit --seed 4 --rounds 3 --name short --watch
check "it is resumed" run resume long
check "in the table, too" eventually 60 run_row long running
check "it trains on" eventually 60 past long 20

# --- its shepherd is killed, then the front ---
child() { pgrep -f -- "pcp-shepherd .*--run long .*$work" | head -n 1; }
kill -KILL "$(child)"
check "a killed shepherd is started again" eventually 60 event a 'event=shepherd_started run=long .*restarts=1'
check "and goes on" eventually 60 past long 30
slay KILL a
wait "${pid[a]}" 2>/dev/null
unset 'pid[a]'
check "the stand-by takes over" eventually 60 event b 'event=leads runs=4'
check "and the run goes on there" eventually 60 past long "$(($(json long round) + 2))"

# --- without its database; the front that is left leads again when it is back ---
check "the database goes away" postgres_stop immediate
check "the run that waits for it says so" eventually 60 says '^waits for +the store' run get long
check "in the list, too" says '^long +running .*the store' run list
check "the database comes back" postgres_again
check "the run goes on" eventually 60 past long "$(($(json long round) + 5))"
check "the run ends well there" run watch long
check "with the bits that it has alone" same_bits long

# --- workers, checkpoints, and an end for good ---
check "a run is submitted" submit --seed 5 --rounds 100000 --name endless
check "it trains" eventually 60 past endless 2
workers() { timeout $((60 * slow)) "$bin/pcp" worker "$@"; }
check "the front knows its workers" says '^node-w0 +node +running ' workers list
links() { # WORDS [FLAGS]: of a round that ends
    local words=$1
    shift
    timeout $((60 * slow)) "$bin/pcp" run watch endless --links "$@" --shepherd "$control" | grep -m 1 -E -- "$words"
}
check "what they wait for is told with each round" links '^(node-w|w)[01] .*%  (parameters|upload|others|lease|nothing)'
lines() { timeout $((60 * slow)) "$bin/pcp" run watch endless --links -o json --shepherd "$control" 2>/dev/null | head -n 2 | tee "$work/lines" | grep -c '^{"round":.*}$' | grep -qx 2 || { cat "$work/lines"; return 1; }; }
check "as JSON, nothing else is on stdout" lines
check "which is of --links alone" refuses "is for --links" "$bin/pcp" run watch endless --json
check "as JSON, too" links '"links":\[\{"worker":"(node-w|w)[01]".*"received_bytes":[1-9]' --json
kill -KILL "$(pgrep -f -- "pcp-worker .*--id node-w0 .*$work" | head -n 1)"
check "a killed one is replaced" eventually 60 says '^node-w0 +node +running +[a-z]+ +[0-9]+ +1 ' workers list
check "one is drained" workers drain node-w1
check "and stays away" eventually 60 says '^node-w1 +node +drained ' workers list
check "a checkpoint is asked for" timeout $((60 * slow)) "$bin/pcp" checkpoint now endless --shepherd "$control"
check "one of a run that is over is refused" refuses "the run is not active" "$bin/pcp" checkpoint now one --shepherd "$control"
check "and it is written" eventually 60 says 'event=checkpoint ' run logs endless
check "it is cancelled" says '^endless is cancelled' run cancel endless
check "in the table, too" eventually 60 run_row endless cancelled
check "and cannot be resumed" refuses "endless is cancelled" run resume endless
cancelled() { says "run endless cancelled" run watch endless; }
check "watching it fails" cancelled
check "its shepherd has ended" eventually 60 event b 'event=shepherd_ended run=endless'
slay TERM b
check "the front leaves at a signal" leaves b
for name in a0 c0 w0 w1 node m0; do slay TERM "$name"; done
for name in a0 c0 w0 w1 node m0; do check "$name leaves" leaves "$name"; done
check "nothing is left running" no_orphans
tap_done
