/* Expressions of the loop-IR as GLSL. Indices that fit are 32-bit integers; integers of less than 32
 * bits live in 32-bit registers and are wrapped after each operation; narrow floats are f32. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codegen/vulkan/render_glsl.h"
#include "ir/op.h"

static const kx_node_t *node(const render_t *self, kx_t x)
{
    return &self->kernel->graph.node.at[x];
}

const char *glsl_type(dtype_t dtype)
{
    if (dtype == DT_I1) return "bool";
    if (dtype == DT_F64) return "double";
    if (dtype_is_float(dtype)) return "float";
    if (dtype_bits(dtype) == 64) return dtype_is_signed(dtype) ? "int64_t" : "uint64_t";
    return dtype_is_signed(dtype) ? "int" : "uint";
}

const char *glsl_memory(dtype_t dtype, const char **type)
{
    static const char *const types[] = {"float", "double",  "int64_t",  "uint64_t", "int",
                                        "uint",  "int16_t", "uint16_t", "int8_t",   "uint8_t"};
    static const char *const names[] = {"m_f32", "m_f64", "m_i64", "m_u64", "m_i32",
                                        "m_u32", "m_i16", "m_u16", "m_i8",  "m_u8"};
    size_t bytes = dtype_bytes(dtype);
    int at = dtype == DT_F32   ? 0
             : dtype == DT_F64 ? 1
                               : (bytes == 8   ? 2
                                  : bytes == 4 ? 4
                                  : bytes == 2 ? 6
                                               : 8) +
                                     !dtype_is_signed(dtype);
    if (type) *type = types[at];
    return names[at];
}

/* --- Indices ---------------------------------------------------------------------------------- */

const char *glsl_node_type(const render_t *self, const kx_node_t *n)
{
    if (render_is_small(self, n)) return "int";
    if (n->dtype == DT_F64) return "precise double"; /* nothing is contracted or left out */
    return dtype_is_float(n->dtype) ? "precise float" : glsl_type(n->dtype);
}

void glsl_index(render_t *self, kx_t x, str_t *out)
{
    const kx_node_t *n = node(self, x);
    if (n->kind == KX_NUMBER) {
        str_addf(out, "%" PRId64, n->i);
        return;
    }
    bool small = render_is_small(self, n);
    if (!small) str_add(out, "int(");
    render_use(self, x, out);
    if (!small) str_add(out, ")");
}

void glsl_value(render_t *self, kx_t x, str_t *out)
{
    const kx_node_t *n = node(self, x);
    bool small = render_is_small(self, n);
    if (n->kind == KX_AFFINE && n->n_in == 0) {
        glsl_number(n, out);
        return;
    }
    if (small) str_add(out, "pcp_wide(");
    render_use(self, x, out);
    if (small) str_add(out, ")");
}

void glsl_sum(render_t *self, const kx_node_t *n, str_t *out)
{
    bool small = render_is_small(self, n);
    const char *l = small ? "" : "L";
    if (n->n_in == 0) {
        if (small)
            str_addf(out, "%" PRId64, n->i);
        else
            glsl_number(n, out);
        return;
    }
    str_add(out, "(");
    for (int t = 0; t < n->n_in; t++) {
        str_add(out, t ? " + " : "");
        if (small)
            glsl_index(self, n->in[t], out);
        else
            glsl_value(self, n->in[t], out);
        if (n->coef[t] != 1) str_addf(out, " * %" PRId64 "%s", n->coef[t], l);
    }
    if (n->i) str_addf(out, " + %" PRId64 "%s", n->i, l);
    str_add(out, ")");
}

/* --- Numbers ---------------------------------------------------------------------------------- */

static void write_i64(int64_t i, str_t *out)
{
    if (i == INT64_MIN)
        str_add(out, "(-9223372036854775807L - 1L)");
    else
        str_addf(out, i < 0 ? "(%" PRId64 "L)" : "%" PRId64 "L", i);
}

