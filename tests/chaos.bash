# shellcheck shell=bash disable=SC2154,SC2034 # tap.bash and servers.bash, sourced before, set work, bin, ...
# chaos.bash: a whole cluster over TCP, kept up as an init system would, and somebody who shoots at it.
# Source it after tap.bash and servers.bash (PostgreSQL and Redis started).
#   storm_prepare MODEL DATA ROUNDS [SEED [DIR]]   what all runs share: model, tokens, init values; $storm_prepared
#                                      CHAOS_FLAGS: more flags of pcp train
#                                      CHAOS_KEEP_STATE: where inner states are kept; object with odd seeds, local with even ones
#   storm_run NAME [SEED]              one run, to its end; with a seed: attacked. Succeeds when the run did
#   storm_same A B                     both ended with the same parameters, bit for bit
#   storm_leaks                        nothing is left of the last run but what is in its directory
#   storm_ledger NAME                  every window of the run is in the ledger once
# The cluster: leader and stand-by shepherd, 2 aggregators, compiler, 2 supervisors x 2 workers. In
# an attacked run a fault-proxy stands before each shepherd and aggregator.
storm_limit=${STORM_LIMIT:-$((240 * slow))}  # seconds until a run counts as stuck
storm_attack=${STORM_ATTACK:-$((30 * slow))} # seconds of attacks, then it may finish in peace
storm_steps=8 storm_replicas=4 storm_units=64 # leases: steps, and windows a step of nanogpt_small
declare -A storm_pid=() storm_start=() storm_stopped=() storm_ports=()
# Of the plain cluster; chaos_runs.bash has others. storm_judge: sets storm_over, where no shepherd's end does.
storm_victims=(shepherd-0 shepherd-1 aggregator-0 aggregator-1 compiler supervisor-0 supervisor-1)
storm_begin=storm_cluster storm_judge=true storm_others=''
storm_address=127.0.0.1
storm_where() { where=(); } # chaos_links.bash has others

storm_prepare() {
    storm_rounds=$3 storm_prepared=${5:-$work/prepared}
    mkdir -p "$work/tmp"
    # shellcheck disable=SC2086 # flags and their values
    "$bin/pcp" train "$1" --data "$2" --workers $storm_replicas --replicas $storm_replicas \
        --rounds "$storm_rounds" --inner-steps $storm_steps --lr 1e-3 --validate-every 4 --aggregators 2 \
        --seed "${4:-1337}" ${CHAOS_FLAGS:-} --run-dir "$storm_prepared" --prepare-only >/dev/null
}

# storm_serve NAME PROGRAM FLAGS...: start it now, and whenever it has ended
storm_serve() {
    local name=$1
    shift
    storm_start[$name]=$(printf '%q ' "$@")
    storm_up "$name"
}

# Compilers that scripts/test has put before those on PATH lie outside of what a compile job may run with this TMPDIR.
storm_up() {
    eval "TMPDIR=$work/tmp PATH=\${PATH#\"\${PCP_TEST_KEPT:-none}:\"} ${storm_start[$1]}" '>>"$dir/$1.out" 2>>"$dir/$1.log" &'
    storm_pid[$1]=$!
}

storm_proxy() { # NAME LISTEN TARGET
    storm_serve "$1" "$bin/fault-proxy" --listen "$2" --target "$3" --seed "$seed" --drop 0.01 \
        --duplicate 0.05 --delay 0.1 --delay-ms 150 --cut-ms $((4000 * slow))
}

# A port that nobody listens on, and nobody was given before: what is to listen there may not do so yet.
storm_port() {
    port=$(free_port)
    while [ -n "${storm_ports[$port]:-}" ]; do port=$(free_port); done
    storm_ports[$port]=given
}

# A new endpoint of a service in `real`, and in `seen` what the others know it by: a proxy's, when it is attacked.
storm_place() { # PROXY
    local port
    storm_port
    real=tcp://$storm_address:$port seen=$real
    [ -n "$seed" ] || return 0
    storm_port
    seen=tcp://$storm_address:$port
    storm_proxy "$1" "$seen" "$real"
}

