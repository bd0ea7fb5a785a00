#!/usr/bin/env bash
# What --data takes: files, lists, directories, patterns; text and JSON lines, packed or not; shards of tokens; pipes. The
# same tokens whatever the form and however many threads, in memory that does not depend on the size; and what is refused.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

gpt2 --layers 1 --heads 2 --width 16 --block 16 --vocab 2048 --batch 2 >"$work/model.mlir" || exit 1
text >"$work/piece.txt"
while [ "$(stat -c %s "$work/long.txt" 2>/dev/null || echo 0)" -lt 3000000 ]; do cat "$work/piece.txt" >>"$work/long.txt"; done
head -c 3000000 "$work/long.txt" >"$work/all.txt"
"$bin/pcp" tokenizer train --vocab 2048 --out "$work/bpe.json" "$work/all.txt" 2>/dev/null || exit 1

# prepare NAME TOKENIZER DATA [FLAGS]: tokens to train on and validate on, one behind the other, in NAME.tokens
prepare() {
    local name=$1 tokenizer=$2 data=$3
    shift 3
    rm -rf "$work/run" && timeout $((120 * slow)) "$bin/pcp" train "$work/model.mlir" --data "$data" --tokenizer "$tokenizer" \
        --run-dir "$work/run" --prepare-only "$@" >/dev/null &&
        cat "$work/run/train.u16" "$work/run/validation.u16" >"$work/$name.tokens"
}
same() { cmp "$work/$1.tokens" "$work/$2.tokens"; }

# --- documents: three of them, with the mark between two ---
mkdir -p "$work/docs/sub"
head -c 1000000 "$work/all.txt" >"$work/docs/a.txt"
head -c 2000000 "$work/all.txt" | tail -c 1000000 >"$work/docs/b.txt"
tail -c 1000000 "$work/all.txt" >"$work/docs/sub/c.txt"
cp "$work/all.txt" "$work/docs/README.md" # has no ending that is known
{ cat "$work/docs/a.txt"; printf '<|endoftext|>'; cat "$work/docs/b.txt"; printf '<|endoftext|>'; cat "$work/docs/sub/c.txt"; } >"$work/marked.txt"
"$bin/pcp" tokenizer encode --tokenizer "$work/bpe.json" --format u16 "$work/marked.txt" >"$work/marked.tokens" || exit 1
check "a directory is its files, with the end of text between them" prepare dir "$work/bpe.json" "$work/docs"
check "as the text with that mark in it" same dir marked
check "a list" prepare list "$work/bpe.json" "$work/docs/a.txt,$work/docs/b.txt,$work/docs/sub/c.txt"
check "is the same" same list dir
check "a pattern" prepare pattern "$work/bpe.json" "$work/docs/*.txt,$work/docs/sub"
check "is the same" same pattern dir
check "one thread" taskset -c 0 bash -c "$(declare -f prepare); $(declare -p work bin slow); prepare one '$work/bpe.json' '$work/docs'"
check "makes the same tokens" same one dir
check "a pipe" prepare pipe "$work/bpe.json" <(cat "$work/marked.txt")
check "is the same" same pipe dir

# --- packed, and lines of JSON ---
gzip -k "$work/docs/a.txt"
{ head -c 400000 "$work/docs/b.txt" | gzip; tail -c +400001 "$work/docs/b.txt" | gzip; } >"$work/docs/b.txt.gz"
zstd -q "$work/docs/sub/c.txt" -o "$work/docs/sub/c.txt.zst"
check "packed files" prepare packed "$work/bpe.json" "$work/docs/a.txt.gz,$work/docs/b.txt.gz,$work/docs/sub/c.txt.zst"
check "are the same" same packed dir
for f in a b sub/c; do jq -Rsc '{id: 7, body: .}' <"$work/docs/$f.txt"; done >"$work/docs.jsonl"
gzip "$work/docs.jsonl"
check "lines of JSON" prepare json "$work/bpe.json" "$work/docs.jsonl.gz" --field body
check "are the same" same json dir
{ cat "$work/docs/a.txt"; echo; cat "$work/docs/b.txt"; echo; cat "$work/docs/sub/c.txt"; } >"$work/broken.txt"
for kind in byte char; do
    check "a tokenizer of ${kind}s" prepare "$kind" "$kind" "$work/docs/*.txt,$work/docs/sub/c.txt"
    prepare broken "$kind" "$work/broken.txt"
    check "has a line break between two documents" same "$kind" broken
