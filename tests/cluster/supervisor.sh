#!/usr/bin/env bash
# A supervisor with real workers in a real run: crashes, hangs, crash loops, drains, scaling, process 1.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash

supervisor() {
    rm -f "$dir/node.log" # of the one before
    serve node supervisor --shepherd "$control" --id node --cache-dir "$work/cache" \
        --log-dir "$dir" --threads 1 --heartbeat-timeout-ms $((1500 * slow)) "$@"
}

# run NAME [SUPERVISOR FLAGS]: a run without end on supervised workers node-w0, node-w1
run() {
    cluster "$work/$1"
    prepare --workers 2 --replicas 3 --inner-steps 2 --validate-every 0 --checkpoint-every 0 || return 1
    shift
    shepherd --rounds 1000000
    aggregator a0
    compiler c0
    supervisor --scale 2 "$@"
}

worker_pid() { pgrep -f -- "pcp-worker .*--id $1 .*$work" | head -n 1; }

# Lines in the log of $1 that match $2 are more than $3.
more() { [ "$(grep -cE -- "$2" "$dir/$1.log")" -gt "$3" ]; }
count() { grep -cE -- "$2" "$dir/$1.log"; }
steps_again() { more "$1" 'event=lease_done' "$2"; }
ask() { "$bin/pcp" worker "$@" --shepherd "$control" >"$work/ask.out" 2>&1; }
shows() { ask list && grep -qE -- "$1" "$work/ask.out"; }

run crash --stable-ms 500
check "two supervised workers train" eventually 60 event node-w1 'event=lease_done'
check "the shepherd knows whose they are" shows '^node-w0 +node +running +(busy|idle) '

# --- killed ---
done_before=$(count node-w0 'event=lease_done')
kill -KILL "$(worker_pid node-w0)"
check "a killed worker is replaced" eventually 60 event node 'worker=node-w0 state=waiting .*signal 9 .*starts again in 0 ms'
check "the shepherd hears of it at once" eventually 60 event shepherd 'member_lost member=node-w0 .*signal 9'
check "and it trains again" eventually 60 steps_again node-w0 "$done_before"
check "its restart is counted" eventually 60 shows '^node-w0 +node +running +[a-z]+ +[0-9]+ +1 '

# --- hung ---
done_before=$(count node-w1 'event=lease_done')
frozen=$(worker_pid node-w1)
kill -STOP "$frozen"
check "a stopped worker is found" eventually 60 event node 'worker=node-w1 .*no sign of life'
check "its process is gone" eventually 60 not_running "$frozen"
check "and another one trains in its place" eventually 60 steps_again node-w1 "$done_before"

# --- the command line ---
check "drain by the command line" ask drain node-w1
check "the worker leaves with status 0" eventually 60 event node 'worker=node-w1 state=drained .*status 0'
check "and stays away" shows '^node-w1 +node +drained +- '
before=$(worker_pid node-w0)
check "restart of one worker" ask restart node-w0
restarted() { local now; now=$(worker_pid node-w0) && [ -n "$now" ] && [ "$now" != "$before" ]; }
check "it has a new process" eventually 60 restarted
check "restart brings a drained worker back" ask restart node-w1
check "it runs" eventually 60 shows '^node-w1 +node +running '
check "scale up" ask scale node 3
check "a third worker trains" eventually 60 event node-w2 'event=lease_done'
check "scale down" ask scale 1
check "two workers leave" eventually 60 event node 'worker=node-w2 state=drained .*status 0'
check "one stays" eventually 60 shows '^node-w1 +node +drained '
check "and runs" shows '^node-w0 +node +running '
check "nobody has that name" refuses "no such worker" "$bin/pcp" worker drain node-w7x --shepherd "$control"
check "a worker the supervisor never had" refuses "no such worker" "$bin/pcp" worker drain node-w7 --shepherd "$control"
check "scale without a number" refuses "how many" "$bin/pcp" worker scale node --shepherd "$control"
check "no shepherd" refuses "no answer" "$bin/pcp" worker list --shepherd "ipc://$work/nobody" --wait-ms 300
check "scale up again" ask scale 2
check "both run" eventually 60 shows '^node-w1 +node +running '

