#!/usr/bin/env bash
# pcp generate: the plan is compiled once, several prompts write what each writes alone, the rules of the choice.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
timeout $((120 * slow)) "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 1 --threads 1 \
    --inner-steps 5 --rounds 4 --lr 3e-3 --run-dir "$work/run" >"$work/train.txt" 2>&1 || { tail -n 15 "$work/train.txt"; exit 1; }

export XDG_CACHE_HOME=$work/cache
write() { "$bin/pcp" generate --checkpoint "$work/run" "$@" 2>>"$work/err"; }

write --prompt "The " --tokens 20 --temperature 0 >"$work/first"
check "it writes the prompt and as many tokens as it is asked for" test "$(wc -c <"$work/first")" -ge 25
again() { PCP_CC=/bin/false write --prompt "The " --tokens 20 --temperature 0 | cmp "$work/first" -; }
check "the second time nothing is compiled" again
compiles() { ! PCP_CC=/bin/false XDG_CACHE_HOME=$work/other write --tokens 1 >/dev/null; }
check "where there is no plan yet it is" compiles
window() { write --prompt "The " --tokens 20 --temperature 0 --window | cmp "$work/first" -; }
check "the whole window of each token says the same" window
plans() { find "$work/small/pcp/plans" -name '*.plan' | wc -l; }
bounded() {
    XDG_CACHE_HOME=$work/small write --tokens 1 >/dev/null && XDG_CACHE_HOME=$work/small write --tokens 1 --window >/dev/null && [ "$(plans)" = 2 ] &&
        XDG_CACHE_HOME=$work/small write --tokens 1 --context 16 --plans-limit 1 >/dev/null && [ "$(plans)" = 1 ]
}
check "beyond --plans-limit only the plan in use stays" bounded
trained() {
    XDG_CACHE_HOME=$work/small PCP_PLANS_LIMIT=1 timeout $((120 * slow)) "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte \
        --workers 1 --threads 1 --inner-steps 1 --rounds 1 --run-dir "$work/bounded" && [ "$(plans)" = 0 ]
}
check "a compiler keeps to it, too" trained

printf 'The \nA\nfour score and seven years ago our fathers\n' >"$work/prompts"
texts() { sed -n 's/.*"text":"\(\([^"\\]\|\\.\)*\)".*/\1/p'; }
alone() { while IFS= read -r line; do write --prompt "$line" --json "$@"; done <"$work/prompts" | texts; }
together() { write --prompts "$work/prompts" "$@" | texts; }
same() { [ "$(together "$@" | wc -l)" = 3 ] && cmp <(alone "$@") <(together "$@"); }
check "prompts of different lengths write what each writes alone" same --tokens 12 --temperature 0
check "drawn, too, two at a time" same --tokens 12 --top-k 20 --top-p 0.9 --seed 5 --batch 2

stops() { # at the first of what is the third letter or blank without
    local all stop json
    all=$(write --prompt "The" --tokens 30 --temperature 0 --json | texts)
    stop=$(grep -o '[a-z ]' <<<"$all" | sed -n 3p)
    json=$(write --prompt "The" --tokens 30 --temperature 0 --stop "$stop" --stop "zzz" --json)
    [[ -n $stop && $json == *'"end":"stop"'* && $(texts <<<"$json") == "${all%%"$stop"*}" ]]
}
check "a stop string ends the text and is not written" stops
never() { ! write --prompt "The " --tokens 30 --bias 32=-inf --seed 3 --json | texts | grep -q " "; }
check "a token that is never to come does not" never
logprobs() { write --prompt "The " --tokens 2 --temperature 0 --json --logprobs 2 | tr '{' '\n' | grep -c '"logprob"' | grep -qx 6; }
check "log-probabilities of tokens and of the likeliest" logprobs
windows() { sed 's/$/\r/' "$work/prompts" >"$work/windows" && cmp <(write --prompts "$work/windows" --tokens 5) <(write --prompts "$work/prompts" --tokens 5); }
check "a file of prompts from Windows is the same" windows
bytes() { printf 'a\xff\n' >"$work/bytes" && write --prompts "$work/bytes" --tokens 1 | grep -qF $'{"prompt":"a\xEF\xBF\xBD",'; }
check "a prompt that is no UTF-8 is told all the same" bytes
check "a prompt beside a file of prompts is refused" refuses "--prompt and --prompts exclude each other" "$bin/pcp" generate \
    --checkpoint "$work/run" --prompt "The " --prompts "$work/prompts"
check "so are log-probabilities that nothing would show" refuses "--logprobs are shown in JSON: give --json" "$bin/pcp" generate \
    --checkpoint "$work/run" --logprobs 2
check "a bias of a token that the model has not is refused" refuses "pcp generate: --bias: token 256" "$bin/pcp" generate \
    --checkpoint "$work/run" --bias 256=1
: >"$work/empty.txt"
check "a text to evaluate that is empty is named" refuses "empty.txt: 0 tokens" "$bin/pcp" eval --checkpoint "$work/run" "$work/empty.txt"
check "a prompt that does not fit is refused" refuses "the model's context has 32" "$bin/pcp" generate --checkpoint "$work/run" --no-slide \
    --prompt "0123456789012345678901234567890123456789"
