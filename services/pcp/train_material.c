/* Tokens and initial values of a run. */
#include "pcp/train_material.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "compile/lora.h"
#include "data/token_bytes.h"
#include "ir/tensor.h"
#include "model/init.h"
#include "pcp/corpus_tokens.h"
#include "pcp/init_file.h"
#include "pcp/train_records.h"
#include "text/tokenizer.h"

/* Less than this takes no time worth a word. */
static const size_t MUCH_BYTES = 16 << 20;

static void tell(progress_t *progress, const char *what, const char *of, uint64_t n_bytes)
{
    if (progress && n_bytes >= MUCH_BYTES)
        progress_phase(progress, "%s %s (%llu MB)", what, of,
                       (unsigned long long)n_bytes / 1000000);
}

/* --- tokens --- */

static int check_tokens(const train_config_t *c, const model_info_t *model,
                        const tokenizer_t *tokenizer, uint32_t top, int *vocab, err_t *err)
{
    *vocab = tokenizer_vocab(tokenizer) ? tokenizer_vocab(tokenizer) : (int)top + 1;
    if (model->vocab && *vocab > model->vocab)
        return err_set(
            err, ERR_ARG,
            "%s: %d different tokens (tokenizer %s), but the model's vocabulary has %lld (%s)",
            c->data, *vocab, c->tokenizer, (long long)model->vocab, c->model);
    return 0;
}

static int split(const train_config_t *c, const model_info_t *model, size_t n,
                 train_material_t *out, err_t *err)
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
    out->n_train = n_train;
    out->n_validation = n_val;
    return 0;
}

char *train_material_path(const char *dir, const char *what, int bytes)
{
    return mem_printf("%s/%s.%s", dir, what, token_bytes_ending(bytes));
}

static int begin_tokens(const train_config_t *c, uint64_t vocab, train_material_t *out, err_t *err)
{
    char *path = train_material_path(c->run_dir, "train", token_bytes_for(vocab));
    out->tokens = token_file_new(path, err);
    free(path);
    return out->tokens ? 0 : -1;
}

static bool is_chat(const train_config_t *c)
{
    return c->messages && *c->messages;
}

/* Which tokens count takes a bit of each, and a loss that asks. */
static int check_messages(const train_config_t *c, const model_info_t *model, err_t *err)
{
    if (!is_chat(c) || model->n_batch == 3) return 0;
    return err_set(
        err, ERR_ARG,
        "--messages: the loss of %s takes no weights for tokens: print it with pcp model "
        "--weighted",
        c->model);
}

/* Of tokens that were made elsewhere only the model tells. */
static uint64_t vocab_of(const tokenizer_t *tokenizer, const model_info_t *model)
{
    int vocab = tokenizer_vocab(tokenizer);
    return vocab ? (uint64_t)vocab : (uint64_t)model->vocab;
}

/* --tokenizer is a kind, or a file. */
static tokenizer_t *find_tokenizer(const train_config_t *c, const corpus_way_t *way, err_t *err)
{
    if (strcmp(c->tokenizer, "char") != 0)
        return tokenizer_is_kind(c->tokenizer) ? tokenizer_new(c->tokenizer, NULL, 0, err)
                                               : tokenizer_open(c->tokenizer, err);
    tell(way->progress, "collecting the symbols of", c->data, way->corpus->n_bytes);
    return corpus_char_tokenizer(way, err);
}

static int encode(const train_config_t *c, const model_info_t *model, const corpus_way_t *way,
                  train_material_t *out, err_t *err)
{
    tokenizer_t *tokenizer = find_tokenizer(c, way, err);
    if (!tokenizer) return -1;
    tell(way->progress, "making tokens of", c->data, way->corpus->n_bytes);
    int rc = check_messages(c, model, err);
    if (rc == 0)
        rc = begin_tokens(c, is_chat(c) ? TOKEN_LIMIT : vocab_of(tokenizer, model), out, err);
    if (rc == 0) rc = corpus_tokens(way, tokenizer, out->tokens, err);
    if (rc == 0) rc = check_tokens(c, model, tokenizer, out->tokens->top, &out->vocab, err);
    if (rc == 0) rc = split(c, model, out->tokens->n, out, err);
    if (rc == 0) out->tokenizer = tokenizer_print(tokenizer);
    tokenizer_destroy(&tokenizer);
    return rc;
}

static int make_tokens(const train_config_t *c, const model_info_t *model, progress_t *progress,
                       train_material_t *out, err_t *err)
{
    corpus_t corpus;
    const corpus_way_t way = {
        .corpus = &corpus, .field = c->field, .messages = c->messages, .progress = progress};
    int rc = corpus_find(c->data, &corpus, err);
    if (rc == 0) rc = corpus_store_pipes(&corpus, c->run_dir, err);
    if (rc == 0) rc = encode(c, model, &way, out, err);
    corpus_fini(&corpus);
    return rc;
}

/* --- records --- */

