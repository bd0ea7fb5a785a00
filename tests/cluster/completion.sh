#!/usr/bin/env bash
# pcp completion: the script in a real bash, which is asked what it would complete; and in zsh, if there is one.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

PATH=$(cd "$bin" && pwd):$PATH
pcp completion bash >"$work/bash.sh"
check "it is printed" test -s "$work/bash.sh"
check "bash takes it" bash -n "$work/bash.sh"
check "and completes pcp with it" bash -c "source '$work/bash.sh' && complete -p pcp | grep -q -- '-F _pcp pcp'"
check "and the services" bash -c "source '$work/bash.sh' && complete -p pcp-worker"

# completes WORD...: what the last of these words may become, on one line
completes() {
    bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pcp; echo "${COMPREPLY[*]}"' _ "$work/bash.sh" "$@"
}
says() {
    local want=$1
    shift
    [ "$(completes "$@")" = "$want" ] || { echo "$*: $(completes "$@")"; return 1; }
}
check "the commands" says "$(pcp --commands | tr '\n' ' ')help" pcp ""
check "that begin so" says "check checkpoint" pcp check
check "verbs of a command" says "migrate status" pcp db ""
check "in several lines of its usage" says "list logs" pcp run l
check "a model is no verb" says "" pcp train ""
check "flags" says "--codec" pcp train model.mlir --cod
check "of a verb alone" says "--checkpoint-every --checkpoint-keep --checkpoint" pcp run submit --checkp
check "which others have not" says "" pcp run list --checkp
check "a flag that turns off" says "--no-shuffle" pcp train --no-sh
for flag in codec outer-rule schedule optimizer precision; do
    want=$(pcp options | sed -n "s/^| ${flag//-/_} *| [^|]* | \([^|]*[^ |]\) *|.*/\1/p" | tr -d ,)
    check "the words of --$flag" says "$want" pcp train model.mlir "--$flag" ""
done
check "that begin so" says "nesterov" pcp train --outer-rule n
check "behind =" says "bf16 bf16x3" pcp compile --precision = b
check "nothing for a number" says "" pcp train --lr 1
check "flags of a service" says "--cache-dir --cache-limit" pcp-worker --cac
check "all flags of pcp train" test "$(completes pcp train -- | wc -w)" -gt 50
check "another shell is refused" refuses "say for which shell" pcp completion fish

if command -v zsh >/dev/null; then
    pcp completion zsh >"$work/zsh.sh"
    zsh_says() {
        zsh -f -c 'source "$1" 2>/dev/null; shift; setopt ksharrays; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
            compgen() { local w; for w in ${=2}; do [[ $w != ${4}* ]] || print -r -- $w; done; }
            _pcp; [ "${_comps[pcp]}" ] && echo "${COMPREPLY[*]}"' _ "$work/zsh.sh" pcp train --outer-rule ""
    }
    check "zsh takes it, too" test "$(zsh_says)" = "nesterov average"
else
    skip "zsh takes it, too" "no zsh"
fi
tap_done
