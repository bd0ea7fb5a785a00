/* pcp keys: the authority of a cluster and what it signs. Everything is in one directory:
 * authority.key, the shepherds' shepherd.key, NAME.key of each member, `issued` (a line each) and
 * `revoked` (signed). Only `revoked` and each member's own file leave it. `cluster` puts one key for
 * each role into a directory of their own, which leaves as a whole. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/secret.h"
#include "msg/keys.h"
#include "pcp/cmd.h"
#include "pcp/output.h"
#include "store/store.h"

typedef struct {
    char *dir, *role, *name, *out, *output, *store;
    bool json, folders;
    int64_t days;
} options_t;

#define AT(key) offsetof(options_t, key)
static const config_field_t fields[] = {
    {"dir", CONFIG_STRING, AT(dir), "keys", "directory of the authority", 0, 0, NULL, false},
    {"role", CONFIG_ENUM, AT(role), "worker", "issue: what the member may be", 0, 0,
     "worker|aggregator|compiler|supervisor|metrics|operator|shepherd", false},
    {"name", CONFIG_STRING, AT(name), NULL,
     "issue: its ids begin with it; letters, digits and . _ @ + [by the role]", 0, 0, NULL, false},
    {"days", CONFIG_INT, AT(days), "90",
     "init, issue, cluster: until it expires; 0: it has expired", 0, 36500, NULL, false},
    {"store", CONFIG_STRING, AT(store), NULL,
     "revoke: URL of the cluster's records, where shepherds find the list", 0, 0, NULL, true},
    {"out", CONFIG_STRING, AT(out), NULL,
     "issue: the file [DIR/NAME.key]; cluster: the directory [DIR/members]", 0, 0, NULL, false},
    {"folders", CONFIG_BOOL, AT(folders), "false",
     "cluster: OUT/ROLE/ROLE.key instead of OUT/ROLE.key, for a volume each", 0, 0, NULL, false},
    OUTPUT_FIELDS(options_t, "show: "),
};
static const config_table_t table = {
    .usage =
        "usage: pcp keys init|issue|cluster|show|revoke [FILE|NAME|KEY] [FLAGS]\n\n"
        "init             a new authority, the shepherds' key, an empty list of revoked keys\n"
        "issue            a key for one member (--role, --name), which it starts with (--key)\n"
        "cluster          all that a cluster needs: the authority, and a key for each role, named\n"
        "                 as it; what is there already stays\n"
        "show FILE        role, name and end of a key; says nothing secret\n"
        "revoke WHICH     a file, a name or a public key: it is on DIR/revoked from now on,\n"
        "                 which shepherds and aggregators read (--revoked), and in the records\n"
        "                 (--store), which shepherds read, who tell all members",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .no_env = true,
};

static int64_t end_of(const options_t *o)
{
    return clock_wall_ms() / 1000 + o->days * 86400;
}

static int write_secret(const char *path, char *text, err_t *err)
{
    int rc = file_write_as(path, 0600, text, strlen(text), err);
    memset(text, 0, strlen(text));
    free(text);
    return rc;
}

static int read_authority(const options_t *o, keys_authority_t *out, err_t *err)
{
    size_t n;
    err_t inner = {0};
    char *path = mem_printf("%s/authority.key", o->dir),
         *text = secret_file(path, KEYS_FILE_BYTES, &n, err);
    int rc = text ? keys_authority_read(text, n, out, &inner) : -1;
    if (text && rc < 0) err_set(err, inner.code, "%s is no authority: %s", path, inner.text);
    free(text);
    free(path);
    return rc;
}

/* --- init, issue --- */

/* A line of `issued`: who has which key, for revoke NAME. */
static int note_issued(const options_t *o, const keys_card_t *card, err_t *err)
{
    char hex[2 * KEYS_BYTES + 1];
    keys_hex(card->public_key, KEYS_BYTES, hex);
    char *path = mem_printf("%s/issued", o->dir);
    FILE *file = fopen(path, "a");
    bool good = file && fprintf(file, "%s %s %s %" PRId64 "\n", hex, card->name,
                                keys_role_name(card->role), card->expires_s) > 0;
    if (file && fclose(file) != 0) good = false;
    if (!good) err_set_errno(err, "%s", path);
    free(path);
    return good ? 0 : -1;
}

