#!/usr/bin/env bash
# The services on hosts of their own, as containers have them: all of one name, each service process number 1 there, none
# with an id given, over TCP, with one volume for the workers' caches. A run ends with the bits that it has on one
# machine; so it does on hosts with odd names.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/world.bash
world_needs "runs on hosts of their own"

prepare_run() {
    text >"$work/text.txt"
    gpt2 --layers 1 --heads 2 --width 64 --block 64 --vocab 256 --batch 4 >"$work/model.mlir" || return 1
    "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 3 --inner-steps 10 \
        --rounds 6 --lr 3e-3 --val-fraction 0.01 --validate-every 3 --run-dir "$work/run" --prepare-only
}
check "a run is prepared" prepare_run

# What a container's service is started with: no id.
lead() {
    serve shepherd shepherd --run-dir "$dir" --bind "$1" --config "$work/run/run.json" --checkpoint "$dir/checkpoint" \
        --heartbeat-ms 100 --timeout-ms $((1500 * slow)) --keep-state object --workers 3
}
shards() { serve a0 aggregator --shepherd "$control" --object-dir "$dir/objects" --bind "$@"; }
compiles() { serve c0 compiler --shepherd "$control" --cache-dir "$work/plans"; }
trains() { serve "$1" worker --shepherd "$control" --cache-dir "$dir/cache" --threads 1; }
same_bits() { cmp "$work/one/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"; }

cluster "$work/one" "ipc://$work/one/control"
lead "$control"
shards "ipc://$dir/a0.data"
compiles
for name in w0 w1 w2; do trains $name; done
check "a run on one machine ends" ends 0
dismiss

# apart: every service on its host
apart() {
    local name
    cluster "$1" "tcp://${address[front]}:7000"
    on front lead tcp://0.0.0.0:7000
    on shard shards tcp://0.0.0.0:7100 --advertise "tcp://${address[shard]}:7100"
    on compiler compiles
    for name in w0 w1 w2; do on $name trains $name; done
}
joined() { sed -n 's/.*event=member_joined member=\([^ ]*\) .*/\1/p' "$dir/shepherd.log"; }
each_joined() { # so many members, none of them more often than once
    joined | sort | tee "$work/joined"
    [ "$(wc -l <"$work/joined")" -eq "$1" ] && [ "$(uniq "$work/joined" | wc -l)" -eq "$1" ]
}
# Nobody was lost, and nobody died of another's doings.
nothing_lost() { ! grep -hE 'event=(member_lost|work_lost|connection_lost)' "$dir"/*.log; }
all_live() {
    local name
    for name in a0 c0 w0 w1 w2; do ! not_running "${pid[$name]}" || { echo "$name has ended"; return 1; }; done
}

for name in front shard compiler w0 w1 w2; do host $name; done
host w2
apart "$work/apart"
check "on six hosts of one name it ends, too" ends 0
check "with the same bits" same_bits
check "five members joined, each once" each_joined 5
check "none was lost" nothing_lost
check "the members live on" all_live
dismiss
world_end

# --- names that hosts may have ---
host front "UPPER.Case.Example"
host shard "$(printf 'x%.0s' {1..64})"
# shellcheck disable=SC2016 # that is its name
host compiler 'quoted "name" = \ %s $HOME'
host w0 "Größe-ÄÖÜ"
host w1 $'tab\tand\nline'
host w2 $'\xff\xfe\xc3'
apart "$work/odd"
check "a run on hosts with odd names ends" ends 0
check "with the same bits" same_bits
check "five members joined, each once" each_joined 5
# shellcheck disable=SC2317 # called by check
sound_lines() { # of logs are text, one event each
    ! grep -hvaE '^time=[0-9TZ:.-]+ level=[a-z]+ service=[a-z]+ ' "$dir"/*.log && iconv -f utf-8 -t utf-8 "$dir"/*.log >/dev/null
}
check "the logs are sound" sound_lines
dismiss
world_end

check "nothing is left running" no_orphans
tap_done
