#!/usr/bin/env bash
# Workers of a cluster, each on a machine of its own, that go from run to run and keep inner states where they make them (the
# front's default): who leaves a run sends a copy of what it made last, the lease that begins with it waits for that, and both
# runs end with the bits that they have alone, without a step back.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash

text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
flags=(--data "$work/text.txt" --tokenizer byte --workers 2 --inner-steps 8 --validate-every 0 --lr 3e-3 --checkpoint-every 0)
long=(--seed 3 --rounds 120) short=(--seed 4 --rounds 20)
alone() { # NAME FLAGS: the same run without a cluster
    local name=$1
    shift
    timeout $((120 * slow)) "$bin/pcp" train "$work/model.mlir" "${flags[@]}" "$@" --threads 1 --run-dir "$work/alone/$name"
}
check "a long run alone" alone long "${long[@]}"
check "a short one alone" alone short "${short[@]}"

cluster "$work/c"
runs=$work/runs control=ipc://$dir/a
export PCP_SHEPHERD=$control
serve a shepherd --cluster --store "sqlite://$dir/cluster.db" --runs-dir "$runs" --socket-dir "$dir/a.s" --bind "$control" \
    --events "ipc://$dir/a.events" --id a --heartbeat-ms 100 --timeout-ms $((1500 * slow)) --log-level debug
serve a0 aggregator --shepherd "$control" --bind "ipc://$dir/a0" --id a0 --object-dir "$dir/a0.objects" --slots 2
compiler c0
for name in w0 w1; do worker "$name" --state-dir "$dir/$name.state"; done
run() { timeout $((100 * slow)) "$bin/pcp" run "$@"; }
submit() { run submit "$work/model.mlir" "${flags[@]}" "$@"; }
json() { run get "$1" --json | sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\).*/\1/p"; }
past() { # RUN ROUND: it has finished so many rounds
    local round
    round=$(json "$1" round)
    [ "${round:-0}" -ge "$2" ]
}
told() { cat "$dir"/w[01].log | grep -qE -- "$1"; }
same_bits() { cmp "$work/alone/$1/checkpoint/latest/model.safetensors" "$runs/$1/checkpoint/latest/model.safetensors"; }
logs() { run logs "$1" >"$work/$1.log" && ! grep -E "$2" "$work/$1.log"; }

check "a run is submitted" submit "${long[@]}" --name long
check "it trains" eventually 60 past long 5
check "another one is, which takes a worker from it" submit "${short[@]}" --name short --watch
check "and ends" event a 'event=run_over run=short|event=shepherd_ended run=short'
check "the first ends, too" run watch long
check "a worker has handed over what it made" told 'event=handing_over .*states=[12]'
check "others have begun with it" told 'event=state_restored .*from=object'
check "the first was not set back" logs long 'event=rewound'
check "nor the second" logs short 'event=rewound'
check "the first has the bits that it has alone" same_bits long
check "the second, too" same_bits short
tap_done
