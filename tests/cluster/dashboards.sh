#!/usr/bin/env bash
# deploy/grafana and deploy/prometheus: every panel's SQL, as a user who may only look, on the records of a real run; every
# alert, when all is well and when nothing is; and the names of metrics that they use.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/servers.bash
at_exit "dismiss; servers_stop; rm -rf '$work'"
if ! postgres_start; then
    skip "dashboards" "no PostgreSQL"
    tap_done
    exit
fi
rounds=4

cluster "$work/c"
"$bin/pcp" db migrate --store "$postgres_url" >/dev/null
serve front shepherd --cluster --store "$postgres_url" --runs-dir "$dir/runs" --socket-dir "$dir/s" --bind "$control" \
    --events "ipc://$dir/events" --id front --timeout-ms $((1500 * slow))
serve m0 metrics --id m0 --events "ipc://$dir/events" --http 127.0.0.1:0 --store "$postgres_url"
serve a0 aggregator --shepherd "$control" --id a0 --bind "ipc://$dir/a0" --object-dir "$dir/objects" --state-dir "$dir/state"
compiler c0
worker w0
text >"$work/text.txt"
gpt2 --layers 2 --heads 2 --width 64 --block 64 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
submit() {
    "$bin/pcp" run submit "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 1 --inner-steps 300 \
        --rounds "$rounds" --validate-every 1 --checkpoint-every 2 --name first --shepherd "$control" --watch
}
check "a run" submit
psql() { "$postgres_bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }
check "somebody who may only look" psql "$postgres_url" -c "CREATE ROLE viewer LOGIN IN ROLE pcp_reader"
viewer=${postgres_url/pcp@/viewer@}
samples() { [ "$(psql "$postgres_url" -c "SELECT count(*) > 0 FROM pcp_samples WHERE name = 'pcp_worker_loss'")" = t ]; }
check "samples have come" eventually 30 samples
host=$(psql "$viewer" -c "SELECT max(host) FROM pcp_workers WHERE kind = 'worker'")

# What Grafana makes of a query: variables as SQL strings, its macro as a range.
filled() {
    sed -E "s/\\\$\{run:sqlstring\}/'first'/g; s/\\\$\{host:sqlstring\}/'$host'/g
        s/\\\$__timeGroup\(([a-z_]+), \\\$__interval\)/date_trunc('minute', \1)/g
        s/\\\$__timeFilter\(([a-z_]+)\)/\1 BETWEEN now() - interval '1 hour' AND now()/g"
}
# Panels of a calm run that have nothing to show.
empty='Rejections|Take-overs and rewinds|Leases that were lost or late|Warnings and errors|Queue'
# shellcheck disable=SC2317 # called by check
panels_work() {
    local dashboard=deploy/grafana/dashboards/$1.json title sql rows n=0
    while IFS=$'\t' read -r title sql; do
        rows=$(filled <<<"$sql" | psql "$viewer" -f - 2>"$work/error") || { echo "$title: $(cat "$work/error")"; return 1; }
        if [ -z "$rows" ] && ! [[ $title =~ ^($empty)$ ]]; then
            echo "$title shows nothing: $(filled <<<"$sql")"
            return 1
        fi
        n=$((n + 1))
    done < <(jq -r '.panels[] | .title as $t | .targets[] | [$t, .rawSql] | @tsv' "$dashboard")
    [ "$n" -ge "$2" ] || { echo "only $n panels"; return 1; }
    [ "$n" -eq "$(jq '.panels | length' "$dashboard")" ] && [ "$(jq -r '.panels | map(.id) | unique | length' "$dashboard")" -eq "$n" ]
}
# shellcheck disable=SC2317
variables_work() {
    local sql
    while read -r sql; do [ -n "$(psql "$viewer" -c "$sql")" ] || { echo "$sql"; return 1; }; done \
        < <(jq -r '.templating.list[].query' deploy/grafana/dashboards/*.json)
}
check "panels of the cluster" panels_work cluster 9
check "panels of a run" panels_work run 17
check "panels of a node" panels_work node 6
check "variables" variables_work
# shellcheck disable=SC2317
loss_is() {
    local sql
    sql=$(jq -r '.panels[] | select(.title == "Loss" and .type == "timeseries").targets[0].rawSql' deploy/grafana/dashboards/run.json | filled)
    diff <(psql "$viewer" -c "$sql" | cut -d'|' -f2) <(psql "$postgres_url" -c "SELECT loss FROM round WHERE run_id = 'first' ORDER BY round") &&
        [ "$(psql "$viewer" -c "$sql" | wc -l)" -eq "$rounds" ]
}
check "the loss that is shown is the loss of the rounds" loss_is
check "a viewer changes nothing" sh -c "! '$postgres_bin/psql' -X -q '$viewer' -c 'DELETE FROM round'"

# --- examples of docs/views.md, which are SQL of both kinds ---
# shellcheck disable=SC2317
examples_work() { # EMPTY COMMAND...: the command runs the SQL on its input; all but the views EMPTY show something
    local view sql rows n=0 none=$1
    shift
    while IFS=$'\t' read -r view sql; do
        [[ $sql == *"FROM $view"* ]] || { echo "the example of $view is of something else: $sql"; return 1; }
        rows=$("$@" <<<"$sql" 2>"$work/error") || { echo "$view: $(cat "$work/error")"; return 1; }
        [ -n "$rows" ] || [[ $view =~ ^($none)$ ]] || { echo "$view shows nothing: $sql"; return 1; }
        n=$((n + 1))
    done < <(awk '/^## / { view = $2 } /^    / { sql = sql " " $0 } /^    .*;$/ { gsub(/ +/, " ", sql); print view "\t" sql; sql = "" }' docs/views.md)
    [ "$n" -eq "$(psql "$postgres_url" -c "SELECT count(*) FROM pg_views WHERE schemaname = 'public'")" ] || { echo "$n examples"; return 1; }
}
check "each view has an example that a viewer can run" examples_work 'pcp_rewinds|pcp_replicas|pcp_rejections|pcp_texts|pcp_quarantine' psql "$viewer" -f -
"$bin/pcp" db migrate --store "sqlite://$work/empty.db" >/dev/null
check "also in SQLite" examples_work 'pcp_.*' sqlite3 -bail "$work/empty.db"

# --- alerts ---
# shellcheck disable=SC2317
known_metrics() {
    local name n=0
    while read -r name; do
        grep -q "^| $name " docs/metrics.md || { echo "there is no metric $name"; return 1; }
        n=$((n + 1))
    done < <(grep -ohE '\bpcp_[a-z_]+' deploy/prometheus/alerts.yml | sort -u)
    [ "$n" -ge 6 ]
}
check "alerts use metrics that there are" known_metrics
# shellcheck disable=SC2317
has_runbooks() {
    local alert
    while read -r alert; do
        grep -qx "## $alert" docs/alerts.md || { echo "docs/alerts.md: nothing about $alert"; return 1; }
        grep -q "docs/alerts.md#${alert,,}\$" deploy/prometheus/alerts.yml || { echo "$alert does not name its runbook"; return 1; }
    done < <(sed -n 's/.*alert: //p' deploy/prometheus/alerts.yml)
}
check "each alert has its runbook" has_runbooks
if command -v promtool >/dev/null; then
    check "Prometheus takes the configuration" promtool check config deploy/prometheus/prometheus.yml
    check "alerts fire when they should" sh -c 'cd deploy/prometheus && promtool test rules alerts_test.yml'
else
    skip "alerts fire when they should" "no promtool"
fi
tap_done
