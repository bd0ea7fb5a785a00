#!/usr/bin/env bash
# The records of a run that has trained for days: the page answers within the time that it gives the database, and what one
# question cannot have keeps nothing else from the page.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/servers.bash
at_exit "close_browser; dismiss; servers_stop; rm -rf '$work'"
browser_pid=
close_browser() { [ -z "$browser_pid" ] || { exec 7>&-; wait "$browser_pid"; browser_pid=; }; }
if ! postgres_start; then
    skip "the records of a long run" "no PostgreSQL"
    tap_done
    exit
fi
rounds=4000 replicas=50 strangers=300
[ "$slow" -eq 1 ] || rounds=200

"$bin/pcp" db migrate --store "$postgres_url" >/dev/null
# SQL as programs write it: a run, the workers that serve it, and those that came and went with other runs, as pods do.
fill() {
    "$postgres_bin/psql" -X -q -v ON_ERROR_STOP=1 "$postgres_url" <<END
INSERT INTO run (id, key, config, config_hash, state, n_windows, created_ms, started_ms)
    VALUES ('long', 'long', '{}', '', 'running', 100000000, 1, 1);
INSERT INTO worker (id, kind, state, run_id, first_ms, seen_ms)
    SELECT 'w' || i, 'worker', 'idle', CASE WHEN i < $replicas THEN 'long' END, 1, 1
    FROM generate_series(0, $replicas + $strangers - 1) i;
INSERT INTO round (run_id, round, state, leader_fence, cursor_epoch, cursor_window, opened_ms, committed_ms, loss, n_tokens)
    SELECT 'long', r, CASE WHEN r < $rounds THEN 'committed' ELSE 'open' END, 1, 0, (r + 1) * $replicas,
        r * 60000, CASE WHEN r < $rounds THEN r * 60000 + 59000 END, 3, 1000000 FROM generate_series(0, $rounds) r;
INSERT INTO lease (run_id, round, replica, fence, epoch, first_window, n_windows, state, worker_id, n_steps, compute_seconds)
    SELECT run_id, round, p, 1, 0, round * $replicas + p, 1, CASE state WHEN 'open' THEN 'issued' ELSE state END, 'w' || p, 100, 50
    FROM round, generate_series(0, $replicas - 1) p;
INSERT INTO ledger (run_id, epoch, first_window, n_windows, round, replica, fence, worker_id)
    SELECT 'long', 0, n, 1, n / 250, 0, 1, 'w0' FROM generate_series(0, $((rounds * 250 - 1))) n;
ANALYZE;
END
}
check "$((rounds * replicas)) leases" fill
cluster "$work/page"
serve page metrics --events none --http none --web 127.0.0.1:0 --web-store "$postgres_url"
listening() { port=$(sed -n 's/.*event=page port=\([0-9]*\).*/\1/p' "$dir/page.log") && [ -n "$port" ]; }
check "the page's service" eventually 60 listening
url=http://127.0.0.1:$port
answers() { # PATH
    local status
    status=$(curl -s -o "$work/body" -w '%{http_code}' --max-time 60 "$url/api/$1")
    [ "$status" = 200 ] || { echo "$1: $status"; cat "$work/body"; return 1; }
}
for report in workers runs/long/{workers,leases,open,loss,speed,time,wire,ledger,events}; do
    check "$report" answers "$report"
done
check "the data's proof, of $((rounds * 250)) ranges" test \
    "$(answers runs/long/ledger && jq -c '[.rows[] | .[0:4]]' "$work/body")" = "[[0,100000000,$((rounds * 250)),0]]"
check "the workers of the run, and no others" test \
    "$(answers runs/long/workers && jq '.rows | length' "$work/body")" = "$replicas"
check "who works, and how fast" test \
    "$(jq -r '[.rows[] | select(.[2] == "busy" and .[13] == 2)] | length' "$work/body")" = "$replicas"
check "the newest leases first" test \
    "$(answers 'runs/long/leases?most=3' && jq -c '[.rows[] | .[0:2]]' "$work/body")" = "[[$((rounds + 1)),0],[$((rounds + 1)),1],[$((rounds + 1)),2]]"

# --- one question that the database does not answer ---
hidden() { "$postgres_bin/psql" -X -q "$postgres_url" -c "ALTER VIEW pcp_ledger RENAME TO pcp_hidden"; }
if command -v chromium >/dev/null; then
    check "a view that is not there" hidden
    mkfifo "$work/to"
    TMPDIR=$work "$bin/browse" <"$work/to" >"$work/seen" 2>"$work/browse.err" &
    browser_pid=$!
    exec 7>"$work/to"
    printf '%s\n' "size 1280 900" "goto $url/#runs=long&of=long" "wait !document.getElementById('problem').hidden" \
        "print [...document.querySelectorAll('#leases tbody tr')].length + ' ' + document.querySelectorAll('#summary dt').length" >&7
    tells() { grep -qE '^100 [1-9]' "$work/seen"; }
    check "is told, and the rest is shown" eventually 60 tells
    close_browser
else
    skip "what is not answered" "chromium is not installed: scripts/setup --with-browser"
fi
slay TERM page
check "SIGTERM ends it" leaves page
dismiss
tap_done
