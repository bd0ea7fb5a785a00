/* Attention and its gradient (ops/fused.h) as kernels of their own: one piece of work per matrix of
 * the batch, or some, operands and results through strides, so that heads need no copies. */
#ifndef PLAN_ATTENTION_H
#define PLAN_ATTENTION_H

#include "ops/fused.h"
#include "plan/lower/lower.h"

/* Where matrix n of an operand or result lies, in elements of its argument: offset +
 * n / n_inner * outer + n % n_inner * inner, rows `row` apart, columns next to each other. */
typedef struct {
    int arg; /* of the kernel */
    dtype_t dtype;
    int64_t offset, n_inner, outer, inner, row;
} attention_view_t;

enum {
    ATTENTION_MAX_VIEW = 9,
    ATTENTION_ROWS = 8, /* of a piece of work for devices of threads without number (caps_t.many) */
};
typedef struct attention {
    fused_attention_t how;
    bool gradient;
    bool kept;          /* of one token of a text, over the rows up to its position */
    bool pairs;         /* operands of f32 are rounded to bf16 for the products */
    int64_t t, s, d, e; /* rows of q, rows of k, columns of q and k, columns of v */
    int at;             /* kept: the argument with texts' positions ... */
    int64_t heads;      /* ... each of so many matrices one behind another; */
    int64_t pieces;     /* and pieces of work that rows of q are cut into, where matrices are few */
    /* Operands, then results, in the order of the op; the log-sum-exp as [t, 1] matrices. */
    int n_view;
    attention_view_t view[ATTENTION_MAX_VIEW];
} attention_t;

/* Such devices have pieces of work of ATTENTION_ROWS rows: of q, and for the gradient of k besides, in
 * this order. How many n rows are, and how many a matrix of the batch has of both. */
int64_t attention_tiles(int64_t n);
int64_t attention_pieces(const attention_t *a);

/* Is the op such a group, of a type and size that the target has a kernel for? */
bool attention_knows(const caps_t *caps, const ir_fn_t *fn, const ir_op_t *op);

/* Does the definition of attention round f32 operands of its products to bf16, once each? */
bool attention_rounds(const caps_t *caps, const ir_fn_t *fn, const ir_op_t *op);

/* fn itself, or a copy in which attention that rounds q, k and v is given them rounded (caps_t.many). Once, before values
 * have places. NULL on error. */
const ir_fn_t *attention_operands(ir_module_t *module, const ir_fn_t *fn, const caps_t *caps,
                                  err_t *err);

/* Operands and results become roots; operands that strides cannot describe get copies. */
void attention_mark(lower_t *self, const ir_op_t *op);
int attention_prepare(lower_t *self, const ir_op_t *op);
int attention_place(lower_t *self, const ir_op_t *op);

#endif
