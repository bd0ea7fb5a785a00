#!/usr/bin/env bash
# pcp top on a real terminal (tmux) and a real run: figures are those of the records, at 60 columns no line is broken, it
# follows the terminal's size, gives the terminal back however it ends, and outlives a database that stops.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/servers.bash
at_exit "close_terminal; postgres_stop immediate; end_train; rm -rf '$work'"
train_pid=
end_train() { [ -z "$train_pid" ] || kill -KILL "$train_pid" 2>/dev/null; }
top=$(cd "$bin" && pwd)/pcp

# --- a run, and a long one ---
text >"$work/text.txt"
gpt2 --layers 1 --heads 2 --width 32 --block 32 --vocab 256 --batch 4 >"$work/model.mlir" || exit 1
train() { # NAME FLAGS
    "$bin/pcp" train "$work/model.mlir" --data "$work/text.txt" --tokenizer byte --workers 2 --threads 1 --rounds 6 \
        --validate-every 2 --run-dir "$work/$1" "${@:2}"
}
check "a run" train first --inner-steps 10

# --- one frame, without a terminal ---
once() { "$bin/pcp" top --once "$@"; }
# columns_of N: no line of the input has more characters
columns_of() { LC_ALL=C.UTF-8 bash -c 'while IFS= read -r line; do [ ${#line} -le "$1" ] || { echo "$line"; bad=1; }; done; exit ${bad:-0}' _ "$1"; }
frame() { # LOCALE COLUMNS LINES
    env LC_ALL="$1" COLUMNS="$2" LINES="$3" "$bin/pcp" top --once "$work/first" >"$work/frame" 2>&1 &&
        columns_of "$2" <"$work/frame" && [ "$(wc -l <"$work/frame")" -le "$3" ]
}
check "a frame of 60 x 20 has no line that is longer" frame C.UTF-8 60 20
check "it draws with dots" grep -q '[⠁-⣿]' "$work/frame"
check "one of 200 x 60" frame C.UTF-8 200 60
check "one in ASCII" frame C 60 20
plain() { ! LC_ALL=C grep -qP '[^\x20-\x7e]' "$work/frame" && grep -q '\*' "$work/frame"; }
check "which has nothing else, and draws with stars" plain
only_dir() { (cd "$work" && mkdir -p runs && ln -sfn ../first runs/first && "$top" top --once | grep -q ' done '); }
check "without a word it takes the newest of runs/" only_dir
check "no terminal is an error that tells what to do" refuses "pcp top --once" "$bin/pcp" top "$work/first"
check "a directory without records, too" refuses "pcp.db is missing" once "$work"
check "a run that is not there, too" refuses 'there is no run "nobody"' once "$work/first" --run nobody

# --- a terminal ---
if ! command -v tmux >/dev/null; then
    skip "pcp top on a terminal" "tmux is not installed: scripts/setup"
    tap_done
    exit
fi
mux() { env -u TMUX LC_ALL=C.UTF-8 tmux -u -S "$work/tmux" -f /dev/null "$@"; }
close_terminal() { mux kill-server 2>/dev/null; }
screen() { mux capture-pane -p >"$work/screen"; }
# shellcheck disable=SC2329
seen() { screen && grep -qE -- "$1" "$work/screen"; }
see() { eventually 30 seen "$@" || { cat "$work/screen"; return 1; }; }
type_in() { mux send-keys "$@"; }
# begin COMMAND: in the shell of the terminal; `ended N` appears when it has ended with that status
begin() { type_in "clear; $*; echo ended \$?" Enter; }
open_terminal() { mux new-session -d -x 60 -y 20 "env LC_ALL=C.UTF-8 PS1='$ ' bash --norc --noprofile -i" && see '^\$'; }
check "a terminal of 60 x 20 opens" open_terminal

