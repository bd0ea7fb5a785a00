/* Binary folds on slots, and the same by running a region. */
#include "ops/fold_binary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/common.h"
#include "ops/complex_math.h"

static void f_add(fold_slot_t *s, fold_slot_t x)
{
    s->f += x.f;
}
static void f_multiply(fold_slot_t *s, fold_slot_t x)
{
    s->f *= x.f;
}
/* NaN wins over all; -0 is below +0. */
static void f_maximum(fold_slot_t *s, fold_slot_t x)
{
    bool take = x.f > s->f || isnan(x.f) || (x.f == s->f && signbit(s->f));
    if (take && !isnan(s->f)) s->f = x.f;
}
static void f_minimum(fold_slot_t *s, fold_slot_t x)
{
    bool take = x.f < s->f || isnan(x.f) || (x.f == s->f && signbit(x.f));
    if (take && !isnan(s->f)) s->f = x.f;
}
static void i_add(fold_slot_t *s, fold_slot_t x)
{
    s->i = (int64_t)((uint64_t)s->i + (uint64_t)x.i);
}
static void i_multiply(fold_slot_t *s, fold_slot_t x)
{
    s->i = (int64_t)((uint64_t)s->i * (uint64_t)x.i);
}
static void i_maximum(fold_slot_t *s, fold_slot_t x)
{
    if (x.i > s->i) s->i = x.i;
}
static void i_minimum(fold_slot_t *s, fold_slot_t x)
{
    if (x.i < s->i) s->i = x.i;
}
static void u_maximum(fold_slot_t *s, fold_slot_t x)
{
    if ((uint64_t)x.i > (uint64_t)s->i) s->i = x.i;
}
static void u_minimum(fold_slot_t *s, fold_slot_t x)
{
    if ((uint64_t)x.i < (uint64_t)s->i) s->i = x.i;
}
static void i_and(fold_slot_t *s, fold_slot_t x)
{
    s->i &= x.i;
}
static void i_or(fold_slot_t *s, fold_slot_t x)
{
    s->i |= x.i;
}
static void c_add(fold_slot_t *s, fold_slot_t x)
{
    s->c += x.c;
}
static void c_multiply(fold_slot_t *s, fold_slot_t x)
{
    s->c = pcp_complex_mul(s->c, x.c);
}
static void i_xor(fold_slot_t *s, fold_slot_t x)
{
    s->i ^= x.i;
}

/* Columns: floats, signed integers, unsigned integers, i1 (where add is "or", multiply "and"),
 * complex numbers. */
static const struct {
    op_code_t op;
    fold_fn_t *f, *s, *u, *b, *c;
} folds[] = {
    {OP_add, f_add, i_add, i_add, i_or, c_add},
    {OP_multiply, f_multiply, i_multiply, i_multiply, i_and, c_multiply},
    {OP_maximum, f_maximum, i_maximum, u_maximum, i_or, NULL},
    {OP_minimum, f_minimum, i_minimum, u_minimum, i_and, NULL},
    {OP_and, NULL, i_and, i_and, i_and, NULL},
    {OP_or, NULL, i_or, i_or, i_or, NULL},
    {OP_xor, NULL, i_xor, i_xor, i_xor, NULL},
};

fold_fn_t *fold_of(op_code_t reducer, dtype_t dtype)
{
    for (size_t i = 0; i < sizeof folds / sizeof folds[0]; i++) {
        if (folds[i].op != reducer) continue;
        switch (dtype_class(dtype)) {
        case CLASS_FLOAT: return folds[i].f;
        case CLASS_SIGNED: return folds[i].s;
        case CLASS_UNSIGNED: return folds[i].u;
        case CLASS_COMPLEX: return folds[i].c;
        default: return folds[i].b;
        }
    }
    return NULL;
}

fold_fn_t *fold_of_region(const ir_region_t *region, dtype_t dtype)
{
    return fold_of(ir_reducer_op(region), dtype);
}

fold_slot_t fold_load(const tensor_t *x, int64_t i)
{
    fold_slot_t slot;
    if (dtype_is_float(x->type.dtype)) return (fold_slot_t){.f = tensor_get_f64(x, i)};
    if (dtype_is_complex(x->type.dtype)) {
        block_load_complex(x, i, 1, &slot.c);
        return slot;
    }
    return (fold_slot_t){.i = tensor_get_i64(x, i)};
}

void fold_store(tensor_t *y, int64_t i, fold_slot_t slot)
{
    if (dtype_is_float(y->type.dtype))
        block_store_f64(y, i, 1, &slot.f);
    else if (dtype_is_complex(y->type.dtype))
        block_store_complex(y, i, 1, &slot.c);
    else
        block_store_i64(y, i, 1, &slot.i);
}

void fold_load_block(const tensor_t *x, int64_t at, int n, fold_slot_t *slots)
{
    double f[BLOCK];
    int64_t bits[BLOCK];
    if (dtype_is_float(x->type.dtype)) {
        block_load_f64(x, at, n, f);
        for (int i = 0; i < n; i++) slots[i].f = f[i];
    } else if (dtype_is_complex(x->type.dtype)) {
        for (int i = 0; i < n; i++) slots[i] = fold_load(x, at + i);
    } else {
        block_load_i64(x, at, n, bits);
        for (int i = 0; i < n; i++) slots[i].i = bits[i];
    }
}

int fold_region(eval_t *ev, const ir_region_t *region, int n_value, tensor_t *acc,
                const tensor_t *x, err_t *err)
{
    tensor_t *args = mem_calloc(3 * (size_t)n_value, sizeof *args), *results = args + 2 * n_value;
    memcpy(args, acc, (size_t)n_value * sizeof *acc);
    memcpy(args + n_value, x, (size_t)n_value * sizeof *x);
    int status = eval_region(ev, region, args, results, err);
    for (int k = 0; status == 0 && k < n_value; k++) {
        memcpy(acc[k].data, results[k].data, dtype_bytes(acc[k].type.dtype));
        tensor_fini(&results[k]);
    }
    free(args);
    return status;
}