static int write_revoked(const options_t *o, const keys_authority_t *authority,
                         const keys_revoked_t *list, err_t *err)
{
    char *text = keys_revoked_write(authority, list), *path = mem_printf("%s/revoked", o->dir);
    int rc = file_write_as(path, 0644, text, strlen(text), err);
    free(path);
    free(text);
    return rc;
}

static int init(const options_t *o, err_t *err)
{
    keys_authority_t authority;
    keys_t shepherd;
    char *path = mem_printf("%s/authority.key", o->dir);
    char *server = mem_printf("%s/shepherd.key", o->dir);
    int rc = -1;
    if (file_exists(path)) {
        err_set(err, ERR_ARG, "%s exists: its keys would be void without it", path);
    } else if (file_make_dirs(o->dir, err) == 0) {
        keys_authority_new(&authority, end_of(o), &shepherd);
        const keys_revoked_t nobody = {0};
        if (write_secret(server, keys_write(&shepherd), err) == 0 &&
            write_revoked(o, &authority, &nobody, err) == 0 &&
            note_issued(o, &shepherd.card, err) == 0)
            rc = write_secret(path, keys_authority_write(&authority), err);
    }
    if (rc == 0) printf("%s\n%s\n", path, server);
    free(path);
    free(server);
    return rc;
}

static int issue(const options_t *o, err_t *err)
{
    keys_authority_t authority;
    keys_role_t role;
    keys_t key;
    char digits[9];
    if (keys_role_parse(o->role, &role, err) < 0 || read_authority(o, &authority, err) < 0)
        return -1;
    random_hex(digits, 8);
    char *name = o->name && *o->name ? mem_strdup(o->name) : mem_printf("%s.%s", o->role, digits);
    char *path = o->out && *o->out ? mem_strdup(o->out) : mem_printf("%s/%s.key", o->dir, name);
    int rc = -1;
    if (file_exists(path))
        err_set(err, ERR_ARG, "%s exists: give another --name or --out", path);
    else if (keys_issue(&authority, role, name, end_of(o), &key, err) == 0 &&
             note_issued(o, &key.card, err) == 0)
        rc = write_secret(path, keys_write(&key), err);
    if (rc == 0) puts(path);
    free(path);
    free(name);
    return rc;
}

/* --- cluster --- */

static const keys_role_t cluster_roles[] = {KEYS_AGGREGATOR, KEYS_COMPILER, KEYS_SUPERVISOR,
                                            KEYS_WORKER,     KEYS_METRICS,  KEYS_OPERATOR};

/* Where the key of a role belongs; its folder is made. Returns, caller frees; NULL: error. */
static char *member_path(const options_t *o, const char *role, err_t *err)
{
    char *out = o->out && *o->out ? mem_strdup(o->out) : mem_printf("%s/members", o->dir);
    char *folder = o->folders ? mem_printf("%s/%s", out, role) : mem_strdup(out);
    char *path = file_make_dirs(folder, err) == 0 ? mem_printf("%s/%s.key", folder, role) : NULL;
    free(folder);
    free(out);
    return path;
}

/* The shepherds' key ends with its cluster; the others are made anew when they are missing. */
static void warn_of_end(const keys_card_t *card, const char *path)
{
    enum { DAY_S = 86400, SOON_DAYS = 30 };
    int64_t days = (card->expires_s - clock_wall_ms() / 1000) / DAY_S;
    if (days >= SOON_DAYS) return;
    fprintf(stderr, "pcp keys: %s ends in %" PRId64 " days: %s\n", path, days < 0 ? 0 : days,
            card->role == KEYS_SHEPHERD
                ? "begin a new authority (another --dir), and start all members with its keys"
                : "remove it, repeat this, and start its members with the new one");
}

/* One that is there already must be a key that members of this authority's talk to. */
static int keep_member(const keys_authority_t *authority, const char *path, err_t *err)
{
    keys_t key;
    if (keys_load(path, &key, err) < 0) return -1;
    bool ours = memcmp(key.authority, authority->public_key, KEYS_BYTES) == 0;
    if (ours) warn_of_end(&key.card, path);
    explicit_bzero(&key, sizeof key);
    return ours ? 0
                : err_set(err, ERR_STATE,
                          "%s was issued by another authority: remove it, or bring that "
                          "authority's directory back",
                          path);
}

