/* Finished plans on disk, by what they were made of: one file DIR/0.1.0-<hash>.plan each. Whoever may
 * write to DIR decides what runs: it belongs to the user, or to the service. Any thread. */
#ifndef COMPILE_PLAN_CACHE_H
#define COMPILE_PLAN_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"

/* What a directory of plans may take of the disk where nobody says otherwise: 4 GiB. */
#define PLAN_CACHE_BYTES ((uint64_t)4 << 30)

/* Where the plan lies that program `version` (plan_cache_version) makes of these texts: its name begins with the
 * version number that all programs share. Returns, caller frees. */
char *plan_cache_path(const char *dir, const char *version, const char *const *parts, size_t n);

/* What names this program: plans of another build are other plans. ERR_IO. */
int plan_cache_version(char version[HASH_HEX], err_t *err);

/* The bytes of a plan that still unpacks, which is used now; NULL: none, and a damaged one is logged.
 * Returns, caller frees. */
uint8_t *plan_cache_read(const char *path, size_t *n);

/* While the descriptor is open, in any process, the plan is in use. Returns it, caller closes; -1: there is no
 * such file. */
int plan_cache_use(const char *path);

/* Remove plans until those of the directory have `limit` bytes at most: first those of other version
 * numbers, then ours, of each the one first that was used longest ago. What is in use stays, and where the file system has no
 * locks, what was used within a day. Also what killed writers left. */
void plan_cache_prune(const char *dir, uint64_t limit);

#endif
