#!/usr/bin/env bash
# A submission from far away: 50 ms to the front and 50 back. Its pieces do not wait for each other; a line that is dead in the
# middle, and a submitter that is killed, cost little of what had arrived.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/world.bash
world_needs "a submission over a long link"
megabytes=$((slow > 1 ? 4 : 40))

text >"$work/piece.txt"
while [ "$(stat -c %s "$work/text.txt" 2>/dev/null || echo 0)" -lt $((megabytes * 500000)) ]; do cat "$work/piece.txt" >>"$work/text.txt"; done
gpt2 --layers 1 --heads 2 --width 16 --block 16 --vocab 256 --batch 1 >"$work/model.mlir" || exit 1
prepared() { # NAME FLAGS: one of $megabytes MB
    local name=$1
    shift
    "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --val-fraction 0.01 --run-dir "$work/$name.run" \
        --prepare-only "$@" >/dev/null 2>&1
}

host front
host there there 50
rate there 100mbit
cluster "$work/c" "tcp://${address[front]}:7000"
on front serve front shepherd --cluster --store "sqlite://$work/pcp.db" --runs-dir "$work/runs" --bind tcp://0.0.0.0:7000 \
    --events tcp://0.0.0.0:7002 --id front --heartbeat-ms 200 --timeout-ms $((2000 * slow))
check "a front leads" eventually 60 event front 'event=leads'
submit() { on there timeout $((120 * slow)) "$bin/pcp" run submit "$work/$1.run" --name "$1" --key "$1" --shepherd "$control" --wait-ms 60000; }
# Bytes that have come from there, by the switch's side of its cable.
came() { world_in_switch ip -s link show dev "${world_port[there]}" | awk '/RX:/ { getline; print $1 }'; }
all() { cat "$work/$1.run"/{run.json,model.mlir,init.safetensors,train.u16,validation.u16,tokenizer.json} | wc -c; }
# about_once NAME: since `before` not much more came than it has
about_once() {
    local came need
    came=$(($(came) - before)) need=$(all "$1")
    echo "# $1: $came bytes came for $need" | tee -a "$work/bytes"
    [ $came -lt $((need + need / 5 + 1000000)) ]
}

check "a run is prepared" prepared one --seed 1
before=$(came) begin=$(date +%s%N)
check "it is submitted" submit one
took=$((($(date +%s%N) - begin) / 1000000))
echo "# $(all one) bytes in $took ms: $(($(all one) * 8 / took / 1000)) Mbit/s of 100, 100 ms there and back"
check "faster than a piece at a time would be" test $(($(all one) * 8 / took / 1000)) -ge $((slow > 1 ? 1 : 15))
check "what came is about what it has" about_once one

arrived() { # BYTES: so many are at the front
    [ "$(find "$work/runs" -path '*/.upload-*' -name train.u16 -printf '%s\n' | head -n 1)" -ge "$1" ] 2>/dev/null
}
begin_submission() { # NAME: in the background, until a third has arrived
    submit "$1" >"$work/$1.out" 2>"$work/$1.err" &
    pid[submit]=$!
    eventually 60 arrived $((megabytes * 333333))
}
ended() { # NAME: well
    local status=0
    eventually 120 not_running "${pid[submit]}"
    wait "${pid[submit]}" || status=$?
    unset "pid[submit]"
    [ "$status" -eq 0 ] || cat "$work/$1.err"
    [ "$status" -eq 0 ]
}

check "another one" prepared two --seed 2
before=$(came)
check "is on its way" begin_submission two
unplug there
check "when its line dies, and the front misses it" eventually 60 event front 'event=member_lost'
plug there
check "it ends all the same" ended two
check "and sent little twice" about_once two

check "a third one" prepared three --seed 3
before=$(came)
check "is on its way" begin_submission three
kill -KILL "$(pgrep -P "${pid[submit]}" | head -n 1)" 2>/dev/null || kill -KILL "${pid[submit]}"
wait "${pid[submit]}" 2>/dev/null
unset "pid[submit]"
check "when its submitter is killed" true
check "submitted again it is a run" submit three
check "the front had a part of it" event front 'event=submission_goes_on run=three bytes=[0-9]{6,}'
check "and little was sent twice" about_once three
cat "$work/bytes"
dismiss
world_end
check "nothing is left running" no_orphans
tap_done
