/* Health probes: answered by a loop that turns, and by no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "msg/health.h"
#include "temp.h"

static bool sick(void *user, char *text, size_t n)
{
    snprintf(text, n, "%s", (const char *)user);
    return false;
}

/* Its socket is there before it listens. */
static bool answers(const char *path)
{
    char text[100] = "";
    err_t err = {0};
    return health_ask(path, text, sizeof text, &err) == 0 || strstr(err.text, "unwell");
}

/* A process with a loop that answers at `path` until it is killed. */
static pid_t serve(const char *path, health_fn *fn, void *user)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        zsys_handler_set(NULL);
        zloop_t *loop = zloop_new();
        if (!health_new(loop, path, fn, user, NULL)) _exit(1);
        zloop_start(loop);
        _exit(0);
    }
    for (int i = 0; i < 1000 && !answers(path); i++) usleep(5000);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int ask(const char *path, err_t *err)
{
    char text[100] = "";
    int rc = health_ask(path, text, sizeof text, err);
    if (rc == 0) assert_string_equal(text, "ok");
    return rc;
}

static void a_stopped_process_is_not_well(void **unused)
{
    (void)unused;
    err_t err = {0};
    char *dir = temp_dir(), *path = mem_printf("%s/health", dir);
    assert_int_equal(ask(path, &err), -1);
    assert_non_null(strstr(err.text, "No such file"));
    pid_t pid = serve(path, NULL, NULL);
    assert_int_equal(ask(path, &err), 0);
    kill(pid, SIGSTOP);
    int64_t begin = clock_mono_ms();
    assert_int_equal(ask(path, &err), -1);
    assert_non_null(strstr(err.text, "no answer"));
    assert_true(clock_mono_ms() - begin < HEALTH_MS + 2000);
    kill(pid, SIGCONT);
    assert_int_equal(ask(path, &err), 0);
    for (int i = 0; i < 50; i++) assert_int_equal(ask(path, &err), 0);
    /* Another one must not take its place; after a kill the next one does. */
    zloop_t *loop = zloop_new();
    assert_null(health_new(loop, path, NULL, NULL, &err));
    assert_non_null(strstr(err.text, "another process has it"));
    end(pid);
    assert_int_equal(ask(path, &err), -1);
    health_t *health = health_new(loop, path, NULL, NULL, &err);
    assert_non_null(health);
    health_destroy(&health);
    assert_false(file_exists(path));
    zloop_destroy(&loop);
    free(path);
    temp_remove(&dir);
}

static void it_says_what_is_wrong(void **unused)
{
    (void)unused;
    err_t err = {0};
    char *dir = temp_dir(), *path = mem_printf("%s/health", dir);
    pid_t pid = serve(path, sick, "no shepherd for 40 s");
    assert_int_equal(ask(path, &err), -1);
    assert_string_equal(err.text, "unwell: no shepherd for 40 s");
    end(pid);
    char *file = mem_printf("%s/file", dir), *far = mem_printf("%s/%0120d", dir, 0);
    temp_write(file, "mine", 4);
    assert_null(health_new(NULL, file, NULL, NULL, &err));
    assert_non_null(strstr(err.text, "no socket"));
    assert_int_equal(file_size(file), 4);
    assert_null(health_new(NULL, far, NULL, NULL, &err));
    assert_int_equal(err.code, ERR_ARG);
    free(far);
    free(file);
    free(path);
    temp_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_stopped_process_is_not_well),
                                       cmocka_unit_test(it_says_what_is_wrong)};
    return cmocka_run_group_tests_name("health", tests, NULL, NULL);
}
