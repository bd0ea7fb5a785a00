/* Files of a run directory: tokens, tokenizer, initial values, the shepherd's configuration. */
#include "pcp/train_prepare.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "ckpt/safetensors.h"
#include "ir/tensor.h"
#include "model/init.h"
#include "model/tokenizer.h"
#include "pcp/model_info.h"

static int write_in(const char *dir, const char *name, const void *bytes, size_t n, err_t *err)
{
    char *path = mem_printf("%s/%s", dir, name);
    int status = file_write_atomic(path, bytes, n, err);
    free(path);
    return status;
}

/* --- tokens --- */

static int check_tokens(const model_info_t *model, const char *data, const tokenizer_t *tokenizer,
                        const uint16_t *tokens, size_t n, int *vocab, err_t *err)
{
    unsigned top = 0;
    for (size_t i = 0; i < n; i++)
        if (tokens[i] > top) top = tokens[i];
    *vocab = tokenizer_vocab(tokenizer) ? tokenizer_vocab(tokenizer) : (int)top + 1;
    if (model->vocab && *vocab > model->vocab)
        return err_set(
            err, ERR_ARG,
            "%s: %d different tokens (tokenizer %s), but the model's vocabulary has %lld", data,
            *vocab, tokenizer_kind(tokenizer), (long long)model->vocab);
    return 0;
}

static int write_tokens(const train_config_t *c, const model_info_t *model, const uint16_t *tokens,
                        size_t n, train_prepared_t *out, err_t *err)
{
    size_t row = (size_t)(model->row_tokens ? model->row_tokens : 1);
    size_t n_val = (size_t)((double)n * c->val_fraction), n_train = n - n_val;
    if (n_train < row + 1)
        return err_set(err, ERR_ARG,
                       "%s: %zu tokens to train on, a sequence of the model takes %zu", c->data,
                       n_train, row + 1);
    if (n_val > 0 && n_val < row + 1)
        return err_set(err, ERR_ARG,
                       "%s: %zu tokens to validate on, a sequence takes %zu: raise val_fraction or "
                       "set it to 0",
                       c->data, n_val, row + 1);
    out->train_tokens = (int64_t)n_train;
    out->validation_tokens = (int64_t)n_val;
    if (write_in(c->run_dir, "train.u16", tokens, 2 * n_train, err) < 0) return -1;
    return write_in(c->run_dir, "validation.u16", tokens + n_train, 2 * n_val, err);
}

static int prepare_tokens(const train_config_t *c, const model_info_t *model, train_prepared_t *out,
                          err_t *err)
{
    size_t n = 0, n_tokens = 0;
    char *text = file_read(c->data, &n, err), *json = NULL;
    if (!text) return -1;
    tokenizer_t *tokenizer = tokenizer_new(c->tokenizer, text, n, err);
    uint16_t *tokens = tokenizer ? tokenizer_encode(tokenizer, text, n, &n_tokens, err) : NULL;
    int status = tokens ? 0 : err_prefix(err, "%s: ", c->data);
    if (status == 0)
        status = check_tokens(model, c->data, tokenizer, tokens, n_tokens, &out->vocab, err);
    if (status == 0) status = write_tokens(c, model, tokens, n_tokens, out, err);
    if (status == 0) {
        json = tokenizer_print(tokenizer);
        status = write_in(c->run_dir, "tokenizer.json", json, strlen(json), err);
    }
    free(json);
    free(tokens);
    tokenizer_destroy(&tokenizer);
    free(text);
    return status;
}

/* --- initial values --- */

static int copy_given(const safetensors_t *file, const optim_arg_t *arg, float *values, err_t *err)
{
    const safetensor_t *t = safetensors_find(file, arg->name);
    char want[IR_TYPE_TEXT], got[IR_TYPE_TEXT];
    if (!t) return err_set(err, ERR_ARG, "has no tensor \"%s\"", arg->name);
    ir_type_t type = ir_type(t->dtype, t->rank, t->dims);
    if (!ir_shape_equal(&type, &arg->type) || !dtype_is_float(t->dtype))
        return err_set(err, ERR_SHAPE, "\"%s\" is %s, the model has %s", arg->name,
                       ir_type_text(&type, got), ir_type_text(&arg->type, want));
    const tensor_t given = {.type = type, .data = (void *)(uintptr_t)t->data};
    int64_t n = ir_type_count(&type);
    for (int64_t i = 0; i < n; i++) values[i] = (float)tensor_get_f64(&given, i);
    return 0;
}

