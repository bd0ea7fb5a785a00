#!/usr/bin/env bash
# The store and liveness with real servers: the same test programs on SQLite and on a private PostgreSQL,
# liveness on a private Redis; servers restarted in mid-use; pcp db; what a dashboard's login may do.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/servers.bash

# Plain output: the TAP lines of the programs are no tests of this file.
export CMOCKA_MESSAGE_OUTPUT=STDOUT
programs=(store_test store_submission_test store_url_test store_round_test store_recovery_test store_fault_test store_schema_test store_delete_test store_report_test metrics_totals_test store_dump_test store_trail_test)
for program in "${programs[@]}"; do
    check "$program on SQLite" env -u PCP_TEST_STORE -u PCP_TEST_RESTART "$tests/$program"
done

# --- pcp db on SQLite ---
status() {
    local expected=$1 got=0
    shift
    "$@" || got=$?
    [ "$got" -eq "$expected" ] || { echo "exit status $got, not $expected"; return 1; }
}
db() { "$bin/pcp" db "$@"; }
file=sqlite://$work/db.sqlite
check "pcp db status of an empty database is the schema's exit status" status 4 db status --store "$file"
check "which makes no file" test ! -e "$work/db.sqlite"
check "nor does pcp audit" refuses "pcp db migrate" "$bin/pcp" audit --store "$file"
check "where there is still none" test ! -e "$work/db.sqlite"
check "pcp db migrate to an older version" status 0 db migrate --to 2 --store "$file"
check "which is not enough" status 4 db status --store "$file"
check "pcp db migrate" status 0 db migrate --store "$file"
check "pcp db status afterwards" status 0 db status --store "$file"
check "the store from the environment" status 0 env PCP_STORE="$file" "$bin/pcp" db status
check "no store is a usage error" status 2 env -u PCP_STORE "$bin/pcp" db status
check "an unknown verb is a usage error" status 2 db upgrade --store "$file"
check "an unknown backend is a usage error" status 2 db status --store mysql://host/db
check "a server that is not there" refuses "refused" db status --store postgresql://u:sesame@127.0.0.1:1/d
check "and no password in the message" bash -c "! grep -q sesame '$work/refuses.err'"
printf 'not a database, but long enough to be looked at as one\n%.0s' {1..200} >"$work/text"
check "a file that is no database" refuses "not a database" db migrate --store "sqlite://$work/text"

# --- PostgreSQL ---
postgres_tests() {
    PCP_TEST_STORE=$postgres_url PCP_TEST_RESTART=$(postgres_restart_command "$1") "$tests/$2"
}
query() { "$postgres_bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 "$postgres_url" -c "$1"; }
if check "a private PostgreSQL starts" postgres_start && [ -n "$postgres_url" ]; then
    check "store_test on PostgreSQL, restarted at ease" postgres_tests fast store_test
    check "store_test on PostgreSQL, restarted by force" postgres_tests immediate store_test
    check "store_submission_test on PostgreSQL" postgres_tests fast store_submission_test
    check "store_round_test on PostgreSQL" postgres_tests fast store_round_test
    check "store_recovery_test on PostgreSQL" postgres_tests fast store_recovery_test
    check "store_fault_test on PostgreSQL, connections cut" postgres_tests fast store_fault_test
    check "store_schema_test on PostgreSQL" postgres_tests fast store_schema_test
    check "store_delete_test on PostgreSQL" postgres_tests fast store_delete_test
    check "store_dump_test on PostgreSQL" postgres_tests fast store_dump_test
    check "store_trail_test on PostgreSQL" postgres_tests fast store_trail_test
    check "store_report_test on PostgreSQL" postgres_tests fast store_report_test
    check "metrics_totals_test on PostgreSQL" postgres_tests fast metrics_totals_test
    check "pcp db migrate on PostgreSQL" status 0 db migrate --store "$postgres_url"
    check "a dashboard's login reads the views" query "SET ROLE pcp_reader; SELECT * FROM pcp_ledger"
    check "but not the tables" refuses "permission denied" query "SET ROLE pcp_reader; SELECT * FROM run"
    check "nor writes" refuses "permission denied" query "SET ROLE pcp_reader; DELETE FROM event"
    check "PostgreSQL stops" postgres_stop immediate
    check "without it pcp db says so" refuses "refused" db status --store "$postgres_url"
    check "it starts again, its records are there" postgres_again
    check "as pcp db says" status 0 db status --store "$postgres_url"
fi

# --- Redis ---
redis_tests() {
    PCP_TEST_REDIS=$redis_url PCP_TEST_REDIS_PID=$(cat "$redis_dir/pid") \
        PCP_TEST_REDIS_STOP=$(redis_stop_command) PCP_TEST_REDIS_START=$(redis_again_command) \
        "$tests/liveness_test"
}
if check "a private Redis starts" redis_start && [ -n "$redis_url" ]; then
    check "liveness_test on Redis, killed and started again" redis_tests
fi

port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
servers_stop
check "the servers are gone" port_is_free "${postgres_port:-1}"
check "both of them" port_is_free "${redis_port:-1}"
tap_done
