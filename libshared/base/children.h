/* Processes that a program starts: spawned, watched, stopped, none left behind.
 *
 * Each child has a process group of its own (a terminal's Ctrl-C reaches only the program, which
 * stops the others in order), writes to LOGS/<name>.log, which begins anew when it is long, and gets SIGTERM or SIGKILL when the
 * thread that started it ends, however it ends (PR_SET_PDEATHSIG). One thread, the only
 * one of its process that reaps. */
#ifndef BASE_CHILDREN_H
#define BASE_CHILDREN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

typedef struct children children_t;

/* death_signal: what children get when this process dies. log_dir must exist. */
children_t *children_new(const char *log_dir, int death_signal);

/* A log that is longer than this becomes <name>.log.1, in the place of the one before, and begins anew: what a child writes in
 * the instant between is lost. CHILDREN_LOG_BYTES until this is called. */
enum { CHILDREN_LOG_BYTES = 16 << 20 };
void children_limit_logs(children_t *self, int64_t n_bytes);

/* Kills (SIGKILL) and reaps whatever still runs. */
void children_destroy(children_t **self_p);

/* Start argv[0] (a path) with argv, no signal blocked and none handled: what is sent to the child
 * from now on is its own, also before it runs. `name` labels it and its log. A name may be used
 * again after its process ended. */
int children_spawn(children_t *self, const char *name, char *const argv[], err_t *err);

/* The same with an open descriptor, which the child has as CHILDREN_KEPT_FD; borrowed. */
enum { CHILDREN_KEPT_FD = 3 };
int children_spawn_with(children_t *self, const char *name, char *const argv[], int kept,
                        err_t *err);

typedef struct {
    const char *name; /* valid until the next call */
    bool signalled;
    int code; /* exit status or signal number */
    int pid;  /* it had */
} child_end_t;

/* Reap one ended child without waiting; false when none has ended: then, once a second, logs are looked at. Orphans that fell to this
 * process (it is process 1 of a container) are reaped on the way. */
bool children_reap(children_t *self, child_end_t *end);

/* "ended with status 1" or "was killed by signal 9 (Killed)". */
const char *child_end_text(const child_end_t *end, char text[64]);

/* Is the child of that name running? Its process id, 0 if not. How many run whose names start with
 * `prefix`? */
bool children_running(const children_t *self, const char *name);
int children_pid(const children_t *self, const char *name);
int children_count(const children_t *self, const char *prefix);

/* Send a signal to every running child whose name starts with `prefix`; to the one of that name. */
void children_signal(children_t *self, const char *prefix, int signal);
void children_signal_one(children_t *self, const char *name, int signal);

/* Wait up to timeout_ms for all to end; true when none is left. */
bool children_wait(children_t *self, int timeout_ms);

/* The last lines of a child's log, and of the one before where it has just begun anew; at most n_bytes, for error messages. Returns, caller frees. */
char *children_log_tail(const children_t *self, const char *name, int n_bytes);

#endif
