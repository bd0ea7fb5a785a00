/* pcp keys: the authority of a cluster and what it signs. Everything is in one directory:
 * authority.key, the shepherds' shepherd.key, NAME.key of each member, `issued` (a line each) and
 * `revoked` (signed). Only `revoked` and each member's own file leave it. `cluster` puts one key for
 * each role into a directory of their own, which leaves as a whole. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/random.h"
#include "msg/keys.h"
#include "pcp/cmd.h"
#include "pcp/keys_dir.h"
#include "pcp/keys_renew.h"
#include "pcp/output.h"

typedef struct {
    char *dir, *role, *name, *out, *output, *store, *until;
    bool json, folders;
    int64_t days, until_s; /* 0: by days */
} options_t;

#define AT(key) offsetof(options_t, key)
static const config_field_t fields[] = {
    {"dir", CONFIG_STRING, AT(dir), "keys", "directory of the authority", 0, 0, NULL, false},
    {"role", CONFIG_ENUM, AT(role), "worker", "issue: what the member may be", 0, 0,
     "worker|aggregator|compiler|supervisor|metrics|operator|viewer|shepherd|inference|gateway",
     false},
    {"name", CONFIG_STRING, AT(name), NULL,
     "issue: its ids begin with it; letters, digits and . _ @ + [by the role]", 0, 0, NULL, false},
    {"days", CONFIG_INT, AT(days), "90",
     "init, issue, renew, cluster: until it expires; 0: it has expired", 0, 36500, NULL, false},
    {"until", CONFIG_STRING, AT(until), NULL,
     "when it expires, instead of --days: 2026-12-31 or 2026-12-31T12:00:00Z (UTC)", 0, 0, NULL,
     false},
    {"store", CONFIG_STRING, AT(store), NULL,
     "revoke, rotate switch: URL of the cluster's records, where shepherds find the list", 0, 0,
     NULL, true},
    {"out", CONFIG_STRING, AT(out), NULL,
     "issue: the file [DIR/NAME.key]; cluster: the directory [DIR/members]", 0, 0, NULL, false},
    {"folders", CONFIG_BOOL, AT(folders), "false",
     "cluster: OUT/ROLE/ROLE.key instead of OUT/ROLE.key, for a volume each", 0, 0, NULL, false},
    OUTPUT_FIELDS(options_t, "show: "),
};
static const config_table_t table = {
    .usage =
        "usage: pcp keys init|issue|renew|cluster|show|revoke|rotate [FILE|NAME|KEY|STEP] "
        "[FLAGS]\n\n"
        "init             a new authority, the shepherds' key, an empty list of revoked keys\n"
        "issue            a key for one member (--role, --name), which it starts with (--key)\n"
        "renew FILE...    the same keys with a later end; members that run take them\n"
        "cluster          all that a cluster needs: the authority, and a key for each role, named\n"
        "                 as it; what is there already stays\n"
        "show FILE        role, name and end of a key; says nothing secret\n"
        "revoke WHICH     a file, a name or a public key: it is on DIR/revoked from now on,\n"
        "                 which shepherds and aggregators read (--revoked), and in the records\n"
        "                 (--store), which shepherds read, who tell all members\n"
        "rotate STEP      another authority: begin (members trust both), switch (the new one "
        "signs),\n"
        "                 end (the old one is trusted no more); after each all keys are renewed",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .no_env = true,
};

static int64_t end_of(const options_t *o)
{
    return o->until_s ? o->until_s : clock_wall_ms() / 1000 + o->days * 86400;
}

static int read_until(options_t *o, err_t *err)
{
    struct tm parts = {0};
    if (!o->until || !*o->until) return 0;
    const char *end = strptime(o->until, "%Y-%m-%d", &parts);
    if (end && *end == 'T') end = strptime(end, "T%H:%M:%SZ", &parts);
    if (!end || *end)
        return err_set(err, ERR_ARG, "until: \"%s\" is no time: 2026-12-31T12:00:00Z", o->until);
    o->until_s = (int64_t)timegm(&parts);
    return 0;
}

/* --- init, issue --- */

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
        if (keys_dir_write_secret(server, keys_write(&shepherd), err) == 0 &&
            keys_dir_put_revoked(o->dir, &authority, &nobody, err) == 0 &&
            keys_dir_note(o->dir, &shepherd.card, err) == 0)
            rc = keys_dir_write_secret(path, keys_authority_write(&authority), err);
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
    if (keys_role_parse(o->role, &role, err) < 0 ||
        keys_dir_authority(o->dir, "authority.key", &authority, err) < 0)
        return -1;
    random_hex(digits, 8);
    char *name = o->name && *o->name ? mem_strdup(o->name) : mem_printf("%s.%s", o->role, digits);
    char *path = o->out ? mem_strdup(o->out) : mem_printf("%s/%s.key", o->dir, name);
    int rc = -1;
    if (file_exists(path))
        err_set(err, ERR_ARG, "%s exists: give another --name or --out", path);
    else if (keys_issue(&authority, role, name, end_of(o), &key, err) == 0 &&
             keys_dir_note(o->dir, &key.card, err) == 0)
        rc = keys_dir_write_secret(path, keys_write(&key), err);
    if (rc == 0) puts(path);
    free(path);
    free(name);
    return rc;
}

