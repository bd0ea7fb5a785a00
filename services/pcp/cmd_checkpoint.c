/* pcp checkpoint: what a directory of checkpoints holds, whether it is whole, copies, pruning. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "ckpt/checkpoint.h"
#include "msg/keyring.h"
#include "msg/vouch.h"
#include "pcp/checkpoint_now.h"
#include "pcp/cmd.h"
#include "pcp/hf_dir.h"
#include "pcp/output.h"
#include "store/store.h"

typedef struct {
    char *out, *dir, *hf, *adapters, *dtype, *shepherd, *key_file, *store, *output;
    bool json;
    int64_t keep, wait_ms, shard_mb;
} options_t;

static const config_field_t fields[] = {
    {"out", CONFIG_STRING, offsetof(options_t, out), NULL, "export: safetensors file to write", 0,
     0, NULL, false},
    {"dir", CONFIG_STRING, offsetof(options_t, dir), NULL,
     "export: directory to copy the whole round to", 0, 0, NULL, false},
    {"hf", CONFIG_STRING, offsetof(options_t, hf), NULL,
     "export: directory for config.json, weights and the tokenizer's files as Hugging Face reads "
     "them",
     0, 0, NULL, false},
    {"adapters", CONFIG_STRING, offsetof(options_t, adapters), NULL,
     "export: directory for the adapters of pcp train --lora alone, as PEFT reads them", 0, 0, NULL,
     false},
    {"dtype", CONFIG_ENUM, offsetof(options_t, dtype), "f32", "export --hf: of the weights", 0, 0,
     "f32|bf16", false},
    {"shard_mb", CONFIG_INT, offsetof(options_t, shard_mb), "5000",
     "export --hf: a file of weights has about so many MB", 1, 1000000, NULL, false},
    CMD_SHEPHERD_FIELD(options_t),
    CMD_KEY_FIELD(options_t),
    {"wait_ms", CONFIG_INT, offsetof(options_t, wait_ms), "5000",
     "now: how long the shepherd may take to answer", 1, 3600000, NULL, false},
    OUTPUT_FIELDS(options_t, "list, verify: "),
    {"keep", CONFIG_INT, offsetof(options_t, keep), "3", "prune: how many to keep", 1, 1000000,
     NULL, false},
    {"store", CONFIG_STRING, offsetof(options_t, store), NULL,
     "prune: URL of the records to mark them in [pcp.db beside the directory, if it is there]", 0,
     0, NULL, true},
};
static const config_table_t table = {
    .purpose = "list, verify, export and prune checkpoints",
    .usage =
        "usage: pcp checkpoint list|verify|sign|export|prune PATH [FLAGS]\n"
        "       pcp checkpoint now [RUN] --shepherd ENDPOINT\n\n"
        "list    the checkpoints of a directory, the one written last first\n"
        "verify  check every file of each (or of one round's directory) against its hash; who "
        "signed\n"
        "        it and when; with --key-file, whether that is a shepherd or operator of its "
        "cluster\n"
        "sign    one round's directory by an operator's key (--key-file): in a cluster with "
        "keys a run\n"
        "        goes on from signed ones only\n"
        "export  the parameters of the newest whole one (or of the given round) as one file,\n"
        "        as a copy, as a published model (--hf; adapters added to their weights), or the\n"
        "        adapters alone (--adapters)\n"
        "prune   remove all but the last few, and what crashed writers left\n"
        "now     ask a running shepherd for one; training goes on meanwhile. RUN: which one "
        "of a cluster\n"
        "Exit status: 0 well, 1 something is damaged or cannot be read, 2 usage.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .no_env = true,
    .env_field = "shepherd",
};

static json_t *json_of(const checkpoint_entry_t *c, bool verified)
{
    const char *state = c->fault       ? "damaged"
                        : verified     ? "whole"
                        : c->has_state ? "resumable"
                                       : "-";
    json_t *json = json_pack("{s:o, s:o, s:I, s:I, s:I, s:s}", "name", output_text(c->name), "run",
                             output_text(c->run), "round", (json_int_t)c->round, "tokens",
                             (json_int_t)c->tokens, "bytes", (json_int_t)c->n_bytes, "state",
                             state);
    json_object_set_new(json, "loss", isnan(c->loss) ? json_null() : json_real(c->loss));
    json_object_set_new(json, "validation",
                        isnan(c->validation) ? json_null() : json_real(c->validation));
    json_object_set_new(json, "path", output_text(c->path));
    json_object_set_new(json, "hash", output_text(c->hash));
    json_object_set_new(json, "fault", output_text(c->fault));
    if (verified && (c->seal || keyring_own())) {
        char *who = vouch_tell(c->seal, c->hash);
        json_object_set_new(json, "signed", output_text(who));
        free(who);
    }
    return json;
}

/* Below the table, what no column has room for. Takes `rows`. */
static void print_notes(json_t *rows)
{
    static const char *const keys[] = {"fault", "signed"};
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            const char *text = json_string_value(json_object_get(row, keys[k]));
            const char *name = json_string_value(json_object_get(row, "name"));
            if (text) printf("    %s: %s\n", name ? name : "-", text);
        }
    }
    json_decref(rows);
}

