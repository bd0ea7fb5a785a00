#!/usr/bin/env bash
# Links as they are between places: 20 Mbit/s and 20 ms long, one that is dead for ten seconds, peers that ask and do not
# read what they are sent. A run over them ends with the bits that it has on one machine, and sends what it has to send
# about once.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/world.bash
world_needs "runs over links with limits"

# A model that takes seconds at 20 Mbit/s, with what is open at once; and one that takes none.
text >"$work/text.txt"
prepare_run() { # NAME ROUNDS INNER_STEPS GPT2_FLAGS
    local name=$1 rounds=$2 steps=$3
    shift 3
    gpt2 --heads 2 --vocab 256 --batch 1 "$@" >"$work/$name.mlir" || return 1
    "$bin/pcp" train "$work/$name.mlir" --data "$work/text.txt" --tokenizer byte --workers 2 --inner-steps "$steps" \
        --rounds "$rounds" --lr 3e-3 --validate-every 0 --run-dir "$work/$name.run" --prepare-only
}
check "a large run is prepared" prepare_run large 2 1 --layers 4 --width 256 --block 8
check "and a small one" prepare_run small 12 4 --layers 2 --width 128 --block 32

lead() { # LISTEN [FLAGS]
    local listen=$1
    shift
    serve shepherd shepherd --run-dir "$dir" --bind "$listen" --config "$work/$model.run/run.json" --workers 2 \
        --checkpoint "$dir/checkpoint" --heartbeat-ms 200 --timeout-ms $((2000 * slow)) --keep-state local "$@"
}
shards() { serve a0 aggregator --shepherd "$control" --object-dir "$dir/objects" --bind "$@"; }
compiles() { serve c0 compiler --shepherd "$control" --cache-dir "$work/plans"; }
trains() { serve "$1" worker --shepherd "$control" --cache-dir "$dir/$1.cache" --threads 1; }
same_bits() { cmp "$work/one-$model/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"; }

for model in large small; do
    cluster "$work/one-$model" "ipc://$work/one-$model/control"
    lead "$control"
    shards "ipc://$dir/a0.data"
    compiles
    trains w0
    trains w1
    check "the $model run on one machine ends" ends 0
    dismiss
done

host front
host shard
host w0 w0 20
host w1 w1 20
host peer
# apart DIR [SHEPHERD FLAGS]: shepherd and compiler, aggregator, two workers far away
apart() {
    cluster "$1" "tcp://${address[front]}:7000"
    shift
    on front lead tcp://0.0.0.0:7000 --events tcp://0.0.0.0:7002 "$@"
    on front compiles
    on shard shards tcp://0.0.0.0:7100 --advertise "tcp://${address[shard]}:7100"
    on w0 trains w0
    on w1 trains w1
}
sent() { on "$1" sed -n 's/^ *eth0: *//p' /proc/net/dev | awk '{ print $9 }'; } # bytes by that host
round() { event shepherd "event=round round=$1 " || event shepherd 'event=run_done'; }

# --- 20 Mbit/s ---
model=large
for name in w0 w1; do rate $name 20mbit; done
before=$(sent w0)
apart "$work/links"
check "a run over 20 Mbit/s ends" ends 0
check "with the same bits" same_bits
# Of each round a worker sends one update, and after the last one its moments for the checkpoint.
bytes=$(($(stat -c %s "$work/large.run/init.safetensors") * (2 + 2)))
once() { # TCP's and Ethernet's share is 4 %; updates are packed, which saves a tenth of them
    local all=$(($(sent w0) - before))
    echo "$all bytes for $bytes"
    [ $all -lt $((bytes * 9 / 8)) ] && [ $all -ge $((bytes * 7 / 8)) ]
}
check "it sends what it has to send about once" once
dismiss

# --- a dead link ---
model=small
for name in w0 w1; do rate $name 1gbit; done
apart "$work/cut" --shard-wait-s 60
dead() {
    eventually 60 round 2 || return 1
    unplug w1
    sleep 10
    plug w1
}
check "a worker's link is dead for ten seconds" dead
check "the run ends" ends 0
check "with the same bits" same_bits
dismiss

# --- readers that do not read ---
apart "$work/slow" --rounds 40
on peer launch slow "$bin/slow-reader" --data "tcp://${address[shard]}:7100" --run run --events "tcp://${address[front]}:7002" \
    --count 25 --elements 65536
check "a peer asks for each round's parameters and reads none" eventually 60 event slow 'event=asked .*clients=20$'
check "the run goes on, and ends" ends 0
slay TERM slow
check "the peer had asked to the end" leaves slow
dismiss

world_end
check "nothing is left running" no_orphans
tap_done
