#!/usr/bin/env bash
# Disks that are full or read-only for a while: what holds objects, and what holds a shard's state. The run pauses,
# says for what it waits, goes on by itself when there is room, and ends with its usual bits.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/world.bash
world_needs "disks that are full"
gpt2 --layers 2 --heads 2 --width 32 --block 16 --vocab 256 --batch 2 >"$work/model.mlir" || exit 1
host box
on box true || exit 1

# begin NAME: a run of two workers whose states are objects; the aggregator has two small disks
begin() {
    cluster "$work/$1" "tcp://${address[box]}:7000"
    prepare --replicas 2 --inner-steps 4 --rounds 30 || return 1
    disk box "$dir/objects" 12m && disk box "$dir/state" 12m || return 1
    on box serve a0 aggregator --shepherd "$control" --id a0 --object-dir "$dir/objects" --state-dir "$dir/state" \
        --bind "tcp://${address[box]}:7100"
    eventually 30 event a0 event=start && sleep 0.3 || return 1 # it has its files open
    shift
    "$@" || return 1
    on box serve shepherd shepherd --run-dir "$dir" --bind "$control" --config "$dir/run.json" \
        --checkpoint "$dir/checkpoint" --workers 2 --keep-state object --heartbeat-ms 100 --timeout-ms $((1500 * slow))
    on box compiler c0
    on box worker w0
    on box worker w1
}
# fill DISK, clear DISK, lock DISK, unlock DISK: of the aggregator's
fill() {
    on box dd if=/dev/zero of="$dir/$1/other" bs=1k oflag=append conv=notrunc 2>/dev/null
    [ "$(on box df --output=avail "$dir/$1" | tail -n 1)" -eq 0 ]
}
clear() { rm "$(seen box "$dir/$1/other")"; }
lock() { in_box mount -o remount,ro "$dir/$1"; }
unlock() { in_box mount -o remount,rw "$dir/$1"; }
in_box() { nsenter -t "${world_holder[box]}" -m -- "$@"; }

# finishes: within a minute or so, well
finishes() { eventually 90 not_running "${pid[shepherd]}" && ends 0; }
same_bits() {
    cmp "$work/calm/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"
}
# waits NAME TEXT: that service says that it waits, for something with that text in it, and the run is still there
waits() {
    eventually 30 event "$1" "event=waiting .*for=.*$2" && ! event shepherd event=run_failed
}
# Objects that nobody needs any more make room: until somebody waits.
stays_full() { fill objects && cat "$dir"/w?.log | grep -qE "event=waiting .*for=.*$1"; }
full_and_said() { fill objects && event shepherd "event=waiting .*for=.*$1"; }
quiet() { ! event shepherd 'event=run_(failed|done)'; }
trains() { eventually 60 event shepherd "event=round round=$1 "; }

check "an undisturbed run begins" begin calm
check "and ends" finishes
dismiss

check "a run begins with no room for objects" begin none fill objects
check "the shepherd waits, and says for what" waits shepherd 'cannot write.*objects.*No space left'
check "so does the aggregator" waits a0 'objects.*No space left'
check "there is room again" clear objects
check "the run ends" finishes
check "bit for bit as the other" same_bits
dismiss

check "a run begins on a read-only disk" begin locked lock objects
check "the shepherd says so" waits shepherd 'cannot write.*objects.*Read-only'
check "the disk takes objects again" unlock objects
check "the run ends" finishes
check "bit for bit as the other" same_bits
dismiss

check "a run trains" begin later
check "for some rounds" trains 3
check "then the disk of its objects is full" eventually 30 fill objects # objects may go meanwhile
check "a worker waits" eventually 60 stays_full 'cannot write.*objects.*No space left'
check "the shepherd says why" eventually 60 full_and_said 'aggregator a0: .*No space left'
check "nobody gives up" quiet
check "there is room again" clear objects
check "the run ends" finishes
check "bit for bit as the other" same_bits
dismiss

check "a run trains" begin states
check "for some rounds" trains 3
check "then the disk of the shard is full" eventually 30 fill state
check "it goes on for some more" trains 6
check "there is room again" clear state
check "the run ends" finishes
check "bit for bit as the other" same_bits
dismiss

check "a run begins with no room for its shard" begin shard fill state
check "it trains all the same" trains 2
check "and says what that may cost" event a0 'event=degraded.*No space left'
check "there is room again" clear state
check "the run ends" finishes
check "bit for bit as the other" same_bits
check "and all is well since" event a0 event=healed
dismiss
check "nothing is left running" no_orphans
tap_done
