#!/usr/bin/env bash
# Revocation through the records, SQLite's and PostgreSQL's: no server has the list's file. The front finds it, ends the
# living connection, and tells members, also one that comes later; a list of another authority is not taken.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/servers.bash
port=7370
# through NAME URL: the whole story with these records
through() {
    local name=$1 url=$2 keys=$work/$1.keys
    cluster "$work/$name" "tcp://127.0.0.1:$((port++))"
    "$bin/pcp" keys init --dir "$keys" >"$work/issue.out"
    for one in aggregator worker; do
        "$bin/pcp" keys issue --dir "$keys" --role $one --name $one >"$work/issue.out"
    done
    "$bin/pcp" keys issue --dir "$keys" --name gone >"$work/issue.out"
    serve front shepherd --cluster --store "$url" --runs-dir "$dir/runs" --bind "$control" --id front \
        --telemetry 'tcp://127.0.0.1:*' --key "$keys/shepherd.key"
    check "$name: the front leads" eventually 60 event front 'event=leads'
    aggregator aggregator --bind 'tcp://127.0.0.1:*' --key "$keys/aggregator.key"
    launch gone "$bin/hostile-member" --shepherd "$control" --id gone --key "$keys/gone.key"
    check "$name: who may join is welcome" eventually 30 event gone 'event=welcome'
    check "$name: an aggregator, too" eventually 30 event aggregator 'event=joined'
    check "$name: a key is revoked" "$bin/pcp" keys revoke gone --dir "$keys" --store "$url"
    check "$name: its connection ends" eventually 30 event front 'event=key_cut name=gone'
    check "$name: it cannot come again" eventually 30 event front 'event=key_refused .*revoked'
    check "$name: the aggregator hears of it" eventually 30 event aggregator 'event=revoked_read keys=1'
    worker worker-0 --key "$keys/worker.key"
    check "$name: so does a worker that comes later" eventually 30 event worker-0 'event=revoked_read .*keys=1'
    "$bin/pcp" keys init --dir "$work/$name.other" >"$work/issue.out"
    check "$name: another authority does not write there" refuses "not of this authority" \
        "$bin/pcp" keys revoke shepherd --dir "$work/$name.other" --store "$url"
    dismiss
}

"$bin/pcp" db migrate --store "sqlite://$work/pcp.db" >"$work/migrate.out"
through sqlite "sqlite://$work/pcp.db"
if postgres_start; then
    "$bin/pcp" db migrate --store "$postgres_url" >"$work/migrate.out"
    through postgres "$postgres_url"
else
    skip "through PostgreSQL" "PostgreSQL is not installed"
fi
check "nothing is left running" no_orphans
tap_done
