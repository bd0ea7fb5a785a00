#!/usr/bin/env bash
# What deploy/ and docker-compose.yml promise: programs, flags, files, health checks. With PCP_TEST_DEPLOY=1
# also the steps of the Dockerfile's second stage in clean Debian roots, and a run of services from them
# (needs root, mmdebstrap and a Debian mirror; about two minutes). No Docker engine is needed.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
roots=$work/roots
# shellcheck disable=SC2317 # called by the trap
clean_up() {
    local root
    dismiss
    for root in "$roots"/*/; do ! mountpoint -q "$root/proc" || umount "$root/proc"; done
    rm -rf --one-file-system "$work"
}
at_exit clean_up

# --- the compose file ---
# Lines "SERVICE PROGRAM FLAG" of docker-compose.yml; PROGRAM is the build argument, "-" for images.
compose_flags() {
    awk '
        function flush(   i) { for (i = 1; i <= n; i++) print name, program, flag[i]; n = 0 }
        /^[a-z]/ { flush(); inside = $0 == "services:"; next }
        inside && /^  [a-z]+:( &[a-z]+)?$/ { flush(); name = $1; sub(/:/, "", name); program = "-"; flag[++n] = "." }
        inside && $1 == "SERVICE:" { program = $2 }
        inside && $1 == "-" && $2 ~ /^--/ { flag[++n] = $2 }
        END { flush() }' docker-compose.yml
}
compose_flags >"$work/flags"

# shellcheck disable=SC2317 # called by check
every_program_is_there() {
    local name program _
    while read -r name program _; do
        [ "$program" = - ] || [ -e "services/$program/main.c" ] || { echo "$name: no services/$program"; return 1; }
    done <"$work/flags"
    for name in shepherd aggregator compiler supervisor metrics gateway; do
        grep -q "^$name $name " "$work/flags" || { echo "no service $name in docker-compose.yml"; return 1; }
    done
}
flags_of() { # PROGRAM: what it tells about its flags; the file starts a shepherd as the front of a cluster
    case $1 in
    shepherd) "$bin/pcp-shepherd" --cluster --help ;;
    *) "$bin/pcp-$1" --help ;;
    esac
}
every_flag_is_known() {
    local program flag n=0
    while read -r _ program flag; do
        if [ "$program" = - ] || [ "$flag" = . ]; then continue; fi
        flags_of "$program" | grep -qE "^ *$flag( |\$)" || { echo "pcp-$program has no $flag"; return 1; }
        n=$((n + 1))
    done <"$work/flags"
    [ "$n" -gt 10 ]
}
# Folders of named volumes must be made, for their owner, by the Dockerfile.
every_volume_is_there() {
    local source target n=0 made
    made=$(tr -d '\\\n' <deploy/Dockerfile | sed 's/.*for folder in \([^;]*\);.*/ \1 /')
    while IFS=: read -r source target _; do
        grep -qE "^  $source:\$" docker-compose.yml || { echo "volume $source is not declared"; return 1; }
        grep -qF " ${target#/var/lib/pcp/} " <<<"$made" || { echo "nobody makes $target"; return 1; }
        n=$((n + 1))
    done < <(sed -n 's|^ *- \([a-z-]*:/var/lib/pcp/[a-z/]*\(:ro\)*\)$|\1|p' docker-compose.yml)
    [ "$n" -ge 20 ]
}
every_copy_exists() {
    local word source
    while read -r word source _; do
        [[ $word == COPY && $source != --* ]] || continue
        [ -e "$source" ] || { echo "COPY $source"; return 1; }
    done <deploy/Dockerfile
}
# What the Dockerfile copies must reach the engine.
context_has_it() {
    local word source
    while read -r word source _; do
        [[ $word == COPY && $source != --* ]] || continue
        grep -qxF -e "!$source" -e "!${source%%/*}" .dockerignore || { echo ".dockerignore hides $source"; return 1; }
    done <deploy/Dockerfile
}
# Both pages make the folder that containers see, readable by all, before they name a file in it.
folder_is_made() {
    local page
    for page in README.md docs/operations.md; do
        grep -nE '^    .*input' "$page" | head -n 1 | grep -qF 'install -d -m 755 input && install -m 644' ||
            { echo "$page"; return 1; }
    done
}
check "README and operations.md make the folder that containers see" folder_is_made
check "each service of docker-compose.yml has a program" every_program_is_there
check "each flag in it is one of its program's" every_flag_is_known
check "each volume is declared and has a folder" every_volume_is_there
check "each file that the Dockerfile copies exists" every_copy_exists
check "and is in the build context" context_has_it
if docker compose version >/dev/null 2>&1; then
    read_compose() { docker compose config; }