static void write_f64(double f, str_t *out)
{
    uint64_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (isfinite(f) && fabs(f) < 1e15 && f == trunc(f))
        str_addf(out, f < 0 || signbit(f) ? "(%.1flf)" : "%.1flf", f);
    else /* decimal text of a double is not worth the trust */
        str_addf(out, "pcp_of_bits_f64(0x%" PRIx64 "UL)", bits);
}

static void write_f32(double f, str_t *out)
{
    float single = (float)f;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (isfinite(single) && fabsf(single) < 1e6f && single == truncf(single))
        str_addf(out, signbit(single) ? "(%.1f)" : "%.1f", (double)single);
    else
        str_addf(out, "uintBitsToFloat(0x%08" PRIx32 "u)", bits);
}

void glsl_number(const kx_node_t *n, str_t *out)
{
    dtype_t t = n->dtype;
    if (t == DT_I1)
        str_add(out, n->i ? "true" : "false");
    else if (t == DT_F64)
        write_f64(n->f, out);
    else if (dtype_is_float(t))
        write_f32(n->f, out);
    else if (t == DT_UI64)
        str_addf(out, "%" PRIu64 "UL", (uint64_t)n->i);
    else if (t == DT_I64)
        write_i64(n->i, out);
    else if (dtype_is_unsigned(t))
        str_addf(out, "%" PRIu32 "u", (uint32_t)n->i);
    else if (n->i == INT32_MIN)
        str_add(out, "int(0x80000000u)");
    else
        str_addf(out, n->i < 0 ? "(%" PRId64 ")" : "%" PRId64, n->i);
}

/* --- Operations ------------------------------------------------------------------------------- */

/* Integers of less than a register. NULL: the type needs no wrapping. */
static const char *wrap_of(dtype_t dtype)
{
    if (!dtype_is_int(dtype)) return NULL;
    switch (dtype_bits(dtype)) {
    case 2: return dtype_is_signed(dtype) ? "kc_wrap_i2" : "kc_wrap_ui2";
    case 4: return dtype_is_signed(dtype) ? "kc_wrap_i4" : "kc_wrap_ui4";
    case 8: return dtype_is_signed(dtype) ? "kc_wrap_i8" : "kc_wrap_ui8";
    case 16: return dtype_is_signed(dtype) ? "kc_wrap_i16" : "kc_wrap_ui16";
    default: return NULL;
    }
}

/* The expression with its operands; bits of booleans are logic. */
static void write_text(str_t *out, const char *text, dtype_t operand, int n_in,
                       const char *const *in)
{
    for (const char *p = text; *p; p++) {
        if (p[0] == '$' && p[1] == 't')
            str_add(out, render_suffix(operand)), p++;
        else if (p[0] == '$' && p[1] >= '0' && p[1] < '0' + n_in)
            str_add(out, in[p[1] - '0']), p++;
        else
            str_addn(out, p, operand == DT_I1 && strchr("&|^", *p) ? 2 : 1);
    }
}

void glsl_op(str_t *out, op_code_t op, dtype_t result, dtype_t operand, int n_in,
             const char *const *in)
{
    bool rounds = dtype_is_narrow(result) && !render_is_exact(op, result);
    const char *wrap = wrap_of(result), *text = render_op_text(op, operand);
    if (rounds && op == OP_chlo_next_after) {
        str_addf(out, "kc_next_%s(%s, %s)", dtype_name(result), in[0], in[1]);
        return;
    }
    if (rounds) str_addf(out, "kc_round_%s(", dtype_name(result));
    if (wrap) str_addf(out, "%s(%s(", wrap, glsl_type(result));
    if (operand == DT_I1 && strlen(text) == 9 && strchr("&|^", text[4]))
        str_addf(out, "(%s %c%c %s)", in[0], text[4], text[4], in[1]);
    else
        write_text(out, text, operand, n_in, in);
    str_add(out, wrap ? "))" : rounds ? ")" : "");
}

