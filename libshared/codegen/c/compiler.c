/* Runs the system compiler: one process per unit, as many at a time as there are cores, then a
 * link. */
#include "codegen/c/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scratch.h"
#include "base/str.h"

extern char **environ;

/* -ffast-math is not among them: NaN and infinities keep their meaning. Reassociation happens where
 * the source says so (omp simd). */
static const char fixed_flags[] =
    "-std=gnu11 -O3 -fPIC -fopenmp-simd -fwrapv -fno-math-errno -fno-trapping-math "
    " -ffp-contract=fast -fno-stack-protector -fno-plt -w";

/* gcc 12 folds functions that differ in simd loops alone into an empty one; clang has no such flag.
 */
static const char gcc_flag[] = "-fno-ipa-icf";

enum { MAX_ARGS = 64, MAX_UNITS = 32, SHOWN = 700 };

typedef struct {
    const char *cc;
    scratch_t scratch;
    int n_unit;
    bool is_gcc;
} job_t;

static char *path_in(const job_t *job, const char *kind, int i)
{
    return mem_printf("%s/k%d.%s", job->scratch.dir, i, kind);
}

/* Words of text, split in place, appended to argv. */
static int add_words(char **argv, int n, char *text)
{
    char *rest = NULL;
    for (char *w = strtok_r(text, " ", &rest); w && n < MAX_ARGS - 1;
         w = strtok_r(NULL, " ", &rest))
        argv[n++] = w;
    argv[n] = NULL;
    return n;
}

/* Start the compiler with the words of `flags` and then n arguments as they are (paths may hold
 * blanks), its output in the file `log`; 0 when it could not be started. */
static pid_t start(const char *cc, const char *flags, int n, char *const *args, const char *log,
                   err_t *err)
{
    char *argv[MAX_ARGS], *words = mem_printf("%s %s", cc, flags);
    int n_word = add_words(argv, 0, words), status = EINVAL;
    pid_t pid = 0;
    for (int i = 0; i < n && n_word < MAX_ARGS - 1; i++) argv[n_word++] = args[i];
    argv[n_word] = NULL;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (argv[0]) status = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (status != 0) {
        pid = 0;
        err_set(err, ERR_IO, "cannot run the C compiler \"%s\": %s (install gcc or set PCP_CC)",
                argv[0] ? argv[0] : "", strerror(status));
    }
    free(words);
    return pid;
}

static int finish(pid_t pid, const char *log, err_t *err)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return err_set_errno(err, "waiting for the C compiler");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    size_t n = 0;
    char *text = file_read(log, &n, NULL);
    err_set(err, ERR_UNSUPPORTED, "the C compiler failed on generated code:\n%.*s", SHOWN,
            text ? text : "");
    free(text);
    return -1;
}

/* Does the compiler know the flag? Asked with nothing to compile. */
static int find_kind(job_t *job, err_t *err)
{
    char *log = path_in(job, "txt", job->n_unit), *args[] = {"-E", "-x", "c", "/dev/null"};
    pid_t pid = start(job->cc, gcc_flag, 4, args, log, err);
    if (pid) job->is_gcc = finish(pid, log, NULL) == 0;
    free(log);
    return pid ? 0 : -1;
}

static pid_t start_unit(const job_t *job, int i, const char *flags, err_t *err)
{
    char *c = path_in(job, "c", i), *o = path_in(job, "o", i), *log = path_in(job, "txt", i);
    char *all = mem_printf("%s %s %s", fixed_flags, job->is_gcc ? gcc_flag : "", flags),
         *args[] = {"-c", "-o", o, c};
    pid_t pid = start(job->cc, all, 4, args, log, err);
    free(c);
    free(o);
    free(log);
    free(all);
    return pid;
}

static int finish_unit(const job_t *job, int i, pid_t pid, err_t *err)
{
    char *log = path_in(job, "txt", i);
    int status = finish(pid, log, err);
    free(log);
    return status;
}

static int compile_units(const job_t *job, const char *flags, err_t *err)
{
    int cores = cpus_count(), at_once = cores > 16 ? 16 : cores, status = 0, first = 0, i = 0;
    pid_t *pids = mem_calloc((size_t)job->n_unit, sizeof *pids);
    for (; status == 0 && i < job->n_unit; i++) {
        if (i - first == at_once) {
            status = finish_unit(job, first, pids[first], err);
            first++;
        }
        pids[i] = status == 0 ? start_unit(job, i, flags, err) : 0;
        if (pids[i] == 0) status = -1;
    }
    for (; first < i; first++)
        if (pids[first] && finish_unit(job, first, pids[first], status == 0 ? err : NULL) < 0)
            status = -1;
    free(pids);
    return status;
}

static int link_units(const job_t *job, err_t *err)
{
    char *so = path_in(job, "so", 0), *log = path_in(job, "txt", job->n_unit), *args[MAX_ARGS];
    int n = 0;
    args[n++] = "-o";
    args[n++] = so;
    for (int i = 0; i < job->n_unit; i++) args[n++] = path_in(job, "o", i);
    args[n++] = "-lm";
    pid_t pid = start(job->cc, "-shared -s", n, args, log, err);
    int status = pid ? finish(pid, log, err) : -1;
    for (int i = 0; i < job->n_unit; i++) free(args[2 + i]);
    free(so);
    free(log);
    return status;
}

static int write_units(const job_t *job, const char *const *units, err_t *err)
{
    int status = 0;
    for (int i = 0; status == 0 && i < job->n_unit; i++) {
        char *path = path_in(job, "c", i);
        status = file_write_atomic(path, units[i], strlen(units[i]), err);
        free(path);
    }
    return status;
}

uint8_t *compiler_run(const char *cc, int n_unit, const char *const *units, const char *flags,
                      size_t *n_bytes, err_t *err)
{
    const char *named = getenv("PCP_CC");
    job_t job = {.cc = named && *named ? named : cc ? cc : "cc", .n_unit = n_unit};
    uint8_t *bytes = NULL;
    if (n_unit < 1 || n_unit > MAX_UNITS) {
        err_set(err, ERR_ARG, "%d C files, want 1 to %d", n_unit, MAX_UNITS);
        return NULL;
    }
    if (scratch_make(&job.scratch, NULL, "cc", err) == 0 && find_kind(&job, err) == 0 &&
        write_units(&job, units, err) == 0 && compile_units(&job, flags, err) == 0 &&
        link_units(&job, err) == 0) {
        char *so = path_in(&job, "so", 0);
        bytes = (uint8_t *)file_read(so, n_bytes, err);
        free(so);
    }
    scratch_remove(&job.scratch);
    return bytes;
}
