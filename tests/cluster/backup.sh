#!/usr/bin/env bash
# pcp backup in the middle of a run, everything destroyed, pcp restore elsewhere: the run goes on and ends with the bits of
# an undisturbed one; with SQLite (pcp train) and with PostgreSQL (a cluster). Backups that are damaged, and places that are
# taken, are refused by name.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/servers.bash
at_exit "dismiss; servers_stop; rm -rf '$work'"
export XDG_CACHE_HOME=$work # plans are compiled once
rounds=100
text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
flags=(--data "$work/text.txt" --tokenizer byte --workers 2 --inner-steps 8 --rounds "$rounds" --validate-every 0 --lr 3e-3
    --checkpoint-every 3)
pcp=$bin/pcp
check "an undisturbed run" timeout $((120 * slow)) "$pcp" train "$work/model.mlir" "${flags[@]}" --threads 1 --run-dir "$work/calm"

# --- pcp train, SQLite ---
cluster "$work/c"
launch train "$pcp" train "$work/model.mlir" "${flags[@]}" --threads 1 --run-dir "$work/one"
lite() { sqlite3 "file:$1?mode=ro" "$2"; }
committed() { [ "$(lite "$1" "SELECT count(*) FROM round WHERE state = 'committed'" 2>/dev/null || echo 0)" -ge "$2" ]; }
check "a run has trained some rounds" eventually 60 committed "$work/one/pcp.db" 7
check "it is copied meanwhile" "$pcp" backup "$work/b1" --runs-dir "$work/one"
check "it was in the middle" test "$(lite "$work/b1/records/records.db" "SELECT max(round) FROM round")" -lt $((rounds - 1))
check "the backup is whole" "$pcp" backup verify "$work/b1"
check "as sha256sum finds, too" sh -c "cd '$work/b1' && sha256sum --quiet -c SHA256SUMS"
# shellcheck disable=SC2317 # called by check
end_train() { # with all that it has started
    local all=("${pid[train]}") i=0
    while [ $i -lt ${#all[@]} ]; do
        mapfile -t -O ${#all[@]} all < <(pgrep -P "${all[$i]}")
        i=$((i + 1))
    done
    kill -KILL "${all[@]}"
    wait "${pid[train]}"
    unset 'pid[train]'
    eventually 30 no_orphans
}
check "everything is killed" end_train
rm -rf "$work/one"
check "and restored elsewhere" "$pcp" restore "$work/b1" --runs-dir "$work/elsewhere"
check "the run goes on" timeout $((120 * slow)) "$pcp" train --resume "$work/elsewhere" --threads 1
check "to the same bits" same_bits "$work/elsewhere"
check "each window once" test "$(lite "$work/elsewhere/pcp.db" 'SELECT min(exactly_once) FROM pcp_ledger')" = 1

# --- damage ---
# damaged WORDS NAME COMMAND...: a copy of the backup on which COMMAND was run, in it, is refused with these words; nothing is made
# shellcheck disable=SC2317
damaged() {
    local words=$1
    shift
    rm -rf "$work/bad"
    cp -a "$work/b1" "$work/bad"
    (cd "$work/bad" && "$@") || return 1
    refuses "$words" "$pcp" backup verify "$work/bad" && refuses "$words" "$pcp" restore "$work/bad" --runs-dir "$work/no" &&
        [ ! -e "$work/no" ]
}
# shellcheck disable=SC2317
flip() { # the byte in the middle of a file
    local at=$(($(stat -c %s "$1") / 2)) byte
    byte=$(od -An -tu1 -j $at -N 1 "$1")
    printf '%b' "\\x$(printf %x $((byte ^ 1)))" | dd of="$1" bs=1 seek=$at conv=notrunc status=none
}
weights=$(cd "$work/b1" && echo runs/checkpoint/round-*/model.safetensors | cut -d' ' -f1)
check "a byte of the weights" damaged "$weights: is damaged" flip "$weights"
check "a byte of the records" damaged "records/records.db: is damaged" flip records/records.db
check "a byte of the manifest" damaged "manifest.json" flip manifest.json
check "a byte of the list" damaged "" flip SHA256SUMS
check "a file is missing" damaged "runs/train.u16" rm runs/train.u16
check "a file is cut" damaged "runs/train.u16: is damaged" truncate -s 100 runs/train.u16
check "a line is missing" damaged "files, SHA256SUMS names" sed -i "\$d" SHA256SUMS
check "a file is too many" damaged "runs/extra: is no part of the backup" touch runs/extra
check "a backup that was not finished" damaged "not finished" rm SHA256SUMS
check "a path that leads outside" damaged "line 2 is damaged" sed -i '2s| .*|  runs/../../x|' SHA256SUMS
check "a format of later" damaged "update the program" \
    sh -c "sed -i 's/\"format\": 1/\"format\": 2/' manifest.json; sed -i \"1s/^[0-9a-f]*/\$(sha256sum manifest.json | cut -c1-64)/\" SHA256SUMS"
# shellcheck disable=SC2317
of_later() {
    rm -rf "$work/bad"
    cp -a "$work/b1" "$work/bad"
    sed -i 's/"schema": [0-9]*/"schema": 9999/' "$work/bad/manifest.json"
    sed -i "1s/^[0-9a-f]*/$(sha256sum "$work/bad/manifest.json" | cut -c1-64)/" "$work/bad/SHA256SUMS"
    local status=0
    refuses "newer than this program's" "$pcp" restore "$work/bad" --runs-dir "$work/no" && [ ! -e "$work/no" ] || return 1
    "$pcp" restore "$work/bad" --runs-dir "$work/no" || status=$?
    [ "$status" -eq 4 ]
}
check "a schema of later" of_later

# --- places ---
mkdir "$work/taken" && touch "$work/taken/file"
check "a backup needs an empty directory" refuses "taken: is not empty (file is in it)" "$pcp" backup "$work/taken" --runs-dir "$work/elsewhere"
check "so does what is restored" refuses "taken: is not empty (file is in it)" "$pcp" restore "$work/b1" --runs-dir "$work/taken"
check "a backup does not lie in what it copies" refuses "lies in --runs-dir" "$pcp" backup "$work/elsewhere/b" --runs-dir "$work/elsewhere"
check "and leaves nothing there" test ! -e "$work/elsewhere/b"
check "a database that is not empty" refuses "the database is not empty (its table run has rows)" \
    "$pcp" restore "$work/b1" --runs-dir "$work/no" --store "sqlite://$work/elsewhere/pcp.db"
check "records that are not there" refuses "nowhere" "$pcp" backup "$work/b9" --runs-dir "$work/elsewhere" --store "sqlite://$work/nowhere.db"
check "a database of another kind" refuses "the records are of sqlite" "$pcp" restore "$work/b1" --runs-dir "$work/no" \
    --store postgresql://nobody@127.0.0.1:1/none
dismiss

# --- a cluster, PostgreSQL ---
query() { "$postgres_bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 "$1" -c "$2"; }
# start RUNS URL: a whole cluster on these
start() {
    serve front shepherd --cluster --store "$2" --runs-dir "$1" --socket-dir "$dir/s" --bind "$control" --events "ipc://$dir/events" \
        --id front --heartbeat-ms 100 --timeout-ms $((1500 * slow))
    aggregator a0
    serve c0 compiler --shepherd "$control" --id c0 --cache-dir "$work/pcp/plans"
    worker w0
    worker w1
}
in_records() { [ "$(query "$1" "SELECT count(*) FROM round WHERE state = 'committed'")" -ge "$2" ]; }
is_done() { [ "$(query "$1" "SELECT state FROM pcp_submissions")" = 'done' ]; }
if postgres_start; then
    cluster "$work/d"
    check "the tables are made" "$pcp" db migrate --store "$postgres_url"
    start "$work/runs" "$postgres_url"
    check "a run is submitted" timeout $((60 * slow)) "$pcp" run submit "$work/model.mlir" "${flags[@]}" --name one --shepherd "$control"
    check "it has trained some rounds" eventually 60 in_records "$postgres_url" 7
    check "the cluster is copied meanwhile" "$pcp" backup "$work/b2" --runs-dir "$work/runs" --store "$postgres_url"
    check "the run goes on" eventually 60 in_records "$postgres_url" 12
    check "it was in the middle when it was copied" test "$(wc -l <"$work/b2/records/round.copy")" -lt $((rounds - 1))
    check "the passwords of the database are not in the backup" sh -c "! grep -rq postgresql:// '$work/b2'"
    dismiss
    rm -rf "$work/d" "$work/runs" "$work/pcp" # all that aggregators and workers held, and plans
    query "$postgres_url" "CREATE DATABASE other" >/dev/null
    other=${postgres_url%/*}/other
    check "all of it is destroyed" query "$postgres_url" "DROP SCHEMA public CASCADE; CREATE SCHEMA public"
    check "and restored elsewhere, in another database" "$pcp" restore "$work/b2" --runs-dir "$work/moved" --store "$other"
    check "whose schema is this program's" "$pcp" db status --store "$other"
    check "it is not restored twice" refuses "moved: is not empty" "$pcp" restore "$work/b2" --runs-dir "$work/moved" --store "$other"
    check "nor into a database that has records" refuses "the database is not empty" \
        "$pcp" restore "$work/b2" --runs-dir "$work/no" --store "$other"
    check "it knows where checkpoints are now" test "$(query "$other" "SELECT count(*) FROM checkpoint WHERE path NOT LIKE '$work/moved/%'")" = 0
    cluster "$work/e"
    start "$work/moved" "$other"
    check "another cluster goes on with the run" eventually 90 is_done "$other"
    check "to the same bits" same_bits "$work/moved/one"
    check "each window once" test "$(query "$other" 'SELECT min(exactly_once) FROM pcp_ledger')" = 1
    check "it went on from a checkpoint" sh -c "cat $work/e/*.log $work/moved/one/shepherd.log | grep -q 'event=rewound\|event=resumed'"
    dismiss
else
    skip "a cluster with PostgreSQL is copied" "PostgreSQL is not installed"
fi
check "nothing is left running" no_orphans
tap_done