static void write_compare(render_t *self, const kx_node_t *n, str_t *out)
{
    static const char *const sign[] = {"==", "!=", "<", "<=", ">", ">="};
    bool number = node(self, n->in[0])->dtype == DT_I1 && n->i > CMP_NE;
    str_add(out, number ? "int(" : "");
    glsl_value(self, n->in[0], out);
    str_addf(out, "%s %s %s", number ? ")" : "", sign[n->i], number ? "int(" : "");
    glsl_value(self, n->in[1], out);
    str_add(out, number ? ")" : "");
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
        glsl_value(self, n->in[t], &in[t]);
        text[t] = str_text(&in[t]);
    }
    glsl_op(out, n->op, n->dtype, node(self, n->in[0])->dtype, n->n_in, text);
    for (int t = 0; t < n->n_in; t++) str_fini(&in[t]);
}

/* As render_convert. */
static void convert(str_t *out, dtype_t to, dtype_t from, const char *text)
{
    bool half = dtype_is_narrow(to), sub = render_is_sub_byte(to);
    const char *type = glsl_type(to), *wrap = wrap_of(to);
    long long top = sub ? 1ll << (dtype_bits(to) - 1) : 1;
    long long hi = dtype_is_signed(to) ? top - 1 : 2 * top - 1;
    const char *u = dtype_is_signed(to) ? "" : "u";
    if (to == DT_I1 && from == DT_I1)
        str_add(out, text);
    else if (to == DT_I1)
        str_addf(out, "(%s != %s(0))", text, glsl_type(from));
    else if (from == DT_I1 && !dtype_is_small(to))
        str_addf(out, "(%s ? %s(1) : %s(0))", text, type, type);
    else if (half && (from == DT_I64 || from == DT_UI64))
        str_addf(out, "kc_round_%s(pcp_f32_odd_from_f64(pcp_f64_sticky_from_%s(%s)))",
                 dtype_name(to), render_suffix(from), text);
    else if (half && (from == DT_F64 || dtype_bits(from) == 32) && from != DT_F32)
        str_addf(out, "kc_round_%s(pcp_f32_odd_from_f64(double(%s)))", dtype_name(to), text);
    else if (half)
        str_addf(out, "kc_round_%s(float(%s))", dtype_name(to), text);
    else if (sub && dtype_is_float(from))
        str_addf(out, "pcp_clamp_%s(%lld%s, pcp_%s_from_%s(%s), %lld%s)", render_suffix(to),
                 dtype_is_signed(to) ? -top : 0, u, render_suffix(to), render_suffix(from), text,
                 hi, u);
    else if (dtype_is_float(from) && !dtype_is_float(to))
        str_addf(out, "pcp_%s_from_%s(%s)", render_suffix(to), render_suffix(from), text);
    else if (wrap)
        str_addf(out, "%s(%s(%s))", wrap, type, text);
    else if (dtype_is_int(from) && dtype_bits(from) <= 32 && dtype_bits(to) == 64 && to != DT_F64)
        str_addf(out, "%s(pcp_wide(%s))", type, text);
    else
        str_addf(out, "%s(%s)", type, text);
}

static void write_convert(render_t *self, const kx_node_t *n, str_t *out)
{
    str_t x = {0};
    glsl_value(self, n->in[0], &x);
    convert(out, n->dtype, node(self, n->in[0])->dtype, str_text(&x));
    str_fini(&x);
}

/* Arrays hold narrow floats as their bits, all else as it is in registers. */
static void write_local(render_t *self, const kx_node_t *n, str_t *out)
{
    bool narrow = dtype_is_narrow(n->dtype);
    if (narrow) str_addf(out, "pcp_f32_from_%s(", dtype_name(n->dtype));
    str_addf(out, "l%" PRId64 "[", n->i);
    if (!render_turn(self, out)) glsl_index(self, n->in[0], out);
    str_add(out, narrow ? "])" : "]");
}

