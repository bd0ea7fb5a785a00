#!/usr/bin/env bash
# pcp-gateway: what it writes for many at a time is what pcp generate writes for one; streams, refusals, limits,
# clients that leave or stop reading, newer checkpoints, the end. The official client, where npm has it.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
at_exit "dismiss; rm -rf '$work'"
export XDG_CACHE_HOME=$work/cache

# --- a small model that has learned a little ---
for i in {1..3000}; do echo "The quick brown fox jumps over $i lazy dogs."; done >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 128 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
timeout $((120 * slow)) "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 1 --threads 1 \
    --inner-steps 20 --rounds 4 --lr 1e-2 --checkpoint-every 1 --checkpoint-keep 9 --run-dir "$work/run" >"$work/train.txt" 2>&1 ||
    { tail -n 15 "$work/train.txt"; exit 1; }
token=0123456789abcdef0123456789abcdef
printf '# people\nada %s\n\nbob another-token-of-some-length\n' $token >"$work/tokens"
chmod 600 "$work/tokens"

cluster "$work/gateway"
url=
up() { # NAME [FLAGS]: start a gateway, and wait for its models
    local name=$1
    shift
    serve "$name" gateway --http 127.0.0.1:0 --threads 1 "$@"
    eventually 60 event "$name" event=ready || { tail -n 5 "$dir/$name.log"; return 1; }
    url=http://127.0.0.1:$(sed -n 's/.*event=listening port=\([0-9]*\).*/\1/p' "$dir/$name.log")
}

# post PATH BODY [FLAGS]; status_of the same; said: what the texts of an answer are, whole or in pieces
post() {
    local path=$1 body=$2
    shift 2
    curl -sN --max-time 60 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d "$body" "$@" "$url/v1/$path"
}
status_of() { post "$@" -o "$work/status.body" -w '%{http_code}'; }
said() { jq -j 'if type == "object" then .choices[] | .text // .message.content // .delta.content // "" else "" end'; }
pieces() { sed -n 's/^data: \({.*\)/\1/p' | jq -j '.choices[] | .text // .delta.content // ""'; }
# holds FILTER: true of the JSON on standard input, of which there is some
holds() { tee "$work/json" | jq -se "length == 1 and (.[0] | $1)" >/dev/null || { head -c 2000 "$work/json"; return 1; }; }
metric() { curl -s -H "Authorization: Bearer $token" "$url/metrics" | sed -n "s/^$1 //p"; }
at_least() { [ "$(metric "$1")" -ge "$2" ] 2>/dev/null; }
# is STATUS PARAM WORDS PATH BODY: a refusal in the form that clients know
is() {
    local status
    status=$(status_of "$4" "$5")
    if [ "$status" != "$1" ] || ! jq -e --arg p "$2" --arg w "$3" \
        '.error | (.param // "") == $p and (.message | contains($w)) and (.type | type == "string")' "$work/status.body" >/dev/null; then
        echo "status $status"
        cat "$work/status.body"
        return 1
    fi
}
generate() { "$bin/pcp" generate --checkpoint "$work/run" --no-slide "$@" --json 2>>"$work/err" | jq -j .text; }

if ! command -v jq >/dev/null || ! command -v curl >/dev/null; then
    skip "the gateway" "no jq, or no curl"
    tap_done
    exit
fi
check "a gateway begins to serve" up many --model tiny="$work/run" --batch 4 --queue 200 --tokens "$work/tokens" --chat-template plain
[ -n "$url" ] || { tap_done; exit; }