enum { RECORD_VOCAB = 65536 }; /* any two bytes */

/* All records into the file, a megabyte or a record at a time. */
static int copy_records(train_records_t *records, progress_t *progress, token_file_t *to,
                        err_t *err)
{
    enum { SOME = 1 << 19 };
    size_t n = train_records_count(records), n_unit = train_records_unit(records);
    size_t some = n_unit < SOME ? SOME / n_unit : 1;
    uint16_t *units = mem_calloc(some * n_unit, sizeof *units);
    int rc = 0;
    for (size_t at = 0, more; rc == 0 && at < n; at += more) {
        more = n - at < some ? n - at : some;
        rc = train_records_next(records, units, more, err);
        if (rc == 0) rc = token_file_add_u16(to, units, more * n_unit, err);
        if (progress)
            progress_at(progress, (double)(at + more) * (double)n_unit * 2,
                        (double)n * (double)n_unit * 2, PROGRESS_BYTES);
    }
    free(units);
    return rc;
}

static int split_records(const train_config_t *c, const model_info_t *model, size_t n,
                         size_t n_unit, train_material_t *out, err_t *err)
{
    size_t n_val = (size_t)((double)n * c->val_fraction);
    size_t batch = 1; /* records of a step */
    for (int i = 0; i < model->entry->body->n_arg; i++)
        if (model->args[i].role == ARG_batch) batch = (size_t)model->args[i].type.dim[0];
    if (n - n_val < batch || (n_val > 0 && n_val < batch))
        return err_set(err, ERR_ARG,
                       "%s: %zu records to train on and %zu to validate on, a batch has %zu: "
                       "set val_fraction",
                       c->data, n - n_val, n_val, batch);
    out->n_train = (n - n_val) * n_unit;
    out->n_validation = n_val * n_unit;
    return 0;
}

static int make_records(const train_config_t *c, const model_info_t *model, progress_t *progress,
                        train_material_t *out, err_t *err)
{
    train_records_t *records = train_records_open(train_records_dir(c->data), model, err);
    if (!records) return -1;
    size_t n = train_records_count(records), n_unit = train_records_unit(records);
    tell(progress, "reading the records of", train_records_dir(c->data), 2 * n * n_unit);
    int rc = split_records(c, model, n, n_unit, out, err);
    if (rc == 0) rc = begin_tokens(c, RECORD_VOCAB, out, err);
    if (rc == 0) rc = copy_records(records, progress, out->tokens, err);
    train_records_close(&records);
    if (rc < 0) return -1;
    out->vocab = RECORD_VOCAB;
    tokenizer_t *raw = tokenizer_new("raw", "", 0, err);
    out->tokenizer = raw ? tokenizer_print(raw) : NULL;
    tokenizer_destroy(&raw);
    return out->tokenizer ? 0 : -1;
}

/* --- initial values --- */

static void copy_tensor(const tensor_t *from, float *values)
{
    int64_t n = ir_type_count(&from->type);
    for (int64_t i = 0; i < n; i++) values[i] = (float)tensor_get_f64(from, i);
}

static int copy_given(const safetensor_t *t, const optim_arg_t *arg, float *values, err_t *err)
{
    char want[IR_TYPE_TEXT], got[IR_TYPE_TEXT];
    ir_type_t type = ir_type(t->dtype, t->rank, t->dims);
    if (!ir_shape_equal(&type, &arg->type) || !dtype_is_float(t->dtype))
        return err_set(err, ERR_SHAPE, "\"%s\" is %s, the model has %s", arg->name,
                       ir_type_text(&type, got), ir_type_text(&arg->type, want));
    const tensor_t given = {.type = type, .data = (void *)(uintptr_t)t->data};
    copy_tensor(&given, values);
    return 0;
}

/* The constant that the argument was; NULL: it was none. */
static const tensor_t *constant_of(const model_info_t *model, int arg)
{
    const ir_attr_t *was = attr_find(&model->entry->param_attrs[arg], ROLES_VALUE);
    return was && was->kind == ATTR_TENSOR ? was->tensor : NULL;
}

/* It begins by its rule beside weights of a file that knows nothing of it. */
static bool is_adapter(const char *name)
{
    return str_ends(name, LORA_A) || str_ends(name, LORA_B);
}

/* From the file, the constant that the argument was, or by its rule. */
static int fill_values(const train_config_t *c, const model_info_t *model, int arg, int number,
                       const safetensors_t *file, float *values, err_t *err)
{
    err_t none = {0};
    const optim_arg_t *a = &model->args[arg];
    const tensor_t *was = constant_of(model, arg);
    const safetensor_t *given = file ? init_file_find(file, a->name, number, &none) : NULL;
    if (given) return copy_given(given, a, values, err);
    if (none.code) return err_set(err, none.code, "%s", none.text);
    if (was) {
        copy_tensor(was, values);
        return 0;
    }
    if (file && !is_adapter(a->name))
        return err_set(err, ERR_ARG, "has no tensor \"%s\", none of the same words, and no \"%d\"",
                       a->name, number);
    return init_fill(init_rule(model->entry, arg), (uint64_t)c->seed, a->name, values,
                     ir_type_count(&a->type), err);
}

