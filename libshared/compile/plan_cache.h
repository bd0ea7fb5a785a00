/* Finished plans on disk, by what they were made of: one file DIR/<hash>.plan each. Whoever may write
 * to DIR decides what runs: it belongs to the user, or to the service. Any thread. */
#ifndef COMPILE_PLAN_CACHE_H
#define COMPILE_PLAN_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"

/* Where the plan lies that program `version` (plan_cache_version) makes of these texts. Returns,
 * caller frees. */
char *plan_cache_path(const char *dir, const char *version, const char *const *parts, size_t n);

/* What names this program: plans of another build are other plans. ERR_IO. */
int plan_cache_version(char version[HASH_HEX], err_t *err);

/* The bytes of a plan that still unpacks; NULL: none, and a damaged one is logged. Returns, caller
 * frees. */
uint8_t *plan_cache_read(const char *path, size_t *n);

#endif
