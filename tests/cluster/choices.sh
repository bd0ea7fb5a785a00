#!/usr/bin/env bash
# pcp eval --choices: log-likelihoods against those of whole texts (another path: @logits over the window), accuracies
# against their definition, tokens that cross the boundary, items side by side, and items that are none.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

text >"$work/text.txt"
"$bin/pcp" tokenizer train --vocab 300 --out "$work/tokenizer.json" "$work/text.txt" 2>/dev/null
"$bin/pcp" model llama --layers 2 --heads 4 --kv-heads 2 --width 32 --block 64 --batch 4 --vocab 300 >"$work/model.mlir" 2>/dev/null
timeout $((120 * slow)) "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer "$work/tokenizer.json" --workers 1 --threads 1 \
    --inner-steps 5 --rounds 4 --lr 3e-3 --run-dir "$work/run" >"$work/train.txt" 2>&1 || { tail -n 15 "$work/train.txt"; exit 1; }
choose() { "$bin/pcp" eval --checkpoint "$work/run" --choices "$@"; }

cat >"$work/items.jsonl" <<'END'
{"context": "A worker trains", "choices": ["a model", "the whole of the plan", "x"], "answer": 1, "id": 7}
{"ctx": "The shepherd of a run says", "endings": ["that it is over", "no", "what", "yes"], "label": "3"}

{"question": "Which of them?\nAnswer:", "choices": {"text": ["the tokens", "the text"], "label": ["1", "2"]}, "answerKey": "2"}
{"question": "The file is read by th", "choices": ["\te kernel", " way", "ere"], "answer": "B"}
{"context": "The wor", "choices": ["kers begin", "kers"], "answer": "A"}
{"context": "It ends with a blank: ", "choices": ["tokens", "é and ü"], "answer": 0}
END
choose "$work/items.jsonl" --json >"$work/out.json" || exit 1

# nats TEXT [FLAGS]: -ln of all tokens of the text but the first.
nats() {
    printf %s "$1" >"$work/one"
    "$bin/pcp" eval --checkpoint "$work/run" "$work/one" "${@:2}" | awk '/^tokens/ { n = $2 } /^loss/ { printf "%.6f\n", n * $2 }'
}
near() { awk "BEGIN { d = $1 - ($2); exit !(d < 1e-3 && d > -1e-3 && $1 < -0.1) }" || { echo "$1 is not $2"; return 1; }; }
result() { jq -r ".results[$1].choices[$2].$3" "$work/out.json"; }
n_tokens() { printf %s "$1" | "$bin/pcp" tokenizer encode --tokenizer "$work/tokenizer.json" | wc -w; }

# scored ITEM CHOICE CONTEXT REST: the tokens of both, less those of the context, which none crosses.
scored() {
    near "$(result "$1" "$2" logprob)" "$(nats "$3") - $(nats "$3$4")" &&
        [ "$(result "$1" "$2" tokens)" = $(($(n_tokens "$3$4") - $(n_tokens "$3"))) ]
}
check "a choice" scored 0 0 "A worker trains" " a model"
check "the next one, behind the same context" scored 0 1 "A worker trains" " the whole of the plan"
check "one of a token or two" scored 0 2 "A worker trains" " x"
check "an item that is read beside it" scored 1 0 "The shepherd of a run says" " that it is over"
check "its last choice" scored 1 3 "The shepherd of a run says" " yes"
check "a list with labels" scored 2 1 $'Which of them?\nAnswer:' " the text"
check "a choice that begins with a blank gets no other" scored 3 1 "The file is read by th" " way"

check "two words are made of context and choice" scored 4 0 "The wor" " kers begin"

# crosses ITEM CHOICE TEXT FIRST: the tokens of the text from FIRST on, by their number.
crosses() {
    local n
    n=$(n_tokens "$3")
    near "$(result "$1" "$2" logprob)" "$(nats "$3" --tokens "$4") - $(nats "$3")" && [ "$(result "$1" "$2" tokens)" = $((n - $4)) ]
}
blank=$(n_tokens "It ends with a blank:")
check "the blank at the end of a context is a token" test "$(n_tokens "It ends with a blank: ")" = $((blank + 1))
check "where it is of the choice's first token, that is the choice's" crosses 5 0 "It ends with a blank: tokens" "$blank"
check "where it is a token of its own, it is the context's" scored 5 1 "It ends with a blank: " "é and ü"

