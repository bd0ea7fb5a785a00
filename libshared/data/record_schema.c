/* An object for each array; unknown keys are errors, as a wrong spelling would be no scale. */
#include "data/record_schema.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

enum { MAX_OFFSET = 1 << 30 };

/* u8, as NumPy and others call it, or ui8, as StableHLO does. */
static dtype_t parse_type(const char *text)
{
    char wide[16];
    dtype_t dtype = dtype_parse(text, strlen(text));
    if (dtype == DT_NONE && *text == 'u' && strlen(text) < sizeof wide - 1) {
        snprintf(wide, sizeof wide, "ui%s", text + 1);
        dtype = dtype_parse(wide, strlen(wide));
    }
    bool whole = dtype == DT_I1 || (dtype != DT_NONE && dtype_bits(dtype) >= 8);
    return whole && !dtype_is_complex(dtype) ? dtype : DT_NONE;
}

static int wrong(err_t *err, const record_column_t *c, const char *what)
{
    return err_set(err, ERR_PARSE, "\"%.100s\": %s", c->name, what);
}

static int read_shape(json_t *shape, record_column_t *c, err_t *err)
{
    size_t rank = json_array_size(shape);
    if (shape && (!json_is_array(shape) || rank >= IR_MAX_RANK))
        return wrong(err, c, "\"shape\" is the list of one record's dimensions");
    c->record.rank = (int)rank;
    for (size_t i = 0; i < rank; i++) {
        json_t *dim = json_array_get(shape, i);
        c->record.dim[i] = json_integer_value(dim);
        if (!json_is_integer(dim) || c->record.dim[i] < 1)
            return wrong(err, c, "\"shape\" has a dimension that is no size");
    }
    if (ir_type_check(&c->record, err) == 0) return 0;
    return err_prefix(err, "\"%.100s\": ", c->name);
}

static int read_file(json_t *object, record_column_t *c, err_t *err)
{
    json_t *file = json_object_get(object, "file"), *offset = json_object_get(object, "offset");
    const char *type = json_string_value(json_object_get(object, "type"));
    if (!file) {
        if (offset || type || json_object_get(object, "shape"))
            return wrong(err, c, "\"type\", \"shape\" and \"offset\" are for a \"file\"");
        return 0;
    }
    const char *name = json_string_value(file);
    if (!name || !*name || strchr(name, '/'))
        return wrong(err, c, "\"file\" is the name of a file in this folder");
    c->record.dtype = type ? parse_type(type) : DT_NONE;
    if (c->record.dtype == DT_NONE)
        return wrong(err, c, "\"type\" is one of u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64");
    if (offset && (!json_is_integer(offset) || json_integer_value(offset) < 0 ||
                   json_integer_value(offset) > MAX_OFFSET))
        return wrong(err, c, "\"offset\" is a number of bytes, at most 2^30");
    c->offset = (uint64_t)json_integer_value(offset);
    c->file = mem_strdup(name);
    return read_shape(json_object_get(object, "shape"), c, err);
}

static int read_number(json_t *object, const char *key, record_column_t *c, double *value,
                       err_t *err)
{
    json_t *number = json_object_get(object, key);
    if (!number) return 0;
    *value = json_number_value(number);
    c->scaled = true;
    if (json_is_number(number) && isfinite(*value)) return 0;
    return wrong(err, c, "\"scale\" and \"shift\" are numbers");
}

static int read_column(json_t *object, record_column_t *c, err_t *err)
{
    static const char *const keys[] = {"file", "type", "shape", "offset", "scale", "shift"};
    const char *key;
    json_t *value;
    if (!json_is_object(object)) return wrong(err, c, "expected an object");
    json_object_foreach(object, key, value)
    {
        bool known = false;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            known = known || strcmp(keys[i], key) == 0;
        if (!known)
            return wrong(err, c, "known keys are file, type, shape, offset, scale and shift");
    }
    c->scale = 1;
    if (read_file(object, c, err) < 0 || read_number(object, "scale", c, &c->scale, err) < 0)
        return -1;
    return read_number(object, "shift", c, &c->shift, err);
}

static int read_columns(json_t *root, record_schema_t *out, err_t *err)
{
    const char *name;
    json_t *value;
    if (!json_is_object(root)) return err_set(err, ERR_PARSE, "expected an object of columns");
    out->column = mem_calloc(json_object_size(root) + 1, sizeof *out->column);
    json_object_foreach(root, name, value)
    {
        record_column_t *c = &out->column[out->n++];
        c->name = mem_strdup(name);
        if (read_column(value, c, err) < 0) return -1;
    }
    return 0;
}

int record_schema_parse(const char *text, size_t n, const char *from, record_schema_t *out,
                        err_t *err)
{
    json_error_t why;
    *out = (record_schema_t){0};
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
    int rc = root ? read_columns(root, out, err)
                  : err_set(err, ERR_PARSE, "line %d: %s", why.line, why.text);
    json_decref(root);
    if (rc == 0) return 0;
    record_schema_fini(out);
    return err_prefix(err, "%s: ", from);
}

int record_schema_read(const char *dir, record_schema_t *out, err_t *err)
{
    char *path = mem_printf("%s/schema.json", dir);
    size_t n = 0;
    *out = (record_schema_t){0};
    int rc = 0;
    if (file_exists(path)) {
        char *text = file_read(path, &n, err);
        rc = text ? record_schema_parse(text, n, path, out, err) : -1;
        free(text);
    }
    free(path);
    return rc;
}

void record_schema_fini(record_schema_t *self)
{
    for (size_t i = 0; i < self->n; i++) {
        free(self->column[i].name);
        free(self->column[i].file);
    }
    free(self->column);
    *self = (record_schema_t){0};
}

const record_column_t *record_schema_find(const record_schema_t *self, const char *name)
{
    for (size_t i = 0; i < self->n; i++)
        if (strcmp(self->column[i].name, name) == 0) return &self->column[i];
    return NULL;
}
