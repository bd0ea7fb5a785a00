/* The job's words go as arguments, the text and the answer through anonymous files (task_io.h). */
#include "compiler/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "compiler/task_io.h"

enum { WORDS = 10 };

/* --- In the service --------------------------------------------------------------------------- */

uint8_t *task_run(const compiler_t *self, const Msg__Compile *job, const char *text, size_t n_text,
                  const compiler_stop_t *stop, bool *cached, size_t *n, err_t *err)
{
    char path[4096];
    const char *program = self->program ? self->program : task_io_program(path);
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
    else if (task_io_write(in, text, n_text, err) == 0 &&
             child_run(&self->limits, (char *const *)argv, in, out, stop ? stop->stopped : NULL,
                       stop ? stop->user : NULL, err) == 0)
        plan = task_io_answer(out, cached, n, err);
    if (in >= 0) close(in);
    if (out >= 0) close(out);
    return plan;
}

/* --- In the process --------------------------------------------------------------------------- */

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
    char *text = task_io_confine(self.cache_dir, self.tune_table, &err) == 0
                     ? task_io_read(CHILD_IN_FD, &n_text, &err)
                     : NULL;
    uint8_t *plan = text ? compiler_make(&self, &job, text, n_text, &cached, &n, &err) : NULL;
    int status = plan ? task_io_reply(ERR_OK, cached, plan, n)
                      : task_io_reply((int32_t)err.code, false, err.text, strlen(err.text));
    free(plan);
    free(text);
    return status;
}