# --- alone, together, in pieces ---
greedy='"model":"tiny","prompt":"The ","max_tokens":60,"temperature":0'
generate --prompt "The " --tokens 60 --temperature 0 >"$work/alone"
check "the model has something to say" test "$(tr -d ' \n' <"$work/alone" | wc -c)" -gt 10
whole() { post completions "{$greedy}" | said | cmp - "$work/alone"; }
check "greedy text is that of pcp generate" whole
in_pieces() { post completions "{$greedy,\"stream\":true}" >"$work/stream" && pieces <"$work/stream" | cmp - "$work/alone" && tail -n 2 "$work/stream" | grep -qx 'data: \[DONE\]'; }
check "its pieces make the same text" in_pieces
drawn() {
    generate --prompt "The " --tokens 30 --seed 7 --top-p 0.9 >"$work/drawn"
    post completions '{"prompt":"The ","max_tokens":30,"seed":7,"top_p":0.9,"stream":true}' | pieces | cmp - "$work/drawn"
}
check "drawn by the same seed, too" drawn
beside_others() {
    local i others=()
    for i in {1..20}; do
        until [ -e "$work/enough" ]; do # again and again: a text takes some milliseconds
            post completions "{\"prompt\":\"number $i of many\",\"max_tokens\":90,\"seed\":$i,\"stream\":true}" >"$work/other.$i"
        done &
        others+=($!)
    done
    eventually 20 at_least 'pcp_gateway_texts_running{model="tiny"}' 4 && whole && whole && whole
    local rc=$?
    touch "$work/enough"
    wait "${others[@]}"
    [ $rc -eq 0 ] || return 1
    for i in {1..20}; do
        pieces <"$work/other.$i" | cmp - <(generate --prompt "number $i of many" --tokens 90 --seed "$i") || return 1
        grep -q DONE "$work/other.$i" || return 1
    done
}
check "beside 20 other streams each writes what it writes alone" beside_others
tokens_too() { post completions '{"prompt":[84,104,101,32],"max_tokens":60,"temperature":0}' | said | cmp - "$work/alone"; }
check "a prompt of tokens" tokens_too
several() { post completions '{"prompt":["The ","A"],"n":2,"max_tokens":3,"temperature":0}' | holds '[.choices[].index] == [0,1,2,3] and .choices[0].text == .choices[1].text and .usage.prompt_tokens == 5 and .usage.completion_tokens == 12'; }
check "several prompts, several texts of each" several
stops() { post completions "{$greedy,\"stop\":[\"zzz\",\"$(cut -c 6-8 <<<"$(tr '\n' ' ' <"$work/alone")")\"]}" | holds '.choices[0].finish_reason == "stop" and (.choices[0].text | length) < 12'; }
check "a stop string ends a text" stops
context() { post completions '{"prompt":"The ","max_tokens":5000,"temperature":0}' | holds '.choices[0].finish_reason == "length" and .usage.total_tokens == 129'; }
check "a full context ends a text" context
echoes() { post completions "{$greedy,\"echo\":true}" | said | cmp - <(printf 'The '; cat "$work/alone"); }
check "echo begins with the prompt" echoes
logprobs() { post completions "{$greedy,\"logprobs\":2}" | holds '.choices[0].logprobs | (.tokens | length) == 60 and (.token_logprobs | max) <= 0 and (.top_logprobs[0] | length) == 2'; }
check "log-probabilities" logprobs
never() { post completions '{"prompt":"The ","max_tokens":60,"seed":3,"logit_bias":{"32":-100}}' | holds '.choices[0].text | length > 20 and (contains(" ") | not)'; }
check "a token with a bias of -100 does not come" never
chat() {
    local body='"messages":[{"role":"user","content":"Hello"}],"max_tokens":12,"temperature":0'
    post chat/completions "{$body}" | said >"$work/chat"
    generate --prompt $'User: Hello\nAssistant:' --tokens 12 --temperature 0 | cmp - "$work/chat" &&
        post chat/completions "{$body,\"stream\":true,\"stream_options\":{\"include_usage\":true}}" >"$work/stream" &&
        pieces <"$work/stream" | cmp - "$work/chat" &&
        grep -q '"role":"assistant"' "$work/stream" && grep -q '"completion_tokens":12' "$work/stream"
}
check "a chat is its template's text" chat
# shellcheck disable=SC2016 # jq's own variables
embeds() {
    post embeddings '{"model":"tiny","input":["The ","The quick brown fox",[84,104,101,32]]}' | holds '.data as $d
        | ($d | map(.index) == [0, 1, 2]) and ($d | all(.embedding | length == 32)) and .usage == {prompt_tokens: 27, total_tokens: 27}
        and ($d | all((.embedding | map(. * .) | add) - 1 | fabs < 1e-5)) and ([$d[0].embedding, $d[2].embedding] | transpose | all((.[0] - .[1]) | fabs < 1e-5))
        and ([$d[0].embedding, $d[1].embedding] | transpose | map(.[0] * .[1]) | add < 0.999)'
}
check "embeddings: unit length, the same for the same text" embeds
check "prompts that begin alike are read once" at_least 'pcp_gateway_prompt_tokens_reused_total{model="tiny"}' 3

