/* An answer is an err_code_t as four bytes, one byte for "cached", then the bytes or the error's text. */
#include "compiler/task_io.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cage.h"
#include "base/mem.h"
#include "compiler/child.h"

enum { HEAD = 5 };

int task_io_write(int fd, const void *bytes, size_t n, err_t *err)
{
    const char *at = bytes;
    while (n > 0) {
        ssize_t done = write(fd, at, n);
        if (done <= 0) return err_set_errno(err, "a job's file");
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

char *task_io_read(int fd, size_t *n, err_t *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size < 0) {
        err_set_errno(err, "a job's file");
        return NULL;
    }
    char *bytes = mem_calloc((size_t)st.st_size + 1, 1);
    for (*n = 0; *n < (size_t)st.st_size;) {
        ssize_t done = pread(fd, bytes + *n, (size_t)st.st_size - *n, (off_t)*n);
        if (done <= 0) break;
        *n += (size_t)done;
    }
    if (*n == (size_t)st.st_size) return bytes;
    err_set_errno(err, "a job's file");
    free(bytes);
    return NULL;
}

const char *task_io_program(char path[4096])
{
    ssize_t n = readlink("/proc/self/exe", path, 4095);
    if (n <= 0) return "/proc/self/exe";
    path[n] = '\0';
    return access(path, X_OK) == 0 ? path : "/proc/self/exe";
}

uint8_t *task_io_answer(int fd, bool *cached, size_t *n, err_t *err)
{
    size_t n_all = 0;
    int32_t code;
    char *all = task_io_read(fd, &n_all, err);
    if (!all) return NULL;
    memcpy(&code, n_all >= HEAD ? all : "\377\377\377\377", sizeof code);
    uint8_t *bytes = NULL;
    if (n_all < HEAD || code < 0) {
        err_set(err, ERR_UNSUPPORTED, "the job's process gave no answer");
    } else if (code != ERR_OK) {
        err_set(err, (err_code_t)code, "%s", all + HEAD);
    } else {
        *n = n_all - HEAD;
        *cached = all[HEAD - 1];
        bytes = mem_calloc(*n + 1, 1);
        memcpy(bytes, all + HEAD, *n);
    }
    free(all);
    return bytes;
}

int task_io_reply(int32_t code, bool cached, const void *bytes, size_t n)
{
    char head[HEAD];
    memcpy(head, &code, sizeof code);
    head[HEAD - 1] = cached;
    return task_io_write(CHILD_OUT_FD, head, HEAD, NULL) < 0 ||
                   task_io_write(CHILD_OUT_FD, bytes, n, NULL) < 0
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

/* Compilers run here, tables are measured, and plans: files of the machine are read, those of the cache
 * and of scratch written. */
int task_io_confine(const char *cache_dir, const char *tune_table, err_t *err)
{
    char own[4096];
    const char *scratch = getenv("TMPDIR");
    const cage_path_t paths[] = {
        {cache_dir, true},    {scratch && *scratch ? scratch : "/tmp", true},
        {tune_table, false},  {task_io_program(own), false},
        {"/bin", false},      {"/etc/alternatives", false},
        {"/opt/rocm", false}, CAGE_SYSTEM_PATHS,
    };
    const size_t n = sizeof paths / sizeof *paths;
    cage_t made;
    return cage_enter(&(cage_options_t){true, false, paths, is_own() ? 0 : n}, &made, err);
}
