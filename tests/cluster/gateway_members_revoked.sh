#!/usr/bin/env bash
# The key of a gateway's member is revoked while the member writes: the connection between the two ends, the member does not
# get in again, and another one writes its texts on.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
export XDG_CACHE_HOME=$work/cache
if ! command -v jq >"$work/which" || ! command -v curl >"$work/which"; then
    skip "a gateway's member whose key is revoked" "no jq, or no curl"
    tap_done
    exit
fi

for i in {1..300}; do echo "The quick brown fox jumps over $i lazy dogs."; done >"$work/text.txt"
"$bin/pcp" model gpt2 --layers 6 --heads 4 --width 256 --block 512 --vocab 256 --batch 1 >"$work/model.mlir" || exit 1
timeout $((120 * slow)) "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 1 --threads 1 \
    --inner-steps 1 --rounds 1 --run-dir "$work/run" >"$work/train.txt" 2>&1 || { tail -n 15 "$work/train.txt"; exit 1; }
token=0123456789abcdef0123456789abcdef keys=$work/keys
echo "ada $token" >"$work/tokens"
chmod 600 "$work/tokens"
"$bin/pcp" keys init --dir "$keys" >"$work/issue.out" || exit 1
"$bin/pcp" keys issue --dir "$keys" --role gateway --name door >"$work/issue.out" || exit 1
for name in gone stays; do "$bin/pcp" keys issue --dir "$keys" --role inference --name $name >"$work/issue.out" || exit 1; done

cluster "$work/gateway"
serve front gateway --http 127.0.0.1:0 --tokens "$work/tokens" --members tcp://127.0.0.1:0 --key "$keys/door.key" --revoked "$keys/revoked"
check "a gateway listens" eventually 30 event front event=listening
url=http://127.0.0.1:$(sed -n 's/.*event=listening port=\([0-9]*\).*/\1/p' "$dir/front.log")
door=$(sed -n 's/.*event=members endpoint="*\([^ "]*\).*/\1/p' "$dir/front.log")
member() {
    serve "$1" gateway --join "$door" --key "$keys/$1.key" --threads 1 --batch 4 --model tiny="$work/run/checkpoint"
    check "member $1 offers its model" eventually 180 event front "event=offered member=$1-"
}
post() { curl -sN --max-time 300 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d "$1" "$url/v1/completions"; }
pieces() { sed -n 's/^data: \({.*\)/\1/p' | jq -j '.choices[]? | .text // ""'; }
long='{"model":"tiny","prompt":"The ","max_tokens":500,"temperature":0.8,"stream":true,"seed":'
metric() { curl -s -H "Authorization: Bearer $token" "$url/metrics" | sed -n "s/^$1 //p"; }
writes() { [ "$(metric "pcp_gateway_member_texts_running{model=\"tiny\",member=\"$1-[^\"]*\"}")" -ge 1 ] 2>/dev/null; }
members() { [ "$(metric pcp_gateway_members)" = "$1" ]; }
ended() { grep -qx 'data: \[DONE\]' "$1"; }

member stays
for i in 1 2; do
    post "$long$i}" >"$work/calm.$i"
    check "text $i is written" ended "$work/calm.$i"
done
member gone
both() {
    local i
    streams=()
    for i in 1 2; do
        post "$long$i}" >"$work/stream.$i" &
        streams+=($!)
    done
    eventually 20 writes stays && eventually 20 writes gone || return 1
    slay STOP gone # before its text has ended
    writes gone
}
check "each member writes one of them again" both
check "the key of one is revoked" "$bin/pcp" keys revoke --dir "$keys" gone
check "the gateway cuts its connection" eventually 30 event front 'event=key_cut name=gone role=inference connections=1 reason="[^"]*revoked'
slay CONT gone
wait "${streams[@]}"
whole() { pieces <"$work/stream.$1" | cmp - <(pieces <"$work/calm.$1") && ended "$work/stream.$1"; }
for i in 1 2; do check "text $i has no gap" whole $i; done
check "which ends: the member comes again, and is refused" eventually 60 event front 'event=key_refused .*revoked'
check "it is none any more" eventually 30 members 1
dismiss
check "nothing is left running" no_orphans
tap_done
