#!/usr/bin/env bash
# The services of docker-compose.yml from their images, by podman: each container with processes, a file system, keys and a
# host of its own, volumes and rights as the file says; three supervisors with two workers each, on one cache. A few runs, in which
# neither a container nor a worker ends, and of whose models the gateway is asked over HTTP; then one in which each container is killed and workers come and go, to the usual
# bits. With PCP_TEST_DEPLOY=1: needs root, podman, runc, catatonit, mmdebstrap and a Debian mirror; a quarter of an hour the
# first time, for the images; they are kept in PCP_TEST_IMAGES (default build/images) and made again from what has changed.
#   PCP_TEST_RUNS      runs that nobody disturbs, default 3
#   PCP_TEST_ROUNDS    rounds of the run that is disturbed, default 400; more where the machine is fast
#   PCP_TEST_APT_CONF  a file of apt's configuration that the builds need here
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/world.bash
. tests/servers.bash
if [ "${PCP_TEST_DEPLOY:-0}" != 1 ]; then
    skip "containers by docker-compose.yml" "takes half an hour; set PCP_TEST_DEPLOY=1"
    tap_done
    exit
fi
world_needs "containers by docker-compose.yml"
for tool in podman runc catatonit mmdebstrap docker-compose redis-server; do
    command -v $tool >/dev/null && continue
    skip "containers by docker-compose.yml" "there is no $tool here"
    tap_done
    exit
done
images=${PCP_TEST_IMAGES:-$PWD/build/images} runs=${PCP_TEST_RUNS:-3} mirror=http://deb.debian.org/debian
apt_conf=${PCP_TEST_APT_CONF:-}
mkdir -p "$images"

# Storage of its own: neither images nor containers nor networks of the machine's are touched.
engine() {
    podman --root "$images/storage" --runroot "$images/run" --storage-driver overlay --cgroup-manager cgroupfs \
        --runtime runc --events-backend none "$@"
}
clean_up() {
    engine rm --force --all --time 0
    engine volume rm --force --all
    dismiss
    world_end
    umount -R "$images/storage/overlay"
    rm -rf --one-file-system "$work"
} >/dev/null 2>&1
at_exit clean_up
engine rm --force --all --time 0 >/dev/null 2>&1 # of a test that was killed
engine volume rm --force --all >/dev/null 2>&1

# --- the images ---
make_base() { # what Debian's own images are, without their registry
    local name
    engine image exists debian:bookworm && return
    mmdebstrap --quiet --variant=minbase ${apt_conf:+"--aptopt=$apt_conf"} bookworm "$images/base.tar" "$mirror" || return 1
    engine import --quiet "$images/base.tar" docker.io/library/debian:bookworm || return 1
    rm "$images/base.tar"
    for name in docker.io/library/debian:bookworm-slim debian:bookworm; do
        engine tag docker.io/library/debian:bookworm "$name"
    done
}
build() { # SERVICE
    engine build --isolation chroot --network host --pull=never --format docker --layers --quiet \
        ${apt_conf:+--volume "$apt_conf:/etc/apt/apt.conf.d/99test:ro"} \
        -f deploy/Dockerfile --build-arg "SERVICE=$1" -t "pcp-$1" .
}
check "a Debian image" make_base
for service in shepherd aggregator compiler supervisor metrics pcp gateway; do check "the image of $service" build $service; done
if [ "$tap_failed" -gt 0 ]; then
    tap_done
    exit 1
fi

# --- the hosts ---
services=(shepherd standby aggregator compiler metrics supervisor-1 supervisor-2 supervisor-3)
for name in postgres redis keys migrate pcp tokens gateway inference "${services[@]}"; do host "$name"; done
hosts=()
for name in "${!address[@]}"; do hosts+=(--add-host "$name:${address[$name]}"); done

# Servers from packages, in place of the two images that are not ours.
as_server() { setpriv --reuid=postgres --regid=postgres --clear-groups env HOME="$work/pg" "$@"; }
start_servers() {
    postgres_bin=$(postgres_programs)
    install -d -o postgres -g postgres "$work/pg" && chmod a+x "$work" || return 1
    as_server "$postgres_bin/initdb" -D "$work/pg/data" -U pcp -A trust -E UTF8 --locale=C --no-sync || return 1
    echo "host all all 10.77.0.0/24 trust" >>"$work/pg/data/pg_hba.conf"
    cluster "$work"
    on postgres launch postgres setpriv --reuid=postgres --regid=postgres --clear-groups "$postgres_bin/postgres" -D "$work/pg/data" \
        -c "listen_addresses=*" -c "unix_socket_directories=$work/pg" -c fsync=off
    on redis launch redis redis-server --bind 0.0.0.0 --protected-mode no --save "" --dir "$work/pg"
    eventually 60 "$postgres_bin/createdb" -h "$work/pg" -U pcp pcp
}
check "the servers start" start_servers

