#!/usr/bin/env bash
# HTTP of pcp-metrics beyond this machine: refused without tokens; TLS, tokens as programs and as browsers say them,
# clients that shake no hands. The gateway's, which is the same server, is in gateway.sh.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
at_exit "dismiss; rm -rf '$work'"

if ! command -v openssl >/dev/null || ! command -v curl >/dev/null; then
    skip "HTTPS" "no openssl, or no curl"
    tap_done
    exit
fi
certificate() { # NAME: certificate and key of this machine
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$work/$1.key" -out "$work/$1.crt" 2>"$work/openssl.err"
    chmod 600 "$work/$1.key"
}
if ! certificate one || ! certificate other; then cat "$work/openssl.err"; exit 1; fi
token=0123456789abcdef0123456789abcdef
printf 'ada another-token-of-some-length\nprometheus %s\n' $token >"$work/tokens"
chmod 600 "$work/tokens"
"$bin/pcp" db migrate --store "sqlite://$work/pcp.db" >"$work/migrate.txt" 2>&1 || { cat "$work/migrate.txt"; exit 1; }

# --- beginnings that are refused ---
metrics() { timeout 60 "$bin/pcp-metrics" --events none --store "sqlite://$work/pcp.db" "$@"; }
secure=(--tokens "$work/tokens" --tls-cert "$work/one.crt" --tls-key "$work/one.key")
check "metrics for other machines, without tokens" refuses "give --tokens" metrics --http 0.0.0.0:0
check "a page for other machines, without tokens" refuses "give --tokens" metrics --http none --web 0.0.0.0:0
check "a certificate without its key" refuses "give --tls-cert and --tls-key" metrics --http 127.0.0.1:0 --tls-cert "$work/one.crt"
check "a certificate and another's key" refuses "a certificate and its key" metrics --http 127.0.0.1:0 --tls-cert "$work/one.crt" --tls-key "$work/other.key"
chmod 644 "$work/other.key" "$work/tokens"
check "a key that others may read" refuses "chmod 600" metrics --http 127.0.0.1:0 --tls-cert "$work/other.crt" --tls-key "$work/other.key"
check "tokens that others may read" refuses "chmod 600" metrics --http 127.0.0.1:0 --tokens "$work/tokens"
chmod 600 "$work/tokens"

# --- with tokens and TLS ---
cluster "$work/run"
serve m0 metrics --events none --store "sqlite://$work/pcp.db" --http 0.0.0.0:0 --web 127.0.0.1:0 "${secure[@]}"
port() { sed -n "s/.*event=$1 port=\([0-9]*\).*/\1/p" "$dir/m0.log"; }
started() { [ -n "$(port listening)" ] && [ -n "$(port page)" ]; }
check "it serves" eventually 30 started
http=https://127.0.0.1:$(port listening) web=https://127.0.0.1:$(port page)
get() { curl -s --max-time 20 --cacert "$work/one.crt" "$@"; }
status() { # STATUS URL FLAGS
    local want=$1 got
    shift
    got=$(get -o "$work/body" -D "$work/head" -w '%{http_code}' "$@")
    [ "$got" = "$want" ] || { echo "status $got"; cat "$work/body"; return 1; }
}
bearer=(-H "Authorization: Bearer $token")
check "probes need no token" status 200 "$http/healthz"
check "metrics do" status 401 "$http/metrics"
check "and say so to programs" grep -qi '^www-authenticate: bearer' "$work/head"
check "another token is none" status 401 "$http/metrics" -H "Authorization: Bearer ${token%f}e"
check "nor is the beginning of one" status 401 "$http/metrics" -H "Authorization: Bearer ${token%f}"
check "nor a token as a name" status 401 "$http/metrics" -u "$token:"
check "nor what is no base64" status 401 "$http/metrics" -H "Authorization: Basic \$\$"
check "nor a megabyte" status 431 "$http/metrics" -H @<(printf 'Authorization: Basic '; head -c 100000 /dev/zero | tr '\0' A)
check "a token opens them" status 200 "$http/metrics" "${bearer[@]}"
check "they are there" grep -q '^process_resident_memory_bytes' "$work/body"
check "the page needs one" status 401 "$web/"
check "and says so to browsers" grep -qi '^www-authenticate: basic' "$work/head"
check "as the password" status 200 "$web/" -u "ada:$token"
check "it is the page" grep -qi '<!doctype html' "$work/body"
check "its data, too" status 401 "$web/api/runs"
check "with the token" status 200 "$web/api/runs" "${bearer[@]}"
check "and the stream of changes" status 401 "$web/api/stream"
hears() { get --max-time 5 -N "${bearer[@]}" "$web/api/stream" | grep -q 'event: hello'; }
check "which goes over TLS, too" hears
check "nothing can be sent" status 405 "$web/api/runs" "${bearer[@]}" -d x=y
# silent FLAGS: there is no answer, and not for want of time
silent() {
    curl -s --max-time 20 -o "$work/body" "$@"
    case $? in 0 | 28) return 1 ;; esac
}
check "without TLS there is no answer" silent "http://127.0.0.1:$(port listening)/healthz"
check "nor with an old one" silent --cacert "$work/one.crt" --tls-max 1.1 "$http/healthz"
check "nobody trusts another certificate" silent --cacert "$work/other.crt" "$http/healthz"

# --- clients that shake no hands ---
flood() {
    local fds=() fd i
    for i in {1..130}; do
        exec {fd}<>"/dev/tcp/127.0.0.1/$(port listening)" || return 1
        fds+=("$fd")
        [ $((i % 2)) -eq 0 ] || printf '\x16\x03\x01\x02\x00\x01' >&"$fd" # the beginning of a handshake
    done 2>/dev/null
    status 200 "$http/metrics" "${bearer[@]}"
    local rc=$?
    for fd in "${fds[@]}"; do exec {fd}>&-; done
    return $rc
}
check "those who say nothing, or half a greeting, keep nobody waiting" flood
slay TERM m0
check "SIGTERM ends it" leaves m0

# --- where nobody is asked ---
serves_open() {
    serve m2 metrics --events none --http 0.0.0.0:0 --open
    eventually 30 event m2 event=listening
    local rc=$?
    slay TERM m2
    return $rc
}
serve m1 metrics --events none --store "sqlite://$work/pcp.db" --http 0.0.0.0:0 --insecure
open() { [ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$(sed -n 's/.*event=listening port=\([0-9]*\).*/\1/p' "$dir/m1.log")/metrics")" = 200 ]; }
check "--insecure asks nobody" eventually 30 open
slay TERM m1
check "SIGTERM ends it, too" leaves m1
check "--open likewise" serves_open
dismiss
tap_done
