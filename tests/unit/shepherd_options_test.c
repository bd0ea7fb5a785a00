/* Which options of a run make its result: those that their rows call fixed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shepherd/config.h"

/* A value that the option does not have, within its row. */
static void change(shepherd_config_t *config, const config_field_t *row)
{
    char text[64];
    err_t err = {0};
    const char *word = row->words;
    while (word && strncmp(word, row->fallback, strcspn(word, "|")) == 0)
        word += strcspn(word, "|") + 1;
    if (word)
        snprintf(text, sizeof text, "%.*s", (int)strcspn(word, "|"), word);
    else if (row->kind == CONFIG_BOOL)
        snprintf(text, sizeof text, "%s", strcmp(row->fallback, "true") == 0 ? "false" : "true");
    else
        snprintf(text, sizeof text, "%.16g",
                 strtod(row->fallback, NULL) == row->max ? row->min : row->max);
    if (config_set(&shepherd_table, config, row->name, text, &err) < 0) fail_msg("%s", err.text);
}

static void fixed_options_make_the_result(void **unused)
{
    (void)unused;
    shepherd_config_t values, *config = &values;
    config_table_t table = shepherd_table;
    char *argv[] = {"shepherd", NULL};
    err_t err = {0};
    table.no_env = true;
    assert_int_equal(config_load(&table, config, NULL, 1, argv, NULL, &err), 0);
    for (size_t i = 0; i < n_train_option_rows; i++) {
        const train_option_t *row = &train_option_rows[i];
        config_set(&shepherd_table, config, row->field.name, row->field.fallback, &err);
        char *before = shepherd_config_result(config);
        change(config, &row->field);
        char *after = shepherd_config_result(config);
        if ((strcmp(before, after) != 0) != row->fixed) fail_msg("%s", row->field.name);
        free(before);
        free(after);
    }
    config_fini(&table, config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fixed_options_make_the_result)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
