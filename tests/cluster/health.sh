#!/usr/bin/env bash
# A health probe asks the process's own loop: services that are stopped (SIGSTOP) are unwell and well again when they
# go on; a member without a shepherd says so. deploy/healthcheck is asked as a container engine would.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
declare -A program=([front]=shepherd [aggregator]=aggregator [compiler]=compiler [worker]=worker
    [supervisor]=supervisor [metrics]=metrics)
probed=(front aggregator compiler worker supervisor metrics)

cluster "$work/c"
probe() { # NAME
    PCP_HEALTH=$dir/$1.health timeout 10 deploy/healthcheck "$bin/pcp-${program[$1]}" >"$dir/$1.probe" 2>&1
}
unwell() { ! probe "$1"; }
start() { # NAME FLAGS
    local name=$1
    shift
    PCP_HEALTH=$dir/$name.health serve "$name" "${program[$name]}" "$@"
}

check "nobody is there: unwell" unwell worker
start worker --shepherd "$control" --cache-dir "$work/cache" --threads 1
no_shepherd() { probe worker && grep -q 'no shepherd for .*cannot reach' "$dir/worker.probe"; }
check "a worker that has just begun to wait for a shepherd says so" eventually 10 no_shepherd
start front --cluster --store "sqlite://$work/pcp.db" --runs-dir "$work/runs" --bind "$control" --events "ipc://$dir/events"
start aggregator --shepherd "$control" --object-dir "$dir/objects" --bind "ipc://$dir/data" --slots 2
start compiler --shepherd "$control" --cache-dir "$work/plans" --slots 2
start supervisor --shepherd "$control" --cache-dir "$work/caches" --log-dir "$dir/logs" --scale 2 --threads 1
start metrics --events "ipc://$dir/events" --http 127.0.0.1:0
for name in "${probed[@]}"; do check "$name is well" eventually 20 probe "$name"; done
member() { probe "$1" && grep -q 'member at' "$dir/$1.probe"; }
for name in aggregator compiler worker supervisor; do check "$name is a member" eventually 20 member "$name"; done
alive() { [ "$(pgrep -c -P "${pid[supervisor]}")" -eq 2 ]; }
check "a supervisor's workers do not take its socket" eventually 20 alive
taken() { refuses 'another process has it' env "PCP_HEALTH=$dir/worker.health" "$bin/pcp-worker" --shepherd "$control"; }
check "nor does anybody else" taken

for name in front worker; do
    slay STOP "$name"
    check "$name is stopped: unwell" unwell "$name"
    check "it says why" grep -q 'no answer' "$dir/$name.probe"
    slay CONT "$name"
    check "$name goes on: well" eventually 20 probe "$name"
done
stopped() {
    local name wrong=0
    for name in aggregator compiler supervisor metrics; do slay STOP "$name"; done
    for name in aggregator compiler supervisor metrics; do unwell "$name" || { echo "$name is well"; wrong=1; }; done
    for name in aggregator compiler supervisor metrics; do slay CONT "$name"; done
    return $wrong
}
check "all the others are stopped: unwell" stopped
for name in aggregator compiler supervisor metrics; do check "$name goes on: well" eventually 20 probe "$name"; done

slay KILL front
lost() { unwell worker && grep -q 'unwell: .*no shepherd for 3[0-9] s' "$dir/worker.probe"; }
check "without a front a member is unwell after half a minute" eventually 60 lost
tap_done
