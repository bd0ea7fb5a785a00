/* rng_bit_generator (rng is in draw_rule.c). The bit generators follow XLA's
 * (xla/hlo/builder/lib/prng.cc), so that a program draws the same numbers: ThreeFry-2x32-20 and
 * Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/common.h"

/* --- rng_bit_generator(state) -> (new state, bits). State: the key, then the counter --- */
static int infer_rng_bit_generator(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *state = op_in_type(fn, op, 0);
    const char *name = attr_text(&op->attrs, "rng_algorithm", "DEFAULT");
    bool philox = strcmp(name, "PHILOX") == 0, three_fry = strcmp(name, "THREE_FRY") == 0;
    char text[IR_TYPE_TEXT];
    if (!philox && !three_fry && strcmp(name, "DEFAULT") != 0)
        return err_set(err, ERR_ARG,
                       "stablehlo.rng_bit_generator: rng_algorithm is \"%s\", expected "
                       "DEFAULT, THREE_FRY or PHILOX",
                       name);
    bool fits = state->dtype == DT_UI64 && state->rank == 1 &&
                (state->dim[0] == 2 || (state->dim[0] == 3 && !three_fry));
    if (!fits)
        return err_set(err, ERR_SHAPE,
                       "stablehlo.rng_bit_generator: state is %s, %s needs "
                       "tensor<2xui64>%s",
                       ir_type_text(state, text), name, three_fry ? "" : " or tensor<3xui64>");
    if (infer_declared(op, 1, out, err) < 0) return -1;
    if (!(dtype_class(out[1].dtype) & (CLASS_BOOL | CLASS_NUMBER)))
        return err_set(
            err, ERR_TYPE,
            "stablehlo.rng_bit_generator: result 1 is %s, expected i1, integers or floats",
            ir_type_text(&out[1], text));
    return infer_result(op, 0, out, state, err);
}

static uint32_t rotate(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static void three_fry(uint64_t key, uint64_t counter, uint32_t y[2])
{
    static const int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    uint32_t k[3] = {(uint32_t)key, (uint32_t)(key >> 32), 0};
    k[2] = 0x1BD11BDA ^ k[0] ^ k[1];
    uint32_t a = (uint32_t)counter + k[0], b = (uint32_t)(counter >> 32) + k[1];
    for (uint32_t round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++) {
            a += b;
            b = rotate(b, turns[round % 2][i]) ^ a;
        }
        a += k[(round + 1) % 3];
        b += k[(round + 2) % 3] + round + 1;
    }
    y[0] = a;
    y[1] = b;
}

static void philox(uint64_t key, uint64_t low, uint64_t high, uint32_t y[4])
{
    uint32_t k[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    uint32_t x[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)0xD2511F53 * x[0], q = (uint64_t)0xCD9E8D57 * x[2];
        uint32_t next[4] = {(uint32_t)(q >> 32) ^ x[1] ^ k[0], (uint32_t)q,
                            (uint32_t)(p >> 32) ^ x[3] ^ k[1], (uint32_t)p};
        memcpy(x, next, sizeof x);
        k[0] += 0x9E3779B9;
        k[1] += 0xBB67AE85;
    }
    memcpy(y, x, sizeof x);
}

/* XLA draws two 32-bit words per counter and lays them next to each other along the first even
 * dimension (else the largest, padded): element with coordinate c there is word c % 2 of counter c
 * / 2, counters numbered row-major over the halved shape. */
typedef struct {
    int64_t outer, extent, half, inner; /* around the split dimension */
} halves_t;

static halves_t split_shape(const ir_type_t *type)
{
    int split = -1;
    for (int d = 0; d < type->rank && split < 0; d++)
        if (type->dim[d] % 2 == 0) split = d;
    for (int d = 0; d < type->rank && (split < 0 || type->dim[split] % 2); d++)
        if (split < 0 || type->dim[d] > type->dim[split]) split = d;
    halves_t h = {1, 1, 1, 1};
    for (int d = 0; d < type->rank; d++) {
        if (d < split) h.outer *= type->dim[d];
        if (d == split) h.extent = type->dim[d];
        if (d > split) h.inner *= type->dim[d];
    }
    h.half = (h.extent + 1) / 2;
    return h;
}

static uint64_t three_fry_words(uint64_t key, uint64_t counter, tensor_t *out)
{
    int64_t count = ir_type_count(&out->type);
    uint32_t y[2];
    if (dtype_bits(out->type.dtype) == 64) {
        for (int64_t i = 0; i < count; i++) {
            three_fry(key, counter + (uint64_t)i, y);
            uint64_t bits = (uint64_t)y[1] << 32 | y[0];
            memcpy((char *)out->data + i * 8, &bits, 8);
        }
        return counter + (uint64_t)count;
    }
    halves_t h = split_shape(&out->type);
    size_t size = dtype_bytes(out->type.dtype);
    for (int64_t i = 0; i < count; i++) {
        int64_t in = i % h.inner, c = i / h.inner % h.extent, o = i / h.inner / h.extent;
        three_fry(key, counter + (uint64_t)((o * h.half + c / 2) * h.inner + in), y);
        memcpy((char *)out->data + (size_t)i * size, &y[c % 2], size); /* narrow types: low bits */
    }
    return counter + (uint64_t)(h.outer * h.half * h.inner);
}

/* Four words per 128-bit counter, in order; 64-bit elements take two, low word first. */
static uint64_t philox_words(uint64_t key, uint64_t low, uint64_t high, tensor_t *out)
{
    int64_t count = ir_type_count(&out->type);
    size_t size = dtype_bytes(out->type.dtype);
    int64_t per = size == 8 ? 2 : 4;
    uint32_t y[4] = {0};
    for (int64_t i = 0; i < count; i++) {
        uint64_t at = low + (uint64_t)(i / per);
        if (i % per == 0) philox(key, at, high + (at < low), y);
        memcpy((char *)out->data + (size_t)i * size, &y[i % per * (4 / per)], size);
    }
    return (uint64_t)((count + per - 1) / per);
}

/* Sub-byte integers and i1 hold their low bits in a byte. */
static void trim_small(tensor_t *out)
{
    if (dtype_bits(out->type.dtype) >= 8) return;
    int64_t count = ir_type_count(&out->type), bits[1];
    for (int64_t i = 0; i < count; i++) {
        block_load_i64(out, i, 1, bits);
        block_store_i64(out, i, 1, bits);
    }
}

static int eval_rng_bit_generator(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                                  err_t *err)
{
    (void)ev, (void)err;
    uint64_t state[3] = {0}, *next = out[0].data;
    int64_t n = in->type.dim[0];
    for (int64_t i = 0; i < n; i++) state[i] = (uint64_t)tensor_get_i64(in, i);
    memcpy(next, state, (size_t)n * 8);
    if (strcmp(attr_text(&op->attrs, "rng_algorithm", ""), "PHILOX") == 0 || n == 3) {
        uint64_t used = philox_words(state[0], state[1], state[2], &out[1]);
        next[1] = state[1] + used;
        if (n == 3) next[2] = state[2] + (next[1] < state[1]);
    } else {
        next[1] = three_fry_words(state[0], state[1], &out[1]);
    }
    trim_small(&out[1]);
    return 0;
}

const op_def_t op_rng_bit_generator = {
    .name = "stablehlo.rng_bit_generator",
    .kind = K_RANDOM,
    .n_in = 1,
    .n_out = 2,
    .form = FORM_RNG_BITS,
    .needs = {"rng_algorithm"},
    .infer = infer_rng_bit_generator,
    .eval = eval_rng_bit_generator,
    .vjp = vjp_none,
};
