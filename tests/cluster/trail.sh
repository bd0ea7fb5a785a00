#!/usr/bin/env bash
# What operators of a cluster do is in the trail, with the key that they had; and a row that was changed by hand, or
# cut off, is found (pcp audit).
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
keys=$work/keys port=7365 store=sqlite://$work/pcp.db
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
text >"$work/text.txt"
flags=(--data "$work/text.txt" --tokenizer byte --workers 1 --inner-steps 4 --rounds 4 --val-fraction 0)
"$bin/pcp" keys init --dir "$keys" >"$work/issue.out"
"$bin/pcp" keys issue --dir "$keys" --role operator --name ann >"$work/issue.out"
"$bin/pcp" keys issue --dir "$keys" --role worker --name w0 >"$work/issue.out"

cluster "$work/c" "tcp://127.0.0.1:$port"
serve front shepherd --cluster --store "$store" --runs-dir "$work/runs" --bind "$control" --id front \
    --telemetry 'tcp://127.0.0.1:*' --key "$keys/shepherd.key" --revoked "$keys/revoked"
check "the front leads" eventually 60 event front 'event=leads'
export PCP_KEY=$keys/ann.key PCP_SHEPHERD=$control
check "an operator submits" "$bin/pcp" run submit "$work/model.mlir" "${flags[@]}" --name one --wait-ms $((30000 * slow))
check "pauses" "$bin/pcp" run pause one --wait-ms $((10000 * slow))
check "resumes" "$bin/pcp" run resume one --wait-ms $((10000 * slow))
check "asks for what nobody can do" refuses 'no supervisor' "$bin/pcp" worker scale 2 --wait-ms $((10000 * slow))
check "trusts a worker that is not in quarantine" refuses 'of that name is in quarantine' "$bin/pcp" worker trust w7 --wait-ms $((10000 * slow))
check "cancels" "$bin/pcp" run cancel one --wait-ms $((10000 * slow))
check "deletes" "$bin/pcp" run delete one --yes --wait-ms $((10000 * slow))
check "revokes a key" "$bin/pcp" keys revoke w0 --dir "$keys" --store "$store"
check "not in records that are not there" refuses 'nowhere.db: no such file' \
    "$bin/pcp" keys revoke w0 --dir "$keys" --store "sqlite://$work/nowhere.db"
check "nor are they made" test ! -e "$work/nowhere.db"
no_records() { refuses "$2" "$bin/pcp" audit --store "sqlite://$1" && refuses "$2" "$bin/pcp" db status --store "sqlite://$1"; }
check "nor by those who only look" no_records "$work/nowhere.db" 'nowhere.db: no such file: correct the path'
check "nothing is there then" test ! -e "$work/nowhere.db"
check "a directory is no file" no_records "$work" 'is a directory, not a file'
check "a new one in a directory that is not there" refuses 'its directory does not exist' \
    "$bin/pcp" db migrate --store "sqlite://$work/nodir/x.db"
unset PCP_KEY

trail() { "$bin/pcp" audit --store "$store" "$@"; }
sees() {
    trail --json >"$work/trail.json" && jq -r '.[] | "\(.action) \(.object // "-") \(.key)"' "$work/trail.json" >"$work/trail" &&
        diff "$work/trail" - <<'END'
submit one ann
pause one ann
resume one ann
scale - ann
trust w7 ann
cancel one ann
delete one ann
revoke w0 authority
END
}
if command -v jq >/dev/null; then
    check "the trail has all of it, in order, with the operator's key" eventually 30 sees
    of_key() { [ "$(jq -r '.[0].public_key' "$work/trail.json")" = "$("$bin/pcp" keys show "$keys/ann.key" | grep -oE '[0-9a-f]{64}' | head -n 1)" ]; }
    check "which is the key's public one" of_key
else
    skip "the trail as JSON" "no jq"
fi
check "of one run alone" bash -c "[ \$('$bin/pcp' audit --store '$store' --run one --json | grep -c '\"seq\"') -eq 5 ]"
check "of the future there is none" bash -c "! '$bin/pcp' audit --store '$store' --since 2999-01-01 --json | grep -q seq"
check "a time that is none" refuses 'is no time' trail --since yesterday
check "the trail is whole" trail --verify
dismiss

sql() { sqlite3 -batch "$work/pcp.db" "$1"; }
check "the database refuses to change a row" refuses 'only added to' sql "UPDATE trail SET who = 'nobody' WHERE seq = 3"
check "and to delete one" refuses 'only added to' sql "DELETE FROM trail WHERE seq = 3"
check "the trail is whole" trail --verify
cp "$work/pcp.db" "$work/kept.db"
sql "DROP TRIGGER trail_not_changed; UPDATE trail SET who = 'nobody' WHERE seq = 3"
check "who gets round that is found out" refuses 'row 3 of the trail was changed' trail --verify
cp "$work/kept.db" "$work/pcp.db"
sql "DROP TRIGGER trail_not_deleted; DELETE FROM trail WHERE seq = 8"
check "as is who cuts off the end" refuses 'row 8 of the trail was changed, taken out' trail --verify
# What an owner of the file can write into it, SQLite's columns taking anything.
cp "$work/kept.db" "$work/pcp.db"
sql "DROP TRIGGER trail_not_changed; UPDATE trail SET action = CAST(x'ff' AS TEXT) WHERE seq = 3"
check "a row of no text is told all the same" bash -c "[ \$('$bin/pcp' audit --store '$store' --json | grep -c '\"seq\"') -eq 8 ]"
check "and found out" refuses 'row 3 of the trail was changed' trail --verify
sql "UPDATE trail SET seq = 'x' WHERE seq = 8"
check "a number that is none ends the list" refuses 'has no number above it' timeout $((20 * slow)) "$bin/pcp" audit --store "$store"
tap_done
