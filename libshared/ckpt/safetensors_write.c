/* Writing safetensors: header first, then the tensors, streamed to a temporary name. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "ckpt/safetensors.h"
#include "ckpt/safetensors_dtype.h"

static const struct {
    dtype_t dtype;
    const char *name;
} spellings[] = {
    {DT_I1, "BOOL"},        {DT_I8, "I8"},
    {DT_I16, "I16"},        {DT_I32, "I32"},
    {DT_I64, "I64"},        {DT_UI8, "U8"},
    {DT_UI16, "U16"},       {DT_UI32, "U32"},
    {DT_UI64, "U64"},       {DT_F16, "F16"},
    {DT_F32, "F32"},        {DT_BF16, "BF16"},
    {DT_F64, "F64"},        {DT_F8E4M3FN, "F8_E4M3"},
    {DT_F8E5M2, "F8_E5M2"}, {DT_F8E8M0FNU, "F8_E8M0"},
    {DT_C64, "C64"},
};
enum { N_SPELLINGS = sizeof spellings / sizeof *spellings };

dtype_t safetensors_dtype_parse(const char *text)
{
    for (int i = 0; i < N_SPELLINGS; i++)
        if (strcmp(spellings[i].name, text) == 0) return spellings[i].dtype;
    return DT_NONE;
}

const char *safetensors_dtype_name(dtype_t dtype)
{
    for (int i = 0; i < N_SPELLINGS; i++)
        if (spellings[i].dtype == dtype) return spellings[i].name;
    return NULL;
}

static int check_tensor(const safetensor_t *t, err_t *err)
{
    if (!t->name || !*t->name || strcmp(t->name, "__metadata__") == 0)
        return err_set(err, ERR_ARG, "a tensor is named \"%s\"", t->name ? t->name : "");
    if (!safetensors_dtype_name(t->dtype))
        return err_set(err, ERR_ARG, "tensor \"%s\": safetensors has no element type %s", t->name,
                       dtype_name(t->dtype));
    size_t n = dtype_bytes(t->dtype);
    bool fits = t->rank >= 0 && t->rank <= SAFETENSORS_MAX_RANK;
    for (int i = 0; fits && i < t->rank; i++)
        fits = t->dims[i] >= 0 && size_mul(n, (size_t)t->dims[i], &n);
    if (!fits || n != t->n_bytes)
        return err_set(err, ERR_ARG, "tensor \"%s\": %zu bytes do not fit its shape", t->name,
                       t->n_bytes);
    return 0;
}

static json_t *shape_json(const safetensor_t *t)
{
    json_t *shape = json_array();
    for (int i = 0; i < t->rank; i++) json_array_append_new(shape, json_integer(t->dims[i]));
    return shape;
}

static int add_meta(json_t *header, const safetensors_meta_t *meta, size_t n_meta, err_t *err)
{
    if (n_meta == 0) return 0;
    json_t *object = json_object();
    json_object_set_new(header, "__metadata__", object);
    for (size_t i = 0; i < n_meta; i++)
        if (json_object_set_new(object, meta[i].key, json_string(meta[i].value)) < 0)
            return err_set(err, ERR_ARG, "metadata \"%s\" is not valid UTF-8", meta[i].key);
    return 0;
}

/* The header's JSON, padded with blanks so that the data begins at a multiple of 8 bytes. Returns,
 * caller frees; NULL with ERR_ARG. */
static char *make_header(const safetensor_t *tensors, size_t n, const safetensors_meta_t *meta,
                         size_t n_meta, size_t *n_header, err_t *err)
{
    json_t *header = json_object();
    uint64_t at = 0;
    int rc = add_meta(header, meta, n_meta, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const safetensor_t *t = &tensors[i];
        if ((rc = check_tensor(t, err)) < 0) break;
        if (json_object_get(header, t->name)) {
            rc = err_set(err, ERR_ARG, "two tensors are named \"%s\"", t->name);
            break;
        }
        json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", safetensors_dtype_name(t->dtype),
                                  "shape", shape_json(t), "data_offsets", (json_int_t)at,
                                  (json_int_t)(at + t->n_bytes));
        if (json_object_set_new(header, t->name, entry) < 0)
            rc = err_set(err, ERR_ARG, "tensor name \"%s\" is not valid UTF-8", t->name);
        at += t->n_bytes;
    }
    char *text = rc == 0 ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    if (!text) return NULL;
    size_t length = strlen(text), padded = (length + 7) / 8 * 8;
    text = mem_realloc(text, padded + 1);
    memset(text + length, ' ', padded - length);
    text[padded] = '\0';
    *n_header = padded;
    return text;
}