done

# --- tokens as they are ---
# shard FILE TOKENS: as llm.c writes it
shard() {
    perl -e 'print pack("l<256", 20240520, 1, (-s $ARGV[0]) / 2)' "$2" >"$1" && cat "$2" >>"$1"
}
mkdir "$work/shards"
head -c 100000 "$work/marked.tokens" >"$work/first"
tail -c +100001 "$work/marked.tokens" >"$work/rest"
shard "$work/shards/fineweb_train_000001.bin" "$work/first"
shard "$work/shards/fineweb_train_000002.bin" "$work/rest"
check "shards of tokens" prepare shards "$work/bpe.json" "$work/shards"
check "are taken as they are" same shards marked
check "raw, too" prepare raw raw "$work/shards"
check "which is the same" same raw marked
cp "$work/marked.tokens" "$work/train.bin"
check "u16 tokens without a header" prepare bare raw "$work/train.bin"
check "are taken as they are" same bare marked

# --- what is refused, and leaves nothing behind ---
no() { # no WORDS TOKENIZER DATA [FLAGS]
    local words=$1
    shift
    refuses "$words" prepare vain "$@"
}
head -c 200000 "$work/docs/a.txt.gz" >"$work/cut.txt.gz"
check "a gzip file that was cut off" no "cut.txt.gz: it ends at byte 200000 in the middle of its gzip data" byte "$work/cut.txt.gz"
check "leaves no directory" test ! -e "$work/run"
{ head -c 300000 "$work/docs/a.txt.gz"; head -c 2000 /dev/zero; tail -c +302001 "$work/docs/a.txt.gz"; } >"$work/bad.txt.gz"
check "one that is damaged" no "bad.txt.gz: its gzip data are damaged before byte" byte "$work/bad.txt.gz"
head -c 20000 "$work/docs/sub/c.txt.zst" >"$work/cut.txt.zst"
check "a Zstandard file that was cut off" no "cut.txt.zst: it ends at byte 20000" byte "$work/cut.txt.zst"
printf '{"text": "a"}\n\n{"text": "b}\n' >"$work/bad.jsonl"
check "a line that is no JSON" no "bad.jsonl:3:" byte "$work/bad.jsonl"
check "a field that is not there" no 'docs.jsonl.gz:1: no text in a field "text" (texts are in: body): name one with --field' byte "$work/docs.jsonl.gz"
check "a shard of another magic number" no "train.bin: it does not begin as a token shard" "$work/bpe.json" "$work/train.bin"
check "shards beside texts" no "one run takes the one or the other" "$work/bpe.json" "$work/docs/a.txt,$work/shards"
check "shards for a tokenizer of bytes" no "holds tokens: give --tokenizer the one that made them, or raw" byte "$work/shards"
printf '\377\377' >>"$work/first"
shard "$work/other.bin" "$work/first"
check "a token beyond the vocabulary" no "other.bin: the token 65535 at byte 101024 is not below" "$work/bpe.json" "$work/other.bin"
mkdir "$work/empty"
check "a directory without a corpus" no "no file of it has an ending that is known" byte "$work/empty"
check "a pattern of nothing" no "*.csv: no file has such a name" byte "$work/docs/*.csv"
{ head -c 700000 "$work/docs/a.txt"; printf '\377'; } >"$work/latin.txt"
check "bytes that are no text are named by their place in the file" no "latin.txt: byte 700000 is not UTF-8" char "$work/latin.txt"

# --- large, in little memory: 300 MB of text in a packed file of 1 MB ---
megabytes=$((slow > 1 ? 20 : 300))
for ((i = 0; i < megabytes; i += 10)); do cat "$work/docs/a.txt"{,,,,,,,,,}; done | zstd -q --long=26 >"$work/large.txt.zst"
little() (ulimit -v $((slow > 1 ? 100000000 : 1000000)) -d $((slow > 1 ? 500000 : 250000)) && "$@")
[ "$(uname -m)" = x86_64 ] && check "$megabytes MB in a quarter of a gigabyte" little prepare large byte "$work/large.txt.zst"
check "are all there" test "$(stat -c %s "$work/large.tokens")" -eq $((2 * megabytes * 1000000))
check "nothing is left running" no_orphans
tap_done
