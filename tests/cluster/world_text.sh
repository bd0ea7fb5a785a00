#!/usr/bin/env bash
# A text of 60 MB: prepared, kept as an object, fetched by workers far away over 200 Mbit/s, trained on for a few rounds. The
# validation reads a sample of it, so that its rounds take as long as those of a small text.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/world.bash
world_needs "a large text"
megabytes=$((slow > 1 ? 2 : 60))

text >"$work/piece.txt"
while [ "$(stat -c %s "$work/text.txt" 2>/dev/null || echo 0)" -lt $((megabytes * 1000000)) ]; do
    cat "$work/piece.txt" >>"$work/text.txt"
done
"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 8 >"$work/model.mlir" || exit 1

host core
host w0 w0 10
host w1 w1 10
rate w0 200mbit
rate w1 200mbit
cluster "$work/c" "tcp://${address[core]}:7000"
# In less memory than the text takes (kB).
prepare() (ulimit -d $((slow > 1 ? 500000 : 50000)) && timeout $((120 * slow)) "$@")
check "$megabytes MB are prepared" prepare "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" \
    --tokenizer byte --workers 2 --inner-steps 8 --rounds 4 --lr 3e-3 --validate-every 2 --run-dir "$dir" --prepare-only
on core shepherd --bind tcp://0.0.0.0:7000 --workers 2
on core aggregator a0 --bind "tcp://${address[core]}:7100"
on core compiler c0
on w0 worker w0 --cache-dir "$dir/cache0"
on w1 worker w1 --cache-dir "$dir/cache1"
begin=$SECONDS
trained() {
    eventually 180 not_running "${pid[shepherd]}"
    echo "$((SECONDS - begin)) s"
    ends 0
}
check "a run on it ends" trained
check "it was validated" event shepherd 'event=round round=4 .*val_loss='
check "both workers had it" eventually 1 event w1 'event=lease_done'
dismiss
world_end
check "nothing is left running" no_orphans
tap_done
