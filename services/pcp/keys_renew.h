/* New certificates for keys that there are, and a new authority in the place of one. */
#ifndef PCP_KEYS_RENEW_H
#define PCP_KEYS_RENEW_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Replace each file by the same pair, role and name under a card that ends at ends_s, or when the old one
 * did if that is later; it trusts what the authority of `dir` says. -1: the first that cannot be is named,
 * and those before it are done. */
int keys_renew_files(const char *dir, char *const *paths, size_t n, int64_t ends_s, err_t *err);

/* One step of "begin", "switch", "end" (docs/security.md); each may be repeated. store: where the list of
 * revoked keys is, too; NULL or "": nowhere. -1 with ERR_STATE: it is not the turn of this one. */
int keys_rotate(const char *dir, const char *step, const char *store, err_t *err);

#endif
