/* base: the log: pairs in both formats, and values that would like to be more than values. */
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/log.h"
#include "base/utf8.h"
#include "temp.h"

static int set_up(void **state)
{
    *state = temp_dir();
    return 0;
}

static int tear_down(void **state)
{
    char *dir = *state;
    temp_remove(&dir);
    return 0;
}

/* What `body` writes to stderr. Caller frees. */
static char *capture(const char *dir, void (*body)(void))
{
    const char *path = temp_path(dir, "stderr");
    err_t err = {0};
    size_t n;
    int kept = dup(STDERR_FILENO), fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    assert_true(kept >= 0 && fd >= 0);
    dup2(fd, STDERR_FILENO);
    body();
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(fd);
    char *text = file_read(path, &n, &err);
    assert_non_null(text);
    return text;
}

static void log_some(void)
{
    log_event(LOG_DEBUG, "hidden", "x=1");
    log_event(LOG_INFO, "lease_done", "round=%d loss=%.2f why=\"a \\\"b\\\" c\"", 3, 2.5);
    log_context("run=%s", "demo");
    log_event(LOG_ERROR, "odd",
              "free text n=007 e=1e5 z=-0.5 inf=inf bad=1. line=\"a\nb\" open=\"q");
    log_context("%s", "");
    log_event(LOG_WARN, "bare", "%s", "");
}

static void test_logfmt(void **state)
{
    log_init("unit", LOG_INFO, LOG_LOGFMT);
    char *text = capture(*state, log_some);
    assert_null(strstr(text, "hidden"));
    assert_non_null(strstr(text, "Z level=info service=unit event=lease_done round=3 loss=2.50 "
                                 "why=\"a \\\"b\\\" c\"\n"));
    assert_non_null(strstr(text, "level=error service=unit event=odd run=demo free text"));
    assert_non_null(strstr(text, "line=\"a\\nb\"")); /* an event stays one line */
    assert_non_null(strstr(text, "level=warn service=unit event=bare\n"));
    assert_int_equal(strncmp(text, "time=20", 7), 0);
    free(text);
}

static void test_log_json(void **state)
{
    log_init("unit", LOG_INFO, LOG_JSON);
    char *text = capture(*state, log_some), *rest = NULL;
    log_init("unit", LOG_INFO, LOG_LOGFMT);
    json_t *lines[3];
    for (int i = 0; i < 3; i++) {
        json_error_t at;
        char *line = strtok_r(i ? NULL : text, "\n", &rest);
        assert_non_null(line);
        lines[i] = json_loads(line, 0, &at);
        assert_non_null(lines[i]);
        assert_string_equal(json_string_value(json_object_get(lines[i], "service")), "unit");
    }
    assert_null(strtok_r(NULL, "\n", &rest));
    json_t *first = lines[0], *odd = lines[1];
    assert_string_equal(json_string_value(json_object_get(first, "event")), "lease_done");
    assert_int_equal(json_integer_value(json_object_get(first, "round")), 3);
    assert_true(json_real_value(json_object_get(first, "loss")) == 2.5);
    assert_string_equal(json_string_value(json_object_get(first, "why")), "a \"b\" c");
    assert_string_equal(json_string_value(json_object_get(odd, "run")), "demo");
    /* Numbers only where JSON has them. */
    assert_string_equal(json_string_value(json_object_get(odd, "n")), "007");
    assert_true(json_real_value(json_object_get(odd, "e")) == 1e5);
    assert_true(json_real_value(json_object_get(odd, "z")) == -0.5);
    assert_string_equal(json_string_value(json_object_get(odd, "inf")), "inf");
    assert_string_equal(json_string_value(json_object_get(odd, "bad")), "1.");
    assert_string_equal(json_string_value(json_object_get(odd, "line")), "a\nb");
    assert_string_equal(json_string_value(json_object_get(odd, "open")), "q");
    for (int i = 0; i < 3; i++) json_decref(lines[i]);
    free(text);
}

