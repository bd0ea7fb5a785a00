#!/usr/bin/env bash
# A cluster that is shot at: processes killed and frozen, servers restarted, messages lost, doubled, late,
# connections cut. It ends with the bits of a run that nobody disturbed, and every window once in the
# ledger. Seeds: CHAOS_SEEDS (default one), while CHAOS_MINUTES last; scripts/chaos is the long form.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/servers.bash
. tests/chaos.bash
shared=${PCP_SHARED:-../shared}
model=$shared/data/models/nanogpt_small.mlir text=$shared/data/tiny_shakespeare.txt
if [ ! -e "$model" ] || [ ! -e "$text" ]; then
    skip "chaos" "no $model"
    tap_done
    exit
fi
at_exit "storm_end; servers_stop; rm -rf '$work'"

check "private servers start" postgres_start
check "both of them" redis_start
"$bin/pcp" db migrate --store "$postgres_url" >/dev/null
check "a run is prepared" storm_prepare "$model" "$text" "${CHAOS_ROUNDS:-12}"
check "the undisturbed run ends well" storm_run calm
check "its ledger is complete" storm_ledger calm
# CHAOS_KEEP: where logs, state and checkpoint of a seed that failed are kept.
storm_keep_files() {
    [ -z "${CHAOS_KEEP:-}" ] || { mkdir -p "$CHAOS_KEEP" && cp -r "$work/storm-$1" "$work/calm" "$CHAOS_KEEP/"; }
}
minutes=${CHAOS_MINUTES:-0}
for one in ${CHAOS_SEEDS:-$((RANDOM + 1))}; do
    [ "$minutes" -eq 0 ] || [ $SECONDS -lt $((minutes * 60)) ] || break
    failed=$tap_failed
    check "seed $one: the attacked run ends well" storm_run "storm-$one" "$one"
    echo "# seed $one: $(storm_shots) shots; $(tail -n 1 "$work/storm-$one/storm.log")"
    check "seed $one: with the same bits" storm_same calm "storm-$one"
    check "seed $one: every window once in the ledger" storm_ledger "storm-$one"
    check "seed $one: no process is left" eventually 10 no_orphans
    check "seed $one: no file of theirs is left" storm_leaks
    [ "$tap_failed" -eq "$failed" ] || storm_keep_files "$one"
    rm -rf "$work/storm-$one"
done
tap_done
