#!/usr/bin/env bash
# pcp-gateway --members: several inference members write for one gateway. What they write is what pcp generate
# writes; a member that is killed or stopped in the middle of a text is not noticed in it; newer checkpoints; keys.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
at_exit "dismiss; rm -rf '$work'"
export XDG_CACHE_HOME=$work/cache
if ! command -v jq >/dev/null || ! command -v curl >/dev/null; then
    skip "members of a gateway" "no jq, or no curl"
    tap_done
    exit
fi

# --- a model that is large enough to be disturbed while it writes ---
for i in {1..3000}; do echo "The quick brown fox jumps over $i lazy dogs."; done >"$work/text.txt"
"$bin/pcp" model gpt2 --layers 6 --heads 4 --width 256 --block 512 --vocab 256 --batch 1 >"$work/model.mlir" 2>"$work/model.txt" || exit 1
timeout $((120 * slow)) "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 1 --threads 1 \
    --inner-steps 2 --rounds 3 --lr 1e-3 --checkpoint-every 1 --checkpoint-keep 9 --run-dir "$work/run" >"$work/train.txt" 2>&1 ||
    { tail -n 15 "$work/train.txt"; exit 1; }
older=$(find "$work/run/checkpoint" -maxdepth 1 -name 'round-*' -printf '%f\n' | sort | head -n 1)
newest=$(find "$work/run/checkpoint" -maxdepth 1 -name 'round-*' -printf '%f\n' | sort | tail -n 1)
mkdir "$work/live"
cp -r "$work/run/checkpoint/$older" "$work/live/"
ln -s "$older" "$work/live/latest"
token=0123456789abcdef0123456789abcdef
echo "ada $token" >"$work/tokens"
chmod 600 "$work/tokens"

cluster "$work/gateway"
url="" door=""
front() { # [FLAGS]: a gateway without a model of its own
    serve front gateway --http 127.0.0.1:0 --tokens "$work/tokens" "$@"
    eventually 10 event front event=listening || { tail -n 5 "$dir/front.log"; return 1; }
    url=http://127.0.0.1:$(sed -n 's/.*event=listening port=\([0-9]*\).*/\1/p' "$dir/front.log")
    door=$(sed -n 's/.*event=members endpoint="*\([^ "]*\).*/\1/p' "$dir/front.log")
}
member() { # NAME [FLAGS]
    local name=$1
    shift
    serve "$name" gateway --join "$door" --id "$name" --threads 1 --batch 4 "$@"
}
post() {
    local path=$1 body=$2
    shift 2
    curl -sN --max-time 120 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d "$body" "$@" "$url/v1/$path"
}
status_of() { post "$@" -o "$work/status.body" -w '%{http_code}'; }
said() { jq -j 'if type == "object" then .choices[] | .text // .message.content // .delta.content // "" else "" end'; }
pieces() { sed -n 's/^data: \({.*\)/\1/p' | jq -j '.choices[]? | .text // .delta.content // ""'; }
metric() { curl -s -H "Authorization: Bearer $token" "$url/metrics" | sed -n "s/^$1 //p"; }
is_metric() { [ "$(metric "$1")" = "$2" ]; }
at_least() { [ "$(metric "$1")" -ge "$2" ] 2>/dev/null; }
is() { # STATUS WORDS PATH BODY
    local status
    status=$(status_of "$3" "$4")
    [ "$status" = "$1" ] && grep -qF -- "$2" "$work/status.body" && return
    echo "status $status"
    cat "$work/status.body"
    return 1
}
generate() { "$bin/pcp" generate --no-slide "$@" --json 2>>"$work/err" | jq -j .text; }
running() { at_least "pcp_gateway_member_texts_running{model=\"$1\",member=\"$2\"}" "${3:-1}"; }
offered() { event front "event=offered member=$1"; }

# --- nobody, then two of a model and one of another ---
check "a gateway begins without a model" front --members "ipc://$work/door"
[ -n "$url" ] || { tap_done; exit; }
check "without a member there is an error that names the fix" is 503 "pcp-gateway --model NAME=DIR --join" completions '{"model":"tiny","prompt":"x"}'
check "and it is not ready" test "$(curl -s -o /dev/null -w '%{http_code}' "$url/readyz")" = 503
check "but lives" curl -sf "$url/healthz"
printf '#!/bin/sh\nuntil [ -e "%s" ]; do sleep 0.1; done\nexec "%s" "$@"\n' "$work/go" "${PCP_CC:-gcc}" >"$work/waits"
chmod +x "$work/waits"
PCP_CC=$work/waits member one --model tiny="$work/run/checkpoint/$newest"
check "a member joins before its model is compiled" eventually 20 is_metric pcp_gateway_members 1
check "and is not said to be missing" is 503 "1 members have joined and load theirs" completions '{"model":"tiny","prompt":"x"}'
touch "$work/go"
member two --model tiny="$work/run/checkpoint/$newest"
member three --model other="$work/live" --follow --chat-template plain
for name in one two three; do check "member $name offers its model" eventually 60 offered $name; done
check "now it is ready" curl -sf "$url/readyz"
listed() { curl -s -H "Authorization: Bearer $token" "$url/v1/models" | jq -e '[.data[].id] | sort == ["other", "tiny"]'; }
check "both models are listed" listed

