#!/usr/bin/env bash
# pcp-metrics on a link that goes silent: the machine of a front vanishes without a word (no FIN, no RST reaches us)
# and comes back as another process. In a network namespace of its own, whose loopback device is put down.
set -u
cd "$(dirname "$0")/../.." || exit 1
if [ -z "${PCP_LINKS_INSIDE:-}" ]; then
    if ! unshare -Urn ip link set lo up 2>/dev/null; then
        echo "ok 1 - links that go silent # SKIP no network namespaces here"
        echo 1..1
        exit 0
    fi
    PCP_LINKS_INSIDE=1 exec unshare -Urn "$0"
fi
ip link set lo up
. tests/cluster/tap.bash
. tests/cluster/cluster.bash

port=7311 http=7312
cluster "$work/c"
front() {
    serve "$1" shepherd --cluster --id "$1" --runs-dir "$dir/runs" --bind "tcp://127.0.0.1:$((port + 10))" \
        --events "tcp://127.0.0.1:$port" --leader-ttl-ms 1000
}
serve m0 metrics --id m0 --events "tcp://127.0.0.1:$port" --http "127.0.0.1:$http"
status() { [ "$(curl -s -o /dev/null -w '%{http_code}' --max-time 5 "http://127.0.0.1:$http$1")" = "$2" ]; }
check "it lives" eventually 20 status /healthz 200
started=$SECONDS
check "nobody is there: it says so" eventually 20 event m0 'event=unreachable .*error="cannot reach tcp://127.0.0.1:7311"'
check "within a few seconds" test $((SECONDS - started)) -le $((5 * slow))
front f0
check "it connects" eventually 30 status /readyz 200

# Nothing of the end of f0 gets through: for us the connection is as before.
ip link set lo down
slay KILL f0
wait "${pid[f0]}" 2>/dev/null
unset 'pid[f0]'
sleep 1
ip link set lo up
front f1
connected() { [ "$(grep -c 'event=connected' "$dir/m0.log")" -ge "$1" ] && status /readyz 200; }
check "it notices, and finds the new one" eventually 60 connected 2
slay TERM m0
check "SIGTERM ends it" leaves m0
dismiss
check "nothing is left running" no_orphans
tap_done
