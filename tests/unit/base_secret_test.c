/* base: passwords in URLs, secrets in files, and what a command line shows of them. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/config.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "temp.h"

static void test_hide(void **state)
{
    (void)state;
    static const struct {
        const char *url, *hidden;
        bool found;
    } urls[] = {
        {"postgresql://u:sesame@h:5/d", "postgresql://u:******@h:5/d", true},
        {"postgresql://u:se@sa@h/d", "postgresql://u:*****@h/d", true},
        {"postgresql://u:s/e@h/d", "postgresql://u:***@h/d", true},
        {"postgresql://u:@h/d", "postgresql://u:@h/d", false},
        {"postgresql://u:a@h/d?password=bc&x=1&sslpassword=d",
         "postgresql://u:*@h/d?password=**&x=1&sslpassword=*", true},
        {"postgresql://h:5432/d?options=a@b", "postgresql://h:5432/d?options=a@b", false},
        {"postgresql://h/d?password=", "postgresql://h/d?password=", false},
        {"redis://:pw@h:6379", "redis://:**@h:6379", true},
        {"redis://pw@h:6379/1", "redis://**@h:6379/1", true},
        {"redis://@h:6379", "redis://@h:6379", false},
        {"redis://h:6379", "redis://h:6379", false},
        {"postgresql://u@h/d", "postgresql://u@h/d", false},
        {"sqlite:///var/lib/a@b:c/pcp.db", "sqlite:///var/lib/a@b:c/pcp.db", false},
        {"sqlite://run/pcp.db", "sqlite://run/pcp.db", false},
        {"", "", false},
    };
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        char text[128];
        strcpy(text, urls[i].url);
        assert_int_equal(secret_hide(text), urls[i].found);
        assert_string_equal(text, urls[i].hidden);
    }
}

typedef struct {
    char *store, *name;
} settings_t;
static const config_field_t fields[] = {
    {"store", CONFIG_STRING, offsetof(settings_t, store), NULL, "-", 0, 0, NULL, true},
    {"name", CONFIG_STRING, offsetof(settings_t, name), NULL, "-", 0, 0, NULL, false},
};
static const config_table_t table = {.usage = "usage", .fields = fields, .n_fields = 2};

static void test_arguments(void **state)
{
    (void)state;
    char one[] = "--store=postgresql://u:pw@h/d", two[] = "--store", three[] = "redis://:other@h",
         four[] = "--name", five[] = "x://u:pw@h";
    char *argv[] = {"program", one, two, three, four, five, NULL};
    settings_t s = {0};
    err_t err = {0};
    assert_int_equal(config_load(&table, &s, NULL, 6, argv, NULL, &err), 0);
    assert_string_equal(config_hide(&table, 6, argv), "store");
    assert_string_equal(one, "--store=postgresql://u:**@h/d");
    assert_string_equal(three, "redis://:*****@h");
    assert_string_equal(five, "x://u:pw@h"); /* no secret */
    assert_string_equal(s.store, "redis://:other@h");
    assert_null(config_hide(&table, 2, (char *[]){"program", two, NULL}));
    config_fini(&table, &s);
}

static void test_file(void **state)
{
    char *dir = *state, *flag = NULL;
    const char *path = temp_path(dir, "store"), text[] = "postgresql://u:pw@h/d\nmore\n";
    settings_t s = {0};
    err_t err = {0};
    temp_write(path, text, sizeof text - 1);
    assert_true(asprintf(&flag, "@%s", path) > 0);
    char *argv[] = {"program", "--store", flag, "--name", "@x", NULL};
    assert_int_equal(config_load(&table, &s, NULL, 5, argv, NULL, &err), 0);
    assert_string_equal(s.store, "postgresql://u:pw@h/d");
    assert_string_equal(s.name, "@x");
    config_fini(&table, &s);
    setenv("PCP_STORE", flag, 1);
    assert_int_equal(config_load(&table, &s, NULL, 1, argv, NULL, &err), 0);
    assert_string_equal(s.store, "postgresql://u:pw@h/d");
    config_fini(&table, &s);
    temp_write(path, "\n", 1);
    assert_int_equal(config_load(&table, &s, NULL, 1, argv, NULL, &err), -1);
    assert_non_null(strstr(err.text, "its first line is empty"));
    config_fini(&table, &s);
    setenv("PCP_STORE", "@/none/such", 1);
    assert_int_equal(config_load(&table, &s, NULL, 1, argv, NULL, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_non_null(strstr(err.text, "/none/such"));
    config_fini(&table, &s);
    unsetenv("PCP_STORE");
    free(flag);
}

static mode_t mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 0777;
}

static void test_umask(void **state)
{
    const char *dir = *state;
    err_t err = {0};
    mode_t before = umask(022);
    assert_int_equal(secret_umask(&err), 0);
    assert_int_equal(file_make_dirs(temp_path(dir, "own/part"), &err), 0);
    assert_int_equal(file_write_atomic(temp_path(dir, "own/file"), "x", 1, &err), 0);
    assert_int_equal(mode_of(temp_path(dir, "own/part")), 0700);
    assert_int_equal(mode_of(temp_path(dir, "own/file")), 0600);
    setenv("PCP_UMASK", "022", 1);
    assert_int_equal(secret_umask(&err), 0);
    assert_int_equal(file_write_atomic(temp_path(dir, "own/shared"), "x", 1, &err), 0);
    assert_int_equal(mode_of(temp_path(dir, "own/shared")), 0644);
    setenv("PCP_UMASK", "0888", 1);
    assert_int_equal(secret_umask(&err), -1);
    setenv("PCP_UMASK", "777", 1);
    assert_int_equal(secret_umask(&err), -1);
    assert_non_null(strstr(err.text, "PCP_UMASK"));
    unsetenv("PCP_UMASK");
    umask(before);
}

/* What a file said at the start is what it is known by, also when it says something else. */
static void test_again(void **state)
{
    char *path = mem_printf("%s/url", (const char *)*state), *origin = mem_printf("@%s", path),
         *now;
    assert_int_equal(file_write_atomic(path, "new\n", 4, NULL), 0);
    assert_null(secret_origin("old"));
    now = secret_again("old");
    assert_string_equal(now, "old");
    free(now);
    secret_keep("old", path);
    assert_string_equal(secret_origin("old"), origin);
    now = secret_again("old");
    assert_string_equal(now, "new");
    free(now);
    assert_int_equal(unlink(path), 0);
    now = secret_again("old");
    assert_string_equal(now, "old");
    free(now);
    free(origin);
    free(path);
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hide),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test_setup_teardown(test_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_umask, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_again, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
