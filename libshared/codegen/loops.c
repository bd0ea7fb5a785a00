/* Plain loops: dispatch by op, element access, regions of scalar ops. */
#include "codegen/loops.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/loops_in.h"
#include "codegen/render_expr.h"

const char loops_head[] =
    "static inline double kc_reduce_precision(double x, int e, int m)\n"
    "{\n"
    "    int at;\n"
    "    if (x != x && m == 0) return __builtin_copysign(__builtin_inf(), x);\n"
    "    if (!(x - x == 0) || x == 0) return x;\n"
    "    frexp(x, &at);\n"
    "    if (m < 52) {\n"
    "        int ulp = at - 1 - m;\n"
    "        x = ldexp(__builtin_rint(ldexp(x, -ulp)), ulp);\n"
    "        frexp(x, &at);\n"
    "    }\n"
    "    if (e < 11) {\n"
    "        int bias = (1 << (e - 1)) - 1;\n"
    "        if (at - 1 > bias) return __builtin_copysign(__builtin_inf(), x);\n"
    "        if (at - 1 < 1 - bias) return __builtin_copysign(0, x);\n"
    "    }\n"
    "    return x;\n"
    "}\n"
    "static inline uint32_t kc_turn(uint32_t x, int by) { return x << by | x >> (32 - by); }\n"
    "static inline uint64_t kc_three_fry(uint64_t key, uint64_t counter)\n"
    "{\n"
    "    static const int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};\n"
    "    uint32_t k[3] = {(uint32_t)key, (uint32_t)(key >> 32), 0};\n"
    "    k[2] = 0x1BD11BDA ^ k[0] ^ k[1];\n"
    "    uint32_t a = (uint32_t)counter + k[0], b = (uint32_t)(counter >> 32) + k[1];\n"
    "    for (uint32_t round = 0; round < 5; round++) {\n"
    "        for (int i = 0; i < 4; i++) {\n"
    "            a += b;\n"
    "            b = kc_turn(b, turns[round % 2][i]) ^ a;\n"
    "        }\n"
    "        a += k[(round + 1) % 3];\n"
    "        b += k[(round + 2) % 3] + round + 1;\n"
    "    }\n"
    "    return (uint64_t)b << 32 | a;\n"
    "}\n"
    "static inline uint32_t kc_philox(uint64_t key, uint64_t low, uint64_t high, int word)\n"
    "{\n"
    "    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);\n"
    "    uint32_t x[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,\n"
    "                     (uint32_t)(high >> 32)};\n"
    "    for (int round = 0; round < 10; round++) {\n"
    "        uint64_t p = (uint64_t)0xD2511F53 * x[0], q = (uint64_t)0xCD9E8D57 * x[2];\n"
    "        uint32_t y0 = (uint32_t)(q >> 32) ^ x[1] ^ k0, y2 = (uint32_t)(p >> 32) ^ x[3] ^ k1;\n"
    "        x[0] = y0, x[1] = (uint32_t)q, x[2] = y2, x[3] = (uint32_t)p;\n"
    "        k0 += 0x9E3779B9;\n"
    "        k1 += 0xBB67AE85;\n"
    "    }\n"
    "    return x[word];\n"
    "}\n\n";

static loops_fn *const rows[OP_COUNT] = {
    [OP_reduce] = loops_reduce,
    [OP_reduce_window] = loops_reduce_window,
    [OP_select_and_scatter] = loops_select_and_scatter,
    [OP_scatter] = loops_scatter,
    [OP_convolution] = loops_convolution,
    [OP_sort] = loops_sort,
    [OP_chlo_top_k] = loops_top_k,
    [OP_bitcast_convert] = loops_bitcast,
    [OP_reduce_precision] = loops_map,
    [OP_compare] = loops_map,
    [OP_rng_bit_generator] = loops_rng_bits,
};

void loops_render(const kernel_t *kernel, str_t *out)
{
    loops_t l = {kernel, kernel->fn, kernel->op, out};
    str_add(out, "for (int64_t o = begin; o < end; o++) {\n");
    rows[kernel->op->code](&l);
    str_add(out, "}\n");
}