# --- who may ask, and what ---
check "models are listed" sh -c "curl -s -H 'Authorization: Bearer $token' $url/v1/models | jq -e '.data[0].id == \"tiny\"'"
nobody() { [ "$(curl -s -o "$work/nobody" -w '%{http_code}' "$@" "$url/v1/models")" = 401 ] && grep -q invalid_api_key "$work/nobody"; }
check "without a token nobody may ask" nobody
check "nor with a wrong one" nobody -H "Authorization: Bearer ${token%f}e"
check "nor with a part of one" nobody -H "Authorization: Bearer ${token:0:20}"
says() { # STATUS HEADERS BODY: what a request with these headers is answered before its body is complete
    local fd status
    exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
    printf "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n$2\r\n\r\n%s" "$3" >&"$fd"
    read -r -t $((5 * slow)) _ status _ <&"$fd"
    exec {fd}>&-
    [ "$status" = "$1" ]
}
check "nor is nobody's body read" says 401 'Content-Length: 1000000' ""
check "two lengths are none" says 400 'Content-Length: 2\r\nContent-Length: 40' '{}'
check "nor are a length and chunks" says 400 'Content-Length: 40\r\nTransfer-Encoding: chunked' $'2\r\n{}\r\n0\r\n\r\n'
check "health needs none" curl -sf "$url/readyz"
check "who asked is counted" at_least 'pcp_gateway_token_use_total{name="ada"}' 60
check "an unknown model" is 404 model absent completions '{"model":"absent","prompt":"x"}'
check "a body that is no JSON" is 400 "" "not JSON" completions '{"prompt":'
check "a wrong type" is 400 max_tokens "whole number" completions '{"prompt":"x","max_tokens":"many"}'
check "a prompt longer than the context" is 400 prompt "(its block size) has 128" completions "{\"prompt\":\"$(printf 'x%.0s' {1..129})\"}"
check "a token that there is not" is 400 prompt "token 256 is outside" completions '{"prompt":[256]}'
check "a bias of one" is 400 logit_bias "token 256 is outside" completions '{"prompt":"x","logit_bias":{"256":1}}'
check "what is not there is refused by name" is 400 tools "tools is not supported" chat/completions '{"messages":[{"role":"user","content":"x"}],"tools":[{}]}'
check "a path that is not served" is 404 "" "/v1/images is not served" images '{"input":"x"}'
check "an embedding of another size" is 400 dimensions "has 32" embeddings '{"input":"x","dimensions":64}'
head -c 1100000 /dev/zero | tr '\0' x >"$work/large"
too_large() { [ "$(post completions "@$work/large" -o /dev/null -w '%{http_code}' "$@")" = 413 ]; }
check "a body without end" too_large
check "the same in chunks" too_large -H 'Transfer-Encoding: chunked'
form() { [ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" -d '{"prompt":"x"}' "$url/v1/completions")" = 415 ]; }
check "a page's form" form
headers_of() { # N STATUS: what so many bytes of them are answered
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H "X-Long: $(printf "%*s" "$1" '' | tr ' ' x)" "$url/healthz")" = "$2" ]
}
check "headers of 12000 bytes are read" headers_of 12000 200
check "more than are kept are refused" headers_of 20000 431
check "another method" test "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" "$url/v1/completions")" = 405

