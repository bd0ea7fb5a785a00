#!/usr/bin/env bash
# A real training run by the services themselves, from a directory that `pcp train --prepare-only` made:
# shuffled windows of text, int8 pseudo-gradients, validation split over the workers. With PCP_SHORT=1
# (slow tools) a few steps of it, long enough for every message.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
shared=${PCP_SHARED:-../shared}
model=$shared/data/models/nanogpt_small.mlir
text=$shared/data/tiny_shakespeare.txt
if [ ! -e "$model" ] || [ ! -e "$text" ]; then
    skip "a training run by the services" "no $model or $text"
    tap_done
    exit
fi

short=${PCP_SHORT:-} steps=10 rounds=4 patience_ms=1500 flags=(--val-fraction 0.05) target=()
if [ "$short" = 1 ]; then
    steps=2 rounds=2 patience_ms=60000 model=$work/tiny.mlir text=README.md flags=(--tokenizer byte)
    target=(--target cpu:x86-64-v2) # valgrind computes fused multiply-adds one by one, very slowly
    "$bin/pcp" model gpt2 --layers 1 --heads 1 --width 16 --block 32 --vocab 256 --batch 4 >"$model"
fi

prepare() {
    "$bin/pcp" train "$model" --data "$text" "${flags[@]}" --run-dir "$dir" --replicas 3 \
        --inner-steps $steps --rounds $rounds --lr 3e-3 --schedule wsd --warmup 5 --validate-every 2 --codec int8 \
        --prepare-only
}

# field NAME ROUND KEY: a value of a round's log line
field() {
    sed -n "s/.*event=round round=$2 .*$3=\([0-9.]*\).*/\1/p" "$work/$1/shepherd.log"
}

less() {
    awk -v a="$1" -v b="$2" -v gap="${3:-0}" 'BEGIN { print a, b; exit !(a != "" && b != "" && a < b - gap) }'
}

# The members have --once.
all_leave() {
    local one
    for one in "${!pid[@]}"; do leaves "$one" || { echo "it is $one"; return 1; }; done
}

# A run of the given numbers of workers and aggregators.
run() {
    local name=$1 workers=$2 shards=$3 i
    cluster "$work/$name"
    check "$name: prepared" prepare
    shepherd --workers "$workers" --aggregators "$shards" --validate-every 2 --timeout-ms "$patience_ms"
    for ((i = 0; i < shards; i++)); do aggregator "a$i" --once; done
    compiler c0 --once
    for ((i = 1; i <= workers; i++)); do worker "w$i" --once "${target[@]}"; done
    check "$name: ends well" ends 0
    check "$name: everybody leaves" all_leave
    dismiss
}

run three 3 1
if [ "$short" != 1 ]; then
    check "the training loss falls" less "$(field three 4 loss)" "$(field three 1 loss)" 0.3
    check "the validation loss falls" less "$(field three 4 val_loss)" "$(field three 2 val_loss)" 0.05
    check "there is no validation in between" test -z "$(field three 3 val_loss)"
fi
shared_by() {
    local n
    n=$(grep -lE "event=eval_done .*round=$rounds" "$dir"/w?.log | wc -l)
    test "$n" -ge "$1"
}
check "workers share the validation" shared_by 2

run alone 1 2
check "one worker and two shards reach the same training loss" \
    test "$(field alone $rounds loss)" = "$(field three $rounds loss)"
check "and the same validation loss" test "$(field alone $rounds val_loss)" = "$(field three $rounds val_loss)"
check "bit for bit" \
    cmp "$work/three/checkpoint/latest/model.safetensors" "$work/alone/checkpoint/latest/model.safetensors"

check "nothing is left running" no_orphans
tap_done
