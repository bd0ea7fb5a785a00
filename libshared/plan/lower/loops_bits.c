/* Plain loops that make bits: bitcast_convert, rng_bit_generator (ops/random.c). */
#include <string.h>

#include "plan/kernel/kx_node.h"
#include "plan/lower/loops_in.h"

static uint64_t mask_of(int bits)
{
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

static kx_t word(kx_graph_t *g, dtype_t dtype, uint64_t value)
{
    return kx_number(g, dtype, 0, (int64_t)value);
}

static kx_t op2(kx_graph_t *g, op_code_t op, kx_t a, kx_t b)
{
    return kx_map(g, op, g->node.at[a].dtype, 2, (kx_t[]){a, b});
}

static kx_t shift(kx_graph_t *g, op_code_t op, kx_t a, uint64_t by)
{
    return by == 0 ? a : op2(g, op, a, word(g, g->node.at[a].dtype, by));
}

static kx_t add(kx_graph_t *g, kx_t a, kx_t b)
{
    return op2(g, OP_add, a, b);
}

static kx_t add_word(kx_graph_t *g, kx_t a, uint64_t b)
{
    return add(g, a, word(g, g->node.at[a].dtype, b));
}

/* Element o of v gets the low bits of `bits`; integers of less than a byte keep their sign. */
static void store_bits(loops_t *l, ir_val_t v, kx_t bits)
{
    kx_graph_t *g = l->g;
    dtype_t dtype = loops_type(l, v)->dtype;
    int n = dtype_bits(dtype);
    loops_as_bits(l, v);
    if (n < 8) bits = op2(g, OP_and, bits, word(g, DT_UI64, mask_of(n)));
    if (n < 8 && dtype_is_int(dtype) && dtype != DT_I1 && dtype_is_signed(dtype)) {
        kx_t sign = word(g, DT_UI64, (uint64_t)1 << (n - 1));
        bits = op2(g, OP_subtract, op2(g, OP_xor, bits, sign), sign);
    }
    loops_store(l, v, l->o, bits);
}

void loops_bitcast(loops_t *l)
{
    const ir_op_t *op = l->op;
    kx_graph_t *g = l->g;
    dtype_t a = loops_type(l, op->in[0])->dtype, b = loops_type(l, op->out)->dtype;
    int from = dtype_bits(a), to = dtype_bits(b);
    int split = from > to ? from / to : 1, join = to > from ? to / from : 1;
    kx_t first = kx_scale(g, kx_div(g, l->o, split), join), bits = word(g, DT_UI64, 0);
    loops_as_bits(l, op->in[0]);
    for (int k = 0; k < join; k++) {
        kx_t one = kx_convert(g, loops_load(l, op->in[0], kx_addi(g, first, k)), DT_UI64);
        one = op2(g, OP_and, one, word(g, DT_UI64, mask_of(from)));
        bits = op2(g, OP_or, bits, shift(g, OP_shift_left, one, (uint64_t)(k * from)));
    }
    if (split > 1) {
        kx_t by = kx_scale(g, kx_mod(g, l->o, split), to);
        bits = op2(g, OP_shift_right_logical, bits, kx_convert(g, by, DT_UI64));
    }
    store_bits(l, op->out, bits);
}

/* --- rng_bit_generator ------------------------------------------------------------------------ */

static kx_t low_word(kx_graph_t *g, kx_t x)
{
    return kx_convert(g, x, DT_UI32);
}

static kx_t high_word(kx_graph_t *g, kx_t x)
{
    return kx_convert(g, shift(g, OP_shift_right_logical, x, 32), DT_UI32);
}

static kx_t both_words(kx_graph_t *g, kx_t low, kx_t high)
{
    kx_t up = shift(g, OP_shift_left, kx_convert(g, high, DT_UI64), 32);
    return op2(g, OP_or, up, kx_convert(g, low, DT_UI64));
}

/* ThreeFry-2x32-20 (Salmon et al. 2011). */
static kx_t three_fry(kx_graph_t *g, kx_t key, kx_t counter)
{
    static const uint64_t turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    kx_t k[3] = {low_word(g, key), high_word(g, key), 0};
    k[2] = op2(g, OP_xor, op2(g, OP_xor, k[0], k[1]), word(g, DT_UI32, 0x1BD11BDA));
    kx_t a = add(g, low_word(g, counter), k[0]), b = add(g, high_word(g, counter), k[1]);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++) {
            uint64_t by = turns[round % 2][i];
            a = add(g, a, b);
            b = op2(g, OP_or, shift(g, OP_shift_left, b, by),
                    shift(g, OP_shift_right_logical, b, 32 - by));
            b = op2(g, OP_xor, b, a);
        }
        a = add(g, a, k[(round + 1) % 3]);
        b = add_word(g, add(g, b, k[(round + 2) % 3]), (uint64_t)round + 1);
    }
    return both_words(g, a, b);
}