static void write_load(render_t *self, const kx_node_t *n, str_t *out)
{
    const char *memory = glsl_memory(n->dtype, NULL), *before = "", *behind = "";
    str_t open = {0};
    if (n->dtype == DT_F32 && !self->kernel->arg.at[n->i].written) {
        str_addf(out, "pcp_f32(g%" PRId64 ", a%" PRId64 " + ", n->i, n->i);
        glsl_index(self, n->in[0], out);
        str_add(out, ")");
        return;
    }
    if (dtype_is_narrow(n->dtype))
        str_addf(&open, "pcp_f32_from_%s(uint(", dtype_name(n->dtype)), behind = "))";
    else if (n->dtype == DT_I1)
        before = "(uint(", behind = ") != 0u)";
    else if (dtype_bytes(n->dtype) < 4)
        before = dtype_is_signed(n->dtype) ? "int(" : "uint(", behind = ")";
    str_addf(out, "%s%s%s(g%" PRId64 ")[a%" PRId64 " + ", str_text(&open), before, memory, n->i,
             n->i);
    glsl_index(self, n->in[0], out);
    str_addf(out, "]%s", behind);
    str_fini(&open);
}

void glsl_stored(str_t *out, dtype_t to, dtype_t from, bool rounded, const char *text)
{
    const char *type;
    glsl_memory(to, &type);
    if (dtype_is_narrow(to) && dtype_is_float(from))
        str_addf(out, "%s(pcp_%s_%s_f32(%s))", type, dtype_name(to),
                 rounded && to == DT_BF16 ? "of" : "from", text);
    else if (to == DT_I1)
        str_addf(out, from == DT_I1 ? "uint8_t(%s ? 1u : 0u)" : "uint8_t(%s)", text);
    else
        str_addf(out, "%s(%s)", type, text);
}

static void write_quotient(render_t *self, const kx_node_t *n, str_t *out)
{
    char sign = n->kind == KX_DIV ? '/' : '%';
    if (render_is_small(self, n)) { /* both >= 0 where it is used: no sign to look after */
        str_add(out, "int(uint(");
        glsl_index(self, n->in[0], out);
        str_addf(out, ") %c %" PRId64 "u)", sign, n->i);
        return;
    }
    glsl_value(self, n->in[0], out);
    str_addf(out, " %c %" PRId64 "L", sign, n->i);
}

static void write_function(render_t *self, const char *name, const kx_node_t *n, str_t *out)
{
    str_addf(out, "%s", name);
    glsl_value(self, n->in[0], out);
}

void glsl_node(render_t *self, kx_t x, str_t *out)
{
    const kx_node_t *n = node(self, x);
    switch (n->kind) {
    case KX_VAR: render_var(self, (int)n->i, out); return;
    case KX_LOAD: write_load(self, n, out); return;
    case KX_LOCAL: write_local(self, n, out); return;
    case KX_MAP: write_map(self, n, out); return;
    case KX_CONVERT: write_convert(self, n, out); return;
    case KX_DIV:
    case KX_MOD: write_quotient(self, n, out); return;
    case KX_KEY:
        str_addf(out, "pcp_key_%s(", render_suffix(node(self, n->in[0])->dtype));
        write_function(self, "", n, out);
        str_add(out, ")");
        return;
    case KX_ROUND:
        write_function(self, "pcp_reduce_precision(double(", n, out);
        str_addf(out, "), %d, %d)", (int)(n->i / 64), (int)(n->i % 64));
        return;
    case KX_GE0:
        render_use(self, n->in[0], out);
        str_add(out, " >= 0");
        return;
    default: break;
    }
    glsl_value(self, n->in[0], out); /* KX_SELECT */
    str_add(out, " ? ");
    glsl_value(self, n->in[1], out);
    str_add(out, " : ");
    glsl_value(self, n->in[2], out);
}
