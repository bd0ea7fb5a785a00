#!/usr/bin/env bash
# A cluster with keys under all attacks at once while it trains: strangers (noise, greetings, messages without end, what
# another connection has said), members of another cluster, with expired and revoked keys, or who say what is not theirs;
# floods with a good key; compilers whose plans are not signed, and one whose code attacks its runner; half requests for
# metrics. Each kind is refused and counted under its reason, and the run ends with its usual bits.
#   PCP_SIEGE_S=3600 scripts/test --long -k siege_keys
#       for an hour; what services hold is looked at every ten seconds, and is as much at its end as at its beginning
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
seconds=${PCP_SIEGE_S:-20} keys=$work/keys port=$((20000 + RANDOM % 10000)) rounds=$((20 + seconds / 6))
period=$((seconds > 100 ? 10 : 1))
gpt2 --layers 2 --heads 2 --width 64 --block 16 --vocab 256 --batch 2 >"$work/model.mlir" || exit 1

# --- keys ---
issue() {
    local name=$1 role=$2
    shift 2
    "$bin/pcp" keys issue --dir "$keys" --role "$role" --name "$name" "$@" >"$work/issue.out"
}
"$bin/pcp" keys init --dir "$keys" >"$work/issue.out"
"$bin/pcp" keys init --dir "$work/other" >"$work/issue.out"
for role in worker aggregator compiler operator metrics viewer; do issue "$role" "$role"; done
for name in bare flipped strange; do issue $name compiler; done
issue old worker --days 0
"$bin/pcp" keys issue --dir "$work/other" --name worker >"$work/issue.out"
"$bin/pcp" keys issue --dir "$work/other" --role compiler --name c9 >"$work/issue.out"
sed "s/^server .*/$(grep '^server ' "$keys/worker.key")/" "$work/other/worker.key" >"$work/foreign.key"
chmod 600 "$work/foreign.key"

# --- the run ---
train() { # NAME ENDPOINT SHEPHERD'S FLAGS
    cluster "$work/$1" "$2"
    shift 2
    prepare --replicas 2 --inner-steps 2 --rounds $rounds || return 1
    sed -i 's/"run": "[^"]*"/"run": "same"/; s/{/{"work_wait_s": 30,/' "$dir/run.json"
    shepherd --workers 2 "$@"
}
trained() { sed -n 's/.*event=round .*round=\([0-9]*\).*/\1/p' "$dir/shepherd.log" | tail -n 1; }
# Workers come and go, so that the rounds last as long as the siege. They are killed: one that leaves hands in a part of its
# lease, and a round of parts has other bits.
dismissed() { # NAME: its next log begins anew
    slay KILL "$1"
    wait "${pid[$1]}"
    unset "pid[$1]"
    cat "$dir/$1.log" >>"$dir/$1.before"
}
pace() {
    local one want=$((rounds * SECONDS / (seconds + 1))) has
    has=$(trained)
    for one in worker-0 worker-1; do
        if [ "${has:-0}" -ge "$want" ] || [ "$want" -gt $((rounds - 8)) ]; then
            [ -z "${pid[$one]:-}" ] || dismissed $one
        elif [ -z "${pid[$one]:-}" ]; then
            worker $one --key "$keys/worker.key"
        fi
    done
}

