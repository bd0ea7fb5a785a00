#!/usr/bin/env bash
# What a cluster keeps and what it lets go: a directory that is in the way of a submission, runs submitted again after
# their database was lost, deletion with the front killed in between; a run that nobody can serve holds nobody back.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
export XDG_CACHE_HOME=$work
text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
flags=(--data "$work/text.txt" --tokenizer byte --workers 1 --inner-steps 4 --rounds 6 --validate-every 0 --checkpoint-every 1)

cluster "$work/c"
runs=$work/runs control=ipc://$dir/front
export PCP_SHEPHERD=$control
front() {
    serve front shepherd --cluster --store "sqlite://$work/pcp.db" --runs-dir "$runs" --bind "$control" --id front \
        --heartbeat-ms 100 --timeout-ms $((1500 * slow)) --leader-ttl-ms $((1500 * slow))
}
run() { timeout $((100 * slow)) "$bin/pcp" run "$@"; }
submit() { run submit "$work/model.mlir" "${flags[@]}" "$@"; }
says() { # WORDS COMMAND: its output has these words
    local words=$1
    shift
    "$@" >"$work/says.out" 2>&1
    grep -qE -- "$words" "$work/says.out" || { cat "$work/says.out"; return 1; }
}
saved() { sha256sum "$runs/$1/checkpoint/latest/model.safetensors" | cut -d ' ' -f 1; }
killed() { # the front, and whoever it had started
    slay KILL front
    wait "${pid[front]}" 2>/dev/null
    unset 'pid[front]'
    eventually 60 nobody_serves
}
# shellcheck disable=SC2317 # called by eventually
nobody_serves() { ! pgrep -f -- "pcp-shepherd .*$work" >"$work/pids"; }
db() { sqlite3 "$work/pcp.db" ".timeout 5000" "$1"; }

front
check "a front leads" eventually 60 event front 'event=leads'
aggregator a0 --slots 2
compiler c0 --slots 2
worker w0

# --- a database is lost, the directories are not ---
check "a run trains to its end" submit --name one --watch
first=$(saved one)
check "it has a checkpoint" test -n "$first"
killed
rm -f "$work"/pcp.db*
front
leads_anew() { eventually 60 event front 'event=leads' || { tail -n 5 "$dir/front.log" "$dir/front.out"; return 1; }; }
check "the front has a new database" leads_anew
check "another run of that name is refused" refuses "$runs/one is there already" submit --name one --seed 5
check "with a way out" says 'mv .*runs/one ' submit --name one --seed 5
check "the first's checkpoint is as it was" test "$(saved one)" = "$first"
check "the very run is submitted again, and has its directory" says 'there with the same files' submit --name one
check "it ends well" run watch one
check "with the same weights" test "$(saved one)" = "$first"

# --- and in the middle of a run ---
reached() { # RUN ROUND
    local round
    round=$(run get "$1" --json | sed -n 's/^ *"round": \([0-9]*\).*/\1/p')
    [ "${round:-0}" -ge "$2" ]
}
check "a long run is submitted" submit --name long --seed 10 --rounds 60
check "it trains" eventually 60 reached long 8
killed
rm -f "$work"/pcp.db*
front
check "its records are lost" eventually 60 refuses 'there is no run "long"' "$bin/pcp" run get long
check "it is submitted again" says 'there with the same files' submit --name long --seed 10 --rounds 60
check "and ends well" run watch long
check "it went on where its last checkpoint was" says 'event=restoring .*checkpoint=' run logs long
check "the same under another name, undisturbed" submit --name undisturbed --key undisturbed --seed 10 --rounds 60 --watch
check "ends with the same weights" test "$(saved long)" = "$(saved undisturbed)"
check "the first run is submitted again, too" submit --name one --watch
mkdir "$work/kept"
echo precious >"$work/kept/file"
ln -s "$work/kept" "$runs/linked"
check "a link in the way is refused" refuses "is no directory" submit --name linked --seed 9
check "and not followed" grep -qx precious "$work/kept/file"
rm "$runs/linked"

# --- a run that nobody can serve ---
check "a run for 200 aggregators is submitted" submit --name huge --seed 6 --aggregators 200
check "it says what it waits for" eventually 60 says 'waits for .*it needs 200, the cluster has 2' run get huge
run watch huge >"$work/watch.out" 2>&1 &
pid[watch]=$!
check "whoever watches it is told" eventually 60 grep -q 'it needs 200, the cluster has 2' "$work/watch.out"
check "one behind it is served" submit --name behind --seed 7 --watch
aggregator a1
check "whoever watches hears when that changes" eventually 60 grep -q 'it needs 200, the cluster has 3' "$work/watch.out"
check "it is cancelled" run cancel huge
check "and the watching ends" leaves watch 1

# --- lists ---
check "the newest is the first" says '^behind ' sh -c "'$bin/pcp' run list --limit 1 | sed -n 2p"
check "that there are more is told" says 'the newest 1 are shown' run list --limit 1
check "all are there" test "$(run list --all --json | grep -c '"run":')" -eq 5

