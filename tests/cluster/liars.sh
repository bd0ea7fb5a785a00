#!/usr/bin/env bash
# Audit by re-execution (--audit): a worker that sends updates of the usual size and of no use is found, gets no more
# work, and leaves no trace in the weights; honest workers never are, whatever their number of threads.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash

rounds=4 steps=3
cc -std=gnu17 -O1 -fPIC -shared -o "$work/liar.so" tests/tools/liar/liar.c -ldl -lxxhash || exit 1
prepare_run() {
    prepare --workers 3 --replicas 3 --inner-steps "$steps" --rounds "$rounds" --optimizer adamw --outlier 3 "$@"
}

# The shepherd (again), with its records
target_wait_s=10
lead() {
    "$bin/pcp-shepherd" --log-level debug --run-dir "$dir" --bind "$control" --id s0 --config "$dir/run.json" \
        --checkpoint "$dir/checkpoint" --store "sqlite://$dir/pcp.db" --heartbeat-ms 100 --timeout-ms $((1500 * slow)) \
        --leader-ttl-ms $((600 * slow)) --target-wait-s "$target_wait_s" 2>>"$dir/shepherd.log" >>"$dir/s0.out" &
    pid[shepherd]=$!
}

# run NAME AUDIT LIARS [FLAGS of the preparation]: three workers, the last of which lie
run() {
    local name=$1 audit=$2 liars=$3 w
    shift 3
    cluster "$work/$name"
    prepare_run --audit "$audit" "$@" || return 1
    lead
    aggregator a0
    compiler c0
    for w in 0 1 2; do
        if [ "$w" -lt $((3 - liars)) ]; then
            worker w$w --threads $((1 + w % 2)) --state-dir "$dir/state"
        else
            LD_PRELOAD="$work/liar.so" worker w$w --state-dir "$dir/state"
        fi
    done
}

quarantined() {
    sqlite3 -batch "$dir/pcp.db" "SELECT name FROM quarantine WHERE trusted_ms IS NULL ORDER BY name" | paste -sd' '
}

is() {
    [ "$1" = "$2" ] || { echo "\"$1\" is not \"$2\""; return 1; }
}

# How many leases were trained again, as the log has it.
audits() {
    grep -c 'event=lease .*audit=1' "$dir/shepherd.log"
}

differs() {
    ! same_bits "$dir" >/dev/null 2>&1
}

no_lease_since() {
    ! sed '1,/event=quarantined worker=w2 /d' "$dir/shepherd.log" | grep 'event=lease .*worker=w2'
}

lists_quarantined() {
    "$bin/pcp" worker list --shepherd "$control" --json >"$dir/list" &&
        jq -e '.[] | select(.worker == "w2") | .work == "quarantined"' "$dir/list"
}

refuses_trust() {
    ! "$bin/pcp" worker trust "$1" --shepherd "$control" 2>"$dir/trust" && grep -q 'is in quarantine' "$dir/trust"
}

# --- honest ---
run calm 0 0
check "three honest workers, no audit" ends 0
check "nothing is trained twice" is "$(audits)" 0
dismiss

run honest 1 0
check "each lease is audited" ends 0
check "nobody is found, of one thread or two" is "$(quarantined)" ""
check "each lease was trained twice" is "$(audits)" $((3 * rounds))
check "the same bits" same_bits
dismiss

run codec 1 0 --codec e3m0
check "with a codec that leaves something out" ends 0
check "nobody is found" is "$(quarantined)" ""
dismiss

# --- a liar ---
run unseen 0 1
check "a liar without audits: the run ends" ends 0
check "other bits, and outlier does not see it" differs
dismiss

# Leases of half a second, so that the leader is killed before those that are audited are done.
same_bits_as() { cmp "$work/$1/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"; }
steps=60
run long 0 0
check "longer leases" ends 0
dismiss
target_wait_s=120 # audits wait so long for one to decide, whatever else this machine does
run caught 1 1
check "a liar is under audit" eventually 120 event shepherd 'event=lease .*audit=1'
kill -KILL "${pid[shepherd]}"
wait "${pid[shepherd]}" 2>/dev/null
kill -STOP "${pid[w1]}" # the one who could decide comes back last
mv "$dir/shepherd.log" "$dir/before.log"
lead
check "others audit" eventually 60 event shepherd 'event=lease .*audit=1'
sleep 2
kill -CONT "${pid[w1]}"
check "it is found, though the leader was killed in the middle" ends 0
check "it is in quarantine, and nobody else" is "$(quarantined)" w2
check "the bits of honest workers" same_bits_as long
check "the evidence is in the records" is "$(sqlite3 -batch "$dir/pcp.db" "SELECT member, round, length(digest),
    length(agreed), digest <> agreed FROM quarantine")" "w2|0|64|64|1"
