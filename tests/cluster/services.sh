#!/usr/bin/env bash
# A real training run by the services themselves, from a directory that `pcp train --prepare-only` made:
# shuffled windows of text, int8 pseudo-gradients, validation split over the workers.
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

prepare() {
    "$bin/pcp" train "$model" --data "$text" --val-fraction 0.05 --run-dir "$dir" --replicas 3 \
        --inner-steps 10 --rounds 4 --lr 3e-3 --schedule wsd --warmup 5 --validate-every 2 --codec int8 \
        --prepare-only
}

# field NAME ROUND KEY: a value of a round's log line
field() {
    sed -n "s/.*event=round round=$2 .*$3=\([0-9.]*\).*/\1/p" "$work/$1/shepherd.log"
}

less() {
    awk -v a="$1" -v b="$2" -v gap="${3:-0}" 'BEGIN { print a, b; exit !(a != "" && b != "" && a < b - gap) }'
}

# A run of the given numbers of workers and aggregators.
run() {
    local name=$1 workers=$2 shards=$3 i
    cluster "$work/$name"
    check "$name: prepared" prepare
    shepherd --workers "$workers" --shards "$shards" --validate-every 2
    for ((i = 0; i < shards; i++)); do aggregator "a$i" --once; done
    compiler c0 --once
    for ((i = 1; i <= workers; i++)); do worker "w$i" --once; done
    check "$name: ends well" ends 0
    dismiss
}

run three 3 1
check "the training loss falls" less "$(field three 4 loss)" "$(field three 1 loss)" 0.3
check "the validation loss falls" less "$(field three 4 val_loss)" "$(field three 2 val_loss)" 0.05
check "there is no validation in between" test -z "$(field three 3 val_loss)"
shared_by() {
    local n
    n=$(grep -lE 'event=eval_done .*round=4' "$dir"/w?.log | wc -l)
    test "$n" -ge "$1"
}
check "workers share the validation" shared_by 2

run alone 1 2
check "one worker and two shards reach the same training loss" \
    test "$(field alone 4 loss)" = "$(field three 4 loss)"
check "and the same validation loss" test "$(field alone 4 val_loss)" = "$(field three 4 val_loss)"
check "bit for bit" \
    cmp "$work/three/checkpoint/latest/model.safetensors" "$work/alone/checkpoint/latest/model.safetensors"

check "nothing is left running" no_orphans
tap_done
