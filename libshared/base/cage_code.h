/* The narrowest cage: for a process that runs code which nobody vouches for. It computes in the memory that it has,
 * reads and writes what is open, and ends. Everything else is refused: opening files, sockets, programs,
 * processes and threads, signals to others, looking at the machine. Memory is bounded, written files have no bytes.
 *
 * A refused call fails with EPERM and is counted; code that takes the counting away is refused all the same. One
 * kind of opening is answered without the kernel: "/proc/self/fd/N" of a descriptor that is open already, so
 * that the system's loader can load code from memory. */
#ifndef BASE_CAGE_CODE_H
#define BASE_CAGE_CODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Where refusals are counted: memory that others may share. */
typedef struct {
    atomic_uint_least64_t count;
    atomic_int call; /* number of the last one */
} cage_refusals_t;

/* Enter it, for good, with all threads that there are. more_bytes: address space that may still be added;
 * refusals: borrowed for the life of the process. *entered: false where the kernel has no filters
 * (base/cage.h says which builds have none). */
int cage_code_enter(uint64_t more_bytes, cage_refusals_t *refusals, bool *entered, err_t *err);

/* From inside, behind what the code has done: when it holds nearly all the memory that it may, the kernel has refused
 * it more, or soon would; that is counted once, as a refused mmap. A refused mapping itself is only seen by who asked. */
void cage_code_count_memory(cage_refusals_t *refusals);

/* No capabilities any more, also for what is started later. Before cage_code_enter. */
int cage_drop_rights(err_t *err);

/* A system call's name, or its number; into `text`, which is returned. */
const char *cage_call_name(int call, char text[32]);

#endif
