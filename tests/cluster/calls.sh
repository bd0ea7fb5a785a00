#!/usr/bin/env bash
# The files of one run's shepherd call downwards only: no two of them call each other, by whatever way
# round, and none calls into a folder above its own (the order is that of scripts/layers). Read from
# the object files. The front is left out: its handlers call each other.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

mode=$(basename "${bin%/bin}")
[ "$mode" = build ] && mode=release
order=$(sed -n "s|^services/shepherd: \([a-z ]*joining[a-z ]*\).*|\1|p" scripts/layers)

# FOLDER-OR-DOT/FILE of each: "CALLER CALLEE", a line for each pair.
find services/shepherd -name '*.c' ! -path '*/front/*' ! -name main.c |
    sed "s|^|build/obj/$mode/|; s|c\$|o|" >"$work/objects"
pairs() {
    xargs nm -A -g <"$work/objects" | sed -E 's|^[^:]*services/shepherd/([^:]*)\.o:|\1 |' |
        awk '$NF != "" && $(NF - 1) == "U" { uses[$1 " " $NF] = 1; next }
             $(NF - 1) ~ /^[TDRBC]$/ { home[$NF] = $1 }
             END { for (u in uses) { split(u, p, " "); if (p[2] in home && home[p[2]] != p[1])
                 print p[1], home[p[2]] } }' | sort -u
}
pairs >"$work/pairs"

no_circle() { tsort "$1" >/dev/null 2>"$work/loop"; }
circle() { ! no_circle "$1"; }
no_way_up() {
    awk -v order="$order" '
        BEGIN { n = split(order, f, " "); for (i = 1; i <= n; i++) level[f[i]] = i }
        function of(file) { return file ~ /\// ? level[substr(file, 1, index(file, "/") - 1)] : -1 }
        of($1) > 0 && of($2) > of($1) { print $1, "calls", $2; bad = 1 }
        END { exit bad }' "$1"
}

way_up() { ! no_way_up "$1" >/dev/null; }

check "there are calls to look at" test "$(wc -l <"$work/pairs")" -gt 100
check "the order of the folders is known" test "$(wc -w <<<"$order")" -ge 6
check "no circle of calls" no_circle "$work/pairs" || sed 's/^/# /' "$work/loop"
check "no call into a folder above" no_way_up "$work/pairs"
{ cat "$work/pairs"; echo "records/records round/rounds"; } >"$work/worse"
check "a call upwards would be seen" way_up "$work/worse"
check "and a circle" circle "$work/worse"
tap_done
