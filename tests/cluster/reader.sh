#!/usr/bin/env bash
# The role pcp_reader: made by the migrations where they may, left out with a notice where they may not, and given what it
# needs by the next migration once an administrator has made it.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/servers.bash
at_exit "servers_stop; rm -rf '$work'"
if ! postgres_start; then
    skip "the role of readers" "PostgreSQL is not installed"
    tap_done
    exit
fi
query() { "$postgres_bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 "$1" -c "$2"; }
says() { # WORDS COMMAND...: it succeeds, with these words on stdout or stderr
    local words=$1
    shift
    if ! "$@" >"$work/says" 2>&1 || ! grep -qF -- "$words" "$work/says"; then
        cat "$work/says"
        return 1
    fi
}
silent() { "$@" >"$work/says" 2>&1 && ! grep -q pcp_reader "$work/says"; }
has_role() { [ "$(query "$postgres_url" "SELECT count(*) FROM pg_roles WHERE rolname = 'pcp_reader'")" = "$1" ]; }
query "$postgres_url" "CREATE ROLE plain LOGIN" && query "$postgres_url" "CREATE DATABASE theirs OWNER plain"
theirs=${postgres_url/pcp@/plain@} theirs=${theirs%/*}/theirs
admin=${postgres_url%/*}/theirs

check "a user who may not make roles migrates, and is told what to do" says "CREATE ROLE pcp_reader NOLOGIN" \
    "$bin/pcp" db migrate --store "$theirs"
check "there is no such role" has_role 0
check "the schema is this program's" "$bin/pcp" db status --store "$theirs"
check "views are there" query "$theirs" "SELECT * FROM pcp_ledger"
check "an administrator makes it" query "$admin" "CREATE ROLE pcp_reader NOLOGIN; CREATE ROLE viewer LOGIN IN ROLE pcp_reader"
viewer=${admin/pcp@/viewer@}
check "it may do nothing yet" refuses "permission denied" query "$viewer" "SELECT * FROM pcp_ledger"
check "migrating again gives it what it needs" silent "$bin/pcp" db migrate --store "$theirs"
# shellcheck disable=SC2317 # called by check
reads_views_only() {
    local one n=0
    for one in $(query "$admin" "SELECT viewname FROM pg_views WHERE schemaname = 'public'"); do
        query "$viewer" "SELECT * FROM $one" >/dev/null || return 1
        n=$((n + 1))
    done
    [ "$n" -ge 16 ] || { echo "only $n views"; return 1; }
    for one in $(query "$admin" "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"); do
        refuses "permission denied" query "$viewer" "SELECT * FROM $one" || { echo "it reads $one"; return 1; }
    done
}
check "it reads every view, and no table" reads_views_only
check "a user who may make roles makes it" query "$postgres_url" "DROP ROLE viewer; DROP OWNED BY pcp_reader"
query "$admin" "DROP OWNED BY pcp_reader" && query "$postgres_url" "DROP ROLE pcp_reader"
check "without a word" silent "$bin/pcp" db migrate --store "$postgres_url"
check "and there it is" has_role 1
tap_done
