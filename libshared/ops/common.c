/* Helpers shared by the op families: see common.h. Block loads and stores are the only place that
 * knows how elements lie in memory. */
#include "ops/common.h"

#include <stdlib.h>
#include <string.h>

#include "base/half.h"

/* --- Type rules ------------------------------------------------------------------------------ */

unsigned dtype_class(dtype_t dtype)
{
    if (dtype == DT_I1) return CLASS_BOOL;
    if (dtype_is_float(dtype)) return CLASS_FLOAT;
    if (dtype_is_signed(dtype)) return CLASS_SIGNED;
    if (dtype_is_complex(dtype)) return CLASS_COMPLEX;
    return dtype_is_unsigned(dtype) ? CLASS_UNSIGNED : 0;
}

const char *op_name(const ir_op_t *op)
{
    return op_def(op->code)->name;
}

const ir_type_t *op_in_type(const ir_fn_t *fn, const ir_op_t *op, int i)
{
    return ir_type_of(fn, op->in[i]);
}

int infer_class(const ir_fn_t *fn, const ir_op_t *op, int i, unsigned classes, err_t *err)
{
    static const char *const words[] = {"i1", "signed integers", "unsigned integers", "floats",
                                        "complex numbers"};
    const ir_type_t *type = op_in_type(fn, op, i);
    if (dtype_class(type->dtype) & classes) return 0;
    char allowed[96] = "", text[IR_TYPE_TEXT];
    for (int c = 0; c < 5; c++) {
        if (!(classes & (1u << c))) continue;
        if (allowed[0]) strcat(allowed, ", ");
        strcat(allowed, words[c]);
    }
    return err_set(err, ERR_TYPE, "%s: operand %d is %s, expected one of: %s", op_name(op), i,
                   ir_type_text(type, text), allowed);
}

int infer_same_type(const ir_fn_t *fn, const ir_op_t *op, int i, int j, err_t *err)
{
    const ir_type_t *a = op_in_type(fn, op, i), *b = op_in_type(fn, op, j);
    char ta[IR_TYPE_TEXT], tb[IR_TYPE_TEXT];
    if (ir_type_equal(a, b)) return 0;
    return err_set(err, a->dtype != b->dtype ? ERR_TYPE : ERR_SHAPE,
                   "%s: operands %d and %d must have one type, got %s and %s", op_name(op), i, j,
                   ir_type_text(a, ta), ir_type_text(b, tb));
}

int infer_same_shape(const ir_fn_t *fn, const ir_op_t *op, int i, int j, err_t *err)
{
    const ir_type_t *a = op_in_type(fn, op, i), *b = op_in_type(fn, op, j);
    char ta[IR_TYPE_TEXT], tb[IR_TYPE_TEXT];
    if (ir_shape_equal(a, b)) return 0;
    return err_set(err, ERR_SHAPE, "%s: operands %d and %d must have one shape, got %s and %s",
                   op_name(op), i, j, ir_type_text(a, ta), ir_type_text(b, tb));
}

int infer_result(const ir_op_t *op, int i, ir_type_t *out, const ir_type_t *is, err_t *err)
{
    char have[IR_TYPE_TEXT], want[IR_TYPE_TEXT];
    if (out[i].dtype != DT_NONE && !ir_type_equal(&out[i], is))
        return err_set(err, out[i].dtype != is->dtype ? ERR_TYPE : ERR_SHAPE,
                       "%s: result %d is declared %s, but the operands give %s", op_name(op), i,
                       ir_type_text(&out[i], have), ir_type_text(is, want));
    out[i] = *is;
    return 0;
}

int infer_declared(const ir_op_t *op, int i, const ir_type_t *out, err_t *err)
{
    if (out[i].dtype != DT_NONE) return 0;
    return err_set(err, ERR_TYPE, "%s: the type of result %d must be given", op_name(op), i);
}

