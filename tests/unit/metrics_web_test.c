/* The page's server without a browser: JSON of odd texts, files, questions that are open when it ends, streams that
 * come, hear, and make room. */
#include <arpa/inet.h>
#include <czmq.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/mem.h"
#include "metrics/web/files.h"
#include "metrics/web/json.h"
#include "metrics/web/web.h"
#include "store_help.h"

/* --- JSON --- */

/* What another library reads of our text. */
static char *read_back(const char *text)
{
    str_t out = {0};
    json_text(&out, text);
    for (const char *p = out.at; *p; p++) assert_null(strchr("<>&", *p) ? p : NULL);
    json_t *value = json_loads(out.at, JSON_DECODE_ANY, NULL);
    if (!value) fail_msg("no JSON: %s", out.at);
    char *back = mem_strdup(json_string_value(value));
    json_decref(value);
    str_fini(&out);
    return back;
}

static void texts_survive(void **state)
{
    (void)state;
    static const struct {
        const char *text, *back;
    } rows[] = {
        {"", ""},
        {"plain", "plain"},
        {"</script><b a=\"x\">&amp;", "</script><b a=\"x\">&amp;"},
        {"\\ \" \n \t \x01 \x7f", "\\ \" \n \t \x01 \x7f"},
        {"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xff", "\xef\xbf\xbd"},                                 /* no UTF-8 at all */
        {"\xc3", "\xef\xbf\xbd"},                                 /* cut */
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* longer than need be */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* half a pair */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *back = read_back(rows[i].text);
        assert_string_equal(back, rows[i].back);
        free(back);
    }
    unsigned seed = 7; /* any bytes make JSON */
    for (int i = 0; i < 2000; i++) {
        char bytes[24] = {0};
        for (size_t k = 0; k < sizeof bytes - 1; k++)
            bytes[k] = (char)(1 + (seed = seed * 1103515245u + 12345u) / 65536 % 255);
        free(read_back(bytes));
    }
    str_t out = {0};
    json_text(&out, NULL);
    json_number(&out, 0.0 / 0.0);
    json_number(&out, -1.0 / 0.0);
    json_number(&out, 0.1);
    assert_string_equal(str_text(&out), "nullnullnull0.10000000000000001");
    str_fini(&out);
}

static void files_are_there(void **state)
{
    (void)state;
    static const char *const paths[] = {"/",
                                        "/page/main.js",
                                        "/page/style.css",
                                        "/page/uPlot.js",
                                        "/page/uPlot.css",
                                        "/page/icon.svg"};
    web_files_init();
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const web_file_t *file = web_file_find(paths[i]);
        if (!file || file->n < 100) fail_msg("no %s", paths[i]);
        assert_int_equal(strlen(file->etag), 34);
    }
    assert_string_equal(web_file_find("/page/main.js")->type, "text/javascript; charset=utf-8");
    assert_memory_equal(web_file_find("/")->at, "<!doctype html>", 15);
    assert_null(web_file_find("/page/../page/main.js"));
    assert_null(web_file_find("/page/"));
    assert_null(web_file_find(""));
}

/* --- the server, in a thread of its own --- */

typedef struct {
    char *url;
    unsigned port;
    zactor_t *actor;
} server_t;

static int on_command(zloop_t *loop, zsock_t *pipe, void *arg)
{
    (void)loop, (void)pipe, (void)arg;
    return -1;
}

static void server_main(zsock_t *pipe, void *arg)
{
    server_t *self = arg;
    err_t err = {0};
    zloop_t *loop = zloop_new();
    series_table_t *series = series_table_new();
    series_set(series_get(series, SCOPE_RUN, "r", "", 0), M_LOSS, 1.5);
    web_options_t options = {
        .http = http_read_only("127.0.0.1:0"), .store = self->url, .series = series};
    web_t *web = web_new(loop, &options, &err);
    if (!web) fprintf(stderr, "# %s\n", err.text);
    self->port = web ? web_port(web) : 0;
    zsock_signal(pipe, 0);
    zloop_reader(loop, pipe, on_command, self);
    zloop_start(loop);
    web_destroy(&web);
    series_table_destroy(&series);
    zloop_destroy(&loop);
}

