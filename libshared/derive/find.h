/* Where a module's scores are, and what of it they are computed from. Internal to derive/. */
#ifndef DERIVE_FIND_H
#define DERIVE_FIND_H

#include "derive/trace.h"
#include "optim/optim.h"

typedef struct {
    const ir_fn_t *fn;
    optim_arg_t *arg;                 /* in the module's arena */
    bool *is_param, *turned, *needed; /* [n_arg], [n_arg]: derive/emit.h; [n_value]: for scores */
    trace_t trace;
    ir_val_t logits, cut;         /* derive/emit.h */
    int64_t vocab, width, length; /* width 0: there is no cut */
} found_t;

int find_scores(found_t *self, const ir_module_t *module, err_t *err);
void find_fini(found_t *self);

#endif
