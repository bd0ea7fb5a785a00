#!/usr/bin/env bash
# Programs that are started with standard input, output and error closed, as some starters do: no socket or file takes these
# numbers, so that nothing is logged or printed into one.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
cluster "$work/c"
"$bin/pcp-metrics" --events "ipc://$dir/events" --http 127.0.0.1:0 --health "$dir/health" <&- >&- 2>&- &
pid[metrics]=$!
answers() { "$bin/pcp-metrics" --probe --health "$dir/health"; }
check "a service with all three closed answers" eventually 30 answers
nothing_there() {
    local fd
    for fd in 0 1 2; do [ "$(readlink "/proc/${pid[metrics]}/fd/$fd")" = /dev/null ] || { ls -l "/proc/${pid[metrics]}/fd"; return 1; }; done
}
check "none of its own is at their numbers" nothing_there
slay TERM metrics
check "SIGTERM ends it" leaves metrics
tap_done
