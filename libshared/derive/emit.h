/* The ops of a traced function once more, for other numbers of sequences and positions: what belongs to a token is
 * computed of the tokens that are read, keys and values are kept and read where they lie, and what has a position of
 * its own (tables, masks, indices) is taken at the tokens' positions. Internal to derive/. */
#ifndef DERIVE_EMIT_H
#define DERIVE_EMIT_H

#include "base/vec.h"
#include "derive/trace.h"
#include "ir/build_index.h"

/* What is kept of one operand of a product: [slots, length, ...]. */
typedef struct {
    ir_val_t of;  /* the value of the traced function */
    ir_val_t now; /* in the program: after what it has written */
    ir_type_t type;
} cache_t;
typedef VEC(cache_t) caches_t;

typedef struct {
    const trace_t *trace;
    const ir_fn_t *from;
    ir_fn_t *to;
    sizes_t sizes;
    bool window;        /* all positions at once: nothing is kept */
    const bool *turned; /* [n_arg]: this parameter's first dimension is its last here */
    ir_val_t *param;    /* [n_arg]: in the program, of the module's type, whole numbers unscaled */
    ir_val_t *kept;     /* [n_arg]: the same as it is kept */
    ir_val_t *scales;   /* [n_arg]: of its rows, [rows] f32; IR_NONE: it is kept as numbers */
    ir_val_t *value;    /* [n_value]: what belongs to tokens; IR_NONE: not made yet */
    ir_clone_t whole;   /* what depends on no token, as the module has it */
    ir_val_t positions; /* [rows, time] i32 */
    ir_val_t slot;      /* [1], or IR_NONE: row r is in slot r */
    caches_t cache;
    ir_val_t cut;    /* behind this value of the traced function only one token counts; IR_NONE */
    ir_val_t last;   /* [1]: which one; IR_NONE: all */
    ir_val_t hidden; /* the cut value in the program */
    int depth;       /* of what is taken apart: bounded */
    err_t why;
} emit_t;

enum { EMIT_DEPTH = 200 };

/* v, which belongs to tokens, in its own layout; IR_NONE: self->why, or the builder's error. */
ir_val_t emit_value(emit_t *self, ir_val_t v);
int emit_refuse(emit_t *self, const ir_op_t *op, const char *what);

/* Between the files. */
ir_val_t emit_dot(emit_t *self, const ir_op_t *op);
/* Parameters in the form in which they are kept (emit_param.c). A matrix that is a side of a product, as it lies in
 * memory: its contracted dimension changes with it, and what the product is to be multiplied with comes out (IR_NONE:
 * nothing). */
ir_val_t emit_matrix(emit_t *self, ir_val_t v, int64_t *contract, ir_val_t *scales);
/* x times scales along dimension d. */
ir_val_t emit_scaled(emit_t *self, ir_val_t x, ir_val_t scales, int d);
/* Rows of v, which depends on no token. */
ir_val_t emit_rows_of(emit_t *self, ir_val_t v, ir_val_t index, const ir_gather_t *dims);
/* The parameter i whole, as the module has it; of a turned one IR_NONE. */
ir_val_t emit_param(emit_t *self, int i);
/* A value that depends on no token, as it stands in the module. */
ir_val_t emit_whole(emit_t *self, ir_val_t v);
/* The same in a layout, at the tokens' positions. */
ir_val_t emit_static(emit_t *self, ir_val_t v, const layout_t *at);
/* What is the same along axes, repeated where `to` has other axes. */
ir_val_t emit_stretch(emit_t *self, ir_val_t v, const layout_t *from, const layout_t *to);
/* An operand, of tokens or not, in a layout. */
ir_val_t emit_operand(emit_t *self, ir_val_t v, const layout_t *at);
/* What is kept of v: [rows, span, axes...], where v's other axes are listed outermost first. */
ir_val_t emit_kept(emit_t *self, ir_val_t v, int n, const axis_t *axes);
ir_type_t emit_type(const emit_t *self, ir_val_t v);
/* What is kept of one operand of a product with keys. */
ir_type_t emit_kept_type(const emit_t *self, const ir_op_t *op, int64_t slots, int64_t length);
/* Let slot `to` have the first span positions of slot `from`, both [1], of all that is kept. */
void emit_copy(emit_t *self, ir_val_t from, ir_val_t to, int64_t span);

#endif