elif command -v docker-compose >/dev/null; then # as Debian has it
    read_compose() { docker-compose config; }
fi
# Lines "SERVICE WHAT VALUE" of the file as that program understands it: networks, volumes, keys, profiles.
understood() {
    read_compose | /usr/bin/python3 -c '
import sys, yaml
for name, one in yaml.safe_load(sys.stdin)["services"].items():
    command = one.get("command") or []
    for network in one.get("networks") or []:
        print(name, "network", network)
    for profile in one.get("profiles") or []:
        print(name, "profile", profile)
    for volume in one.get("volumes") or []:
        source, target, mode = ((volume + ":rw").split(":")[:3] if isinstance(volume, str) else
            (volume.get("source"), volume["target"], "ro" if volume.get("read_only") else "rw"))
        print(name, "volume", source, target, mode)
    for port in one.get("ports") or []:
        print(name, "port", port if isinstance(port, str) else "%s:%s" % (port.get("host_ip"), port["target"]))
    if "--key" in command:
        print(name, "key", command[command.index("--key") + 1])
    for flag in ("read_only", "cap_drop", "security_opt"):
        if one.get(flag):
            print(name, flag)'
}
# What the file promises: a key for each member, in a volume that nobody else but the one who makes it has.
# shellcheck disable=SC2317
every_member_has_a_key() {
    local name folder
    for name in shepherd standby aggregator compiler supervisor metrics; do
        folder=$(sed -n "s|^$name key \(/var/lib/pcp/keys/[a-z]*\)/[a-z]*.key$|\1|p" "$work/understood")
        [ -n "$folder" ] || { echo "$name is started without --key"; return 1; }
        grep -qx "$name volume key-${folder##*/} $folder ro" "$work/understood" || { echo "$name: no $folder"; return 1; }
        grep -qx "keys volume key-${folder##*/} $folder rw" "$work/understood" || { echo "nobody makes $folder"; return 1; }
        [ "$(grep -cE "^(shepherd|standby|aggregator|compiler|supervisor|metrics|pcp) volume key-${folder##*/} " "$work/understood")" -eq \
            "$(grep -c " key $folder/" "$work/understood")" ] || { echo "$folder is seen by others"; return 1; }
    done
    [ "$(grep -c ' volume authority ' "$work/understood")" -eq 1 ] || { echo "the authority is seen by others"; return 1; }
    ! grep -n -e '--insecure' docker-compose.yml
}
# shellcheck disable=SC2317
only_this_machine() { # is what is published; and who runs what others wrote does not reach the records
    ! grep ' port ' "$work/understood" | grep -v ' port 127\.0\.0\.1:' &&
        ! grep -E '^(aggregator|compiler|supervisor) network records' "$work/understood" &&
        grep -qx 'postgres network records' "$work/understood" && ! grep -E '^(postgres|redis) network (pcp|watch)' "$work/understood"
}
# shellcheck disable=SC2317
confined() {
    local name what
    for name in keys migrate pcp shepherd standby aggregator compiler supervisor metrics tokens gateway inference; do
        for what in read_only cap_drop security_opt; do
            grep -qx "$name $what" "$work/understood" || { echo "$name: no $what"; return 1; }
        done
    done
}
# Started when asked for; reads runs and its tokens; no key, no network of others.
# shellcheck disable=SC2317
gateway_is_alone() {
    local volumes='cache-gateway /var/lib/pcp/cache rw
door /var/lib/pcp/door rw
run /var/lib/pcp/run ro
tokens /var/lib/pcp/tokens ro'
    grep -qx 'gateway profile serve' "$work/understood" && grep -qx 'tokens profile serve' "$work/understood" &&
        diff <(sed -n 's/^gateway volume //p' "$work/understood" | sort) <(echo "$volumes") &&
        diff <(sed -n 's/ network serve$//p' "$work/understood") <(echo gateway) &&
        [ "$(grep -c '^gateway network ' "$work/understood")" -eq 1 ] && grep -q '^gateway port 127\.0\.0\.1:8000' "$work/understood" &&
        ! grep '^tokens network ' "$work/understood" && ! grep '^gateway key ' "$work/understood"
}
# Its members write from what they read, over a socket that they see.
# shellcheck disable=SC2317
inference_is_alone() {
    local volumes='cache-gateway /var/lib/pcp/cache rw
door /var/lib/pcp/door ro
run /var/lib/pcp/run ro'
    grep -qx 'inference profile inference' "$work/understood" && ! grep -E '^inference (network|key|port) ' "$work/understood" &&
        diff <(sed -n 's/^inference volume //p' "$work/understood" | sort) <(echo "$volumes")
}
# What a service of the file is told to do, as words for the shell: its entry point and command, or its command.
words_of() { # SERVICE
    read_compose | /usr/bin/python3 -c '
import shlex, sys, yaml
one = yaml.safe_load(sys.stdin)["services"][sys.argv[1]]
print(shlex.join(word.replace("$$", "$") for word in (one.get("entrypoint") or []) + (one.get("command") or [])))' "$1"
}
# shellcheck disable=SC2317
first_token() {
    local words
    eval "words=($(words_of tokens))"
    mkdir -p "$work/box/tokens" && (cd "$work/box" && umask 022 && "${words[@]}") || return 1
    [ "$(stat -c %a "$work/box/tokens/gateway")" = 600 ] || { echo "others may read it"; return 1; }
    grep -qxE 'first [0-9a-f]{48}' "$work/box/tokens/gateway" || { echo "no token"; return 1; }
    cp "$work/box/tokens/gateway" "$work/box/first" && (cd "$work/box" && "${words[@]}") && cmp "$work/box/first" "$work/box/tokens/gateway"
}
# Whatever the password of the database, the URL of the records is one.
# shellcheck disable=SC2317
any_password() {
    PCP_DATABASE_PASSWORD='a@b/c#d%e:f?g h' read_compose | /usr/bin/python3 -c '
import sys, yaml
n = 0
for name, one in yaml.safe_load(sys.stdin)["services"].items():
    said = one.get("environment") or {}
    assert said.get("PCP_STORE", "postgresql://pcp@postgres:5432/pcp") == "postgresql://pcp@postgres:5432/pcp", (name, said)
    if "PCP_STORE" not in said and name != "keys":
        continue
    n += 1
    assert said["PGPASSWORD"] == "a@b/c#d%e:f?g h", (name, said)
assert n >= 5, n'
}
if declare -F read_compose >/dev/null; then
    check "docker compose reads it" read_compose
    check "the password of the database may have any characters" any_password
    understood >"$work/understood"
    check "each member has its key, and no other's" every_member_has_a_key
    check "only this machine is served, and workers do not reach the records" only_this_machine
    check "containers write to their volumes alone" confined
    check "the gateway reads runs, asks for tokens, and sees nothing else" gateway_is_alone
    check "its members have no network, and read what it reads" inference_is_alone
    check "its first token is made once, for its user alone" first_token
else
    skip "the compose file is read by another program" "there is no docker compose here"
fi

# --- health checks ---
port=$((20000 + RANDOM % 10000))
cluster "$work/health" "tcp://127.0.0.1:$port"
healthy_by() { PCP_HEALTH=$dir/$2.health timeout 30 deploy/healthcheck "$bin/pcp-$1"; }
healthy() { healthy_by "$1" "$1"; }
unhealthy() { ! healthy "$1" 2>/dev/null; }
check "a shepherd that is not there is not well" unhealthy shepherd
printf '{"model": "m", "init": "i", "train_tokens": "t"}' >"$dir/run.json"
PCP_HEALTH=$dir/shepherd.health serve shepherd shepherd --run-dir "$dir" --bind "$control" --config "$dir/run.json"
PCP_HEALTH=$dir/metrics.health serve metrics metrics --events "ipc://$dir/events" --http "127.0.0.1:$((port + 3))"
check "a shepherd is well" eventually 60 healthy shepherd
check "a metrics service is well" eventually 60 healthy metrics
slay STOP shepherd
check "a shepherd that is stopped is not" unhealthy shepherd
slay CONT shepherd
check "and is when it goes on" eventually 10 healthy shepherd
dismiss

# --- what the images hold ---
# As docker-compose.yml starts it, in a folder as its volumes make it; only the port is another. Kubernetes gives all services
# PCP_SHEPHERD, also this one, which has no such flag.
# shellcheck disable=SC2317 # called by check
gateway_answers() {
    local words member token box=$work/box url=http://127.0.0.1:$port/v1/completions body='{"prompt": "a", "max_tokens": 3}' path=$PATH
    eval "words=($(words_of gateway))"
    words=("${words[@]/#0.0.0.0:8000/0.0.0.0:$port}")
    printf '%s\n' a{1..500} >"$box/text.txt"
    "$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 >"$box/model.mlir" || return 1
    timeout $((120 * slow)) "$bin/pcp" train "$box/model.mlir" --data "$box/text.txt" --tokenizer byte --workers 1 --threads 1 \
        --inner-steps 1 --rounds 1 --run-dir "$box/run/first" >"$box/train.log" 2>&1 || { tail -n 5 "$box/train.log"; return 1; }
    mkdir -p "$box/door"
    cluster "$work/gateway"
    (cd "$box" && exec env -i PATH="$path" PCP_MODEL=first=run/first XDG_CACHE_HOME="$box/cache" PCP_HEALTH="$dir/gateway.health" \
        PCP_SHEPHERD=tcp://pcp-shepherd-0.pcp-shepherd:7000 "$work/out/gateway/usr/local/bin/service" "${words[@]}") 2>"$dir/gateway.log" >&2 &
    pid[gateway]=$!
    eventually 60 event gateway event=ready || { tail -n 5 "$dir/gateway.log"; return 1; }
    healthy gateway || return 1
    token=$(sed 's/.* //' "$box/tokens/gateway")
    [ "$(curl -s -o /dev/null -w '%{http_code}' -d "$body" "$url")" = 401 ] || { echo "nobody is asked who they are"; return 1; }
    curl -sf -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d "$body" "$url" | grep -q '"completion_tokens": *3' ||
        { echo "no answer"; tail -n 5 "$dir/gateway.log"; return 1; }
    ls "$box"/cache/pcp/plans/* >/dev/null || return 1
    eval "member=($(words_of inference))"
    (cd "$box" && exec env -i PATH="$path" PCP_MODEL=first=run/first XDG_CACHE_HOME="$box/cache" PCP_HEALTH="$dir/inference.health" \
        "$work/out/gateway/usr/local/bin/service" "${member[@]}") 2>"$dir/inference.log" >&2 &
    pid[inference]=$!
    eventually 60 event gateway event=offered || { tail -n 5 "$dir/inference.log"; return 1; }
    healthy_by gateway inference || return 1
    slay TERM inference
    slay TERM gateway
    leaves inference && leaves gateway && dismiss
}
if command -v dpkg-query >/dev/null && [ "$bin" = build/bin ]; then
    check "deploy/stage lays out the images" deploy/stage "$bin" "$work/out"
    who_compiles() {
        local list
        for list in "$work"/out/*/usr/share/pcp/packages; do
            [ -s "$list" ] || { echo "$list is empty"; return 1; }
            case $list in
            */out/compiler/* | */out/gateway/* | */out/pcp/*) grep -qx gcc "$list" || { echo "$list has none"; return 1; } ;;
            *) ! grep -E -e '-dev$|^gcc|^g\+\+|^clang|^make' "$list" || { echo "$list"; return 1; } ;;
            esac
        done
    }
    check "the images of compiler, gateway and command line have a compiler, and no other" who_compiles
    check "the worker's has OpenBLAS" grep -q openblas "$work/out/worker/usr/share/pcp/packages"
    check "the supervisor's has it, too, for its workers" grep -q openblas "$work/out/supervisor/usr/share/pcp/packages"
    check "the gateway's, too" grep -q openblas "$work/out/gateway/usr/share/pcp/packages"
    if [ -s "$work/box/tokens/gateway" ]; then check "a gateway from its image lets a run answer" gateway_answers; fi
    # As docker-compose.yml starts it.
    cluster "$work/scaled"
    mkdir "$dir/cache"
    serve shepherd shepherd --cluster --runs-dir "$dir/runs" --bind "$control"
    "$work/out/supervisor/usr/local/bin/service" --shepherd "$control" --id node --scale 1 --threads 1 \
        --cache-dir "$dir/cache" --log-dir "$dir/cache/logs" 2>"$dir/supervisor.log" >&2 &
    pid[supervisor]=$!
    workers() { PCP_SHEPHERD=$control timeout $((60 * slow)) "$bin/pcp" worker "$@"; }
    # shellcheck disable=SC2317 # called by eventually
    running() { [ "$(workers list | grep -c '^node-w[0-9]* *node *running ')" -eq "$1" ]; }
    check "a supervisor from its image runs a worker" eventually 60 running 1
    check "and scales" workers scale 3
    check "to as many as are asked for" eventually 60 running 3
    slay TERM supervisor
    check "it leaves at SIGTERM" leaves supervisor
    dismiss
else
    skip "what the images hold" "needs dpkg and a release build"
fi

# --- the second stage in clean roots ---
# perform ROOT SERVICE: the steps after `AS runtime`, as an engine would.
perform() {
    local root=$1 service=$2 word rest from source target in_stage=false
    while read -r word rest; do
        case $word in
        FROM) in_stage=false; [[ $rest == *"AS runtime" ]] && in_stage=true; continue ;;
        '#'* | '') continue ;;
        esac
        $in_stage || continue
        rest=${rest//\$\{SERVICE\}/$service}
        case $word in
        COPY)
            from=.
            case $rest in --from=build*) from=$work; rest=${rest#--from=build } ;; esac
            read -r source target <<<"$rest"
            mkdir -p "$(dirname "$root$target")"
            cp -a --no-preserve=ownership "$from/${source%/}$([[ $source == */ ]] && echo /.)" "$root$target" ||
                return 1
            ;;
        RUN) chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
            SERVICE="$service" sh -c "$rest" || { echo "failed: RUN $rest"; return 1; } ;;
        ENV | USER | WORKDIR | ENTRYPOINT | HEALTHCHECK) echo "$rest" >"$root/.$word" ;;
        ARG) ;;
        *) echo "unknown step $word"; return 1 ;;
        esac
    done < <(sed -e ':a' -e '/\\$/N; s/\\\n */ /; ta' deploy/Dockerfile)
}