/* --- cluster --- */

static const keys_role_t cluster_roles[] = {KEYS_AGGREGATOR, KEYS_COMPILER, KEYS_SUPERVISOR,
                                            KEYS_WORKER,     KEYS_METRICS,  KEYS_OPERATOR,
                                            KEYS_GATEWAY,    KEYS_INFERENCE};

/* Where the key of a role belongs; its folder is made. Returns, caller frees; NULL: error. */
static char *member_path(const options_t *o, const char *role, err_t *err)
{
    char *out = o->out ? mem_strdup(o->out) : mem_printf("%s/members", o->dir);
    char *folder = o->folders ? mem_printf("%s/%s", out, role) : mem_strdup(out);
    char *path = file_make_dirs(folder, err) == 0 ? mem_printf("%s/%s.key", folder, role) : NULL;
    free(folder);
    free(out);
    return path;
}

static void warn_of_end(const keys_card_t *card, const char *path)
{
    enum { DAY_S = 86400, SOON_DAYS = 30 };
    int64_t days = (card->expires_s - clock_wall_ms() / 1000) / DAY_S;
    if (days >= SOON_DAYS) return;
    fprintf(stderr, "pcp keys: %s ends in %" PRId64 " days: pcp keys renew %s --dir DIR\n", path,
            days < 0 ? 0 : days, path);
}

/* One that is there already must be a key that members of this authority's talk to. */
static int keep_member(const keys_authority_t *authority, const char *path, err_t *err)
{
    keys_t key;
    if (keys_load(path, &key, err) < 0) return -1;
    bool ours = keys_trusts(&key.trust, authority->trust.at[0]);
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
               keys_dir_note(o->dir, &key.card, err) < 0) {
        return -1;
    }
    int rc = keys_dir_write_secret(path, keys_write(&key), err);
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
    if (rc < 0 || keys_dir_authority(o->dir, "authority.key", &authority, err) < 0) return -1;
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
    bool good = keys_card_check(&key.card, &key.trust, clock_wall_ms() / 1000, &fault) == 0;
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
        keys_dir_add(list, key);
        found++;
    }
    if (file) fclose(file);
    free(path);
    return found;
}

static int revoke_key(const options_t *o, const char *which, err_t *err)
{
    keys_authority_t authority;
    keys_revoked_t list;
    keys_t file;
    uint8_t key[KEYS_BYTES];
    if (keys_dir_authority(o->dir, "authority.key", &authority, err) < 0 ||
        keys_dir_revoked(o->dir, &authority, &list, err) < 0)
        return -1;
    size_t before = list.n;
    int rc = 0;
    if (strlen(which) == 2 * KEYS_BYTES && keys_unhex(which, KEYS_BYTES, key))
        keys_dir_add(&list, key);
    else if (keys_load(which, &file, NULL) == 0)
        keys_dir_add(&list, file.card.public_key);
    else if (add_name(o, which, &list) == 0)
        rc = err_set(err, ERR_ARG, "%s is no key's file, no public key, and no name in %s/issued",
                     which, o->dir);
    if (rc == 0 && o->store && *o->store)
        rc = keys_dir_share(o->store, &authority, which, &list, err);
    if (rc == 0) rc = keys_dir_put_revoked(o->dir, &authority, &list, err);
    if (rc == 0) printf("%zu revoked, %zu in all\n", list.n - before, list.n);
    free(list.at);
    return rc;
}

/* Words, and how many more each wants. */
static const struct {
    const char *word;
    int least, most;
} words[] = {{"init", 0, 0},        {"issue", 0, 0},  {"cluster", 0, 0}, {"show", 1, 1},
             {"renew", 1, INT_MAX}, {"revoke", 1, 1}, {"rotate", 1, 1}};

static int body(const void *options, const config_args_t *args, err_t *err)
{
    options_t o = *(const options_t *)options;
    const char *word = args->n_operands > 0 ? args->operands[0] : "";
    int n = args->n_operands - 1;
    bool known = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        known |= strcmp(word, words[i].word) == 0 && n >= words[i].least && n <= words[i].most;
    if (!known)
        return err_set(err, ERR_ARG,
                       "say one of: init, issue, cluster, show FILE, renew FILE..., revoke WHICH, "
                       "rotate begin|switch|end");
    const char *which = n > 0 ? args->operands[1] : NULL;
    if (read_until(&o, err) < 0) return -1;
    if (strcmp(word, "init") == 0) return init(&o, err);
    if (strcmp(word, "issue") == 0) return issue(&o, err);
    if (strcmp(word, "cluster") == 0) return cluster(&o, err);
    if (strcmp(word, "show") == 0) return show(&o, which, err);
    if (strcmp(word, "rotate") == 0) return keys_rotate(o.dir, which, o.store, err);
    if (strcmp(word, "revoke") == 0) return revoke_key(&o, which, err);
    return keys_renew_files(o.dir, args->operands + 1, (size_t)n, end_of(&o), err);
}

int cmd_keys(int argc, char **argv)
{
    options_t options = {0};
    err_t err = {0};
    return cmd_run(&table, &options, argc, argv, body, &err);
}
