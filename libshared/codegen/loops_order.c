/* Plain loops that move elements or make bits: sort, top_k, bitcast_convert, rng_bit_generator. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/loops_in.h"
#include "codegen/render_expr.h"

/* --- sort: a stable merge sort of positions, one line at a time (ops/sort.c) ------------------ */

/* second = element p[b] of the line comes before element p[a]. */
static void write_before(loops_t *l, int64_t stride)
{
    int n = l->op->n_in;
    char(*text)[LOOPS_NAME] = mem_calloc(2 * (size_t)n, sizeof *text);
    const char **args = mem_calloc(2 * (size_t)n, sizeof *args), *results[] = {"second"};
    str_addf(l->out,
             "const int64_t i = base + p[b] * %" PRId64 ", j = base + p[a] * %" PRId64 ";\n",
             stride, stride);
    for (int k = 0; k < 2 * n; k++)
        args[k] = loops_load(l, l->op->in[k / 2], k % 2 ? "j" : "i", text[k]);
    loops_region(l, l->op->region[0], args, results);
    free(args);
    free(text);
}

void loops_sort(loops_t *l)
{
    const ir_op_t *op = l->op;
    const ir_type_t *x = loops_type(l, op->in[0]);
    int64_t at = attr_int(&op->attrs, "dimension", -1), stride[IR_MAX_RANK], lines[IR_MAX_RANK];
    int dim = (int)(at < 0 ? at + x->rank : at);
    int64_t n = x->dim[dim];
    ir_type_strides(x, stride);
    for (int d = 0; d < x->rank; d++) lines[d] = d == dim ? 1 : x->dim[d];
    loops_digits(l, "p", "o", x->rank, lines);
    str_add(l->out, "const int64_t base = ");
    loops_offset(l, "p", x->rank, stride);
    str_addf(l->out, ";\nint64_t *p = a%d + o * %" PRId64 ", *q = p + %" PRId64 ";\n",
             l->kernel->scratch, 2 * n, n);
    str_addf(l->out, "for (int64_t i = 0; i < %" PRId64 "; i++) p[i] = i;\n", n);
    str_addf(l->out,
             "for (int64_t width = 1, n = %" PRId64 "; width < n; width *= 2) {\n"
             "for (int64_t low = 0; low < n; low += 2 * width) {\n"
             "const int64_t mid = low + width < n ? low + width : n;\n"
             "const int64_t high = low + 2 * width < n ? low + 2 * width : n;\n"
             "int64_t a = low, b = mid;\n"
             "for (int64_t at = low; at < high; at++) {\n"
             "_Bool second = a == mid;\n"
             "if (a < mid && b < high) {\n",
             n);
    write_before(l, stride[dim]);
    str_add(l->out, "}\nq[at] = second ? p[b++] : p[a++];\n}\n}\n"
                    "int64_t *const swap = p; p = q; q = swap;\n}\n");
    for (int k = 0; k < op->n_in; k++)
        str_addf(l->out,
                 "for (int64_t i = 0; i < %" PRId64 "; i++) a%d[base + i * %" PRId64
                 "] = a%d[base + p[i] * %" PRId64 "];\n",
                 n, loops_arg(l, op->out + (ir_val_t)k), stride[dim], loops_arg(l, op->in[k]),
                 stride[dim]);
}

/* --- top_k: insertion into the k best of a row so far; equal keys keep their order ------------ */

void loops_top_k(loops_t *l)
{
    const ir_op_t *op = l->op;
    const ir_type_t *x = loops_type(l, op->in[0]);
    int64_t n = x->dim[x->rank - 1], k = attr_int(&op->attrs, "k", 0);
    char value[LOOPS_NAME], best[LOOPS_NAME];
    int from = loops_arg(l, op->in[0]), to = loops_arg(l, op->out),
        index = loops_arg(l, op->out + 1);
    str_t key = {0};
    if (dtype_is_float(x->dtype)) str_addf(&key, "pcp_key_%s", render_suffix(x->dtype));
    loops_load(l, op->in[0], "x + i", value);
    loops_load(l, op->out, "y + at - 1", best);
    str_addf(l->out, "const int64_t x = o * %" PRId64 ", y = o * %" PRId64 ";\nint64_t m = 0;\n", n,
             k);
    str_addf(l->out, "for (int64_t i = 0; i < %" PRId64 "; i++) {\nint64_t at = m;\n", n);
    str_addf(l->out, "while (at > 0 && %s(%s) > %s(%s)) at--;\n", str_text(&key), value,
             str_text(&key), best);
    str_addf(l->out, "if (at >= %" PRId64 ") continue;\nif (m < %" PRId64 ") m++;\n", k, k);
    str_addf(
        l->out,
        "for (int64_t j = m - 1; j > at; j--) a%d[y + j] = a%d[y + j - 1], a%d[y + j] = a%d[y + "
        "j - 1];\n",
        to, to, index, index);
    str_addf(l->out, "a%d[y + at] = a%d[x + i]; a%d[y + at] = (int32_t)i;\n}\n", to, from, index);
    str_fini(&key);
}

/* --- Bits ------------------------------------------------------------------------------------- */