static int set_up(void **state)
{
    server_t *self = mem_calloc(1, sizeof *self);
    self->url = store_help_new();
    store_t *store = store_help_open(self->url, true);
    store_run_spec_t spec = {.id = "r", .config = "{}"};
    char id[STORE_ID];
    STORE_OK(store_run_submit(store, &spec, id, NULL, err));
    store_destroy(&store);
    self->actor = zactor_new(server_main, self);
    assert_int_not_equal(self->port, 0);
    *state = self;
    return 0;
}

static int tear_down(void **state)
{
    server_t *self = *state;
    zactor_destroy(&self->actor);
    store_help_drop(&self->url);
    free(self);
    return 0;
}

/* A connection that has asked for this path. */
static int ask(const server_t *self, const char *path)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)self->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 30};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char *request = mem_printf("GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                               path);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    free(request);
    return fd;
}

/* Read until `words` were there; false at the end of the connection. */
static bool hears(int fd, const char *words)
{
    str_t heard = {0};
    char bytes[512];
    ssize_t n;
    bool found = false;
    while (!found && (n = recv(fd, bytes, sizeof bytes, 0)) > 0) {
        str_addn(&heard, bytes, (size_t)n);
        found = strstr(heard.at, words) != NULL;
    }
    str_fini(&heard);
    return found;
}

static void answers(void **state)
{
    const server_t *self = *state;
    static const struct {
        const char *path, *words;
    } rows[] = {
        {"/api/runs/r", "[\"r\",\"pending\""},
        {"/api/live?run=r", "[\"pcp_loss\",\"r\",\"\",1.5]"},
        {"/api/live?run=q", "\"rows\":[]"},
        {"/api/runs//loss", "no run is named"},
        {"/api/runs/", "no run is named"},
        {"/api/", "there is no report"},
        {"/api/runs/r/loss?most=-1", "400"},
        {"/api/runs/r/loss?most=", "400"},
        {"/api/runs/r/loss?most=99999999999999999999", "400"},
        {"/api/runs/%00", "404"},
        {"/api/runs/%0a/loss", "400"}, /* a control character */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int fd = ask(self, rows[i].path);
        if (!hears(fd, rows[i].words)) fail_msg("%s: no %s", rows[i].path, rows[i].words);
        close(fd);
    }
}

static void streams_hear_of_changes(void **state)
{
    enum { STREAMS = 32 };
    const server_t *self = *state;
    int fd[STREAMS + 1];
    for (int i = 0; i < STREAMS; i++) {
        fd[i] = ask(self, "/api/stream");
        assert_true(hears(fd[i], "event: hello"));
    }
    store_help_script(self->url, "UPDATE run SET reason = 'why' WHERE id = 'r'");
    for (int i = 0; i < STREAMS; i++) assert_true(hears(fd[i], "event: change"));
    fd[STREAMS] = ask(self, "/api/stream"); /* one too many: the oldest makes room */
    assert_true(hears(fd[STREAMS], "event: hello"));
    assert_false(hears(fd[0], "event: change"));
    store_help_script(self->url, "UPDATE run SET reason = 'other' WHERE id = 'r'");
    assert_true(hears(fd[1], "event: change"));
    assert_true(hears(fd[STREAMS], "event: change"));
    for (int i = 0; i <= STREAMS; i++) close(fd[i]);
}

/* Open questions and streams do not hold it up, and are not lost memory (MODE=asan). */
static void ends_in_the_middle(void **state)
{
    server_t *self = *state;
    int fd[64];
    for (int i = 0; i < 64; i++)
        fd[i] = ask(self, i % 8 ? "/api/runs/r/leases?most=2000" : "/api/stream");
    zactor_destroy(&self->actor);
    for (int i = 0; i < 64; i++) close(fd[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_survive), cmocka_unit_test(files_are_there), TEST(answers),
        TEST(streams_hear_of_changes),   TEST(ends_in_the_middle),
    };
    zsys_handler_set(NULL);
    return cmocka_run_group_tests_name("metrics_web", tests, NULL, NULL);
}
