#!/usr/bin/env bash
# The disk of the records fills up in the middle of a run: the run pauses, says so, and goes
# on by itself when there is room again, with the weights and records of an undisturbed one. On a small disk in
# memory, seen by this test alone; needs the right to mount one.
set -u
cd "$(dirname "$0")/../.." || exit 1
if [ -z "${PCP_MOUNTS:-}" ] && unshare -m true 2>/dev/null; then
    PCP_MOUNTS=own exec unshare -m "$0" "$@"
fi
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
rounds=60
if [ -z "${PCP_MOUNTS:-}" ]; then
    skip "a full disk" "mounting needs root"
    tap_done
    exit
fi

count() { grep -cE -- "$2" "$dir/$1.log"; }
more() { [ "$(count "$1" "$2")" -gt "$3" ]; }
start() { # NAME STORE
    cluster "$work/$1"
    cp "$work/run/run.json" "$dir/run.json"
    shepherd --store "sqlite://$2" --leader-ttl-ms $((600 * slow))
    aggregator a0
    compiler c0
    worker w0
}
same_bits() { cmp "$work/calm/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"; }

cluster "$work/run"
check "a run is prepared" prepare --workers 1 --inner-steps 4 --rounds $rounds --validate-every 0
start calm "$work/calm.db"
check "an undisturbed run ends" ends 0
dismiss

mkdir "$work/disk"
check "a small disk" mount -t tmpfs -o size=8m none "$work/disk"
at_exit "dismiss; umount -l '$work/disk'; rm -rf '$work'"
start full "$work/disk/pcp.db"
check "rounds pass" eventually 60 more shepherd 'event=round ' 3
dd if=/dev/zero of="$work/disk/ballast" bs=4k 2>/dev/null
check "the disk is full: the shepherd says so, and what to do" eventually 60 \
    event shepherd 'event=store_lost error=.*(full|disk I/O).*make room'
seen=$(count shepherd 'event=round ')
check "it says what it waits for" eventually 60 event shepherd 'event=waiting for=.the store \('
check "it waits, and nobody is lost" test "$(count shepherd 'event=(run_failed|deposed|member_lost)')" -eq 0
check "hardly a round has passed" test "$(($(count shepherd 'event=round ') - seen))" -le 1
rm "$work/disk/ballast"
check "there is room: it goes on by itself" eventually 60 event shepherd 'event=store_back'
check "rounds pass again" eventually 60 more shepherd 'event=round ' $((seen + 2))
check "the run ends" ends 0
check "bit for bit as the undisturbed one" same_bits
records() { sqlite3 "$1" "SELECT count(*), sum(n_tokens) FROM round WHERE state = 'committed'"; }
check "nothing is missing in the records" test "$(records "$work/disk/pcp.db")" = "$(records "$work/calm.db")"
dismiss
check "nothing is left running" no_orphans
tap_done
