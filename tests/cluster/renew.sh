#!/usr/bin/env bash
# Keys that are replaced while their members run: a run goes on over the end of all the certificates it began with, and
# over a change of the authority, and ends with its usual bits; a file that is no renewal of a member's own key is not
# taken. Members read their files by themselves.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/keyed.bash
keys=$work/keys port=7380 prepared=(--validate-every 5 --val-fraction 0.1 --rounds 60 --inner-steps 10)
gpt2 --layers 2 --heads 2 --width 64 --block 16 --vocab 256 --batch 2 >"$work/model.mlir" || exit 1
members=(shepherd aggregator compiler worker)
key() { echo "$keys/$1/$1.key"; } # each in a directory of its own, as the cage of a worker wants it
# issued NAME FLAGS: its key; the shepherds' comes with the authority
issued() {
    local name=$1
    shift
    mkdir -p "$keys/$name" && "$bin/pcp" keys issue --dir "$keys" --name "$name" --out "$(key "$name")" "$@"
}
renewed() { # NAMES...
    local name
    for name; do "$bin/pcp" keys renew "$(key "$name")" --dir "$keys" || return 1; done
}
# replaced NAME FILE: as a deployment does it, at once
replaced() { cp "$2" "$(key "$1").new" && mv "$(key "$1").new" "$(key "$1")"; }
# times NAME PATTERN N: the log of NAME has so many lines that match, at least
times() { [ "$(grep -cE -- "$2" "$dir/$1.log")" -ge "$3" ]; }
all_have() { # PATTERN N SERVICES...
    local one pattern=$1 n=$2
    shift 2
    for one; do eventually 30 times "$one" "$pattern" "$n" || { echo "$one: no $pattern"; return 1; }; done
}
# start NAME FLAGS: the run with its members
start() {
    local name=$1
    shift
    train "$name" "tcp://127.0.0.1:$port" --key "$(key shepherd)" --revoked "$keys/revoked" "$@"
    port=$((port + 1))
    aggregator aggregator-0 --bind "tcp://127.0.0.1:*" --key "$(key aggregator)" --revoked "$keys/revoked"
    compiler compiler-0 --key "$(key compiler)"
    worker worker-0 --key "$(key worker)"
    worker worker-1 --key "$(key worker)"
}
hold() { slay STOP worker-0 && slay STOP worker-1; }
go_on() { slay CONT worker-0 && slay CONT worker-1; }
# taken N WHAT: everybody has found a renewal, the Nth in this run, and shown it; meanwhile nothing is trained, for either
# the workers stand still, or the aggregator
taken() {
    check "$2: who serves finds that by itself" all_have 'event=key_renewed' "$1" shepherd aggregator-0 compiler-0
    check "$2: and joins again" all_have 'event=joined' $(($1 + 1)) aggregator-0 compiler-0
    slay STOP aggregator-0
    go_on
    check "$2: so do workers" all_have 'event=key_renewed' "$1" worker-0 worker-1
    check "$2: and join again" all_have 'event=joined' $(($1 + 1)) worker-0 worker-1
    hold
    slay CONT aggregator-0
}

calm_run
dismiss

# --- the end of all certificates, in the middle of a run ---
soon=$(date -u -d "+$((30 * slow)) seconds" +%Y-%m-%dT%H:%M:%SZ)
mkdir -p "$keys/shepherd"
check "an authority is made" "$bin/pcp" keys init --dir "$keys" --until "$soon"
cp "$keys/shepherd.key" "$(key shepherd)"
for role in aggregator compiler worker brief; do
    [ "$role" = brief ] && flags=(--role operator) || flags=(--role "$role")
    check "a key that ends soon: $role" issued "$role" "${flags[@]}" --until "$soon"
done
cp "$(key brief)" "$work/brief.key"
chmod 600 "$work/brief.key"
ends_at() { "$bin/pcp" keys show "$(key "$1")" | grep -qF "expires  $soon"; }
check "it ends when it was told" ends_at worker
start over
launch brief "$bin/hostile-member" --shepherd "$control" --id brief --kind cli --key "$work/brief.key"
check "rounds begin" eventually 60 event shepherd 'event=round round=2 '
hold
check "one that nobody renews is a member" eventually 30 event brief 'event=welcome'
check "all keys are renewed" renewed "${members[@]}"
taken 1 "an end that comes"
check "what was not renewed ends" eventually 60 event shepherd 'event=key_cut name=brief .*expired'
# (At the aggregator those of workers end that they have not used since: the next transfer makes others.)
nothing_else() { ! grep "event=key_cut" "$dir/shepherd.log" | grep -v "name=brief"; }
check "and nothing else" nothing_else
go_on
check "the run goes on over it, and ends well" ends 0
check "with its usual bits" same_bits
dismiss