int infer_precision(const ir_op_t *op, err_t *err)
{
    static const char *const names[] = {"DEFAULT", "HIGH", "HIGHEST"};
    const ir_attr_t *config = attr_find(&op->attrs, "precision_config");
    if (!config || (config->kind == ATTR_INTS && config->n == 0)) return 0;
    if (config->kind != ATTR_LIST || config->n > 2)
        return err_set(err, ERR_ARG,
                       "%s: precision_config has %d entries, expected 0 to 2 of enums", op_name(op),
                       config->kind == ATTR_LIST || config->kind == ATTR_INTS ? config->n : 1);
    for (int i = 0; i < config->n; i++) {
        bool known = false;
        for (size_t k = 0; k < 3 && config->items[i].kind == ATTR_ENUM; k++)
            known = known || strcmp(config->items[i].text, names[k]) == 0;
        if (!known)
            return err_set(err, ERR_ARG,
                           "%s: precision_config[%d] is \"%s\", expected DEFAULT, HIGH or HIGHEST",
                           op_name(op), i,
                           config->items[i].kind == ATTR_ENUM ? config->items[i].text : "?");
    }
    return 0;
}

int infer_dims(const ir_op_t *op, const char *name, int rank, const int64_t **dims, int *n,
               err_t *err)
{
    const int64_t *list = attr_ints(&op->attrs, name, n);
    for (int i = 0; i < *n; i++) {
        if (list[i] < 0 || list[i] >= rank)
            return err_set(err, ERR_SHAPE, "%s: %s[%d] is %lld, expected 0 to %d", op_name(op),
                           name, i, (long long)list[i], rank - 1);
        for (int j = 0; j < i; j++) {
            if (list[j] == list[i])
                return err_set(err, ERR_SHAPE, "%s: %s names dimension %lld twice", op_name(op),
                               name, (long long)list[i]);
        }
    }
    *dims = list;
    return 0;
}

int infer_region(const ir_fn_t *fn, const ir_op_t *op, int r, int n_arg, const ir_type_t *args,
                 int n_result, const ir_type_t *results, err_t *err)
{
    char have[IR_TYPE_TEXT], want[IR_TYPE_TEXT];
    if (r >= op->n_region)
        return err_set(err, ERR_SHAPE, "%s: region %d is missing", op_name(op), r);
    const ir_region_t *region = op->region[r];
    if (region->n_arg != n_arg || region->n_result != n_result)
        return err_set(err, ERR_SHAPE,
                       "%s: region %d has %d arguments and %d results, expected %d and %d",
                       op_name(op), r, region->n_arg, region->n_result, n_arg, n_result);
    for (int i = 0; i < n_arg; i++) {
        const ir_type_t *type = ir_type_of(fn, region->arg + (ir_val_t)i);
        if (!ir_type_equal(type, &args[i]))
            return err_set(err, ERR_TYPE, "%s: argument %d of region %d is %s, expected %s",
                           op_name(op), i, r, ir_type_text(type, have),
                           ir_type_text(&args[i], want));
    }
    for (int i = 0; i < n_result; i++) {
        const ir_type_t *type = ir_type_of(fn, region->result[i]);
        if (!ir_type_equal(type, &results[i]))
            return err_set(err, ERR_TYPE, "%s: result %d of region %d is %s, expected %s",
                           op_name(op), i, r, ir_type_text(type, have),
                           ir_type_text(&results[i], want));
    }
    return 0;
}

static int infer_map(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, unsigned classes,
                     err_t *err)
{
    if (infer_class(fn, op, 0, classes, err) < 0) return -1;
    for (int i = 1; i < op->n_in; i++)
        if (infer_same_type(fn, op, 0, i, err) < 0) return -1;
    return infer_result(op, 0, out, op_in_type(fn, op, 0), err);
}

#define INFER_MAP(name, classes)                                                           \
    int infer_map_##name(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err) \
    {                                                                                      \
        return infer_map(fn, op, out, (classes), err);                                     \
    }
INFER_MAP(float, CLASS_FLOAT)
INFER_MAP(inexact, CLASS_INEXACT)
INFER_MAP(number, CLASS_NUMBER | CLASS_COMPLEX)
INFER_MAP(signed, CLASS_SIGNED | CLASS_INEXACT)
INFER_MAP(int, CLASS_INT)
INFER_MAP(bits, CLASS_BITS)
INFER_MAP(any, CLASS_ANY)
#undef INFER_MAP

/* --- Elements -------------------------------------------------------------------------------- */

void block_load_f64(const tensor_t *x, int64_t at, int n, double *to)
{
    int m = x->splat ? (n > 0) : n;
    int64_t from = x->splat ? 0 : at;
    switch (x->type.dtype) {
    case DT_F64: memcpy(to, (const double *)x->data + from, (size_t)m * 8); break;
    case DT_F32:
        for (int i = 0; i < m; i++) to[i] = ((const float *)x->data)[from + i];
        break;
    case DT_BF16:
        for (int i = 0; i < m; i++) to[i] = half_from_bf16(((const uint16_t *)x->data)[from + i]);
        break;
    case DT_F16:
        for (int i = 0; i < m; i++) to[i] = half_from_f16(((const uint16_t *)x->data)[from + i]);
        break;
    default:
        for (int i = 0; i < m; i++) to[i] = tensor_get_f64(x, from + i);
        break;
    }
    if (x->splat)
        for (int i = 1; i < n; i++) to[i] = to[0];
}