bytes() { [ "$(jq -c '[.results[].choices[].bytes]' "$work/out.json")" = "[7,21,1,15,2,4,3,10,8,9,4,3,10,4,6,9]" ]; }
check "bytes of each choice, without the blank before it" bytes
answers() { [ "$(jq -c '[.results[] | [.line, .answer]]' "$work/out.json")" = "[[1,1],[2,3],[4,1],[5,1],[6,0],[7,0]]" ]; }
check "answers as indices, labels and letters" answers
# The definition, in jq.
defined() {
    jq -e 'def best(f): [.choices[] | f] | index(max);
        def share(f): [.results[] | if best(f) == .answer then 1 else 0 end] | add / length;
        def near(x): . - x | fabs < 1e-12;
        (share(.logprob)) as $p | (share(.logprob / .bytes)) as $q |
        ([.results[] | best(.logprob) == .acc and best(.logprob / .bytes) == .acc_norm] | all) and
        (.acc | near($p)) and (.acc_norm | near($q)) and ([.results[] | .acc != .acc_norm] | any) and
        (.acc_stderr | near($p * (1 - $p) / 5 | sqrt)) and (.acc_norm_stderr | near($q * (1 - $q) / 5 | sqrt))' "$work/out.json"
}
check "accuracies and their errors by the definition" defined
printed() { choose "$work/items.jsonl" | tr -s ' ' | grep -x "acc $(jq -r .acc "$work/out.json" | xargs printf %.4f) +- $(jq -r .acc_stderr "$work/out.json" | xargs printf %.4f)"; }
check "for people, too" printed
alone() { choose "$work/items.jsonl" --json --batch "$1" | jq -e --slurpfile b "$work/out.json" \
    '[.results[].choices[].logprob] as $a | [$b[0].results[].choices[].logprob] as $b |
     [range($a | length) | ($a[.] - $b[.]) | fabs < 1e-4] | all and length == 16'; }
check "one at a time says the same" alone 1
check "two at a time, too" alone 2

bad() { # WORDS LINE: the second line of a file
    { head -n 1 "$work/items.jsonl"; printf '%s\n' "$2"; } >"$work/bad.jsonl"
    refuses "bad.jsonl:2: $1" choose "$work/bad.jsonl"
}
check "no JSON" bad "no JSON" '{"context": "a'
check "no object" bad "no JSON object" '[1]'
check "no context" bad 'no field "context"' '{"choices": ["a", "b"], "answer": 0}'
check "two contexts" bad 'both "context" and "question"' '{"context": "a", "question": "b", "choices": ["a", "b"], "answer": 0}'
check "no choices" bad 'no field "choices"' '{"context": "a", "answer": 0}'
check "one choice" bad "the choices are no list of two" '{"context": "a", "choices": ["a"], "answer": 0}'
check "a choice that is no text" bad "choice 1: it is no text" '{"context": "a", "choices": ["a", 2], "answer": 0}'
check "no answer" bad 'no field "answer"' '{"context": "a", "choices": ["a", "b"]}'
check "an answer out of range" bad "answer 2: there are choices 0 to 1" '{"context": "a", "choices": ["a", "b"], "answer": 2}'
check "a negative one" bad "answer -1" '{"context": "a", "choices": ["a", "b"], "answer": -1}'
check "a letter out of range" bad 'answer "C"' '{"context": "a", "choices": ["a", "b"], "answer": "C"}'
check "a label that there is not" bad 'answer "B"' '{"context": "a", "choices": {"text": ["a", "b"], "label": ["1", "2"]}, "answer": "B"}'
check "nothing before a choice" bad "choice 0: no token stands before it" '{"context": "", "choices": ["a", "b"], "answer": 0}'
long=$(printf '%065d' 0 | tr 0 '~')
check "too long for the context" bad "choice 1: " "{\"context\": \"a\", \"choices\": [\"a\", \"$long\"], \"answer\": 0}"
check "and says so" grep -q "the model's context has 64" "$work/refuses.err"
: >"$work/empty.jsonl"
check "no items" refuses "empty.jsonl: no items" choose "$work/empty.jsonl"
check "no file" refuses "No such file" choose "$work/absent"
check "another file beside it" refuses "goes without another file" choose "$work/items.jsonl" "$work/text.txt"
tap_done