static int make_member(const options_t *o, const keys_authority_t *authority, keys_role_t role,
                       const char *path, err_t *err)
{
    keys_t key;
    const char *name = keys_role_name(role);
    if (role == KEYS_SHEPHERD) { /* theirs came with the authority */
        char *from = mem_printf("%s/shepherd.key", o->dir);
        int rc = keys_load(from, &key, err);
        free(from);
        if (rc < 0) return -1;
    } else if (keys_issue(authority, role, name, end_of(o), &key, err) < 0 ||
               note_issued(o, &key.card, err) < 0) {
        return -1;
    }
    int rc = write_secret(path, keys_write(&key), err);
    explicit_bzero(&key, sizeof key);
    if (rc == 0) puts(path);
    return rc;
}

static int member(const options_t *o, const keys_authority_t *authority, keys_role_t role,
                  err_t *err)
{
    char *path = member_path(o, keys_role_name(role), err);
    int rc = !path               ? -1
             : file_exists(path) ? keep_member(authority, path, err)
                                 : make_member(o, authority, role, path, err);
    free(path);
    return rc;
}

/* The authority's file is written last by init: what broke off is begun anew. */
static int cluster(const options_t *o, err_t *err)
{
    keys_authority_t authority;
    char *path = mem_printf("%s/authority.key", o->dir);
    int rc = file_exists(path) ? 0 : init(o, err);
    free(path);
    if (rc < 0 || read_authority(o, &authority, err) < 0) return -1;
    rc = member(o, &authority, KEYS_SHEPHERD, err);
    for (size_t i = 0; rc == 0 && i < sizeof cluster_roles / sizeof *cluster_roles; i++)
        rc = member(o, &authority, cluster_roles[i], err);
    explicit_bzero(&authority, sizeof authority);
    return rc;
}

/* --- show, revoke --- */