void block_load_i64(const tensor_t *x, int64_t at, int n, int64_t *to)
{
    int m = x->splat ? (n > 0) : n;
    int64_t from = x->splat ? 0 : at;
#define LOAD(T)                                                                  \
    for (int i = 0; i < m; i++) to[i] = (int64_t)((const T *)x->data)[from + i]; \
    break
    switch (x->type.dtype) {
    case DT_I2:
    case DT_I4:
    case DT_I8: LOAD(int8_t);
    case DT_I16: LOAD(int16_t);
    case DT_I32: LOAD(int32_t);
    case DT_I64: LOAD(int64_t);
    case DT_I1:
    case DT_UI2:
    case DT_UI4:
    case DT_UI8: LOAD(uint8_t);
    case DT_UI16: LOAD(uint16_t);
    case DT_UI32: LOAD(uint32_t);
    case DT_UI64: LOAD(uint64_t);
    default:
        for (int i = 0; i < m; i++) to[i] = tensor_get_i64(x, from + i);
        break;
    }
#undef LOAD
    if (x->splat)
        for (int i = 1; i < n; i++) to[i] = to[0];
}

void block_store_f64(tensor_t *y, int64_t at, int n, const double *from)
{
    switch (y->type.dtype) {
    case DT_F64: memcpy((double *)y->data + at, from, (size_t)n * 8); break;
    case DT_F32:
        for (int i = 0; i < n; i++) ((float *)y->data)[at + i] = (float)from[i];
        break;
    case DT_BF16:
        for (int i = 0; i < n; i++) ((uint16_t *)y->data)[at + i] = half_to_bf16(from[i]);
        break;
    case DT_F16:
        for (int i = 0; i < n; i++) ((uint16_t *)y->data)[at + i] = half_to_f16(from[i]);
        break;
    default:
        for (int i = 0; i < n; i++) tensor_set_f64(y, at + i, from[i]);
        break;
    }
}

void block_store_i64(tensor_t *y, int64_t at, int n, const int64_t *from)
{
#define STORE(T, EXPR)                                              \
    for (int i = 0; i < n; i++) ((T *)y->data)[at + i] = (T)(EXPR); \
    break
    switch (y->type.dtype) {
    case DT_I1: STORE(uint8_t, from[i] & 1);
    case DT_I2: STORE(int8_t, (int64_t)((uint64_t)from[i] << 62) >> 62);
    case DT_I4: STORE(int8_t, (int64_t)((uint64_t)from[i] << 60) >> 60);
    case DT_UI2: STORE(uint8_t, from[i] & 3);
    case DT_UI4: STORE(uint8_t, from[i] & 15);
    case DT_I8:
    case DT_UI8: STORE(uint8_t, from[i]);
    case DT_I16:
    case DT_UI16: STORE(uint16_t, from[i]);
    case DT_I32:
    case DT_UI32: STORE(uint32_t, from[i]);
    case DT_I64:
    case DT_UI64: STORE(uint64_t, from[i]);
    default: break; /* callers store integers only */
    }
#undef STORE
}

void block_load_complex(const tensor_t *x, int64_t at, int n, complex_t *to)
{
    for (int i = 0; i < n; i++)
        to[i] = __builtin_complex(tensor_get_f64(x, at + i), tensor_get_imag(x, at + i));
}

void block_store_complex(tensor_t *y, int64_t at, int n, const complex_t *from)
{
    for (int i = 0; i < n; i++) tensor_set_complex(y, at + i, __real__ from[i], __imag__ from[i]);
}

/* The operand as eval_map sees it: a rank-0 operand of a larger result is a splat. */
static tensor_t map_operand(const tensor_t *x, const tensor_t *y)
{
    tensor_t view = *x;
    if (x->type.rank == 0 && y->type.rank > 0) view.splat = true;
    return view;
}

