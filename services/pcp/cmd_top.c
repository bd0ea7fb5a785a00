/* pcp top: runs on the terminal, as the page has them in a browser. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "pcp/cmd.h"
#include "pcp/top_reader.h"
#include "pcp/top_screen.h"
#include "pcp/top_view.h"

enum { LOOK_MS = 250, ROWS = 24, COLUMNS = 80, MOST_ROWS = 500, MOST_COLUMNS = 1000 };

typedef struct {
    char *store, *run;
    int64_t interval_ms;
    bool once;
} options_t;

#define AT(key) offsetof(options_t, key)
static const config_field_t fields[] = {
    {"store", CONFIG_STRING, AT(store), NULL,
     "records to read: postgresql://USER@HOST:PORT/DATABASE (a login with the role pcp_reader will "
     "do) or sqlite:///PATH [PCP_STORE]",
     0, 0, NULL, true},
    {"run", CONFIG_STRING, AT(run), NULL, "the run to begin with [the newest]", 0, 0, NULL, false},
    {"interval_ms", CONFIG_INT, AT(interval_ms), "1000",
     "look so often whether the records have changed", 100, 3600000, NULL, false},
    {"once", CONFIG_BOOL, AT(once), "false",
     "print one frame as plain text, of the size that COLUMNS and LINES say [80 x 24]", 0, 0, NULL,
     false},
};
static const config_table_t table = {
    .purpose = "watch runs on the terminal: losses, speed, workers, events",
    .usage =
        "usage: pcp top [RUN_DIR] [--store URL] [FLAGS]\n\n"
        "Shows runs, and of the chosen one its losses, speed, workers and events, while they\n"
        "change. RUN_DIR is of a pcp train on this machine; --store names a cluster's records;\n"
        "with neither, the newest of runs/. The terminal has 60 columns and 20 lines at least.\n\n"
        "up, down (k, j)  choose a run; g, G: the newest, the oldest\n"
        "r                read again\n"
        "q                quit\n\n"
        "Nothing is written. NO_COLOR in the environment: no colours. Without UTF-8 in the "
        "locale:\n"
        "ASCII only.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .no_env = true,
    .env_field = "store",
};

/* --- which records --- */

static int64_t changed_ms(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 ? (int64_t)s.st_mtim.tv_sec * 1000 + s.st_mtim.tv_nsec / 1000000
                               : -1;
}

