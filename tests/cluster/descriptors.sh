#!/usr/bin/env bash
# A flood of connections at the limit of open files: the shepherd neither spins nor loses members, those who say
# something still come in, and the log names the limit.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
files=128

count() { grep -cE -- "$2" "$dir/$1.log"; }
more() { [ "$(count "$1" "$2")" -gt "$3" ]; }
rounds_pass() { eventually 60 more shepherd 'event=round ' "$(count shepherd 'event=round ')"; }
ticks() { # of the shepherd's processor time, hundredths of a second
    local fields
    read -ra fields <"/proc/${pid[shepherd]}/stat"
    echo $((fields[13] + fields[14]))
}
port=$((20000 + RANDOM % 10000))
# flood N: so many connections that say nothing, for as long as this process lives
flood() {
    (
        # shellcheck disable=SC2034 # a number for each
        for ((i = n = 0; i < $1; i++)); do exec {fd}<>"/dev/tcp/127.0.0.1/$port" && n=$((n + 1)); done 2>/dev/null
        echo $n >"$dir/flood"
        exec sleep 1000
    ) &
    pid[flood]=$!
    eventually 60 test -s "$dir/flood" && [ "$(cat "$dir/flood")" -eq "$1" ]
}

cluster "$work/run" "tcp://127.0.0.1:$port"
prepare --workers 1 --inner-steps 2 --validate-every 0 --checkpoint-every 0
limited() { # in a shell of its own: the limit is the shepherd's
    bash -c 'ulimit -n "$1" && shift && exec "$@"' limited $files "$bin/pcp-shepherd" --log-level debug --run-dir "$dir" \
        --bind "$control" --config "$dir/run.json" --checkpoint "$dir/checkpoint" --heartbeat-ms 100 \
        --timeout-ms $((1500 * slow)) --rounds 1000000 --events "ipc://$dir/events" 2>"$dir/shepherd.log" >"$dir/shepherd.out" &
    pid[shepherd]=$!
}
# What metrics say of connections that were turned away.
turned_away() {
    curl -s --max-time 20 "http://127.0.0.1:$http/metrics" >"$work/metrics"
    awk '/^pcp_refusals_total.*service="shepherd",reason="connections"/ { n = $2 } END { print n + 0 }' "$work/metrics"
}
turned_away_more() { [ "$(turned_away)" -gt "$1" ]; }
limited
aggregator a0
compiler c0
worker w0
serve metrics metrics --events "ipc://$dir/events" --http 127.0.0.1:0
check "metrics are served" eventually 30 event metrics 'event=listening'
http=$(sed -n 's/.*event=listening port=\([0-9]*\).*/\1/p' "$dir/metrics.log" | head -n 1)
check "a run, with at most $files open files" rounds_pass
if command -v curl >"$work/which"; then
    check "nobody was turned away" test "$(turned_away)" -eq 0
fi
check "300 connections that say nothing" flood 300
check "the log names the limit" eventually 20 event shepherd "event=descriptors_short limit=$files"
if command -v curl >"$work/which"; then
    check "those that are turned away are counted" eventually 30 turned_away_more 100
    echo "# $(turned_away) of them"
else
    skip "those that are turned away are counted" "no curl"
fi
check "rounds pass" rounds_pass
before=$(ticks)
sleep 3
used=$(($(ticks) - before))
echo "# the shepherd used $used hundredths of a second in three seconds of flood"
check "the processor is left to others" test "$used" -lt 60
check "no member was turned away" test "$(count shepherd 'event=member_lost')" -eq 0
worker w1
check "a worker joins in the flood" eventually 30 event shepherd 'event=member_joined member=w1'
kill -KILL "${pid[flood]}"
wait "${pid[flood]}" 2>/dev/null
unset 'pid[flood]'
worker w2
check "another one behind it" eventually 30 event shepherd 'event=member_joined member=w2'
check "rounds still pass" rounds_pass
dismiss
check "nothing is left running" no_orphans
tap_done
