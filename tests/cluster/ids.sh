#!/usr/bin/env bash
# Equal ids: two workers of one id in PID namespaces and under host names that are the same, two shepherds of one
# id with one store. An id takes nothing from a process that lives, and is free at once when that one is gone.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash

apart=() # in a PID namespace of its own, where the system lets us
if unshare -pf --kill-child --uts true 2>/dev/null; then
    # shellcheck disable=SC2016 # for the shell in there
    apart=(unshare -pf --kill-child --uts bash -c 'hostname node; exec "$0" "$@"')
fi
# double NAME: a worker that is called w0, its log is NAME.log
double() {
    "${apart[@]}" "$bin/pcp-worker" --log-level debug --shepherd "$control" --id w0 --cache-dir "$dir/cache" --threads 1 \
        2>"$dir/$1.log" >"$dir/$1.out" &
    pid[$1]=$!
}
count() { grep -cE -- "$2" "$dir/$1.log"; }
more() { [ "$(count "$1" "$2")" -gt "$3" ]; }
rounds_pass() { eventually 60 more "$1" 'event=round ' "$(count "$1" 'event=round ')"; }
is_refused() { event "$1" 'event=.*the id w0 belongs to a living worker'; }

cluster "$work/workers"
prepare --workers 1 --inner-steps 2 --validate-every 0 --checkpoint-every 0
shepherd --rounds 1000000
aggregator a0
compiler c0
double first
check "a worker trains" eventually 60 more first 'event=lease_done' 1
double second
check "another of its id, in another PID namespace, is refused" eventually 60 is_refused second
check "rounds go on" rounds_pass shepherd
check "the first keeps its id" test "$(count shepherd 'event=member_lost member=w0')" -eq 0
check "the second gets no work" test "$(count second 'event=lease_done')" -eq 0
kill -KILL "${pid[first]}"
wait "${pid[first]}" 2>/dev/null
check "the first is killed: the second has the id" eventually 60 more second 'event=lease_done' 1
# started again under the same id: at once, though the time-out is far away
swift() {
    local begin=$EPOCHREALTIME
    kill -KILL "${pid[second]}"
    wait "${pid[second]}" 2>/dev/null
    double third
    eventually 60 more third 'event=joined' 0 || return 1
    echo "joined after $(((${EPOCHREALTIME/./} - ${begin/./}) / 1000)) ms"
    [ $(((${EPOCHREALTIME/./} - ${begin/./}) / 1000)) -lt $((1200 * slow)) ]
}
check "killed and started again, it is back before any time-out" swift
dismiss

cluster "$work/shepherds"
prepare --workers 1 --inner-steps 2 --validate-every 0 --checkpoint-every 0
lead() { # NAME: a shepherd that is called s
    serve "$1" shepherd --run-dir "$dir/$1" --bind "ipc://$dir/$1.control" --id s --config "$dir/run.json" \
        --checkpoint "$dir/checkpoint" --store "sqlite://$dir/pcp.db" --rounds 1000000 --leader-ttl-ms $((600 * slow))
}
lead one
check "a shepherd leads" eventually 60 event one event=leads
lead two
control="ipc://$dir/one.control,ipc://$dir/two.control"
aggregator a0
compiler c0
worker w0
check "another of its id stands by, and says why" eventually 60 event two 'event=same_id'
check "rounds pass" rounds_pass one
check "and go on for several terms" rounds_pass one
check "the leader is not ousted" test "$(count one 'event=deposed')$(count two 'event=leads')" = 00
slay KILL one
check "it is killed: the other leads" eventually 60 event two event=leads
check "and goes on" rounds_pass two
dismiss
check "nothing is left running" no_orphans
tap_done
