/* What the builders of known models share: their list of parameters, and layers over the graph
 * builder. Values are [rows, width] in f32 unless said otherwise; errors are the builder's, sticky
 * (ir/build.h). Internal to model/. */
#ifndef MODEL_LAYERS_H
#define MODEL_LAYERS_H

#include <stdbool.h>

#include "ir/build.h"
#include "model/steps.h"

/* --- parameters: one list, in the order in which the layers take them --- */

typedef struct {
    const char *name, *init; /* init: a rule of model/init.h */
    ir_type_t type;
    bool turned; /* a matrix [in, out], which steps keep as [out, in] */
    int64_t
        rows; /* of a matrix that steps keep in panels, whose type this is then; 0: it does not lie so */
} param_t;

typedef struct {
    arena_t *arena;
    const char *prefix; /* of the names that are added */
    dtype_t dtype;
    param_t *at;
    int n, space;
} params_t;

void params_add(params_t *self, const char *name, const char *init, int rank, int64_t d0,
                int64_t d1);

/* Their names and rules as attributes of the first parameters of fn. */
void params_describe(ir_fn_t *fn, const params_t *params);

/* --- a function that is being built --- */

/* A function that goes on with sequences (model/steps.h): what it knows of them. */
typedef struct {
    const model_step_t *how;
    const params_t *params; /* as steps keep them, the first of the function's */
    ir_val_t first;         /* [batch] i32: position of the first token of each row */
    ir_val_t slot;          /* [1] i32: where the one row is kept; IR_NONE: row r in slot r */
    ir_val_t
        last; /* [1] i32: the token of the one row whose scores are wanted; IR_NONE: the only */
    ir_val_t *cache; /* keys and values of each layer, as they are now */
    ir_val_t hidden; /* what layer_head was given */
    int layer;       /* that comes next */
} layer_steps_t;

typedef struct {
    ir_fn_t *fn;
    const void *config; /* of the family */
    int next_param;
    dtype_t dtype;        /* of matrix products */
    int64_t batch, time;  /* rows of tokens in this function, tokens of a row */
    layer_steps_t *steps; /* NULL: the function sees all of each sequence, from position 0 */
} build_t;

ir_val_t layer_next(build_t *b); /* the next parameter of the list; of one in panels the matrix */

/* A vector along the last axis of `like`; a value per row, [..], along a new last axis. */
ir_val_t layer_along_last(build_t *b, ir_val_t vector, const ir_type_t *like);
ir_val_t layer_along_rows(build_t *b, ir_val_t rows, const ir_type_t *like);
ir_val_t layer_row_reduce(build_t *b, op_code_t reducer, ir_val_t x);
ir_val_t layer_scale(build_t *b, ir_val_t x, double factor);
ir_val_t layer_add_bias(build_t *b, ir_val_t y, ir_val_t bias); /* IR_NONE: y itself */

/* x / sqrt(mean(x^2) + eps), over the last axis, in f32. */
ir_val_t layer_rms_norm(build_t *b, ir_val_t x, double eps);

/* Turn the pairs (x[i], x[i + half]) of each head of x[batch, time, heads, head] by the angles whose
 * cosines and sines are given, [time, half]; with steps [batch, time, half]. */
ir_val_t layer_rotate(build_t *b, ir_val_t x, ir_val_t cosine, ir_val_t sine);

/* Of a matrix of i8, the f32 scales of its rows: a parameter [rows]. IR_NONE: it is of another type. */
ir_val_t layer_scales(build_t *b, ir_val_t matrix);

/* x W of W[in, out], or x W^T of W[out, in]: the product in b->dtype, result f32. */
ir_val_t layer_product(build_t *b, ir_val_t x, ir_val_t weight, bool transposed);

/* Scores from the normalised output of the last layer, by W^T of W[vocab, width]. */
ir_val_t layer_head(build_t *b, ir_val_t x, ir_val_t weight);

/* Causal attention. q [batch, time, heads, head], k and v [batch, time, kv_heads, head] in b->dtype,
 * where heads is a multiple of kv_heads, g times; the result [batch * time, heads * head]:
 *   out[b,h,i] = sum_j softmax_j(q[b,i,h] . k[b,j,h/g] scale) v[b,j,h/g],  j <= i
 * With steps, k and v are kept, and j goes over all positions of the sequence up to that of i. */
ir_val_t layer_attention(build_t *b, ir_val_t q, ir_val_t k, ir_val_t v, double scale);

/* The position of each token, [batch, time] in i32. */
ir_val_t layer_positions(build_t *b);

/* Of x [batch * time, width] the rows whose scores are wanted: all without steps. */
ir_val_t layer_wanted(build_t *b, ir_val_t x);

/* Rows of an embedding table for [batch, block] tokens, as [batch * block, width]. */
ir_val_t layer_embed(build_t *b, ir_val_t table, ir_val_t tokens);

/* --- a model: @main with its loss and @logits, from one trunk --- */

typedef struct {
    const char *name;
    const void *config;
    int64_t batch, block, vocab;
    bool weighted;                  /* the loss has a third argument: what each token counts */
    int64_t layers, kv_heads, head; /* of what steps keep */
    bool masked;                    /* targets of -1 do not count in the loss */
    const model_steps_t *steps;     /* NULL: @main and @logits */
    /* tokens [batch, time] -> logits of layer_wanted's rows [.., vocab] in f32 */
    ir_val_t (*trunk)(build_t *b, ir_val_t tokens);
} model_t;

/* A module with @main and @logits as model/gpt2.h has them, or with the functions of model/steps.h.
 * NULL: the builder's error. */
ir_module_t *model_build(const model_t *model, const params_t *params, ir_module_t *module,
                         err_t *err);

/* A field of a configuration and its range. */
typedef struct {
    const char *name;
    int64_t value, max; /* from 1 on */
} model_field_t;
int model_check(const char *family, const model_field_t *fields, size_t n, err_t *err);

#endif
