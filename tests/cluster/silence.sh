#!/usr/bin/env bash
# Silence: a shepherd that was held up for ten seconds finds nobody lost and gives no lease again; and when most of the
# workers die at once, that is found in a bounded time, and training goes on with the others.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash

timeout_ms=$((1500 * slow))
cluster "$work/cluster"
check "a run is prepared" prepare --workers 32 --replicas 32 --rounds 100000 --inner-steps 2 --codec f32 --validate-every 0 \
    --checkpoint-every 0
shepherd --id leader
aggregator a0
compiler c0
worker w0
worker w1
# Simulated workers in five processes, which speak the real protocol.
launch crowd "$bin/worker-crowd" --shepherd "$control" --target "$(uname -m | sed 's/x86_64/cpu:x86-64-v3/')" --count 30 \
    --processes 5 --threads 1 --join-ms 100 --hold-ms 2000 --seconds 3600

counted() { grep -cE -- "$1" "$dir/shepherd.log" || true; }
at_least() { [ "$(counted "$1")" -ge "$2" ] || { counted "$1"; return 1; }; }
exactly() { [ "$(counted "$1")" -eq "$2" ] || { counted "$1"; grep -E -- "$1" "$dir/shepherd.log" | tail -n 3; return 1; }; }

check "all are there, and train" eventually 120 at_least event=round 2
given=$(counted "event=lease_reopened") lost=$(counted "event=member_lost.*silent")
slay STOP shepherd
sleep 10 # what is tried here is this time
slay CONT shepherd
n=$(counted event=round)
check "a shepherd that was stopped for 10 s goes on" eventually 60 at_least event=round $((n + 3))
check "nobody was lost by its silence" exactly "event=member_lost.*silent" "$lost"
check "no lease was given again" exactly "event=lease_reopened" "$given"
check "no work was taken for lost" exactly "event=work_lost" 0

mapfile -t crowd < <(pgrep -P "${pid[crowd]}" | head -n 3)
kill -KILL "${crowd[@]}"
started=$(date +%s%N)
check "18 of 32 die at once, and are lost" eventually 60 at_least "event=member_lost.*silent" $((lost + 18))
took_ms=$((($(date +%s%N) - started) / 1000000))
echo "# found after $took_ms ms, the time-out is $timeout_ms"
# Whose last signs of life lie far enough apart fall silent few by few: then the shepherd has no reason to doubt itself.
echo "# the shepherd doubted itself $(counted "event=many_silent") times"
check "in bounded time" [ "$took_ms" -le $((2 * timeout_ms + 4000 * slow)) ]
check "and nobody else" exactly "event=member_lost.*silent" $((lost + 18))
n=$(counted event=round)
check "the others train on" eventually 120 at_least event=round $((n + 2))
tap_done
