/* Parameters as the programs of steps keep them (model/steps.h): of another type, transposed, in panels, as whole numbers
 * with a scale for each row. */
#ifndef INFER_KEPT_H
#define INFER_KEPT_H

#include "ckpt/safetensors.h"
#include "plan/format/plan.h"

typedef struct {
    bool turned; /* a matrix's rows are the file's columns */
    bool panels; /* a matrix lies in panels (ir/panels.h) */
    bool scales; /* the scales of its rows, not its numbers */
} kept_form_t;

/* The file's tensor that a plan's parameter of this name is made from; NULL: none. A tensor of the very
 * name is it. */
const safetensor_t *kept_find(const safetensors_t *params, const char *name, kept_form_t *form);

/* The parameter's numbers: f32, bf16 and f16 turned into each other; or into i8, each row's largest magnitude
 * as 127, rounded to the nearest, which is off by half a scale at most: 1 / 254 of that magnitude. Returns
 * want->n_bytes, caller frees; NULL: shapes differ, or there is no such conversion. */
void *kept_make(const plan_tensor_t *want, kept_form_t form, const safetensor_t *have);

#endif
