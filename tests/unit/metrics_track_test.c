/* Addresses that a tracker may have: nothing secret within, no token in the clear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "metrics/track/poster.h"
#include "metrics/track/track.h"

static void addresses(void **unused)
{
    (void)unused;
    static const struct {
        const char *where;
        bool token;
        const char *refusal; /* NULL: it may be */
    } rows[] = {
        {"mlflow:http://127.0.0.1:5000", true, NULL},
        {"mlflow:http://[::1]:5000/prefix", true, NULL},
        {"mlflow:http://tracker.example:5000", false, NULL},
        {"mlflow:https://tracker.example/mlflow", true, NULL},
        {"mlflow:http://tracker.example", true, "https alone"},
        {"mlflow:http://localhost.example", true, "https alone"},
        {"mlflow:http://127.0.0.1.example:80", true, "https alone"},
        {"mlflow:https://me:hunter2@tracker.example", false, "which others can see"},
        {"mlflow:https://tracker.example/a@b", false, NULL},
        {"mlflow:https://", false, "is a host"},
        {"mlflow:https://host?x=1", false, "is a host"},
        {"mlflow:ftp://host", false, "expected http://HOST"},
        {"file:///tmp", false, "expected mlflow:"},
        {"", false, "expected mlflow:"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err_t err = {0};
        int rc = track_check(rows[i].where, rows[i].token, &err);
        assert_int_equal(rc, rows[i].refusal ? -1 : 0);
        if (rc < 0 && !strstr(err.text, rows[i].refusal)) fail_msg("%s", err.text);
        assert_null(strstr(err.text, "hunter2"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests_name("metrics_track", tests, NULL, NULL);
}