/* One block of results. */
static void map_float(const map_kernel_t *kernel, int n_in, const tensor_t *in, tensor_t *y,
                      int64_t at, int n)
{
    double x[MAP_MAX_IN][BLOCK], out[BLOCK];
    for (int k = 0; k < n_in; k++) block_load_f64(&in[k], at, n, x[k]);
    kernel->f(n, x, out);
    block_store_f64(y, at, n, out);
}

static void map_integer(const map_kernel_t *kernel, int n_in, const tensor_t *in, tensor_t *y,
                        int64_t at, int n)
{
    int64_t x[MAP_MAX_IN][BLOCK], out[BLOCK];
    for (int k = 0; k < n_in; k++) block_load_i64(&in[k], at, n, x[k]);
    (dtype_is_unsigned(y->type.dtype) ? kernel->u : kernel->s)(n, x, out);
    block_store_i64(y, at, n, out);
}

static void map_complex(const map_kernel_t *kernel, int n_in, const tensor_t *in, tensor_t *y,
                        int64_t at, int n)
{
    complex_t x[MAP_MAX_IN][BLOCK], out[BLOCK];
    for (int k = 0; k < n_in; k++) block_load_complex(&in[k], at, n, x[k]);
    kernel->c(n, x, out);
    block_store_complex(y, at, n, out);
}

int eval_map(const map_kernel_t *kernel, int n_in, const tensor_t *in, tensor_t *y)
{
    unsigned class = dtype_class(y->type.dtype);
    int64_t count = ir_type_count(&y->type);
    tensor_t x[MAP_MAX_IN];
    bool splat = count > 1;
    for (int k = 0; k < n_in; k++) {
        x[k] = map_operand(&in[k], y);
        splat = splat && x[k].splat;
    }
    if (splat) count = 1;
    for (int64_t at = 0; at < count; at += BLOCK) {
        int n = (int)(count - at < BLOCK ? count - at : BLOCK);
        if (class == CLASS_FLOAT)
            map_float(kernel, n_in, x, y, at, n);
        else if (class == CLASS_COMPLEX)
            map_complex(kernel, n_in, x, y, at, n);
        else
            map_integer(kernel, n_in, x, y, at, n);
    }
    y->splat = splat;
    return 0;
}

void element_copy(tensor_t *y, int64_t to, const tensor_t *x, int64_t from)
{
    size_t size = dtype_bytes(x->type.dtype);
    int64_t i = x->splat ? 0 : from;
    memcpy((char *)y->data + (size_t)to * size, (const char *)x->data + (size_t)i * size, size);
}

void tensor_assign(tensor_t *y, const tensor_t *x)
{
    y->splat = x->splat && ir_type_count(&x->type) > 0;
    int64_t bytes = tensor_data_bytes(y);
    if (bytes > 0) memcpy(y->data, x->data, (size_t)bytes);
}

tensor_t tensor_element(const tensor_t *x, int64_t i)
{
    size_t offset = (x->splat ? 0 : (size_t)i) * dtype_bytes(x->type.dtype);
    return (tensor_t){.type = ir_type_scalar(x->type.dtype), .data = (char *)x->data + offset};
}

/* --- Reverse rules --------------------------------------------------------------------------- */

ir_val_t vjp_wide(ir_fn_t *fn, ir_val_t x)
{
    if (x == IR_NONE || !dtype_is_narrow(ir_type_of(fn, x)->dtype)) return x;
    return ir_convert(fn, x, DT_F32);
}

ir_val_t vjp_in(const vjp_t *v, int i)
{
    return vjp_wide(v->fn, v->op->in[i]);
}

ir_val_t vjp_ct(const vjp_t *v, int i)
{
    return vjp_wide(v->fn, v->ct[i]);
}

void vjp_give(vjp_t *v, int i, ir_val_t ct)
{
    if (ct == IR_NONE || !v->need[i]) return;
    const ir_type_t *to = op_in_type(v->fn, v->op, i);
    if (to->rank == 0 && ir_type_of(v->fn, ct)->rank > 0)
        ct = ir_reduce_all(v->fn, OP_add, vjp_wide(v->fn, ct));
    v->in_ct[i] = ct == IR_NONE ? IR_NONE : ir_convert(v->fn, ct, to->dtype);
}

int vjp_done(const vjp_t *v, err_t *err)
{
    if (v->fn->err.code == ERR_OK) return 0;
    if (err) *err = v->fn->err;
    return -1;
}

int vjp_none(vjp_t *v, err_t *err)
{
    (void)v;
    (void)err;
    return 0;
}
