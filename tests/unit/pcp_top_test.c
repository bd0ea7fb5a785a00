/* pcp top: frames of every size from reports that are known, curves, and text that means harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <locale.h>
#include <math.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "pcp/top_graph.h"
#include "pcp/top_text.h"
#include "pcp/top_view.h"

/* --- reports that are known --- */

/* Columns with blanks between; cells row after row, "" for NULL. Its memory is the report's. */
static report_t report(const char *columns, const char *const *cells, size_t n_row)
{
    report_t r = {.n_row = n_row};
    r.column = mem_calloc(20, sizeof *r.column);
    for (const char *at = columns; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        snprintf(r.column[r.n_column++].name, STORE_WORD, "%.*s", (int)n, at);
        at += n;
    }
    r.cell = mem_calloc(n_row * r.n_column + 1, sizeof *r.cell);
    for (size_t i = 0; i < n_row * r.n_column; i++)
        r.cell[i] = *cells[i] ? mem_strdup(cells[i]) : NULL;
    return r;
}

#define REPORT(columns, n_row, ...) report(columns, (const char *const[]){__VA_ARGS__}, n_row)

static const char nasty[] = "a\033[2J\nb\xff\x80 \xe2\x80\xae \xe6\xbc\xa2\xe5\xad\x97";

enum { EVENTS = 80 };

/* Three runs, rounds, `n_worker` workers, events of which one means harm. */
static top_data_t data_of(size_t n_worker)
{
    top_data_t d = {.run = "old", .read_ms = 1700000100000};
    d.runs = REPORT("run state reason rounds_planned rounds tokens loss validation_loss created_at",
                    2, "new", "failed", nasty, "9", "2", "64", "", "", "2026-01-02T00:00:00.000Z",
                    "old", "running", "", "5", "4", "40960", "1.23456", "2.5",
                    "2026-01-01T00:00:00.000Z");
    d.queue = REPORT("run state reason rounds_planned created_at", 2, "new", "paused", "", "9",
                     "2026-01-02T00:00:00.000Z", "later", "queued", "4 workers", "7",
                     "2026-01-03T00:00:00.000Z");
    d.loss = REPORT("round loss", 4, "1", "4", "2", "3", "3", "", "4", "1.23456");
    d.validation = REPORT("round validation_loss", 2, "2", "3.5", "4", "2.5");
    d.speed = REPORT("round tokens_per_second", 2, "3", "100", "4", "426667");
    d.open = REPORT("round state waits_for", 1, "5", "open", "worker w2");
    d.checkpoints = REPORT("round created_at", 1, "4", "2023-11-14T22:13:20.000Z");
    d.leases = REPORT("worker loss n_steps compute_ms", 3, "w1", "", "", "", "w1", "1.5", "20",
                      "40", "w0", "1.75", "10", "1000");
    const char *events[EVENTS * 5];
    for (size_t i = 0; i < EVENTS; i++) {
        const char *row[] = {"2026-01-01T00:00:00.000Z", "info", "joined", "w0",
                             "{\"member\": \"w0\", \"kind\": \"worker\"}"};
        const char *harm[] = {"", "error", nasty, nasty, "{\"reason\": \"why\", \"n\": 3}"};
        memcpy(&events[i * 5], i == 1 ? harm : row, sizeof row);
    }
    d.events = report("told_at level name member detail", events, EVENTS);
    const char *cells[30 * 5];
    char names[30][24];
    for (size_t i = 0; i < n_worker; i++) {
        snprintf(names[i], sizeof names[i], "w%zu", i);
        const char *row[] = {names[i],
                             i == 0   ? "gone"
                             : i == 1 ? "busy"
                                      : "idle",
                             "cpu:x", "", "2023-11-14T22:13:20.000Z"};
        memcpy(&cells[i * 5], row, sizeof row);
    }
    d.workers = report("worker state target device changed_at", cells, n_worker);
    return d;
}

static void draw_of(const top_data_t *data, const char *error, int rows, int columns, bool ascii,
                    top_canvas_t *canvas)
{
    top_view_t view = {.data = data,
                       .place = "postgresql://host/a_database_with_a_long_name_that_is_cut",
                       .error = error,
                       .now_ms = 1700000100000,
                       .keys = true};
    top_canvas_init(canvas, rows, columns, ascii);
    top_view_draw(&view, canvas);
}

