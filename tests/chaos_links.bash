# shellcheck shell=bash disable=SC2154,SC2034 # chaos.bash and tap.bash, sourced before, set bin, work, storm_...
# chaos_links.bash: the cluster of chaos.bash with its workers' machines behind links. Source it after chaos.bash, in a
# network namespace of the caller's own (storm_links_apart).
#   storm_links_apart SCRIPT...     goes on as that command in such a namespace, once; needs root
#   storm_links MBIT MS             each supervisor, with its workers, gets a network of its own, and a link of that rate
#                                   to all else, on which a message takes MS each way
#   storm_where NAME                sets where: what to put before the command that starts NAME
declare -A storm_holder=()

storm_links_apart() {
    if [ -n "${STORM_APART:-}" ]; then
        ip link set lo up
        return
    fi
    if ! unshare --net sh -c 'ip link add switch type bridge' 2>"$work/probe"; then
        skip "chaos over links" "no network namespaces here: $(head -n 1 "$work/probe")"
        tap_done
        exit
    fi
    rm -rf "$work"
    STORM_APART=yes exec unshare --net -- "$@"
}

storm_links() {
    storm_address=10.77.0.1 storm_limit=${STORM_LIMIT:-$((900 * slow))}
    export PCP_INSECURE=true # these networks have no other machines
    ip link add switch type bridge forward_delay 0 &&
        ip address add $storm_address/24 dev switch && ip link set switch up || return
    storm_link supervisor-0 2 "$@" && storm_link supervisor-1 3 "$@"
}

# A namespace is kept by a process that dies with the test. Its cable ends in eth0 there; with a delay it is two pieces,
# and `wire` between them.
storm_link() { # NAME NUMBER MBIT MS
    local port=port$2 limit=(root tbf rate "${3}mbit" burst 64kb latency 200ms) holder
    setpriv --pdeathsig KILL unshare --net -- sleep infinity </dev/null >/dev/null 2>&1 &
    holder=$!
    disown $holder
    eventually 10 grep -qsx sleep "/proc/$holder/comm" || return
    storm_holder[$1]=$holder
    ip link add "$port" type veth peer name "${port}b" && ip link set "$port" master switch up &&
        ip link set "${port}b" up && ip link add "${port}a" type veth peer name eth0 netns $holder &&
        ip link set "${port}a" up || return
    setpriv --pdeathsig KILL "$bin/wire" --a "${port}a" --b "${port}b" --delay-ms "$4" </dev/null >"$work/$port.log" 2>&1 &
    disown $!
    eventually 10 grep -qs 'event=wired' "$work/$port.log" || return
    nsenter -t $holder -n -- sh -ec "ip link set lo up; ip address add 10.77.0.$2/24 dev eth0; ip link set eth0 up" &&
        nsenter -t $holder -n -- tc qdisc replace dev eth0 "${limit[@]}" &&
        tc qdisc replace dev "$port" "${limit[@]}"
}

storm_where() {
    where=()
    [ -z "${storm_holder[$1]:-}" ] || where=(nsenter -t "${storm_holder[$1]}" -n --)
}

