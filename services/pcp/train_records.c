/* Arrays of records side by side, one record after another. */
#include "pcp/train_records.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ir/tensor.h"
#include "pcp/record_source.h"

const char *train_records_dir(const char *data)
{
    return data && str_starts(data, TRAIN_RECORDS) ? data + strlen(TRAIN_RECORDS) : NULL;
}

/* One argument's array. */
typedef struct {
    const optim_arg_t *arg;
    const char *spoken; /* as the text calls it, or NULL */
    record_array_t array;
    size_t row_bytes; /* in the argument's type */
    size_t raw_bytes; /* in the file's */
    char *raw;        /* one record */
} column_t;

struct train_records {
    record_source_t *source;
    column_t *column;
    int n_column;
    size_t n_unit, n, n_read;
};

static int find_array(record_source_t *source, const char *from, column_t *c, int number,
                      err_t *err)
{
    char digits[16];
    snprintf(digits, sizeof digits, "%d", number);
    const char *const names[] = {c->arg->name, c->spoken, digits};
    int rc = record_source_find(source, names, sizeof names / sizeof *names, &c->array, err);
    if (rc != 0) return rc < 0 ? -1 : 0;
    bool two = c->spoken && strcmp(c->spoken, c->arg->name) != 0;
    return err_set(err, ERR_IO,
                   "%s: there is no %s.npy, nor %s%s%d.npy, nor such an array in a .npz or "
                   ".safetensors file or in schema.json, for the argument \"%s\"",
                   from, c->arg->name, two ? c->spoken : "", two ? ".npy, nor " : "", number,
                   c->arg->name);
}

static int check_column(const column_t *c, err_t *err)
{
    char want[IR_TYPE_TEXT], got[IR_TYPE_TEXT];
    const ir_type_t *have = &c->array.type, *arg = &c->arg->type;
    bool fits = have->rank == arg->rank && arg->rank > 0 && have->dim[0] > 0;
    for (int d = 1; fits && d < arg->rank; d++) fits = have->dim[d] == arg->dim[d];
    if (!fits)
        return err_set(err, ERR_SHAPE,
                       "%s is %s, but the argument \"%s\" is %s: records come first, then its "
                       "other dimensions",
                       c->array.where, ir_type_text(have, got), c->arg->name,
                       ir_type_text(arg, want));
    if (!c->array.scaled || dtype_is_float(arg->dtype)) return 0;
    return err_set(err, ERR_TYPE, "%s has a scale, but the argument \"%s\" is %s, no float",
                   c->array.where, c->arg->name, ir_type_text(arg, want));
}

static int open_column(record_source_t *source, const char *from, int number, column_t *c,
                       err_t *err)
{
    if (find_array(source, from, c, number, err) < 0 || check_column(c, err) < 0) return -1;
    int64_t n = ir_type_count(&c->arg->type) / c->arg->type.dim[0];
    c->row_bytes = (size_t)n * dtype_bytes(c->arg->type.dtype);
    c->raw_bytes = (size_t)n * dtype_bytes(c->array.type.dtype);
    c->raw = mem_calloc(c->raw_bytes + 1, 1);
    return 0;
}

/* One record's values, from[] as the file has them, in the argument's type. */
static void put_row(const column_t *c, const char *from, char *to)
{
    int64_t n = ir_type_count(&c->arg->type) / c->arg->type.dim[0];
    int64_t width = (int64_t)dtype_bytes(c->array.type.dtype);
    if (c->array.type.dtype == c->arg->type.dtype && !c->array.scaled) {
        memcpy(to, from, c->row_bytes);
        return;
    }
    ir_type_t one = ir_type_scalar(c->array.type.dtype);
    tensor_t out = {.type = ir_type(c->arg->type.dtype, 1, &n), .data = to};
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, from + i * width, (size_t)width); /* files need not align their numbers */
        const tensor_t x = {.type = one, .data = &bits};
        if (c->array.scaled)
            tensor_set_f64(&out, i, tensor_get_f64(&x, 0) * c->array.scale + c->array.shift);
        else if (dtype_is_float(one.dtype) || dtype_is_float(out.type.dtype))
            tensor_set_f64(&out, i, tensor_get_f64(&x, 0));
        else
            tensor_set_i64(&out, i, tensor_get_i64(&x, 0));
    }
}

static int open_columns(train_records_t *self, const char *dir, const model_info_t *model,
                        err_t *err)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < model->entry->body->n_arg; i++) {
        if (model->args[i].role != ARG_batch) continue;
        column_t *first = self->column, *c = &self->column[self->n_column];
        c->arg = &model->args[i];
        c->spoken = model->entry->value[ir_fn_param(model->entry, i)].name;
        rc = open_column(self->source, dir, self->n_column++, c, err);
        if (rc == 0 && c->array.type.dim[0] != first->array.type.dim[0])
            rc = err_set(err, ERR_SHAPE, "%s: \"%s\" has %lld records, \"%s\" %lld", dir,
                         first->arg->name, (long long)first->array.type.dim[0], c->arg->name,
                         (long long)c->array.type.dim[0]);
    }
    return rc;
}

train_records_t *train_records_open(const char *dir, const model_info_t *model, err_t *err)
{
    train_records_t *self = mem_calloc(1, sizeof *self);
    self->column = mem_calloc((size_t)model->n_batch + 1, sizeof *self->column);
    self->source = record_source_open(dir, err);
    if (!self->source || open_columns(self, dir, model, err) < 0) {
        train_records_close(&self);
        return NULL;
    }
    size_t bytes = 0;
    for (int i = 0; i < self->n_column; i++) bytes += self->column[i].row_bytes;
    self->n_unit = (bytes + 1) / 2;
    self->n = (size_t)self->column[0].array.type.dim[0];
    return self;
}

void train_records_close(train_records_t **self_p)
{
    train_records_t *self = self_p ? *self_p : NULL;
    if (!self) return;
    for (int i = 0; i < self->n_column; i++) free(self->column[i].raw);
    free(self->column);
    record_source_close(&self->source);
    free(self);
    *self_p = NULL;
}

size_t train_records_count(const train_records_t *self)
{
    return self->n;
}

size_t train_records_unit(const train_records_t *self)
{
    return self->n_unit;
}

static int next_row(column_t *c, char *to, err_t *err)
{
    if (record_bytes_read(c->array.bytes, c->raw, c->raw_bytes, err) < 0)
        return err_prefix(err, "%s: ", c->array.where);
    put_row(c, c->raw, to);
    return 0;
}

int train_records_next(train_records_t *self, uint16_t *units, size_t n, err_t *err)
{
    if (n > self->n - self->n_read)
        return err_set(err, ERR_STATE, "%zu records, %zu are left", n, self->n - self->n_read);
    for (size_t r = 0; r < n; r++) {
        uint16_t *unit = units + r * self->n_unit;
        unit[self->n_unit - 1] = 0; /* of an odd number of bytes the last one is 0 */
        char *to = (char *)unit;
        for (int i = 0; i < self->n_column; to += self->column[i++].row_bytes)
            if (next_row(&self->column[i], to, err) < 0) return -1;
    }
    self->n_read += n;
    return 0;
}
