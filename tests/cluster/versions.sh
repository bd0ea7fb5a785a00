#!/usr/bin/env bash
# Every service restarted by kill -TERM, one after the other, while a run trains; and programs of the protocol's version
# before this one, built from git: old members with a new shepherd, new members with an old one, and a cluster that is
# upgraded service by service in the middle of a run. Always the bits of an undisturbed run, as far
# as both compilers make the same.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
# A drained worker hands in the first steps of its lease, which makes other bits: leases of one step are never in parts.
rounds=800 inner=1 new=$bin
# That version does not know of -2m and -vnni: a target of both.
if "$bin/pcp" devices | grep -qE '^  \*\* cpu:.*-(amx|2m|vnni)$'; then export PCP_TARGET=${PCP_TARGET:-cpu:x86-64-v4}; fi
text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1

# --- the version before ---
# Sets old to its programs, or why to the reason that there are none. They are built once, into build/previous.
previous() {
    local changed commit dir
    old='' why=''
    if [ "$slow" -gt 1 ] || [ "$new" != build/bin ]; then
        why="only with the usual build"
        return
    fi
    changed=$(git log -1 --format=%H -G'MSG_PROTOCOL = ' -- libshared/msg/protocol.h 2>/dev/null)
    commit=$(git rev-parse --verify -q "${changed:-none}^{commit}^")
    if [ -z "$commit" ] || ! git cat-file -e "$commit:Makefile" 2>/dev/null; then
        why="the clone does not have the version before"
        return
    fi
    dir=build/previous/$commit
    if [ ! -x "$dir/build/bin/pcp-worker" ] && [ "${PCP_LONG:-0}" != 1 ]; then
        why="takes minutes to build: scripts/test --long"
        return
    fi
    if [ ! -x "$dir/build/bin/pcp-worker" ]; then
        mkdir -p "$dir"
        git archive "$commit" | tar -x -C "$dir"
        # The compiler's cache, if there is one, knows most of it already.
        CCACHE_NOHASHDIR=1 make -s -C "$dir" -j2 build/bin/pcp build/bin/pcp-{shepherd,aggregator,compiler,worker} >"$work/make.log" 2>&1 ||
            { tail -n 5 "$work/make.log" >&2; rm -rf "$dir"; why="it does not build here"; return; }
    fi
    old=$dir/build/bin
}
previous
prepared() { # by the programs of $1: what is older can be read by what is newer
    "$1/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 2 --inner-steps $inner --rounds $rounds \
        --validate-every 0 --lr 3e-3 --checkpoint-every 100 --run-dir "$work/run" --prepare-only
}
check "a run is prepared" prepared "${old:-$new}"

# begin NAME PROGRAMS: start a service of the cluster from these programs; its log goes on
begin() {
    local name=$1 program flags
    case $name in
    s0) program=shepherd flags=(--run-dir "$dir" --bind "$control" --config "$work/run/run.json" --checkpoint "$dir/checkpoint"
        --store "sqlite://$dir/pcp.db" --keep-state local --resume latest --heartbeat-ms 100 --timeout-ms $((1500 * slow))
        --leader-ttl-ms $((600 * slow))) ;;
    a0) program=aggregator flags=(--shepherd "$control" --object-dir "$dir/objects" --bind "ipc://$dir/a0.data") ;;
    c0) program=compiler flags=(--shepherd "$control" --cache-dir "$work/plans") ;;
    w?) program=worker flags=(--shepherd "$control" --cache-dir "$work/cache" --state-dir "$dir/state" --threads 1) ;;
    esac
    "$2/pcp-$program" --log-level debug --id "$name" "${flags[@]}" 2>>"$dir/$name.log" >>"$dir/$name.out" &
    pid[$name]=$! inside[$name]=0
}
services=(c0 a0 w0 w1 s0)
count() { grep -cE -- "$2" "$dir/$1.log" 2>/dev/null || [ $? -eq 1 ] || echo 0; }
more() { [ "$(count "$1" "$2")" -gt "$3" ]; }
ended() { not_running "${pid[s0]}"; }
# over: the shepherd ends with status 0
over() {
    local status=0
    eventually 120 ended || { tail -n 5 "$dir/s0.log"; return 1; }
    wait "${pid[s0]}" || status=$?
    unset 'pid[s0]'
    [ "$status" -eq 0 ] || { echo "exit status $status"; tail -n 5 "$dir/s0.log"; return 1; }
}
same_bits() { cmp "$work/$1/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"; } # REFERENCE