static int make_values(const train_config_t *c, const model_info_t *model, int arg,
                       const safetensors_t *given, safetensor_t *out, err_t *err)
{
    const optim_arg_t *a = &model->args[arg];
    int64_t n = ir_type_count(&a->type);
    float *values = mem_calloc((size_t)n, sizeof *values);
    *out = (safetensor_t){.name = a->name,
                          .dtype = DT_F32,
                          .rank = a->type.rank,
                          .data = values,
                          .n_bytes = (size_t)n * sizeof *values};
    if (a->type.rank > SAFETENSORS_MAX_RANK)
        return err_set(err, ERR_UNSUPPORTED, "parameter \"%s\" has rank %d, at most %d", a->name,
                       a->type.rank, SAFETENSORS_MAX_RANK);
    for (int i = 0; i < a->type.rank; i++) out->dims[i] = a->type.dim[i];
    if (given) {
        if (copy_given(given, a, values, err) < 0) return err_prefix(err, "%s: ", c->init);
        return 0;
    }
    return init_fill(init_rule(model->entry, arg), (uint64_t)c->seed, a->name, values, n, err);
}

static int prepare_init(const train_config_t *c, const model_info_t *model, train_prepared_t *out,
                        err_t *err)
{
    safetensors_t *given = NULL;
    if (c->init && !(given = safetensors_open(c->init, err))) return -1;
    safetensor_t *tensors = mem_calloc((size_t)model->n_params, sizeof *tensors);
    int n = 0, status = 0;
    for (int i = 0; status == 0 && i < model->entry->body->n_arg; i++) {
        if (!model->args[i].is_param) continue;
        status = make_values(c, model, i, given, &tensors[n++], err);
        out->n_params += ir_type_count(&model->args[i].type);
    }
    out->n_tensors = n;
    char *path = mem_printf("%s/init.safetensors", c->run_dir);
    if (status == 0) status = safetensors_write(path, tensors, (size_t)n, NULL, 0, err);
    free(path);
    for (int i = 0; i < n; i++) free((void *)(uintptr_t)tensors[i].data);
    free(tensors);
    safetensors_close(&given);
    return status;
}

/* --- the shepherd's configuration --- */