/* --- Elements --------------------------------------------------------------------------------- */

const ir_type_t *loops_type(const loops_t *l, ir_val_t v)
{
    return ir_type_of(l->fn, v);
}

int loops_arg(const loops_t *l, ir_val_t v)
{
    for (size_t i = 0; i < l->kernel->arg.n; i++)
        if (l->kernel->arg.at[i].value == v) return (int)i;
    return -1;
}

const char *loops_load(const loops_t *l, ir_val_t v, const char *index, char buf[LOOPS_NAME])
{
    dtype_t dtype = loops_type(l, v)->dtype;
    int arg = loops_arg(l, v);
    if (dtype_is_narrow(dtype))
        snprintf(buf, LOOPS_NAME, "pcp_f32_from_%s(a%d[%s])", dtype_name(dtype), arg, index);
    else
        snprintf(buf, LOOPS_NAME, "a%d[%s]", arg, index);
    return buf;
}

void loops_store(loops_t *l, ir_val_t v, const char *index, const char *value)
{
    dtype_t dtype = loops_type(l, v)->dtype;
    if (dtype_is_narrow(dtype))
        str_addf(l->out, "a%d[%s] = pcp_%s_from_f32(%s);\n", loops_arg(l, v), index,
                 dtype_name(dtype), value);
    else
        str_addf(l->out, "a%d[%s] = %s;\n", loops_arg(l, v), index, value);
}

void loops_store_as(loops_t *l, ir_val_t v, const char *index, dtype_t from, const char *value)
{
    str_t text = {0};
    render_convert(&text, loops_type(l, v)->dtype, from, value);
    loops_store(l, v, index, str_text(&text));
    str_fini(&text);
}

/* --- Indices ---------------------------------------------------------------------------------- */

void loops_digits(loops_t *l, const char *name, const char *flat, int rank, const int64_t *dim)
{
    int64_t behind = 1;
    for (int d = rank - 1; d >= 0; d--) {
        str_addf(l->out, "const int64_t %s%d = %s / %" PRId64 " %% %" PRId64 ";\n", name, d, flat,
                 behind, dim[d]);
        behind *= dim[d];
    }
}

void loops_offset(loops_t *l, const char *name, int rank, const int64_t *stride)
{
    str_add(l->out, "0");
    for (int d = 0; d < rank; d++)
        if (stride[d]) str_addf(l->out, " + %s%d * %" PRId64, name, d, stride[d]);
}

void loops_open(loops_t *l, const char *name, int rank, const int64_t *dim)
{
    for (int d = 0; d < rank; d++)
        str_addf(l->out, "for (int64_t %s%d = 0; %s%d < %" PRId64 "; %s%d++) {\n", name, d, name, d,
                 dim[d], name, d);
}

void loops_close(loops_t *l, int rank)
{
    for (int d = 0; d < rank; d++) str_add(l->out, "}");
    str_add(l->out, "\n");
}

/* --- Scalar ops ------------------------------------------------------------------------------- */

static void add_constant(const tensor_t *t, str_t *text)
{
    kx_node_t n = {.kind = KX_NUMBER, .dtype = t->type.dtype};
    if (dtype_is_float(n.dtype))
        n.f = tensor_get_f64(t, 0);
    else
        n.i = tensor_get_i64(t, 0);
    render_number(&n, text);
}

