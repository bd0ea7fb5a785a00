#!/usr/bin/env bash
# Keys over TCP: a run of members with keys, and beside it clients that have none, another cluster's, an expired or
# a revoked one, or use theirs for what it does not say. Each is refused with a reason; the run ends with its usual
# bits.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/keyed.bash
keys=$work/keys port=7350 prepared=(--validate-every 5 --val-fraction 0.1)
gpt2 --layers 2 --heads 2 --width 64 --block 16 --vocab 256 --batch 2 >"$work/model.mlir" || exit 1
issue() {
    local name=$1 role=$2
    shift 2
    "$bin/pcp" keys issue --dir "$keys" --role "$role" --name "$name" "$@" >"$work/issue.out"
}
# hostile NAME FLAGS: its log is DIR/NAME.log
hostile() {
    local name=$1
    shift
    "$bin/hostile-member" --shepherd "$control" --log-level debug --lease fatal "$@" 2>"$dir/$name.log" &
    pid[$name]=$!
}
refused() { eventually 30 event "$1" "event=fault .*$2"; }

calm_run
dismiss

check "without an authority nothing is issued" refuses 'or make a new one: pcp keys init' "$bin/pcp" keys issue --dir "$keys" --role worker --name w
check "an authority is made" "$bin/pcp" keys init --dir "$keys"
check "and never twice" refuses exists "$bin/pcp" keys init --dir "$keys"
for role in worker aggregator compiler operator metrics viewer; do issue "$role" "$role"; done
issue old worker --days 0
issue gone worker
check "a key says what it is" grep -q '^role     worker$' <("$bin/pcp" keys show "$keys/worker.key")
# The signature by another program: field NAME of the key file, bytes of hex digits.
field() { sed -n "s/^$1 //p" "$keys/worker.key"; }
unhex() { sed 's/../\\x&/g' | xargs -0 printf '%b'; }
signed_by_authority() {
    printf 'pcp card 2\nrole worker\nname worker\nexpires %s\npublic %s\nsigns %s\n' \
        "$(field expires)" "$(field public)" "$(field signs)" >"$work/card"
    printf '302a300506032b6570032100%s' "$(field authority)" | unhex >"$work/authority.der"
    field signature | tr -d '\n' | unhex >"$work/card.sig"
    openssl pkeyutl -verify -pubin -keyform DER -inkey "$work/authority.der" -rawin -in "$work/card" -sigfile "$work/card.sig"
}
if command -v openssl >"$work/which"; then
    check "openssl, too, finds that the authority has signed it" signed_by_authority
else
    skip "openssl, too, finds that the authority has signed it" "no openssl"