/* The frame as text. Caller frees. */
static char *frame(const top_data_t *data, const char *error, int rows, int columns, bool ascii)
{
    top_canvas_t canvas;
    str_t text = {0};
    draw_of(data, error, rows, columns, ascii, &canvas);
    for (int i = 0; i < rows; i++) {
        top_canvas_text(&canvas, i, &text);
        str_add(&text, "\n");
    }
    top_canvas_fini(&canvas);
    return text.at;
}

static void has(const char *text, const char *words)
{
    if (!strstr(text, words)) fail_msg("no \"%s\" in\n%s", words, text);
}

/* --- tests --- */

/* Characters that a terminal shows as one or two cells, so many a row, and nothing else. */
static void check_cells(const top_canvas_t *canvas)
{
    for (int i = 0; i < canvas->rows * canvas->columns; i++) {
        uint32_t code = canvas->cell[i].code;
        if (code == 0) {
            assert_true(i % canvas->columns > 0);
            assert_true(canvas->cell[i - 1].code >= 0x80);
            assert_false(canvas->ascii);
            continue;
        }
        assert_false(utf8_is_control(code));
        if (canvas->ascii) assert_true(code < 0x80);
    }
}

static void test_every_size(void **state)
{
    (void)state;
    for (size_t n_worker = 0; n_worker <= 30; n_worker += 15) {
        top_data_t data = data_of(n_worker);
        for (int rows = TOP_ROWS; rows <= 70; rows += rows < 30 ? 1 : 13)
            for (int columns = TOP_COLUMNS; columns <= 220; columns += columns < 104 ? 1 : 29)
                for (int ascii = 0; ascii < 2; ascii++) {
                    top_canvas_t canvas;
                    draw_of(&data, "", rows, columns, ascii, &canvas);
                    check_cells(&canvas);
                    str_t last = {0}, title = {0};
                    top_canvas_text(&canvas, rows - 1, &last);
                    assert_non_null(last.at);
                    has(last.at, " q quit");
                    for (int i = 0; i < rows; i++) top_canvas_text(&canvas, i, &title);
                    has(title.at, " RUN (3)");
                    has(title.at, " WORKER ");
                    has(title.at, " TIME ");
                    str_fini(&last);
                    str_fini(&title);
                    top_canvas_fini(&canvas);
                }
        top_data_fini(&data);
    }
}

static void test_figures(void **state)
{
    (void)state;
    top_data_t data = data_of(3);
    char *text = frame(&data, "", 24, 90, true);
    has(text, ">old                           running           4/5   1.2346   2.5000\n");
    has(text,
        " later                         queued            0/7        -        -  4 workers\n");
    has(text, " new                           failed            2/9        -        -  a [2J b??");
    has(text, " tokens/s 426.7 k  tokens 40.96 k  saved 4, 1m40s ago  waits for worker w2\n");
    has(text, " loss  validation  rounds 1 to 4\n");
    has(text, " 4.0000 |");
    has(text, " 1.2346 |");
    has(text, " WORKER 1/2 busy"); /* w0 is gone */
    has(text, " w1                      busy       1.5000     500   1m40s  cpu:x\n");
    has(text, " w0                      gone       1.7500      10   1m40s  cpu:x\n");
    assert_true(strstr(text, " w1 ") < strstr(text, " w2 "));
    assert_true(strstr(text, " w2 ") < strstr(text, " w0 ")); /* those that left come last */
    has(text, " joined         w0             kind worker\n");
    has(text, " why, n 3\n");
    assert_true(strstr(text, " later ") < strstr(text, " new ")); /* the newest first */
    free(text);
    top_data_fini(&data);
}

static void test_states_of_the_view(void **state)
{
    (void)state;
    top_data_t data = data_of(1), none = {0};
    char *text = frame(&data, "no answer", 20, 60, false);
    has(text, "as of ");
    has(text, ": no answer\n");
    has(text, ">old"); /* what was read stays */
    free(text);
    text = frame(NULL, "no answer", 20, 60, false);
    has(text, "Nothing could be read yet.");
    free(text);
    text = frame(NULL, "", 20, 60, false);
    has(text, "Reading ...");
    free(text);
    text = frame(&none, "", 20, 60, false);
    has(text, "There is no run yet.");
    free(text);
    for (int rows = 1; rows <= 20; rows += 19)
        for (int columns = 1; columns < 60; columns++) free(frame(&data, "", rows, columns, false));
    text = frame(&data, "", 19, 60, false);
    has(text, "pcp top needs 60x20, not 60x19");
    free(text);
    top_data_fini(&data);
}

