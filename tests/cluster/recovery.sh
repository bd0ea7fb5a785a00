#!/usr/bin/env bash
# Kill -9 of the shepherd, of its stand-by, of aggregators and workers, at many moments; the store restarted in
# the middle: the run goes on and ends with the weights of an undisturbed one, bit for bit, each window once.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/servers.bash
at_exit "dismiss; servers_stop; rm -rf '$work'"
rounds=40 inner=8 shards=2

text >"$work/text.txt"
gpt2 --layers 2 --heads 2 --width 64 --block 64 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
check "a run is prepared" "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte \
    --workers 2 --aggregators $shards --inner-steps $inner --rounds $rounds --validate-every 7 --lr 3e-3 \
    --run-dir "$work/run" --prepare-only

# lead NAME: a shepherd (again) on $store; its log goes on
lead() {
    local name=$1
    shift
    "$bin/pcp-shepherd" --log-level debug --run-dir "$dir/$name" --bind "ipc://$dir/$name.control" --id "$name" \
        --config "$work/run/run.json" --checkpoint "$dir/checkpoint" --store "$store" --keep-state local \
        --heartbeat-ms 100 --timeout-ms $((1500 * slow)) --leader-ttl-ms $((600 * slow)) "$@" 2>>"$dir/$name.log" >>"$dir/$name.out" &
    pid[$name]=$!
}

# members ENDPOINTS: two aggregators, a compiler and two workers that share a directory of inner states
members() {
    control=$1
    aggregator a0
    aggregator a1
    compiler c0
    worker w0 --state-dir "$dir/state"
    worker w1 --state-dir "$dir/state"
}

again() { # a member that was killed, with its old command line
    case $1 in
    a?) aggregator "$1" ;;
    w?) worker "$1" --state-dir "$dir/state" ;;
    esac
}

ended() { not_running "${pid[$1]}"; }
# over NAME: that shepherd ends within a minute, with status 0
over() {
    local status=0
    eventually 90 ended "$1" || { tail -n 5 "$dir/$1.log"; return 1; }
    wait "${pid[$1]}" || status=$?
    unset "pid[$1]"
    [ "$status" -eq 0 ] || { echo "exit status $status"; tail -n 5 "$dir/$1.log"; return 1; }
}

same_bits() {
    cmp "$work/calm/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"
}

count() { grep -cE -- "$2" "$dir/$1.log" 2>/dev/null || [ $? -eq 1 ] || echo 0; }
# ... or the run is over: a fast machine ends it before all that was planned has happened.
more() { [ "$(count "$1" "$2")" -gt "$3" ] || finished; }
finished() { grep -qsE 'event=(run_done|run_over)' "$dir"/s?.log; }
# A pause of 0 to $1 thousandths of a second, the same in each run of the test.
RANDOM=7
pause() {
    local ms=$((RANDOM % $1 * slow))
    sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
}
crash() {
    kill -KILL "${pid[$1]}" 2>/dev/null
    wait "${pid[$1]}" 2>/dev/null
    unset "pid[$1]"
}

cluster "$work/calm"
store=sqlite://$dir/pcp.db
lead s0
members "ipc://$dir/s0.control"
check "an undisturbed run ends" over s0
check "a shepherd that starts after the end says so" bash -c "$(declare -p dir store work bin slow pid); $(declare -f lead over ended eventually not_running); lead s0; over s0"
dismiss

in_the_middle() { event s0 'event=resumed round=([2-9]|[123][0-9]) '; }
# storm KILLS: the shepherd dies so often, each time at another moment after it has taken the lead; on a slow
# machine a few times more, until one of its lives began in the middle of the run
storm() {
    local i seen
    for ((i = 0; i < $1 + 6; i++)); do
        if [ "$i" -ge "$1" ] && in_the_middle; then break; fi
        seen=$(count s0 event=leads)
        lead s0
        eventually 60 more s0 event=leads "$seen" || return 1
        pause $((50 + 90 * i))
        crash s0
    done
    lead s0
}

cluster "$work/lite"
store=sqlite://$dir/pcp.db
members "ipc://$dir/s0.control"
check "the shepherd is killed eight times" storm 8
check "the run ends" over s0
check "bit for bit as the undisturbed one" same_bits
check "it went on in the middle" in_the_middle
dismiss