# --- clients that leave, and that do not read ---
long='"prompt":"The ","n":128,"max_tokens":120,"stream":true'
leaving() {
    local before
    before=$(metric 'pcp_gateway_texts_total{model="tiny",end="cancelled"}')
    post completions "{$long,\"logprobs\":20}" --max-time 0.2 >/dev/null
    eventually 10 at_least 'pcp_gateway_texts_total{model="tiny",end="cancelled"}' $((${before:-0} + 20)) &&
        eventually 10 test "$(metric 'pcp_gateway_texts_running{model="tiny"}')" = 0
}
check "texts of a client that leaves are not written on" leaving
leaving_whole() {
    local before
    before=$(metric 'pcp_gateway_texts_total{model="tiny",end="cancelled"}')
    post completions "{${long%,*},\"logprobs\":20}" --max-time 0.2 >/dev/null
    eventually 10 at_least 'pcp_gateway_texts_total{model="tiny",end="cancelled"}' $((before + 20))
}
check "also when nothing was sent yet" leaving_whole
deaf() {
    local body="{$long,\"logprobs\":20}" fd
    exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
    printf 'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' \
        "$token" "${#body}" "$body" >&"$fd"
    eventually 30 event many event=slow_client
    local status=$?
    exec {fd}>&-
    return $status
}
check "nor of one that does not read" deaf
check "others are served as before" whole

