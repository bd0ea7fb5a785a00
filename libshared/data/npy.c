/* The header of a .npy file is a Python dictionary on one line: read by its three keys. */
#include "data/npy.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 1 << 16 };

/* The text behind `'key':` in the header; NULL: there is none. */
static const char *find_key(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at) return NULL;
    at += strlen(key);
    return at + strspn(at, " ");
}

static dtype_t element_type(const char *text)
{
    static const struct {
        const char *code;
        dtype_t dtype;
    } codes[] = {{"f2", DT_F16},  {"f4", DT_F32}, {"f8", DT_F64}, {"i1", DT_I8},   {"i2", DT_I16},
                 {"i4", DT_I32},  {"i8", DT_I64}, {"u1", DT_UI8}, {"u2", DT_UI16}, {"u4", DT_UI32},
                 {"u8", DT_UI64}, {"b1", DT_I1},  {"?", DT_I1}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        size_t n = strlen(codes[i].code);
        if (memcmp(text, codes[i].code, n) == 0 && text[n] == '\'') return codes[i].dtype;
    }
    return DT_NONE;
}

static int read_descr(const char *header, dtype_t *dtype, err_t *err)
{
    const char *at = find_key(header, "'descr':");
    if (!at || *at != '\'')
        return err_set(err, ERR_UNSUPPORTED,
                       "a .npy file of one number for each element is expected");
    at++;
    if (*at == '>')
        return err_set(err, ERR_UNSUPPORTED, "its numbers are big-endian: a.astype('<f4')");
    if (*at == '<' || *at == '|' || *at == '=') at++;
    *dtype = element_type(at);
    if (*dtype != DT_NONE) return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "its elements are '%.8s, expected f2 f4 f8 i1..i8 u1..u8 b1", at);
}

static int read_shape(const char *header, ir_type_t *type, err_t *err)
{
    const char *at = find_key(header, "'shape':");
    if (!at || *at != '(') return err_set(err, ERR_PARSE, "the .npy header has no shape");
    at++;
    for (at += strspn(at, " "); *at != ')'; at += strspn(at, ", ")) {
        char *end;
        long long dim = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : -1;
        if (dim < 0 || type->rank == IR_MAX_RANK)
            return err_set(err, ERR_PARSE, "the shape of the .npy file, %.40s, is none", at);
        type->dim[type->rank++] = dim;
        at = end;
    }
    return ir_type_check(type, err);
}

int npy_header(const void *bytes, size_t n, ir_type_t *type, size_t *n_header, err_t *err)
{
    const unsigned char *at = bytes;
    if (n < 12 || memcmp(at, "\x93NUMPY", 6) != 0 || at[6] < 1 || at[6] > 3)
        return err_set(err, ERR_PARSE, "this is no .npy file");
    size_t n_length = at[6] == 1 ? 2 : 4, length = 0;
    for (size_t i = 0; i < n_length; i++) length |= (size_t)at[8 + i] << 8 * i;
    size_t begin = 8 + n_length;
    if (length >= MAX_HEADER || begin + length > n)
        return err_set(err, ERR_CORRUPT, "the .npy header is cut off");
    char header[MAX_HEADER];
    memcpy(header, at + begin, length);
    header[length] = '\0';
    ir_type_t made = {0};
    if (read_descr(header, &made.dtype, err) < 0 || read_shape(header, &made, err) < 0) return -1;
    const char *order = find_key(header, "'fortran_order':");
    if (!order || strncmp(order, "False", 5) != 0)
        return err_set(err, ERR_UNSUPPORTED, "its columns come first: numpy.ascontiguousarray(a)");
    *type = made;
    *n_header = begin + length;
    return 0;
}

int npy_view(const void *bytes, size_t n, ir_type_t *type, const void **data, err_t *err)
{
    ir_type_t made;
    size_t n_header;
    if (npy_header(bytes, n, &made, &n_header, err) < 0) return -1;
    if ((uint64_t)ir_type_bytes(&made) > n - n_header)
        return err_set(err, ERR_CORRUPT, "the .npy file ends before its last element");
    *type = made;
    *data = (const char *)bytes + n_header;
    return 0;
}