train second --inner-steps 400 --rounds 8 >"$work/second.out" 2>&1 &
train_pid=$!
records() { [ "$(ask_db second "SELECT count(*) FROM pcp_loss" 2>/dev/null)" -gt 0 ]; }
ask_db() { sqlite3 "$work/$1/pcp.db" ".timeout 10000" "$2"; }
check "a long run has begun" eventually 60 records
begin "$top top '$work/second'"
check "it is shown while it trains" see '^>second +running +[0-9]+/8 '
check "with workers that are busy" see '^ worker|local-w[01] +busy .*cpu:'
more() { seen '^>second +(running|done) +[3-8]/8 '; }
check "rounds are added without a key" eventually 60 more
train_status() { wait "$train_pid"; }
check "the run ends well" train_status
train_pid=
check "which is shown, too" see '^>second +done +8/8 '

# What stands there equals the records, as these print it.
count() { # a number as pcp top writes it
    awk -v x="$1" 'BEGIN { split("T G M k", u); for (i = 1; i <= 4; i++) if (x >= 10 ^ (15 - 3 * i)) { printf "%.4g %s", x / 10 ^ (15 - 3 * i), u[i]; exit } printf "%.4g", x }'
}
figures() {
    local loss validation tokens speed
    loss=$(ask_db second "SELECT printf('%.4f', loss) FROM pcp_runs")
    validation=$(ask_db second "SELECT printf('%.4f', validation_loss) FROM pcp_runs")
    tokens=$(count "$(ask_db second "SELECT tokens FROM pcp_runs")")
    speed=$(count "$(ask_db second "SELECT tokens_per_second FROM pcp_speed ORDER BY round DESC LIMIT 1")")
    see "^>second +done +8/8 +$loss +$validation" && see "^ tokens/s $speed  tokens $tokens  saved 8,"
}
check "losses, speed and tokens are those of the records" figures
scale() {
    local low high
    low=$(ask_db second "SELECT printf('%.4f', min(l)) FROM (SELECT loss l FROM pcp_loss UNION ALL SELECT validation_loss FROM pcp_validation)")
    high=$(ask_db second "SELECT printf('%.4f', max(l)) FROM (SELECT loss l FROM pcp_loss UNION ALL SELECT validation_loss FROM pcp_validation)")
    see "^ +$high │" && see "^ +$low │"
}
check "the scale of the graph, too" scale
worker_loss() {
    local one
    for one in local-w0 local-w1; do
        see "^ $one +gone +$(ask_db second "SELECT printf('%.4f', loss) FROM pcp_leases WHERE worker = '$one' ORDER BY round DESC, replica LIMIT 1") " || return 1
    done
}
check "the last loss of each worker, too" worker_loss
whole() { # COLUMNS LINES: each line of the frame begins where it should
    screen && columns_of "$1" <"$work/screen" && [ "$(wc -l <"$work/screen")" -eq "$2" ] &&
        grep -nE '^( pcp top  | RUN |>| tokens/s| loss | WORKER | TIME | q quit )' "$work/screen" | cut -d: -f1 >"$work/lines" &&
        [ "$(wc -l <"$work/lines")" -eq 8 ] && [ "$(head -n 1 "$work/lines")" -eq 1 ] && [ "$(tail -n 1 "$work/lines")" -eq "$2" ]
}
check "no line of 60 is broken" whole 60 20

# --- sizes ---
sized() { mux resize-window -x "$1" -y "$2" && see "$3"; }
check "a wide terminal shows more" sized 120 40 'LOSS +VALID. +WHY$'
check "and no line of it is broken" whole 120 40
check "one that is too small says so" sized 50 12 '^pcp top needs 60x20, not 50x12'
check "and shows all when it grows" sized 60 20 '^ q quit'
check "no line is broken then" whole 60 20