# --- what is no renewal ---
"$bin/pcp" keys init --dir "$work/stranger" >"$work/out"
"$bin/pcp" keys issue --dir "$work/stranger" --name worker --out "$work/foreign" >"$work/out"
"$bin/pcp" keys issue --dir "$keys" --role compiler --name worker --out "$work/role" >"$work/out"
"$bin/pcp" keys issue --dir "$keys" --name other --out "$work/name" >"$work/out"
"$bin/pcp" keys issue --dir "$keys" --name worker --days 1 --out "$work/sooner" >"$work/out"
"$bin/pcp" keys issue --dir "$keys" --name worker --days 0 --out "$work/ended" >"$work/out"
"$bin/pcp" keys issue --dir "$keys" --name worker --days 200 --out "$work/gone" >"$work/out"
"$bin/pcp" keys issue --dir "$keys" --name worker --days 200 --out "$work/good" >"$work/out"
sed "s/^secret .*/$(grep '^secret ' "$work/good")/" "$(key worker)" >"$work/mixed"
head -c 300 "$work/good" >"$work/broken"
cp "$work/good" "$work/open"
chmod 600 "$work"/{mixed,broken}
chmod 644 "$work/open"
"$bin/pcp" keys revoke "$work/gone" --dir "$keys" >"$work/out"
cp "$(key worker)" "$work/present"
cluster "$work/refused" "tcp://127.0.0.1:$port"
port=$((port + 1))
prepare --replicas 1 --inner-steps 2 --rounds 1 --val-fraction 0 && shepherd --workers 2 --key "$(key shepherd)" --revoked "$keys/revoked"
worker worker-0 --key "$(key worker)"
check "a worker joins" eventually 30 event worker-0 'event=joined'
eventually 30 event worker-0 'event=revoked_read' # which one is revoked
n=0
while read -r file why; do
    n=$((n + 1))
    cp -p "$work/$file" "$(key worker).new" && mv "$(key worker).new" "$(key worker)"
    check "not taken: $file" eventually 30 event worker-0 "event=key_kept .*$why"
done <<EOF
role its role is compiler, not worker
name its name is other, not worker
foreign not signed by this cluster's authority
sooner ends sooner than the one in use
ended has expired
mixed public keys are not its secret's
broken is no key of a member
open chmod 600
gone it is revoked
EOF
check "each was told once" test "$(grep -c 'event=key_kept' "$dir/worker-0.log")" -eq "$n"
check "the one in use stays" test "$(grep -c 'event=key_renewed\|event=shepherd_lost' "$dir/worker-0.log")" -eq 0
cp -p "$work/good" "$(key worker).new" && mv "$(key worker).new" "$(key worker)"
check "another pair of the same member's is taken" eventually 30 event worker-0 'event=key_renewed .*days=199'
check "and joins with it" eventually 30 times worker-0 'event=joined' 2
dismiss
replaced worker "$work/present"
check "a revoked key is not renewed" refuses 'is revoked' "$bin/pcp" keys renew "$work/gone" --dir "$keys"
check "nor another authority's" refuses 'not signed' "$bin/pcp" keys renew "$work/foreign" --dir "$keys"

# --- another authority, in the middle of a run ---
start rotated
check "rounds begin again" eventually 60 event shepherd 'event=round round=2 '
hold
old=$(sed -n 's/^public //p' "$keys/authority.key")
# step NAME: a step, all keys, and everybody has them
n_renewed=0
step() {
    check "rotation: $1" "$bin/pcp" keys rotate "$1" --dir "$keys"
    check "$1: once more is the same" "$bin/pcp" keys rotate "$1" --dir "$keys"
    check "$1: all keys" renewed "${members[@]}"
    n_renewed=$((n_renewed + 1))
    taken "$n_renewed" "$1"
}
step begin
check "members trust two" event worker-0 'event=key_renewed .*authorities=2'
check "it does not end before it is switched" refuses 'switch first' "$bin/pcp" keys rotate end --dir "$keys"
cp -p "$(key worker)" "$work/old_signed"
step switch
check "another one signs" test "$(sed -n 's/^public //p' "$keys/authority.key")" != "$old"
launch late "$bin/hostile-member" --shepherd "$control" --id worker-late --lease nothing --key "$work/old_signed"
check "who has a key that the old one has signed may still join" eventually 30 event late 'event=welcome'
step end
check "and no more at the end" eventually 30 event shepherd 'event=key_cut name=worker .*not signed'
check "members trust one" grep -q '^pcp-key 2$' "$(key worker)"
check "the old authority is kept nowhere" test -z "$(find "$keys" -name "authority.*" ! -name authority.key)"
go_on
check "the run goes on over it, and ends well" ends 0
check "with its usual bits" same_bits
dismiss
check "nothing is left running" no_orphans
tap_done
