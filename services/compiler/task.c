/* The job's words go as arguments, the text and the answer through anonymous files: an err_code_t
 * as four bytes, one byte for "cached", then the plan or the error's text. */
#include "compiler/task.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cage.h"
#include "base/log.h"
#include "base/mem.h"

enum { HEAD = 5, WORDS = 10 };

/* --- Files ------------------------------------------------------------------------------------ */

static int write_all(int fd, const void *bytes, size_t n, err_t *err)
{
    const char *at = bytes;
    while (n > 0) {
        ssize_t done = write(fd, at, n);
        if (done <= 0) return err_set_errno(err, "a compile job's file");
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

/* All of the file, with a zero behind it. Returns, caller frees. */
static char *read_all(int fd, size_t *n, err_t *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size < 0) {
        err_set_errno(err, "a compile job's file");
        return NULL;
    }
    char *bytes = mem_calloc((size_t)st.st_size + 1, 1);
    for (*n = 0; *n < (size_t)st.st_size;) {
        ssize_t done = pread(fd, bytes + *n, (size_t)st.st_size - *n, (off_t)*n);
        if (done <= 0) break;
        *n += (size_t)done;
    }
    if (*n == (size_t)st.st_size) return bytes;
    err_set_errno(err, "a compile job's file");
    free(bytes);
    return NULL;
}

/* --- In the service --------------------------------------------------------------------------- */

/* The file of this program, also when another one has taken its name. */
static const char *own_program(char path[4096])
{
    ssize_t n = readlink("/proc/self/exe", path, 4095);
    if (n <= 0) return "/proc/self/exe";
    path[n] = '\0';
    return access(path, X_OK) == 0 ? path : "/proc/self/exe";
}

/* What the process answered: the plan, or its error as ours. */
static uint8_t *answer(int fd, bool *cached, size_t *n, err_t *err)
{
    size_t n_all = 0;
    int32_t code;
    char *all = read_all(fd, &n_all, err);
    if (!all) return NULL;
    memcpy(&code, n_all >= HEAD ? all : "\377\377\377\377", sizeof code);
    uint8_t *plan = NULL;
    if (n_all < HEAD || code < 0) {
        err_set(err, ERR_UNSUPPORTED, "the compiling process gave no answer");
    } else if (code != ERR_OK) {
        err_set(err, (err_code_t)code, "%s", all + HEAD);
    } else {
        *n = n_all - HEAD;
        *cached = all[HEAD - 1];
        plan = mem_calloc(*n + 1, 1);
        memcpy(plan, all + HEAD, *n);
    }
    free(all);
    return plan;
}

uint8_t *task_run(const compiler_t *self, const Msg__Compile *job, const char *text, size_t n_text,
                  const compiler_stop_t *stop, bool *cached, size_t *n, err_t *err)
{
    char path[4096];
    const char *program = self->program ? self->program : own_program(path);
    const char *const argv[WORDS + 1] = {program,
                                         TASK_COMMAND,
                                         self->cache_dir,
                                         self->version,
                                         self->tune ? "tune" : "",
                                         job->file,
                                         job->spec,
                                         job->target,
                                         job->module,
                                         self->tune_table ? self->tune_table : "",
                                         NULL};
    int in = memfd_create("compile-text", MFD_CLOEXEC), out = memfd_create("plan", MFD_CLOEXEC);
    uint8_t *plan = NULL;
    if (in < 0 || out < 0)
        err_set_errno(err, "memfd_create");
    else if (write_all(in, text, n_text, err) == 0 &&
             child_run(&self->limits, (char *const *)argv, in, out, stop ? stop->stopped : NULL,
                       stop ? stop->user : NULL, err) == 0)
        plan = answer(out, cached, n, err);
    if (in >= 0) close(in);
    if (out >= 0) close(out);
    return plan;
}

/* --- In the process --------------------------------------------------------------------------- */

static int write_answer(int32_t code, bool cached, const void *bytes, size_t n)
{
    char head[HEAD];
    memcpy(head, &code, sizeof code);
    head[HEAD - 1] = cached;
    return write_all(CHILD_OUT_FD, head, HEAD, NULL) < 0 ||
                   write_all(CHILD_OUT_FD, bytes, n, NULL) < 0
               ? 1
               : 0;
}

/* A compiler of the operator's own may lie anywhere and want more. */
static bool is_own(void)
{
    static const char *const names[] = {"PCP_CC", "PCP_GLSLC", "PCP_NVCC", "PCP_HIPCC",
                                        "PCP_HIP_LIBS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *named = getenv(names[i]);
        if (named && *named) return true;
    }
    return false;
}

/* Compilers run here, and tables are measured: files of the machine are read, those of the cache and
 * of scratch written. */
static int confine(const char *cache_dir, const char *tune_table, err_t *err)
{
    const char *scratch = getenv("TMPDIR");
    const cage_path_t paths[] = {
        {cache_dir, true},    {scratch && *scratch ? scratch : "/tmp", true},
        {tune_table, false},  CAGE_SYSTEM_PATHS,
        {"/bin", false},      {"/etc/alternatives", false},
        {"/opt/rocm", false},
    };
    const size_t n = sizeof paths / sizeof *paths;
    cage_t made;
    return cage_enter(&(cage_options_t){true, false, paths, is_own() ? 0 : n}, &made, err);
}

int task_main(int argc, char **argv)
{
    err_t err = {0};
    if (argc != WORDS) {
        fprintf(stderr, "pcp-compiler: %s is for the compiler itself\n", TASK_COMMAND);
        return 2;
    }
    log_init("compiler", LOG_INFO, LOG_LOGFMT);
    compiler_t self = {.cache_dir = argv[2], .tune = *argv[4] != '\0'};
    self.tune_table = *argv[9] ? argv[9] : NULL;
    snprintf(self.version, sizeof self.version, "%s", argv[3]);
    Msg__Compile job = MSG__COMPILE__INIT;
    job.file = argv[5];
    job.spec = argv[6];
    job.target = argv[7];
    job.module = argv[8];
    size_t n_text = 0, n = 0;
    bool cached = false;
    char *text = confine(self.cache_dir, self.tune_table, &err) == 0
                     ? read_all(CHILD_IN_FD, &n_text, &err)
                     : NULL;
    uint8_t *plan = text ? compiler_make(&self, &job, text, n_text, &cached, &n, &err) : NULL;
    int status = plan ? write_answer(ERR_OK, cached, plan, n)
                      : write_answer((int32_t)err.code, false, err.text, strlen(err.text));
    free(plan);
    free(text);
    return status;
}
