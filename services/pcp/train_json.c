/* train.json and run.json. */
#include "pcp/train_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "data/corpus.h"
#include "data/token_bytes.h"
#include "pcp/train_dir.h"
#include "pcp/train_records.h"

static int write_in(const char *dir, const char *name, const char *text, err_t *err)
{
    char *path = mem_printf("%s/%s", dir, name);
    int rc = file_write_atomic(path, text, strlen(text), err);
    free(path);
    return rc;
}

/* --- train.json --- */

static bool is_of_one_start(const char *key)
{
    return strcmp(key, "run_dir") == 0 || strcmp(key, "resume") == 0 ||
           strcmp(key, "prepare_only") == 0;
}

int train_json_write_experiment(const train_config_t *config, err_t *err)
{
    config_field_t *fields = mem_calloc(train_config_table.n_fields, sizeof *fields);
    config_table_t kept = {.fields = fields};
    for (size_t i = 0; i < train_config_table.n_fields; i++)
        if (!is_of_one_start(train_config_table.fields[i].name))
            fields[kept.n_fields++] = train_config_table.fields[i];
    train_config_t copy = *config;
    copy.model = train_dir_absolute(config->model);
    const char *records = train_records_dir(config->data);
    char *dir = train_dir_absolute(records);
    copy.data = records ? mem_printf(TRAIN_RECORDS "%s", dir)
                        : corpus_absolute(config->data, train_dir_absolute);
    free(dir);
    copy.init = train_dir_absolute(config->init);
    copy.checkpoint = train_dir_absolute(config->checkpoint);
    char *text = config_print(&kept, &copy, false);
    int rc = write_in(config->run_dir, TRAIN_EXPERIMENT, text, err);
    free(text);
    free(copy.model);
    free(copy.data);
    free(copy.init);
    free(copy.checkpoint);
    free(fields);
    return rc;
}

/* --- run.json --- */

static json_t *options(const train_config_t *c)
{
    static const config_field_t fields[] = {TRAIN_OPTIONS(OPTION_FIELD, train_config_t)};
    const config_table_t table = {.fields = fields, .n_fields = sizeof fields / sizeof *fields};
    char *text = config_print(&table, c, false);
    json_t *json = json_loads(text, 0, NULL);
    free(text);
    return json;
}

static json_t *token_path(const train_config_t *c, const char *what, int bytes)
{
    return json_sprintf("%s/%s.%s", c->run_dir, what, token_bytes_ending(bytes));
}

static json_t *files(const train_config_t *c, const train_prepared_t *p)
{
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:o, s:s}", "model", json_sprintf("%s/model.mlir", c->run_dir), "init",
        json_sprintf("%s/init.safetensors", c->run_dir), "train_tokens",
        token_path(c, "train", p->token_bytes), "tokenizer",
        json_sprintf("%s/tokenizer.json", c->run_dir), "checkpoint", p->checkpoint);
    if (p->validation_tokens > 0)
        json_object_set_new(json, "validation_tokens", token_path(c, "validation", p->token_bytes));
    return json;
}

/* What was found in the model and the data. */
static json_t *found(const train_config_t *c, const train_prepared_t *p)
{
    json_t *json = json_pack("{s:s, s:i}", "run", p->run, "vocab", p->vocab);
    if (p->averaged_from)
        json_object_set_new(json, "averaged_from", json_integer(p->averaged_from));
    if (c->resume) json_object_set_new(json, "resume", json_string(c->resume));
    return json;
}

int train_json_write_run(const train_config_t *config, const train_prepared_t *prepared, err_t *err)
{
    json_t *json = options(config), *more = files(config, prepared),
           *most = found(config, prepared);
    bool good = json && more && most && json_object_update(json, more) == 0 &&
                json_object_update(json, most) == 0;
    char *text = good ? json_dumps(json, JSON_INDENT(2)) : NULL;
    int rc = text ? write_in(config->run_dir, "run.json", text, err)
                  : err_set(err, ERR_ARG, "run.json: a path or name is not UTF-8");
    free(text);
    json_decref(json);
    json_decref(more);
    json_decref(most);
    return rc;
}

/* Bytes of a file of the run; -1: it cannot be read. */
static int64_t count_bytes(const char *dir, const char *name, err_t *err)
{
    char *path = mem_printf("%s/%s", dir, name);
    int64_t n = file_size(path);
    if (n < 0) err_set(err, ERR_IO, "%s: it is missing, and the run cannot go on without it", path);
    free(path);
    return n;
}

/* Tokens in the file of that key; -1. Its directory may have another path than when it was made. */
static int64_t count_tokens(const char *dir, const json_t *json, const char *key, int *bytes,
                            err_t *err)
{
    const char *path = json_string_value(json_object_get(json, key));
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (!path) {
        err_set(err, ERR_PARSE, "%s/run.json: no \"%s\" in it", dir, key);
        return -1;
    }
    int64_t n = count_bytes(dir, slash ? slash + 1 : path, err);
    *bytes = token_bytes_named(path);
    return n < 0 ? -1 : n / *bytes;
}

int train_json_read_run(const char *dir, train_prepared_t *out, err_t *err)
{
    json_error_t fault;
    const char *run = NULL;
    char *path = mem_printf("%s/run.json", dir);
    json_t *json = json_load_file(path, 0, &fault);
    int rc = 0;
    if (!json)
        rc = err_set(err, ERR_PARSE, "%s:%d:%d: %s", path, fault.line, fault.column, fault.text);
    else if (json_unpack(json, "{s:s, s:i}", "run", &run, "vocab", &out->vocab) < 0)
        rc = err_set(err, ERR_PARSE, "%s: no \"run\" or \"vocab\" in it", path);
    if (rc == 0) out->run = mem_strdup(run);
    if (rc == 0)
        out->train_tokens = count_tokens(dir, json, "train_tokens", &out->token_bytes, err);
    if (rc == 0 && json_object_get(json, "validation_tokens"))
        out->validation_tokens = count_tokens(dir, json, "validation_tokens", &out->token_bytes,
                                              err);
    if (rc == 0 && (out->train_tokens < 0 || out->validation_tokens < 0)) rc = -1;
    if (rc == 0 && count_bytes(dir, "init.safetensors", err) < 0) rc = -1;
    json_decref(json);
    free(path);
    return rc;
}
