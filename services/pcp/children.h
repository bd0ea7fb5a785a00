/* The processes that `pcp train` starts: spawned, watched, stopped, none left behind.
 *
 * Each child has a process group of its own (a terminal's Ctrl-C reaches only pcp, which stops the
 * others in order), writes to LOGS/<name>.log, and gets SIGTERM when this process dies, however it
 * dies (PR_SET_PDEATHSIG). One thread.
 */
#ifndef PCP_CHILDREN_H
#define PCP_CHILDREN_H

#include <stdbool.h>

#include "base/err.h"

typedef struct children children_t;

/* log_dir must exist. */
children_t *children_new(const char *log_dir);

/* Kills (SIGKILL) and reaps whatever still runs. */
void children_destroy(children_t **self_p);

/* Start argv[0] (a path) with argv. `name` labels it and its log. A name may be used again after its
 * process ended. */
int children_spawn(children_t *self, const char *name, char *const argv[], err_t *err);

typedef struct {
    const char *name; /* valid until the next call */
    bool signalled;
    int code; /* exit status or signal number */
} child_end_t;

/* Reap one ended child without waiting; false when none has ended. */
bool children_reap(children_t *self, child_end_t *end);

/* Is the child of that name running? How many run whose names start with `prefix`? */
bool children_running(const children_t *self, const char *name);
int children_count(const children_t *self, const char *prefix);

/* Send a signal to every running child, or to those whose names start with `prefix`. */
void children_signal(children_t *self, const char *prefix, int signal);

/* Wait up to timeout_ms for all to end; true when none is left. */
bool children_wait(children_t *self, int timeout_ms);

/* The last lines of a child's log, at most n_bytes, for error messages. Returns, caller frees. */
char *children_log_tail(const children_t *self, const char *name, int n_bytes);

#endif
