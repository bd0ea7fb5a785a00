#!/usr/bin/env bash
# A cluster that is shot at: processes killed and frozen, servers restarted, messages lost, doubled, late,
# connections cut. It ends with the bits of a run that nobody disturbed, and every window once in the
# ledger. Seeds: CHAOS_SEEDS (default one), while CHAOS_MINUTES last; CHAOS_RUNS: so many runs at once, on a cluster with a
# front; CHAOS_LINK: workers behind links, "50,100" Mbit/s and ms; scripts/chaos is the long form.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/servers.bash
. tests/chaos.bash
. tests/chaos_runs.bash
if [ -n "${CHAOS_LINK:-}" ]; then
    . tests/chaos_links.bash
    storm_links_apart "$0"
fi
shared=${PCP_SHARED:-../shared}
model=$shared/data/models/nanogpt_small.mlir text=$shared/data/tiny_shakespeare.txt
if [ ! -e "$model" ] || [ ! -e "$text" ]; then
    skip "chaos" "no $model"
    tap_done
    exit
fi
rounds=12
if [ "$slow" -gt 1 ]; then
    model=$work/model.mlir storm_units=1 rounds=60
    gpt2 --vocab 65 >"$model" || exit 1
    head -c 20000 "$text" >"$work/text.txt" && text=$work/text.txt
fi
at_exit "storm_end; servers_stop; rm -rf '$work'"

check "private servers start" postgres_start
check "both of them" redis_start
"$bin/pcp" db migrate --store "$postgres_url" >/dev/null
runs=${CHAOS_RUNS:-1} calm=(calm) suffix=('')
if [ "$runs" -eq 1 ]; then
    check "a run is prepared" storm_prepare "$model" "$text" "${CHAOS_ROUNDS:-$rounds}"
else
    for ((i = 1; i <= runs; i++)); do
        calm[i - 1]=calm-$i suffix[i - 1]=-$i
        check "run $i is prepared" storm_prepare "$model" "$text" "${CHAOS_ROUNDS:-$rounds}" "$i" "$work/prepared-$i"
    done
fi
for ((i = 0; i < runs; i++)); do
    [ "$runs" -eq 1 ] || storm_prepared=$work/prepared-$((i + 1))
    check "the undisturbed run${suffix[i]} ends well" storm_run "${calm[i]}"
    check "its ledger is complete" storm_ledger "${calm[i]}"
done
if [ -n "${CHAOS_LINK:-}" ]; then
    check "workers are behind links of $CHAOS_LINK Mbit/s and ms" storm_links "${CHAOS_LINK%,*}" "${CHAOS_LINK#*,}"
fi
if [ "$runs" -gt 1 ]; then
    storm_prepared=$work/prepared
    mkdir "$storm_prepared" && storm_runs "$runs"
fi
# All runs of a seed.
storm_all_same() {
    local i
    for ((i = 0; i < runs; i++)); do
        if [ "$runs" -eq 1 ]; then storm_same calm "$1"; else storm_same "${calm[i]}" "$1/runs/$1-$((i + 1))"; fi || return
    done
}
storm_all_ledgers() {
    local i
    for ((i = 0; i < runs; i++)); do storm_ledger "$1${suffix[i]}" || return; done
}
# CHAOS_KEEP: where logs, state and checkpoint of a seed that failed are kept.
storm_keep_files() {
    [ -z "${CHAOS_KEEP:-}" ] || { mkdir -p "$CHAOS_KEEP" && cp -r "$work/storm-$1" "${calm[@]/#/$work/}" "$CHAOS_KEEP/"; }
}
minutes=${CHAOS_MINUTES:-0}
for one in ${CHAOS_SEEDS:-$((RANDOM + 1))}; do
    [ "$minutes" -eq 0 ] || [ $SECONDS -lt $((minutes * 60)) ] || break
    failed=$tap_failed
    check "seed $one: the attacked run ends well" storm_run "storm-$one" "$one"
    echo "# seed $one: $(storm_shots) shots; $(tail -n 1 "$work/storm-$one/storm.log")"
    check "seed $one: with the same bits" storm_all_same "storm-$one"
    check "seed $one: every window once in the ledger" storm_all_ledgers "storm-$one"
    check "seed $one: no process is left" eventually 60 no_orphans
    check "seed $one: no file of theirs is left" storm_leaks
    [ "$tap_failed" -eq "$failed" ] || storm_keep_files "$one"
    rm -rf "$work/storm-$one"
done
tap_done
