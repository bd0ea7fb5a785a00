# shellcheck shell=bash disable=SC2154 # tap.bash and cluster.bash, sourced before, set work, dir, pid, ...
# world.bash: a small internet for cluster tests: hosts with a network, a name and process ids of their own. Source it
# after cluster.bash.
#   world_needs NAME                 skips the file as NAME where there can be no such hosts (they need root)
#   host NAME [HOSTNAME [DELAY_MS]]  a machine; its address is ${address[NAME]}. HOSTNAME may be anything of up to 64
#                                    bytes (default: "node", the same for all); DELAY_MS: what a message takes each way
#   on NAME COMMAND...               run it there: `on a serve w0 worker ...`, `on a aggregator a0`, `on a ls /tmp`
#   rate NAME 20mbit                 of its link, in both directions
#   long_buffers NAME                TCP there may have 128 MiB on their way: a long fast link holds more than systems allow
#   unplug NAME, plug NAME           its link loses everything, silently; and no longer
#   disk NAME DIR SIZE               a file system of that size ("2m") at DIR, for what is started there afterwards
#   seen NAME PATH                   that path of the host as seen from here
#   world_end                        the end of all; also comes by itself, however the test ends
# Every command of a host is process 1 of a PID namespace of its own, so that services everywhere have equal pids, and
# sees a /tmp and /dev/shm that are the host's. The test's directory is the same on all hosts: a shared volume.
# Namespaces are known by processes that do nothing and die with the test; nothing in the machine's own network changes.
# Links of these hosts are tried without keys, but where a test gives some.
export PCP_INSECURE=true
declare -A address=() world_holder=() world_port=()
world_switch='' world_n=0

world_needs() {
    local tool missing=''
    for tool in ip tc bridge unshare nsenter setpriv; do command -v $tool >/dev/null || missing=$tool; done
    if [ "$(id -u)" -ne 0 ]; then
        missing='only root can make hosts'
    elif [ -n "$missing" ]; then
        missing="there is no $missing here (scripts/setup)"
    elif ! world_probe 2>"$work/probe"; then
        missing="no namespaces here: $(head -n 1 "$work/probe")"
    else
        return 0
    fi
    skip "$1" "$missing"
    tap_done
    exit
}

world_probe() {
    unshare --net --uts --mount --pid --fork --mount-proc sh -c '
        ip link add one type veth peer name two && ip link add switch type bridge &&
        tc qdisc add dev one root tbf rate 1mbit burst 64kb latency 100ms'
}

# world_hold FLAGS: a process that keeps new namespaces; its id is world_pid
world_hold() {
    setpriv --pdeathsig KILL unshare "$@" -- sleep infinity </dev/null >/dev/null 2>&1 &
    world_pid=$!
    disown "$world_pid" # nobody waits for it, nor is told when it is killed
    eventually 10 grep -qsx sleep "/proc/$world_pid/comm"
}

world_in_switch() { nsenter -t "$world_switch" -n -- "$@"; }

world_start() {
    [ -z "$world_switch" ] || return 0
    world_hold --net || return 1
    world_switch=$world_pid
    world_in_switch sh -ec '
        echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
        ip link add switch type bridge forward_delay 0
        ip link set switch up'
}

host() {
    local name=$1 host_name=${2:-node} delay_ms=${3:-0}
    world_start && world_hold --net --uts --mount || return 1
    world_n=$((world_n + 1))
    world_holder[$name]=$world_pid world_port[$name]=port$world_n address[$name]=10.77.0.$world_n
    world_wire "$name" "$delay_ms" &&
        nsenter -t "$world_pid" -n -u -m -- bash -ec "$(declare -f world_furnish); world_furnish \"\$@\"" - \
            "$host_name" "${address[$name]}" "$work" "$PWD"
}

# Its cable, from eth0 to a port of the switch; with a delay in two pieces and `wire` between them.
world_wire() {
    local port=${world_port[$1]} end=${world_port[$1]} holder=${world_holder[$1]}
    if [ "$2" -gt 0 ]; then
        end=${port}a
        world_in_switch ip link add "$port" type veth peer name "${port}b" || return 1
        world_in_switch ip link set "${port}b" up
    fi
    world_in_switch ip link add "$end" type veth peer name eth0 netns "$holder" &&
        world_in_switch ip link set "$end" up && world_in_switch ip link set "$port" master switch up || return 1
    [ "$2" -eq 0 ] && return
    setpriv --pdeathsig KILL nsenter -t "$world_switch" -n -- "$bin/wire" --a "$end" --b "${port}b" --delay-ms "$2" \
        </dev/null >"$work/$port.log" 2>&1 &
    disown $!
    eventually 10 grep -qs 'event=wired' "$work/$port.log"
}

# Inside a host: its name, its end of the cable, /tmp and /dev/shm of its own but for the folders given.
world_furnish() {
    local host_name=$1 own_address=$2 one n=0
    shift 2
    printf %s "$host_name" >/proc/sys/kernel/hostname
    echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
    ip link set lo up
    ip address add "$own_address/24" dev eth0
    ip link set eth0 up
    mount -t tmpfs world /mnt
    mount -t tmpfs world /dev/shm
    for one in "$@"; do
        mkdir "/mnt/$((++n))"
        mount --bind "$one" "/mnt/$n"
    done
    mount -t tmpfs -o mode=1777 world /tmp
    n=0
    for one in "$@"; do
        n=$((n + 1))
        case $one/ in
        /tmp/*) mkdir -p "$one" && mount --move "/mnt/$n" "$one" ;;
        *) umount "/mnt/$n" ;;
        esac
    done
    umount /mnt
}

on() {
    local within=(setpriv --pdeathsig KILL nsenter -t "${world_holder[$1]}" -n -u -m "--wdns=$PWD" --
        unshare --pid --fork --kill-child --mount-proc --)
    shift
    if [ "$(type -t "$1")" = function ]; then "$@"; else "${within[@]}" "$@"; fi
}

# Two milliseconds of it at a time, and one segment as large as they come at least: cut up for the bucket, segments
# cost a fast link's emulation more than the rate leaves.
rate() {
    local limit=(root tbf rate "$2" burst 64kb latency 200ms) mbit=${2%mbit}
    [[ $mbit = *[!0-9]* ]] || [ "$mbit" -le 256 ] || limit[5]=$((mbit / 4))kb
    nsenter -t "${world_holder[$1]}" -n -- tc qdisc replace dev eth0 "${limit[@]}" &&
        world_in_switch tc qdisc replace dev "${world_port[$1]}" "${limit[@]}"
}

long_buffers() {
    nsenter -t "${world_holder[$1]}" -n -- sh -ec 'cd /proc/sys/net/ipv4
        echo 4096 131072 134217728 >tcp_rmem
        echo 4096 65536 134217728 >tcp_wmem'
}

# The switch stops to forward; the host's own end stays up, as when a router somewhere else fails.
unplug() { world_in_switch bridge link set dev "${world_port[$1]}" state 0; }
plug() { world_in_switch bridge link set dev "${world_port[$1]}" state 3; }

disk() {
    mkdir -p "$2" && nsenter -t "${world_holder[$1]}" -m -- mount -t tmpfs -o "size=$3,mode=1777" world "$2"
}
seen() { echo "/proc/${world_holder[$1]}/root$2"; }

world_end() {
    [ -n "$world_switch" ] || return 0
    kill -KILL "${world_holder[@]}" "$world_switch" 2>/dev/null
    world_holder=() world_switch=''
}
at_exit "dismiss; world_end; rm -rf '$work'"
