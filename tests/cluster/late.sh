#!/usr/bin/env bash
# --late next: a delta that comes after its round was closed counts in the next one, once, with the same bits
# whoever is killed in between: the leader and the aggregator, or the worker that has it. With --late-rounds 3 so does
# one of a worker that needs three times as long as rounds stay open.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash

# Of this batch whatever is slow: the windows are counted below.
"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 2 >"$work/model.mlir" || exit 1
check "a run is prepared" "$bin/pcp" train "$work/model.mlir" --data README.md --tokenizer byte --workers 2 \
    --inner-steps 4 --rounds 3 --quorum 1 --deadline-s 4 --late next --run-dir "$work/run" --prepare-only
check "its run.json says so" grep -q '"late": "next"' "$work/run/run.json"
check "and one of more rounds" "$bin/pcp" train "$work/model.mlir" --data README.md --tokenizer byte --workers 2 \
    --inner-steps 4 --rounds 5 --quorum 1 --deadline-s 4 --late next --late-rounds 3 --run-dir "$work/far" --prepare-only
run=$work/run most=1 # rounds that close without the lease

# lead [FLAGS]: the shepherd (again); its log goes on
lead() {
    "$bin/pcp-shepherd" --log-level debug --run-dir "$dir/s0" --bind "ipc://$dir/control" --id s0 \
        --config "$run/run.json" --checkpoint "$dir/checkpoint" --store "sqlite://$dir/pcp.db" \
        --heartbeat-ms 100 --timeout-ms 60000 --leader-ttl-ms $((600 * slow)) "$@" 2>>"$dir/shepherd.log" >>"$dir/s0.out" &
    pid[shepherd]=$!
}

# behind NAME SECONDS: a run whose second worker is frozen before it gets its lease, until the first rounds have closed
# without it, each after so long. The compiler comes last, so that no lease is given before.
behind() {
    local w
    cluster "$work/$1"
    lead --deadline-s "$2"
    aggregator a0
    for w in w0 w1; do
        worker $w --state-dir "$dir/state"
        check "$1: $w joins" eventually 60 event shepherd "event=member_joined member=$w "
        check "$1: $w waits for work" eventually 60 event $w 'event=joined'
    done
    sleep 0.3 # its WORK_REQUEST, or the credit of its next heartbeat
    slay STOP w1
    compiler c0
    check "$1: the frozen worker has a lease" eventually 60 event shepherd 'event=lease round=0 replica=1 .*worker=w1'
    for ((w = 1; w <= most; w++)); do
        check "$1: round $w closes without it" eventually 60 event shepherd "event=round round=$w "
        check "$1: its lease goes on" event shepherd "event=late round=$((w - 1)) replica=1 .*lag=$((w - 1)) "
    done
}

crash() {
    kill -KILL "${pid[$1]}" 2>/dev/null
    wait "${pid[$1]}" 2>/dev/null
    unset "pid[$1]"
}

leases() {
    sqlite3 -batch "$dir/pcp.db" "SELECT round, replica, first_window, state, done_windows, late, lag FROM lease
        ORDER BY round, replica"
}

# Round 0 closed without replica 1, round 1 counts these windows, and each once.
as_it_should() {
    leases >"$dir/leases"
    diff - "$dir/leases" <<'END'
0|0|0|committed|8|0|0
0|1|8|dropped|0|1|0
1|0|16|committed|8|0|0
1|1|8|committed|8|0|1
2|0|24|committed|8|0|0
2|1|32|committed|8|0|0
END
}

# The same with three rounds, the lease of which the fourth counts.
as_it_should_far() {
    leases >"$dir/leases"
    diff - "$dir/leases" <<'END'
0|0|0|committed|8|0|0
0|1|8|dropped|0|1|0
1|0|16|committed|8|0|0
1|1|8|dropped|0|1|1
2|0|24|committed|8|0|0
2|1|8|dropped|0|1|2
3|0|32|committed|8|0|0
3|1|8|committed|8|0|3
4|0|40|committed|8|0|0
4|1|48|committed|8|0|0
END
}

in_the_ledger() { # [WINDOWS ROUND]
    local seen
    seen=$(sqlite3 -batch "$dir/pcp.db" "SELECT committed_windows, doubled_windows, missing_windows FROM pcp_ledger;
        SELECT round FROM ledger WHERE first_window = 8; SELECT count(*) FROM rejection")
    [ "$seen" = "$(printf '%d|0|0\n%d\n0' "${1:-40}" "${2:-1}")" ] && return
    echo "$seen"
    sqlite3 -batch "$dir/pcp.db" "SELECT * FROM rejection"
    return 1
}

same_bits() { # [AS]
    cmp "$work/${1:-calm}/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"
}

behind calm 8 # as long may the late lease take
slay CONT w1
check "calm: the run ends" ends 0
check "calm: the late lease counts in the next round" as_it_should
check "calm: each window is in the ledger once, none was rejected" in_the_ledger
check "calm: the worker took the new name for the lease in hand" event w1 'event=lease_late .*round=1 replica=1 '
dismiss

behind killed 3
crash shepherd
crash a0
aggregator a0
lead --deadline-s $((60 * slow)) # however long it takes them to come back
slay CONT w1
check "leader and aggregator killed: the run ends" ends 0
check "leader and aggregator killed: the same leases" as_it_should
check "leader and aggregator killed: the same ledger" in_the_ledger
check "leader and aggregator killed: the same bits" same_bits
dismiss

behind worker 3
crash w1
crash shepherd
worker w2 --state-dir "$dir/state"
lead --timeout-ms $((6000 * slow)) --deadline-s $((60 * slow)) # patience with the living: who is lost hands in under an old fence
check "its worker killed: the run ends" ends 0
check "its worker killed: the same leases" as_it_should
check "its worker killed: the same ledger" in_the_ledger
check "its worker killed: the same bits" same_bits
dismiss

run=$work/far most=3
behind far $((5 * slow))
slay CONT w1
check "far: the run ends" ends 0
check "far: the lease counts three rounds later" as_it_should_far
check "far: each window is in the ledger once, none was rejected" in_the_ledger 56 3
check "far: the worker took the last name" event w1 'event=lease_late .*round=3 replica=1 .*lag=3'
dismiss

behind far_killed 3
crash shepherd
crash a0
aggregator a0
lead --deadline-s $((60 * slow))
slay CONT w1
check "far, leader and aggregator killed: the run ends" ends 0
check "far, leader and aggregator killed: the same leases" as_it_should_far
check "far, leader and aggregator killed: the same ledger" in_the_ledger 56 3
check "far, leader and aggregator killed: the same bits" same_bits far
dismiss

behind far_worker 3
crash w1
crash shepherd
worker w2 --state-dir "$dir/state"
lead --timeout-ms $((6000 * slow)) --deadline-s $((60 * slow))
check "far, its worker killed: the run ends" ends 0
check "far, its worker killed: another begins with the parameters of three rounds before" as_it_should_far
check "far, its worker killed: the same ledger" in_the_ledger 56 3
check "far, its worker killed: the same bits" same_bits far
dismiss

check "nothing is left running" no_orphans
tap_done
