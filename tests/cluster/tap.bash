# shellcheck shell=bash
# tap.bash: TAP output and process helpers for the cluster tests. Source it; call `tap_done` at the end.
#   check NAME COMMAND...   ok when the command succeeds; says what took ten seconds and more
#   skip NAME REASON        a test that cannot run here
#   at_exit COMMANDS        when the test ends
#   eventually SECONDS COMMAND...   repeat until it succeeds or time is up
#   text                    of the documentation, to train on; less of it where things are slow (PCP_SLOW)
#   gpt2 FLAGS              a model as text; the smallest where things are slow
tap_n=0 tap_failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/pcp-test.XXXXXX")
# shellcheck disable=SC2034 # for the tests that source this file
bin=${PCP_BIN:-build/bin}
# shellcheck disable=SC2034
tests=${bin%/bin}/tests # the unit tests
# shellcheck disable=SC2034
slow=${PCP_SLOW:-1} # time-outs are so many times as long: 10 under valgrind

# A child that is told to end before it has become its program runs the traps of the shell that it was forked
# from: it must not clear up what the test still needs. (There bash 5.2 mistakes the status of a first `[`; of
# `case` it does not.)
at_exit() {
    # shellcheck disable=SC2064 # the commands are known now
    trap "case \$BASHPID in $$) $1 ;; esac" EXIT
}
at_exit "rm -rf '$work'"

check() {
    local name=$1 began=$SECONDS
    shift
    tap_n=$((tap_n + 1))
    if "$@" >"$work/check.out" 2>&1; then
        echo "ok $tap_n - $name"
        [ $((SECONDS - began)) -lt 10 ] || echo "# took $((SECONDS - began)) s"
    else
        echo "not ok $tap_n - $name"
        tail -n 30 "$work/check.out" | sed 's/^/# /'
        tap_failed=$((tap_failed + 1))
    fi
}

skip() {
    tap_n=$((tap_n + 1))
    echo "ok $tap_n - $1 # SKIP $2"
}

eventually() {
    local limit=$((SECONDS + $1 * slow))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$limit" ] || return 1
        sleep 0.1
    done
}

text() { cat README.md docs/*.md | head -c $((slow > 1 ? 20000 : 1000000)); }

gpt2() {
    local small=()
    [ "$slow" -eq 1 ] || small=(--layers 1 --heads 2 --width 16 --block 16 --batch 1)
    "$bin/pcp" model gpt2 "$@" "${small[@]}"
}

# Succeeds when the command fails with a non-zero status below 126 and says the given words on stderr.
refuses() {
    local words=$1 status=0
    shift
    "$@" >"$work/refuses.out" 2>"$work/refuses.err" || status=$?
    if [ "$status" -eq 0 ] || [ "$status" -ge 126 ]; then
        echo "exit status $status"
        return 1
    fi
    grep -qF -- "$words" "$work/refuses.err" || { cat "$work/refuses.err"; return 1; }
}

# No process whose command line names this test's directory is left. One that a check did not wait for (grep -q reads
# a line of what it says) has five seconds to end.
no_orphans() {
    local i
    for ((i = 0; i < 50; i++)); do
        pgrep -f -- "$work" >"$work/pids" || return 0
        sleep 0.1
    done
    xargs ps -fp <"$work/pids"
    return 1
}

tap_done() {
    echo "1..$tap_n"
    [ "$tap_failed" -eq 0 ]
}
