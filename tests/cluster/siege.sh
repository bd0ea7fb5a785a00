#!/usr/bin/env bash
# Ports under siege while a run trains: messages that never end in large frames and in frames of one byte, floods of
# what is no message of ours, noise before and after the greeting, connections that say nothing. What the services
# hold stays bounded, in memory and in descriptors, and the run ends with the bits that it has in peace.
#   PCP_SIEGE_S=600 scripts/test --long -k siege     at least so many seconds, and figures every ten of them
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
gpt2 --layers 2 --heads 2 --width 64 --block 16 --vocab 256 --batch 2 >"$work/model.mlir" || exit 1
seconds=${PCP_SIEGE_S:-20} rounds=20

port=$((20000 + RANDOM % 10000))
# begin NAME ENDPOINT: a run of two workers over TCP, its four ports behind `port`
begin() {
    cluster "$work/$1" "tcp://127.0.0.1:$port"
    prepare --replicas 2 --inner-steps 2 --rounds $rounds || return 1
    sed -i 's/"run": "[^"]*"/"run": "same"/' "$dir/run.json"
    shepherd --workers 2 --telemetry "tcp://127.0.0.1:$((port + 1))" --events "tcp://127.0.0.1:$((port + 2))"
    aggregator a0 --bind "tcp://127.0.0.1:$((port + 3))"
    compiler c0
}
# besiege NAME OFFSET FLAGS: of the port there, until it is told to end
besiege() {
    local name=$1 at=$((port + $2))
    shift 2
    launch "$name" "$bin/besiege" --port $at --seconds 1e6 "$@"
}
peak_mb() { awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/${pid[$1]}/status"; }
now_mb() { awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/${pid[$1]}/status"; }
files() { find "/proc/${pid[$1]}/fd" -mindepth 1 | wc -l; }
figures() { echo "# $SECONDS s: shepherd $(now_mb shepherd) MB (at most $(peak_mb shepherd)), $(files shepherd) files; aggregator $(now_mb a0) MB (at most $(peak_mb a0)), $(files a0) files"; }
bounded() { [ "$(peak_mb "$1")" -lt "$2" ]; }
# memory NAME WHO: a service that other load keeps from looking at its connections holds more before it cuts them.
memory() {
    if [ -n "${PCP_LONG:-}" ]; then check "$1" bounded "$2" 400; else skip "$1" "measured alone on a machine (--long)"; fi
}
cuts() { event "$1" "event=guest_cut .*($2)"; }

begin calm
worker w0
worker w1
check "a run in peace ends" ends 0
dismiss

begin beset
check "the shepherd listens" eventually 30 event shepherd 'event=start'
check "the aggregator joins" eventually 30 event shepherd 'event=member_joined member=a0'
SECONDS=0
# Where the reactor is late, its guard does not know that no whole message waits; of several reasons the log has one.
unfinished='its message does not end|too much of it waits|it has sent most|too much of others waits'
unending=(--how 'endless,crumbs' --connections 4)
besiege control 0 "${unending[@]}"
besiege telemetry 1 --type PUB "${unending[@]}"
besiege data 3 "${unending[@]}"
check "a message without end ends its connection to the shepherd" eventually 20 cuts shepherd "$unfinished"
check "and to the aggregator" eventually 20 cuts a0 "$unfinished"
# Later: who subscribes to too much is cut as often, and the log has one reason in ten seconds.
besiege events 2 --type SUB "${unending[@]}"
while [ $SECONDS -lt $((seconds / 2)) ]; do
    sleep 1
    [ $((SECONDS % 10)) -ne 0 ] || figures
done
figures
memory "the shepherd's memory is bounded" shepherd
memory "and the aggregator's" a0
kinds=(--how 'silent,idle,noise,garbage,words,blocks,drip,endless,crumbs' --connections 9)
besiege control_all 0 "${kinds[@]}"
besiege telemetry_all 1 --type PUB "${kinds[@]}"
besiege events_all 2 --type SUB "${kinds[@]}"
besiege data_all 3 "${kinds[@]}"
check "what is no message of ours is dropped" eventually $((60 * slow)) event shepherd 'event=message_dropped'
while [ $SECONDS -lt "$seconds" ]; do
    sleep 1
    [ $((SECONDS % 10)) -ne 0 ] || figures
done
worker w0
worker w1
check "a run in the siege trains" eventually $((60 * slow)) event shepherd 'event=round '
figures
memory "the shepherd's memory is still bounded" shepherd
memory "and the aggregator's, too" a0
check "as are descriptors" test "$(files shepherd)" -lt 200 -a "$(files a0)" -lt 200
check "the log is not flooded" test "$(stat -c %s "$dir/shepherd.log")" -lt $((20 * (SECONDS + 60) * 1000))
check "the run ends well" ends 0
check "with the bits of the one in peace" same_bits
dismiss
check "nothing is left running" no_orphans
tap_done
