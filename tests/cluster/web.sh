#!/usr/bin/env bash
# The page of pcp train --web and pcp-metrics --web, in a real browser and against real runs: what it shows equals
# what the records say, also while they change; a reader with a keyboard, a phone, or a dark room; and requests that are bad, or many.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
trap '' PIPE # a browser that has ended is a test that failed
at_exit "close_browser; dismiss; end_train; rm -rf '$work'"
train_pid=
end_train() { [ -z "$train_pid" ] || kill -KILL "$train_pid" 2>/dev/null; }

# --- a browser: one for the whole test ---
browser_pid=
close_browser() {
    [ -n "$browser_pid" ] || return 0
    tell quit 2>/dev/null # what runs in the background has the pipe open, too
    exec 7>&- 8<&-
    wait "$browser_pid" 2>/dev/null
    browser_pid=
}
has_browser() { command -v chromium >/dev/null; }
open_browser() {
    mkfifo "$work/to" "$work/from"
    TMPDIR=$work "$bin/browse" <"$work/to" >"$work/from" 2>"$work/browse.err" &
    browser_pid=$!
    exec 7>"$work/to" 8<"$work/from"
}
tell() { printf '%s\n' "$@" >&7; }
# shown EXPRESSION: its value on the page
shown() {
    local line
    tell "print $1"
    read -r -t $((60 * slow)) line <&8 || { cat "$work/browse.err"; return 1; }
    printf '%s\n' "$line"
}
shows() { # EXPRESSION VALUE
    local got
    got=$(shown "$1") || { echo "$got"; return 1; }
    [ "$got" = "$2" ] || { echo "$1 is '$got', not '$2'"; return 1; }
}
# until_shown EXPRESSION: the page makes it true by itself
until_shown() { tell "wait $1" && shown "'did'"; }

get() { curl -s -g --path-as-is --max-time 20 "$@"; }
status_is() { # STATUS WORDS URL [FLAGS]
    local got
    got=$(get -o "$work/body" -w '%{http_code}' "${@:4}" "$3")
    [ "$got" = "$1" ] || { echo "status $got, not $1"; cat "$work/body"; return 1; }
    grep -qF -- "$2" "$work/body" || { echo "no '$2' in:"; cat "$work/body"; return 1; }
}

# --- two runs, the second with a page; that one lasts until a browser has seen some of its rounds ---
text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
train() { # NAME FLAGS
    "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 2 --rounds 8 \
        --validate-every 2 --checkpoint-every 4 --run-dir "$work/$1" "${@:2}"
}
check "a run" train first --lr 1e-3 --inner-steps 20
train second --lr 3e-3 --inner-steps 1500 --web >"$work/second.out" 2>&1 &
train_pid=$!
address() { url=$(sed -n 's/^page \(http:.*\)/\1/p' "$work/second.out") && [ -n "$url" ]; }
check "pcp train --web prints the page's address" eventually 60 address
check "it is on loopback" grep -q '^http://127\.0\.0\.1:[0-9]*/$' <<<"$url"
answers() { get "${url}api/runs/second" | grep -q '"second"'; }
check "the page has the run" eventually 60 answers
if has_browser; then
    open_browser
    tell "size 1280 900" "goto $url"
    check "the browser shows it while it trains" until_shown "document.getElementById('summary').innerText.includes('running')"
    check "and how fast its workers are" until_shown "document.querySelector('#workers td.n data') !== null"
    check "it shows more rounds without being loaded again" until_shown "document.querySelector('#summary [value]').value >= 3"
fi
wait "$train_pid"
check "the run ends well with a page" test $? -eq 0
train_pid=
if has_browser; then
    check "the page says that its service has gone" until_shown "document.getElementById('status').innerText.startsWith('Not connected')"
    tell "goto about:blank" forget
fi
port_taken() { # a port that is in use is an error before anything begins
    exec 9<>"/dev/tcp/127.0.0.1/$port" || return 1
    refuses "--web-port" train third --web --web-port "$port"
}