# A root of its own for each service, with what an engine gives: name servers, /proc.
make_root() {
    local root=$roots/$1
    mkdir -p "$root"
    cp -a "$roots/base/." "$root" && cp /etc/resolv.conf "$root/etc/" &&
        mount -t proc proc "$root/proc" && perform "$root" "$1"
}

# inside NAME SERVICE [FLAGS]: start the service as the image's user, from its folder, by its entry point
inside() {
    local name=$1 root=$roots/$2
    shift 2
    # shellcheck disable=SC2016 # expanded inside
    chroot --userspec="$(cat "$root/.USER")" "$root" env "$(cat "$root/.ENV").$name" sh -c 'cd "$0" && exec "$@"' "$(cat "$root/.WORKDIR")" \
        "$(tr -d '[]"' <"$root/.ENTRYPOINT")" "$@" 2>"$dir/$name.log" >"$dir/$name.out" &
    pid[$name]=$!
}
healthy_inside() { # SERVICE [NAME]: two workers share a root, so each has a socket of its own
    chroot --userspec=pcp "$roots/$1" env "$(cat "$roots/$1/.ENV").${2:-$1}" timeout 30 healthcheck
}

run_from_roots() {
    local service d=var/lib/pcp
    for service in shepherd aggregator compiler worker metrics gateway pcp; do
        check "the image of $service is made" make_root "$service"
    done
    check "the worker's image has no compiler" test ! -e "$roots/worker/usr/bin/cc"
    du -smx "$roots"/*/ | sed 's/^/# MB: /'
    cluster "$work/images" "tcp://127.0.0.1:$port"
    cat README.md docs/*.md >"$roots/pcp/$d/text.txt"
    "$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 >"$roots/pcp/$d/model.mlir"
    inside prepare pcp train model.mlir --data text.txt --tokenizer byte --workers 2 --rounds 5 --run-dir run \
        --prepare-only
    check "a run is prepared" wait "${pid[prepare]}"
    unset 'pid[prepare]'
    # The named volume `run` of both.
    cp -a "$roots/pcp/$d/run/." "$roots/shepherd/$d/run" && cp -a "$roots/pcp/$d/model.mlir" "$roots/shepherd/$d/"
    inside shepherd shepherd --config run/run.json --run-dir run --bind "$control" \
        --telemetry "tcp://127.0.0.1:$((port + 1))" --events "tcp://127.0.0.1:$((port + 2))"
    inside aggregator aggregator --shepherd "$control" --bind "tcp://127.0.0.1:$((port + 4))" --object-dir objects
    inside compiler compiler --shepherd "$control" --cache-dir plans
    inside metrics metrics --events "tcp://127.0.0.1:$((port + 2))" --http "127.0.0.1:$((port + 3))"
    inside w0 worker --shepherd "$control" --cache-dir cache --threads 1
    for service in shepherd aggregator compiler metrics; do
        check "$service from its image is well" eventually 60 healthy_inside "$service"
    done
    check "worker from its image is well" eventually 60 healthy_inside worker w0
    inside w1 worker --shepherd "$control" --cache-dir cache --threads 1
    check "a run of services from their images ends" eventually 60 not_running "${pid[shepherd]}"
    not_running "${pid[shepherd]}" || { tail -n 3 "$dir"/*.log | cut -c1-300 | sed 's/^/# /'; slay KILL shepherd; }
    check "and ends well" ends 0
    cp -a "$roots/shepherd/$d/run/checkpoint" "$roots/pcp/$d/run/"
    inside generate pcp generate --checkpoint run --tokens 5
    check "the image of the command line lets it write" wait "${pid[generate]}"
    unset 'pid[generate]'
    inside profile pcp profile model.mlir --steps 1 --threads 1
    check "and profiles the model" wait "${pid[profile]}"
    unset 'pid[profile]'
    mkdir -p "$roots/gateway/$d/run/first" && cp -a "$roots/shepherd/$d/run/." "$roots/gateway/$d/run/first"
    inside gateway gateway --model first=run/first --http "127.0.0.1:$((port + 8))"
    check "a gateway from its image is well" eventually 60 healthy_inside gateway
    check "compiles, and answers" eventually 60 curl -sf "http://127.0.0.1:$((port + 8))/readyz"
    slay TERM gateway
    check "gateway leaves at SIGTERM" leaves gateway
    check "its checkpoint is there" test -s "$roots/shepherd/$d/run/checkpoint/latest/model.safetensors"
    check "what they wrote belongs to the image's user" \
        test "$(stat -c %u "$roots/shepherd/$d/run/checkpoint")" = "$(chroot "$roots/shepherd" id -u pcp)"
    check "metrics have heard of it" grep -q '^pcp_round{run="run"} 5' \
        <(curl -s "http://127.0.0.1:$((port + 3))/metrics")
    for service in aggregator compiler metrics w0 w1; do slay TERM "$service"; done
    for service in aggregator compiler metrics w0 w1; do check "$service leaves at SIGTERM" leaves "$service"; done
    dismiss
}

mirror=http://deb.debian.org/debian
if [ "${PCP_TEST_DEPLOY:-0}" != 1 ]; then
    skip "images in clean roots" "takes minutes; set PCP_TEST_DEPLOY=1"
elif [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null; then
    skip "images in clean roots" "needs root and mmdebstrap"
elif ! curl -sf -o /dev/null --max-time 10 "$mirror/dists/bookworm/Release"; then
    skip "images in clean roots" "$mirror cannot be reached"
elif [ ! -d "$work/out" ]; then
    skip "images in clean roots" "needs a release build"
else
    mkdir -p "$roots"
    check "a clean Debian root" mmdebstrap --quiet --variant=minbase ${PCP_TEST_APT_CONF:+"--aptopt=$PCP_TEST_APT_CONF"} bookworm "$roots/base" "$mirror"
    [ "$tap_failed" -gt 0 ] || run_from_roots
fi

check "nothing is left running" no_orphans
tap_done