static int show(const options_t *o, const char *path, err_t *err)
{
    keys_t key;
    err_t fault = {0};
    char hex[2 * KEYS_BYTES + 1], when[32] = "";
    if (keys_load(path, &key, err) < 0) return -1;
    time_t end = (time_t)key.card.expires_s;
    struct tm parts;
    if (gmtime_r(&end, &parts)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    keys_hex(key.card.public_key, KEYS_BYTES, hex);
    bool good = keys_card_check(&key.card, key.authority, clock_wall_ms() / 1000, &fault) == 0;
    output_t format = output_of(o->output, o->json);
    if (format != OUTPUT_TABLE) {
        output_value(format,
                     json_pack("{s:s, s:o, s:s, s:s, s:o}", "role", keys_role_name(key.card.role),
                               "name", output_text(key.card.name), "expires", when, "public", hex,
                               "fault", good ? json_null() : output_text(fault.text)),
                     stdout);
        return 0;
    }
    printf("role     %s\nname     %s\nexpires  %s\npublic   %s\nstate    %s\n",
           keys_role_name(key.card.role), key.card.name, when, hex, good ? "good" : fault.text);
    return 0;
}

static void add(keys_revoked_t *list, const uint8_t key[KEYS_BYTES])
{
    for (size_t i = 0; i < list->n; i++)
        if (memcmp(list->at[i], key, KEYS_BYTES) == 0) return;
    list->at = mem_realloc(list->at, (list->n + 1) * KEYS_BYTES);
    memcpy(list->at[list->n++], key, KEYS_BYTES);
}

/* All keys that were issued under a name. */
static size_t add_name(const options_t *o, const char *name, keys_revoked_t *list)
{
    char *path = mem_printf("%s/issued", o->dir), line[256];
    FILE *file = fopen(path, "r");
    size_t found = 0;
    while (file && fgets(line, sizeof line, file)) {
        char hex[65], one[KEYS_NAME];
        uint8_t key[KEYS_BYTES];
        if (sscanf(line, "%64s %32s", hex, one) != 2 || strcmp(one, name) != 0) continue;
        if (strlen(hex) != 2 * KEYS_BYTES || !keys_unhex(hex, KEYS_BYTES, key)) continue;
        add(list, key);
        found++;
    }
    if (file) fclose(file);
    free(path);
    return found;
}

static int read_list(const options_t *o, const keys_authority_t *authority, keys_revoked_t *list,
                     err_t *err)
{
    size_t n;
    char *path = mem_printf("%s/revoked", o->dir), *text = file_read(path, &n, err);
    int rc = text ? keys_revoked_read(text, n, authority->public_key, list, err) : -1;
    free(text);
    free(path);
    return rc;
}

/* The list, and who has changed it: whoever has the authority's file. */
static int put(store_t *store, const keys_authority_t *authority, const char *list,
               const char *which, err_t *err)
{
    char hex[2 * KEYS_BYTES + 1];
    keys_hex(authority->public_key, KEYS_BYTES, hex);
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

/* With what another machine's `pcp keys revoke` has put there; and to there. */
static int share(const options_t *o, const keys_authority_t *authority, const char *which,
                 keys_revoked_t *list, err_t *err)
{
    char *text = NULL;
    keys_revoked_t theirs = {0};
    err_t fault = {0};
    store_t *store = store_open(o->store, NULL, err);
    int rc = store && store_check(store, err) == 0 ? store_revoked_get(store, 0, &text, err) : -1;
    if (rc == 0 && text)
        rc = keys_revoked_read(text, strlen(text), authority->public_key, &theirs, &fault);
    if (fault.code)
        err_set(err, ERR_STATE, "the records have a list that is not of this authority: %s",
                fault.text);
    for (size_t i = 0; i < theirs.n; i++) add(list, theirs.at[i]);
    free(theirs.at);
    free(text);
    text = keys_revoked_write(authority, list);
    if (rc == 0) rc = put(store, authority, text, which, err);
    free(text);
    store_destroy(&store);
    return rc;
}

static int revoke_key(const options_t *o, const char *which, err_t *err)
{
    keys_authority_t authority;
    keys_revoked_t list;
    keys_t file;
    uint8_t key[KEYS_BYTES];
    if (read_authority(o, &authority, err) < 0 || read_list(o, &authority, &list, err) < 0)
        return -1;
    size_t before = list.n;
    int rc = 0;
    if (strlen(which) == 2 * KEYS_BYTES && keys_unhex(which, KEYS_BYTES, key))
        add(&list, key);
    else if (keys_load(which, &file, NULL) == 0)
        add(&list, file.card.public_key);
    else if (add_name(o, which, &list) == 0)
        rc = err_set(err, ERR_ARG, "%s is no key's file, no public key, and no name in %s/issued",
                     which, o->dir);
    if (rc == 0 && o->store && *o->store) rc = share(o, &authority, which, &list, err);
    if (rc == 0) rc = write_revoked(o, &authority, &list, err);
    if (rc == 0) printf("%zu revoked, %zu in all\n", list.n - before, list.n);
    free(list.at);
    return rc;
}

static int body(const void *options, const config_args_t *args, err_t *err)
{
    const options_t *o = options;
    const char *word = args->n_operands > 0 ? args->operands[0] : "";
    const char *which = args->n_operands > 1 ? args->operands[1] : NULL;
    bool needs = strcmp(word, "show") == 0 || strcmp(word, "revoke") == 0;
    if (needs != (which != NULL) || args->n_operands > 2)
        return err_set(err, ERR_ARG, "want init, issue, cluster, show FILE or revoke WHICH");
    if (strcmp(word, "init") == 0) return init(o, err);
    if (strcmp(word, "issue") == 0) return issue(o, err);
    if (strcmp(word, "cluster") == 0) return cluster(o, err);
    if (strcmp(word, "show") == 0) return show(o, which, err);
    if (strcmp(word, "revoke") == 0) return revoke_key(o, which, err);
    return err_set(err, ERR_ARG, "\"%s\": want init, issue, cluster, show FILE or revoke WHICH",
                   word);
}

int cmd_keys(int argc, char **argv)
{
    options_t options = {0};
    err_t err = {0};
    return cmd_run(&table, &options, argc, argv, body, &err);
}