# --- both runs in one database, as on a cluster ---
db=$work/second/pcp.db
for table in run round lease ledger checkpoint event worker; do
    sqlite3 "$db" "ATTACH '$work/first/pcp.db' AS other" \
        "INSERT OR IGNORE INTO $table SELECT * FROM other.$table WHERE '$table' <> 'event'" || exit 1
done
ask() { sqlite3 "$db" ".timeout 10000" "$1"; }
cluster "$work/page"
serve page metrics --events none --http 127.0.0.1:0 --web 127.0.0.1:0 --web-store "sqlite://$db"
# shellcheck disable=SC2034 # listening and its port
ports() {
    port=$(sed -n 's/.*event=page port=\([0-9]*\).*/\1/p' "$dir/page.log")
    metrics_port=$(sed -n 's/.*event=listening port=\([0-9]*\).*/\1/p' "$dir/page.log")
    [ -n "$port" ] && [ -n "$metrics_port" ]
}
check "pcp-metrics serves the page of a store" eventually 60 ports
url=http://127.0.0.1:$port/
check "a port that is taken" port_taken
counted() { get "http://127.0.0.1:$metrics_port/metrics" | grep -q '^pcp_queued_runs{state="queued"} 0$'; }
check "/metrics has what only records tell" eventually 60 counted

