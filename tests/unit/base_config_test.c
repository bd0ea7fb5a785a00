/* base: configuration by table: sources, precedence, every kind of wrong value, printing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/config.h"
#include "base/str.h"
#include "temp.h"

typedef struct {
    int64_t inner_steps, bytes;
    double outer_lr;
    bool resume;
    char *data, *dtype, *password, *run_dir, *stop, *prompt;
} settings_t;

#define AT(field) offsetof(settings_t, field)
static const config_field_t fields[] = {
    {"inner_steps", CONFIG_INT, AT(inner_steps), "50", "steps per round", 1, 100000, NULL, false},
    {"bytes", CONFIG_INT, AT(bytes), "1Mi", "no range", 0, 0, NULL, false},
    {"outer_lr", CONFIG_FLOAT, AT(outer_lr), "0.7", "outer learning rate", 0, 10, NULL, false},
    {"resume", CONFIG_BOOL, AT(resume), "false", "go on", 0, 0, NULL, false},
    {"data", CONFIG_STRING, AT(data), NULL, "text file", 0, 0, NULL, false},
    {"dtype", CONFIG_ENUM, AT(dtype), "f32", "element type", 0, 0, "f32|bf16", false},
    {"password", CONFIG_STRING, AT(password), NULL, "of the database", 0, 0, NULL, true},
    {"run_dir", CONFIG_STRING, AT(run_dir), "run", "of the files", 0, 0, NULL, false},
    {"stop", CONFIG_STRING, AT(stop), NULL, "several", 0, 0, ",", false},
    {"prompt", CONFIG_STRING, AT(prompt), "a", "may be empty", 0, 0, NULL, false},
};
static const config_table_t table = {.usage = "usage: unit [FLAGS] WORDS",
                                     .fields = fields,
                                     .n_fields = sizeof fields / sizeof *fields};

enum { MAX_WORDS = 8 };

/* config_load with flags as words split at blanks. */
static int load(settings_t *s, const char *file, const char *flags, config_args_t *args, err_t *err)
{
    static char text[512];
    char *argv[MAX_WORDS + 1] = {"unit"}, *rest = NULL;
    int argc = 1;
    strcpy(text, flags);
    for (char *w = strtok_r(text, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        assert_true(argc < MAX_WORDS);
        argv[argc++] = w;
    }
    return config_load(&table, s, file, argc, argv, args, err);
}

static void test_defaults(void **state)
{
    (void)state;
    settings_t s;
    err_t err = {0};
    assert_int_equal(load(&s, NULL, "", NULL, &err), 0);
    assert_int_equal(s.inner_steps, 50);
    assert_int_equal(s.bytes, 1 << 20);
    assert_true(s.outer_lr == 0.7);
    assert_false(s.resume);
    assert_null(s.data);
    assert_string_equal(s.dtype, "f32");
    config_fini(&table, &s);
    assert_null(s.dtype);
}

static void test_flags(void **state)
{
    (void)state;
    settings_t s;
    config_args_t args;
    err_t err = {0};
    assert_int_equal(
        load(&s, NULL, "one --inner-steps 2k --resume --data=x=y -- --two", &args, &err), 0);
    assert_int_equal(s.inner_steps, 2000);
    assert_true(s.resume);
    assert_string_equal(s.data, "x=y");
    assert_int_equal(args.n_operands, 2);
    assert_string_equal(args.operands[0], "one");
    assert_string_equal(args.operands[1], "--two");
    assert_int_equal(args.asks, CONFIG_ASKS_NOTHING);
    config_args_fini(&args);
    config_fini(&table, &s);

    assert_int_equal(load(&s, NULL, "--resume --no-resume --bytes -3 - --dtype bf16", &args, &err),
                     0);
    assert_false(s.resume);
    assert_int_equal(s.bytes, -3);
    assert_string_equal(s.dtype, "bf16");
    assert_int_equal(args.n_operands, 1); /* "-" is a word: standard input by custom */
    config_args_fini(&args);
    config_fini(&table, &s);

    assert_int_equal(load(&s, NULL, "--inner-steps 3 --help --nonsense", &args, &err), 0);
    assert_int_equal(args.asks, CONFIG_ASKS_HELP);
    config_args_fini(&args);
    config_fini(&table, &s);
}

static void test_precedence(void **state)
{
    (void)state;
    char *dir = temp_dir();
    const char *path = temp_path(dir, "c.json");
    static const char json[] =
        "{\"inner\": {\"steps\": 7}, \"outer_lr\": 0.5, \"data\": \"file\", \"bytes\": \"2k\"}";
    temp_write(path, json, strlen(json));
    settings_t s;
    err_t err = {0};
    assert_int_equal(load(&s, path, "", NULL, &err), 0);
    assert_int_equal(s.inner_steps, 7);
    assert_int_equal(s.bytes, 2000);
    assert_true(s.outer_lr == 0.5);
    config_fini(&table, &s);

    setenv("PCP_INNER_STEPS", "8", 1);
    setenv("PCP_OUTER_LR", "", 1); /* empty is unset */
    char flags[600];
    snprintf(flags, sizeof flags, "--config %s --data flag", path);
    assert_int_equal(load(&s, NULL, flags, NULL, &err), 0);
    assert_int_equal(s.inner_steps, 8);
    assert_true(s.outer_lr == 0.5);
    assert_string_equal(s.data, "flag");
    config_fini(&table, &s);
    assert_int_equal(load(&s, path, "--inner-steps 9", NULL, &err), 0);
    assert_int_equal(s.inner_steps, 9);
    config_fini(&table, &s);
    assert_int_equal(load(&s, path, flags, NULL, &err), -1); /* two files */
    config_fini(&table, &s);

    config_table_t deaf = table;
    deaf.no_env = true;
    assert_int_equal(config_load(&deaf, &s, NULL, 0, NULL, NULL, &err), 0);
    assert_int_equal(s.inner_steps, 50);
    config_fini(&deaf, &s);
    deaf.env_field = "inner_steps";
    setenv("PCP_DATA", "environment", 1);
    assert_int_equal(config_load(&deaf, &s, NULL, 0, NULL, NULL, &err), 0);
    assert_int_equal(s.inner_steps, 8);
    assert_null(s.data); /* no other is read */
    unsetenv("PCP_DATA");
    config_fini(&deaf, &s);
    setenv("PCP_INNER_STEPS", "many", 1);
    assert_int_equal(load(&s, NULL, "", NULL, &err), -1);
    assert_string_equal(err.text,
                        "environment PCP_INNER_STEPS: inner_steps: \"many\" is not an integer");
    config_fini(&table, &s);
    unsetenv("PCP_INNER_STEPS");
    unsetenv("PCP_OUTER_LR");
    temp_remove(&dir);
}

/* The base is beneath the file. */
static void test_base(void **state)
{
    (void)state;
    char *dir = temp_dir();
    const char *path = temp_path(dir, "c.json");
    static const char json[] = "{\"inner_steps\": 7, \"bytes\": \"2k\"}";
    temp_write(path, json, strlen(json));
    settings_t s;
    err_t err = {0};
    config_table_t based = table;
    based.base = path;
    const char *upper = temp_path(dir, "upper.json");
    temp_write(upper, "{\"inner_steps\": 70}", 19);
    assert_int_equal(config_load(&based, &s, upper, 0, NULL, NULL, &err), 0);
    assert_int_equal(s.inner_steps, 70);
    assert_int_equal(s.bytes, 2000);
    config_fini(&based, &s);
    temp_remove(&dir);
}

static void test_wrong_flags(void **state)
{
    (void)state;
    static const struct {
        const char *flags, *says;
    } cases[] = {
        {"--inner-stpes 3", "--inner-stpes: unknown flag; the nearest known one is --inner-steps"},
        {"--dat x", "--dat: unknown flag; the nearest known one is --data (see --help)"},
        {"--xyzzy 3", "--xyzzy: unknown flag (see --help)"}, /* like nothing that there is */
        {"--d 3", "--d: unknown flag (see --help)"},
        {"--inner-steps 0", "flag --inner-steps: inner_steps: 0 is out of range (1 to 100000)"},
        {"--inner-steps 101k", "101k is out of range (1 to 100000)"},
        {"--inner-steps 3x", "\"3x\" is not an integer"},
        {"--inner-steps 1.5", "\"1.5\" is not an integer"},
        {"--inner-steps=", "\"\" is not an integer"},
        {"--inner-steps", "--inner-steps: the value is missing"},
        {"--bytes 99999999999999999999", "does not fit into 64 bits"},
        {"--bytes 9999999999999G", "does not fit into 64 bits"},
        {"--outer-lr nan", "\"nan\" is not a finite number"},
        {"--outer-lr inf", "\"inf\" is not a finite number"},
        {"--outer-lr 0.5.5", "\"0.5.5\" is not a finite number"},
        {"--outer-lr 11", "11 is out of range (0 to 10)"},
        {"--resume=maybe", "\"maybe\" is neither true nor false"},
        {"--no-data", "only a yes-or-no flag has a --no- form"},
        {"--no-resume=true", "only a yes-or-no flag"},
        {"--dtype f16", "\"f16\" is none of f32|bf16"},
        {"--dtype f3", "\"f3\" is none of f32|bf16"},
        {"--data \xff", "not valid UTF-8"},
        {"-x", "flags have two dashes"},
        {"word", "\"word\": unexpected word"},
        {"--config /nonexistent.json", "/nonexistent.json: No such file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        settings_t s;
        err_t err = {0};
        assert_int_equal(load(&s, NULL, cases[i].flags, NULL, &err), -1);
        if (!strstr(err.text, cases[i].says)) fail_msg("%s: %s", cases[i].flags, err.text);
        config_fini(&table, &s);
    }
}

/* A name that is empty is refused, and said to be of which flag; where empty means something, and in the environment, it is
 * well. */
static void test_empty(void **state)
{
    (void)state;
    static const struct {
        const char *flags, *says;
    } cases[] = {
        {"--data=", "flag --data: data: the value is empty"},
        {"--run-dir=", "flag --run-dir: run_dir: the value is empty"},
        {"--password=", "flag --password: password: the value is empty"},
        {"--stop=a --stop=", "flag --stop: stop: the value is empty"},
    };
    settings_t s;
    err_t err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(load(&s, NULL, cases[i].flags, NULL, &err), -1);
        if (!str_starts(err.text, cases[i].says)) fail_msg("%s: %s", cases[i].flags, err.text);
        config_fini(&table, &s);
    }
    char *dir = temp_dir();
    const char *path = temp_path(dir, "c.json");
    temp_write(path, "{\"data\": \"\"}", 12);
    assert_int_equal(load(&s, path, "", NULL, &err), -1);
    assert_non_null(strstr(err.text, "c.json: data: the value is empty"));
    config_fini(&table, &s);
    temp_remove(&dir);

    setenv("PCP_DATA", "", 1);
    assert_int_equal(load(&s, NULL, "--prompt=", NULL, &err), 0);
    assert_string_equal(s.prompt, "");
    assert_null(s.data);
    config_fini(&table, &s);
    unsetenv("PCP_DATA");
}

static void test_wrong_files(void **state)
{
    (void)state;
    static const struct {
        const char *json, *says;
    } cases[] = {
        {"{\"iner_steps\": 1}",
         "unknown key \"iner_steps\"; the nearest known one is \"inner_steps\""},
        {"{\"inner\": {\"step\": 1}}", "\"inner_step\"; the nearest known one is \"inner_steps\""},
        {"{\"xyzzy\": 1}", "c.json: unknown key \"xyzzy\""},
        {"{\"inner_steps\": 1, \"inner\": {\"steps\": 1}}", "key \"inner_steps\" is given twice"},
        {"{\"data\": \"a\", \"data\": \"b\"}", "c.json:1:"},
        {"{\"data\": [1]}", "key \"data\" wants a single value"},
        {"{\"inner_steps\": null}", "key \"inner_steps\" wants a single value"},
        {"{\"inner_steps\": 1.5}", "\"1.5\" is not an integer"},
        {"{\"inner_steps\": true}", "\"true\" is not an integer"},
        {"{\"inner_steps\": 0}", "0 is out of range"},
        {"{\"resume\": 2}", "\"2\" is neither true nor false"},
        {"{\n  \"data\": \"a\",\n  oops\n}", "c.json:3:"},
        {"[]", "the top is not an object"},
        {"", "c.json:1:"},
        {"{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}}}}}}",
         "nested too deeply"},
    };
    char *dir = temp_dir();
    const char *path = temp_path(dir, "c.json");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        settings_t s;
        err_t err = {0};
        temp_write(path, cases[i].json, strlen(cases[i].json));
        assert_int_equal(load(&s, path, "", NULL, &err), -1);
        if (!strstr(err.text, cases[i].says)) fail_msg("%s: %s", cases[i].json, err.text);
        assert_non_null(strstr(err.text, "c.json"));
        config_fini(&table, &s);
    }
    temp_remove(&dir);
}

