/* Frames onto a terminal. */
#include "pcp/top_screen.h"

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#undef columns /* term.h takes the word */

static SCREEN *screen;
static volatile sig_atomic_t told_to_end;

/* What a process that crashes can still do: no more than write and tcsetattr. */
static struct termios as_it_was;
static char leave_text[256];

bool top_screen_utf8(void)
{
    setlocale(LC_CTYPE, "");
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* --- signals --- */

static void on_end(int signal)
{
    (void)signal;
    told_to_end = 1;
}

static void on_crash(int signal)
{
    ssize_t n = write(STDOUT_FILENO, leave_text, strlen(leave_text));
    (void)n;
    tcsetattr(STDIN_FILENO, TCSANOW, &as_it_was);
    raise(signal); /* its handler is the system's again: SA_RESETHAND */
}

static void handle(const int *signals, size_t n, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < n; i++) sigaction(signals[i], &action, NULL);
}

static void watch_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    handle(ends, sizeof ends / sizeof *ends, on_end, 0);
    handle(crashes, sizeof crashes / sizeof *crashes, on_crash, SA_RESETHAND | SA_NODEFER);
}

bool top_screen_told_to_end(void)
{
    return told_to_end;
}

/* --- the terminal --- */

static const char *capability(const char *name)
{
    const char *text = tigetstr(name);
    return text && text != (char *)-1 ? text : "";
}

/* ncurses turns 16 colours and fewer into what the terminal has. NO_COLOR: no-color.org. */
static void choose_colours(void)
{
    static const short of_style[TOP_STYLES] = {[TOP_GOOD] = COLOR_GREEN,
                                               [TOP_WARN] = COLOR_YELLOW,
                                               [TOP_BAD] = COLOR_RED,
                                               [TOP_CURVE] = COLOR_CYAN,
                                               [TOP_SECOND] = COLOR_YELLOW};
    const char *no_color = getenv("NO_COLOR");
    if ((no_color && *no_color) || !has_colors()) return;
    start_color();
    use_default_colors();
    for (short i = 0; i < TOP_STYLES; i++)
        if (of_style[i]) init_pair(i, of_style[i], -1);
}

int top_screen_open(err_t *err)
{
    const char *term = getenv("TERM");
    tcgetattr(STDIN_FILENO, &as_it_was);
    screen = newterm(NULL, stdout, stdin);
    if (!screen)
        return err_set(err, ERR_STATE,
                       "the terminal is of a kind that nobody knows here (TERM=%.40s): set TERM, "
                       "for example to xterm or vt100, or use pcp top --once",
                       term ? term : "");
    snprintf(leave_text, sizeof leave_text, "%.80s%.80s%.80s", capability("sgr0"),
             capability("cnorm"), capability("rmcup"));
    watch_signals();
    atexit(top_screen_close);
    set_escdelay(25);
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    choose_colours();
    return 0;
}

void top_screen_close(void)
{
    if (!screen) return;
    endwin();
    delscreen(screen);
    screen = NULL;
}

void top_screen_size(int *rows, int *columns)
{
    getmaxyx(stdscr, *rows, *columns);
}

top_key_t top_screen_key(void)
{
    static const struct {
        int code;
        top_key_t key;
    } keys[] = {{ERR, TOP_KEY_NONE},         {'q', TOP_KEY_QUIT},       {'Q', TOP_KEY_QUIT},
                {KEY_UP, TOP_KEY_UP},        {'k', TOP_KEY_UP},         {KEY_DOWN, TOP_KEY_DOWN},
                {'j', TOP_KEY_DOWN},         {KEY_HOME, TOP_KEY_FIRST}, {'g', TOP_KEY_FIRST},
                {KEY_END, TOP_KEY_LAST},     {'G', TOP_KEY_LAST},       {'r', TOP_KEY_AGAIN},
                {KEY_RESIZE, TOP_KEY_RESIZE}};
    int code = getch();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].code == code) return keys[i].key;
    return TOP_KEY_OTHER;
}

/* --- frames --- */

static const attr_t attributes[TOP_STYLES] = {
    [TOP_STRONG] = A_BOLD, [TOP_FAINT] = A_DIM, [TOP_BAR] = A_REVERSE, [TOP_BAD] = A_BOLD};

static void show_cell(const top_cell_t *cell, int row, int column)
{
    wchar_t text[2] = {(wchar_t)cell->code, 0};
    cchar_t out;
    if (cell->code == 0) return; /* the wide one before covers it */
    setcchar(&out, text, attributes[cell->style], (short)cell->style, NULL);
    mvadd_wch(row, column, &out);
}

void top_screen_show(const top_canvas_t *canvas)
{
    erase();
    for (int i = 0; i < canvas->rows * canvas->columns; i++)
        show_cell(&canvas->cell[i], i / canvas->columns, i % canvas->columns);
    refresh();
}
