#!/usr/bin/env bash
# Inner states that stay with their workers, each on a machine of its own: no lease sends one, copies go up beside the
# training and only as often as state_every says, and checkpoints wait for them. A worker that is killed and whose
# directory is gone, the run ends with the bits of an undisturbed one: from the copy, where there is one, else from the
# last checkpoint.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
rounds=60 inner=10

text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
"$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 2 --inner-steps $inner --codec int8 \
    --rounds $rounds --validate-every 0 --lr 3e-3 --run-dir "$work/run" --prepare-only >"$work/prepared" || exit 1
parameters=$(grep -oE '[0-9]+ parameters' "$work/prepared" | head -n 1 | grep -oE '[0-9]+')

machine() { worker "$1" --state-dir "$dir/$1.state" "${@:2}"; }
run() { # DIRECTORY [SHEPHERD FLAGS]
    cluster "$work/$1"
    shift
    serve shepherd shepherd --run-dir "$dir" --bind "$control" --config "$work/run/run.json" --checkpoint "$dir/checkpoint" \
        --keep-state local --heartbeat-ms 100 --timeout-ms $((3000 * slow)) "$@"
    aggregator a0
    compiler c0
    machine w0
    machine w1
}
counted() { # SERVICE PATTERN
    local all=("$dir/$1"*.log)
    cat "${all[@]}" | grep -cE -- "$2" || true
}
trained() { [ "$(counted shepherd 'event=round ')" -ge "$1" ]; }
ask_store() { sqlite3 -cmd '.timeout 20000' "file:$dir/pcp.db?mode=ro" "$1"; }
exactly_once() { test "$(ask_store 'SELECT sum(doubled_windows) + sum(missing_windows) FROM pcp_ledger')" = 0; }
# All that leases sent; two moments of f32 are 8 bytes a parameter, an update of int8 little more than one, or twice that where it came
# before its fence was announced.
most_sent() { sed -nE 's/.*event=lease_done .*sent_bytes=([0-9]+).*/\1/p' "$dir"/w?.log | sort -n | tail -n 1; }

# --- undisturbed ---
run calm --checkpoint-every 10 --state-every 20
check "an undisturbed run ends" ends 0
echo "# $parameters parameters; the largest lease sent $(most_sent) bytes"
check "no lease has sent an inner state" test "$(most_sent)" -lt $((4 * parameters))
check "the copies are those of state_every, not more" test "$(counted w 'event=state_copied')" -le $((2 * (rounds / 20 + 1)))
check "and they have come" test "$(counted shepherd 'event=states_copied .*whole=1')" -ge 3
check "the last checkpoint can be gone on from" test -s "$dir/checkpoint/latest/ledger.json"
resumable() { find "$dir/checkpoint" -name ledger.json | wc -l; }
check "one between has parameters alone" test "$(resumable)" -lt "$(find "$dir/checkpoint" -name model.safetensors | grep -c round-)"
dismiss

# lose NAME: that machine is gone, with all that is on it; another one comes
lose() {
    slay KILL w1
    wait "${pid[w1]}" 2>/dev/null
    unset 'pid[w1]'
    rm -rf "$dir/w1.state"
    machine "$1"
}

# --- a machine is lost: back to the last checkpoint ---
run lost --checkpoint-every 10 --state-every 10
check "a run trains beyond a checkpoint" eventually 60 trained 14
lose w2
check "a machine is lost, and the run goes back" eventually 60 event shepherd 'event=rewound from=1[0-9] to=10 '
check "it ends" ends 0
check "bit for bit as the undisturbed one" same_bits
check "no window was trained twice or skipped" exactly_once
dismiss

