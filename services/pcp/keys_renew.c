/* Renewal keeps the pair, so that connections, ids and lists of revoked keys go on naming it. Rotation has
 * three steps: trust both authorities, sign with the new one, trust that alone. */
#include "pcp/keys_renew.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "pcp/keys_dir.h"

#define NOW "authority.key"
#define NEXT "authority.next"
#define BEFORE "authority.before"

/* --- Renewal --- */

static int check(const keys_t *key, const keys_authority_t *authority,
                 const keys_revoked_t *revoked, const char *path, err_t *err)
{
    err_t why = {0};
    if (keys_card_check(&key->card, &authority->trust, INT64_MIN, &why) < 0)
        return err_set(err, why.code, "%s: %s", path, why.text);
    if (!keys_whole(key))
        return err_set(err, ERR_STATE, "%s: its public keys are not its secret's", path);
    for (size_t i = 0; i < revoked->n; i++)
        if (memcmp(revoked->at[i], key->card.public_key, KEYS_BYTES) == 0)
            return err_set(err, ERR_STATE, "%s is revoked: issue another key", path);
    return 0;
}

static int renew(const char *dir, const keys_authority_t *authority, const keys_revoked_t *revoked,
                 const char *path, int64_t ends_s, err_t *err)
{
    keys_t key;
    if (keys_load(path, &key, err) < 0) return -1;
    int rc = check(&key, authority, revoked, path, err);
    if (rc == 0) {
        keys_renew(authority, ends_s > key.card.expires_s ? ends_s : key.card.expires_s, &key);
        rc = keys_dir_note(dir, &key.card, err);
    }
    if (rc == 0) rc = keys_dir_write_secret(path, keys_write(&key), err);
    explicit_bzero(&key, sizeof key);
    if (rc == 0) puts(path);
    return rc;
}

int keys_renew_files(const char *dir, char *const *paths, size_t n, int64_t ends_s, err_t *err)
{
    keys_authority_t authority;
    keys_revoked_t revoked;
    if (keys_dir_authority(dir, NOW, &authority, err) < 0) return -1;
    int rc = keys_dir_revoked(dir, &authority, &revoked, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = renew(dir, &authority, &revoked, paths[i], ends_s, err);
    explicit_bzero(&authority, sizeof authority);
    free(revoked.at);
    return rc;
}

/* --- Rotation --- */

static bool has(const char *dir, const char *name)
{
    char *path = mem_printf("%s/%s", dir, name);
    bool is = file_exists(path);
    free(path);
    return is;
}

static void drop(const char *dir, const char *name)
{
    char *path = mem_printf("%s/%s", dir, name);
    unlink(path);
    free(path);
}

/* The next one's file first: one that nobody was told of is made anew. */
static int begin(const char *dir, keys_authority_t *now, err_t *err)
{
    keys_authority_t next;
    if (now->trust.n > 1)
        return has(dir, NEXT) ? 0 : err_set(err, ERR_STATE, "it is switched already: end it first");
    keys_authority_next(now, &next);
    int rc = keys_dir_put_authority(dir, NEXT, &next, err);
    if (rc == 0) rc = keys_dir_put_authority(dir, NOW, now, err);
    explicit_bzero(&next, sizeof next);
    return rc;
}

/* The list of revoked keys, in the new one's name. */
static int sign_list(const char *dir, const keys_authority_t *authority, const char *store,
                     err_t *err)
{
    keys_revoked_t list;
    int rc = keys_dir_revoked(dir, authority, &list, err);
    if (rc == 0 && store && *store) rc = keys_dir_share(store, authority, "authority", &list, err);
    if (rc == 0) rc = keys_dir_put_revoked(dir, authority, &list, err);
    free(list.at);
    return rc;
}

static int change(const char *dir, keys_authority_t *now, const char *store, err_t *err)
{
    keys_authority_t next;
    if (now->trust.n < 2) return err_set(err, ERR_STATE, "nothing to switch to: begin first");
    if (has(dir, NEXT)) {
        if (keys_dir_authority(dir, NEXT, &next, err) < 0) return -1;
        bool done = memcmp(next.trust.at[0], now->trust.at[0], KEYS_BYTES) == 0;
        int rc = done ? 0 : keys_dir_put_authority(dir, BEFORE, now, err);
        if (rc == 0) rc = keys_dir_put_authority(dir, NOW, &next, err);
        *now = next;
        explicit_bzero(&next, sizeof next);
        if (rc < 0) return -1;
    }
    if (sign_list(dir, now, store, err) < 0) return -1;
    drop(dir, NEXT);
    return 0;
}

static int end(const char *dir, keys_authority_t *now, err_t *err)
{
    if (has(dir, NEXT))
        return err_set(err, ERR_STATE, "the new authority signs nothing yet: switch first");
    if (now->trust.n > 1) {
        memset(now->trust.at[1], 0, KEYS_BYTES);
        now->trust.n = 1;
        if (keys_dir_put_authority(dir, NOW, now, err) < 0) return -1;
    }
    drop(dir, BEFORE);
    return 0;
}

int keys_rotate(const char *dir, const char *step, const char *store, err_t *err)
{
    keys_authority_t now;
    const char *then = NULL;
    int rc = -1;
    if (keys_dir_authority(dir, NOW, &now, err) < 0) return -1;
    if (strcmp(step, "begin") == 0) {
        rc = begin(dir, &now, err);
        then = "all members trust both authorities: then switch";
    } else if (strcmp(step, "switch") == 0) {
        rc = change(dir, &now, store, err);
        then = "the new authority has signed all certificates: then end";
    } else if (strcmp(step, "end") == 0) {
        rc = end(dir, &now, err);
        then = "nobody trusts the old authority";
    } else {
        err_set(err, ERR_ARG, "rotate %s: want begin, switch or end", step);
    }
    explicit_bzero(&now, sizeof now);
    if (rc == 0)
        printf(
            "renew every key (pcp keys renew FILE...), the shepherds' first, and bring it to its "
            "members, until %s\n",
            then);
    return rc;
}