static void test_log_words(void **state)
{
    (void)state;
    err_t err = {0};
    log_level_t level = LOG_OFF;
    log_format_t format = LOG_LOGFMT;
    assert_int_equal(log_parse_level("warn", &level, &err), 0);
    assert_int_equal(level, LOG_WARN);
    assert_int_equal(log_parse_format("json", &format, &err), 0);
    assert_int_equal(format, LOG_JSON);
    assert_int_equal(log_parse_level("loud", &level, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    assert_string_equal(err.text,
                        "log level \"loud\" is unknown; known are debug, info, warn, error, off");
    assert_int_equal(log_parse_format("xml", &format, &err), -1);
    assert_int_equal(level, LOG_WARN);
}

/* What peers may say of themselves, where the format has quotes and where it has none. */
static const char *const bad[] = {
    "w1 level=error",
    "w1\" level=error x=\"",
    "w1\nlevel=error event=forged",
    "w1\rlevel=error",
    "back\\slash",
    "tab\there",
    "latin \xE9\x20x",
    "\x1b[2Jscreen",
    "half \xF0\x9F",
    "a=b",
    "",
    "\xE2\x80\xAEturned",
    "line\xE2\x80\xA8 end",
    "c1 \xC2\x9B",
    "over-long \xC0\x8A",
    "surrogate \xED\xA0\x80",
    "true",
    "007",
    "1e5",
};
enum { N_BAD = sizeof bad / sizeof *bad };

static void log_bad(void)
{
    log_context("worker=%s", bad[0]);
    for (int i = 0; i < N_BAD; i++)
        log_event(LOG_INFO, "hello", "id=%s name=\"%s\" n=%d", bad[i], bad[i], i);
    log_context("%s", "");
}

/* The value as every reader is to see it: UTF-8. */
static void assert_value(const char *got, const char *from)
{
    str_t want = {0};
    utf8_add(&want, from, strlen(from));
    assert_string_equal(got, str_text(&want));
    str_fini(&want);
}

/* A value of a logfmt line, read as its readers do; `*at` moves behind it. */
static char *read_value(const char **at)
{
    str_t out = {0};
    str_add(&out, "");
    const char *p = *at;
    if (*p != '"') {
        size_t n = strcspn(p, " \n");
        str_addn(&out, p, n);
        *at = p + n;
        return out.at;
    }
    for (p++; *p && *p != '"' && *p != '\n'; p++) {
        if (*p == '\\' && p[1] == 'n') {
            str_add(&out, "\n");
            p++;
        } else if (*p == '\\' && p[1] == 'u') {
            char json[16], hex[5] = {0};
            memcpy(hex, p + 2, 4);
            snprintf(json, sizeof json, "\"\\u%s\"", hex);
            json_t *one = json_loads(json, JSON_DECODE_ANY, NULL);
            str_add(&out, json_string_value(one));
            json_decref(one);
            p += 5;
        } else {
            if (*p == '\\') p++;
            str_addn(&out, p, 1);
        }
    }
    assert_int_equal(*p, '"');
    *at = p + 1;
    return out.at;
}

static void test_forged_logfmt(void **state)
{
    log_init("unit", LOG_INFO, LOG_LOGFMT);
    char *text = capture(*state, log_bad);
    const char *at = text;
    assert_null(strstr(text, "\nlevel=error"));
    for (int i = 0; i < N_BAD; i++) {
        const char *const keys[] = {
            "time=", "level=", "service=", "event=", "worker=", "id=", "name=", "n="};
        for (int k = 0; k < 8; k++) { /* these, and no others */
            if (k) assert_int_equal(*at++, ' ');
            assert_int_equal(strncmp(at, keys[k], strlen(keys[k])), 0);
            at += strlen(keys[k]);
            char *value = read_value(&at);
            if (k == 1) assert_string_equal(value, "info");
            if (k == 4) assert_value(value, bad[0]);
            if (k == 5 || k == 6) assert_value(value, bad[i]);
            free(value);
        }
        assert_int_equal(*at++, '\n');
    }
    assert_int_equal(*at, '\0');
    for (const char *p = text; *p; p++) assert_true((unsigned char)*p >= ' ' || *p == '\n');
    free(text);
}

static void test_forged_json(void **state)
{
    log_init("unit", LOG_INFO, LOG_JSON);
    char *text = capture(*state, log_bad), *rest = NULL;
    log_init("unit", LOG_INFO, LOG_LOGFMT);
    for (int i = 0; i < N_BAD; i++) {
        char *line = strtok_r(i ? NULL : text, "\n", &rest);
        json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(json);
        assert_int_equal(json_object_size(json), 8);
        assert_value(json_string_value(json_object_get(json, "id")), bad[i]);
        assert_value(json_string_value(json_object_get(json, "name")), bad[i]);
        assert_value(json_string_value(json_object_get(json, "worker")), bad[0]);
        assert_int_equal(json_integer_value(json_object_get(json, "n")), i);
        json_decref(json);
    }
    assert_null(strtok_r(NULL, "\n", &rest));
    free(text);
}

static void log_kinds(void)
{
    log_event(LOG_INFO, "kinds",
              "%s=%u hash=%.4s pad=%03d width=%*d u64=%" PRIu64 " i64=%" PRId64
              " z=%zu ll=%lld hex=%x f=%.2f g=%.3g c=%c cent=%d%% zf=%zd key%s=1",
              "replica", 7u, "abcdefgh", 5, 4, 9, UINT64_MAX, INT64_MIN, (size_t)12, -5LL, 255u,
              1.005, 1234.5, 'q', 50, (ssize_t)-3, "a b\n");
}

static void test_conversions(void **state)
{
    log_init("unit", LOG_INFO, LOG_LOGFMT);
    char *text = capture(*state, log_kinds);
    assert_non_null(strstr(text, "event=kinds replica=7 hash=abcd pad=005 width=\"   9\" "
                                 "u64=18446744073709551615 i64=-9223372036854775808 z=12 ll=-5 "
                                 "hex=ff f=1.00 g=1.23e+03 c=q cent=50% zf=-3 keya_b_=1\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_logfmt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_log_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_forged_logfmt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_forged_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_conversions, set_up, tear_down),
        cmocka_unit_test(test_log_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
