#!/usr/bin/env bash
# Checkpoints of a running training, and runs that go on: from what lies in the run's directory, and from
# a checkpoint alone. Whatever happened in between, the parameters are those of the undisturbed run.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 \
    >"$work/model.mlir" || exit 1
rounds=100 # so many that several checkpoints are complete before the end, however slow the disk

# train NAME [FLAGS]: a run of two replicas with a checkpoint every third round, if the disk keeps up
train() {
    local name=$1
    shift
    timeout $((100 * slow)) "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte \
        --workers 2 --threads 1 --inner-steps 10 --rounds $rounds --lr 3e-3 --validate-every 0 \
        --checkpoint-every 3 --checkpoint-keep "${keep:-0}" --run-dir "$work/$name" "$@" >>"$work/$name.txt" 2>&1
}

# The parameters are the last 4 bytes x count of the file.
parameters() {
    local bytes=$((4 * $(sed -n 's/.*: \([0-9]*\) parameters in .*/\1/p' "$work/calm.txt" | head -n 1)))
    tail -c "$bytes" "$1/model.safetensors" | sha256sum
}
same_end() {
    test -s "$work/$1/checkpoint/latest/model.safetensors" || return 1
    [ "$(parameters "$work/calm/checkpoint/latest")" = "$(parameters "$work/$1/checkpoint/latest")" ]
}
logged() { grep -sqE -- "$2" "$work/$1/logs/shepherd.log"; }
none_of() { ! pgrep -f -- "$work/$1" >/dev/null; }
# killed_when NAME COMMAND...: every process of a run is killed as soon as the command succeeds.
killed_when() {
    local name=$1
    shift
    train "$name" &
    eventually 60 "$@" || return 1
    pkill -KILL -f -- "$work/$name"
    wait $!
    eventually 60 none_of "$name"
}
# The directories of a run's checkpoints, the newest first.
saved() { find "$work/$1/checkpoint" -maxdepth 1 -name "round-??????" 2>/dev/null | sort -r; }
# shellcheck disable=SC2317 # called by killed_when
has_saved() { [ "$(saved "$1" | wc -l)" -ge "$2" ]; }

train calm
check "an undisturbed run ends well" test $? -eq 0
check "it has checkpoints on the way" has_saved calm 3
middle=$(saved calm | sed -n 2p)
check "with momentum, ledger and inner states" ls "$middle"/{state.safetensors,ledger.json,replica-0000.state,replica-0001.state}
check "all of them are whole" "$bin/pcp" checkpoint verify "$work/calm/checkpoint"
listed() { "$bin/pcp" checkpoint list "$work/calm/checkpoint" | sed -n 2p | grep -q "round-000$rounds .*resumable"; }
check "they are listed, the newest first" listed
check "one can be exported and copied" "$bin/pcp" checkpoint export "$middle" \
    --out "$work/middle.safetensors" --dir "$work/middle"
check "the copy is a checkpoint" "$bin/pcp" checkpoint verify "$work/middle"
check "the export is its parameters" cmp "$work/middle.safetensors" "$middle/model.safetensors"

# --- from one round's directory, into a new run directory and a new store ---
keep=1 train fresh --resume "$work/middle"
check "another directory goes on from a copy" test $? -eq 0
check "at that round" logged fresh "event=training .*round=$((10#${middle##*-} + 1)) "
check "with the same end, bit for bit" same_end fresh

# --- everything killed: the directory has all ---
check "a run is killed" killed_when dead logged dead 'event=round round=8 '
train dead --resume latest
check "it goes on" test $? -eq 0
check "with what the aggregator held" bash -c "! grep -q event=restoring '$work/dead/logs/shepherd.log'"
check "to the same end" same_end dead

