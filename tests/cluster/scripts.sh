#!/usr/bin/env bash
# Scripts are called from anywhere: what their callers name lies where the callers are, also in folders with spaces.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
scripts=$PWD/scripts
mkdir "$work/a folder"
from_there() { (cd "$work/a folder" && "$@"); }
for script in "demo" "reference single"; do
    read -ra words <<<"$script"
    check "scripts/$script looks for a file where its caller is" from_there \
        refuses "cannot read $work/a folder/none.txt" "$scripts/${words[0]}" "${words[@]:1}" --data none.txt
    check "or where an absolute name says" from_there \
        refuses "cannot read /nowhere/none.txt" "$scripts/${words[0]}" "${words[@]:1}" --data /nowhere/none.txt
done
tap_done
