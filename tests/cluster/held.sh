#!/usr/bin/env bash
# What peers make a process hold while its reactor is at something else: nobody reads the shepherd's log, so that it
# waits to write a line, and the library's threads go on reading what floods send. Their sum is bounded; then the log is
# read, a run trains beside the flood and ends with the bits that it has in peace.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
gpt2 --layers 2 --heads 2 --width 64 --block 16 --vocab 256 --batch 2 >"$work/model.mlir" || exit 1
port=$((20000 + RANDOM % 10000)) many=${PCP_HELD_CONNECTIONS:-16} wait_s=${PCP_HELD_S:-6}

train() { # NAME ENDPOINT
    cluster "$work/$1" "$2"
    prepare --replicas 2 --inner-steps 2 --rounds 10 || return 1
    sed -i 's/"run": "[^"]*"/"run": "same"/' "$dir/run.json"
}
besiege() { # NAME FLAGS
    local name=$1
    shift
    launch "$name" "$bin/besiege" --port $port --seconds 1e6 "$@"
}
mb() { awk -v what="$1" '$1 == what { print int($2 / 1024) }' "/proc/${pid[shepherd]}/status"; }
end() {
    slay KILL "$1"
    wait "${pid[$1]}" 2>>"$work/noise"
    unset "pid[$1]"
}
said() { grep -qE "$1" "$dir/said"; }

train calm "ipc://$work/calm/control"
shepherd --workers 2
aggregator a0
compiler c0
worker w0
worker w1
check "a run in peace ends" ends 0
dismiss

train beset "tcp://127.0.0.1:$port"
mkfifo "$dir/shepherd.log"
cat "$dir/shepherd.log" >"$dir/said" &
pid[reader]=$!
shepherd --workers 2
aggregator a0
compiler c0
check "the shepherd listens" eventually 30 said 'event=member_joined member=a0'
before=$(mb VmRSS:)
slay STOP reader
besiege flood --how "${PCP_HELD_HOW:-blocks}" --connections "$many"
besiege noise --how words --connections 2
sleep "$wait_s"
held=$(($(mb VmHWM:) - before))
echo "# $many connections made it hold $held MB (from $before) in $wait_s s"
check "what it holds is bounded" test "$held" -lt 800 # without a bound it is a gigabyte for four of them
check "though nobody reads its log" test "$(stat -c %s "$dir/said")" -lt 100000
end noise
slay CONT reader
check "when it goes on, it says whom it has cut" eventually $((60 * slow)) said 'event=guest_cut'
worker w0
worker w1
check "the run ends well beside the flood" ends 0
check "with the bits of the one in peace" same_bits
dismiss
check "nothing is left running" no_orphans
tap_done