# --- everything killed, and what the aggregator held is lost; the newest checkpoint is damaged ---
check "a run is killed after its second checkpoint" killed_when lost has_saved lost 2
rm -r "$work/lost/objects"
newest=$(saved lost | sed -n 1p) before=$(saved lost | sed -n 2p)
printf x >>"$newest/replica-0001.state"
train lost --resume latest
check "it goes on" test $? -eq 0
check "the damaged checkpoint is refused by name" logged lost "checkpoint_refused .*$newest/replica-0001.state"
check "the one before is taken" logged lost "event=restoring checkpoint=$before"
check "to the same end" same_end lost

# --- nothing left but the first values ---
check "a run is killed in its second round" killed_when early logged early 'event=round round=1 '
rm -rf "$work/early/objects" "$work/early/checkpoint"
train early --resume latest
check "without any checkpoint it begins again" test $? -eq 0
check "to the same end" same_end early

# --- on demand ---
train asked --rounds 100000 --checkpoint-every 0 &
check "a run without checkpoints trains" eventually 60 logged asked 'event=round round=2 '
sockets=$(pgrep -af -- "pcp-shepherd.*$work/asked" | sed -n 's/.*--run-dir \([^ ]*\).*/\1/p' | head -n 1)
check "it is asked for one" "$bin/pcp" checkpoint now --shepherd "ipc://$sockets/control"
check "and writes it while it goes on" eventually 60 has_saved asked 1
pkill -KILL -f -- "$work/asked"
wait
asked=$(saved asked)
check "it can be gone on from" test -s "$asked/ledger.json"
check "and is whole" "$bin/pcp" checkpoint verify "$asked"
check "nobody answers without a shepherd" refuses "no answer from the shepherd" \
    "$bin/pcp" checkpoint now --shepherd "ipc://$work/nobody" --wait-ms 300

# --- checkpoints that do not fit ---
train other --resume "$work/middle" --seed 7
check "a checkpoint of another run is refused" test $? -eq 2
check "before anything is written" test ! -e "$work/other"
check "with the reason" grep -q 'its seed is 1337, the run.s 7' "$work/other.txt"
store() { sqlite3 "file:$work/$1/pcp.db?mode=ro" "$2"; }
good_and_all="SELECT count(*) FILTER (WHERE state = 'good') || ' ' || count(*) FROM pcp_checkpoints"
read -r recorded all < <(store fresh "$good_and_all")
check "what a run has pruned its records do not call good" test "$recorded" -eq 1
read -r recorded all < <(store calm "$good_and_all")
told="SELECT count(*) FROM pcp_wire WHERE received_bytes > 0 AND sent_bytes > 0"
check "they have the bytes on the wire of each round" test "$(store calm "$told")" = "$rounds"
told="SELECT count(*) FROM pcp_leases WHERE sent_bytes > 0 AND received_bytes > 0 AND norm2 > 0 AND n_steps = 10"
told+=' AND download_ms + upload_ms >= 0' # none is NULL; on one machine they may take less than half a millisecond
check "and of each lease, and its times, and the norm of its update" test "$(store calm "$told")" = $((2 * rounds))
check "the records know of all checkpoints" test "$recorded" -eq "$(find "$work/calm/checkpoint" -name "round-*" | wc -l)"
check "records that are not there: nothing is pruned" refuses "nowhere.db: no such file" \
    "$bin/pcp" checkpoint prune "$work/calm/checkpoint" --keep 1 --store "sqlite://$work/nowhere.db"
check "nor are they made" test ! -e "$work/nowhere.db"
check "nor is where there are none" refuses "a run's are in $work/calm/checkpoint" "$bin/pcp" checkpoint prune "$work/calm"
check "pruning keeps the last two" "$bin/pcp" checkpoint prune "$work/calm/checkpoint" --keep 2
check "the records say so" test "$(store calm "$good_and_all")" = "2 $all"
check "and removes the others" bash -c "[ \$(find '$work/calm/checkpoint' -name 'round-*' | wc -l) -eq 2 ]"
check "nothing is left running" eventually 60 no_orphans
tap_done