static void test_print(void **state)
{
    (void)state;
    char *dir = temp_dir();
    const char *path = temp_path(dir, "c.json");
    settings_t s, again;
    err_t err = {0};
    assert_int_equal(load(&s, NULL, "--outer-lr 0.1 --data a\"b --password secret", NULL, &err), 0);
    char *text = config_print(&table, &s, true);
    assert_null(strstr(text, "secret"));
    assert_non_null(strstr(text, "\"password\": \"***\""));
    assert_non_null(strstr(text, "\"outer_lr\": 0.1,"));
    free(text);
    text = config_print(&table, &s, false);
    temp_write(path, text, strlen(text));
    assert_int_equal(load(&again, path, "", NULL, &err), 0); /* what is printed can be read */
    char *same = config_print(&table, &again, false);
    assert_string_equal(text, same);
    assert_string_equal(again.password, "secret");
    free(text);
    free(same);
    config_fini(&table, &again);

    assert_int_equal(config_set(&table, &s, "data", "new", &err), 0);
    assert_string_equal(s.data, "new");
    assert_int_equal(config_set(&table, &s, "dta", "new", &err), -1);
    assert_string_equal(err.text, "dta: unknown field; the nearest known one is data");
    assert_int_equal(config_set(&table, &s, "dtype", "f64", &err), -1);
    assert_string_equal(s.dtype, "f32"); /* as it was */
    config_fini(&table, &s);
    temp_remove(&dir);
}

