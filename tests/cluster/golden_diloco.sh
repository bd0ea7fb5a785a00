#!/usr/bin/env bash
# The golden DiLoCo trace through the real services, in several shapes of cluster. What a run computes
# must not depend on how many processes share it: the checkpoints are equal bit for bit.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
golden_model "golden DiLoCo trace"

make_run() {
    "$bin/golden-diloco" make "$model" "$golden" "$1" "$dir"
}

agrees() {
    "$bin/golden-diloco" check "$golden" "$1" "$dir"
}

same_bits() {
    cmp "$1/checkpoint/latest/model.safetensors" "$2/checkpoint/latest/model.safetensors"
}

# --- as the trace has it: three workers, one aggregator, over ipc ---
cluster "$work/ipc"
check "the trace becomes a run" make_run 2
shepherd --workers 3
aggregator a0 --once
compiler c0 --once
for w in w1 w2 w3; do worker $w --once; done
check "two rounds of three workers end well" ends 0
check "their checkpoint agrees with the trace" agrees 2
for member in a0 c0 w1 w2 w3; do check "$member leaves at the end" leaves "$member"; done

cluster "$work/one"
make_run 1
shepherd --workers 3
aggregator a0 --once
compiler c0 --once
for w in w1 w2 w3; do worker $w --once; done
check "one round of three workers ends well" ends 0
check "its checkpoint agrees with the trace" agrees 1
dismiss

# --- one worker with all replicas, two aggregators, over tcp ---
port=$((20000 + $$ % 20000))
cluster "$work/tcp" "tcp://127.0.0.1:$port"
make_run 2
shepherd --aggregators 2 --workers 1
aggregator a0 --once --bind "tcp://127.0.0.1:*"
aggregator a1 --once --bind "tcp://127.0.0.1:*"
compiler c0 --once
worker w1 --once
check "one worker, two shards, tcp: ends well" ends 0
check "its checkpoint agrees with the trace" agrees 2
check "it has the same bits as three workers, one shard" same_bits "$work/ipc" "$work/tcp"
dismiss

# --- more workers than replicas ---
cluster "$work/spare"
make_run 2
shepherd --workers 5
aggregator a0 --once
compiler c0 --once
for w in w1 w2 w3 w4 w5; do worker $w --once; done
check "five workers for three replicas end well" ends 0
check "they give the same bits" same_bits "$work/ipc" "$work/spare"
dismiss

check "nothing is left running" no_orphans
tap_done