# --- who attacks ---
hostile() { # NAME FLAGS
    local name=$1
    shift
    launch "$name" "$bin/hostile-member" --shepherd "$control" --log-level debug --lease nothing --credit 0 "$@"
}
stranger() { # NAME OFFSET FLAGS
    local name=$1 at=$((port + $2))
    shift 2
    launch "$name" "$bin/besiege" --port $at --seconds 1e6 --replay "$work/said" --connections 11 \
        --how silent,idle,noise,garbage,words,blocks,drip,endless,crumbs,locked,replay "$@"
}
flood() { # NAME ENDPOINT FLAGS
    local name=$1 to=$2
    shift 2
    launch "$name" "$bin/flood-member" --target "$to" --key "$keys/worker.key" --id "worker-$name" "$@"
}
floods() { # SUFFIX FLAGS
    local suffix=$1
    shift
    flood "control$suffix" "$control" --how words,blocks,parts,beats "$@"
    flood "data$suffix" "$data" --how words,blocks,parts "$@"
    flood "telemetry$suffix" "tcp://127.0.0.1:$((port + 1))" --type PUB --how words,blocks,parts "$@"
    flood "events$suffix" "tcp://127.0.0.1:$((port + 2))" --type SUB --how topics "$@"
}
wave=0
members=(foreign old role other bold looker gone)
# A wave of members who should not be there, and for some seconds of floods as fast as they go.
next_wave() {
    wave=$((wave + 1))
    issue gone$wave worker
    hostile foreign --id worker-f --key "$work/foreign.key"
    hostile old --id old-1 --key "$keys/old.key"
    hostile role --id worker-r --kind cli --key "$keys/worker.key"
    hostile other --id aggregator-9 --key "$keys/worker.key"
    hostile bold --id worker-b --says others --key "$keys/worker.key"
    hostile looker --id viewer-l --kind cli --says others --key "$keys/viewer.key"
    hostile gone --id gone$wave-1 --key "$keys/gone$wave.key"
    floods _fast --connections 8
}
end_floods() {
    local one
    for one in control data telemetry events; do end "${one}_fast"; done
    "$bin/pcp" keys revoke gone$wave --dir "$keys" >"$work/issue.out"
}
end() {
    [ -n "${pid[$1]:-}" ] || return 0
    slay KILL "$1"
    wait "${pid[$1]}" 2>>"$work/noise"
    unset "pid[$1]"
}
end_wave() { for one in "${members[@]}"; do end "$one"; done; }

# --- what services hold ---
watched=(shepherd aggregator-0 compiler-0 metrics)
sample() {
    local one
    for one in "${watched[@]}"; do
        echo "$SECONDS $one $(awk '/^VmRSS/ { print $2 }' "/proc/${pid[$one]}/status") $(find "/proc/${pid[$one]}/fd" -mindepth 1 | wc -l)"
    done >>"$work/samples"
    [ $((SECONDS % 60)) -ge "$period" ] || tail -n ${#watched[@]} "$work/samples" | awk -v round="$(trained)" '
        { line = line sprintf("; %s %d MB, %d files", $2, $3 / 1024, $4) } END { print "# " $1 " s, round " round line }'
}
# flat NAME: medians of the second and last quarter; in the first one heaps grow to what they work with. Descriptors are those of the attackers, too, who come and go.
flat() {
    local a b c d
    a=$(median "$1" 3 1 4) b=$(median "$1" 3 3 4) c=$(median "$1" 4 1 4) d=$(median "$1" 4 3 4)
    echo "# $1: $a -> $b KiB, $c -> $d files"
    [ "$b" -le $((a * 110 / 100 + 4096)) ] && [ "$d" -le $((c * 110 / 100 + 2)) ]
}
median() { # NAME COLUMN QUARTER OF
    awk -v who="$1" -v column="$2" -v from=$((seconds * $3 / $4)) -v to=$((seconds * ($3 + 1) / $4)) \
        '$2 == who && $1 >= from && $1 < to { print $column }' "$work/samples" | sort -n |
        awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] + 0 }'
}
figures() { for one in "${watched[@]}"; do flat "$one"; done; }
refusals() { curl -s --max-time 20 "http://127.0.0.1:$http/metrics" | grep '^pcp_refusals_total' >"$work/refusals"; }
counted() { refusals && grep -qE "service=\"$1\",reason=\"$2\"\} [1-9]" "$work/refusals"; }

train calm "ipc://$work/calm/control"
aggregator a0
compiler c0
worker w0
worker w1
check "a run in peace ends" ends 0
dismiss

rm -rf "$work/plans" # the other one's are made anew, by a compiler that adds to them
cat >"$work/hostile.c" <<'C'
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
__attribute__((constructor)) static void attack(void)
{
    if (fork() == 0) _exit(0);
    (void)!open("/etc/passwd", O_RDONLY);
    socket(AF_INET, SOCK_STREAM, 0);
}
C
cat >"$work/cc" <<C
#!/bin/sh
for word; do [ "\$word" = -shared ] && exec gcc -fPIC -D_GNU_SOURCE "\$@" "$work/hostile.c"; done
exec gcc "\$@"
C
chmod +x "$work/cc"
events=tcp://127.0.0.1:$((port + 2))
data="tcp://127.0.0.1:$((port + 3))?key=$(sed -n 's/^public //p' "$keys/aggregator.key")"
train beset "tcp://127.0.0.1:$port" --key "$keys/shepherd.key" --revoked "$keys/revoked" \
    --telemetry "tcp://127.0.0.1:$((port + 1))" --events "$events"
