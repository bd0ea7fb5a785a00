/* pcp run watch --links: rates, shares and what is waited for, as a table and as JSON. */
#include "pcp/run_links.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static Msg__Link link_of(const char *worker, double down_s, double up_s, double compute_s,
                         double others_s)
{
    Msg__Link link = MSG__LINK__INIT;
    link.worker = (char *)worker;
    link.steps = 50;
    link.download_s = down_s;
    link.upload_s = up_s;
    link.compute_s = compute_s;
    link.others_s = others_s;
    link.lease_s = 0.5;
    link.held_s = down_s + up_s + compute_s;
    link.received_bytes = 43000000;
    link.sent_bytes = 10800000;
    return link;
}

static const char *line(const char *text, int n, char out[256])
{
    for (; n > 0; n--) text = strchr(text, '\n') + 1;
    size_t length = strcspn(text, "\n");
    assert_true(length < 256);
    memcpy(out, text, length);
    out[length] = '\0';
    return out;
}

static void a_table_tells_who_waits_for_what(void **unused)
{
    (void)unused;
    Msg__Link slow = link_of("worker-of-a-long-name", 34.4, 8.64, 20, 0),
              fast = link_of("w1", 1.72, 0.432, 20, 40.5), unknown = MSG__LINK__INIT;
    unknown.worker = "old";
    slow.lag = 3;
    unknown.download_s = unknown.upload_s = -1;
    unknown.received_bytes = unknown.sent_bytes = -1;
    Msg__Link *rows[] = {&slow, &fast, &unknown};
    Msg__Links links = MSG__LINKS__INIT;
    links.round = 3;
    links.n_lease = 5;
    links.links = rows;
    links.n_links = 3;
    char *text = run_links_table(&links), out[256];
    assert_string_equal(line(text, 0, out),
                        "WORKER              DOWN       UP COMPUTES  WAITS FOR");
    assert_string_equal(line(text, 1, out),
                        "~of-a-long-name     10.0     10.0      31%  parameters 34s, late by 3");
    assert_string_equal(line(text, 2, out),
                        "w1                   200      200      32%  others 40s");
    assert_string_equal(line(text, 3, out), "old                    -        -        -  nothing");
    assert_string_equal(line(text, 4, out), "and 2 more");
    free(text);
}

static void no_line_is_wide(void **unused)
{
    (void)unused;
    Msg__Link link = link_of("0123456789012345678901234567890123456789", 1e12, 1e-12, 1e12, 1e12);
    link.lag = 8;
    Msg__Link *rows[] = {&link};
    Msg__Links links = MSG__LINKS__INIT;
    links.links = rows;
    links.n_links = links.n_lease = 1;
    char *text = run_links_table(&links), out[256];
    for (int i = 0; i < 2; i++) assert_true(strlen(line(text, i, out)) <= RUN_LINKS_COLUMNS);
    free(text);
}

static void json_tells_what_is_not_known(void **unused)
{
    (void)unused;
    Msg__Link link = link_of("w0", 34.4, -1, 20, 3);
    link.sent_bytes = -1;
    link.lag = 2;
    Msg__Link *rows[] = {&link};
    Msg__Links links = MSG__LINKS__INIT;
    links.round = 3;
    links.links = rows;
    links.n_links = links.n_lease = 1;
    char *text = run_links_json(&links);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_null(strchr(text, '\n'));
    assert_int_equal(json_integer_value(json_object_get(json, "round")), 3);
    json_t *row = json_array_get(json_object_get(json, "links"), 0);
    assert_string_equal(json_string_value(json_object_get(row, "waits_for")), "parameters");
    assert_int_equal(json_integer_value(json_object_get(row, "lag")), 2);
    assert_true(json_is_null(json_object_get(row, "up_mbits")));
    assert_true(json_is_null(json_object_get(row, "sent_bytes")));
    double down = json_real_value(json_object_get(row, "down_mbits"));
    assert_true(down > 9.99 && down < 10.01);
    json_decref(json);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_tells_who_waits_for_what),
        cmocka_unit_test(no_line_is_wide),
        cmocka_unit_test(json_tells_what_is_not_known),
    };
    return cmocka_run_group_tests_name("pcp, links", tests, NULL, NULL);
}
