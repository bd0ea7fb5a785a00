/* The type !quant.uniform and its arithmetic; see quant.h. Which op does what is in quant_op.c. */
#include "parse/quant.h"

#include <math.h>
#include <string.h>

enum { MAX_SCALES = 1 << 20 };

typedef VEC(double) doubles_t;

/* --- the type --- */

/* `i8`, `u8` or `ui8`, and the bounds of all its values. */
static int storage(parser_t *p, quant_t *q)
{
    token_t t = p->tok;
    char name[8] = "u";
    bool is_short = t.kind == TOK_ID && t.n >= 2 && t.n <= 3 && *t.at == 'u' && t.at[1] != 'i';
    if (is_short) { /* u8 is ui8 elsewhere */
        name[1] = 'i';
        memcpy(name + 2, t.at + 1, t.n - 1);
    }
    q->storage = is_short           ? dtype_parse(name, t.n + 1)
                 : t.kind == TOK_ID ? dtype_parse(t.at, t.n)
                                    : DT_NONE;
    if (!dtype_is_int(q->storage) || dtype_bits(q->storage) > 32)
        return parse_expected(p, "a storage type of 2 to 32 bits, like i8");
    int bits = dtype_bits(q->storage);
    bool is_signed = dtype_is_signed(q->storage);
    q->min = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
    q->max = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    parse_next(p);
    return 0;
}

/* `<-127:127>` behind the storage type */
static int bounds(parser_t *p, quant_t *q)
{
    quant_t all = *q;
    if (p->tok.kind != '<') return 0;
    const char *at = p->tok.at;
    parse_next(p);
    if (parse_int(p, &q->min) < 0 || parse_expect(p, ':', ":") < 0 || parse_int(p, &q->max) < 0 ||
        parse_expect(p, '>', ">") < 0)
        return -1;
    if (q->min >= all.min && q->min < q->max && q->max <= all.max) return 0;
    return parse_fail(p, at, ERR_TYPE, "%lld:%lld are no bounds of values from %lld to %lld",
                      (long long)q->min, (long long)q->max, (long long)all.min, (long long)all.max);
}

/* `scale` or `scale:zero` */
static int scale(parser_t *p, const quant_t *q, doubles_t *scales, ints_t *zeros)
{
    const char *behind, *at = p->tok.at;
    double value;
    int64_t zero = 0;
    bool is_number = p->tok.kind == TOK_FLOAT || p->tok.kind == TOK_INT;
    if (!is_number || !number_f64(at, at + p->tok.n, &behind, &value) || behind != at + p->tok.n)
        return parse_expected(p, "a scale");
    if (!(value > 0) || !isfinite(value))
        return parse_fail(p, at, ERR_TYPE, "a scale is positive and finite, not %g", value);
    parse_next(p);
    const char *at_zero = p->tok.at;
    if (parse_accept(p, ':') && parse_int(p, &zero) < 0) return -1;
    if (zero < q->min || zero > q->max)
        return parse_fail(p, at_zero, ERR_TYPE, "zero point %lld is not in %lld to %lld",
                          (long long)zero, (long long)q->min, (long long)q->max);
    if (scales->n == MAX_SCALES) return parse_expected(p, "}: there are too many scales");
    VEC_PUSH(scales, value);
    VEC_PUSH(zeros, zero);
    return 0;
}

/* `{0.1:3, 0.2}` of an axis, or the one of the whole tensor */
static int scales(parser_t *p, const quant_t *q, doubles_t *scales, ints_t *zeros)
{
    if (q->axis < 0) return scale(p, q, scales, zeros);
    if (p->tok.kind != '{') return parse_expected(p, "{ of the scales");
    do {
        parse_next(p);
        if (p->tok.kind == '{')
            return parse_fail(p, p->tok.at, ERR_UNSUPPORTED,
                              "scales per block are not supported, only one per axis");
        if (scale(p, q, scales, zeros) < 0) return -1;
    } while (p->tok.kind == ',');
    return parse_expect(p, '}', ", or } of the scales");
}

/* What stands between < and > */
static int parameters(parser_t *p, quant_t *q, doubles_t *scale_list, ints_t *zeros)
{
    int64_t axis = -1;
    if (storage(p, q) < 0 || bounds(p, q) < 0 || parse_expect(p, ':', ": and a float type") < 0)
        return -1;
    q->expressed = p->tok.kind == TOK_ID ? dtype_parse(p->tok.at, p->tok.n) : DT_NONE;
    if (!dtype_is_float(q->expressed)) return parse_expected(p, "a float type");
    parse_next(p);
    if (parse_accept(p, ':')) {
        const char *at = p->tok.at;
        if (p->tok.kind == '{')
            return parse_fail(p, at, ERR_UNSUPPORTED,
                              "scales per block are not supported, only one per axis");
        if (parse_int(p, &axis) < 0) return -1;
        if (axis < 0 || axis >= IR_MAX_RANK)
            return parse_fail(p, at, ERR_TYPE, "axis %lld is not in 0 to %d", (long long)axis,
                              IR_MAX_RANK - 1);
    }
    q->axis = (int)axis;
    if (parse_expect(p, ',', ", and the scale") < 0) return -1;
    return scales(p, q, scale_list, zeros);
}