static int list(const options_t *o, const char *root, bool verify, err_t *err)
{
    static const output_column_t columns[] = {{"name", "name", 20, NULL},
                                              {"round", "round", -8, NULL},
                                              {"tokens", "tokens", -14, NULL},
                                              {"loss", "loss", -10, NULL},
                                              {"validation", "validation", -10, NULL},
                                              {"bytes", "bytes", -12, NULL},
                                              {" state", "state", 0, NULL}};
    output_t format = output_of(o->output, o->json);
    checkpoint_list_t found;
    if (checkpoint_list(root, verify, &found, err) < 0) return -1;
    size_t n_bad = 0;
    json_t *rows = json_array();
    for (size_t i = 0; i < found.n; i++) {
        json_array_append_new(rows, json_of(&found.at[i], verify));
        n_bad += found.at[i].fault != NULL;
    }
    if (format == OUTPUT_TABLE) json_incref(rows);
    output_list(format, columns, sizeof columns / sizeof *columns, rows, stdout);
    if (format == OUTPUT_TABLE) print_notes(rows);
    int rc = 0;
    if (found.n == 0) rc = checkpoint_none(root, err);
    if (n_bad) rc = err_set(err, ERR_CORRUPT, "%zu of %zu checkpoints are damaged", n_bad, found.n);
    checkpoint_list_fini(&found);
    return rc;
}

/* A root's checkpoints, or the one that was named. */
static int verify(const options_t *o, const char *path, err_t *err)
{
    char *manifest = mem_printf("%s/manifest.json", path);
    bool one = file_exists(manifest);
    free(manifest);
    if (!one) return list(o, path, true, err);
    checkpoint_t *checkpoint = checkpoint_open(path, err);
    if (!checkpoint) return -1;
    output_t format = output_of(o->output, o->json);
    long long n_bytes = checkpoint_bytes(checkpoint);
    const char *hash = checkpoint_hash(checkpoint);
    char *who = vouch_tell(checkpoint_seal(checkpoint), hash);
    if (format == OUTPUT_TABLE)
        printf("%s: whole, %lld bytes, manifest %s\n%s\n", path, n_bytes, hash, who);
    else
        output_value(format,
                     json_pack("{s:o, s:s, s:I, s:s, s:o}", "path", output_text(path), "state",
                               "whole", "bytes", (json_int_t)n_bytes, "hash", hash, "signed",
                               output_text(who)),
                     stdout);
    free(who);
    checkpoint_close(&checkpoint);
    return 0;
}

static int export(const options_t *o, const char *path, err_t *err)
{
    if (!o->out && !o->dir && !o->hf && !o->adapters)
        return err_set(err, ERR_ARG,
                       "say where to: --out FILE, --dir DIR, --hf DIR or --adapters DIR");
    checkpoint_t *checkpoint = checkpoint_open(path, err);
    int rc = checkpoint ? 0 : -1;
    if (rc == 0 && o->out) rc = checkpoint_export(checkpoint, o->out, err);
    if (rc == 0 && o->dir) rc = checkpoint_copy(checkpoint, o->dir, err);
    const hf_export_t hf = {.bf16 = strcmp(o->dtype, "bf16") == 0,
                            .shard_bytes = (size_t)o->shard_mb * 1000000};
    if (rc == 0 && o->hf) rc = hf_dir_export(checkpoint, o->hf, &hf, err);
    if (rc == 0 && o->adapters) rc = hf_adapters_export(checkpoint, o->adapters, err);
    if (rc == 0)
        printf("round %lld of %s\n", (long long)checkpoint_info(checkpoint)->round,
               checkpoint_path(checkpoint));
    checkpoint_close(&checkpoint);
    return rc;
}