# --- deletion ---
check "a run is submitted" submit --name endless --seed 8 --rounds 100000
check "it trains" eventually 60 reached endless 2
check "a checkpoint is asked for, of the cluster that the environment names" "$bin/pcp" checkpoint now endless
check "an active run is not deleted" refuses "pcp run cancel endless ends it first" run delete endless --yes
check "it is cancelled" run cancel endless
gone() { run delete endless --yes >"$work/delete.out" 2>&1; }
refused() { refuses "say --yes" run delete endless </dev/null; }
check "without a terminal it is not deleted unasked" eventually 60 refused
if command -v script >/dev/null; then
    at_terminal() { echo "$1" | timeout 60 script -qec "$bin/pcp run delete endless" /dev/null >"$work/terminal.out" 2>&1; }
    at_terminal n
    check "at a terminal it asks" grep -q 'Delete it? \[y/N\]' "$work/terminal.out"
    check "and takes no for an answer" grep -q 'is not deleted' "$work/terminal.out"
else
    skip "at a terminal it asks" "no script here"
fi
check "its files are there" test -s "$runs/endless/train.u16"
# runs that have objects at the aggregators
owners() { find "$dir"/a?.objects -path '*/owners/*' -type d | wc -l; }
states() { db "SELECT DISTINCT state_out FROM lease WHERE run_id = 'endless' AND state_out <> '' AND round >= (SELECT max(round) - 1 FROM round WHERE run_id = 'endless')"; }
states >"$work/states"
check "its inner states are objects" test -s "$work/states"
had=$(owners)
slay KILL a0 # and the aggregators are away
wait "${pid[a0]}" 2>/dev/null
unset 'pid[a0]'
check "it is deleted" gone
check "what is freed is told" grep -qE '^endless is deleted: [0-9.]+ [kMG]?B?.* freed$' "$work/delete.out"
check "its directory is gone" test ! -e "$runs/endless"
check "it is in no table" test -z "$(db "SELECT id FROM run WHERE id = 'endless' UNION SELECT id FROM submission WHERE id = 'endless' UNION SELECT run_id FROM lease WHERE run_id = 'endless'")"
# shellcheck disable=SC2317 # called by eventually
forgotten() {
    local hash
    while read -r hash; do ! find "$dir"/a?.objects -name "*${hash:4}*" | grep -q . || return 1; done <"$work/states"
    [ "$(owners)" -lt "$had" ]
}
check "the aggregators know nothing of it" test "$(owners)" -eq "$had"
aggregator a0 --slots 2
check "once they are back nothing of it is there" eventually 60 forgotten
check "the others are there" test "$(run list --all --json | grep -c '"run":')" -eq 5
check "an unknown run is an error" refuses 'there is no run "endless"' run delete endless --yes
check "its name is free, for another run" submit --name endless --key another --seed 7 --watch
check "which has nothing of the old one" test "$(saved endless)" = "$(saved behind)"

# --- and with the front killed in between ---
killed
mv "$runs/behind" "$runs/.deleted-behind" # that far it was
mkdir -p "$runs/.deleted-longago/checkpoint"
front
check "the front leads again" eventually 60 says '^one ' run list
# shellcheck disable=SC2317 # called by eventually
finished() { [ -z "$(find "$runs" -maxdepth 1 -name '.*deleted*')" ] && ! run get behind >/dev/null 2>&1; }
check "what was begun is brought to its end" eventually 60 finished
check "and nothing else is" test "$(saved one)" = "$first"

# --- what a submitter sees ---
"$bin/fault-proxy" --listen "ipc://$dir/p" --target "$control" --delay 1 --delay-ms 1000 2>"$dir/proxy.log" >&2 &
pid[proxy]=$!
for ((i = 0; i < 40; i++)); do cat docs/*.md; done >"$work/long.txt"
check "a slow submission" run submit "$work/model.mlir" "${flags[@]}" --data "$work/long.txt" --name slow \
    --val-fraction 0 --shepherd "ipc://$dir/p" --wait-ms 30000
cp "$work/check.out" "$work/slow.out"
check "shows what it does" grep -q '^sending files' "$work/slow.out"
check "in few lines" test "$(wc -l <"$work/slow.out")" -le 10
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$work"
    install -m 600 "$work/text.txt" "$work/private.txt"
    check "a file that may not be read is named, with its mode and who may" \
        refuses "private.txt: user 65534 may not read it: it has mode 0600 and belongs to user 0" \
        setpriv --reuid 65534 "$bin/pcp" run submit "$work/model.mlir" --data "$work/private.txt"
else
    skip "a file that may not be read" "needs root and setpriv"
fi
slay TERM front
check "the front leaves" leaves front
check "nothing is left running" eventually 60 dismiss
check "really" eventually 60 no_orphans
tap_done
