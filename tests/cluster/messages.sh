#!/usr/bin/env bash
# Conversations to be tuned on: which of their tokens count, and a run whose loss is that of the answers alone. The
# questions are noise that nobody can foretell, the answers are one of two, by chance.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
perl -e 'srand 5; for (1 .. 3000) { my $q = join "", map { chr 97 + int rand 26 } 1 .. 12;
    my $a = rand > .5 ? "certainly" : "naturally";
    print qq({"messages": [{"role": "user", "content": "$q"}, {"role": "assistant", "content": "$a"}], "id": $_}\n) }' >"$work/talk.jsonl"
pcp() { "$bin/pcp" "$@"; }
train() { timeout $((120 * slow)) "$bin/pcp" train "$@"; }
model() { pcp model "$@" --block 32 --batch 8 --vocab 256 2>/dev/null; }
model gpt2 --layers 1 --heads 2 --width 32 --weighted >"$work/model.mlir"
model gpt2 --layers 1 --heads 2 --width 32 >"$work/plain.mlir"

# --- tokens: as perl puts them together from the lines ---
flags=(--data "$work/talk.jsonl" --tokenizer byte --messages auto)
check "conversations become tokens" train "$work/model.mlir" "${flags[@]}" --prepare-only --run-dir "$work/prepared"
wanted() { # silent tokens have the highest bit
    perl -MJSON::PP -e 'my $first = 1; while (<>) {
        print pack("V*", 0x80000000 | 10) unless $first; $first = 0;
        for my $m (@{ decode_json($_)->{messages} }) {
            my $you = $m->{role} eq "assistant";
            print pack("V*", map { 0x80000000 | ord } split //, $you ? "Assistant:" : "User: $m->{content}\n");
            print pack("V*", map { ord } split //, " $m->{content}\n") if $you;
        } }' "$work/talk.jsonl"
}
wanted >"$work/wanted"
same() { cat "$work/prepared/train.u32" "$work/prepared/validation.u32" | cmp - "$work/wanted"; }
check "those of the answers count, no others" same

# --- training ---
loss() { sed -n 's/^validation loss \([0-9.]*\) .*/\1/p' "$work/$1.txt"; }
told() { train "${@:2}" "${run[@]}" --run-dir "$work/$1" >"$work/$1.txt"; } # NAME FLAGS
below() { awk -v got="$(loss "$1")" -v low="$2" -v high="$3" 'BEGIN { print got; exit !(got > low && got < high) }'; }
run=(--workers 2 --inner-steps 25 --rounds 20 --lr 1e-2 --validate-every 10 --threads 1)
check "answers are learned by two workers" told answers "$work/model.mlir" "${flags[@]}"
# One bit in eleven characters, ln 2 / 11 = 0.063: of what is asked nothing is in the loss.
check "all but which of the two" below answers 0.05 0.1
# Of 36 characters 12 are one of 26: 1.09 is the least that a loss over all of them can be.
jq -r '"User: " + .messages[0].content + "\nAssistant: " + .messages[1].content + "\n"' "$work/talk.jsonl" >"$work/talk.txt"
check "the same conversations as a text" told all "$work/model.mlir" --data "$work/talk.txt" --tokenizer byte
check "are not: all tokens count, where weights are asked for as well" below all 0.9 2
check "the model answers" sh -c "'$bin/pcp' generate --checkpoint '$work/answers' --prompt 'User: abcdefghijkl
Assistant:' --tokens 10 --temperature 0 | grep -qE 'Assistant: (certain|natural)ly'"
check "training goes on" train --resume "$work/answers" --rounds 22

# Llama's family has the argument, too, and chat templates of the tokenizer are known by their marks.
perl -MJSON::PP -e 'my %v = map { (chr($_) => $_) } 33 .. 126; $v{"\x{120}"} = 1; $v{"\x{10a}"} = 2; my $n = 127;
    my @m = map { { id => $n++, content => $_, special => JSON::PP::true } } "<|im_start|>", "<|im_end|>", "<|endoftext|>";
    print encode_json({ model => { type => "BPE", vocab => \%v, merges => [] }, added_tokens => \@m,
        pre_tokenizer => { type => "ByteLevel", add_prefix_space => JSON::PP::false }, decoder => { type => "ByteLevel" } })' >"$work/chatml.json"
model llama --layers 1 --heads 2 --width 32 --weighted >"$work/llama.mlir"
check "a tokenizer with marks of its own" train "$work/llama.mlir" --data "$work/talk.jsonl" --tokenizer "$work/chatml.json" --messages auto \
    --workers 1 --inner-steps 20 --rounds 1 --val-fraction 0 --run-dir "$work/marks"
marks() { # of the first conversation, silent tokens in brackets
    perl -0777 -ne 'my $t = ""; for (unpack "V*", substr $_, 0, 4 * 60) { my $c = $_ & 0x7fffffff;
        my $w = $c >= 127 ? ("<s>", "<e>", "<end>")[$c - 127] : $c == 1 ? " " : $c == 2 ? "\n" : chr $c; $t .= $_ >> 31 ? "[$w]" : $w }
        $t =~ s/\]\[//g; print $t' "$work/marks/train.u32"
}
silent() { marks | tr '\n' '|' | grep -E '^\[<s>user\|[a-z]{12}<e>\|<s>assistant\|\](certain|natural)ly<e>\[\|<end><s>user'; }
check "marks are silent but for the answer's end" silent

# --- what is refused ---
check "a loss without weights" refuses "takes no weights for tokens: print it with pcp model --weighted" train "$work/plain.mlir" "${flags[@]}" --prepare-only
check "another template" refuses "--messages jinja: known are auto|chatml|" train "$work/model.mlir" "${flags[@]}" --messages jinja --prepare-only
check "a text" refuses "talk.txt: --messages takes JSON lines alone" train "$work/model.mlir" --data "$work/talk.txt" --tokenizer byte --messages auto --prepare-only
{ head -n 2 "$work/talk.jsonl"; echo '{"messages": [{"role": "tool", "content": "x"}]}'; } >"$work/tool.jsonl"
check "another role, by its line" refuses 'tool.jsonl:3: message 1: its role is "tool"' train "$work/model.mlir" --data "$work/tool.jsonl" --tokenizer byte --messages auto --prepare-only
echo '{"text": "x"}' >"$work/text.jsonl"
check "a line without messages" refuses 'text.jsonl:1: no field "messages"' train "$work/model.mlir" --data "$work/text.jsonl" --tokenizer byte --messages auto --prepare-only
check "nothing is left running" no_orphans
tap_done