# --- the containers ---
# A line for each service of the file: name, flags, image, command, as words for the shell. HOST is the host's name.
compose() {
    PCP_WORKERS=2 PCP_NODE=HOST PCP_CPUS=2 PCP_MEMORY=4g PCP_MODEL=first=run/run-1 \
        docker-compose --profile serve --profile inference config | /usr/bin/python3 -c '
import json, shlex, sys, yaml
quote, newline = chr(39), chr(10)
def words(list): # on one line, and with the dollars that the file writes twice
    line = shlex.join(list).replace("$$", "$")
    return line.replace(newline, quote + "$" + quote + "\\n" + quote + quote)
for name, one in yaml.safe_load(sys.stdin)["services"].items():
    flags = ["--init"] if one.get("init") else []
    if one.get("read_only"): # podman would add a /tmp, /run and /dev/shm that Docker does not
        flags += ["--read-only", "--read-only-tmpfs=false"]
    for key, flag in (("restart", "restart"), ("pids_limit", "pids-limit"), ("cpus", "cpus"), ("mem_limit", "memory")):
        if one.get(key):
            flags += ["--%s=%s" % (flag, one[key])]
    for key, flag in (("tmpfs", "tmpfs"), ("cap_drop", "cap-drop"), ("security_opt", "security-opt")):
        for value in one.get(key) or []:
            flags += ["--" + flag, value.replace("no-new-privileges:true", "no-new-privileges")]
    for key, value in (one.get("environment") or {}).items():
        flags += ["--env", "%s=%s" % (key, value)]
    if one.get("entrypoint"):
        flags += ["--entrypoint", json.dumps(one["entrypoint"])]
    for volume in one.get("volumes") or []:
        flags += ["--volume", volume]
    command = one.get("command") or []
    print(name, words(flags), one["image"], words(command), sep="|")'
}
check "docker-compose.yml is read" compose
compose >"$work/compose"

