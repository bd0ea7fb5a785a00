/* A cage: what this process can do no more, nor whatever it starts, whoever asks. For processes that
 * run code which others have made.
 *
 *   always           no new rights by setuid programs; no ptrace, no look into others' memory, no mounts,
 *                    modules, keys, namespaces, perf, bpf or io_uring; no signals but to itself
 *   unless programs  no new processes: no fork, no exec
 *   unless network   no sockets; with it those of TCP, UDP and unix alone
 *   with paths       files are read and written under these alone (Landlock, Linux 5.13 or newer); what
 *                    was opened before stays open
 *
 * The kernel does it (seccomp filters, Landlock); a refused call fails with EPERM, a path with EACCES.
 * The code still shares memory with the rest of the process: what the process may do, it may. */
#ifndef BASE_CAGE_H
#define BASE_CAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

typedef struct {
    const char *path; /* a file or directory; NULL, "" or absent: left out */
    bool writes;      /* besides reading and running */
} cage_path_t;

/* What libraries and programs of the machine read to run at all: rows of a cage_path_t[]. */
#define CAGE_SYSTEM_PATHS                                                             \
    {"/usr", false}, {"/lib", false}, {"/lib64", false}, {"/etc/ld.so.cache", false}, \
        {"/sys", false}, {"/proc/self", false}, {"/proc/cpuinfo", false},             \
        {"/proc/meminfo", false}, {"/proc/stat", false}, {"/proc/sys", false},        \
        {"/dev/null", true},                                                          \
    {                                                                                 \
        "/dev/urandom", false                                                         \
    }

typedef struct {
    bool programs, network;
    const cage_path_t *paths; /* borrowed */
    size_t n_path;            /* 0: any */
} cage_options_t;

typedef struct {
    bool filter; /* system calls are refused */
    int paths;   /* version of Landlock that guards paths; 0: they are not */
} cage_t;

/* Enter it, for good; threads that there are already are filtered, but not kept from paths: before
 * any thread. What the kernel does not have is left out, as `out` says: nothing of it is an error.
 * -1 with ERR_STATE: the kernel has it, and refuses. */
int cage_enter(const cage_options_t *options, cage_t *out, err_t *err);

/* Can this build be caged? Not under the sanitizers of addresses and threads, whose reports need
 * what is refused. */
bool cage_possible(void);

#endif