/* The directory in runs/ whose records are the youngest; NULL: none. Caller frees. */
static char *newest_run(void)
{
    glob_t found = {0};
    const char *best = NULL;
    if (glob("runs/*/pcp.db", 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (!best || changed_ms(found.gl_pathv[i]) > changed_ms(best)) best = found.gl_pathv[i];
    char *dir = best ? mem_printf("%.*s", (int)(strlen(best) - strlen("/pcp.db")), best) : NULL;
    globfree(&found);
    return dir;
}

/* The URL of a run directory's records. Caller frees; NULL: an error. */
static char *url_of_dir(const char *dir, err_t *err)
{
    char *path = mem_printf("%s/pcp.db", dir), *url = NULL;
    if (file_exists(path))
        url = mem_printf("sqlite://%s", path);
    else
        err_set(err, ERR_ARG, "%s: no run of this machine has its records there (%s is missing)",
                dir, path);
    free(path);
    return url;
}

static char *find_store(const options_t *o, const config_args_t *args, err_t *err)
{
    if (args->n_operands > 1) {
        err_set(err, ERR_ARG, "unexpected word \"%s\"", args->operands[1]);
        return NULL;
    }
    if (args->n_operands == 1) return url_of_dir(args->operands[0], err);
    if (o->store && *o->store) return mem_strdup(o->store);
    char *dir = newest_run(), *url = dir ? url_of_dir(dir, err) : NULL;
    if (!dir)
        err_set(err, ERR_ARG,
                "say which records: a directory of pcp train, or --store URL (or PCP_STORE)");
    free(dir);
    return url;
}

/* As the first line names it: a run directory, or a URL without a password. Caller frees. */
static char *place_of(const char *url)
{
    static const char head[] = "sqlite://", tail[] = "/pcp.db";
    if (!str_starts(url, head) || !str_ends(url, tail)) return store_mask_url(url);
    const char *path = url + strlen(head);
    return mem_printf("%.*s", (int)(strlen(path) - strlen(tail)), path);
}

/* --- one frame --- */

/* Lines or columns: the environment, else the terminal, else the usual. */
static int extent(const char *variable, int of_terminal, int usual, int least, int most)
{
    const char *text = getenv(variable);
    long n = text ? strtol(text, NULL, 10) : 0;
    if (n <= 0) n = of_terminal > 0 ? of_terminal : usual;
    return n < least ? least : n > most ? most : (int)n;
}

static void print_frame(const top_view_t *view)
{
    struct winsize size = {0};
    top_canvas_t canvas;
    str_t text = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0) size = (struct winsize){0};
    int rows = extent("LINES", size.ws_row, ROWS, TOP_ROWS, MOST_ROWS);
    int columns = extent("COLUMNS", size.ws_col, COLUMNS, TOP_COLUMNS, MOST_COLUMNS);
    top_canvas_init(&canvas, rows, columns, !top_screen_utf8());
    top_view_draw(view, &canvas);
    for (int i = 0; i < rows; i++) {
        top_canvas_text(&canvas, i, &text);
        str_add(&text, "\n");
    }
    while (text.n > 1 && text.at[text.n - 2] == '\n') text.at[--text.n] = '\0';
    fputs(str_text(&text), stdout);
    str_fini(&text);
    top_canvas_fini(&canvas);
}

static int show_once(const options_t *o, const char *url, const char *place, err_t *err)
{
    const store_options_t limits = {.read_only = true};
    top_data_t data = {0};
    store_t *store = store_open(url, &limits, err);
    int rc = store ? top_data_read(store, o->run ? o->run : "", &data, err) : -1;
    if (rc == 0 && o->run && strcmp(data.run, o->run) != 0)
        rc = err_set(err, ERR_STATE, "there is no run \"%s\"", o->run);
    const top_view_t view = {.data = &data, .place = place, .error = "", .now_ms = clock_wall_ms()};
    if (rc == 0) print_frame(&view);
    top_data_fini(&data);
    store_destroy(&store);
    return rc;
}

/* --- frame after frame --- */

typedef struct {
    top_reader_t *reader;
    const char *place;
    int64_t interval_ms, asked_ms; /* monotonic */
    char run[STORE_ID];            /* the chosen one; "": the newest */
    bool again;                    /* ask even if nothing has changed */
    top_answer_t *shown;           /* the last that could be read; NULL: none yet */
    char error[sizeof((err_t *)0)->text];
    bool ascii;
} top_t;

static void draw(const top_t *self)
{
    top_canvas_t canvas;
    int rows, columns;
    const top_view_t view = {.data = self->shown ? &self->shown->data : NULL,
                             .place = self->place,
                             .error = self->error,
                             .now_ms = clock_wall_ms(),
                             .keys = true};
    top_screen_size(&rows, &columns);
    if (rows < 1 || columns < 1) return;
    top_canvas_init(&canvas, rows, columns, self->ascii);
    top_view_draw(&view, &canvas);
    top_screen_show(&canvas);
    top_canvas_fini(&canvas);
}

static void ask(top_t *self)
{
    int64_t now_ms = clock_mono_ms();
    if (!self->again && now_ms - self->asked_ms < self->interval_ms) return;
    if (!top_reader_ask(self->reader, self->run, self->again)) return;
    self->again = false;
    self->asked_ms = now_ms;
}

/* An answer that is about another run than the one that was chosen meanwhile is old. */
static void receive(top_t *self)
{
    top_answer_t *answer = top_reader_receive(self->reader);
    if (!answer) return;
    snprintf(self->error, sizeof self->error, "%s", answer->err.text);
    if (answer->fresh) {
        top_answer_free(self->shown);
        self->shown = answer;
    } else {
        top_answer_free(answer);
    }
}

/* The run `by` rows further down. */
static void choose(top_t *self, int64_t by)
{
    const top_data_t *data = self->shown ? &self->shown->data : NULL;
    if (!data || data->runs.n_row == 0) return;
    int64_t last = (int64_t)data->runs.n_row - 1;
    int64_t row = (int64_t)top_data_find(data, *self->run ? self->run : data->run) + by;
    row = row < 0 ? 0 : row > last ? last : row;
    const char *name = store_report_cell(&data->runs, (size_t)row, "run");
    snprintf(self->run, sizeof self->run, "%s", name ? name : "");
    self->again = true;
}

/* False: quit. */
static bool obey(top_t *self, top_key_t key)
{
    switch (key) {
    case TOP_KEY_QUIT: return false;
    case TOP_KEY_UP: choose(self, -1); break;
    case TOP_KEY_DOWN: choose(self, 1); break;
    case TOP_KEY_FIRST: choose(self, -STORE_REPORT_ROWS); break;
    case TOP_KEY_LAST: choose(self, STORE_REPORT_ROWS); break;
    case TOP_KEY_AGAIN: self->again = true; break;
    default: break;
    }
    return true;
}

/* Keys that wait. A terminal that is readable and gives no key has gone: false, too. */
static bool take_keys(top_t *self, bool readable)
{
    bool on = true, any = false;
    for (top_key_t key; on && (key = top_screen_key()) != TOP_KEY_NONE; any = true)
        on = obey(self, key);
    return on && (any || !readable);
}

static void loop(top_t *self)
{
    zmq_pollitem_t items[] = {
        {.fd = STDIN_FILENO, .events = ZMQ_POLLIN},
        {.socket = zsock_resolve(top_reader_socket(self->reader)), .events = ZMQ_POLLIN}};
    for (bool on = true; on && !top_screen_told_to_end();) {
        ask(self);
        draw(self);
        items[0].revents = items[1].revents = 0;
        if (zmq_poll(items, 2, LOOK_MS) < 0) items[0].revents = 0; /* a signal */
        on = take_keys(self, items[0].revents != 0);
        receive(self);
    }
}

static int show(const options_t *o, const char *url, const char *place, err_t *err)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return err_set(err, ERR_ARG,
                       "input and output are no terminal: pcp top --once prints one frame, "
                       "pcp run get RUN the state of a cluster's run");
    top_t top = {.place = place, .interval_ms = o->interval_ms, .again = true};
    snprintf(top.run, sizeof top.run, "%s", o->run ? o->run : "");
    top.ascii = !top_screen_utf8();
    zsys_handler_set(NULL);
    top.reader = top_reader_new(url, err);
    int rc = top.reader ? top_screen_open(err) : -1;
    if (rc == 0) loop(&top);
    top_screen_close();
    top_reader_destroy(&top.reader);
    top_answer_free(top.shown);
    return rc;
}

static int run(const void *options, const config_args_t *args, err_t *err)
{
    const options_t *o = options;
    char *url = find_store(o, args, err), *place = url ? place_of(url) : NULL;
    int rc = url ? (o->once ? show_once : show)(o, url, place, err) : -1;
    free(place);
    free(url);
    return rc;
}

int cmd_top(int argc, char **argv)
{
    options_t options = {0};
    err_t err = {0};
    return cmd_run(&table, &options, argc, argv, run, &err);
}
