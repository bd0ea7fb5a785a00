/* Element types and shapes: public numbers, which never change, and those of the library below. */
#include <ctype.h>
#include <string.h>

#include "api/api.h"

#define PAIR(name, ...) [PCP_##name] = DT_##name,
static const dtype_t inner[] = {DTYPE_LIST(PAIR)};
enum { N_DTYPE = sizeof inner / sizeof *inner };

/* A new element type needs a public number: tensor.h. */
_Static_assert((int)N_DTYPE == (int)DT_COUNT, "each element type has a public number");

dtype_t api_dtype(pcp_dtype_t dtype)
{
    return (unsigned)dtype < N_DTYPE ? inner[dtype] : DT_NONE;
}

pcp_type_t api_type_out(const ir_type_t *type)
{
    pcp_type_t out = {.rank = type->rank};
    for (int i = 1; i < N_DTYPE; i++)
        if (inner[i] == type->dtype) out.dtype = (pcp_dtype_t)i;
    memcpy(out.dim, type->dim, sizeof *out.dim * (size_t)type->rank);
    return out;
}

int api_type_in(const pcp_type_t *type, ir_type_t *out, err_t *err)
{
    if (!type || api_dtype(type->dtype) == DT_NONE)
        return err_set(err, ERR_TYPE, "a type without an element type (PCP_F32, ...)");
    if (type->rank < 0 || type->rank > PCP_MAX_RANK)
        return err_set(err, ERR_SHAPE, "a type of rank %d: 0 to %d", type->rank, PCP_MAX_RANK);
    *out = ir_type(api_dtype(type->dtype), type->rank, type->dim);
    return ir_type_check(out, err);
}

pcp_type_t pcp_type(pcp_dtype_t dtype, int rank, const int64_t *dim)
{
    pcp_type_t type = {.dtype = dtype, .rank = rank};
    if (rank < 0 || rank > PCP_MAX_RANK) return (pcp_type_t){.dtype = PCP_NONE};
    for (int i = 0; i < rank; i++) type.dim[i] = dim[i];
    return type;
}

pcp_type_t pcp_scalar(pcp_dtype_t dtype)
{
    return (pcp_type_t){.dtype = dtype};
}

/* "2x3xf32": dimensions as long as there are digits, then the element type. */
static int read_type(const char *at, size_t n, ir_type_t *type)
{
    const char *end = at + n;
    *type = (ir_type_t){0};
    while (at < end && isdigit((unsigned char)*at)) {
        int64_t dim = 0;
        for (; at < end && isdigit((unsigned char)*at); at++) {
            if (dim > INT64_MAX / 10 - 9) return -1;
            dim = 10 * dim + (*at - '0');
        }
        if (type->rank == IR_MAX_RANK || at == end || *at++ != 'x') return -1;
        type->dim[type->rank++] = dim;
    }
    type->dtype = dtype_parse(at, (size_t)(end - at));
    return type->dtype == DT_NONE ? -1 : 0;
}

int pcp_type_parse(const char *text, pcp_type_t *type, pcp_error_t *error)
{
    static const char open[] = "tensor<";
    err_t *err = api_err(error);
    ir_type_t read;
    const char *at = text ? text : "";
    size_t n = strlen(at);
    if (n > sizeof open && strncmp(at, open, sizeof open - 1) == 0 && at[n - 1] == '>') {
        at += sizeof open - 1;
        n -= sizeof open;
    }
    if (read_type(at, n, &read) < 0)
        return err_set(err, ERR_PARSE,
                       "\"%s\" is no type; expected 2x3xf32, f32 or tensor<2x3xf32>",
                       text ? text : "");
    if (ir_type_check(&read, err) < 0) return -1;
    *type = api_type_out(&read);
    return 0;
}

const char *pcp_type_text(const pcp_type_t *type, char buf[PCP_TYPE_TEXT])
{
    _Static_assert((int)PCP_TYPE_TEXT >= (int)IR_TYPE_TEXT, "room for any type");
    ir_type_t in;
    if (api_type_in(type, &in, NULL) < 0) return strcpy(buf, "none");
    return ir_type_text(&in, buf);
}

int64_t pcp_type_count(const pcp_type_t *type)
{
    ir_type_t in;
    return api_type_in(type, &in, NULL) < 0 ? -1 : ir_type_count(&in);
}

int64_t pcp_type_bytes(const pcp_type_t *type)
{
    ir_type_t in;
    return api_type_in(type, &in, NULL) < 0 ? -1 : ir_type_bytes(&in);
}
