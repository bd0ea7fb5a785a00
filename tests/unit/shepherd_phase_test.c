/* The phases of a run: the table in the code is the one that docs/recovery.md draws, every phase can
 * be reached and left, and a change that it does not have ends the process. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/str.h"
#include "shepherd/phase.h"

static int find(const char *name, size_t n)
{
    for (int i = 0; i < PHASE_COUNT; i++)
        if (strlen(phase_name((phase_t)i)) == n && strncmp(phase_name((phase_t)i), name, n) == 0)
            return i;
    return -1;
}

/* "compile; gather: an aggregator is lost |": the word before each colon, semicolon or bar. */
static void read_targets(int from, const char *cell, bool drawn[PHASE_COUNT][PHASE_COUNT])
{
    while (*cell && *cell != '|' && *cell != '\n') {
        cell += strspn(cell, " ");
        size_t n = strcspn(cell, ":;| \n");
        if (n == 0) break;
        int to = find(cell, n);
        if (to < 0) fail_msg("docs/recovery.md: no phase \"%.*s\"", (int)n, cell);
        drawn[from][to] = true;
        cell += strcspn(cell, ";|\n");
        cell += *cell == ';';
    }
}

/* Rows "| `name` | waits for | goes to |" of the page. Returns their number. */
static int read_page(bool drawn[PHASE_COUNT][PHASE_COUNT])
{
    FILE *page = fopen("docs/recovery.md", "r");
    assert_non_null(page);
    char line[1024];
    bool section = false;
    int rows = 0;
    while (fgets(line, sizeof line, page)) {
        if (str_starts(line, "## ")) section = str_starts(line, "## The phases of a run");
        if (!section || !str_starts(line, "| `")) continue;
        const char *name = line + 3, *end = strchr(name, '`'), *cell = line;
        assert_non_null(end);
        int from = find(name, (size_t)(end - name));
        assert_true(from >= 0);
        for (int i = 0; i < 3; i++) {
            cell = strchr(cell, '|');
            assert_non_null(cell);
            cell++;
        }
        read_targets(from, cell, drawn);
        rows++;
    }
    fclose(page);
    return rows;
}

static void as_drawn(void **state)
{
    (void)state;
    bool drawn[PHASE_COUNT][PHASE_COUNT] = {0};
    assert_int_equal(read_page(drawn), PHASE_COUNT);
    for (int from = 0; from < PHASE_COUNT; from++)
        for (int to = 0; to < PHASE_COUNT; to++) {
            bool goes = phase_reason((phase_t)from, (phase_t)to) != NULL;
            if (goes != (drawn[from][to] || to == PHASE_DONE))
                fail_msg("%s to %s: the code says %d, the page %d", phase_name((phase_t)from),
                         phase_name((phase_t)to), goes, drawn[from][to]);
        }
}

static void spread(bool seen[PHASE_COUNT], bool backwards)
{
    for (int turn = 0; turn < PHASE_COUNT; turn++)
        for (int a = 0; a < PHASE_COUNT; a++)
            for (int b = 0; b < PHASE_COUNT; b++)
                if (seen[a] && (backwards ? phase_reason((phase_t)b, (phase_t)a)
                                          : phase_reason((phase_t)a, (phase_t)b)))
                    seen[b] = true;
}

static void walked(void **state)
{
    (void)state;
    bool reached[PHASE_COUNT] = {[PHASE_STANDBY] = true}, saves[PHASE_COUNT] = {0};
    saves[PHASE_SAVE] = true;
    spread(reached, false);
    spread(saves, true);
    for (int i = 0; i < PHASE_COUNT; i++) {
        assert_true(reached[i]);
        assert_int_equal(saves[i], i != PHASE_DONE); /* from everywhere the run can be completed */
        assert_non_null(phase_reason((phase_t)i, PHASE_DONE));
        assert_true(i == PHASE_DONE || !phase_reason(PHASE_DONE, (phase_t)i));
        assert_null(phase_reason((phase_t)i, PHASE_STANDBY));
    }
    phase_t phase = PHASE_STANDBY;
    static const phase_t run[] = {PHASE_GATHER, PHASE_PUBLISH, PHASE_COMPILE, PHASE_ASSIGN,
                                  PHASE_INIT,   PHASE_TRAIN,   PHASE_OPEN,    PHASE_TRAIN,
                                  PHASE_DECIDE, PHASE_COMMIT,  PHASE_OPEN,    PHASE_TRAIN,
                                  PHASE_SAVE,   PHASE_DONE};
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        phase_change(&phase, run[i]);
        assert_int_equal(phase, run[i]);
    }
}

/* In a process of its own: what it says, and how it ends. */
static void impossible(void **state)
{
    (void)state;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(pipes[1], STDERR_FILENO);
        dup2(pipes[1], STDOUT_FILENO);
        phase_t phase = PHASE_OPEN;
        phase_change(&phase, PHASE_COMMIT);
        _exit(0);
    }
    close(pipes[1]);
    char text[2048] = "";
    size_t n = 0;
    for (ssize_t got; (got = read(pipes[0], text + n, sizeof text - 1 - n)) > 0;) n += (size_t)got;
    close(pipes[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(text, "from=open to=commit"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_drawn),
        cmocka_unit_test(walked),
        cmocka_unit_test(impossible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
