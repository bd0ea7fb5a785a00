/* Files of an authority's directory, and its list in the records. */
#include "pcp/keys_dir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "store/store.h"

int keys_dir_write_secret(const char *path, char *text, err_t *err)
{
    int rc = file_write_as(path, 0600, text, strlen(text), err);
    explicit_bzero(text, strlen(text));
    free(text);
    return rc;
}

int keys_dir_authority(const char *dir, const char *name, keys_authority_t *out, err_t *err)
{
    size_t n;
    err_t inner = {0};
    char *path = mem_printf("%s/%s", dir, name);
    char *text = secret_file(path, KEYS_FILE_BYTES, &n, err);
    int rc = text ? keys_authority_read(text, n, out, &inner) : -1;
    if (!text && !file_exists(path))
        err_set(err, ERR_IO, "%s: no such file: name its directory by --dir%s", path,
                strcmp(name, "authority.key") == 0 ? ", or make a new one: pcp keys init" : "");
    if (text && rc < 0) err_set(err, inner.code, "%s is no authority: %s", path, inner.text);
    free(text);
    free(path);
    return rc;
}

int keys_dir_put_authority(const char *dir, const char *name, const keys_authority_t *authority,
                           err_t *err)
{
    char *path = mem_printf("%s/%s", dir, name);
    int rc = keys_dir_write_secret(path, keys_authority_write(authority), err);
    free(path);
    return rc;
}

int keys_dir_note(const char *dir, const keys_card_t *card, err_t *err)
{
    char hex[2 * KEYS_BYTES + 1];
    keys_hex(card->public_key, KEYS_BYTES, hex);
    char *path = mem_printf("%s/issued", dir);
    FILE *file = fopen(path, "a");
    bool good = file && fprintf(file, "%s %s %s %" PRId64 "\n", hex, card->name,
                                keys_role_name(card->role), card->expires_s) > 0;
    if (file && fclose(file) != 0) good = false;
    if (!good) err_set_errno(err, "%s", path);
    free(path);
    return good ? 0 : -1;
}

int keys_dir_revoked(const char *dir, const keys_authority_t *authority, keys_revoked_t *list,
                     err_t *err)
{
    size_t n;
    *list = (keys_revoked_t){0};
    char *path = mem_printf("%s/revoked", dir), *text = file_read(path, &n, err);
    int rc = text ? keys_revoked_read(text, n, &authority->trust, list, err) : -1;
    free(text);
    free(path);
    return rc;
}

int keys_dir_put_revoked(const char *dir, const keys_authority_t *authority,
                         const keys_revoked_t *list, err_t *err)
{
    char *text = keys_revoked_write(authority, list), *path = mem_printf("%s/revoked", dir);
    int rc = file_write_as(path, 0644, text, strlen(text), err);
    free(path);
    free(text);
    return rc;
}

void keys_dir_add(keys_revoked_t *list, const uint8_t key[KEYS_BYTES])
{
    for (size_t i = 0; i < list->n; i++)
        if (memcmp(list->at[i], key, KEYS_BYTES) == 0) return;
    list->at = mem_realloc(list->at, (list->n + 1) * KEYS_BYTES);
    memcpy(list->at[list->n++], key, KEYS_BYTES);
}

/* The list, and who has changed it: whoever has the authority's file. */
static int put(store_t *store, const keys_authority_t *authority, const char *list,
               const char *which, err_t *err)
{
    char hex[2 * KEYS_BYTES + 1];
    keys_hex(authority->trust.at[0], KEYS_BYTES, hex);
    store_deed_t deed = {.who = "pcp keys",
                         .key_name = "authority",
                         .public_key = hex,
                         .action = "revoke",
                         .object = which,
                         .detail = "{}"};
    if (store_trail_together(store, err) < 0) return -1;
    int rc = store_revoked_put(store, list, err);
    if (rc == 0) rc = store_trail_add(store, NULL, &deed, err);
    return store_trail_end(store, rc, err);
}

int keys_dir_share(const char *url, const keys_authority_t *authority, const char *which,
                   keys_revoked_t *list, err_t *err)
{
    char *text = NULL;
    keys_revoked_t theirs = {0};
    err_t fault = {0};
    const store_options_t there = {.existing = true};
    store_t *store = store_open(url, &there, err);
    int rc = store && store_check(store, err) == 0 ? store_revoked_get(store, 0, &text, err) : -1;
    if (rc == 0 && text)
        rc = keys_revoked_read(text, strlen(text), &authority->trust, &theirs, &fault);
    if (fault.code)
        err_set(err, ERR_STATE, "the records have a list that is not of this authority: %s",
                fault.text);
    for (size_t i = 0; i < theirs.n; i++) keys_dir_add(list, theirs.at[i]);
    free(theirs.at);
    free(text);
    text = keys_revoked_write(authority, list);
    if (rc == 0) rc = put(store, authority, text, which, err);
    free(text);
    store_destroy(&store);
    return rc;
}
