#!/usr/bin/env bash
# The hosts of world.bash are what the tests that use them take them for: networks, names, processes, folders of their
# own; limited, slow and dead links; nothing left of them.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/world.bash
world_needs "hosts with a network and process ids of their own"
interfaces() { sed 's/:.*//' /proc/net/dev /proc/net/route /proc/self/mounts /proc/sys/kernel/hostname; }
before=$(interfaces)

odd=$'Gr\xc3\xb6\xc3\x9fe.OF "x" \xff'
host a
host b
host far "$odd" 40
address_of() { on "$1" hostname -I | tr -d ' \n'; }
own_tmp() { ! on a test -e /tmp/theirs && on a test -d "$work"; }
process_one() { [ "$(on b sh -c 'echo $$')" = 1 ]; }
touch_theirs() { touch "$(seen b /tmp/theirs)"; }
reach() { on a timeout 5 bash -c ": <>/dev/tcp/${address[$1]}/22" 2>&1 | grep -q "Connection refused"; }
check "hosts have one name" test "$(on a uname -n) $(on b uname -n)" = "node node"
check "or any other" test "$(on far uname -n)" = "$odd"
check "and addresses of their own" test "$(address_of b)" = "${address[b]}"
check "a command is process number 1" process_one
check "one writes to its /tmp" touch_theirs
check "the other does not see it, but the test's directory" own_tmp
check "they reach each other" reach b


# took NAME: milliseconds that a connection to it takes, one way and back
took() {
    on a bash -c "begin=\${EPOCHREALTIME/./}; (: <>/dev/tcp/${address[$1]}/22) 2>/dev/null
        echo \$(((\${EPOCHREALTIME/./} - begin) / 1000))"
}
is_far() {
    local ms
    took far >/dev/null # the first one asks for its Ethernet address, too
    ms=$(took far)
    echo "$ms ms"
    [ "$ms" -ge 79 ]
}
check "one is far away" is_far

# sends: 1 MB from a to b; how many milliseconds that took is in $ms
# shellcheck disable=SC2016 # these are Perl's
sink='use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalPort => 9000, Listen => 1, ReuseAddr => 1); open my $o, ">", shift;
    my $c = $s->accept; 1 while read $c, my $x, 65536; print $o "all";'
sends() {
    rm -f "$work/arrived"
    on b timeout 30 perl -e "$sink" "$work/arrived" &
    local server=$! begin
    eventually 10 on a bash -c ": <>/proc/self/fd/0" # a moment for perl
    begin=${EPOCHREALTIME/./}
    eventually 10 on a bash -c "head -c 1000000 /dev/zero >/dev/tcp/${address[b]}/9000" 2>/dev/null
    wait $server
    ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
    echo "$ms ms"
    [ -s "$work/arrived" ]
}
fast() { sends && [ "$ms" -lt 400 ]; }
limited() { sends && [ "$ms" -ge 700 ]; } # 8 Mbit at 10 Mbit/s
check "a link is fast" fast
check "one is limited" rate a 10mbit
check "and slow" limited

cuts() {  unplug b && ! on a timeout 0.5 bash -c ": <>/dev/tcp/${address[b]}/22" 2>"$work/cut.err" && ! grep . "$work/cut.err"; }
check "one is cut: no answer, not even a refusal" cuts
heals() { plug b && eventually 10 reach b; }
check "it heals" heals

fills() {
    disk a "$work/small" 1m && ! on a dd if=/dev/zero of="$work/small/file" bs=64k count=32 &&
        [ "$(stat -c %s "$(seen a "$work/small/file")")" -eq 1048576 ] && ! on b test -e "$work/small/file"
}
check "a disk is full" fills

cluster "$work/c"
on a serve w0 worker --shepherd "tcp://${address[b]}:7000" --cache-dir "$dir/cache"
check "a service starts as process number 1" eventually 60 event w0 'event=start .*pid=1 '
slay TERM w0
check "gets signals, and leaves" leaves w0
on a serve w0 worker --shepherd "tcp://${address[b]}:7000" --cache-dir "$dir/cache"
eventually 60 event w0 'event=start'
killed=$(process w0)
dismiss
check "or is dismissed" not_running "$killed"

holders=("$world_switch" "${world_holder[@]}")
world_end
gone() {
    local one
    for one in "${holders[@]}"; do not_running "$one" || return; done
}
check "nothing is left of the hosts" eventually 10 gone

# A test that is killed takes its hosts along.
cat >"$work/killed.sh" <<'END'
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/world.bash
host a "" 10
dir=$work
on a serve w0 worker --shepherd tcp://10.77.0.9:7000 --cache-dir "$work/cache"
eventually 60 event w0 event=start
echo "$world_switch ${world_holder[a]} $(process w0) $work" >"$1.new" && mv "$1.new" "$1"
while :; do sleep 0.1; done
END
dies_of() { # SIGNAL
    rm -f "$work/pids"
    bash "$work/killed.sh" "$work/pids" >/dev/null 2>&1 &
    local test=$! left
    eventually 60 test -s "$work/pids" || return 1
    read -r -a holders <"$work/pids"
    left=${holders[3]}
    unset 'holders[3]'
    kill "-$1" "$test"
    wait "$test"
    eventually 10 gone || return 1
    [ "$1" = KILL ] || [ ! -e "$left" ] || return 1
    rm -rf "$left"
}
check "a test that is killed leaves no host" dies_of KILL
check "nor one that is told to end" dies_of TERM

check "the machine's own network is as it was" test "$(interfaces)" = "$before"
check "nothing is left running" no_orphans
tap_done
