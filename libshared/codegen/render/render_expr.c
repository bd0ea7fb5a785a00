/* Expressions of the loop-IR as C; index sums are written out in place. */
#include "codegen/render/render_expr.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/op.h"

static const kx_node_t *node(const render_t *self, kx_t x)
{
    return &self->kernel->graph.node.at[x];
}

const char *render_storage(dtype_t dtype)
{
    switch (dtype) {
    case DT_I1:
    case DT_UI2:
    case DT_UI4:
    case DT_UI8: return "uint8_t";
    case DT_I2:
    case DT_I4:
    case DT_I8: return "int8_t";
    case DT_I16: return "int16_t";
    case DT_I32: return "int32_t";
    case DT_I64: return "int64_t";
    case DT_UI16:
    case DT_F16:
    case DT_BF16: return "uint16_t";
    case DT_UI32: return "uint32_t";
    case DT_UI64: return "uint64_t";
    case DT_F64: return "double";
    default: return dtype_is_small(dtype) ? "uint8_t" : "float";
    }
}

const char *render_type(dtype_t dtype)
{
    if (dtype == DT_I1) return "_Bool";
    return dtype_is_narrow(dtype) ? "float" : render_storage(dtype);
}

const char *render_node_type(const render_t *self, const kx_node_t *n)
{
    (void)self;
    return render_type(n->dtype);
}

const char *render_suffix(dtype_t dtype)
{
    switch (dtype) {
    case DT_I1: return "i1";
    case DT_UI2:
    case DT_UI4:
    case DT_UI8: return "u8";
    case DT_I2:
    case DT_I4:
    case DT_I8: return "i8";
    case DT_I16: return "i16";
    case DT_I32: return "i32";
    case DT_I64: return "i64";
    case DT_UI16: return "u16";
    case DT_UI32: return "u32";
    case DT_UI64: return "u64";
    case DT_F64: return "f64";
    default: return "f32";
    }
}

/* --- Operands -------------------------------------------------------------------------------- */

void render_sum(render_t *self, const kx_node_t *n, str_t *out)
{
    if (n->n_in == 0) {
        if (n->i == INT64_MIN)
            str_add(out, "INT64_MIN");
        else
            str_addf(out, "INT64_C(%" PRId64 ")", n->i);
        return;
    }
    str_add(out, "(");
    for (int t = 0; t < n->n_in; t++) {
        str_add(out, t ? " + " : "");
        render_use(self, n->in[t], out);
        if (n->coef[t] != 1) str_addf(out, " * %" PRId64, n->coef[t]);
    }
    if (n->i) str_addf(out, " + %" PRId64, n->i);
    str_add(out, ")");
}

void render_number(const kx_node_t *n, str_t *out)
{
    const char *f = n->dtype == DT_F64 ? "" : "f";
    if (n->dtype == DT_UI64)
        str_addf(out, "UINT64_C(%" PRIu64 ")", (uint64_t)n->i);
    else if (!dtype_is_float(n->dtype))
        str_addf(out, "(%s)%" PRId64, render_type(n->dtype), n->i);
    else if (isnan(n->f))
        str_addf(out, "__builtin_nan%s(\"\")", f);
    else if (isinf(n->f))
        str_addf(out, "(%s__builtin_inf%s())", n->f < 0 ? "-" : "", f);
    else
        str_addf(out, n->f < 0 ? "(%a%s)" : "%a%s", n->f, f);
}

void render_value(render_t *self, kx_t x, str_t *out)
{
    if (self->lang->value)
        self->lang->value(self, x, out);
    else
        render_use(self, x, out);
}

/* --- Operations ------------------------------------------------------------------------------- */

bool render_is_sub_byte(dtype_t dtype)
{
    return dtype == DT_I2 || dtype == DT_I4 || dtype == DT_UI2 || dtype == DT_UI4;
}

/* Results that need no rounding when the operands are halves already. The small types have largest
 * numbers that are no whole ones, or lack -0, or signs. */
bool render_is_exact(op_code_t op, dtype_t result)
{
    if (dtype_is_small(result)) return op == OP_maximum || op == OP_minimum || op == OP_clamp;
    return op == OP_negate || op == OP_abs || op == OP_maximum || op == OP_minimum ||
           op == OP_clamp || op == OP_sign || op == OP_floor || op == OP_ceil;
}