greedy='"model":"tiny","prompt":"The ","max_tokens":60,"temperature":0'
generate --checkpoint "$work/run/checkpoint/$newest" --prompt "The " --tokens 60 --temperature 0 >"$work/alone"
whole() { post completions "{$greedy}" | said | cmp - "$work/alone"; }
check "greedy text is that of pcp generate" whole
in_pieces() { post completions "{$greedy,\"stream\":true}" >"$work/stream" && pieces <"$work/stream" | cmp - "$work/alone" && grep -qx 'data: \[DONE\]' "$work/stream"; }
check "its pieces make the same text" in_pieces
logprobs() { post completions "{$greedy,\"logprobs\":2}" | jq -e '.choices[0].logprobs | (.tokens | length) == 60 and (.token_logprobs | max) <= 0 and (.top_logprobs[0] | length) == 2'; }
check "log-probabilities" logprobs
embeds() { post embeddings '{"model":"tiny","input":["The ","The quick"]}' | jq -e '.data | length == 2 and all(.embedding | length == 256)'; }
check "embeddings" embeds
biased() { post completions '{"model":"tiny","prompt":"The ","max_tokens":60,"seed":3,"logit_bias":{"32":-100},"stop":["zzz"]}' | jq -e '.choices[0].text | length > 20 and (contains(" ") | not)'; }
check "biases and stop strings go with a text" biased
chat() { post chat/completions '{"model":"other","messages":[{"role":"user","content":"Hello"}],"max_tokens":5}' | jq -e '.usage.completion_tokens == 5'; }
check "a member's template makes chats" chat
check "an unknown model" is 404 model_not_found completions '{"model":"absent","prompt":"x"}'
check "a model without a template has no chats" is 400 "no chat template" chat/completions '{"model":"tiny","messages":[{"role":"user","content":"x"}]}'
check "a token that there is not" is 400 "token 256 is outside" completions '{"model":"tiny","prompt":[256]}'
check "a prompt longer than the context" is 400 "has 512" completions "{\"model\":\"tiny\",\"prompt\":\"$(printf 'x%.0s' {1..513})\"}"
shared() {
    local i others=()
    for i in {1..8}; do
        post completions "{\"model\":\"tiny\",\"prompt\":\"number $i\",\"max_tokens\":150,\"seed\":$i,\"stream\":true}" >"$work/other.$i" &
        others+=($!)
    done
    eventually 20 running tiny one && eventually 20 running tiny two || return 1
    wait "${others[@]}"
    for i in {1..8}; do
        pieces <"$work/other.$i" | cmp - <(generate --checkpoint "$work/run/checkpoint/$newest" --prompt "number $i" --tokens 150 --seed "$i") || return 1
    done
}
check "two members share a model's texts, each as it is alone" shared
leaving() {
    post completions '{"model":"tiny","prompt":"The ","n":8,"max_tokens":500,"stream":true}' --max-time 0.3 >/dev/null
    eventually 10 is_metric 'pcp_gateway_texts_running{model="tiny"}' 0 &&
        eventually 10 is_metric 'pcp_gateway_member_texts_running{model="tiny",member="one"}' 0
}
check "texts of a client that leaves are not written on" leaving