uint8_t *safetensors_head(const safetensor_t *tensors, size_t n, const safetensors_meta_t *meta,
                          size_t n_meta, size_t *n_bytes, err_t *err)
{
    enum { LENGTH_BYTES = 8 };
    size_t n_header;
    char *header = make_header(tensors, n, meta, n_meta, &n_header, err);
    if (!header) return NULL;
    uint8_t *bytes = mem_calloc(LENGTH_BYTES + n_header, 1);
    for (int i = 0; i < LENGTH_BYTES; i++) bytes[i] = (uint8_t)((uint64_t)n_header >> 8 * i);
    memcpy(bytes + LENGTH_BYTES, header, n_header);
    free(header);
    *n_bytes = LENGTH_BYTES + n_header;
    return bytes;
}

typedef struct {
    const safetensor_t *tensors;
    size_t n;
} given_t;

/* Their data one after another. */
static int fill_given(void *user, const sink_t *to, err_t *err)
{
    const given_t *given = user;
    uint64_t at = 0;
    for (size_t i = 0; i < given->n; i++) {
        const uint8_t *bytes = given->tensors[i].data;
        size_t left = given->tensors[i].n_bytes;
        while (left > 0) {
            size_t n = left < SOURCE_PIECE_BYTES ? left : SOURCE_PIECE_BYTES;
            if (to->write(to->user, at, bytes, n, err) < 0) return -1;
            bytes += n;
            at += n;
            left -= n;
        }
    }
    return 0;
}

int safetensors_write_by(const char *path, const safetensor_t *tensors, size_t n,
                         const safetensors_meta_t *meta, size_t n_meta, safetensors_fill_fn *fill,
                         void *user, err_t *err)
{
    size_t n_head;
    uint8_t *head = safetensors_head(tensors, n, meta, n_meta, &n_head, err);
    if (!head) return err_prefix(err, "%s: ", path);
    char *temporary = NULL;
    int fd = file_open_temporary(path, 0644, &temporary, err), rc = fd < 0 ? -1 : 0;
    file_part_t data = {.fd = fd, .path = path, .begin = n_head};
    const sink_t to = sink_to_file(&data);
    if (rc == 0) rc = file_write_all(fd, head, n_head, path, err);
    if (rc == 0) rc = fill(user, &to, err);
    if (rc == 0) {
        rc = file_commit(fd, temporary, path, err);
    } else if (fd >= 0) {
        close(fd);
        unlink(temporary);
    }
    free(temporary);
    free(head);
    return rc;
}

int safetensors_write(const char *path, const safetensor_t *tensors, size_t n,
                      const safetensors_meta_t *meta, size_t n_meta, err_t *err)
{
    given_t given = {tensors, n};
    return safetensors_write_by(path, tensors, n, meta, n_meta, fill_given, &given, err);
}

uint8_t *safetensors_pack(const safetensor_t *tensors, size_t n, const safetensors_meta_t *meta,
                          size_t n_meta, size_t *n_bytes, size_t *at, err_t *err)
{
    size_t n_head, n_data = 0;
    uint8_t *head = safetensors_head(tensors, n, meta, n_meta, &n_head, err);
    if (!head) return NULL;
    for (size_t i = 0; i < n; i++) n_data += tensors[i].n_bytes;
    uint8_t *bytes = mem_calloc(n_head + n_data, 1), *to = bytes + n_head;
    memcpy(bytes, head, n_head);
    for (size_t i = 0; i < n; i++) {
        if (tensors[i].data) memcpy(to, tensors[i].data, tensors[i].n_bytes);
        to += tensors[i].n_bytes;
    }
    *n_bytes = n_head + n_data;
    *at = n_head;
    free(head);
    return bytes;
}