static int uniform(parser_t *p, const char *at, wide_t *wide)
{
    doubles_t scale_list = {0};
    ints_t zeros = {0};
    quant_t *q = &wide->quant;
    int rc = parse_expect(p, '<', "< after !quant.uniform");
    if (rc == 0) rc = parameters(p, q, &scale_list, &zeros);
    if (rc == 0 && p->tok.kind != '>') rc = parse_expected(p, "> of !quant.uniform");
    q->n = (int)scale_list.n;
    if (rc == 0) {
        q->scale = arena_copy(p->arena, scale_list.at, sizeof *q->scale * scale_list.n);
        q->zero = arena_copy(p->arena, zeros.at, sizeof *q->zero * zeros.n);
        size_t n = (size_t)(p->tok.at + 1 - at);
        wide->text = p->tok.at < at ? "!quant.uniform" /* behind an alias */
                                    : arena_strndup(p->arena, at, n < 100 ? n : 100);
        parse_next(p);
    }
    VEC_FREE(&scale_list);
    VEC_FREE(&zeros);
    return rc;
}

int quant_element(parser_t *p, ir_type_t *type)
{
    const char *at = p->tok.at;
    wide_t wide = {.kind = WIDE_QUANT, .n_leaf = 1};
    if (!lex_is(p->tok, "!quant.uniform"))
        return parse_fail(p, at, ERR_UNSUPPORTED, "element type '%.*s' is not supported",
                          (int)(p->tok.n > 64 ? 64 : p->tok.n), at);
    parse_next(p);
    if (uniform(p, at, &wide) < 0) return -1;
    type->dtype = wide_intern(p, &wide, at);
    return type->dtype == DT_NONE ? -1 : 0;
}

int quant_check_shape(parser_t *p, const ir_type_t *type, const char *at)
{
    const quant_t *q = wide_quant(p, type);
    if (!q || q->axis < 0) return 0;
    if (q->axis >= type->rank)
        return parse_fail(p, at, ERR_TYPE, "scales along axis %d of a tensor of rank %d", q->axis,
                          type->rank);
    if (type->dim[q->axis] == q->n) return 0;
    return parse_fail(p, at, ERR_TYPE, "%d scales along axis %d, which has %lld elements", q->n,
                      q->axis, (long long)type->dim[q->axis]);
}

/* --- arithmetic: ops/quantize.c --- */

/* The numbers as attributes of both ops, made once for each type. */
static const ir_attrs_t *attributes(parser_t *p, quant_t *q)
{
    if (q->attrs.n) return &q->attrs;
    int64_t n = q->n;
    ir_type_t list = ir_type(q->expressed, 1, &n);
    tensor_t *scales = ARENA_NEW(p->arena, tensor_t);
    *scales = tensor_in(p->arena, &list);
    for (int i = 0; i < q->n; i++) tensor_set_f64(scales, i, q->scale[i]);
    attr_set(p->arena, &q->attrs,
             (ir_attr_t){.name = "scales", .kind = ATTR_TENSOR, .tensor = scales});
    attr_set(p->arena, &q->attrs,
             (ir_attr_t){.name = "zero_points", .kind = ATTR_INTS, .ints = q->zero, .n = q->n});
    if (q->axis >= 0) attr_set_int(p->arena, &q->attrs, "axis", q->axis);
    attr_set_int(p->arena, &q->attrs, "storage_min", q->min);
    attr_set_int(p->arena, &q->attrs, "storage_max", q->max);
    return &q->attrs;
}

static ir_val_t convert(parser_t *p, op_code_t code, ir_val_t x, const ir_type_t *type, dtype_t to,
                        ir_region_t *into)
{
    ir_type_t result = ir_type_with(*type, to);
    ir_op_t *op = ir_op_new(p->fn, code, 1, &x, 1, &result, 0);
    op->attrs = *attributes(p, &p->wide.at[type->dtype - DT_COUNT - 1].quant);
    ir_region_append(into, op, p->arena);
    return op->out;
}

ir_val_t quant_to_real(parser_t *p, ir_val_t stored, const ir_type_t *type, ir_region_t *into)
{
    return convert(p, OP_pcp_dequantize, stored, type, wide_quant(p, type)->expressed, into);
}

ir_val_t quant_from_real(parser_t *p, ir_val_t real, const ir_type_t *type, ir_region_t *into)
{
    return convert(p, OP_pcp_quantize, real, type, wide_quant(p, type)->storage, into);
}
