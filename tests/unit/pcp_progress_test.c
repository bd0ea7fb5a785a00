/* The display of long work, on a terminal of any width and in a log: nothing wraps, rounds stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>
#include <fcntl.h>

#include "base/str.h"
#include "pcp/progress.h"
#include "pcp/sample_line.h"

/* --- a terminal: a pseudo-terminal, and a screen that what arrives is drawn on --- */

enum { ROWS = 200, COLUMNS = 200 };

typedef struct {
    int master;
    FILE *out;
    int columns, row, column, wrapped;
    char cell[ROWS][COLUMNS + 1];
} screen_t;

static void resize(screen_t *self, int columns)
{
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    assert_int_equal(ioctl(self->master, TIOCSWINSZ, &size), 0);
    self->columns = columns;
}

static void open_screen(screen_t *self, int columns)
{
    *self = (screen_t){.master = posix_openpt(O_RDWR | O_NOCTTY)};
    assert_true(self->master >= 0);
    assert_int_equal(grantpt(self->master), 0);
    assert_int_equal(unlockpt(self->master), 0);
    resize(self, columns);
    int slave = open(ptsname(self->master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0);
    self->out = fdopen(slave, "w");
    assert_non_null(self->out);
    memset(self->cell, ' ', sizeof self->cell);
}

static void put(screen_t *self, char c)
{
    if (((unsigned char)c & 0xc0) == 0x80) return; /* of a character that has its cell */
    if (self->column == self->columns) {
        self->wrapped++;
        self->row++;
        self->column = 0;
    }
    assert_true(self->row < ROWS);
    self->cell[self->row][self->column++] = c;
}

/* One escape sequence of those we use; returns its length. */
static size_t escape(screen_t *self, const char *text)
{
    int n = 1, used = 0;
    if (sscanf(text, "\033[%dA%n", &n, &used) == 1 && used) {
        self->row -= n;
        assert_true(self->row >= 0);
        return (size_t)used;
    }
    assert_memory_equal(text, "\033[J", 3);
    memset(self->cell[self->row] + self->column, ' ', (size_t)(COLUMNS - self->column));
    for (int r = self->row + 1; r < ROWS; r++) memset(self->cell[r], ' ', COLUMNS);
    return 3;
}

static void show_one(screen_t *self, const char **p)
{
    if (**p == '\033') {
        *p += escape(self, *p);
        return;
    }
    if (**p == '\r')
        self->column = 0;
    else if (**p == '\n')
        self->row++;
    else
        put(self, **p);
    (*p)++;
}

/* Draw all that was written: up to a mark, for it takes its time on the way. */
static void show(screen_t *self)
{
    enum { MARK = 1 };
    str_t text = {0};
    fputc(MARK, self->out);
    fflush(self->out);
    do {
        char some[4096];
        ssize_t n = read(self->master, some, sizeof some);
        assert_true(n > 0);
        str_addn(&text, some, (size_t)n);
    } while (text.at[text.n - 1] != MARK);
    text.at[text.n - 1] = '\0';
    for (const char *p = text.at; *p;) show_one(self, &p);
    str_fini(&text);
}

static bool has(const screen_t *self, int row, const char *words)
{
    char line[COLUMNS + 1];
    memcpy(line, self->cell[row], COLUMNS);
    line[COLUMNS] = '\0';
    if (strstr(line, words)) return true;
    print_message("row %d: \"%.*s\", wanted \"%s\"\n", row, self->columns, line, words);
    return false;
}

static void close_screen(screen_t *self)
{
    fclose(self->out);
    close(self->master);
}

static Msg__RoundStats round_of(uint32_t n)
{
    Msg__RoundStats r = MSG__ROUND_STATS__INIT;
    r.round = n;
    r.rounds = 300;
    r.loss = 2.3456;
    r.tokens = 123456789;
    r.tokens_per_s = 1234567;
    r.workers = 12;
    r.eta_s = 12345;
    r.has_val_loss = n % 2 == 0;
    r.val_loss = 2.5;
    return r;
}

static void rounds_stay(void **unused)
{
    (void)unused;
    static const int widths[] = {20, 40, 60, 79, 80, 132};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        screen_t screen;
        progress_t progress;
        open_screen(&screen, widths[w]);
        progress_init(&progress, screen.out);
        assert_true(progress.terminal);
        progress_phase(&progress, "compiling the model for cpu:x86-64-v4, which has a long name");
        for (uint32_t n = 1; n <= 9; n++) {
            Msg__RoundStats r = round_of(n);
            progress_round(&progress, &r);
            progress_at(&progress, n, 300, PROGRESS_THINGS);
        }
        show(&screen);
        assert_int_equal(screen.wrapped, 0);
        char words[32];
        for (int n = 1; n <= 9; n++) {
            snprintf(words, sizeof words, "round %d/300", n);
            assert_true(has(&screen, n - 1, words));
        }
        assert_true(has(&screen, 9, "round 10/300")); /* the status line */
        if (widths[w] >= 60) assert_true(has(&screen, 9, "[#") && has(&screen, 9, "eta 3h25m"));
        if (widths[w] >= 60) assert_true(has(&screen, 1, "val 2.5000"));
        progress_end(&progress);
        show(&screen);
        assert_true(has(&screen, 9, "                    "));
        close_screen(&screen);
    }
}

