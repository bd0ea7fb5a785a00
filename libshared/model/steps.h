/* Functions that go on with sequences of tokens: what attention needs of earlier tokens, their keys
 * and values, is kept between calls instead of being computed again.
 *
 * A module has a function per program, of these parameters and results (pcp.role "name"):
 *   param "..."            the parameters as in @logits; a matrix [in, out] as [out, in], whose rows
 *                          are read one after another, by its name and STEPS_TURNED; in panels
 *                          (ir/panels.h), by that and STEPS_PANELS. A matrix of i8 has the f32
 *                          scales of its rows by its name and STEPS_SCALES
 *   state "keys.L"         [slots, length, kv_heads, head] f32 or bf16, and "values.L": of layer L; a row each
 *                          per sequence (slot) and position. Also results, which update them in place
 *   batch "P.tokens"       [rows, time] i32, P: the program's name
 *   batch "P.first"        [rows] i32: the position of each row's first token
 *   batch "P.slot"         [1] i32, one_slot: the slot of the one row; else row r is in slot r
 *   batch "P.last"         [1] i32, time > 1: of the one row, the token whose scores are wanted
 *   result "P.logits"      [rows, vocab] f32: scores of the next token
 *   result "P.hidden"      [rows, width] f32: what they are computed from, the last layer's normalised output
 * A token at a position of `length` or more is not kept, and its scores mean nothing.
 *
 * A program that copies has the states alone, and lets one slot have the first span positions of another:
 *   batch "P.from", "P.slot"   [1] i32: two different slots */
#ifndef MODEL_STEPS_H
#define MODEL_STEPS_H

#include <stdbool.h>

#include "ir/type.h"

#define STEPS_TURNED "^T"
#define STEPS_PANELS "^P"
#define STEPS_SCALES "^S"

typedef struct {
    const char *name;
    int64_t rows, time; /* of tokens; time > 1: rows is 1 */
    int64_t span;       /* positions up to this one are looked at, 1 to length */
    bool one_slot;      /* rows is 1 */
    bool copies;        /* a slot to another: nothing else counts but span */
} model_step_t;

typedef struct {
    int64_t slots, length; /* length: at most the model's positions */
    dtype_t weights;       /* of matrices: DT_F32, DT_BF16 or DT_I8. Sums are always f32 */
    dtype_t kept;          /* of keys and values: DT_BF16, rounded to nearest even, or DT_F32 */
    bool panels;           /* matrices lie in panels, where they can */
    const model_step_t *program;
    int n_program;
} model_steps_t;

#endif
