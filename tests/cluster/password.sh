#!/usr/bin/env bash
# The database's password is changed while a run trains: services that were told a file (--store @FILE) ask it again. Until
# it says the new one the run waits, and tells why.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/servers.bash
at_exit "dismiss; servers_stop; rm -rf '$work'"
if ! postgres_start; then
    skip "a password that is changed" "PostgreSQL is not installed"
    tap_done
    exit
fi
query() { PGPASSWORD=$word "$postgres_bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 "$postgres_url" -c "$1"; }
told() { echo "${postgres_url/pcp@/pcp:$1@}" >"$work/url.new" && mv "$work/url.new" "$work/url"; }
word=sesame
query "ALTER USER pcp PASSWORD 'sesame'" || exit 1
echo 'host all all 127.0.0.1/32 scram-sha-256' >"$postgres_dir/data/pg_hba.conf"
postgres_restart fast
told sesame

text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
cluster "$work/c"
export PCP_SHEPHERD=$control PCP_STORE=@$work/url
run() { "$bin/pcp" run "$@"; }
check "the tables are made" "$bin/pcp" db migrate
serve front shepherd --cluster --runs-dir "$work/runs" --socket-dir "$dir/s" --bind "$control" --events "ipc://$dir/events"
serve m0 metrics --events "ipc://$dir/events" --http 127.0.0.1:0
aggregator a0
compiler c0
worker w0
check "a run is submitted" run submit "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 1 --inner-steps 4 \
    --rounds 100000 --validate-every 0 --checkpoint-every 0 --name first
round() { run get first --json | sed -n 's/^ *"round": \([0-9]*\).*/\1/p'; }
past() { [ "$(round)" -gt "$1" ]; }
check "it trains" eventually 60 past 1
query "ALTER USER pcp PASSWORD 'mellon'"
word=mellon
check "connections from before stay" past 1
check "the database is started again" postgres_restart fast
why='event=store_lost error=.*password authentication failed'
check "the front tells why it is let in no more" eventually 60 event front "$why"
check "so do metrics" eventually 60 event m0 "$why"
run_tells() { grep -q "$why" "$work/runs/first/shepherd.log"; }
check "and the run's shepherd" eventually 60 run_tells
before=$(round)
told mellon
check "with the new word in the file it goes on" eventually 60 past "$((before + 1))"
check "the front, too" eventually 60 event front 'event=store_back'
up_again() { [ "$(grep -c event=store_up "$dir/m0.log")" -ge 2 ]; }
check "and metrics" eventually 60 up_again
check "nobody was started again" test "$(cat "$dir/front.log" "$dir/m0.log" "$work/runs/first/shepherd.log" | grep -c event=start)" -eq 3
no_word() { ! grep -rqE 'sesame|mellon' "$dir" "$work/runs"; }
check "no log has a password" no_word
tap_done