static void phases_fit(void **unused)
{
    (void)unused;
    for (int columns = 2; columns < 100; columns++) {
        screen_t screen;
        progress_t progress;
        open_screen(&screen, columns);
        progress_init(&progress, screen.out);
        progress_phase(&progress, "hashing b\xc3\xbc"
                                  "cher.u16");
        for (int i = 0; i <= 10; i++) {
            progress.drawn_ms = 0; /* at once */
            progress_at(&progress, 3e7 * i, 3e8, PROGRESS_BYTES);
        }
        show(&screen);
        assert_int_equal(screen.wrapped, 0);
        if (columns >= 60) assert_true(has(&screen, 0, "300/300 MB"));
        progress_end(&progress);
        close_screen(&screen);
    }
}

/* The terminal becomes narrower: the line that stands there is broken into two, as terminals do. */
static void follows_the_terminal(void **unused)
{
    (void)unused;
    screen_t screen;
    progress_t progress;
    open_screen(&screen, 100);
    progress_init(&progress, screen.out);
    progress_note(&progress, "above");
    progress_phase(&progress, "%s",
                   "a phase whose description takes up seventy-five columns, and all of them..");
    show(&screen);
    resize(&screen, 40);
    memcpy(screen.cell[2], screen.cell[1] + 40, 60);
    memset(screen.cell[1] + 40, ' ', 60);
    screen.row = 2;
    screen.column -= 40;
    progress.drawn_ms = 0;
    progress_tick(&progress);
    show(&screen);
    assert_int_equal(screen.wrapped, 0);
    assert_true(has(&screen, 0, "above"));
    assert_true(has(&screen, 1, "a phase whose"));
    assert_true(has(&screen, 2, "                                        "));
    progress_note(&progress, "a note");
    show(&screen);
    assert_true(has(&screen, 1, "a note"));
    assert_true(has(&screen, 2, "a phase whose"));
    close_screen(&screen);
}

static void a_log(void **unused)
{
    (void)unused;
    char *text = NULL;
    size_t n = 0;
    FILE *out = tmpfile();
    progress_t progress;
    progress_init(&progress, out);
    progress_state(&progress, "hashing a.u16");
    progress_state(&progress, "hashing a.u16");
    for (int i = 0; i < 5; i++) progress_at(&progress, i, 10, PROGRESS_THINGS);
    progress.told_ms -= 10000;
    progress.begun_ms -= 10000;
    progress_at(&progress, 5, 10, PROGRESS_THINGS);
    Msg__RoundStats r = round_of(2);
    progress_round(&progress, &r);
    progress.told_ms -= 10000;
    progress_tick(&progress);
    progress_end(&progress);
    rewind(out);
    assert_true(getdelim(&text, &n, '\0', out) > 0);
    assert_string_equal(text,
                        "hashing a.u16\n"
                        "[##########..........] hashing a.u16  5/10  eta 10s\n"
                        "round 2/300  loss 2.3456  val 2.5000  tokens 123456789  1234567 tokens/s  "
                        "workers 12  eta 3h25m\n");
    free(text);
    fclose(out);
}

/* What a model writes is shown on one line, and moves no cursor. */
static void samples(void **unused)
{
    (void)unused;
    char *text = NULL;
    size_t n = 0;
    FILE *out = tmpfile();
    progress_t progress;
    progress_init(&progress, out);
    Msg__Written written = MSG__WRITTEN__INIT;
    written.round = 20;
    written.prompt = "It\n";
    written.text = "\033[2J was\t'caf\xc3\xa9'\r\xff\xc2\x9b";
    sample_line(&progress, &written);
    written.error = "left out";
    sample_line(&progress, &written);
    rewind(out);
    assert_true(getdelim(&text, &n, '\0', out) > 0);
    assert_string_equal(text, "sample of round 20: It\\n | \\u001b[2J was\\t'caf\xc3\xa9'\\u000d"
                              "\\ufffd\\u009b\nno sample of round 20: left out\n");
    free(text);
    fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_stay),
        cmocka_unit_test(phases_fit),
        cmocka_unit_test(follows_the_terminal),
        cmocka_unit_test(a_log),
        cmocka_unit_test(samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