static void add_compare(const loops_t *l, const ir_op_t *op, const char *const *in, str_t *text)
{
    static const char *const names[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    static const char *const signs[] = {"==", "!=", "<", "<=", ">", ">="};
    const char *direction = attr_text(&op->attrs, "comparison_direction", "EQ");
    dtype_t dtype = loops_type(l, op->in[0])->dtype;
    bool total = strcmp(attr_text(&op->attrs, "compare_type", ""), "TOTALORDER") == 0 &&
                 dtype_is_float(dtype);
    int at = 0;
    while (at < 5 && strcmp(direction, names[at]) != 0) at++;
    if (total)
        str_addf(text, "pcp_key_%s(%s) %s pcp_key_%s(%s)", render_suffix(dtype), in[0], signs[at],
                 render_suffix(dtype), in[1]);
    else
        str_addf(text, "%s %s %s", in[0], signs[at], in[1]);
}

/* A format at least as fine as the element type changes nothing, subnormals included. */
static void add_reduce_precision(const loops_t *l, const ir_op_t *op, const char *x, str_t *text)
{
    dtype_t dtype = loops_type(l, op->out)->dtype;
    const dtype_format_t *own = dtype_format(dtype);
    int64_t e = attr_int(&op->attrs, "exponent_bits", 11);
    int64_t m = attr_int(&op->attrs, "mantissa_bits", 52);
    char wide[LOOPS_NAME + 64];
    snprintf(wide, sizeof wide, "kc_reduce_precision((double)%s, %d, %d)", x,
             e >= own->exp_bits ? 11 : (int)e, m >= own->man_bits ? 52 : (int)m);
    render_convert(text, dtype, DT_F64, wide);
}

void loops_scalar(const loops_t *l, const ir_op_t *op, const char *const *in, str_t *text)
{
    dtype_t dtype = loops_type(l, op->out)->dtype;
    switch (op->code) {
    case OP_constant: add_constant(ir_const_of(l->fn, op->out), text); return;
    case OP_compare: add_compare(l, op, in, text); return;
    case OP_select: str_addf(text, "%s ? %s : %s", in[0], in[1], in[2]); return;
    case OP_convert: render_convert(text, dtype, loops_type(l, op->in[0])->dtype, in[0]); return;
    case OP_reduce_precision: add_reduce_precision(l, op, in[0], text); return;
    case OP_reshape:
    case OP_broadcast_in_dim:
    case OP_optimization_barrier:
    case OP_custom_call: str_add(text, in[0]); return;
    default:
        render_op(text, op->code, dtype, loops_type(l, op->in[0])->dtype, op->n_in, in);
        return;
    }
}

/* The name of v inside a region: v<number>, or the element of a captured value. */
static const char *name_of(const loops_t *l, const ir_region_t *region, ir_val_t v,
                           char buf[LOOPS_NAME])
{
    const ir_value_t *value = &l->fn->value[v];
    if ((value->def ? value->def->parent : value->owner) != region)
        return loops_load(l, v, "0", buf);
    snprintf(buf, LOOPS_NAME, "v%u", v);
    return buf;
}

static void write_scalar_op(loops_t *l, const ir_region_t *region, const ir_op_t *op)
{
    char buf[4][LOOPS_NAME];
    const char *in[4] = {0};
    str_t text = {0};
    for (int i = 0; i < op->n_in && i < 4; i++) in[i] = name_of(l, region, op->in[i], buf[i]);
    loops_scalar(l, op, in, &text);
    str_addf(l->out, "const %s v%u = %s;\n", render_type(loops_type(l, op->out)->dtype), op->out,
             str_text(&text));
    str_fini(&text);
}

void loops_region(loops_t *l, const ir_region_t *region, const char *const *args,
                  const char *const *results)
{
    char buf[LOOPS_NAME];
    str_add(l->out, "{\n");
    for (int i = 0; i < region->n_arg; i++) {
        ir_val_t v = region->arg + (ir_val_t)i;
        str_addf(l->out, "const %s v%u = %s;\n", render_type(loops_type(l, v)->dtype), v, args[i]);
    }
    for (int i = 0; i < region->n_op; i++) write_scalar_op(l, region, region->op[i]);
    for (int i = 0; i < region->n_result; i++)
        str_addf(l->out, "%s = %s;\n", results[i], name_of(l, region, region->result[i], buf));
    str_add(l->out, "}\n");
}

/* --- One scalar op on all elements ------------------------------------------------------------ */

void loops_map(loops_t *l)
{
    char buf[4][LOOPS_NAME];
    const char *in[4] = {0};
    str_t text = {0};
    for (int i = 0; i < l->op->n_in && i < 4; i++)
        in[i] = loops_load(l, l->op->in[i], loops_type(l, l->op->in[i])->rank ? "o" : "0", buf[i]);
    loops_scalar(l, l->op, in, &text);
    loops_store(l, l->op->out, "o", str_text(&text));
    str_fini(&text);
}
