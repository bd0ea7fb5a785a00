/* The directory of a cluster's authority: authority.key, `issued` and `revoked`, and the list of revoked
 * keys in the records. */
#ifndef PCP_KEYS_DIR_H
#define PCP_KEYS_DIR_H

#include "msg/keys.h"

/* Takes the text, which is wiped. Mode 0600; whoever reads meanwhile finds the old file or the new one. */
int keys_dir_write_secret(const char *path, char *text, err_t *err);

/* DIR/NAME: authority.key, or one beside it. -1: the file is named. */
int keys_dir_authority(const char *dir, const char *name, keys_authority_t *out, err_t *err);
int keys_dir_put_authority(const char *dir, const char *name, const keys_authority_t *authority,
                           err_t *err);

/* A line of `issued`: who has which key, for revoke NAME. */
int keys_dir_note(const char *dir, const keys_card_t *card, err_t *err);

/* The list of revoked keys. Caller frees list->at. */
int keys_dir_revoked(const char *dir, const keys_authority_t *authority, keys_revoked_t *list,
                     err_t *err);
int keys_dir_put_revoked(const char *dir, const keys_authority_t *authority,
                         const keys_revoked_t *list, err_t *err);
void keys_dir_add(keys_revoked_t *list, const uint8_t key[KEYS_BYTES]);

/* With what another machine's `pcp keys revoke` has put into the records of that URL; and to there. `which`:
 * what the trail says that was done to. */
int keys_dir_share(const char *store, const keys_authority_t *authority, const char *which,
                   keys_revoked_t *list, err_t *err);

#endif