# --- several runs, and what somebody else has written ---
merge() {
    local table
    for table in run round lease; do
        ask_db second "ATTACH '$work/first/pcp.db' AS other; INSERT OR IGNORE INTO $table SELECT * FROM other.$table" || return 1
    done
}
check "another run comes into the records" merge
check "and into the list" see '^ first +done +6/6 '
type_in Down
check "a key chooses it" see '^>first +done +6/6 '
speed_of_first() { see "^ tokens/s $(count "$(ask_db first "SELECT tokens_per_second FROM pcp_speed ORDER BY round DESC LIMIT 1")") "; }
check "the rest is of it then" speed_of_first
type_in k
check "another goes back" see '^>second '
hostile() {
    ask_db second "INSERT INTO event (time_ms, level, service, member, name, run_id, round, detail) VALUES
        (1, 'error', 's', '漢字漢字漢字漢字漢字', 'ev' || char(27) || '[2J' || char(10) || 'il', 'second', 3, '{\"reason\":\"' || char(27) || ']0;x' || char(7) || '<b>\"}')"
}
check "an event with escape sequences and wide characters" hostile
check "is harmless" see 'ev \[2J il +漢字漢字漢字… +'
check "and breaks no line" whole 60 20

# --- the end ---
back() { # the terminal is as it was: main screen, a cursor, echo
    see "$1" && [ "$(mux display-message -p '#{alternate_on} #{cursor_flag}')" = "0 1" ] || return 1
    type_in "stty -a | grep -oE -- '-?(icanon|echo|isig)( |;|\$)'; echo all\$((1 + 1))" Enter
    see '^all2' && ! grep -qE '^-(icanon|echo|isig)' "$work/screen" && [ "$(grep -cE '^(icanon|echo|isig)' "$work/screen")" -eq 3 ]
}
type_in q
check "q quits and gives the terminal back" back '^ended 0'
top_pid() { pgrep -f "^$top top $work/" >"$work/pid" && [ "$(wc -l <"$work/pid")" -eq 1 ]; }
shown() { begin "$top top $work/second" && see '^>second' && eventually 10 top_pid; }
by_signal() { # SIGNAL STATUS
    shown && kill "-$1" "$(cat "$work/pid")" && back "^ended $2"
}
check "so does SIGTERM" by_signal TERM 0
check "SIGINT" by_signal INT 0
check "SIGHUP" by_signal HUP 0
check "a crash" by_signal ABRT 134
check "and one in memory" by_signal SEGV 139
begin "TERM=nonsense $top top '$work/second'"
check "a terminal of an unknown kind is an error" see '^ended 1'

# --- colours ---
coloured() { mux capture-pane -e -p | grep -q $'\033\\[[0-9;]*3[0-7]'; }
shown
check "there are colours" eventually 10 coloured
type_in q
check "until it quits" see '^ended 0'
begin "NO_COLOR=1 $top top '$work/second'" && see '^>second' >"$work/check.out"
not_coloured() { ! coloured; }
check "but not with NO_COLOR" not_coloured
type_in q
check "q quits then, too" see '^ended 0'

# --- a database that stops ---
if check "a private PostgreSQL starts" postgres_start && [ -n "$postgres_url" ]; then
    "$bin/pcp" db migrate --store "$postgres_url" >"$work/migrate.out"
    query() { "$postgres_bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 "$postgres_url" -c "$1"; }
    run_in() { # LOSS
        query "INSERT INTO run (id, key, config, config_hash, state, n_windows, n_rounds, created_ms) VALUES ('far', 'far', '{}', '', 'running', 9, 5, 1) ON CONFLICT DO NOTHING;
            INSERT INTO round (run_id, round, state, leader_fence, cursor_epoch, cursor_window, opened_ms, committed_ms, loss, n_tokens) VALUES ('far', $2, 'committed', 1, 0, 1, 1, 2, $1, 10)"
    }
    run_in 4.25 0
    begin "PCP_STORE='$postgres_url' $top top"
    check "the records of a cluster are shown" see '^>far +running +1/5 +4\.2500'
    check "the database stops" postgres_stop immediate
    check "which the last line says" see '^as of [0-9:]+: .*'
    check "what was shown stays" see '^>far +running +1/5 +4\.2500'
    check "it starts again" postgres_again
    run_in 3.5 1
    check "and is followed again" see '^>far +running +2/5 +3\.5000'
    check "without an error" see '^ q quit'
    type_in q
    check "it quits" see '^ended 0'
fi
close_terminal
check "nothing is left running" eventually 60 no_orphans
tap_done
