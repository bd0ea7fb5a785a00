# shellcheck shell=bash
# servers.bash: private PostgreSQL and Redis servers for tests: own data in a temporary directory, own
# port, loopback only, gone at the end. Source it after tap.bash. The system's servers are never touched.
#   postgres_start           sets postgres_port and postgres_url; fails when PostgreSQL is not installed
#   postgres_restart MODE    stop (fast | immediate) and start again
#   postgres_stop MODE, postgres_again
#   redis_start              sets redis_port and redis_url
#   redis_stop, redis_again  (kill -9, and the same port again)
#   postgres_restart_command MODE, redis_stop_command, redis_again_command   print command lines for sh
#   servers_stop             stops and removes all; tap.bash's trap on EXIT is extended by it
postgres_dir='' postgres_port='' postgres_url='' redis_dir='' redis_port='' redis_url=''

# PostgreSQL refuses to run as root.
as_postgres() {
    if [ "$(id -u)" -ne 0 ]; then
        "$@"
    else
        setpriv --reuid=postgres --regid=postgres --clear-groups env HOME="$postgres_dir" "$@"
    fi
}

# A port that nobody listens on; the caller tries another when it was taken meanwhile.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
}

postgres_programs() {
    find /usr/lib/postgresql -maxdepth 3 -name pg_ctl 2>/dev/null | sort -V | tail -n 1 | xargs -r dirname
}

postgres_again() {
    as_postgres "$postgres_bin/pg_ctl" -D "$postgres_dir/data" -l "$postgres_dir/log" -w -t 60 start \
        >/dev/null
}

postgres_stop() {
    as_postgres "$postgres_bin/pg_ctl" -D "$postgres_dir/data" -m "${1:-fast}" -w -t 60 stop >/dev/null
}

postgres_restart() {
    postgres_stop "${1:-fast}" && postgres_again
}

postgres_init() {
    as_postgres "$postgres_bin/initdb" -D "$1" -U pcp -A trust -E UTF8 --locale=C --no-sync >"$postgres_dir/initdb.log" 2>&1
}

# A server's data. The tests of one scripts/test make it once ($PCP_TEST_KEPT) and copy it: that takes a tenth of the time.
postgres_data() {
    local made=${PCP_TEST_KEPT:+$PCP_TEST_KEPT/postgres}
    [ -n "$made" ] || { postgres_init "$postgres_dir/data"; return; }
    (
        flock 9
        [ ! -e "$made/whole" ] || exit 0
        rm -rf "$made" && mkdir "$made" || exit 1
        [ "$(id -u)" -ne 0 ] || chown postgres:postgres "$made"
        postgres_init "$made/data" && touch "$made/whole"
    ) 9>"$made.lock" && cp -a "$made/data" "$postgres_dir/data"
}

postgres_start() {
    postgres_bin=$(postgres_programs)
    [ -n "$postgres_bin" ] || { echo "servers: PostgreSQL is not installed" >&2; return 1; }
    postgres_dir=$(mktemp -d "${TMPDIR:-/tmp}/pcp-pg.XXXXXX")
    [ "$(id -u)" -ne 0 ] || chown postgres:postgres "$postgres_dir"
    postgres_data || { cat "$postgres_dir/initdb.log" >&2; return 1; }
    local try
    for try in 1 2 3 4 5; do
        postgres_port=$(free_port)
        # fsync = off: a test's server survives kill -9, which is all that tests do to it.
        cat >"$postgres_dir/data/postgresql.auto.conf" <<EOF
listen_addresses = '127.0.0.1'
port = $postgres_port
unix_socket_directories = '$postgres_dir'
fsync = off
max_connections = 50
EOF
        postgres_again && break
        [ "$try" -lt 5 ] || return 1
    done
    # shellcheck disable=SC2034 # for the tests that source this file
    postgres_url="postgresql://pcp@127.0.0.1:$postgres_port/postgres"
}

redis_answers() {
    [ "$(redis-cli -p "$redis_port" ping 2>/dev/null)" = PONG ]
}

redis_again() {
    eval "$(redis_again_command)" && eventually 10 redis_answers
}

redis_stop() {
    eval "$(redis_stop_command)"
}

redis_start() {
    command -v redis-server >/dev/null || { echo "servers: redis-server is not installed" >&2; return 1; }
    redis_dir=$(mktemp -d "${TMPDIR:-/tmp}/pcp-redis.XXXXXX")
    redis_port=$(free_port)
    redis_again || return 1
    # shellcheck disable=SC2034 # for the tests that source this file
    redis_url="redis://127.0.0.1:$redis_port/0"
}

# For programs that stop and start the servers they talk to: the same as command lines for sh.
redis_again_command() {
    printf 'redis-server --port %s --bind 127.0.0.1 --dir %s --save "" --daemonize yes --pidfile %s/pid --logfile %s/log' \
        "$redis_port" "$redis_dir" "$redis_dir" "$redis_dir"
}
# Gone, or a zombie, which has no command line: not every container's first process takes up orphans.
redis_stop_command() {
    # shellcheck disable=SC2016 # the shell that runs it expands these
    printf 'pid=$(cat %s/pid) && kill -KILL "$pid" && rm %s/pid && while grep -q . "/proc/$pid/cmdline" 2>/dev/null; do sleep 0.01; done' \
        "$redis_dir" "$redis_dir"
}
postgres_restart_command() {
    local user=''
    [ "$(id -u)" -ne 0 ] || user='setpriv --reuid=postgres --regid=postgres --clear-groups '
    # shellcheck disable=SC2154 # work is tap.bash's
    printf '%s%s/pg_ctl -D %s/data -l %s/log -m %s -w -t 60 restart >%s/restart.log' "$user" \
        "$postgres_bin" "$postgres_dir" "$postgres_dir" "$1" "$work"
}

servers_stop() {
    [ ! -e "${redis_dir:-/nonexistent}/pid" ] || redis_stop
    [ -z "$postgres_dir" ] || { [ ! -e "$postgres_dir/data/postmaster.pid" ] || postgres_stop immediate; }
    rm -rf "${postgres_dir:-/nonexistent}" "${redis_dir:-/nonexistent}"
    postgres_dir='' redis_dir=''
}
# shellcheck disable=SC2154 # work is tap.bash's
at_exit "servers_stop; rm -rf '$work'"