check "or its beginning is forgotten" test "$(write --prompt "0123456789012345678901234567890123456789" --tokens 40 | wc -c)" -ge 80
check "a bias that is none is refused" refuses "expected TOKEN=NUMBER" "$bin/pcp" generate --checkpoint "$work/run" --bias 3
printf '\n' >"$work/blank"
: >"$work/none"
check "an empty prompt is named by its line" refuses "blank:1: a sequence begins" "$bin/pcp" generate --checkpoint "$work/run" --prompts "$work/blank"
check "and a file without any" refuses "none: holds no prompt" "$bin/pcp" generate --checkpoint "$work/run" --prompts "$work/none"
check "prompts that are not there are refused" refuses "No such file" "$bin/pcp" generate --checkpoint "$work/run" --prompts "$work/absent"

# --- names of what is not there: each once, and none that is empty ---
once() { # NAME COMMAND...: the command fails, and its error has the name once
    local name=$1
    shift
    refuses "$name" "$@" || return 1
    [ "$(grep -oF -- "$name" "$work/refuses.err" | wc -l)" = 1 ] || { cat "$work/refuses.err"; return 1; }
}
pcp() { timeout 60 "$bin/pcp" "$@"; }
absent=$work/absent
check "a published model that is not there is named once" once "$absent" pcp model --from "$absent"
check "a checkpoint to write with" once "$absent" pcp generate --checkpoint "$absent"
check "a checkpoint to evaluate" once "$absent" pcp eval --checkpoint "$absent" "$work/text.txt"
check "a text to evaluate" once "$absent" pcp eval --checkpoint "$work/run" "$absent"
check "choices" once "$absent" pcp eval --checkpoint "$work/run" --choices "$absent"
check "of a run it is told where its checkpoints are" refuses "a run's are in $work/run/checkpoint" pcp checkpoint list "$work/run"
check "for what is exported, too" refuses "a run's are in $work/run/checkpoint" pcp checkpoint export "$work/run" --out "$work/out"
for verb in list verify sign prune; do check "a directory to $verb" once "$absent" pcp checkpoint $verb "$absent"; done
check "a checkpoint to export" once "$absent" pcp checkpoint export "$absent" --out "$work/out"
cp -r "$work/run/checkpoint/latest/" "$work/damaged" && printf x >>"$work/damaged/model.safetensors"
check "a damaged one" once "$work/damaged" pcp checkpoint verify "$work/damaged"
for verb in list verify sign prune export; do check "$verb: an empty name is refused" refuses "PATH: the name is empty" pcp checkpoint $verb "" --out "$work/out"; done
for flag in --out --dir --hf --adapters; do
    check "export $flag: an empty name is refused" refuses "flag $flag: ${flag#--}: the value is empty" pcp checkpoint export "$absent" $flag "" # of nothing: else it would be written to /
done
check "model: an empty name is refused" refuses "flag --from: from: the value is empty" pcp model --from ""
check "generate: an empty name is refused" refuses "flag --checkpoint: checkpoint: the value is empty" pcp generate --checkpoint ""
check "train: an empty checkpoint to go on from is refused" refuses "flag --resume: resume: the value is empty" pcp train "$work/model.mlir" --data "$work/text.txt" --resume ""
check "an empty key is refused, too" refuses "flag --key-file: key_file: the value is empty" pcp run list --key-file ""
for flag in --tokens --tls-cert --key; do
    check "pcp-gateway $flag: an empty name is refused" refuses "flag $flag: " timeout 60 "$bin/pcp-gateway" --http 127.0.0.1:0 --model a="$work/run" $flag ""
done
check "eval: an empty name is refused" refuses "FILE: the name is empty" pcp eval --checkpoint "$work/run" ""

# --- a tokenizer that has more tokens than the model has scores ---
wide=$work/wide
cp -r "$work/run/checkpoint/latest/" "$wide"
widened() { # the manifest's first version has no check of itself
    pcp tokenizer train --vocab 264 --out "$work/wide.json" "$work/text.txt" &&
        jq --slurpfile tokenizer "$work/wide.json" '.version = 1 | del(.check, .seal) | .tokenizer = $tokenizer[0]' \
            "$work/run/checkpoint/latest/manifest.json" >"$wide/manifest.json" && pcp checkpoint verify "$wide"
}
check "a checkpoint with another tokenizer" widened
fits_not="$wide: its tokenizer (bpe) has 264 tokens, but the vocabulary of its model.mlir 256"
check "is refused to write with" refuses "$fits_not" pcp generate --checkpoint "$wide"
check "and to evaluate" refuses "$fits_not" pcp eval --checkpoint "$wide" "$work/text.txt"
printf '{"ctx":"a","endings":["b","c"],"label":0}\n' >"$work/choices.jsonl"
check "also by choices" refuses "$fits_not" pcp eval --checkpoint "$wide" --choices "$work/choices.jsonl"
check "and to serve" refuses "$fits_not" timeout 60 "$bin/pcp-gateway" --http 127.0.0.1:0 --model a="$wide"
check "and to train with" refuses "264 different tokens (tokenizer $work/wide.json), but the model's vocabulary has 256 ($work/model.mlir)" \
    pcp train "$work/model.mlir" --data "$work/text.txt" --tokenizer "$work/wide.json" --prepare-only --run-dir "$work/never"
tap_done
