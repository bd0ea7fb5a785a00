#!/usr/bin/env bash
# A worker whose link takes longer for the parameters than two rounds last, beside one that does not wait for it: its first
# lease is lost while they come, what came is kept, and then its leases count, a round late.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/world.bash
world_needs "a link that is slower than rounds"
# 3.4 MB of parameters: 7 s at 4 Mbit/s, and changes and updates 1.8 s each. Rounds of 3 s, by their deadline.
"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 256 --block 16 --vocab 256 --batch 1 >"$work/model.mlir" || exit 1
rounds=12
host core
host near
host far

trains() { # WORKER HOST
    on "$2" serve "$1" worker --shepherd "$control" --id "$1" --cache-dir "$dir/$1.cache" --threads 1
}
run() {
    cluster "$work/run" "tcp://${address[core]}:7000"
    prepare --inner-steps 50 --rounds $rounds --workers 2 --codec int8 --down-codec int8 --validate-every 0 \
        --quorum 1 --deadline-s 3 --late next || return 1
    rate far 4mbit
    on core shepherd --bind tcp://0.0.0.0:7000 --workers 2 --timeout-ms 60000 --keep-state local \
        --store "sqlite://$dir/pcp.db"
    on core aggregator a0 --bind "tcp://${address[core]}:7100"
    on core compiler c0
    trains w0 near
    trains w1 far
    ends 0
}
leases() { sqlite3 -batch "$dir/pcp.db" "SELECT $1 FROM lease WHERE worker_id = '$2' AND $3"; }

check "a run with a link that is slower than its rounds ends" run
told=$(sqlite3 -batch "$dir/pcp.db" "SELECT group_concat(committed_ms - opened_ms, ' ') FROM round")
echo "# ms of rounds: $told; leases of the far one that counted: $(leases "group_concat(round || ' (' || lag || ' late)', ', ')" w1 "state = 'committed'")"
check "it lost leases" test "$(leases 'count(*)' w1 "state = 'dropped'")" -ge 1
check "and has leases that counted" test "$(leases 'count(*)' w1 "state = 'committed'")" -ge 1
check "the parameters came once, and changes then" sh -c \
    "! grep -q parameters_whole '$dir/w1.log'"
tap_done
