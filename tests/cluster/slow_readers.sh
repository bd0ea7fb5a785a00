#!/usr/bin/env bash
# Clients that ask for parameters in every round and read no answer, over TCP, while a run trains: no commit waits
# for them, the aggregator's memory is bounded, and the run ends with the bits that it has without them.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
gpt2 --layers 2 --heads 2 --width 128 --block 16 --vocab 256 --batch 2 >"$work/model.mlir" || exit 1

# begin NAME: a run of two workers, its aggregator reached over TCP; train: they come
begin() {
    cluster "$work/$1"
    prepare --replicas 2 --inner-steps 2 --rounds 40 || return 1
    port=$((20000 + RANDOM % 10000))
    shepherd --workers 2
    aggregator a0 --bind "tcp://127.0.0.1:$port"
    compiler c0
}
train() {
    worker w0
    worker w1
}
same_bits() {
    cmp "$work/calm/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"
}
rss_mb() { awk '/VmHWM/ { print int($2 / 1024) }' "/proc/${pid[$1]}/status"; }
small() {
    echo "$(rss_mb a0) MB"
    [ "$(rss_mb a0)" -lt 200 ]
}

begin calm
train
check "a run without them ends" ends 0
dismiss
begin deaf
"$bin/deaf-clients" --target "tcp://127.0.0.1:$port" --run "$(sed -n 's/.*"run": "\([^"]*\)".*/\1/p' "$dir/run.json")" \
    --clients 20 2>"$dir/deaf.log" &
pid[deaf]=$!
train # not before: the clients follow the rounds from the first one on
check "it trains" eventually 60 event shepherd 'event=training'
check "twenty clients ask and do not read" eventually 60 event deaf 'event=asked round=[23]'
check "what is on the way to them is bounded" event a0 'event=slow_reader'
check "and so is the memory" small
check "the run ends well" ends 0
check "with the bits of the other one" same_bits
check "they lost what they did not read" event a0 'event=snapshot_taken'
dismiss
check "nothing is left running" no_orphans
tap_done
