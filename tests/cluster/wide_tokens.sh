#!/usr/bin/env bash
# Vocabularies above 65,536: token files of four bytes a token, from a tokenizer's text, a file of numbers and a shard;
# training, going on, evaluation, generation, and a run on a cluster.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
vocab=70000
"$bin/pcp" model gpt2 --layers 1 --heads 1 --width 8 --block 8 --vocab $vocab --batch 2 >"$work/model.mlir" || exit 1
text | head -c 60000 >"$work/text.txt"

# A tokenizer of 512, and the same with its numbers from 256 on 65,500 higher, up to 66,011.
"$bin/pcp" tokenizer train --vocab 512 --out "$work/low.json" "$work/text.txt" 2>/dev/null || exit 1
jq '(.model.vocab |= map_values(if . >= 256 then . + 65500 else . end)) |
    (.added_tokens // [] | map(if .id >= 256 then .id += 65500 else . end)) as $added | .added_tokens = $added' \
    "$work/low.json" >"$work/high.json" || exit 1
numbers() { perl -0777 -ne "print join(' ', unpack('$2*', \$_)), qq(\n)" "$1"; } # FILE v|V
"$bin/pcp" tokenizer encode --tokenizer "$work/low.json" --format u16 "$work/text.txt" >"$work/low.u16" || exit 1
numbers "$work/low.u16" v | perl -pe 's/(\d+)/$1 >= 256 ? $1 + 65500 : $1/ge' >"$work/want"
perl -ne 'print pack("V*", split)' "$work/want" >"$work/numbers.u32"
perl -e 'print pack("l<256", 20240801, 7, (-s $ARGV[0]) / 4)' "$work/numbers.u32" >"$work/shard.bin"
cat "$work/numbers.u32" >>"$work/shard.bin"

train() { timeout $((120 * slow)) "$bin/pcp" train "$@"; }
prepared() { # NAME DATA TOKENIZER: its tokens are those that were wanted
    train "$work/model.mlir" --data "$2" --tokenizer "$3" --prepare-only --run-dir "$work/$1" >/dev/null || return
    cat "$work/$1/train.u32" "$work/$1/validation.u32" >"$work/$1.u32"
    numbers "$work/$1.u32" V | cmp - "$work/want"
}
check "text becomes tokens of four bytes" prepared text "$work/text.txt" "$work/high.json"
check "so do numbers in a file" prepared numbers "$work/numbers.u32" raw
check "and a shard" prepared shard "$work/shard.bin" "$work/high.json"
printf '\160\021\001\000' | cat "$work/numbers.u32" - >"$work/over.u32" # 70,000
check "a token beyond the vocabulary is refused" refuses "70001 different tokens (tokenizer raw), but the model's vocabulary has 70000" \
    prepared over "$work/over.u32" raw

flags=(--data "$work/text.txt" --tokenizer "$work/high.json" --workers 2 --inner-steps 20 --lr 1e-2 --validate-every 2 --seed 4)
check "it is trained" train "$work/model.mlir" "${flags[@]}" --rounds 6 --checkpoint-every 3 --run-dir "$work/whole"
loss() { "$bin/pcp" eval --checkpoint "$1" "$2" --tokens 2000 | awk '$1 == "loss" { print $2 }'; }
learned() { awk -v l="$(loss "$work/whole" "$work/text.txt")" 'BEGIN { print l; exit !(l > 0 && l < 10.5) }'; } # ln 70000 = 11.2
check "and has learned something" learned
check "generation writes text" sh -c "'$bin/pcp' generate --checkpoint '$work/whole' --prompt The --tokens 20 | grep -q The"
half() { train --resume "$work/half" --rounds 6 && cmp "$work/"{whole,half}/checkpoint/latest/model.safetensors; }
check "half of it" train "$work/model.mlir" "${flags[@]}" --rounds 6 --checkpoint-every 3 --run-dir "$work/half" --prepare-only
check "goes on from what was prepared, to the same bits" half

check "numbers are trained" train "$work/model.mlir" "${flags[@]}" --data "$work/numbers.u32" --tokenizer raw --rounds 6 --checkpoint-every 3 \
    --run-dir "$work/raw"
check "to the same bits" cmp "$work/"{whole,raw}/checkpoint/latest/model.safetensors
same_loss() { test "$(loss "$work/whole" "$work/text.txt")" = "$(loss "$work/raw" "$work/numbers.u32")"; }
check "and evaluated" same_loss

# --- a cluster: the names of files go with the run ---
cluster "$work/c"
control=ipc://$dir/front runs=$work/runs
export PCP_SHEPHERD=$control
"$bin/pcp" db migrate --store "sqlite://$dir/pcp.db" || exit 1
serve front shepherd --cluster --store "sqlite://$dir/pcp.db" --runs-dir "$runs" --socket-dir "$dir/s" --bind "$control" \
    --events "ipc://$dir/events" --id front
check "a front leads" eventually 60 event front 'event=leads'
aggregator a0
serve c0 compiler --shepherd "$control" --id c0
worker w0
worker w1
check "a run is submitted" timeout $((100 * slow)) "$bin/pcp" run submit "$work/model.mlir" "${flags[@]}" --rounds 6 --name wide
check "as files of four bytes" test -s "$runs/wide/train.u32" -a ! -e "$runs/wide/train.u16"
done_there() { "$bin/pcp" run get wide --json 2>/dev/null | grep -q '"state": "done"'; }
check "it is trained" eventually 100 done_there
check "to the same bits" cmp "$work/whole/checkpoint/latest/model.safetensors" "$runs/wide/checkpoint/latest/model.safetensors"
check "everybody leaves" dismiss
check "nothing is left running" no_orphans
tap_done