serve metrics metrics --events "$events" --http 127.0.0.1:0 --key "$keys/metrics.key"
aggregator aggregator-0 --bind "tcp://127.0.0.1:$((port + 3))" --key "$keys/aggregator.key" --revoked "$keys/revoked"
check "the aggregator joins" eventually 30 event shepherd 'event=member_joined member=aggregator-0'
check "metrics are served" eventually 30 event metrics 'event=listening'
http=$(sed -n 's/.*event=listening port=\([0-9]*\).*/\1/p' "$dir/metrics.log" | head -n 1)
launch tap "$bin/tap-line" --listen $((port + 4)) --port "$port" --out "$work/said"
launch heard "$bin/hostile-member" --shepherd "tcp://127.0.0.1:$((port + 4))" --id worker-h --credit 0 --key "$keys/worker.key"
check "a session with a key is overheard" eventually 30 event heard 'event=welcome'
end heard
check "all of it" leaves tap
liar() { hostile "$1" --kind compiler --id "$1" --key "$keys/$1.key" --credit 1 "${@:2}"; }
liar bare --plan unsigned
liar flipped --plan flipped
liar strange --plan signed --seal-key "$work/other/c9.key"
worker worker-0 --key "$keys/worker.key"
for name in bare flipped strange; do
    check "a plan is refused: $name" eventually 60 event shepherd "event=plan_refused .*compiler=$name"
done
PCP_CC=$work/cc compiler compiler-0 --key "$keys/compiler.key"
check "one that is signed is taken" eventually 60 event shepherd 'event=plan_ready'

SECONDS=0
stranger at_control 0
stranger at_telemetry 1 --type PUB
stranger at_events 2 --type SUB
stranger at_data 3
launch requests "$bin/besiege" --port "$http" --seconds 1e6 --connections 6 --how silent,noise,idle
floods "" --rate 300 --connections 4
hostile nokey --id worker-x
launch askers "$bin/flood-member" --target "$data" --key "$keys/viewer.key" --how asks --connections 2 --rate 20
launch brief "$bin/flood-member" --target "$control" --key "$keys/worker.key" --id worker-c --how hello --connections 4 --rate 20 --life-ms 500
due=0 calm=$((seconds + 1)) sampled=-$period
while [ $SECONDS -lt "$seconds" ]; do
    [ $SECONDS -lt $due ] || { next_wave; calm=$((SECONDS + 6)) due=$((SECONDS + 60)); }
    [ $SECONDS -lt $calm ] || { end_floods; calm=$((seconds + 1)); }
    [ $SECONDS -lt $((due - 48)) ] || end_wave
    [ $SECONDS -lt $((sampled + period)) ] || { sampled=$SECONDS; sample; }
    pace
    sleep 0.5
done
if [ "$seconds" -ge 600 ]; then
    for one in "${watched[@]}"; do check "flat: $one" flat "$one"; done
fi
figures
[ $calm -gt "$seconds" ] || end_floods
end_wave
for reason in no_key unknown_key revoked expired role messages bytes signature; do
    check "the shepherd counts: $reason" eventually 60 counted shepherd $reason
done
for reason in no_key role messages bytes; do
    check "the aggregator counts: $reason" eventually 60 counted aggregator-0 $reason
done
sed 's/^/# /' "$work/refusals"
for one in worker-0 worker-1; do [ -n "${pid[$one]:-}" ] || worker $one --key "$keys/worker.key"; done
[ -z "${PCP_SIEGE_LOGS:-}" ] || cp -r "$dir" "$work/samples" "$PCP_SIEGE_LOGS"
check "the run ends well" ends 0
check "with the bits of the one in peace" same_bits
if grep -sq 'event=cage .*calls=1' "$dir"/worker-[01].{log,before}; then
    check "calls of the plan's code were refused" grep -sq 'event=cage_refused' "$dir"/worker-[01].{log,before}
else
    skip "calls of the plan's code are refused" "no seccomp, or a sanitizer"
fi
dismiss
check "nothing is left running" no_orphans
tap_done