check "so are its refused updates" is "$(sqlite3 -batch "$dir/pcp.db" "SELECT count(*) > 0, min(worker) || max(worker) FROM pcp_rejections
    WHERE reason = 'audit'")" "1|w2w2"
check "the worker is told" event w2 'event=refused .*quarantine'
dismiss
steps=3 target_wait_s=10

# --- of validations: a member of their target that has made up what it says ---
losses() { sqlite3 -batch "$dir/pcp.db" "SELECT validation_loss FROM round WHERE validation_loss IS NOT NULL ORDER BY round"; }
forged() { [ "$(losses)" != "$honest" ]; }
parts() { cat "$dir"/w[0-2].log | grep -c 'event=eval_done'; }
made_up() { # NAME AUDIT
    run "$1" "$2" 0 --workers 4 --validate-every 1 --val-fraction 0.1
    check "a worker with its target" eventually 60 event shepherd 'event=member_joined member=w0 '
    launch w9 "$bin/hostile-member" --shepherd "$control" --log-level debug --id w9 --lease failed --eval 'done' \
        --target "$(sed -n 's/.*event=member_joined member=w0 .*target=\([^ ]*\).*/\1/p' "$dir/shepherd.log")"
    check "a run with one who makes up losses ends" ends 0
    check "it was asked for some" event w9 'event=eval .*answer=done'
}
rounds=12 # of a few hundredths of a second: in some of them the stranger is asked
run valid 0 0 --validate-every 1 --val-fraction 0.1
check "validations by honest workers" ends 0
honest=$(losses) once=$(parts)
dismiss
run valid_twice 1 0 --validate-every 1 --val-fraction 0.1
check "each part is validated twice, by one thread or two" ends 0
check "twice as many parts" is "$(parts)" $((2 * once))
check "nobody is found" is "$(quarantined)" ""
check "the same losses" is "$(losses)" "$honest"
dismiss
made_up believed 0
check "without audits it is believed" forged
dismiss
made_up doubted 1
check "it is in quarantine, and nobody else" is "$(quarantined)" w9
check "the losses of honest workers" is "$(losses)" "$honest"
check "the evidence is in the records" is "$(sqlite3 -batch "$dir/pcp.db" "SELECT member, digest LIKE 'part:%:0.001%:%',
    agreed LIKE 'part:%', digest <> agreed FROM quarantine")" "w9|1|1|1"
dismiss

# --- now and then: a lease in five; a liar stays for five rounds on average, for 60 in 1.5 of a million runs ---
rounds=60
run seldom 0.2 1
check "a liar is found sooner or later" eventually 300 event shepherd 'event=quarantined worker=w2 '
echo "# found in round $(($(sqlite3 -batch "$dir/pcp.db" "SELECT round FROM quarantine") + 1)), after $(audits) audits"
check "it gets no lease after that" no_lease_since
kill -KILL "${pid[shepherd]}"
wait "${pid[shepherd]}" 2>/dev/null
: >"$dir/shepherd.log"
lead
check "the next leader knows" eventually 60 event shepherd 'event=worker_refused worker=w2 .*quarantine'
check "pcp worker list shows it" eventually 60 lists_quarantined
check "a name that is not there cannot be trusted" refuses_trust w0
check "pcp worker trust" "$bin/pcp" worker trust w2 --shepherd "$control"
check "it gets work again" eventually 60 event shepherd 'event=lease .*worker=w2'
check "who trusted it is in the records" is "$(sqlite3 -batch "$dir/pcp.db" "SELECT trusted_by LIKE 'pcp-worker%' FROM quarantine
    ORDER BY since_ms LIMIT 1")" 1
dismiss

check "nothing is left running" no_orphans
tap_done