static uint64_t mask_of(int bits)
{
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

/* Element `index` of v gets the low bits of the C variable `bits`. */
static void store_bits(loops_t *l, ir_val_t v, const char *index)
{
    dtype_t dtype = loops_type(l, v)->dtype;
    int arg = loops_arg(l, v);
    if (dtype_bits(dtype) >= 8)
        str_addf(l->out, "__builtin_memcpy(&a%d[%s], &bits, %zu);\n", arg, index,
                 dtype_bytes(dtype));
    else if (dtype == DT_I1 || dtype_is_small(dtype))
        str_addf(l->out, "a%d[%s] = bits & %u;\n", arg, index, (1u << dtype_bits(dtype)) - 1);
    else
        str_addf(l->out, "a%d[%s] = kc_wrap_%s((%s)bits);\n", arg, index, dtype_name(dtype),
                 render_storage(dtype));
}

void loops_bitcast(loops_t *l)
{
    const ir_op_t *op = l->op;
    dtype_t a = loops_type(l, op->in[0])->dtype, b = loops_type(l, op->out)->dtype;
    int from = dtype_bits(a), to = dtype_bits(b);
    int split = from > to ? from / to : 1, join = to > from ? to / from : 1;
    str_addf(l->out,
             "uint64_t bits = 0;\nfor (int k = 0; k < %d; k++) {\nuint64_t one = 0;\n"
             "__builtin_memcpy(&one, &a%d[o / %d * %d + k], %zu);\n"
             "bits |= (one & UINT64_C(%" PRIu64 ")) << (k * %d %% 64);\n}\n",
             join, loops_arg(l, op->in[0]), split, join, dtype_bytes(a), mask_of(from), from);
    str_addf(l->out, "bits >>= (int)(o %% %d) * %d;\n", split, to);
    store_bits(l, op->out, "o");
}

/* The words of ThreeFry lie next to each other along one dimension (ops/random.c, split_shape). */
static void write_three_fry(loops_t *l, const ir_type_t *t, int state, int next)
{
    int split = -1;
    int64_t outer = 1, extent = 1, inner = 1;
    bool wide = dtype_bits(t->dtype) == 64;
    for (int d = 0; d < t->rank && split < 0; d++)
        if (t->dim[d] % 2 == 0) split = d;
    for (int d = 0; d < t->rank && (split < 0 || t->dim[split] % 2); d++)
        if (split < 0 || t->dim[d] > t->dim[split]) split = d;
    for (int d = 0; d < t->rank; d++)
        *(d < split ? &outer : d == split ? &extent : &inner) *= t->dim[d];
    int64_t half = (extent + 1) / 2, used = wide ? outer * extent * inner : outer * half * inner;
    if (wide)
        str_addf(l->out, "uint64_t bits = kc_three_fry(a%d[0], a%d[1] + (uint64_t)o);\n", state,
                 state);
    else
        str_addf(l->out,
                 "const int64_t in = o %% %" PRId64 ", c = o / %" PRId64 " %% %" PRId64
                 ", out = o / %" PRId64 ";\n"
                 "uint64_t bits = kc_three_fry(a%d[0], a%d[1] + (uint64_t)((out * %" PRId64
                 " + c / 2) * %" PRId64 " + in));\nif (c %% 2) bits >>= 32;\n",
                 inner, inner, extent, inner * extent, state, state, half, inner);
    str_addf(l->out, "if (o == 0) a%d[0] = a%d[0], a%d[1] = a%d[1] + UINT64_C(%" PRId64 ");\n",
             next, state, next, state, used);
}

static void write_philox(loops_t *l, const ir_type_t *t, int state, int next, int64_t n_state)
{
    int per = dtype_bytes(t->dtype) == 8 ? 2 : 4;
    int64_t count = ir_type_count(t), used = (count + per - 1) / per;
    char high[16] = "0";
    if (n_state == 3) snprintf(high, sizeof high, "a%d[2]", state);
    str_addf(
        l->out,
        "const uint64_t low = a%d[1], at = low + (uint64_t)(o / %d), high = %s + (at < low);\n",
        state, per, high);
    str_addf(l->out, "uint64_t bits = kc_philox(a%d[0], at, high, (int)(o %% %d) * %d);\n", state,
             per, 4 / per);
    if (per == 2)
        str_addf(l->out,
                 "bits |= (uint64_t)kc_philox(a%d[0], at, high, (int)(o %% 2) * 2 + 1) << 32;\n",
                 state);
    str_addf(l->out, "if (o == 0) {\na%d[0] = a%d[0]; a%d[1] = low + UINT64_C(%" PRId64 ");\n",
             next, state, next, used);
    if (n_state == 3)
        str_addf(l->out, "a%d[2] = a%d[2] + (low + UINT64_C(%" PRId64 ") < low);\n", next, state,
                 used);
    str_add(l->out, "}\n");
}

void loops_rng_bits(loops_t *l)
{
    const ir_op_t *op = l->op;
    int64_t n = loops_type(l, op->in[0])->dim[0];
    const ir_type_t *t = loops_type(l, op->out + 1);
    int state = loops_arg(l, op->in[0]), next = loops_arg(l, op->out);
    if (strcmp(attr_text(&op->attrs, "rng_algorithm", ""), "PHILOX") == 0 || n == 3)
        write_philox(l, t, state, next, n);
    else
        write_three_fry(l, t, state, next);
    store_bits(l, op->out + 1, "o");
}
