/* The limits of a process' control groups, cgroup 1 and 2. Reads small files; any thread. */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

/* What the files in one group's folder say; INFINITY: nothing. */
typedef double cgroup_limit_fn(const char *dir);

/* The value of DIR/NAME, "max" as INFINITY; *second (NULL: not wanted): the number behind it, 0: none.
 * Nonsense is 0. -1: there is no such file. */
int cgroup_read(const char *dir, const char *name, double *first, double *second);

/* The smallest limit of the process' group and of all above it; INFINITY: there is none. membership:
 * its /proc/PID/cgroup; mount: /sys/fs/cgroup, there; controller: "cpu", "memory". */
double cgroup_least(const char *membership, const char *mount, const char *controller,
                    cgroup_limit_fn *limit);

#endif
