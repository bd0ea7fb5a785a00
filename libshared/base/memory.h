/* How much memory this process may have: the machine's, or what a container's limit leaves of it (docker
 * --memory, a pod's limit; cgroup 1 and 2). Any thread. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdint.h>

/* Bytes; UINT64_MAX: unknown. It reads files: not for loops. */
uint64_t memory_bytes(void);

/* Bytes of this process in memory, code and files with them; 0: unknown. */
uint64_t memory_resident(void);

/* The smallest limit of the process' groups in bytes; INFINITY: none. Arguments as in base/cpus.h. */
double memory_quota(const char *membership, const char *mount);

#endif
