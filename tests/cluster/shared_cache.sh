#!/usr/bin/env bash
# Workers in containers of their own that share one cache volume: each has a PID namespace, in which it has the
# same process number as the others. None may touch what another has mapped.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
n_worker=4

if ! unshare --pid --fork --mount-proc true 2>/dev/null; then
    skip "workers in PID namespaces share a cache" "unshare --pid needs root"
    tap_done
    exit
fi

contained() { # NAME: a worker that is process 1
    unshare --pid --fork --mount-proc --kill-child "$bin/pcp-worker" --log-level debug --shepherd "$control" --id "$1" \
        --cache-dir "$dir/cache" --threads 1 --once 2>"$dir/$1.log" >"$dir/$1.out" &
    pid[$1]=$!
}

# Several megabytes: the first worker is still fetching chunks when the next one comes.
while [ "$(stat -c %s "$work/text.txt" 2>/dev/null || echo 0)" -lt 6000000 ]; do text >>"$work/text.txt"; done
cluster "$work/run"
check "a run is prepared" prepare --workers $n_worker --inner-steps 5 --rounds 6 --validate-every 0
shepherd --workers $n_worker --workers-wait-s 60
aggregator a0 --once
compiler c0 --once
for ((i = 0; i < n_worker; i++)); do contained "w$i"; done
check "the run ends" ends 0
same_number() { for ((i = 0; i < n_worker; i++)); do event "w$i" 'event=start .*pid=1 ' || return 1; done; }
check "every worker was process 1" same_number
all_leave() { for ((i = 0; i < n_worker; i++)); do leaves "w$i" || return 1; done; }
check "every worker leaves by itself, none was killed" all_leave
undamaged() { ! grep -hE 'event=(cache_damaged|cache_not_written|work_failed)' "$dir"/w*.log; }
check "nobody found a damaged file" undamaged
no_leftovers() { [ -z "$(find "$dir/cache" -name '*.tmp.*' -print -quit)" ]; }
check "no temporary file is left" no_leftovers
dismiss

# What a killed worker left goes when the next one starts; what is new may be in use elsewhere.
touch -d '-1 hour' "$dir/cache/old.u16.tmp.0123456789abcdef0123456789abcdef"
touch "$dir/cache/new.u16.tmp.0123456789abcdef0123456789abcdef"
contained late
gone() { [ ! -e "$dir/cache/old.u16.tmp.0123456789abcdef0123456789abcdef" ]; }
check "what a killed worker left is swept" eventually 20 gone
check "what may be in use stays" test -e "$dir/cache/new.u16.tmp.0123456789abcdef0123456789abcdef"
tap_done
