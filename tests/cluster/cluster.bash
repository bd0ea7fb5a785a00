# shellcheck shell=bash disable=SC2154 # tap.bash, sourced before, sets work and bin
# cluster.bash: start the services one by one, as on several terminals. Source it after tap.bash.
#   cluster DIR [ENDPOINT]        the run directory and control endpoint of what follows
#   serve NAME PROGRAM [FLAGS]    start pcp-PROGRAM as member NAME; its log is DIR/NAME.log
#   launch NAME COMMAND...        the same with any command
#   aggregator|compiler|worker NAME [FLAGS]    the same with the usual flags
#   shepherd [FLAGS]              start it in the background on DIR/run.json
#   ends STATUS                   wait for the shepherd; succeeds when it leaves with that status
#   slay SIGNAL NAME              send a signal to one service
#   process NAME                  its process id, also when it is inside namespaces (world.bash)
#   event NAME PATTERN            the log of NAME has a line that matches
#   dismiss                       end all services of this cluster
#   golden_model NAME             sets model and golden; without the shared material skips the file as NAME
#   prepare [FLAGS]               a run of a small model over the documentation: DIR/run.json, flags of pcp train
# Plans and tokens are cached in $work/plans and $work/cache for all clusters of a test.
declare -A pid inside
within=() # the command that enters namespaces: world.bash
at_exit "dismiss; rm -rf '$work'"

golden_model() {
    local shared=${PCP_SHARED:-../shared}
    model=$shared/data/models/nanogpt_small.mlir
    golden=$shared/conformance/golden/training.json
    [ ! -e "$golden" ] || [ ! -e "$model" ] || return 0
    skip "$1" "no $golden"
    tap_done
    exit
}

prepare() {
    [ -s "$work/text.txt" ] || text >"$work/text.txt"
    [ -s "$work/model.mlir" ] ||
        gpt2 --layers 2 --heads 2 --width 64 --block 32 --vocab 256 --batch 32 >"$work/model.mlir" || return 1
    "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --val-fraction 0 --lr 3e-3 \
        --run-dir "$dir" --prepare-only "$@" >"$dir/prepare.out"
}

# same_bits [DIR]: the run there has ended with the parameters of the run in $work/calm
same_bits() {
    cmp "$work/calm/checkpoint/latest/model.safetensors" "${1:-$dir}/checkpoint/latest/model.safetensors"
}

cluster() {
    dir=$1 control=${2:-ipc://$1/control}
    mkdir -p "$dir"
}

serve() {
    local name=$1 program=$2
    shift 2
    launch "$name" "$bin/pcp-$program" --log-level debug "$@"
}

launch() {
    local name=$1
    shift
    "${within[@]}" "$@" 2>"$dir/$name.log" >"$dir/$name.out" &
    pid[$name]=$! inside[$name]=${#within[@]}
}

# Inside namespaces the service is the one child of the process that made them, as soon as it has done so; and
# ends as it ends.
process() {
    local outer=${pid[$1]:-}
    if [ "${inside[$1]:-0}" -eq 0 ] || [ -z "$outer" ]; then
        echo "$outer"
        return
    fi
    until pgrep -P "$outer"; do
        ! not_running "$outer" || return
        sleep 0.02
    done
}

aggregator() {
    local name=$1
    shift
    serve "$name" aggregator --shepherd "$control" --id "$name" --object-dir "$dir/$name.objects" \
        --bind "ipc://$dir/$name.data" "$@"
}

compiler() {
    local name=$1
    shift
    serve "$name" compiler --shepherd "$control" --id "$name" --cache-dir "$work/plans" "$@"
}

worker() {
    local name=$1
    shift
    serve "$name" worker --shepherd "$control" --id "$name" --cache-dir "$work/cache" --threads 1 "$@"
}

shepherd() {
    serve shepherd shepherd --run-dir "$dir" --bind "$control" --config "$dir/run.json" \
        --checkpoint "$dir/checkpoint" --heartbeat-ms 100 --timeout-ms $((1500 * slow)) "$@"
}

# The shepherd, within 20 minutes.
ends() {
    local status=0 want=$1
    eventually 1200 not_running "${pid[shepherd]}" || { echo "the shepherd still runs"; tail -n 20 "$dir/shepherd.log"; return 1; }
    wait "${pid[shepherd]}" || status=$?
    unset 'pid[shepherd]'
    [ "$status" -eq "$want" ] || { echo "exit status $status"; tail -n 20 "$dir/shepherd.log"; return 1; }
}

slay() {
    kill "-$1" "$(process "$2")"
}

event() {
    grep -qE -- "$2" "$dir/$1.log"
}

# A service that ends by itself within 60 s, with status 0 or one given.
leaves() {
    local status=0 gone=${pid[$1]}
    eventually 60 not_running "$gone" || { echo "$1 still runs"; tail -n 5 "$dir/$1.log"; return 1; }
    wait "$gone" || status=$?
    unset "pid[$1]"
    [ "$status" -eq "${2:-0}" ] || { echo "exit status $status"; tail -n 5 "$dir/$1.log"; return 1; }
}

not_running() {
    local stat
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
    stat=${stat##*) }
    [ "${stat%% *}" = Z ]
}

dismiss() {
    local one
    for one in "${!pid[@]}"; do slay KILL "$one" 2>/dev/null; done
    for one in "${pid[@]}"; do wait "$one" 2>/dev/null; done
    pid=() inside=()
}
