#!/usr/bin/env bash
# An option of training has one default, range and text, whichever program reads it.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

# rows PROGRAM...: an option a line, its name first, from --help.
rows() { "$@" --help | sed -n 's/^  \(--[a-z0-9-]*\) [^ ]* *\(.*\)/\1 \2/p; s/^  \(--[a-z0-9-]*\)   *\(.*\)/\1 \2/p' | sort -u; }
rows "$bin/pcp" train >"$work/train"
rows "$bin/pcp" compile >"$work/compile"
rows "$bin/pcp" profile | grep -vE "^--(seed|threads|warmup|vocab) " >"$work/profile" # of its own meaning
rows "$bin/pcp-shepherd" >"$work/shepherd"

# What has one name and two meanings: of an experiment and of a shepherd by itself.
own='^--(run-dir|resume|replicas|max-replicas|workers|model|init|tokenizer|checkpoint|log-level|tune) '

# alike A B AT_LEAST: options of both programs, so many at least, have equal rows.
alike() {
    join -j 1 -o 0 "$work/$1" "$work/$2" | sed 's/$/ /' | grep -vE "$own" >"$work/both"
    [ "$(wc -l <"$work/both")" -ge "$3" ] || { echo "only:"; cat "$work/both"; return 1; }
    diff <(grep -Ff "$work/both" "$work/$1") <(grep -Ff "$work/both" "$work/$2")
}
check "pcp train and pcp compile" alike train compile 9
check "pcp train and pcp profile" alike train profile 9
check "pcp train and pcp-shepherd" alike train shepherd 30

fresh() { diff docs/options.md <("$bin/pcp" options) || { echo "write it anew: build/bin/pcp options > docs/options.md"; return 1; }; }
check "docs/options.md is what pcp options prints" fresh
check "every option of pcp train is on the page" diff <(sed 's/^--//; s/ .*//; s/-/_/g' "$work/train" | grep -vxE 'config|version' | sort -u) \
    <(sed -n 's/^| \([a-z0-9_]*\) .*/\1/p' docs/options.md | grep -vx option | sort -u)

where() { "$bin/pcp" "$1" --help | grep -A 1 -e '--shepherd TEXT' | grep -o '\[ipc:[^]]*\]'; }
together() { [ -n "$(where run)" ] && [ "$(where run)" = "$(where worker)" ] && [ "$(where run)" = "$(where checkpoint)" ]; }
check "who asks a cluster asks at the same place by default" together
tap_done