# The mean loss of the last rounds.
late_loss() { sed -n 's/.*event=round .* loss=\([0-9.]*\) .*/\1/p' "$work/$1/s0.log" | tail -n 100 | awk '{ sum += $1 } END { print sum / NR }'; }
near() { # REFERENCE: two compilers have made the plans, whose kernels may round otherwise; 1,600 steps make 1 to 3 % of that
    local own theirs
    own=$(late_loss "${dir##*/}") theirs=$(late_loss "$1")
    echo "$own, $1: $theirs"
    awk -v a="$own" -v b="$theirs" 'BEGIN { exit !(a > 0 && b > 0 && (a - b) / b < 0.06 && (b - a) / b < 0.06) }'
}

# calm NAME PROGRAMS: an undisturbed run
calm() {
    cluster "$work/$1"
    for one in "${services[@]}"; do begin "$one" "$2"; done
    check "an undisturbed run: $1" over
    dismiss
}
calm calm "$new"

# roll NAME PROGRAMS: it is told to leave, leaves, is started from these programs, and rounds go on
# shellcheck disable=SC2317 # called by check
roll() {
    local status=0 left
    kill -TERM "${pid[$1]}"
    eventually 60 not_running "${pid[$1]}" || { echo "$1 does not leave"; return 1; }
    wait "${pid[$1]}" || status=$?
    case $1.$status in
    s0.3 | [acw]?.0) ;;
    *) echo "$1 leaves with status $status"; return 1 ;;
    esac
    left=$(count s0 'event=round ')
    begin "$1" "$2"
    eventually 60 more s0 'event=round ' "$left" || { tail -n 5 "$dir/s0.log"; return 1; }
}
# upgrade NAME FROM TO REFERENCE
upgrade() {
    local one
    cluster "$work/$1"
    for one in "${services[@]}"; do begin "$one" "$2"; done
    check "$1: it trains" eventually 60 more s0 'event=round ' 1
    for one in "${services[@]}"; do check "$1: $one is restarted" roll "$one" "$3"; done
    check "$1: it ends" over
    if cmp -s "$work/calm/checkpoint/latest/model.safetensors" "$work/$4/checkpoint/latest/model.safetensors"; then
        check "$1: bit for bit as the undisturbed one" same_bits "$4"
    else
        check "$1: the loss of the undisturbed one" near "$4"
    fi
    check "$1: each window once" test "$(sqlite3 "$dir/pcp.db" 'SELECT min(exactly_once) FROM pcp_ledger')" = 1
    dismiss
}
upgrade restarted "$new" "$new" calm

# mixed NAME SHEPHERD MEMBERS REFERENCE: programs of two versions
mixed() {
    cluster "$work/$1"
    begin s0 "$2"
    for one in c0 a0 w0 w1; do begin "$one" "$3"; done
    check "$1: the run ends" over
    check "$1: bit for bit as among equals" same_bits "$4"
}
speaks() { event "$1" "$2"; }
if [ -n "$old" ]; then
    # Whose compiler made the plan, the version before or this one, a run has the bits of.
    calm calm_old "$old"
    mixed old_members "$new" "$old" calm_old
    check "the shepherd knows that they are old" speaks s0 'event=member_joined member=w0 .*protocol=1 '
    dismiss
    mixed old_shepherd "$old" "$new" calm
    check "the members know that it is old" speaks w0 'event=joined .*protocol=1$'
    dismiss
    upgrade upgraded "$old" "$new" calm_old
    check "in the end all speak the new version" speaks s0 'event=member_joined member=w1 .*protocol=2 '
else
    skip "programs of the version before" "$why"
fi
check "nothing is left running" no_orphans
tap_done
