/* stablehlo.rng, the op with hidden state, made a function of visible values.
 *
 * THE RULE. An execution of a function has a seed (ui64). The rng ops it runs are draws 0, 1, 2, ..
 * in the order in which they run, calls, taken branches and iterations of loops included. Draw n
 * takes its bits from ThreeFry-2x32-20 with the key `seed`, at counters n * 2^32, n * 2^32 + 1, ..,
 * in the layout of rng_bit_generator. So the same seed draws the same numbers, in the interpreter
 * and in plans, and a training step draws afresh because its seed is its own (runtime/exec.h).
 * From the bits w of an element, in f64 unless said otherwise:
 *   UNIFORM, floats    a + (b - a) u, u = w / 2^32 (f64: (w >> 11) / 2^53, of 64 bits), rounded to
 *                      the element type; a where that reaches b, so that b is never drawn
 *   UNIFORM, integers  a + w mod (b - a), of 64 bits; a where the interval is empty
 *   NORMAL             a + b sqrt(2) erf_inv(x), x = (2 (w >> 9) + 1) / 2^23 - 1 in f32
 *                      (f64: (2 (w >> 12) + 1) / 2^52 - 1); x is never -1, 0 or 1
 * Uniform numbers are the same to the bit everywhere (f64: to the rounding of a + (b - a) u),
 * normal ones as far as erf_inv is. No gradient reaches a or b.
 *
 * pass_draw writes this out as ordinary ops before anything else can move, drop or copy a draw:
 * what is differentiated or run again afterwards repeats its numbers instead of drawing new ones.
 */
#ifndef OPS_DRAW_RULE_H
#define OPS_DRAW_RULE_H

#include "ir/ir.h"

/* custom_call @pcp.seed() -> tensor<ui64>: the seed of this execution. Interpreter:
 * eval_options_t.seed; plans: the scalar tensor "seed". */
#define DRAW_SEED "pcp.seed"
ir_val_t draw_seed(ir_fn_t *fn);
bool draw_is_seed(const ir_op_t *op);

/* rng ops in the region and in what its ops hold. */
int draw_count(const ir_region_t *region);

/* Draw n (ui64 scalar) under `seed`, at fn's cursor: `type` is the result's type, `op` an rng op,
 * perhaps of another function, whose a and b are values of fn. */
ir_val_t draw_numbers(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *type, ir_val_t a, ir_val_t b,
                      ir_val_t seed, ir_val_t n);

#endif