storm_cluster() {
    local i real seen controls=() keep=local
    [ $((${seed:-0} % 2)) -eq 0 ] || keep=object
    keep=${CHAOS_KEEP_STATE:-$keep}
    for i in 0 1; do
        storm_place "proxy-s$i"
        controls+=("$seen")
        storm_serve "shepherd-$i" "$bin/pcp-shepherd" --config "$storm_prepared/run.json" --run "$name" \
            --run-dir "$dir/shepherd-$i" --bind "$real" --checkpoint "$dir/checkpoint" \
            --store "$postgres_url" --liveness "$redis_url" --keep-state "$keep" --aggregators 2 \
            --heartbeat-ms 200 --timeout-ms $((3000 * slow)) --leader-ttl-ms $((4000 * slow))
    done
    storm_members "${controls[0]},${controls[1]}" 2
}

storm_members() { # ENDPOINTS AGGREGATORS
    local i real seen where=()
    for ((i = 0; i < $2; i++)); do
        storm_place "proxy-a$i"
        storm_serve "aggregator-$i" "$bin/pcp-aggregator" --shepherd "$1" --id "$name-a$i" \
            --bind "$real" --advertise "$seen" --object-dir "$dir/objects-$i" --once
    done
    for i in 0 1; do
        storm_where "supervisor-$i"
        storm_serve "supervisor-$i" "${where[@]}" "$bin/pcp-supervisor" --shepherd "$1" --id "$name-n$i" \
            --scale 2 --threads 1 --cache-dir "$dir/node-$i" --log-dir "$dir/node-$i" --once \
            --max-exits 64 --window-s 1 --grace-s $((5 * slow)) --heartbeat-timeout-ms $((2000 * slow))
    done
    storm_serve compiler "$bin/pcp-compiler" --shepherd "$1" --id "$name-c" \
        --cache-dir "$work/plans" --once
}

storm_note() { echo "$(date +%T.%N | cut -c1-12) $*" >>"$dir/storm.log"; }

# Whoever ended is started again. The run is over when a shepherd ended with status 0.
storm_keep() {
    local one status
    for one in "${!storm_pid[@]}"; do
        kill -0 "${storm_pid[$one]}" 2>/dev/null && continue
        status=0
        wait "${storm_pid[$one]}" || status=$?
        storm_note "$one ended with status $status"
        if [[ $one = shepherd-* && $status -eq 0 ]]; then storm_over=yes; unset "storm_pid[$one]"; fi
        if [[ $one = shepherd-* && $status -eq 1 ]]; then storm_over=failed; fi
        [ -n "$storm_over" ] || storm_up "$one"
    done
}

storm_random() { echo $((RANDOM % $1)); }

storm_victim() {
    echo "${storm_victims[$(storm_random ${#storm_victims[@]})]}"
}

storm_worker() { # or what else is started by somebody of the cluster
    local all
    mapfile -t all < <(pgrep -f -- "pcp-worker .*--id $name-n$storm_others" | sort -n)
    [ ${#all[@]} -eq 0 ] || echo "${all[$(storm_random ${#all[@]})]}"
}

# Freeze a process; storm_thaw wakes it up after a while.
storm_freeze() {
    [ -n "$1" ] || return 0
    storm_note "stop $1"
    kill -STOP "$1" 2>/dev/null && storm_stopped[$1]=$((${EPOCHREALTIME/./} + 1000 * slow * (300 + $(storm_random 2500))))
}

storm_thaw() {
    local one
    for one in "${!storm_stopped[@]}"; do
        [ -n "${1:-}" ] || [ "${EPOCHREALTIME/./}" -ge "${storm_stopped[$one]}" ] || continue
        kill -CONT "$one" 2>/dev/null
        unset "storm_stopped[$one]"
    done
}

storm_shot() {
    local victim
    case $(storm_random 12) in
    0 | 1 | 2 | 3 | 4) victim=$(storm_victim); storm_note "kill $victim"; kill -KILL "${storm_pid[$victim]}" 2>/dev/null ;;
    5 | 6 | 7) victim=$(storm_worker); storm_note "kill worker $victim"; [ -z "$victim" ] || kill -KILL "$victim" 2>/dev/null ;;
    8) storm_freeze "${storm_pid[$(storm_victim)]:-}" ;;
    9) storm_freeze "$(storm_worker)" ;;
    10) storm_note "restart postgres"; postgres_restart immediate ;;
    11) storm_note "restart redis"; redis_stop; redis_again ;;
    esac
}

