# shellcheck shell=bash disable=SC2154,SC2034 # chaos.bash, sourced before, sets dir, name, storm_...
# chaos_runs.bash: several runs at once on one cluster, shot at. Source it after chaos.bash.
#   storm_runs N                  what storm_run runs from now on: N runs NAME-1, NAME-2, ..., submitted to a cluster
#                                 with a front and its stand-by; run I is of the directory PREPARED-I
#   storm_runs_alone              what it ran before: one run, with a leader and a stand-by
# A front, a stand-by, 2 aggregators a run, compiler, 2 supervisors x 2 workers that the runs share.
storm_runs() {
    local i
    storm_n=$1 storm_begin=storm_fronts storm_judge=storm_runs_over storm_others='|pcp-shepherd .*--run '
    storm_victims=(front-0 front-1 compiler supervisor-0 supervisor-1)
    for ((i = 0; i < 2 * storm_n; i++)); do storm_victims+=("aggregator-$i"); done
}

storm_runs_alone() {
    storm_begin=storm_cluster storm_judge=true storm_others=''
    storm_victims=(shepherd-0 shepherd-1 aggregator-0 aggregator-1 compiler supervisor-0 supervisor-1)
}

storm_fronts() {
    local i real seen fronts=() controls=()
    mkdir -p "$dir/runs"
    for i in 0 1; do
        storm_place "proxy-f$i"
        fronts+=("$real") controls+=("$seen")
        storm_serve "front-$i" "$bin/pcp-shepherd" --cluster --runs-dir "$dir/runs" --socket-dir "$dir/f$i" \
            --bind "$real" --events "ipc://$dir/f$i.events" --id "$name-f$i" --store "$postgres_url" \
            --liveness "$redis_url" --heartbeat-ms 200 --timeout-ms $((3000 * slow)) \
            --leader-ttl-ms $((4000 * slow))
    done
    storm_members "${controls[0]},${controls[1]}" $((2 * storm_n))
    for ((i = 1; i <= storm_n; i++)); do storm_submit "$i" "${fronts[0]},${fronts[1]}" & done
}

# As an operator does who wants the run and hears that something failed; --key makes it one run. (The front may be
# killed under it; its own link is not attacked.)
storm_submit() { # I ENDPOINTS
    local try
    for try in {1..20}; do
        "$bin/pcp" run submit "$storm_prepared-$1" --name "$name-$1" --key "$name-$1" --shepherd "$2" \
            --wait-ms 20000 >>"$dir/submit-$1.out" 2>&1 && return
        sleep 0.5
    done
}

# The table of runs says so; while the database is away nobody does.
storm_runs_over() {
    [ "$SECONDS" -ne "${storm_asked:-0}" ] || return 0
    storm_asked=$SECONDS
    local states
    states=$("$postgres_bin/psql" -X -q -A -t "$postgres_url" -c "SELECT state FROM pcp_submissions
        WHERE run LIKE '$name-%'" 2>/dev/null) || return 0
    [ "$(grep -c '^done$' <<<"$states")" -ne "$storm_n" ] || storm_over=yes
    ! grep -q '^failed$' <<<"$states" || storm_over=failed
}
