/* Stores that a URL names, refuses, or cannot reach: no fixture, no server. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store_help.h"

static void test_urls(void **state)
{
    (void)state;
    const char *malformed[] = {"",
                               "store.db",
                               "mysql://host/db",
                               "mysql://user:sesame@host/db",
                               "user:sesame@host/db",
                               "postgresql:sesame@host",
                               "password=sesame host=h",
                               "sqlite://",
                               "sqlite:///a?mode=ro",
                               "postgresql://[::1/db",
                               "postgresql://h/d?nonsense=1",
                               "postgresql://user:sesame@h/d?nonsense=1"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        err_t err = {0};
        assert_null(store_open(malformed[i], NULL, &err));
        assert_int_equal(err.code, ERR_ARG);
        assert_null(strstr(err.text, "sesame"));
    }
    const struct {
        const char *url, *masked;
    } secrets[] = {
        {"postgresql://u:sesame@h:5/d", "postgresql://u:***@h:5/d"},
        {"postgresql://u:se@same@h/d", "postgresql://u:***@h/d"},
        {"postgresql://u@h/d?password=sesame&x=1", "postgresql://u@h/d?password=***&x=1"},
        {"postgresql://h:5/d", "postgresql://h:5/d"},
        {"sqlite:///a/b.db", "sqlite:///a/b.db"},
    };
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
        char *masked = store_mask_url(secrets[i].url);
        assert_string_equal(masked, secrets[i].masked);
        free(masked);
    }
}

/* Each store in memory is a database of its own. */
static void test_in_memory(void **state)
{
    (void)state;
    store_t *a = store_help_open("sqlite://:memory:", true);
    store_t *b = store_help_open("sqlite://:memory:", true);
    store_runs_t runs;
    store_help_run(a, 10);
    STORE_OK(store_run_list(a, "running", 10, &runs, err));
    assert_int_equal(runs.n, 1);
    store_runs_fini(&runs);
    STORE_OK(store_run_list(b, NULL, 10, &runs, err));
    assert_int_equal(runs.n, 0);
    store_runs_fini(&runs);
    store_destroy(&a);
    store_destroy(&b);
}

static void test_unreachable(void **state)
{
    (void)state;
    const struct {
        const char *url;
        err_code_t code;
    } rows[] = {
        {"postgresql://u:sesame@127.0.0.1:1/d", ERR_NET},
        {"sqlite:///nonexistent/dir/store.db", ERR_IO},
        {"sqlite:///dev/null/store.db", ERR_IO},
    };
    store_options_t quick = {.connect_ms = 2000, .statement_ms = 2000};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err_t err = {0};
        store_schema_t schema;
        store_t *s = store_open(rows[i].url, &quick, &err);
        assert_non_null(s);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(store_schema(s, &schema, &err), -1);
            assert_int_equal(err.code, rows[i].code);
            assert_null(strstr(err.text, "sesame"));
        }
        store_destroy(&s);
    }
}

/* Who takes the connection and says nothing costs the connection's time-out. */
static void test_silent(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &n), 0);
    char *url = mem_printf("postgresql://u@127.0.0.1:%d/d", ntohs(at.sin_port));
    store_options_t quick = {.connect_ms = 300};
    store_t *s = store_open(url, &quick, NULL);
    store_schema_t schema;
    int64_t begin = clock_mono_ms();
    STORE_REFUSED(ERR_NET, store_schema(s, &schema, err));
    int64_t took = clock_mono_ms() - begin;
    assert_true(took >= 290 && took < 3000);
    store_destroy(&s);
    free(url);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_in_memory),
        cmocka_unit_test(test_unreachable),
        cmocka_unit_test(test_silent),
    };
    return cmocka_run_group_tests_name("store_url", tests, NULL, NULL);
}