# --- a newer checkpoint ---
text_now() { post completions "{${greedy/tiny/other}}" | said; }
text_now >"$work/old"
follows() {
    cp -r "$work/run/checkpoint/$newest" "$work/live/"
    ln -sfn "$newest" "$work/live/latest"
    eventually 20 is_metric 'pcp_gateway_member_checkpoint_round{model="other",member="three"}' $((10#${newest#round-})) || { metric "pcp_gateway_member_checkpoint_round.*"; tail -n 3 "$dir/three.log"; return 1; }
    text_now | cmp - "$work/alone" && ! cmp -s "$work/old" "$work/alone"
}
check "a member's newer checkpoint is served without a restart" follows

# --- members that end ---
long='"model":"tiny","prompt":"The quick","max_tokens":480,"temperature":0.8,"stream":true'
undisturbed() {
    local i
    for i in 1 2 3 4; do
        generate --checkpoint "$work/run/checkpoint/$newest" --prompt "The quick" --tokens 480 --temperature 0.8 --seed "$i" >"$work/calm.$i"
    done
}
undisturbed
# through ACTION...: four streams whose texts are those of before, while ACTION befalls a member that writes some of them
through() {
    local i streams=()
    for i in 1 2 3 4; do
        post completions "{$long,\"seed\":$i}" >"$work/stream.$i" &
        streams+=($!)
    done
    for i in 1 2 3 4; do eventually 20 grep -q data: "$work/stream.$i" || return 1; done
    slay STOP one # before they have ended
    running tiny one || { echo "it has nothing to lose"; return 1; }
    "$@" || return 1
    wait "${streams[@]}"
    for i in 1 2 3 4; do
        pieces <"$work/stream.$i" | cmp - "$work/calm.$i" && grep -qx 'data: \[DONE\]' "$work/stream.$i" || return 1
    done
}
check "a member is killed: its texts are written on by the other, without a gap" through slay KILL one
check "that was noticed" event front 'event=member_lost member=one'
slay KILL one 2>/dev/null
wait "${pid[one]}" 2>/dev/null
unset 'pid[one]'
member one --model tiny="$work/run/checkpoint/$newest"
again() { [ "$(grep -c 'event=offered member=one' "$dir/front.log")" = "$1" ]; }
check "it comes back" eventually 60 again 2
check "a member is stopped: the same" through slay STOP one
check "its silence was noticed" event front 'event=member_lost member=one reason="silent'
slay CONT one
check "it goes on, and joins again" eventually 60 again 3
drains() {
    post completions "{$long,\"seed\":1,\"n\":8}" >"$work/stream" &
    local stream=$!
    eventually 20 running tiny one && eventually 20 running tiny two || return 1
    slay TERM two
    leaves two && wait $stream && [ "$(grep -c '"finish_reason":"length"' "$work/stream")" = 8 ]
}
check "SIGTERM: a member writes what it has begun to its end" drains
member five --model tiny="$work/run/checkpoint/$older"
check "one with another checkpoint of the model" eventually 60 offered five
nobody_else() {
    local i streams=()
    for i in 1 2 3 4; do
        post completions "{$long,\"seed\":$i}" >"$work/stream.$i" &
        streams+=($!)
    done
    for i in 1 2 3 4; do eventually 20 grep -q data: "$work/stream.$i" || return 1; done
    slay KILL one
    wait "${streams[@]}"
    cat "$work"/stream.? | grep -q 'no other has its checkpoint'
}
check "where nobody has the checkpoint, an error says so" nobody_else
others_too() { post completions '{"model":"tiny","prompt":"x","max_tokens":4}' | jq -e '.usage.completion_tokens == 4'; }
check "new texts are written by who is there" others_too
slay TERM five
check "an idle member leaves at once" leaves five
check "then nobody has the model" is 503 "no member serves the model tiny" completions '{"model":"tiny","prompt":"x"}'
check "others are served as before" chat
slay TERM front
check "the gateway leaves" leaves front
dismiss

# --- over TCP, with keys ---
keys=$work/keys
"$bin/pcp" keys init --dir "$keys" >/dev/null || exit 1
for role in gateway inference worker; do "$bin/pcp" keys issue --dir "$keys" --role $role --name ${role}1 >/dev/null || exit 1; done
cluster "$work/keyed"
check "a gateway with a key" front --key "$keys/gateway1.key" --members tcp://127.0.0.1:0
check "whose endpoint has it" grep -q '?key=' <<<"$door"
serve good gateway --join "$door" --key "$keys/inference1.key" --threads 1 --model tiny="$work/run/checkpoint/$newest"
check "a member with a key joins" eventually 60 event front 'event=offered member=inference1-'
check "and writes" whole
serve wrong gateway --join "$door" --key "$keys/worker1.key" --threads 1 --model tiny="$work/run/checkpoint/$newest"
check "a worker's key is refused" eventually 20 event wrong 'event=refused.*its key has another role'
serve unknown gateway --join "${door%\?*}" --key "$keys/inference1.key" --id inference1-b --threads 1 --model tiny="$work/run/checkpoint/$newest"
serve nokey gateway --join "$door" --threads 1 --model tiny="$work/run/checkpoint/$newest"
tried() { event unknown "event=unreachable" && event nokey "event=unreachable"; }
check "two others find nobody to talk to: without the gateway's key, or one of their own" eventually 60 tried
check "one member alone has joined" is_metric pcp_gateway_members 1
# Only the member knows of it: the gateway lets it in, but it does not let itself be used.
hex=$("$bin/pcp" keys show "$keys/gateway1.key" | grep -oE '[0-9a-f]{64}' | head -n 1)
cp -r "$keys" "$work/told" && "$bin/pcp" keys revoke --dir "$work/told" "$hex" >"$work/out" || exit 1
serve informed gateway --join "$door" --key "$keys/inference1.key" --id inference1-c --revoked "$work/told/revoked" --threads 1 \
    --model tiny="$work/run/checkpoint/$newest"
check "a member asks what the gateway's key is" eventually 20 event informed 'event=refused.*its key is revoked'
is_not_used() { ! event informed event=joined && ! event front 'event=offered member=inference1-c'; }
check "and offers nothing to one that it does not take" is_not_used
worker_binds() {
    timeout 20 "$bin/pcp-gateway" --http 127.0.0.1:0 --key "$keys/worker1.key" --members tcp://127.0.0.1:0 2>"$work/err.role"
    grep -q 'role gateway' "$work/err.role"
}
check "members join where a gateway's key is" worker_binds
tap_done