/* Philox-4x32-10 (Salmon et al. 2011), all four words of a counter of 128 bits. */
static void philox(kx_graph_t *g, kx_t key, kx_t low, kx_t high, kx_t x[4])
{
    kx_t k0 = low_word(g, key), k1 = high_word(g, key);
    x[0] = low_word(g, low), x[1] = high_word(g, low);
    x[2] = low_word(g, high), x[3] = high_word(g, high);
    for (int round = 0; round < 10; round++) {
        kx_t p = op2(g, OP_multiply, kx_convert(g, x[0], DT_UI64), word(g, DT_UI64, 0xD2511F53));
        kx_t q = op2(g, OP_multiply, kx_convert(g, x[2], DT_UI64), word(g, DT_UI64, 0xCD9E8D57));
        kx_t y0 = op2(g, OP_xor, op2(g, OP_xor, high_word(g, q), x[1]), k0);
        kx_t y2 = op2(g, OP_xor, op2(g, OP_xor, high_word(g, p), x[3]), k1);
        x[0] = y0, x[1] = low_word(g, q), x[2] = y2, x[3] = low_word(g, p);
        k0 = add_word(g, k0, 0x9E3779B9);
        k1 = add_word(g, k1, 0xBB67AE85);
    }
}

static kx_t state_word(loops_t *l, int i)
{
    return loops_load(l, l->op->in[0], kx_int(l->g, i));
}

/* The next state, written together with the first number. */
static void store_state(loops_t *l, int n, const kx_t *next)
{
    kblock_t *outside = loops_if(l, kx_compare(l->g, CMP_EQ, l->o, kx_int(l->g, 0)));
    for (int i = 0; i < n; i++) loops_store(l, l->op->out, kx_int(l->g, i), next[i]);
    l->block = outside;
}

/* The words of ThreeFry lie next to each other along one dimension (ops/random.c, split_shape). */
static kx_t three_fry_bits(loops_t *l, const ir_type_t *t)
{
    kx_graph_t *g = l->g;
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
    kx_t key = state_word(l, 0), counter = state_word(l, 1);
    store_state(l, 2, (kx_t[]){key, add_word(g, counter, (uint64_t)used)});
    if (wide) return three_fry(g, key, add(g, counter, kx_convert(g, l->o, DT_UI64)));
    const int64_t dim[] = {outer, extent, inner};
    kx_t at[3];
    kx_unlinear(g, l->o, 3, dim, at);
    kx_t block = kx_linear(g, 3, (const int64_t[]){outer, half, inner},
                           (const kx_t[]){at[0], kx_div(g, at[1], 2), at[2]});
    kx_t bits = three_fry(g, key, add(g, counter, kx_convert(g, block, DT_UI64)));
    kx_t odd = kx_compare(g, CMP_EQ, kx_mod(g, at[1], 2), kx_int(g, 1));
    return kx_select(g, odd, shift(g, OP_shift_right_logical, bits, 32), bits);
}

static kx_t philox_bits(loops_t *l, const ir_type_t *t, int64_t n_state)
{
    kx_graph_t *g = l->g;
    int per = dtype_bytes(t->dtype) == 8 ? 2 : 4;
    int64_t count = ir_type_count(t), used = (count + per - 1) / per;
    kx_t low = state_word(l, 1), zero = word(g, DT_UI64, 0), one = word(g, DT_UI64, 1), x[4];
    kx_t high = n_state == 3 ? state_word(l, 2) : zero;
    kx_t at = add(g, low, kx_convert(g, kx_div(g, l->o, per), DT_UI64));
    kx_t next = add_word(g, low, (uint64_t)used);
    kx_t carry = kx_select(g, kx_compare(g, CMP_LT, next, low), one, zero);
    store_state(l, (int)n_state, (kx_t[]){state_word(l, 0), next, add(g, high, carry)});
    high = add(g, high, kx_select(g, kx_compare(g, CMP_LT, at, low), one, zero));
    philox(g, state_word(l, 0), at, high, x);
    kx_t piece[4], which = kx_mod(g, l->o, per);
    for (int i = 0; i < per; i++)
        piece[i] = per == 2 ? both_words(g, x[2 * i], x[2 * i + 1]) : kx_convert(g, x[i], DT_UI64);
    kx_t bits = piece[0];
    for (int i = 1; i < per; i++)
        bits = kx_select(g, kx_compare(g, CMP_EQ, which, kx_int(g, i)), piece[i], bits);
    return bits;
}

void loops_rng_bits(loops_t *l)
{
    const ir_op_t *op = l->op;
    int64_t n = loops_type(l, op->in[0])->dim[0];
    const ir_type_t *t = loops_type(l, op->out + 1);
    bool is_philox = strcmp(attr_text(&op->attrs, "rng_algorithm", ""), "PHILOX") == 0 || n == 3;
    store_bits(l, op->out + 1, is_philox ? philox_bits(l, t, n) : three_fry_bits(l, t));
}