# --- the official client ---
client=build/openai
fetch() {
    mkdir -p "$client" && cp tests/tools/openai/* "$client" && cd "$client" || return 1
    cmp -s package-lock.json node_modules/.fetched ||
        { timeout 120 npm ci --no-audit --no-fund && cp package-lock.json node_modules/.fetched; }
}
if command -v node >/dev/null && (fetch >"$work/npm" 2>&1); then
    official() {
        node "$client/client.mjs" "$url/v1" "$token" tiny >"$work/official" || return 1
        cat "$work/official"
        jq -e --rawfile alone "$work/alone" '.models == ["tiny"] and (.text as $t | $alone | startswith($t)) and .pieces == .text and .usage == 24
            and .role == "assistant" and .said == .heard and .written == 8
            and (.same - 1 | fabs < 1e-5) and (.length - 1 | fabs < 1e-5) and .other < 0.999 and .encoded < 1e-7
            and .wrong == "400 BadRequestError temperature" and .absent == "404 NotFoundError model"' "$work/official" >/dev/null
    }
    check "the official client is served" official
else
    skip "the official client is served" "no node, or no npm registry"
fi

# --- the page ---
browse() { TMPDIR=$work "$bin/browse" >"$work/page" 2>"$work/browse.err" || { cat "$work/browse.err"; return 1; }; }
page() {
    printf '%s\n' "goto $url/" "wait document.getElementById('problem').textContent.includes('token')" \
        "print document.activeElement.id" \
        "print (() => { const t = document.getElementById('token'); t.value = '$token'; t.dispatchEvent(new Event('change')); return t.type; })()" \
        "wait document.getElementById('model').value === 'tiny'" \
        "print (() => { document.getElementById('temperature').value = 0; document.getElementById('tokens').value = 12; document.getElementById('words').value = 'Hello'; document.getElementById('ask').requestSubmit(); return 'asked'; })()" \
        "wait document.getElementById('facts').textContent.includes('12 written')" \
        "print JSON.stringify(document.querySelector('#log article:last-child').textContent)" \
        "print document.querySelectorAll('#log article').length" | browse &&
        sed -n 1,3p "$work/page" | tr '\n' ' ' | grep -qx 'token password asked ' &&
        sed -n 4p "$work/page" | jq -j . | cmp - "$work/chat" && sed -n 5p "$work/page" | grep -qx 2
}
own() { # nothing on the page comes from elsewhere
    curl -s "$url/" "$url/page/chat.js" "$url/page/style.css" >"$work/files" && [ "$(wc -c <"$work/files")" -gt 5000 ] &&
        ! grep -E 'https?://|url\(|@import' "$work/files"
}
check "the page's files are its own" own
absent() { [ "$(curl -s -o /dev/null -w '%{http_code}' "$url/page/absent.js")" = 404 ]; }
check "the page has no other files" absent
if command -v chromium >/dev/null; then
    check "the page: a token is asked for, and what is said is written" page
else
    skip "the page: a token is asked for, and what is said is written" "no chromium"
fi

# --- other tokens ---
carol=carols-token-of-some-length
status_for() { curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $1" "$url/v1/models"; }
is_for() { [ "$(status_for "$1")" = "$2" ]; }
replace_tokens() { cat >"$work/tokens.next" && chmod 600 "$work/tokens.next" && mv "$work/tokens.next" "$work/tokens"; }
others_count() {
    local stream
    post completions "{$long}" >"$work/stream" &
    stream=$!
    eventually 10 grep -q data: "$work/stream" || return 1
    printf 'bob another-token-of-some-length\ncarol %s\n' $carol | replace_tokens
    eventually 10 is_for $carol 200 && is_for $token 401 && is_for another-token-of-some-length 200 || return 1
    wait "$stream"
    grep -q '"code":"invalid_api_key"' "$work/stream" && ! grep -q DONE "$work/stream"
}
check "tokens that come and go count at once; what a token that is gone had begun ends" others_count
none_count() { : | replace_tokens && eventually 10 event many 'event=tokens_not_read.*has no token' && is_for $carol 200; }
check "a file without tokens takes none away, and the log says so" none_count
back() { printf 'ada %s\n' $token | replace_tokens && eventually 10 is_for $token 200 && is_for $carol 401; }
check "and the next one counts" back

# --- the end ---
draining() {
    local stream
    post completions "{$long}" >"$work/stream" &
    stream=$!
    eventually 10 grep -q data: "$work/stream" || return 1
    slay TERM many
    eventually 5 refused || return 1
    wait "$stream"
    [ "$(grep -c '"finish_reason":"length"' "$work/stream")" = 128 ] && grep -q DONE "$work/stream"
}
# By a gateway that still runs; on a quick machine it may be gone already.
refused() { [ "$(status_of completions '{"prompt":"x"}')" = 503 ] || not_running "$(process many)"; }
check "SIGTERM: what has begun is ended, nobody new is let in" draining
check "then it leaves" leaves many

# --- the queue ---
up few --model tiny="$work/run" --batch 4 --queue 3
full() {
    local stream
    post completions "{$long}" >"$work/stream" &
    stream=$!
    eventually 10 at_least 'pcp_gateway_texts_waiting{model="tiny"}' 3 || return 1
    post completions '{"prompt":"x"}' -D "$work/headers" | grep -q queue_full && grep -qi '^Retry-After: 1' "$work/headers"
    local status=$?
    wait "$stream"
    return $status
}
check "who comes when the queue is full is told to come again" full
check "another host's name is refused" test "$(curl -s -o /dev/null -w '%{http_code}' -H 'Host: example.com' "$url/v1/models")" = 421
slay TERM few
check "an idle one leaves at once" leaves few

# --- time ---
up late --model tiny="$work/run" --batch 4 --timeout-s 0.01
check "a stream that takes too long is ended" grep -q '"code":"timeout"' <(post completions "{$long,\"logprobs\":20}")
check "so is an answer" is 504 "" "took longer than 0.01 s" completions "{${long%,*},\"logprobs\":20}"
slay TERM late
check "nothing is left to be ended" leaves late

# --- newer checkpoints ---
mkdir "$work/live"
older=$(find "$work/run/checkpoint" -maxdepth 1 -name 'round-*' -printf '%f\n' | sort | head -n 1) # the first is always written
cp -r "$work/run/checkpoint/$older" "$work/live/"
ln -s "$older" "$work/live/latest"
text_now() { post completions "{$greedy}" | said; }
round_is() { [ "$(metric 'pcp_gateway_checkpoint_round{model="tiny"}')" = "$1" ]; }
up live --model tiny="$work/live" --batch 4 --follow
text_now >"$work/old"
follows() {
    post completions "{${long/128/16}}" >"$work/stream" &
    local stream=$!
    cp -r "$work/run/checkpoint/round-000004" "$work/live/"
    ln -sfn round-000004 "$work/live/latest"
    eventually 20 round_is 4 && text_now | cmp - "$work/alone" && ! cmp -s "$work/old" "$work/alone" || return 1
    wait "$stream"
    [ "$(grep -c '"finish_reason":"length"' "$work/stream")" = 16 ]
}
check "a newer checkpoint is served without a restart" follows
one_left() { [ "$(metric 'pcp_gateway_weights_loaded{model="tiny"}')" = 1 ] || { text_now >/dev/null; return 1; }; }
check "and the older one forgotten" eventually 10 one_left
slay TERM live
check "it leaves, too" leaves live

# --- TLS ---
if command -v openssl >/dev/null; then
    (umask 077 && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost \
        -addext subjectAltName=IP:127.0.0.1 -keyout "$work/tls.key" -out "$work/tls.crt" 2>"$work/err")
    up tls --model tiny="$work/run" --batch 4 --tls-cert "$work/tls.crt" --tls-key "$work/tls.key" --tokens "$work/tokens"
    url=${url/http:/https:}
    over_tls() { post completions "{$greedy}" --cacert "$work/tls.crt" | said | cmp - "$work/alone"; }
    check "over TLS the text is the same" over_tls
    streams_tls() { post completions "{$greedy,\"stream\":true}" --cacert "$work/tls.crt" | pieces | cmp - "$work/alone"; }
    check "so are its pieces" streams_tls
    slay TERM tls
    check "it leaves, too" leaves tls
else
    skip "HTTPS of the gateway" "no openssl"
fi

# --- a template of a model's files ---
mkdir "$work/tuned"
cat >"$work/tuned/tokenizer_config.json" <<'EOF'
{"bos_token": {"content": "The "}, "eos_token": "~", "chat_template": [{"name": "tools", "template": "no"}, {"name": "default",
 "template": "{{ bos_token }}{% for m in messages -%}\n {% if m.role != 'user' %}{{ raise_exception('a ' + m.role + ' speaks') }}{% endif %}{{ m.content | trim }}{% if not loop.last %} {% endif %}{% endfor %}"}]}
EOF
check "a gateway with a template of a file" up tuned --model tiny="$work/run" --batch 1 --chat-template tiny="$work/tuned"
by_file() {
    post chat/completions '{"messages":[{"role":"user","content":" quick"},{"role":"user","content":"brown"}],"max_tokens":12,"temperature":0}' | said >"$work/chat"
    generate --prompt $'The quick brown' --tokens 12 --temperature 0 | cmp - "$work/chat"
}
check "a chat is what the file's template makes of it" by_file
check "what it refuses is refused in its words" is 400 messages "a assistant speaks" chat/completions '{"messages":[{"role":"assistant","content":"x"}]}'
slay TERM tuned
check "it leaves after that" leaves tuned

# --- the template that a model came with ---
mkdir "$work/hf"
"$bin/pcp" tokenizer train --vocab 280 --out "$work/hf/tokenizer.json" "$work/text.txt" 2>"$work/err"
gpt2 --layers 1 --heads 2 --width 32 --block 128 --vocab 280 --batch 4 >"$work/own.mlir"
learn() { # NAME: a run with the tokenizer of $work/hf, as it is now
    timeout $((120 * slow)) "$bin/pcp" train "$work/own.mlir" --data "$work/text.txt" --tokenizer "$work/hf" --workers 1 --threads 1 \
        --inner-steps 5 --rounds 1 --lr 1e-2 --run-dir "$work/$1"
}
cp "$work/tuned/tokenizer_config.json" "$work/hf"
check "a run with a tokenizer of a published model" learn own
printf 'a\n{%% include "x" %%}' >"$work/hf/chat_template.jinja"
check "and one whose template asks for more than is known" learn hard
check "a gateway of both, and a template by name" up own --model own="$work/own" --model hard="$work/hard" --model named="$work/hard" \
    --batch 1 --chat-template named=plain
chats_own() {
    local ask='"messages":[{"role":"user","content":" quick"},{"role":"user","content":"brown"}],"max_tokens":12,"temperature":0'
    post chat/completions "{\"model\":\"own\",$ask}" | said >"$work/chat"
    "$bin/pcp" generate --checkpoint "$work/own" --no-slide --prompt $'The quick brown' --tokens 12 --temperature 0 --json | jq -j .text | cmp - "$work/chat" || return 1
    post chat/completions "{\"model\":\"named\",$ask}" | said >"$work/chat"
    "$bin/pcp" generate --checkpoint "$work/hard" --no-slide --prompt $'User:  quick\nUser: brown\nAssistant:' --tokens 12 --temperature 0 --json |
        jq -j .text | cmp - "$work/chat"
}
check "a chat is what the model's own template makes of it, or the named one" chats_own
check "what the model's template refuses is refused in its words" is 400 messages "a assistant speaks" chat/completions \
    '{"model":"own","messages":[{"role":"assistant","content":"x"}]}'
check "a template that asks for more refuses chats, by what it asks for" is 400 messages 'cannot be used: the chat template: line 2: the tag "include" is not known' \
    chat/completions '{"model":"hard","messages":[{"role":"user","content":"x"}]}'
check "and the log says so" event own event=chat_refused name=\"hard\"
goes_on() { post completions '{"model":"hard","prompt":"The ","max_tokens":3}' | holds '.usage.completion_tokens == 3'; }
check "texts are written all the same" goes_on
slay TERM own
check "it leaves as well" leaves own

# --- beginnings that are refused ---
gateway() { timeout 60 "$bin/pcp-gateway" --http 127.0.0.1:0 "$@"; }
check "no model" refuses "no --model" gateway
check "a name without a directory" refuses "expected NAME=DIR" gateway --model tiny
check "a directory without a checkpoint" refuses "there is no such directory" gateway --model tiny="$work/absent"
once() { # NAME COMMAND...: the command fails, and the last line, which people read, has the name once
    local name=$1
    shift
    refuses "$name" "$@" || return 1
    [ "$(tail -n 1 "$work/refuses.err" | grep -oF -- "$name" | wc -l)" = 1 ] || { cat "$work/refuses.err"; return 1; }
}
check "which is named once" once "$work/absent" gateway --model tiny="$work/absent"
check "as is a template" once "$work/absent.jinja" gateway --model tiny="$work/run" --chat-template "$work/absent.jinja"
check "a template that is not known" refuses "known are chatml" gateway --model tiny="$work/run" --chat-template jinja
printf 'a\n{%% include "x" %%}' >"$work/tuned/chat_template.jinja"
check "a template that asks for more than is known" refuses 'line 2: the tag "include" is not known' gateway --model tiny="$work/run" --chat-template "$work/tuned"
check "a template that is not there" refuses "absent.jinja" gateway --model tiny="$work/run" --chat-template "$work/absent.jinja"
check "another address than this machine's, without tokens" refuses "give --tokens" gateway --model tiny="$work/run" --http 0.0.0.0:0
check "a certificate without its key" refuses "give --tls-cert and --tls-key" gateway --model tiny="$work/run" --tls-cert "$work/absent.crt"
chmod 644 "$work/tokens"
check "tokens that others may read" refuses "chmod 600" gateway --model tiny="$work/run" --tokens "$work/tokens"
listed() {
    "$bin/pcp-gateway" --list-metrics >"$work/metrics.md"
    local line
    while IFS= read -r line; do grep -qFx -- "$line" docs/serving.md || { echo "docs/serving.md lacks: $line"; return 1; }; done <"$work/metrics.md"
}
check "docs/serving.md has every metric" listed
check "nothing is left running" no_orphans
tap_done