# --- the same, where each round's state is copied: as soon as it is there nothing is lost with its worker ---
run each --checkpoint-every 0 --state-every 1
check "a run trains" eventually 60 trained 7
check "each round's states are copied" test "$(counted shepherd 'event=states_copied .*whole=1')" -ge 3
# In the middle of a lease whose state has been copied: not between two, when what it made last is nowhere else.
in_a_lease() {
    local open i
    for ((i = 0; i < 40; i++)); do
        slay STOP w1
        sleep "$((slow / 2)).5" # what it has said arrives meanwhile; if not, another attempt
        open=$(sed -nE 's/.*event=round round=([0-9]+) .*/\1/p' "$dir/shepherd.log" | tail -n 1)
        ! event shepherd "event=states_copied round=$open .*whole=1" || return 0
        slay CONT w1
        eventually 60 trained $((open + 1)) || return 1
    done
    return 1
}
check "a worker is in the middle of a lease" in_a_lease
lose w2
check "a machine is lost, the run ends" ends 0
check "from the copy of its state" test "$(counted w 'event=state_restored .*from=object')" -ge 1
check "without a step back" test "$(counted shepherd 'event=rewound')" -eq 0
check "bit for bit as the undisturbed one" same_bits
check "no window was trained twice or skipped" exactly_once
dismiss

# --- a worker that is told to leave: what it made last is an object before it goes ---
run drained --checkpoint-every 0 --state-every 1000
check "a run trains" eventually 60 trained 7
slay TERM w1
check "a worker is told to leave, and does" leaves w1
check "it has handed over what it made last" event w1 'event=handing_over .*states=1'
check "nothing of it is missing" event w1 'event=leaving .*reason=.drained.'
rm -rf "$dir/w1.state"
machine w2
check "the run ends" ends 0
check "another one has gone on with its state" test "$(counted w 'event=state_restored .*from=object')" -ge 1
check "without a step back" test "$(counted shepherd 'event=rewound')" -eq 0
check "no window was trained twice or skipped" exactly_once
dismiss

# --- one that had both replicas hands over both ---
run alone --checkpoint-every 0 --state-every 1000
check "a run trains" eventually 60 trained 3
slay TERM w0
check "one worker leaves" leaves w0
rm -rf "$dir/w0.state"
n=$(counted shepherd 'event=round ')
check "the other one trains both replicas" eventually 60 trained $((n + 3))
slay TERM w1
check "it is told to leave, and does" leaves w1
check "it has handed over both states" event w1 'event=handing_over .*states=2'
check "nothing of them is missing" event w1 'event=leaving .*reason=.drained.'
rm -rf "$dir/w1.state"
machine w2
check "the run ends" ends 0
check "without a step back" test "$(counted shepherd 'event=rewound')" -eq 0
dismiss

# --- one whose grace period is too short for that says so ---
run hurried --checkpoint-every 10 --state-every 10
machine w2 --grace-ms 0
check "a third worker is there" eventually 60 event shepherd 'event=member_joined member=w2'
slay KILL w0
wait "${pid[w0]}" 2>/dev/null
unset 'pid[w0]'
check "and trains" eventually 60 event w2 'event=lease_done'
slay TERM w2
check "it leaves at once" leaves w2
check "and says what is lost with it" event w2 'event=leaving .*reason=.the grace period is over; nobody else has [1-9]'
machine w3
check "the run ends" ends 0
check "no window was trained twice or skipped" exactly_once
dismiss

# --- a signal: what the run ends with can be gone on from, by others ---
run ended --checkpoint-every 0
check "a run trains" eventually 60 trained 5
slay TERM shepherd
check "it is stopped" ends 3
check "with the states of its workers" test -s "$dir/checkpoint/latest/ledger.json"
slay KILL w0
slay KILL w1
slay KILL a0
for one in w0 w1 a0; do wait "${pid[$one]}" 2>/dev/null; unset "pid[$one]"; done
rm -rf "$dir"/w?.state "$dir/a0.objects" "$dir/a0.objects.state" "$dir/pcp.db"
serve shepherd shepherd --run-dir "$dir" --bind "$control" --config "$work/run/run.json" --checkpoint "$dir/checkpoint" \
    --keep-state local --heartbeat-ms 100 --timeout-ms $((3000 * slow)) --resume latest
aggregator a0
machine w0
machine w1
check "other machines go on with it" ends 0
check "bit for bit as the undisturbed one" same_bits
dismiss

check "nothing is left running" eventually 60 no_orphans
tap_done
