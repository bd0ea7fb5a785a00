#!/usr/bin/env bash
# Who cannot be reached is named within 2 s, with the reason, and again after a while: by services and by pcp, on this
# machine and, where there can be such, between machines. An aggregator that is bound to every interface is found.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/world.bash

cluster "$work/wrong"
says() { # NAME TEXT: its log names it within 2 s (3 here: others may load this machine)
    eventually 3 grep -qF -- "$2" "$dir/$1.log"
}

serve refused worker --shepherd tcp://127.0.0.1:9 --cache-dir "$work/cache" --threads 1
check "a wrong port is named" says refused 'cannot reach tcp://127.0.0.1:9 (Connection refused)'
again() { [ "$(grep -cF 'event=unreachable' "$dir/refused.log")" -ge 2 ]; }
check "and again" eventually 5 again
serve name aggregator --shepherd tcp://no-such-host.invalid:7000 --bind "ipc://$dir/data" --object-dir "$dir/objects"
check "a wrong host is named" says name 'cannot reach tcp://no-such-host.invalid:7000 ('
serve socket compiler --shepherd "ipc://$dir/none" --cache-dir "$dir/plans"
check "a missing socket is named" says socket "cannot reach ipc://$dir/none (no such socket)"
serve two worker --shepherd "tcp://127.0.0.1:9,ipc://$dir/none" --cache-dir "$work/cache" --threads 1
both() { says two 'tcp://127.0.0.1:9 (' && says two "ipc://$dir/none ("; }
check "of several endpoints each is named" both
dismiss

told() { # COMMAND: it names the endpoint within 2 s
    timeout 3 "$@" 2>"$work/told"
    grep -qF 'cannot reach tcp://127.0.0.1:9 (Connection refused)' "$work/told" || { cat "$work/told"; return 1; }
}
check "pcp run names it" told "$bin/pcp" run list --shepherd tcp://127.0.0.1:9
check "pcp worker names it" told "$bin/pcp" worker list --shepherd tcp://127.0.0.1:9
at_once() { SECONDS=0; refuses "no model given" "$bin/pcp" run submit --shepherd tcp://127.0.0.1:9 && [ "$SECONDS" -lt 4 ]; }
check "what is wrong without anybody's answer is told at once" at_once
check "pcp checkpoint names it" told "$bin/pcp" checkpoint now --shepherd tcp://127.0.0.1:9

# Who is told of an aggregator where none is.
cluster "$work/data"
check "a run is prepared" prepare --workers 1 --inner-steps 5 --rounds 3 --validate-every 0
shepherd --workers 1
serve a0 aggregator --shepherd "$control" --object-dir "$dir/objects" --bind "tcp://127.0.0.1:*" --advertise tcp://127.0.0.1:9
compiler c0
worker w0
check "all are there" eventually 20 event shepherd 'event=member_joined member=w0'
check "an aggregator's wrong endpoint is named" says shepherd 'cannot reach tcp://127.0.0.1:9 (Connection refused)'
dismiss

# --- Between machines ---
world_needs "an aggregator that is bound to every interface of its machine"
cluster "$work/far" tcp://10.77.0.1:7000
host s one
host a two
host w three
check "a run is prepared" prepare --workers 2 --inner-steps 5 --rounds 3 --validate-every 0
on s serve shepherd shepherd --run-dir "$dir" --bind "tcp://${address[s]}:7000" --config "$dir/run.json" \
    --checkpoint "$dir/checkpoint" --workers 2
control=tcp://${address[s]}:7000
on a serve a0 aggregator --shepherd "$control" --object-dir "$dir/objects" --bind tcp://0.0.0.0:7100 --once
check "it says what it announces" eventually 10 event a0 "event=announced data=tcp://${address[a]}:7100"
on w compiler c0 --once
on w worker w0 --once
on w worker w1 --once
check "workers on another machine train with it" ends 0
dismiss

# The shepherd's machine is the aggregator's, too: whoever reaches the one reaches the other by the same address.
cluster "$work/near" "tcp://${address[s]}:7000"
check "a second run is prepared" prepare --workers 1 --inner-steps 5 --rounds 2 --validate-every 0
on s serve shepherd shepherd --run-dir "$dir" --bind "tcp://0.0.0.0:7000" --config "$dir/run.json" \
    --checkpoint "$dir/checkpoint" --workers 1
on s serve a0 aggregator --shepherd tcp://127.0.0.1:7000 --object-dir "$dir/objects" --bind tcp://0.0.0.0:7100 --once
on w compiler c0 --once
on w worker w0 --once
check "the same with an aggregator that reaches its shepherd by loopback" ends 0
dismiss

cluster "$work/dark" tcp://10.77.0.1:7000
unplug s
on w worker lost
check "a machine that is silent is named" says lost "cannot reach tcp://${address[s]}:7000 (no answer)"
tap_done