/* Those that are there, of whatever version. */
static store_t *open_store(const char *url, err_t *err)
{
    const store_options_t there = {.existing = true};
    store_schema_t schema;
    store_t *store = store_open(url, &there, err);
    bool none = store && (store_schema(store, &schema, err) < 0 ||
                          (schema.present == 0 && store_check(store, err) < 0));
    if (none) store_destroy(&store);
    return store;
}

/* The records of the run that wrote into this directory; NULL without an error: none are known. */
static store_t *find_store(const options_t *o, const char *root, err_t *err)
{
    if (o->store && *o->store) return open_store(o->store, err);
    char *path = mem_printf("%s/../pcp.db", root), *url = mem_printf("sqlite://%s", path);
    store_t *store = file_exists(path) ? open_store(url, err) : NULL;
    free(url);
    free(path);
    return store;
}

static int mark(store_t *store, const checkpoint_list_t *removed, err_t *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && store && i < removed->n; i++) {
        const checkpoint_entry_t *c = &removed->at[i];
        err_t fault = {0};
        if (!*c->hash) continue; /* it was never recorded as good */
        rc = store_checkpoint_mark(store, c->run, c->hash, "pruned", "pcp checkpoint prune",
                                   &fault);
        if (fault.code == ERR_STATE) rc = 0; /* the records have not heard of it */
        if (rc < 0)
            err_set(err, fault.code, "%s: it is removed, but not marked: %s", c->name, fault.text);
    }
    return rc;
}

/* A path that is mistyped, or a run's own, would else look as if all were well. */
static int has_some(const char *root, err_t *err)
{
    checkpoint_list_t found;
    if (checkpoint_list(root, false, &found, err) < 0) return -1;
    int rc = found.n ? 0 : checkpoint_none(root, err);
    checkpoint_list_fini(&found);
    return rc;
}

/* Nothing is removed where it could not be said. */
static int prune(const options_t *o, const char *root, err_t *err)
{
    checkpoint_list_t removed;
    err_t fault = {0};
    store_t *store = find_store(o, root, err);
    if (!store && err->code) return -1;
    int rc = checkpoint_prune(root, (int)o->keep, &removed, err);
    for (size_t i = 0; i < removed.n; i++) printf("removed %s\n", removed.at[i].name);
    if (mark(store, &removed, rc < 0 ? &fault : err) < 0) rc = -1;
    if (rc == 0 && removed.n == 0) rc = has_some(root, err);
    checkpoint_list_fini(&removed);
    store_destroy(&store);
    return rc;
}

static int run(const void *options, const config_args_t *args, err_t *err)
{
    const options_t *o = options;
    bool two = args->n_operands == 2;
    const char *verb = two ? args->operands[0] : "", *path = two ? args->operands[1] : "";
    if (args->n_operands > 0 && args->n_operands < 3 && strcmp(args->operands[0], "now") == 0)
        return checkpoint_now(o->shepherd, two ? path : NULL, o->wait_ms, err);
    if (two && cmd_named(path, "PATH", "a directory of checkpoints, or one of them", err) < 0)
        return -1;
    if (strcmp(verb, "list") == 0) return list(o, path, false, err);
    if (strcmp(verb, "verify") == 0) return verify(o, path, err);
    if (strcmp(verb, "sign") == 0) return checkpoint_sign(path, err);
    if (strcmp(verb, "export") == 0) return export(o, path, err);
    if (strcmp(verb, "prune") == 0) return prune(o, path, err);
    return err_set(err, ERR_ARG,
                   "say one of list, verify, sign, export, prune and a directory, or now");
}

int cmd_checkpoint(int argc, char **argv)
{
    options_t options = {0};
    err_t err = {0};
    return cmd_run(&table, &options, argc, argv, run, &err);
}