# --- SIGTERM ---
slay TERM node
check "SIGTERM: the supervisor leaves with status 0" leaves node
check "its workers left by themselves" event node 'worker=node-w0 state=drained .*ended with status 0'
no_workers() { ! pgrep -f -- "pcp-worker .*$work" >/dev/null; }
check "no worker is left" no_workers
check "the shepherd saw them leave" eventually 60 event shepherd 'member_lost member=node .*all workers have ended'

# --- the supervisor dies; its workers, one of them stopped, die with it ---
supervisor --scale 2
check "a new supervisor takes its place" eventually 60 event node 'worker=node-w1 state=running'
kill -STOP "$(worker_pid node-w0)"
slay KILL node
wait "${pid[node]}" 2>/dev/null
check "kill -9 of the supervisor leaves no worker" eventually 60 no_workers
unset 'pid[node]'

# --- one that does not leave in time ---
supervisor --scale 1 --grace-s 1 --heartbeat-timeout-ms 60000
check "a supervisor with little patience" eventually 60 event node 'worker=node-w0 state=running'
kill -STOP "$(worker_pid node-w0)"
slay TERM node
check "a worker that does not leave is killed: status 3" leaves node 3
check "no worker is left over" no_workers
dismiss

# --- ids that nobody chose: another one after each start ---
cluster "$work/unnamed"
unnamed() { # NAME
    serve "$1" supervisor --shepherd "$control" --cache-dir "$dir/cache" --log-dir "$dir/logs" --scale 2 --threads 1
    eventually 60 event "$1" 'worker=.*-w1 state=running'
}
cache_of() { sed -n 's/.*event=worker worker=\(.*\)-w1 state=running.*/\1/p' "$dir/$1.log" | head -n 1; }
check "a supervisor without --id" unnamed first
old=$(cache_of first)
mkdir -p "$dir/cache/$old-w0" "$dir/cache/$old-w1" && touch "$dir/cache/$old-w0/kept" "$dir/cache/$old-w1/kept"
slay KILL first
leaves first 137 >/dev/null
check "the next one" unnamed next
check "has the caches of the one before" ls "$dir/cache/$(cache_of next)-w0/kept" "$dir/cache/$(cache_of next)-w1/kept"
check "its logs, too" grep -q 'event=start' "$dir/logs/$(cache_of next)-w0.log"
nothing_of() { [ -z "$(find "$dir/cache" "$dir/logs" -name "$1*")" ]; }
check "nothing is left under the old id" nothing_of "$old"
check "one beside it" unnamed beside
check "takes nothing of one that lives" ls "$dir/cache/$(cache_of next)-w0/kept" "$dir/cache/$(cache_of next)-w1/kept"
dismiss

# --- a crash loop ---
cluster "$work/loop"
supervisor --scale 2 --cache-dir /dev/null/cache --backoff-ms 10 --max-exits 4
check "workers that cannot start are given up: status 4" leaves node 4
check "loudly" event node 'level=error.* event=worker worker=node-w1 state=failed .*4 ends within 30 s: given up'
check "the log says what was wrong" grep -q "/dev/null: is a file" "$work/loop/node-w0.log"
check "usage errors have status 2" bash -c "'$bin/pcp-supervisor' --scale -1 2>/dev/null; [ \$? -eq 2 ]"

# --- process 1 of a container ---
if unshare --pid --fork --mount-proc true 2>/dev/null; then
    cluster "$work/one"
    unshare --pid --fork --kill-child --mount-proc "$bin/pcp-supervisor" --id node --scale 1 --threads 1 \
        --shepherd "ipc://$dir/control" --log-dir "$dir" --cache-dir "$work/cache" 2>"$dir/node.log" &
    pid[outer]=$!
    check "as process 1 it starts workers" eventually 60 event node 'pid=1 .*|state=running'
    check "its worker runs" eventually 60 event node 'worker=node-w0 state=running'
    inner=$(pgrep -P "${pid[outer]}")
    nsenter --target "$inner" --pid --mount bash -c '(sleep 1 &)' 2>/dev/null
    orphan() { pgrep -P "$inner" -x sleep; }
    no_orphan() { ! orphan; }
    check "an orphan falls to it" eventually 60 orphan
    check "and is reaped" eventually 60 no_orphan
    kill -TERM "$inner"
    check "SIGTERM to process 1: status 0" leaves outer
else
    skip "as process 1" "cannot make a PID name space here"
fi

check "nothing is left running" no_orphans
tap_done