# --- what the page shows is what the records have ---
# same FILE FILE: as many lines, equal words, numbers to 12 digits
same() {
    [ -s "$1" ] && paste -d '|' "$1" "$2" | awk -F '|' '
        function differ(a, b) { return a == b ? 0 : a + 0 != a || b + 0 != b ? 1 : (a - b) ^ 2 > 1e-24 * a ^ 2 }
        { for (i = 1; i <= NF / 2; i++) if (NF % 2 || differ($i, $(i + NF / 2))) { print "line " NR ": " $0; bad = 1 } }
        END { exit bad }'
}
# table ID COLUMNS: rows of a table on the page, exact numbers, with | between
table() { shown "[...document.querySelectorAll('#$1 tbody tr')].map((r) => $2.map((i) => r.cells[i].querySelector('data')?.value ?? r.cells[i].textContent).join('|')).join('\\\\n')" | sed 's/\\n/\n/g'; }
equal() { # ID COLUMNS QUERY
    table "$1" "$2" >"$work/page.rows" && ask "$3" >"$work/store.rows" && same "$work/page.rows" "$work/store.rows"
}
if has_browser; then
    tell "goto $url#runs=first,second&of=second" "wait document.body.dataset.refreshed && document.querySelector('#ledger table')"
    tell "print [...document.querySelectorAll('details')].forEach((d) => { d.open = true; })"
    read -r -t 60 _ <&8
    tell "wait document.querySelector('#chart-wire table')"
    check "both runs" equal runs "[1, 3, 5, 7]" "SELECT run, rounds, loss, tokens FROM pcp_runs ORDER BY created_at DESC"
    both="SELECT a.round, a.%s, b.%s FROM %s a JOIN %s b ON a.round = b.round WHERE a.run = 'first' AND b.run = 'second' ORDER BY 1"
    # shellcheck disable=SC2059 # a format
    overlay() { equal "chart-$1" "[0, 1, 2]" "$(printf "$both" "$2" "$2" "$3" "$3")"; }
    check "loss curves of both" overlay loss loss pcp_loss
    check "validation curves of both" overlay validation validation_loss pcp_validation
    check "tokens per second of both" overlay speed tokens_per_second pcp_speed
    check "where each round's time went" equal chart-time "[0, 1, 2, 3, 4, 5]" \
        "SELECT round, compute_ms, transfer_ms, wait_ms, recover_ms, other_ms FROM pcp_round_time WHERE run = 'second' ORDER BY 1"
    check "bytes on the wire" equal chart-wire "[0, 1, 2]" "SELECT round, received_bytes, sent_bytes FROM pcp_wire WHERE run = 'second' ORDER BY 1"
    check "workers" equal workers "[0, 1, 2, 4]" "SELECT worker, state, target, host FROM pcp_workers ORDER BY 1"
    check "leases" equal leases "[0, 1, 2, 3, 4, 5]" \
        "SELECT round, replica, worker, state, loss, n_steps FROM pcp_leases WHERE run = 'second' ORDER BY round DESC, replica"
    check "checkpoints" equal checkpoints "[0, 1, 2, 4]" "SELECT round, state, n_bytes, path FROM pcp_checkpoints WHERE run = 'second' ORDER BY round DESC"
    check "events" equal events "[2, 3, 4]" "SELECT name, member, round FROM pcp_events WHERE run = 'second' ORDER BY id DESC"
    check "the data's proof" equal ledger "[0, 2, 3]" "SELECT epoch, committed_windows, doubled_windows FROM pcp_ledger WHERE run = 'second' ORDER BY 1 DESC"
    large() {
        shown "document.querySelectorAll('#summary data')[1].value" >"$work/page.rows"
        ask "SELECT loss FROM pcp_runs WHERE run = 'second'" >"$work/store.rows"
        same "$work/page.rows" "$work/store.rows"
    }
    check "the last loss, large" large
    check "curves are drawn" shows "document.querySelectorAll('figure canvas').length" 5

    # --- what changes, and what somebody else has written into it ---
    before=$(shown "performance.timeOrigin")
    ask "INSERT INTO event (time_ms, level, service, member, name, run_id, round, detail) VALUES (1, 'error', 'shepherd', '<b>m</b>', 'worker_state', 'second', 3,
        '{\"reason\":\"<img src=x onerror=\\\"document.title=1\\\"> & told later\"}');
        UPDATE run SET reason = '<script>document.title = 2</script>' WHERE id = 'second'" || exit 1
    check "a new event comes by itself" until_shown "document.getElementById('events').innerText.includes('& told later')"
    check "without loading the page again" shows "performance.timeOrigin" "$before"
    check "markup in values is shown as text" shows "document.querySelectorAll('main img, main b, main script').length + ' ' + document.title" "0 PCP"
    check "and its text is there" until_shown "document.getElementById('summary').innerText.includes('<script>')"

    # --- readers ---
    check "one first heading, no level left out" shows \
        "(() => { const l = [...document.querySelectorAll('h1, h2, h3')].map((h) => +h.tagName[1]); return l[0] === 1 && l.filter((n) => n === 1).length === 1 && l.every((n, i) => !i || n <= l[i - 1] + 1); })()" true
    check "each plot has a sentence and a table" shows "[...document.querySelectorAll('figure')].filter((f) => f.querySelector('figcaption p').innerText.length < 10 || !f.querySelector('table th[scope=col]')).length" 0
    check "each control has a name" shows "[...document.querySelectorAll('button, input, a, [tabindex=\"0\"]')].filter((e) => !(e.getAttribute('aria-label') || e.innerText.trim())).length" 0
    tell "goto about:blank" "goto $url#runs=first,second&of=second" "wait document.body.dataset.refreshed" "key Tab"
    check "the first stop of the keyboard is past the header" shows "document.activeElement.className" skip
    tell "print document.getElementById('chart-loss-plot').focus()"
    read -r -t 60 _ <&8
    tell "key ArrowRight" "key ArrowRight"
    check "arrow keys read values" shows "document.querySelector('#chart-loss .readout').innerText" \
        "Round 2: first $(ask "SELECT printf('%.4f', loss) FROM pcp_loss WHERE run = 'first' AND round = 2"), second $(ask "SELECT printf('%.4f', loss) FROM pcp_loss WHERE run = 'second' AND round = 2")"
    tell "print document.getElementById('pause').focus()"
    read -r -t 60 _ <&8
    tell "key Enter"
    check "updates can be paused" shows "document.getElementById('pause').getAttribute('aria-pressed') + document.getElementById('status').innerText.slice(0, 6)" "truePaused"
    tell "key Enter"
    for width in 320 390 1280; do
        tell "size $width 800"
        check "at a width of $width nothing sticks out" until_shown "document.documentElement.scrollWidth <= $width" # once plots have followed
    done
    dark() { shown "getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color"; }
    light=$(dark)
    tell "scheme dark"
    check "dark is another colour" test "$(dark)" != "$light"
    tell "motion reduce"
    check "nothing moves" shows "document.getAnimations().length" 0
    tell "clean"
    check "the browser has no complaint" shows "'none'" none
    check "a script that somebody slipped in does not run" shows \
        "(() => { const s = document.createElement('script'); s.textContent = 'window.slipped = 1'; document.head.append(s); return String(window.slipped); })()" undefined
    close_browser
