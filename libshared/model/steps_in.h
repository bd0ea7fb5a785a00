/* Layers of functions that go on with sequences (model/steps.h), and their module. Internal to
 * model/. */
#ifndef MODEL_STEPS_IN_H
#define MODEL_STEPS_IN_H

#include "model/layers.h"

/* layer_attention with b->steps. */
ir_val_t steps_attention(build_t *b, ir_val_t q, ir_val_t k, ir_val_t v, double scale);

/* model_build with model->steps. Takes the module; NULL: ERR_ARG or the builder's error. */
ir_module_t *steps_build(const model_t *model, const params_t *params, ir_module_t *module,
                         err_t *err);

#endif