/* A number, or the one word besides. */
static void test_word(void **state)
{
    (void)state;
    static const config_field_t field = {"replicas", CONFIG_INT, 0,      "1",  "many",
                                         1,          9,          "auto", false};
    const config_table_t one = {.usage = "u", .fields = &field, .n_fields = 1, .no_env = true};
    int64_t n = 0;
    err_t err = {0};
    assert_int_equal(config_set(&one, &n, "replicas", "auto", &err), 0);
    assert_int_equal(n, CONFIG_WORD);
    char *text = config_print(&one, &n, true);
    assert_non_null(strstr(text, "\"replicas\": \"auto\""));
    free(text);
    assert_int_equal(config_set(&one, &n, "replicas", "9", &err), 0);
    assert_int_equal(n, 9);
    static const char *const wrong[] = {"-1", "0", "10", "aut", "automatic", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(config_set(&one, &n, "replicas", wrong[i], &err), -1);
    assert_int_equal(n, 9);
    config_set(&one, &n, "replicas", "all", &err);
    assert_string_equal(err.text, "replicas: \"all\" is neither an integer nor \"auto\"");
    size_t size;
    FILE *out = open_memstream(&text, &size);
    config_help(&one, out);
    fclose(out);
    assert_non_null(strstr(text, "--replicas INT|auto"));
    free(text);
}

static void test_help(void **state)
{
    (void)state;
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    config_help(&table, out);
    fclose(out);
    for (size_t i = 0; i < table.n_fields; i++) assert_non_null(strstr(text, fields[i].help));
    assert_non_null(strstr(text, "usage: unit [FLAGS] WORDS"));
    assert_non_null(strstr(text, "--inner-steps INT"));
    assert_non_null(strstr(text, "[50] (1 to 100000)"));
    assert_non_null(strstr(text, "--dtype f32|bf16"));
    free(text);
}

static void test_help_of_defaults_with_line_ends(void **state)
{
    (void)state;
    char *text = NULL;
    size_t n;
    static const config_field_t field = {"prompt", CONFIG_STRING, 0,    "a\nb", "goes on", 0,
                                         0,        NULL,          false};
    const config_table_t one = {.usage = "u", .fields = &field, .n_fields = 1, .no_env = true};
    FILE *out = open_memstream(&text, &n);
    config_help(&one, out);
    fclose(out);
    assert_non_null(strstr(text, "goes on [a\\nb]\n"));
    free(text);
}

static void test_no_flags(void **state)
{
    (void)state;
    const config_table_t none = {.usage = "u", .no_env = true};
    char name[] = "program", flag[] = "--loud", *argv[] = {name, flag};
    err_t err = {0};
    assert_int_equal(config_load(&none, NULL, NULL, 2, argv, NULL, &err), -1);
    assert_non_null(strstr(err.text, "--loud: unknown flag (see --help)"));
}

/* The letter of a flag, apart from its value or with it; another letter is none. */
static void letters(void **state)
{
    (void)state;
    static const config_field_t field = {"output", CONFIG_ENUM,  0,    "table", "how", 0,
                                         0,        "table|json", false};
    const config_table_t one = {.usage = "u", .fields = &field, .n_fields = 1, .no_env = true};
    char name[] = "program", letter[] = "-o", value[] = "json", both[] = "-ojson", other[] = "-p";
    char *apart[] = {name, letter, value}, *together[] = {name, both}, *alone[] = {name, letter};
    char *wrong[] = {name, other, value}, *output = NULL;
    err_t err = {0};
    assert_int_equal(config_load(&one, &output, NULL, 3, apart, NULL, &err), 0);
    assert_string_equal(output, "json");
    config_fini(&one, &output);
    assert_int_equal(config_load(&one, &output, NULL, 2, together, NULL, &err), 0);
    assert_string_equal(output, "json");
    config_fini(&one, &output);
    assert_int_equal(config_load(&one, &output, NULL, 2, alone, NULL, &err), -1);
    assert_non_null(strstr(err.text, "-o: the value is missing"));
    config_fini(&one, &output);
    assert_int_equal(config_load(&one, &output, NULL, 3, wrong, NULL, &err), -1);
    assert_non_null(strstr(err.text, "-p: flags have two dashes"));
    config_fini(&one, &output);
    assert_int_equal(config_letter(&field), 'o');
}

/* What a field was called before. */
static void former_names(void **state)
{
    (void)state;
    static const config_field_t field = {"parts", CONFIG_INT, 0, "1", "many", 1, 8, NULL, false};
    static const config_former_t former[] = {{"shards", "parts"}, {NULL, NULL}};
    const config_table_t table = {
        .fields = &field, .n_fields = 1, .former = former, .no_env = true};
    char *flags[] = {"test", "--shards", "3", NULL};
    int64_t n = 0;
    err_t err = {0};
    assert_int_equal(config_load(&table, &n, NULL, 3, flags, NULL, &err), 0);
    assert_int_equal(n, 3);
    char *text = config_print(&table, &n, false);
    assert_non_null(strstr(text, "\"parts\": 3"));
    free(text);
    assert_ptr_equal(config_find(&table, "shards"), &field);
    assert_null(config_find(&table, "shard"));
    assert_int_equal(config_set(&table, &n, "shards", "9", &err), -1);
    assert_non_null(strstr(err.text, "parts"));
}

/* In the fewest digits that are the same number. */
static void ranges(void **state)
{
    (void)state;
    static const struct {
        double max;
        const char *text;
    } cases[] = {{0.99999999, "0 to 0.99999999"},
                 {100000, "0 to 100000"},
                 {0.3, "0 to 0.3"},
                 {0.1 + 0.2, "0 to 0.30000000000000004"},
                 {9007199254740991, "0 to 9007199254740991"},
                 {1e300, "0 to 1e+300"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const config_field_t field = {.name = "x", .kind = CONFIG_FLOAT, .max = cases[i].max};
        char *text = config_range(&field);
        assert_string_equal(text, cases[i].text);
        free(text);
    }
    const config_field_t whole = {.name = "n", .kind = CONFIG_INT, .max = 1e15};
    char *text = config_range(&whole);
    assert_string_equal(text, "0 to 1000000000000000");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),    cmocka_unit_test(test_flags),
        cmocka_unit_test(test_precedence),  cmocka_unit_test(test_base),
        cmocka_unit_test(test_wrong_flags), cmocka_unit_test(test_empty),
        cmocka_unit_test(test_wrong_files), cmocka_unit_test(test_print),
        cmocka_unit_test(test_help),        cmocka_unit_test(test_help_of_defaults_with_line_ends),
        cmocka_unit_test(test_no_flags),    cmocka_unit_test(test_word),
        cmocka_unit_test(former_names),     cmocka_unit_test(letters),
        cmocka_unit_test(ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