else
    skip "the page in a browser" "chromium is not installed: scripts/setup --with-browser"
fi

# --- bad requests ---
check "the policy of content" grep -qi "^content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';" <(get -I "$url")
check "an unknown run" status_is 404 'there is no run' "${url}api/runs/nope/loss"
check "a run by SQL" status_is 404 'there is no run' "${url}api/runs/x'%20OR%20'1'='1/loss"
check "an unknown report" status_is 404 'known are: runs' "${url}api/runs/second/nope"
check "a report of no run" status_is 404 'of one run' "${url}api/loss"
check "no rows" status_is 400 'most' "${url}api/runs/second/loss?most=0"
check "too many rows" status_is 400 'most' "${url}api/runs/second/loss?most=2001"
check "words for a number" status_is 400 'most' "${url}api/runs/second/loss?most=1e9"
check "a run's name without end" status_is 404 'name' "${url}api/runs/$(printf 'x%.0s' {1..1000})/loss"
check "a query without end" status_is 414 '' "${url}api/runs?most=$(printf '1%.0s' {1..30000})"
check "a path out of the page" status_is 404 'nothing here' "${url}page/../../../../etc/passwd"
check "the same, encoded" status_is 404 'nothing here' "${url}page/%2e%2e/%2e%2e/etc/passwd"
check "another method" status_is 405 'only GET' "${url}api/runs" -X POST -d x=1
check "another host's name" status_is 421 'localhost' "${url}api/runs" -H 'Host: example.com'
check "a run's rounds, put together" status_is 200 '"each":4,"of":8' "${url}api/runs/second/loss?most=2"

# --- many who hold on ---
readers=()
for _ in {1..80}; do
    curl -sN --max-time 100 "${url}api/stream" >/dev/null &
    readers+=($!)
done
bounded() { # 32 streams at most; the others were ended, and curl with them
    local n=0 one
    for one in "${readers[@]}"; do not_running "$one" || n=$((n + 1)); done
    [ "$n" -le 32 ] || { echo "$n streams"; return 1; }
}
check "streams are bounded" eventually 60 bounded
for _ in {1..60}; do exec {held}<>"/dev/tcp/127.0.0.1/$port" && printf 'GET /api/runs HTTP/1.1\r\nX: ' >&"$held"; done
check "the page answers others all the same" status_is 200 '"second"' "${url}api/runs"
check "and so does /healthz" status_is 200 alive "http://127.0.0.1:$metrics_port/healthz"
kill "${readers[@]}" 2>/dev/null

# --- records that are gone ---
serve none metrics --events none --http none --web 127.0.0.1:0 --web-store "sqlite://$work/none/pcp.db"
gone() { port=$(sed -n 's/.*event=page port=\([0-9]*\).*/\1/p' "$dir/none.log") && [ -n "$port" ]; }
check "a page of records that are not there yet" eventually 60 gone
check "says so" status_is 503 'none/pcp.db' "http://127.0.0.1:$port/api/runs"
check "and makes none" test ! -e "$work/none/pcp.db"
slay TERM page
check "SIGTERM ends it" leaves page
dismiss
check "nothing is left running" no_orphans
tap_done
