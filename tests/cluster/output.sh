#!/usr/bin/env bash
# What commands print for programs: -o table|json|yaml of all that list, --json, help of each command two ways, no
# colours where none belong.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
pcp() { "$bin/pcp" "$@"; }

text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
check "a run with checkpoints" pcp train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 1 --threads 1 \
    --rounds 2 --inner-steps 2 --checkpoint-every 1 --run-dir "$work/run"
pcp db migrate --store "sqlite://$work/run/pcp.db" >/dev/null
check "keys" pcp keys init --dir "$work/keys"

# command: what a table of it has; what of its JSON a program asks, and the answer
checkpoint_list="checkpoint list $work/run/checkpoint"
checkpoint_verify="checkpoint verify $work/run/checkpoint"
db_status="db status --store sqlite://$work/run/pcp.db"
keys_show="keys show $work/keys/shepherd.key"
formats() { # WORDS TABLE JQ
    local words
    read -ra words <<<"$1"
    as() { pcp "${words[@]}" "$@"; }
    check "${words[*]:0:2} as a table" bash -c "'$bin/pcp' $1 | grep -qE -- '$2'"
    check "  which is what -o table prints" cmp <(as) <(as -o table)
    check "  as JSON: $3" bash -c "'$bin/pcp' $1 -o json | jq -e '$3'"
    check "  which is what --json prints" cmp <(as -o json) <(as --json)
    check "  and -ojson" cmp <(as -o json) <(as -ojson)
    if python3 -c 'import yaml' 2>/dev/null; then
        check "  the same as YAML" cmp <(as -o json | jq -S .) \
            <(as --output yaml | python3 -c 'import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))' | jq -S .)
    else
        check "  as YAML" bash -c "'$bin/pcp' $1 --output yaml | grep -qE '^(- )?\"?[a-z_]+\"?:'"
    fi
    check "  another format is refused" refuses "table|json|yaml" as -o xml
}
if command -v jq >/dev/null; then
    formats "$checkpoint_list" '^round-000002 +2 ' '.[0].round == 2 and .[0].state == "resumable" and (.[0].loss | type) == "number"'
    formats "$checkpoint_verify" '^round-000002 .* whole$' 'length > 0 and all(.[]; .state == "whole")'
    formats devices '^cpu:0 ' '.devices[0].device == "cpu:0" and ([.targets[] | select(.chosen_by_workers)] | length) == 1'
    formats "$db_status" '^program:  version' '.database == .program and .program > 10'
    formats "$keys_show" '^role     shepherd$' '.role == "shepherd" and .fault == null and (.public | length) == 64'
    check "doctor as JSON" bash -c "'$bin/pcp' doctor --ports '' -o json | jq -e '[.[].check] | length > 5'"
    check "and as YAML" bash -c "'$bin/pcp' doctor --ports '' -o yaml | grep -q '^- check: '"
else
    skip "formats" "jq is not installed: scripts/setup"
fi
largest=$(find "$work/run/checkpoint/round-000002" -type f -size +20k | head -n 1)
printf 'not what was there' | dd of="$largest" bs=1 seek=9000 conv=notrunc 2>/dev/null
damaged() { ! pcp checkpoint verify "$work/run/checkpoint" -o json >"$work/bad" 2>"$work/bad.err" && grep -q '"state": "damaged"' "$work/bad" && grep -q '"fault": "' "$work/bad"; }
check "what is damaged is told to programs, too" damaged

# --- what cannot be printed ---
unprinted() { # WORDS...: the command fails, and says why
    local got=0
    pcp "$@" >/dev/full 2>"$work/full" || got=$?
    if [ "$got" != 1 ] || ! grep -q "^pcp $1: standard output: " "$work/full"; then
        echo "exit status $got" && cat "$work/full"
        return 1
    fi
}
check "a model that a full disk cuts off is an error" unprinted model gpt2 --layers 1
check "and what the compiler makes of one" unprinted compile "$work/model.mlir"
check "a plan as text" unprinted compile "$work/model.mlir" --emit plan
check "tokens" unprinted tokenizer encode --tokenizer byte "$work/text.txt"
check "a list" unprinted devices
check "and help" unprinted train --help
check "a list of devices takes no word" refuses 'unexpected word "vulkan"' pcp devices vulkan
left() { # WORDS...: who has closed the pipe wants no more
    { pcp "$@" 2>"$work/left" || echo "exit status $?" >>"$work/left"; } | true
    if [ -s "$work/left" ] && [ "$(cat "$work/left")" != "exit status 141" ]; then
        cat "$work/left"
        return 1
    fi
}
check "a reader that leaves is none" left doctor --ports ''

# --- help follows from the tables ---
same_help() {
    local one
    for one in $(pcp --commands); do
        cmp <(pcp help "$one") <(pcp "$one" --help) || { echo "$one"; return 1; }
        pcp help "$one" | grep -q "^usage: pcp $one" || { echo "$one has no usage"; return 1; }
        pcp --help | grep -qE "^  $one " || { echo "$one is not listed"; return 1; }
    done
}
check "pcp help X is pcp X --help, for each X" same_help
check "of none that is not there" refuses 'there is no command "nothing"' pcp help nothing
check "how to turn off what is on is in the help" bash -c "'$bin/pcp' train --help | grep -qF '[true] (--no-shuffle: off)'"
check "and in the page for man, too" bash -c "'$bin/pcp' train --help-man | grep -qF '(\\-\\-no\\-shuffle: off)'"
check "-o is in the help" bash -c "'$bin/pcp' run --help | grep -q -- '-o, --output table|json|yaml'"
check "and in the page for man" bash -c "'$bin/pcp' run --help-man | grep -qF -- '.B \\-o, \\-\\-output'"
check "which completion knows" test "$(bash -c 'source <("$0" completion bash); COMP_WORDS=("$0" devices -o ""); COMP_CWORD=3; _pcp; echo "${COMPREPLY[*]}"' "$(cd "$bin" && pwd)/pcp")" = "table json yaml"
check "another letter is an error" refuses "two dashes" pcp devices -x
check "of a command that lists nothing, too" refuses "two dashes" pcp ops -o json
check "a letter without a value" refuses "value is missing" pcp devices -o
no_colours() { local one; for one in $(pcp --commands); do ! script -qefc "'$bin/pcp' $one --help" /dev/null </dev/null | grep -q $'\033' || { echo "$one"; return 1; }; done; }
check "no help has colours, also on a terminal" no_colours
tap_done
