/* MLIR bytecode to text: where it lies in a file, and the order of the parts. */
#include "parse/bytecode.h"

#include <stdlib.h>
#include <string.h>

static const char magic[] = "ML\xEFR";
enum { N_MAGIC = sizeof magic - 1 };

/* How much longer than the file its text may be: types and attributes stand in the file once. */
enum { TEXT_MULTIPLE = 256, TEXT_LEAST = 1 << 20 };

/* jax.export's serialize() writes a flatbuffer: the bytecode is a vector, whose size is in front. */
static bool in_flatbuffer(const uint8_t *bytes, size_t n, size_t *at, size_t *n_code)
{
    enum { HEAD_MOST = 1024 };
    for (size_t i = 4; i + N_MAGIC <= n && i <= HEAD_MOST; i++) {
        if (memcmp(bytes + i, magic, N_MAGIC) != 0) continue;
        uint32_t size = bytes[i - 4] | (uint32_t)bytes[i - 3] << 8 | (uint32_t)bytes[i - 2] << 16 |
                        (uint32_t)bytes[i - 1] << 24;
        if (size < N_MAGIC || size > n - i) continue;
        *at = i;
        *n_code = size;
        return true;
    }
    return false;
}

bool bytecode_find(const void *bytes, size_t n, size_t *at, size_t *n_code)
{
    const uint8_t *first = bytes;
    if (n < N_MAGIC) return false;
    *at = 0;
    *n_code = n;
    if (memcmp(first, magic, N_MAGIC) == 0) return true;
    return memchr(first, 0, n < 64 ? n : 64) && in_flatbuffer(first, n, at, n_code);
}

int bytecode_text(const void *bytes, size_t n, const char *file, str_t *text, blob_t **blob,
                  size_t *n_blob, err_t *err)
{
    err_t own = {0};
    bytecode_t b = {.file = file, .err = &own};
    size_t at, n_code;
    bytes_t ir;
    if (!bytecode_find(bytes, n, &at, &n_code))
        return err_set(err, ERR_ARG, "%s: this is no MLIR bytecode", file);
    b.all = (const uint8_t *)bytes + at;
    b.end = b.all + n_code;
    b.max_text = (n_code > SIZE_MAX / TEXT_MULTIPLE / 2 ? n_code : n_code * TEXT_MULTIPLE) +
                 TEXT_LEAST;
    int rc = bytecode_read_tables(&b, &ir);
    if (rc == 0) rc = print_module(&b, ir);
    VEC_FREE(&b.string);
    VEC_FREE(&b.dialect);
    VEC_FREE(&b.op);
    VEC_FREE(&b.attr);
    VEC_FREE(&b.type);
    VEC_FREE(&b.property);
    VEC_FREE(&b.value);
    *text = b.out;
    *blob = b.blob.at;
    *n_blob = b.blob.n;
    if (rc == 0) return 0;
    str_fini(text);
    free(*blob);
    *blob = NULL;
    if (err) *err = own;
    return -1;
}
