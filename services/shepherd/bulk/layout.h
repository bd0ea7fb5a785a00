/* The flat layout of a run: its parameters end to end in argument order, and the shape of a batch.
 */
#ifndef SHEPHERD_LAYOUT_H
#define SHEPHERD_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "data/batch.h"
#include "proto/control.pb-c.h"

typedef struct {
    char *name;
    ir_type_t type;
    uint64_t begin, count; /* elements of the flat vector */
} layout_tensor_t;

typedef struct {
    size_t n;
    layout_tensor_t *tensor; /* parameters */
    uint64_t total;          /* elements */
    batch_layout_t batch;
    size_t n_shard;
    uint64_t *bounds; /* n_shard + 1 */
} layout_t;

/* From a compiler's answer. Checks every size; -1 with ERR_NET (nonsense), ERR_SHAPE or ERR_TYPE
 * (batch arguments that do not fit the kind of data: data/batch.h). */
int layout_from_plan(const Msg__PlanReply *reply, data_kind_t kind, size_t n_shard, layout_t *self,
                     err_t *err);

/* Windows or records in so many tokens. */
uint64_t layout_units(const layout_t *self, uint64_t tokens);
/* What a validation reads of so many tokens (validate_tokens: `most`). */
batch_sample_t layout_sample(const layout_t *self, uint64_t tokens, int64_t most);

/* More than this no replica's inner state has in bytes, with any optimizer and codec. */
uint64_t layout_state_most(const layout_t *self);

void layout_fini(layout_t *self);

bool layout_equal(const layout_t *a, const layout_t *b);
void layout_copy(const layout_t *from, layout_t *to); /* free with layout_fini */

#endif