fi
"$bin/pcp" keys init --dir "$work/other" >"$work/issue.out"
"$bin/pcp" keys issue --dir "$work/other" --name worker >"$work/issue.out"
# Another cluster's key, of one who knows our shepherds' public key.
sed "s/^server .*/$(grep '^server ' "$keys/worker.key")/" "$work/other/worker.key" >"$work/foreign.key"
sed 's/^role .*/role operator/' "$keys/worker.key" >"$work/forged.key"
cp "$keys/worker.key" "$work/open.key"
chmod 600 "$work"/*.key
chmod 640 "$work/open.key"

check "a key that others may read is refused" refuses 'chmod 600' "$bin/pcp-worker" --key "$work/open.key"
check "so is one that was changed" refuses 'not signed' "$bin/pcp-worker" --key "$work/forged.key"
check "and a bind for other machines without a key" refuses 'say --insecure' \
    "$bin/pcp-shepherd" --run-dir "$work/open" --config "$work/calm/run.json" --bind "tcp://0.0.0.0:$port"

# --- all keys of a cluster at once ---
all=$work/all
cluster_keys() { "$bin/pcp" keys cluster --dir "$all" --out "$1" ${2:+"$2"} >"$work/issue.out"; }
members_are() { # DIR ROLES: a key of each role, named as it, of this authority
    local role
    for role in aggregator compiler gateway inference metrics operator supervisor worker shepherd; do
        "$bin/pcp" keys show "$1/${2:+$role/}$role.key" >"$work/shown" || return 1
        [ "$(grep -cE "^(role|name) +$role\$|^state +good\$" "$work/shown")" -eq 3 ] || { cat "$work/shown"; return 1; }
        [ "$(stat -c %a "$1/${2:+$role/}$role.key")" = 600 ] || return 1
    done
    cmp "$all/shepherd.key" "$1/${2:+shepherd/}shepherd.key" || return 1 # the one that members know
    [ "$(find "$1" -type f | wc -l)" -eq 9 ]                             # and no authority's
}
hashes() { find "$all" -type f -exec sha256sum {} + | sort; }
again() { hashes >"$work/before"; cluster_keys "$all/members" && [ ! -s "$work/issue.out" ] && hashes | cmp "$work/before"; }
renewed() {
    rm "$all/members/worker.key"
    "$bin/pcp" keys cluster --dir "$all" >"$work/issue.out" && grep -qx "$all/members/worker.key" "$work/issue.out" && members_are "$all/members"
}
check "all keys of a cluster are made at once" cluster_keys "$all/members"
check "one for each role" members_are "$all/members"
check "again, nothing is made anew" again
check "but what is missing" renewed
check "or in folders of their own" cluster_keys "$work/apart" --folders
check "one for each role, too" members_are "$work/apart" folders
ends_soon() {
    "$bin/pcp" keys cluster --dir "$work/brief" --days 20 >"$work/issue.out" 2>"$work/brief.1" &&
        "$bin/pcp" keys cluster --dir "$work/brief" >"$work/issue.out" 2>"$work/brief.2" || return 1
    cat "$work/brief.2"
    [ ! -s "$work/brief.1" ] && [ "$(grep -c 'ends in \(19\|20\) days: pcp keys renew' "$work/brief.2")" -eq 9 ]
}
check "those that end soon are named, and what to do" ends_soon
"$bin/pcp" keys init --dir "$work/stranger" >"$work/issue.out"
check "keys of another authority are not mixed with them" refuses 'issued by another authority' \
    "$bin/pcp" keys cluster --dir "$work/stranger" --out "$all/members"

train beset "tcp://127.0.0.1:$port" --key "$keys/shepherd.key" --revoked "$keys/revoked" \
    --events "tcp://127.0.0.1:$((port + 1))"
aggregator aggregator-0 --bind "tcp://127.0.0.1:*" --key "$keys/aggregator.key" --revoked "$keys/revoked"
compiler compiler-0 --key "$keys/compiler.key"
serve nosy metrics --events "tcp://127.0.0.1:$((port + 1))" --http 127.0.0.1:0 --key "$keys/worker.key"
serve good metrics --events "tcp://127.0.0.1:$((port + 1))" --http 127.0.0.1:0 --key "$keys/metrics.key"
hostile bare --id worker-x
hostile foreign --id worker-f --key "$work/foreign.key"
hostile old --id old-1 --key "$keys/old.key"
hostile role --id worker-r --kind cli --key "$keys/worker.key"
hostile other --id aggregator-9 --key "$keys/worker.key"
hostile bold --id worker-b --says others --key "$keys/worker.key"
hostile looker --id viewer-l --kind cli --says others --key "$keys/viewer.key"
hostile gone --id gone-1 --key "$keys/gone.key"
check "another cluster's key is refused" refused foreign 'not signed by this cluster'
head -c 4000 /dev/urandom >"/dev/tcp/127.0.0.1/$port"
check "an expired one" refused old 'has expired'
check "a worker's key for an operator" refused role 'another role'
check "and for another's id" refused other 'ids of its own name alone'
check "a worker's key gives no operator's command" refused bold 'CONTROL may be said by a cli'
check "a viewer's key does not say that others have gone" refused looker 'GONE may be said by'
check "nor what an aggregator says" refused looker 'COMMITTED may be said by'
check "nor saves a checkpoint" refused looker 'CONTROL may be said by a cli, and its sender is registered as viewer'
check "who may join is welcome" eventually 30 event gone 'event=welcome'
"$bin/pcp" keys revoke gone --dir "$keys" >"$work/issue.out"
check "a revoked key's connection ends" eventually 30 event shepherd 'event=key_cut name=gone'
check "and it cannot come again" eventually 30 event shepherd 'event=key_refused .*revoked'
viewer=$keys/viewer.key
check "a viewer's key may look" "$bin/pcp" worker list --shepherd "$control" --key-file "$viewer"
check "and not send workers away" refuses 'is registered as viewer' timeout 60 "$bin/pcp" worker drain worker-9 --shepherd "$control" --key-file "$viewer" --wait-ms 30000
if command -v curl >"$work/which"; then
    http=$(sed -n 's/.*event=listening port=\([0-9]*\).*/\1/p' "$dir/good.log" | head -n 1)
    counted() { # REASON: the shepherd has refused something for it
        curl -s --max-time 20 "http://127.0.0.1:$http/metrics" >"$work/metrics" &&
            grep -E "^pcp_refusals_total\{run=\"same\",service=\"shepherd\",reason=\"$1\"\} [1-9]" "$work/metrics"
    }
    for reason in no_key unknown_key revoked expired role; do
        check "what was refused is counted: $reason" eventually 30 counted $reason
    done
else
    skip "what was refused is counted" "no curl"
fi
worker worker-0 --key "$keys/worker.key"
worker worker-1 --key "$keys/worker.key"
check "a worker's key hears no events" eventually 60 event shepherd 'event=subscriber_refused name=worker'
check "an operator's key may ask" "$bin/pcp" worker list --shepherd "$control" --key-file "$keys/operator.key"
check "a worker's may not" refuses 'worker' timeout 60 "$bin/pcp" worker list --shepherd "$control" --key-file "$keys/worker.key" --wait-ms 30000
check "the run ends well beside them" ends 0
check "with the bits of the one without keys" same_bits
check "without a key nobody was heard" test "$(grep -c 'event=welcome\|event=fault' "$dir/bare.log")" -eq 0
check "the metrics' key heard" event good 'event=connected'
dismiss
check "nothing is left running" no_orphans
tap_done
