# shellcheck shell=bash
# DiLoCo on unequal devices: a worker on the processor and one on another device share a run, each with a plan for its own
# target; the run ends where one of two workers on the processor ends. And when the other device's worker is killed in the
# middle, the processor's takes its work over, not before target_wait_s, and the records say so. With balance each gets steps by its
# measured speed. Source it behind tap.bash and cluster.bash.
# shellcheck disable=SC2154 # of what is sourced before

inner=8 policy=() # of the runs that follow: steps of a lease, flags of the shepherd
# run NAME FLAGS...: two workers, w2 with the flags
run() {
    local name=$1
    shift
    cluster "$work/$name"
    prepare --replicas 2 --inner-steps "$inner" --rounds 3 --val-fraction 0.02 --validate-every 3 || return 1
    shepherd --workers 2 --aggregators 1 --timeout-ms 5000 --target-wait-s 2 "${policy[@]}"
    aggregator a0 --once
    compiler c0 --once
    worker w1 --once
    worker w2 --once "$@"
}

# last KEY: of the run's last round
last() {
    sed -n "s/.*event=round round=3 .*[ ]$1=\([0-9.]*\).*/\1/p" "$dir/shepherd.log"
}

# A run that is to end although something fails: not waited for without end.
over() { eventually 100 event shepherd 'event=run_done' && ends 0; }
ask_store() { sqlite3 "$dir/pcp.db" ".timeout 10000" "$1"; }
is() { [ "$(ask_store "$1")" = "$2" ] || { ask_store "$1"; return 1; }; }
# near VALUE TO PARTS: deviates by less than one part in so many
near() { awk -v a="$1" -v b="$2" -v n="$3" 'BEGIN { d = a - b; print a, b; exit !(a > 0 && d < a / n && -d < a / n) }'; }

steps() { ask_store "SELECT n_steps FROM pcp_leases WHERE worker = '$1' AND round = $2"; }
speed() { ask_store "SELECT n_steps * 1000.0 / compute_ms FROM pcp_leases WHERE worker = '$1' AND round = $2"; }
# The share of a round is by the speeds of the round before, and by the transfers, which on a fast machine take longer
# than the steps: what is sure is who trains all and who trains less.
dealt() {
    local round
    for round in 2 3; do
        echo "round $round: $(steps w1 $round) and $(steps w2 $round) steps, by $(speed w1 $((round - 1))) and $(speed w2 $((round - 1)))"
        awk -v a="$(steps w1 $round)" -v b="$(steps w2 $round)" -v x="$(speed w1 $((round - 1)))" -v y="$(speed w2 $((round - 1)))" 'BEGIN {
            fast = x > y ? a : b; slow = x > y ? b : a; exit !(fast == 24 && slow >= 1 && slow < 24) }' || return 1
    done
}

# unequal_devices NAME KIND FLAGS...: NAME for the reader, KIND of its targets, FLAGS of the worker that has it
unequal_devices() {
    local name=$1 kind=$2 plain mixed
    shift 2
    run plain
    check "two workers on the processor end well" ends 0
    plain=$(last val_loss)
    dismiss
    run mixed "$@"
    check "one of each ends well" ends 0
    mixed=$(last val_loss)
    check "the $name worker trained in each round" test "$(grep -c 'event=lease_done' "$dir/w2.log")" -ge 3
    check "within 1e-4 of the same loss" near "$plain" "$mixed" 10000
    check "the ledger knows who trained what" is "SELECT count(*), sum(target LIKE '$kind:%'), sum(other_target), sum(moved) FROM pcp_targets" \
        "6|3|0|0"
    echo "# validation loss: two on the processor $plain, one of each $mixed"
    dismiss
    inner=100
    run killed "$@"
    check "the $name worker begins" eventually 60 event shepherd 'event=lease .*worker=w2'
    slay KILL w2
    check "the other one ends the run" over
    check "not before its time" is "SELECT (julianday(min(c.told_at)) - julianday(min(l.told_at))) * 86400 > 1.9 FROM pcp_events l, pcp_events c
        WHERE l.name = 'member_left' AND l.member = 'w2' AND c.name = 'target_changed'" 1
    check "the records say which lease another target trained" is "SELECT count(*) > 0, max(worker) FROM pcp_targets WHERE other_target = 1" "1|w1"
    dismiss

    # --- balance ---
    inner=24 policy=(--balance)
    run balanced "$@"
    check "with balance one of each ends well" ends 0
    check "nobody is known at first: all steps for both" test "$(steps w1 1) $(steps w2 1)" = "24 24"
    check "then each gets its share" dealt
    sed 's/^/# /' "$work/check.out"
    check "of which each window counts once" is "SELECT sum(doubled_windows) + sum(skipped_windows) FROM pcp_ledger" 0
    dismiss
}
