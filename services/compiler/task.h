/* What a compile job's own process does: module text in, plan or error out. */
#ifndef COMPILER_TASK_H
#define COMPILER_TASK_H

#include "compiler/compiler.h"

#define TASK_COMMAND "compile-task" /* of pcp-compiler, for itself alone */

/* In the service: the plan of the module's text, made by a process (child.h) of this program within
 * the compiler's limits. Returns, caller frees. Errors of the process are given as its own. */
uint8_t *task_run(const compiler_t *self, const Msg__Compile *job, const char *text, size_t n_text,
                  const compiler_stop_t *stop, bool *cached, size_t *n, err_t *err);

/* In that process: its exit status. */
int task_main(int argc, char **argv);

#endif
