#!/usr/bin/env bash
# pcp doctor: of a machine and a cluster that are well, and of ones that are not.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
cluster "$work/c"
store=sqlite://$work/pcp.db

# finds STATUS PATTERN FLAGS: it leaves with that status, and a line matches
finds() {
    local status=0 wanted=$1 pattern=$2
    shift 2
    "$bin/pcp" doctor --ports "" --dir "$work" "$@" >"$work/said" 2>&1 || status=$?
    cat "$work/said"
    [ "$status" -eq "$wanted" ] && grep -qE -e "$pattern" "$work/said"
}
check "this machine can train" finds 0 '^ok +C compiler'
check "nothing is left behind" sh -c "! ls -A '$work' | grep -q doctor"
PCP_CC=/nope/cc check "no compiler" finds 1 '^BAD +C compiler'
check "no such directory" finds 1 '^BAD +disk .*/nope' --dir /nope
check "ports that are no numbers" finds 1 '^BAD +ports' --ports 70000
check "no database" finds 1 '^BAD +database .*no such file' --store "$store"
check "looking does not make one" test ! -e "$work/pcp.db"
"$bin/pcp" db migrate --to 5 --store "$store" >/dev/null
check "an older one, and what to do" finds 1 'pcp db migrate' --store "$store"
"$bin/pcp" db migrate --store "$store" >/dev/null
check "the right one" finds 0 '^ok +database +schema' --store "$store"
check "no cluster" finds 1 '^BAD +shepherd' --shepherd "$control" --wait-ms 300
serve front shepherd --cluster --store "$store" --runs-dir "$work/runs" --bind "$control"
check "a cluster" finds 0 '^ok +shepherd .* answers' --shepherd "$control" --wait-ms $((10000 * slow))
dismiss
"$bin/pcp" keys init --dir "$work/keys" >/dev/null
"$bin/pcp" keys issue --dir "$work/keys" --role operator --name op >/dev/null
. tests/servers.bash
at=tcp://127.0.0.1:$(free_port)
serve keyed shepherd --cluster --store "$store" --runs-dir "$work/runs" --bind "$at" --key "$work/keys/shepherd.key"
check "a cluster with keys" finds 0 '^ok +shepherd .* answers' --shepherd "$at" --wait-ms $((10000 * slow)) \
    --key-file "$work/keys/op.key"
check "it answers nobody without one, which is said" finds 1 ' -> .*--key-file' --shepherd "$at" --wait-ms 1000
dismiss
check "no Redis is no disaster" finds 0 '^warn +Redis .*refused' --liveness redis://127.0.0.1:1
check "JSON has each check once" sh -c "'$bin/pcp' doctor --json --ports '' --dir '$work' |
    grep -c '\"verdict\": \"\\(ok\\|warn\\|skipped\\)\"' | grep -qx 14"
check "an unknown word is an error of usage" finds 2 'unexpected word' please
check "nothing is left running" no_orphans
tap_done