static int make_values(const train_config_t *c, const model_info_t *model, int arg, int number,
                       const safetensors_t *given, safetensor_t *out, void **made, err_t *err)
{
    const optim_arg_t *a = &model->args[arg];
    const tensor_t *was = constant_of(model, arg);
    int64_t n = ir_type_count(&a->type);
    bool as_it_is = was && !given && !was->splat && was->type.dtype == DT_F32;
    float *values = as_it_is ? was->data : mem_calloc((size_t)n, sizeof *values);
    *made = as_it_is ? NULL : values;
    *out = (safetensor_t){.name = a->name,
                          .dtype = DT_F32,
                          .rank = a->type.rank,
                          .data = values,
                          .n_bytes = (size_t)n * sizeof *values};
    if (a->type.rank > SAFETENSORS_MAX_RANK)
        return err_set(err, ERR_UNSUPPORTED, "parameter \"%s\" has rank %d, at most %d", a->name,
                       a->type.rank, SAFETENSORS_MAX_RANK);
    for (int i = 0; i < a->type.rank; i++) out->dims[i] = a->type.dim[i];
    if (as_it_is) return 0;
    int status = fill_values(c, model, arg, number, given, values, err);
    return status < 0 && given ? err_prefix(err, "%s: ", c->init) : status;
}

static int64_t count_values(const model_info_t *model)
{
    int64_t n = 0;
    for (int i = 0; i < model->entry->body->n_arg; i++)
        if (model->args[i].is_param) n += ir_type_count(&model->args[i].type);
    return n;
}

static int make_init(const train_config_t *c, const model_info_t *model, progress_t *progress,
                     train_material_t *out, err_t *err)
{
    safetensors_t *given = NULL;
    if (c->init && !(given = safetensors_open(c->init, err))) return -1;
    int64_t n_all = count_values(model);
    out->tensors = mem_calloc((size_t)model->n_params, sizeof *out->tensors);
    out->values = mem_calloc((size_t)model->n_params, sizeof *out->values);
    tell(progress, "making the initial values of", c->model, (size_t)n_all * sizeof(float));
    int status = 0;
    for (int i = 0; status == 0 && i < model->entry->body->n_arg; i++) {
        if (!model->args[i].is_param) continue;
        int number = out->n_tensors++;
        status = make_values(c, model, i, number, given, &out->tensors[number],
                             &out->values[number], err);
        out->n_params += ir_type_count(&model->args[i].type);
        if (progress)
            progress_at(progress, (double)out->n_params * sizeof(float),
                        (double)n_all * sizeof(float), PROGRESS_BYTES);
    }
    safetensors_close(&given);
    return status;
}

int train_material_tokens(const train_config_t *config, const model_info_t *model,
                          progress_t *progress, train_material_t *out, err_t *err)
{
    *out = (train_material_t){0};
    bool records = train_records_dir(config->data) != NULL;
    return records ? make_records(config, model, progress, out, err)
                   : make_tokens(config, model, progress, out, err);
}

int train_material_make(const train_config_t *config, const model_info_t *model,
                        progress_t *progress, train_material_t *out, err_t *err)
{
    if (train_material_tokens(config, model, progress, out, err) < 0) return -1;
    return make_init(config, model, progress, out, err);
}

/* --- files --- */

static int write_in(const char *dir, const char *name, const void *bytes, size_t n,
                    progress_t *progress, err_t *err)
{
    char *path = mem_printf("%s/%s", dir, name);
    tell(progress, "writing", path, n);
    int status = file_write_atomic(path, bytes, n, err);
    free(path);
    return status;
}

int train_material_write(const train_material_t *self, const char *dir, progress_t *progress,
                         err_t *err)
{
    size_t bytes = self->tokens->bytes;
    char *path = train_material_path(dir, "validation", (int)bytes);
    tell(progress, "writing", path, bytes * self->n_validation);
    int rc = token_file_keep(self->tokens, self->n_validation, path, err);
    free(path);
    if (rc < 0 || write_in(dir, "tokenizer.json", self->tokenizer, strlen(self->tokenizer),
                           progress, err) < 0)
        return -1;
    path = mem_printf("%s/init.safetensors", dir);
    tell(progress, "writing", path, (size_t)self->n_params * sizeof(float));
    int status = safetensors_write(path, self->tensors, (size_t)self->n_tensors, NULL, 0, err);
    free(path);
    return status;
}

void train_material_fini(train_material_t *self)
{
    for (int i = 0; i < self->n_tensors; i++) free(self->values[i]);
    free(self->values);
    free(self->tensors);
    token_file_drop(&self->tokens);
    free(self->tokenizer);
    *self = (train_material_t){0};
}
