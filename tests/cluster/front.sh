#!/usr/bin/env bash
# The front of a cluster, killed -9 while a submission is on its way: a stand-by takes over, or an init system starts
# it again at the same place. The submission goes on by itself, is one run, and trains to the bits it has alone.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
export XDG_CACHE_HOME=$work
plans=$work/pcp/plans
for ((i = 0; i < 200; i++)); do cat docs/*.md; done >"$work/text.txt" # a submission of many pieces
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
killed=() flags=(--data "$work/text.txt" --tokenizer byte --workers 2 --inner-steps 4 --rounds 6 --val-fraction 0.0001 --lr 3e-3)
check "a run alone" timeout $((120 * slow)) "$bin/pcp" train "$work/model.mlir" "${flags[@]}" --threads 1 --run-dir "$work/alone"

cluster "$work/c"
runs=$work/runs control=ipc://$dir/a,ipc://$dir/b
export PCP_SHEPHERD=$control
front() { # NAME
    serve "$1" shepherd --cluster --store "sqlite://$work/pcp.db" --runs-dir "$runs" --bind "ipc://$dir/$1" --id "$1" \
        --heartbeat-ms 100 --timeout-ms $((1500 * slow)) --leader-ttl-ms $((1500 * slow))
}
submit() { # NAME [ENDPOINTS]: in the background
    "$bin/pcp" run submit "$work/model.mlir" "${flags[@]}" --name "$1" --key "$1" --wait-ms 60000 \
        --shepherd "${2:-$control}" >"$work/$1.out" 2>"$work/$1.err" &
    pid[submit]=$!
}
# The tokens of a submission have begun to arrive.
arriving() { find "$runs" -path '*/.upload-*' -name train.u16 -size +1024k 2>/dev/null | grep -q .; }
partly() { # of what there is in the end, and no more comes
    local n
    n=$(find "$runs" -path '*/.upload-*' -name train.u16 -printf '%s\n' | head -n 1)
    [ -n "$n" ] && [ "$n" -lt "$(stat -c %s "$work/alone/train.u16")" ]
}
# middle NAME [VICTIM]: that front, or the victim, is killed in the middle of a submission
middle() {
    local victim=${2:-$1} limit=$((SECONDS + 60))
    until arriving; do
        [ $SECONDS -lt $limit ] || return 1
        sleep 0.01
    done
    slay STOP "$1"
    partly || return 1
    slay KILL "$victim"
    [ "$victim" = "$1" ] || slay CONT "$1"
    wait "${pid[$victim]}" 2>/dev/null
    killed+=("${pid[$victim]}")
    unset "pid[$victim]"
}
# Sockets to the runs' shepherds, files to be sent.
swept() {
    local one
    for one in "${killed[@]}"; do ! compgen -G "/tmp/pcp-*-$one-*" || return 1; done
}
submitted() { # NAME: with that run's id on its output
    local status=0
    eventually 120 not_running "${pid[submit]}"
    wait "${pid[submit]}" || status=$?
    unset "pid[submit]"
    [ "$status" -eq 0 ] || { cat "$work/$1.err"; return 1; }
    [ "$(cat "$work/$1.out")" = "$1" ] || { cat "$work/$1.out" "$work/$1.err"; return 1; }
}
runs_called() { find "$runs" -maxdepth 1 -name "$1" | wc -l; }
no_uploads() { [ "$(runs_called '.upload*')" -eq 0 ]; }
same_bits() { cmp "$work/alone/checkpoint/latest/model.safetensors" "$runs/$1/checkpoint/latest/model.safetensors"; }

stopped_all() { dismiss && eventually 60 no_orphans; }

front a
check "a front leads" eventually 60 event a 'event=leads'
front b
check "another one stands by" eventually 60 event b 'event=standby leader=a'
submit one
check "the front is killed in the middle of a submission" middle a
check "the stand-by leads" eventually 60 event b 'event=leads'
check "the submission goes on there" submitted one
check "where it was" event b 'event=submission_goes_on run=one bytes=[0-9]{7,}'
check "nothing else of it is left" no_uploads

# Through a proxy, whose connection stays when the front is gone: the new one says that it does not know the submitter.
"$bin/fault-proxy" --listen "ipc://$dir/p" --target "ipc://$dir/b" --delay 1 --delay-ms 10 2>"$dir/proxy.log" >&2 &
pid[proxy]=$!
submit two "ipc://$dir/p"
check "this one is killed, too" middle b
front b
check "it is started again, and leads" eventually 60 event b 'event=leads runs=1'
check "of those that were killed there are no sockets left" swept
check "the submission goes on" submitted two
check "nothing else of it is left" no_uploads

submit three
check "a submitter is killed in the middle" middle b submit
check "there is no such run" refuses 'there is no run "three"' "$bin/pcp" run get three
mkdir -p "$work/bare"
check "a directory that holds no run is refused" refuses "bare: there is no run.json in it" "$bin/pcp" run submit "$work/bare"
submit three
check "submitted again it is a run" submitted three
check "of which only the rest was sent" event b 'event=submission_goes_on run=three bytes=[0-9]{7,}'
check "the submitter was told" grep -qE '^[0-9]+ MB of [0-9]+ are at the cluster already' "$work/three.err"
check "nothing else of it is left" no_uploads
submit one
check "a run that is there is submitted once more" submitted one
check "of what the killed one had prepared nothing is left" swept

aggregator a0 --slots 2
serve c0 compiler --shepherd "$control" --id c0 --cache-dir "$plans"
worker w0
worker w1
check "the first run ends well" timeout $((100 * slow)) "$bin/pcp" run watch one
check "the second, too" timeout $((100 * slow)) "$bin/pcp" run watch two
check "the first has the bits that it has alone" same_bits one
check "so has the second" same_bits two
# No supervisor is here: asked, and refused, all the same.
"$bin/pcp" worker scale 3 --shepherd "$control" --wait-ms 5000 >/dev/null 2>&1
wished() { [ "$(sqlite3 "$work/pcp.db" ".timeout 10000" "SELECT detail LIKE '%\"scale\":3%' FROM pcp_events WHERE name = 'scale'")" = 1 ]; }
check "what operators ask is an event" eventually 30 wished
figures() { "$bin/pcp" run get one --json --shepherd "$control" | grep -E '"(loss|val_loss|tokens|round|state|checkpoint)"'; }
has_figures() { figures >"$work/figures.$1" && [ "$(grep -cE '"loss": [1-9]|"tokens": [1-9]|"checkpoint": "/|"state": "done"' "$work/figures.$1")" -eq 4 ]; }
has_end() { "$bin/pcp" run get one --json --shepherd "$control" | grep -qE '"finished_ms": [1-9]'; }
check "a run that has ended is known with its figures" has_figures before
check "and its end" has_end
slay TERM b
check "the front leaves" leaves b
front b
check "the next one knows them, too" eventually 60 has_figures after
check "the same" cmp "$work/figures.before" "$work/figures.after"
check "and its end" has_end
slay TERM b
check "it leaves" leaves b
check "nothing is left running" stopped_all
tap_done