storm_end() {
    local one
    storm_thaw all
    for one in "${storm_pid[@]}"; do kill -TERM "$one" 2>/dev/null; done
    eventually 20 storm_gone
    for one in "${storm_pid[@]}"; do kill -KILL "$one" 2>/dev/null; done
    wait "${storm_pid[@]}" 2>/dev/null
    storm_pid=() storm_start=()
}

storm_gone() {
    local one
    for one in "${storm_pid[@]}"; do ! kill -0 "$one" 2>/dev/null || return 1; done
}

storm_run() {
    local name=$1 seed=${2:-} # seen by all that it calls
    storm_over='' dir=$work/$1
    local begin=$SECONDS next=$((SECONDS + 2 * slow))
    mkdir -p "$dir"
    [ -z "$seed" ] || RANDOM=$seed
    "$storm_begin"
    while [ -z "$storm_over" ] && [ $((SECONDS - begin)) -lt "$storm_limit" ]; do
        storm_thaw
        storm_keep
        "$storm_judge"
        if [ -n "$seed" ] && [ "$SECONDS" -ge "$next" ] && [ $((SECONDS - begin)) -lt "$storm_attack" ]; then
            storm_shot
            next=$((SECONDS + slow * $(storm_random 3)))
        fi
        sleep 0.1
    done
    storm_note "over: ${storm_over:-no} after $((SECONDS - begin)) s"
    storm_end
    [ "$storm_over" = yes ] || { storm_report; return 1; }
}

storm_shots() { grep -cE ' (kill|stop|restart) ' "$dir/storm.log"; }

storm_report() {
    local log
    tail -n 20 "$dir/storm.log"
    for log in "$dir"/{shepherd,front,aggregator}-?.log "$dir"/runs/*/shepherd.log; do
        [ ! -e "$log" ] || { echo "== $log"; tail -n 8 "$log" | cut -c 1-300; }
    done
}

storm_same() {
    cmp "$work/$1/checkpoint/latest/model.safetensors" "$work/$2/checkpoint/latest/model.safetensors"
}

# What the run's processes left behind: temporary folders, sockets there, shared memory. (In the processes' own
# directories ZeroMQ leaves the socket files for their next start.) A compiler sweeps up after compilers that
# were killed when it starts; so that the last one killed is no leak, one more starts here.
storm_leaks() {
    local left sweeper
    rm -f "$work/sweep.log" # of the run before
    TMPDIR=$work/tmp "$bin/pcp-compiler" --shepherd "ipc://$work/nobody" --cache-dir "$work/plans" >"$work/sweep.log" 2>&1 &
    sweeper=$!
    eventually 60 grep -q 'event=start' "$work/sweep.log"
    kill -TERM "$sweeper"
    wait "$sweeper"
    left=$(find "$work/tmp" -mindepth 1 ! -name 'valgrind_proc_*'; find /dev/shm -newer "$storm_prepared" -name '*pcp*' 2>/dev/null)
    [ -z "$left" ] || { echo "left: $left"; return 1; }
}

storm_ledger() {
    local want=$((storm_rounds * storm_replicas * storm_steps * storm_units)) got
    got=$("$postgres_bin/psql" -X -q -A -t "$postgres_url" -c "SELECT sum(committed_windows),
        sum(doubled_windows), sum(missing_windows) FROM pcp_ledger WHERE run = '$1'")
    [ "$got" = "$want|0|0" ] || { echo "committed|doubled|missing: $got, not $want|0|0"; return 1; }
}