cluster "$work/all"
store=sqlite://$dir/pcp.db
members "ipc://$dir/s0.control"
lead s0
# one of the others dies, comes back, and rounds pass again
fell() {
    eventually 60 more s0 'event=round ' "$(count s0 'event=round ')" || return 1
    pause 100
    crash "$1"
    pause 200
    again "$1"
}
for victim in a0 w1 a1 w0 a0; do check "$victim is killed" fell $victim; done
check "the run ends" over s0
check "bit for bit as the undisturbed one" same_bits
dismiss

# --- PostgreSQL, two shepherds ---
query() { "$postgres_bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 "$postgres_url" -c "$1"; }
if check "a private PostgreSQL starts" postgres_start && [ -n "$postgres_url" ]; then
    store=$postgres_url
    cluster "$work/empty"
    check "without tables a shepherd refuses" bash -c "$(declare -p dir store work bin slow pid); $(declare -f lead); lead s0; wait \${pid[s0]}; [ \$? -eq 4 ]"
    "$bin/pcp" db migrate --store "$store" >/dev/null
    cluster "$work/two"
    lead s0
    check "the first shepherd leads" eventually 60 event s0 event=leads
    lead s1
    check "the second stands by" eventually 60 event s1 'event=standby leader=s0'
    members "ipc://$dir/s0.control,ipc://$dir/s1.control"
    # takeover FROM TO: FROM leads and is killed in a round; TO goes on, FROM stands by
    takeover() {
        local rounds_seen seen
        rounds_seen=$(count "$1" 'event=round ')
        eventually 60 more "$1" 'event=round ' "$rounds_seen" || return 1
        pause 300
        seen=$(count "$2" event=leads)
        crash "$1"
        eventually 60 more "$2" event=leads "$seen" || return 1
        lead "$1"
    }
    check "the leader is killed, the stand-by takes over" takeover s0 s1
    check "and the other way round" takeover s1 s0
    check "PostgreSQL is restarted at ease" postgres_restart fast
    check "and by force" postgres_restart immediate
    check "the run ends" eventually 90 finished
    check "bit for bit as the undisturbed one" same_bits
    check "a stand-by went on in the middle" event s1 'event=resumed round=([2-9]|[123][0-9]) '
    check "the one that stood by leaves, too" eventually 60 ended s0
    check "both of them" eventually 60 ended s1
    check "no window was trained twice" test "$(query 'SELECT sum(doubled_windows) FROM pcp_ledger')" = 0
    check "none was skipped" test "$(query 'SELECT sum(missing_windows) FROM pcp_ledger')" = 0
    check "all rounds are in the store" test "$(query "SELECT count(*) FROM round WHERE state = 'committed'")" = $rounds
    check "and the run is done" test "$(query 'SELECT state FROM run')" = 'done'
    dismiss
fi
# --- Redis comes and goes ---
in_redis() { redis-cli -p "$redis_port" get "$1" 2>/dev/null | grep -q "$2"; }
if check "a private Redis starts" redis_start && [ -n "$redis_url" ]; then
    cluster "$work/redis"
    store=sqlite://$dir/pcp.db
    lead s0 --liveness "$redis_url" --rounds 100000
    lead s1 --liveness "$redis_url" --rounds 100000
    members "ipc://$dir/s0.control,ipc://$dir/s1.control"
    leads() { in_redis pcp:shepherd:s0 '"leads":true' || in_redis pcp:shepherd:s1 '"leads":true'; }
    stands_by() { in_redis pcp:shepherd:s0 '"leads":false' || in_redis pcp:shepherd:s1 '"leads":false'; }
    warned() { grep -qsE "event=$1" "$dir"/s?.log; }
    passes() { [ "$(cat "$dir"/s?.log | grep -c 'event=round ')" -gt "$1" ]; }
    check "Redis shows who leads" eventually 60 leads
    check "who stands by" eventually 60 stands_by
    check "and the workers" eventually 60 in_redis pcp:worker:w1 '"target":"cpu'
    check "they see each other" eventually 60 warned 'shepherds n=2'
    check "rounds pass" eventually 60 passes 2
    check "Redis is killed" redis_stop
    check "a warning" eventually 60 warned liveness_lost
    check "the run goes on" eventually 60 passes "$(($(cat "$dir"/s?.log | grep -c 'event=round ') + 3))"
    check "Redis starts again, empty" redis_again
    check "and is filled" eventually 60 leads
    check "said, too" eventually 60 warned liveness_back
    dismiss
fi
check "nothing is left running" no_orphans
tap_done