static void test_text_is_cut(void **state)
{
    (void)state;
    top_canvas_t canvas;
    str_t text = {0};
    top_canvas_init(&canvas, 2, 10, false);
    assert_int_equal(top_canvas_put(&canvas, 0, 2, 5, TOP_PLAIN, "exact"), 5);
    assert_int_equal(
        top_canvas_put(&canvas, 1, 0, 4, TOP_PLAIN, "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2"), 3);
    top_canvas_put(&canvas, 1, 8, 9, TOP_PLAIN, "beyond");
    top_canvas_put(&canvas, 2, 0, 9, TOP_PLAIN, "outside");
    top_canvas_put_right(&canvas, 1, 5, 3, TOP_PLAIN, "1");
    top_canvas_text(&canvas, 0, &text);
    str_add(&text, "/");
    top_canvas_text(&canvas, 1, &text);
    assert_string_equal(str_text(&text), "  exact/\xe6\xbc\xa2\xe2\x80\xa6    1b\xe2\x80\xa6");
    str_fini(&text);
    top_canvas_fini(&canvas);
}

/* A straight line goes from corner to corner, through every column. */
static void test_graph(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4}, y[] = {10, NAN, 30, 40}, level[] = {7, 7, 7, 7};
    for (int ascii = 0; ascii < 2; ascii++) {
        top_canvas_t canvas;
        const top_curve_t curve = {4, x, y, TOP_CURVE}, flat = {4, x, level, TOP_SECOND};
        const top_graph_t graph = {
            .row = 1, .column = 2, .rows = 5, .columns = 20, .floor = NAN, .number = top_loss};
        top_canvas_init(&canvas, 8, 30, ascii);
        top_graph_draw(&canvas, &graph, &curve, 1, "none");
        int drawn = 0;
        for (int c = 2 + TOP_SCALE; c < 22; c++) {
            bool any = false;
            for (int r = 0; r < 8; r++) {
                const top_cell_t *cell = &canvas.cell[r * 30 + c];
                bool dot = ascii ? cell->code == '*' : cell->code > 0x2800 && cell->code < 0x2900;
                if (dot) assert_true(r >= 1 && r < 6);
                any |= dot;
            }
            drawn += any;
        }
        assert_int_equal(drawn, 20 - TOP_SCALE);
        assert_true(canvas.cell[5 * 30 + 2 + TOP_SCALE].code != ' '); /* low at the left */
        assert_true(canvas.cell[1 * 30 + 21].code != ' ');            /* high at the right */
        top_graph_draw(&canvas, &graph, &flat, 1, "none");
        top_graph_draw(&canvas, &graph, &flat, 0, "none");
        str_t text = {0};
        top_canvas_text(&canvas, 1, &text);
        has(text.at, "none");
        str_fini(&text);
        top_canvas_fini(&canvas);
    }
}

static void test_texts(void **state)
{
    (void)state;
    static const struct {
        void (*write)(double, char *);
        double value;
        const char *text;
    } rows[] = {{top_count, 0, "0"},           {top_count, 999, "999"},
                {top_count, 1000, "1 k"},      {top_count, 426667, "426.7 k"},
                {top_count, 2.5e12, "2.5 T"},  {top_count, NAN, "-"},
                {top_loss, 3.32650, "3.3265"}, {top_loss, INFINITY, "-"},
                {top_age, 59000, "59s"},       {top_age, 65000, "1m05s"},
                {top_age, 7260000, "2h01m"},   {top_age, -1, "-"},
                {top_age, 3 * 86400e3, "3d"}};
    char text[32];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rows[i].write(rows[i].value, text);
        assert_string_equal(text, rows[i].text);
    }
    assert_int_equal(top_time_ms("2023-11-14T22:13:20.123Z"), 1700000000123);
    assert_int_equal(top_time_ms("yesterday"), -1);
    assert_int_equal(top_time_ms(NULL), -1);
    static const char *const details[][2] = {
        {"{\"worker\": \"w\", \"state\": \"lost\", \"n\": 2, \"reason\": \"why\", \"x\": \"\"}",
         "state lost, n 2, why"},
        {"[1]", "[1]"},
        {"no json", "no json"},
        {"{\"a\": {\"b\": [1.5, null]}}", "a {\"b\":[1.5,null]}"}};
    for (size_t i = 0; i < 4; i++) {
        str_t out = {0};
        top_detail(&out, details[i][0]);
        assert_string_equal(str_text(&out), details[i][1]);
        str_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_size),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_states_of_the_view),
        cmocka_unit_test(test_text_is_cut),
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_texts),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