/* Counts and right shifts look at bits beyond a sub-byte element's own. NULL: op does not. */
static const char *sub_byte_text(op_code_t op, bool four)
{
    switch (op) {
    case OP_popcnt: return four ? "pcp_popcnt_u8($0 & 15)" : "pcp_popcnt_u8($0 & 3)";
    case OP_count_leading_zeros:
        return four ? "(pcp_clz_u8($0 & 15) - 4)" : "(pcp_clz_u8($0 & 3) - 6)";
    case OP_shift_right_logical:
        return four ? "pcp_shrl_u8($0 & 15, $1 & 15)" : "pcp_shrl_u8($0 & 3, $1 & 3)";
    case OP_shift_right_arithmetic:
        return four ? "pcp_shra_i8(kc_wrap_i4($0), $1 & 15)"
                    : "pcp_shra_i8(kc_wrap_i2($0), $1 & 3)";
    default: return NULL;
    }
}

const char *render_op_text(op_code_t op, dtype_t operand)
{
    const char *text = render_is_sub_byte(operand) ? sub_byte_text(op, dtype_bits(operand) == 4)
                                                   : NULL;
    if (text) return text;
    if (operand == DT_I1 && (op == OP_add || op == OP_maximum)) return "($0 | $1)";
    if (operand == DT_I1 && (op == OP_multiply || op == OP_minimum)) return "($0 & $1)";
    return op_def(op)->expr;
}

void render_op(str_t *out, op_code_t op, dtype_t result, dtype_t operand, int n_in,
               const char *const *in)
{
    bool rounds = dtype_is_narrow(result) && !render_is_exact(op, result);
    if (rounds && op == OP_chlo_next_after) {
        str_addf(out, "kc_next_%s(%s, %s)", dtype_name(result), in[0], in[1]);
        return;
    }
    if (rounds) str_addf(out, "kc_round_%s(", dtype_name(result));
    if (render_is_sub_byte(result)) str_addf(out, "kc_wrap_%s(", dtype_name(result));
    for (const char *p = render_op_text(op, operand); *p; p++) {
        if (p[0] == '$' && p[1] == 't')
            str_add(out, render_suffix(operand)), p++;
        else if (p[0] == '$' && p[1] >= '0' && p[1] < '0' + n_in)
            str_add(out, in[p[1] - '0']), p++;
        else
            str_addn(out, p, 1);
    }
    if (rounds || render_is_sub_byte(result)) str_add(out, ")");
}

static void write_compare(render_t *self, const kx_node_t *n, str_t *out)
{
    static const char *const sign[] = {"==", "!=", "<", "<=", ">", ">="};
    render_value(self, n->in[0], out);
    str_addf(out, " %s ", sign[n->i]);
    render_value(self, n->in[1], out);
}

static void write_map(render_t *self, const kx_node_t *n, str_t *out)
{
    if (n->op == OP_compare) {
        write_compare(self, n, out);
        return;
    }
    str_t in[4] = {{0}};
    const char *text[4];
    for (int t = 0; t < n->n_in; t++) {
        render_value(self, n->in[t], &in[t]);
        text[t] = str_text(&in[t]);
    }
    render_op(out, n->op, n->dtype, node(self, n->in[0])->dtype, n->n_in, text);
    for (int t = 0; t < n->n_in; t++) str_fini(&in[t]);
}

/* Floats become integers by truncation within the type's range. Every case is one that vectorises:
 * gcc does not turn a _Bool into a number in a loop, but it selects. */
void render_convert(str_t *out, dtype_t to, dtype_t from, const char *text)
{
    bool half = dtype_is_narrow(to), is_float = dtype_is_float(to);
    /* Only sub-byte integers need their range: C has no type for them. */
    long long top = render_is_sub_byte(to) ? 1ll << (dtype_bits(to) - 1) : 1;
    long long hi = dtype_is_signed(to) ? top - 1 : 2 * top - 1;
    if (to == DT_I1)
        str_addf(out, "(_Bool)(%s != 0)", text);
    else if (from == DT_I1 && !dtype_is_small(to)) /* 0 and 1 are numbers of every other type */
        str_addf(out, "(%s ? (%s)1 : (%s)0)", text, render_type(to), render_type(to));
    else if (half && (from == DT_I64 || from == DT_UI64))
        str_addf(out, "kc_round_%s(pcp_f32_odd_from_f64(pcp_f64_sticky_from_%s(%s)))",
                 dtype_name(to), render_suffix(from), text);
    else if (half && (from == DT_F64 || dtype_is_int(from)))
        str_addf(out, "kc_round_%s(pcp_f32_odd_from_f64((double)%s))", dtype_name(to), text);
    else if (half)
        str_addf(out, "kc_round_%s(%s)", dtype_name(to), text);
    else if (render_is_sub_byte(to) && dtype_is_float(from))
        str_addf(out, "pcp_clamp_%s(%lld, pcp_%s_from_%s(%s), %lld)", render_suffix(to),
                 dtype_is_signed(to) ? -top : 0, render_suffix(to), render_suffix(from), text, hi);
    else if (render_is_sub_byte(to))
        str_addf(out, "kc_wrap_%s(%s)", dtype_name(to), text);
    else if (dtype_is_float(from) && !is_float)
        str_addf(out, "pcp_%s_from_%s(%s)", render_suffix(to), render_suffix(from), text);
    else
        str_addf(out, "(%s)%s", render_type(to), text);
}

