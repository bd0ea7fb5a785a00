/* What the processes of jobs share (task.h, sample.h): their files, their answers, their cage. */
#ifndef COMPILER_TASK_IO_H
#define COMPILER_TASK_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* --- In the service --- */

/* The file of this program, also when another one has taken its name; in `path` or static. */
const char *task_io_program(char path[4096]);
int task_io_write(int fd, const void *bytes, size_t n, err_t *err); /* all of them; ERR_IO */
/* What the process has answered into this file: its bytes (a zero behind them; caller frees), or NULL with
 * its error as ours. */
uint8_t *task_io_answer(int fd, bool *cached, size_t *n, err_t *err);

/* --- In the process --- */

/* All of a file, with a zero behind it. Returns, caller frees. */
char *task_io_read(int fd, size_t *n, err_t *err);
/* Answer: bytes, or an error's code and text. Returns the process's exit status. */
int task_io_reply(int32_t code, bool cached, const void *bytes, size_t n);
/* Enter the cage (base/cage.h) of who compiles and runs plans; tune_table may be NULL. */
int task_io_confine(const char *cache_dir, const char *tune_table, err_t *err);

#endif
