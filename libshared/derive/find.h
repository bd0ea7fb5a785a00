/* Where a module's scores are, and what of it they are computed from. Internal to derive/. */
#ifndef DERIVE_FIND_H
#define DERIVE_FIND_H

#include "derive/trace.h"
#include "optim/optim.h"

typedef struct {
    const ir_fn_t *fn;
    optim_arg_t *arg;                 /* in the module's arena */
    bool *is_param, *turned, *needed; /* [n_arg], [n_arg]: derive/emit.h; [n_value]: for scores */
    bool *panels;                     /* [n_arg]: kept in panels (ir/panels.h) */
    dtype_t *narrow; /* [n_arg]: kept as this type; DT_NONE: as the module has it */
    trace_t trace;
    ir_val_t logits, cut;         /* derive/emit.h */
    int64_t vocab, width, length; /* width 0: there is no cut */
} found_t;

int find_scores(found_t *self, const ir_module_t *module, err_t *err);
void find_fini(found_t *self);

/* Between the files. Which matrices are only summed over their first dimension: turned. */
void find_turned(found_t *self);
/* Which f32 and half matrices may be kept as bf16, or as whole numbers with a scale for each row of what is kept: those
 * that are read by nothing but products with what belongs to tokens, and row by row for tokens. DT_F32: none. */
void find_narrow(found_t *self, dtype_t weights);
/* Which matrices only products read, as their second operand and along rows of what is kept, and row by row for tokens: panels. */
void find_panels(found_t *self);

#endif
