/* The recorder beside an owner who is too busy to listen: as in a storm, when thousands of members join at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "msg/service.h"
#include "shepherd/records/recorder.h"
#include "temp.h"

static record_t *event_of(int i)
{
    record_t *record = record_new(RECORD_EVENT, 0);
    record->event = (store_event_t){.time_ms = i, .level = "info", .service = "worker", .round = 1};
    record->text = mem_strdup("joined");
    record->worker = mem_printf("w%d", i);
    record->detail = mem_strdup("{}");
    return record;
}

/* Neither waits for the other: all is handed over before one answer is taken, and all is answered. */
static void answers_wait(void **state)
{
    enum { MANY = 20000 };
    (void)state;
    char *dir = temp_dir(), *url = mem_printf("sqlite://%s/store.db", dir);
    recorder_options_t options = {.url = url,
                                  .run = "r",
                                  .holder = "us",
                                  .config = "{}",
                                  .n_rounds = 1,
                                  .ttl_ms = 60000,
                                  .relaxed = true,
                                  .migrate = true};
    zactor_t *recorder = recorder_new(&options);
    alarm(240); /* instead of for ever */
    for (int i = 0; i < MANY; i++) recorder_write(recorder, event_of(i));
    int recorded = 0, led = 0;
    while (recorded < MANY) {
        recorder_result_t *result = recorder_take(recorder);
        assert_non_null(result);
        if (result->event == RECORDER_FAILED) fail_msg("%s", result->err.text);
        led += result->event == RECORDER_LEADS;
        recorded += result->event == RECORDED;
        recorder_result_destroy(&result);
    }
    assert_int_equal(led, 1);
    recorder_destroy(&recorder);
    free(url);
    temp_remove(&dir);
}

int main(void)
{
    static const config_table_t table = {0};
    service_options_t common = {.log_level = (char *)"off", .log_format = (char *)"logfmt"};
    err_t err = {0};
    if (service_start("shepherd", &common, &table, &common, &err) < 0) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_wait)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