# contain HOST SERVICE [PODMAN_FLAGS] -- [COMMAND]: that service of the file, on that host
contain() {
    local host=$1 service=$2 more=() flags image command
    shift 2
    while [ "$1" != -- ]; do more+=("$1"); shift; done
    shift
    IFS='|' read -r _ flags image command < <(grep "^$service|" "$work/compose")
    eval "flags=($flags) command=($command)"
    # shellcheck disable=SC2154 # made by eval
    flags=("${flags[@]/#"$PWD"\/input/$work/input}")
    command=("${command[@]/#HOST/$host}")
    [ $# -eq 0 ] || command=("$@")
    # Health checks are asked for below: podman's own need systemd. Nor may limits be raised everywhere.
    engine run --ulimit "nofile=$(ulimit -n):$(ulimit -n)" --ulimit nproc=4096:4096 --no-healthcheck --name "$host" --hostname node --network "ns:/proc/${world_holder[$host]}/ns/net" "${hosts[@]}" \
        "${flags[@]}" "${more[@]}" "localhost/$image" "${command[@]}"
}
pcp() { contain pcp pcp --rm -- "$@"; }

mkdir -p "$work/input"
text >"$work/input/text.txt"
"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/input/model.mlir"
chmod -R a+rX "$work/input" && chmod a+x "$work"
check "keys are made" contain keys keys --rm --
check "once" test -z "$(contain keys keys --rm -- 2>&1)"
check "the tables are made" contain migrate migrate --rm --
for name in "${services[@]}"; do check "$name is started" contain "$name" "${name%-[0-9]*}" --detach --; done
well() { engine exec "$1" healthcheck; }
for name in "${services[@]}"; do check "$name is well" eventually 90 well "$name"; done
first_process() { engine exec "$1" cat /proc/1/comm | grep -qE 'catatonit|podman-init'; }
check "processes of a container are its own" first_process supervisor-1
lives() { engine inspect --format '{{.Name}} {{.State.Status}} {{.State.Pid}} {{.RestartCount}}' "${services[@]}"; }
check "all of them run" lives
lives >"$work/lives"

run_once() { # I: with data of its own, so that each run's tokens are new to the shared volume
    tail -c "+$1" "$work/input/text.txt" >"$work/input/$1.txt"
    pcp run submit input/model.mlir --data "input/$1.txt" --tokenizer byte --workers 6 --inner-steps 4 --rounds 4 \
        --lr 3e-3 --name "run-$1" --watch
}
for ((i = 1; i <= runs; i++)); do check "run $i of six workers ends well" run_once $i; done

all_done() {
    pcp run list >"$work/list"
    cat "$work/list"
    [ "$(grep -cE '^run-[0-9]+ +done ' "$work/list")" -eq "$runs" ]
}
check "all are done" all_done
nobody_ended() { lives | diff "$work/lives" -; }
check "no container has ended, none was started again" nobody_ended
no_worker_ended() { ! for name in 1 2 3; do engine logs "supervisor-$name"; done 2>&1 | grep -E 'event=worker .*restarts=[1-9]'; }
check "no worker has ended" no_worker_ended
no_worker_lost() { ! engine logs shepherd 2>&1 | grep -E 'event=(member_lost|work_lost)'; }
check "no member was lost" no_worker_lost

# --- who may what ---
own_key_alone() {
    local name role
    for name in "${services[@]}"; do
        role=${name%-[0-9]*} role=${role/standby/shepherd}
        engine exec "$name" find keys authority -type f >"$work/seen"
        [ "$(cat "$work/seen")" = "keys/$role/$role.key" ] || { echo "$name:"; cat "$work/seen"; return 1; }
    done
}
check "a container sees its own key alone" own_key_alone
scale_with() { # KEY: as a container that was broken into would
    contain pcp pcp --rm --volume key-supervisor:/var/lib/pcp/keys/supervisor:ro --env "PCP_KEY=$1" -- worker scale 2 --wait-ms 3000
}
check "who has no key gets no answer" refuses 'no answer' scale_with ''
check "a supervisor's key commands nothing" refuses 'no answer' scale_with /var/lib/pcp/keys/supervisor/supervisor.key
check "an operator's does" scale_with /var/lib/pcp/keys/operator/operator.key
check "a container writes to its volumes alone" refuses 'Read-only' engine exec supervisor-1 touch /var/lib/pcp/here
caged() { engine exec supervisor-1 sh -c 'cat cache/logs/*.log' | grep -E 'event=cage .*calls=1 .*paths=[1-9]'; }
check "workers are caged there, too" caged
host web
from_outside() { on web curl -sS --max-time 10 "http://${address[metrics]}:$1"; }
check "metrics are ready" eventually 30 from_outside 9464/readyz
page_is_there() { from_outside 9465/ | grep -i '<!doctype html' && from_outside 9465/api/runs | grep -F '"run-1"'; }
check "the page is there, with the runs" page_is_there
says() { # WORDS COMMAND
    local words=$1
    shift
    "$@" >"$work/says.out" 2>&1
    grep -E -- "$words" "$work/says.out" || { cat "$work/says.out"; return 1; }
}
check "so is pcp top" says run-1 pcp top --once
check "a checkpoint is signed" says '[Ss]igned.*shepherd' pcp checkpoint verify run/run-1/checkpoint
check "a model writes" says '^It ' pcp generate --checkpoint run/run-1 --prompt "It " --tokens 8

# --- the gateway: a model that was trained here, over HTTP and with a token; then written by a member ---
check "a token is made" contain tokens tokens --rm --
check "the gateway is started" contain gateway gateway --detach --
check "the gateway is well" eventually 90 well gateway
token=$(engine exec gateway sed 's/^first //' tokens/gateway)
check "the token has been made once" contain tokens tokens --rm --
ask() { # TOKEN
    on web curl -sS --max-time 120 --fail-with-body -H "Authorization: Bearer $1" -H 'Content-Type: application/json' \
        -d '{"model":"first","prompt":"It ","max_tokens":8,"temperature":0}' "http://${address[gateway]}:8000/v1/completions"
}
text_of() { /usr/bin/python3 -c 'import json, sys; sys.stdout.write(json.load(sys.stdin)["choices"][0]["text"])'; }
written() { pcp generate --checkpoint run/run-1 --prompt "It " --tokens 8 --temperature 0 --no-slide --json | tail -n 1; }
answers() {
    if ! ask "$token" >"$work/answer" || ! text_of <"$work/answer" >"$work/text" || [ ! -s "$work/text" ]; then
        cat "$work/answer"
        return 1
    fi
    written | /usr/bin/python3 -c 'import json, sys; sys.stdout.write(json.load(sys.stdin)["text"])' | cmp - "$work/text"
}
check "the gateway answers with what the model writes" eventually 120 answers
check "without the token it does not" refuses 401 ask "${token}0"
gateway_key() { [ -z "$(engine exec gateway find keys authority -type f)" ]; }
check "it has no key" gateway_key
check "a member of the gateway is started" contain inference inference --detach --
members() { on web curl -sS -H "Authorization: Bearer $token" "http://${address[gateway]}:8000/metrics" | grep -x "pcp_gateway_members $1"; }
check "it joins, by a socket in a volume" eventually 90 members 1
check "the gateway answers the same" eventually 60 answers
for name in inference gateway; do
    check "$name leaves when it is told to" engine stop --time 45 "$name"
    check "with status 0" test "$(engine inspect --format '{{.State.ExitCode}}' "$name")" -eq 0
done

# --- limits: a quota is what threads are counted by ---
limit_of() { # SERVICE: bytes, by cgroup 2 or 1
    engine exec "$1" sh -c 'cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null'
}
check "PCP_MEMORY limits the workers' container" says "^$((4 << 30))\$" limit_of supervisor-1
check "doctor knows such a limit" says "limit leaves 1\\.0\$" contain pcp pcp --rm --memory 1g -- doctor
check "a quota of a core is a core" says '^(ok|warn) +cores +1( of|$)' contain pcp pcp --rm --cpus 1 -- doctor
check "without one there are all" says "^ok +cores +$(nproc)\$" pcp doctor

# --- a run in which everything dies once ---
flags=(--tokenizer byte --inner-steps 4 --lr 3e-3 --rounds "${PCP_TEST_ROUNDS:-400}" --validate-every 0)
alone() {
    "$bin/pcp" train "$work/input/model.mlir" --data "$work/input/text.txt" "${flags[@]}" --workers 6 --threads 1 \
        --run-dir "$work/alone"
}
check "a longer run alone" alone
check "the same run is submitted" pcp run submit input/model.mlir --data input/text.txt "${flags[@]}" --workers 6 --name long
round_of() { pcp run get long --json | sed -n 's/^ *"round": \([0-9]*\).*/\1/p'; }
past() { [ "$(round_of)" -ge "$1" ] 2>/dev/null; }
scaled() { [ "$(pcp worker list | grep -cE '^supervisor-[0-9]-w[0-9]+ .* running ')" -eq "$1" ]; }
goes_on() {
    local round
    round=$(round_of)
    eventually 120 past $((round + 2))
}
kill_it() { # as a machine's own hand would: the engine has not asked for it
    kill -KILL "$(engine inspect --format '{{.State.Pid}}' "$1")"
}
started_again() { [ "$(engine inspect --format '{{.RestartCount}} {{.State.Running}}' "$1")" = '1 true' ]; }
check "it begins" eventually 120 past 1
check "workers are added" pcp worker scale 3 # for each supervisor
check "nine of them run" eventually 90 scaled 9
for name in "${services[@]}"; do
    check "$name is killed" kill_it "$name"
    check "it is started again" eventually 60 started_again "$name"
    check "and is well" eventually 90 well "$name"
    check "the run goes on" goes_on
done
check "workers are taken away" pcp worker scale 1
check "three are left" eventually 90 scaled 3
check "the run was not over before" says '"state": "running"' pcp run get long --json
check "it ends" pcp run watch long
check "its checkpoint is taken out" engine cp shepherd:/var/lib/pcp/run/long/checkpoint "$work/taken"
check "with the bits of the run alone" cmp "$work/taken/latest/model.safetensors" "$work/alone/checkpoint/latest/model.safetensors"
check "the run is deleted" pcp run delete long --yes
check "and gone" refuses long pcp run get long

# --- a key that was lost (docs/operations.md) ---
keys() { contain keys keys --rm "$@"; }
cut() { { engine logs shepherd; engine logs standby; } 2>&1 | grep -E 'event=key_cut .*name=compiler'; }
new_compiler() {
    keys --entrypoint rm -- keys/compiler/compiler.key && keys -- | grep -x keys/compiler/compiler.key &&
        engine restart --time 10 compiler
}
check "a compiler's key is revoked" keys -- keys revoke compiler --dir authority --store postgresql://pcp@postgres:5432/pcp
check "its connection ends" eventually 30 cut
check "it gets another one" new_compiler
check "and is well" eventually 90 well compiler
"$bin/pcp" model gpt2 --layers 1 --heads 2 --width 16 --block 16 --vocab 256 --batch 3 >"$work/input/other.mlir"
chmod a+r "$work/input/other.mlir"
check "a run that it compiles for ends well" pcp run submit input/other.mlir --data input/text.txt --tokenizer byte \
    --workers 2 --inner-steps 3 --rounds 2 --name last --watch

for name in "${services[@]}"; do check "$name leaves when it is told to" engine stop --time 25 "$name"; done
ended_well() {
    local name code
    for name in "${services[@]}"; do
        code=$(engine inspect --format '{{.State.ExitCode}}' "$name")
        [ "$code" -eq 0 ] || { echo "$name: $code"; engine logs "$name" 2>&1 | tail -n 5; return 1; }
    done
}
check "with status 0" ended_well
tap_done
