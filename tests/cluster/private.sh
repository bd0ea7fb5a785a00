#!/usr/bin/env bash
# What other users of the machine see of a run: no file, no password.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/servers.bash
umask 022 # as most have it
unset PCP_UMASK

cluster "$work/run"
check "a run is prepared" prepare --workers 1 --inner-steps 2 --rounds 2
readable() { find "$1" ! -type l -perm /077 | grep -q .; }
nobody_else() {
    if readable "$1"; then find "$1" ! -type l -perm /077 -exec ls -ld {} +; return 1; fi
}
rm -f "$dir/prepare.out" # the shell's
check "nobody else can read run.json and tokens" nobody_else "$dir/run.json" "$dir/tokens"
train() { "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 1 --inner-steps 2 --rounds 2 "$@"; }
check "a run trains" train --run-dir "$work/own"
check "nobody else can read what it wrote" nobody_else "$work/own"
check "PCP_UMASK=022: everybody can" env PCP_UMASK=022 "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" \
    --tokenizer byte --workers 1 --inner-steps 2 --rounds 1 --run-dir "$work/shared"
check "its checkpoint, too" readable "$work/shared/checkpoint"
check "a mask that is none" refuses "PCP_UMASK" env PCP_UMASK=9 "$bin/pcp" db status --store "sqlite://$work/x.db"

# --- passwords ---
mkdir -p "$work/p"
cluster "$work/p"
url=postgresql://someone:sesame@127.0.0.1:1/pcp
shown() { tr '\0' ' ' <"/proc/${pid[$1]}/cmdline"; }
serve m0 metrics --id m0 --events "ipc://$dir/events" --http 127.0.0.1:0 --store "$url"
check "a service with a password on its command line starts" eventually 60 event m0 'event=listening'
hidden() { ! shown "$1" | grep -q sesame && shown "$1" | grep -qF -- "${2:-someone:******@}"; }
check "ps does not show it" hidden m0
check "the service says what to do instead" grep -q 'PGPASSFILE' "$dir/m0.log"
not_in_log() { ! grep -q sesame "$dir/$1.log"; }
check "nor does its log" not_in_log m0
printf '%s\n' "$url" >"$work/p/url"
serve m1 metrics --id m1 --events "ipc://$dir/events" --http 127.0.0.1:0 --store "@$work/p/url"
check "a service reads it from a file" eventually 60 event m1 'event=store_lost .*127.0.0.1'
check "and shows its name" hidden m1 "@$work/p/url"
check "without a warning" bash -c "! grep -q PGPASSFILE '$dir/m1.log'"
dismiss

# --- a run with its records in a real database: no argument of a process, no file and no row has the password ---
if postgres_start; then
    word=sesame-$RANDOM-open
    cluster "$work/known"
    "$bin/pcp" db migrate --store "$postgres_url" >"$work/migrate.out"
    prepare --workers 1 --inner-steps 2 --rounds 3
    PCP_STORE=${postgres_url/pcp@/pcp:$word@} shepherd --workers 1
    aggregator a0
    compiler c0
    worker w0
    for one in shepherd a0 c0 w0; do shown "$one"; done >"$work/arguments"
    check "a run with its records in a database with a password" ends 0
    check "none of its processes had it as an argument" bash -c "grep -q 'known' '$work/arguments' && ! grep -F -- '$word' '$work/arguments'"
    check "no log and no file of the run has it" bash -c "! grep -rlF -- '$word' '$dir'"
    ask() { "$postgres_bin/psql" -X -q -A -t "$postgres_url" -c "$1"; }
    for table in $(ask "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"); do ask "TABLE $table"; done >"$work/rows"
    check "its rows are in the database" grep -q 'known' "$work/rows"
    check "none has it" bash -c "! grep -F -- '$word' '$work/rows'"
    dismiss
    servers_stop
else
    skip "a run with a database" "PostgreSQL is not installed"
fi
tap_done