static int write_run_json(const train_config_t *c, const train_prepared_t *p, err_t *err)
{
    char *base = mem_printf("%s/", c->run_dir);
    char *run = strrchr(c->run_dir, '/') ? strrchr(c->run_dir, '/') + 1 : c->run_dir;
    json_t *json = json_pack(
        "{s:s, s:s, s:s+, s:s+, s:s+, s:s, s:b, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
        "run", *run ? run : "run", "model", c->model, "init", base, "init.safetensors",
        "train_tokens", base, "train.u16", "tokenizer", base, "tokenizer.json", "data_layout",
        c->layout, "shuffle", c->shuffle, "vocab", p->vocab, "seed", (json_int_t)c->seed,
        "replicas", (json_int_t)(c->replicas ? c->replicas : c->workers), "inner_steps",
        (json_int_t)c->inner_steps, "rounds", (json_int_t)c->rounds, "shards",
        (json_int_t)c->aggregators, "workers", (json_int_t)c->workers, "validate_every",
        (json_int_t)c->validate_every, "validate_tokens", (json_int_t)c->validate_tokens);
    json_t *more = json_pack("{s:s, s:s, s:f, s:f, s:I, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, "
                             "s:I, s:f, s:f, s:s, s:s}",
                             "optimizer", c->optimizer, "precision", c->precision, "lr", c->lr,
                             "min_lr", c->min_lr, "warmup", (json_int_t)c->warmup, "schedule",
                             c->schedule, "decay_fraction", c->decay_fraction, "beta1", c->beta1,
                             "beta2", c->beta2, "eps", c->eps, "weight_decay", c->weight_decay,
                             "momentum", c->momentum, "clip", c->clip, "accumulate",
                             (json_int_t)c->accumulate, "outer_lr", c->outer_lr, "outer_momentum",
                             c->outer_momentum, "codec", c->codec, "checkpoint", p->checkpoint);
    int status = json && more ? json_object_update(json, more) : -1;
    if (status == 0 && p->validation_tokens > 0)
        status = json_object_set_new(json, "validation_tokens",
                                     json_sprintf("%svalidation.u16", base));
    json_t *saves = json_pack("{s:I, s:I}", "checkpoint_every", (json_int_t)c->checkpoint_every,
                              "checkpoint_keep", (json_int_t)c->checkpoint_keep);
    if (c->resume) json_object_set_new(saves, "resume", json_string(c->resume));
    if (c->quorum) json_object_set_new(saves, "quorum", json_integer(c->quorum));
    if (c->deadline_s > 0) json_object_set_new(saves, "deadline_s", json_real(c->deadline_s));
    if (strcmp(c->late, "drop") != 0) json_object_set_new(saves, "late", json_string(c->late));
    if (c->outlier > 0) json_object_set_new(saves, "outlier", json_real(c->outlier));
    if (c->balance) json_object_set_new(saves, "balance", json_true());
    if (c->replicas == CONFIG_WORD) {
        json_object_set_new(saves, "replicas", json_string("auto"));
        json_object_set_new(saves, "max_replicas", json_integer(train_config_most(c)));
        json_object_set_new(saves, "shrink_s", json_real(c->shrink_s));
    }
    if (status == 0) status = json_object_update(json, saves);
    json_decref(saves);
    char *text = status == 0 ? json_dumps(json, JSON_INDENT(2)) : NULL;
    if (!text)
        status = err_set(err, ERR_ARG, "run.json: a path or name is not UTF-8");
    else
        status = write_in(c->run_dir, "run.json", text, strlen(text), err);
    free(text);
    json_decref(json);
    json_decref(more);
    free(base);
    return status;
}

/* What an earlier run in this directory was going on with. */
static void forget_run(const train_config_t *c)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char *path = mem_printf("%s/pcp.db%s", c->run_dir, ends[i]);
        unlink(path);
        free(path);
    }
}

/* Unix sockets allow 107 bytes of path, run directories more. Nothing takes down the sockets of a
 * process that is killed, so the next one does. */
static int make_socket_dir(train_prepared_t *out, err_t *err)
{
    scratch_sweep("/tmp", "train");
    if (scratch_make(&out->socket_dir, "/tmp", "train", err) < 0) return -1;
    out->sockets = out->socket_dir.dir;
    return 0;
}

static int check_dtype(const train_config_t *c, const model_info_t *model, err_t *err)
{
    dtype_t want = dtype_parse(c->dtype, strlen(c->dtype)); /* auto: none */
    for (int i = 0; want != DT_NONE && i < model->entry->body->n_arg; i++)
        if (model->args[i].is_param && model->args[i].type.dtype != want)
            return err_set(err, ERR_TYPE, "%s: parameter \"%s\" is %s, --dtype %s was asked for",
                           c->model, model->args[i].name, dtype_name(model->args[i].type.dtype),
                           c->dtype);
    return 0;
}

int train_prepare(const train_config_t *c, train_prepared_t *out, err_t *err)
{
    model_info_t model;
    *out = (train_prepared_t){0};
    char *logs = mem_printf("%s/logs", c->run_dir);
    int status = model_info_load(c->model, &model, err);
    if (status == 0) status = check_dtype(c, &model, err);
    if (status == 0) status = file_make_dirs(logs, err);
    out->checkpoint = c->checkpoint ? mem_strdup(c->checkpoint)
                                    : mem_printf("%s/checkpoint", c->run_dir);
    if (status == 0) status = prepare_tokens(c, &model, out, err);
    if (status == 0) status = prepare_init(c, &model, out, err);
    if (status == 0) status = write_run_json(c, out, err);
    if (status == 0)
        if (!c->resume) forget_run(c);
    if (status == 0) status = make_socket_dir(out, err);
    model_info_fini(&model);
    free(logs);
    return status;
}

void train_prepared_fini(train_prepared_t *self)
{
    free(self->checkpoint);
    scratch_remove(&self->socket_dir);
    *self = (train_prepared_t){0};
}