static void write_convert(render_t *self, const kx_node_t *n, str_t *out)
{
    str_t x = {0};
    render_value(self, n->in[0], &x);
    render_convert(out, n->dtype, node(self, n->in[0])->dtype, str_text(&x));
    str_fini(&x);
}

bool render_turn(const render_t *self, str_t *out)
{
    if (self->turn) str_addf(out, "j%d", self->turn);
    return self->turn != 0;
}

static void write_element(render_t *self, const kx_node_t *n, str_t *out)
{
    const char *base = n->kind == KX_LOAD ? "a" : "l";
    bool half = dtype_is_narrow(n->dtype);
    if (half) str_addf(out, "pcp_f32_from_%s(", dtype_name(n->dtype));
    str_addf(out, "%s%" PRId64 "[", base, n->i);
    if (n->kind != KX_LOCAL || !render_turn(self, out)) render_use(self, n->in[0], out);
    str_add(out, half ? "])" : "]");
}

static void write_key(render_t *self, const kx_node_t *n, str_t *out)
{
    str_addf(out, "pcp_key_%s(", render_suffix(node(self, n->in[0])->dtype));
    render_value(self, n->in[0], out);
    str_add(out, ")");
}

static void write_round(render_t *self, const kx_node_t *n, str_t *out)
{
    str_add(out, "pcp_reduce_precision((double)");
    render_value(self, n->in[0], out);
    str_addf(out, ", %d, %d)", (int)(n->i / 64), (int)(n->i % 64));
}

void render_node(render_t *self, kx_t x, str_t *out)
{
    const kx_node_t *n = node(self, x);
    switch (n->kind) {
    case KX_VAR: render_var(self, (int)n->i, out); return;
    case KX_LOAD:
    case KX_LOCAL: write_element(self, n, out); return;
    case KX_MAP: write_map(self, n, out); return;
    case KX_CONVERT: write_convert(self, n, out); return;
    case KX_KEY: write_key(self, n, out); return;
    case KX_ROUND: write_round(self, n, out); return;
    default: break;
    }
    render_value(self, n->in[0], out);
    if (n->kind == KX_DIV)
        str_addf(out, " / %" PRId64, n->i);
    else if (n->kind == KX_MOD)
        str_addf(out, " %% %" PRId64, n->i);
    else if (n->kind == KX_GE0)
        str_add(out, " >= 0");
    else if (n->kind == KX_SELECT) {
        str_add(out, " ? ");
        render_value(self, n->in[1], out);
        str_add(out, " : ");
        render_value(self, n->in[2], out);
    }
}

void render_store(render_t *self, const kstmt_t *s, const char *base, dtype_t dtype)
{
    str_addf(self->out, "%s%d[", base, s->target);
    if (s->kind != KS_KEEP || !render_turn(self, self->out)) render_use(self, s->index, self->out);
    str_add(self->out, "]");
    render_stored(self, s, dtype);
}

void render_stored(render_t *self, const kstmt_t *s, dtype_t dtype)
{
    dtype_t from = self->kernel->graph.node.at[s->value].dtype;
    bool raw = self->kernel->in_order && from != dtype; /* a move of bits (plan/lower/loops_in.h) */
    bool rounded = dtype == DT_BF16 && self->kernel->graph.node.at[s->value].kind == KX_CONVERT;
    if (raw)
        str_add(self->out, " = (");
    else if (rounded) /* rounding again would cost as much as many a kernel */
        str_add(self->out, " = pcp_bf16_of_f32(");
    else if (dtype_is_narrow(dtype))
        str_addf(self->out, " = pcp_%s_from_f32(", dtype_name(dtype));
    else
        str_add(self->out, " = (");
    render_use(self, s->value, self->out);
    str_add(self->out, ");\n");
}
