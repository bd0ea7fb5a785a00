/* The flat layout from a compiler's answer, with every size checked. */
#include "shepherd/bulk/layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "msg/limits.h"
#include "outer/codec.h"

static int take_type(const Msg__TensorInfo *info, ir_type_t *type, err_t *err)
{
    if (info->n_dims > IR_MAX_RANK || !*info->name || strlen(info->name) >= MSG_NAME_BYTES)
        return err_set(err, ERR_NET, "tensor \"%.64s\" with %zu dimensions", info->name,
                       info->n_dims);
    dtype_t dtype = dtype_parse(info->dtype, strlen(info->dtype));
    if (dtype == DT_NONE)
        return err_set(err, ERR_NET, "tensor \"%.64s\" of type \"%.16s\"", info->name, info->dtype);
    ir_type_t made = {.dtype = dtype, .rank = (int)info->n_dims};
    for (size_t d = 0; d < info->n_dims; d++) made.dim[d] = info->dims[d];
    if (ir_type_check(&made, err) < 0) return err_prefix(err, "tensor \"%.64s\": ", info->name);
    *type = made;
    return 0;
}

static int take_param(const Msg__TensorInfo *info, layout_t *self, err_t *err)
{
    layout_tensor_t tensor = {.begin = self->total};
    if (take_type(info, &tensor.type, err) < 0) return -1;
    tensor.count = (uint64_t)ir_type_count(&tensor.type);
    if (tensor.count > INT64_MAX / 16 - self->total)
        return err_set(err, ERR_NET, "too many parameter elements");
    tensor.name = mem_strdup(info->name);
    self->total += tensor.count;
    self->tensor[self->n++] = tensor;
    return 0;
}

static int take_batch(const Msg__PlanReply *reply, data_kind_t kind, layout_t *self, err_t *err)
{
    ir_type_t types[BATCH_MAX_ARGS];
    if (reply->n_batch > BATCH_MAX_ARGS)
        return err_set(err, ERR_SHAPE, "the model has %zu batch arguments, limit %d",
                       reply->n_batch, BATCH_MAX_ARGS);
    for (size_t i = 0; i < reply->n_batch; i++)
        if (take_type(reply->batch[i], &types[i], err) < 0) return -1;
    return batch_layout(kind, types, (int)reply->n_batch, &self->batch, err);
}

uint64_t layout_units(const layout_t *self, uint64_t tokens)
{
    return batch_units(&self->batch, tokens);
}

batch_sample_t layout_sample(const layout_t *self, uint64_t tokens, int64_t most)
{
    return batch_sample(&self->batch, layout_units(self, tokens), (uint64_t)most);
}

/* Cut at multiples of the codecs' block, as evenly as possible. */
static void cut(layout_t *self, size_t n_shard)
{
    self->n_shard = n_shard;
    self->bounds = mem_calloc(n_shard + 1, sizeof *self->bounds);
    uint64_t blocks = (self->total + CODEC_BLOCK - 1) / CODEC_BLOCK;
    for (size_t s = 0; s <= n_shard; s++) {
        uint64_t at = blocks * s / n_shard * CODEC_BLOCK;
        self->bounds[s] = at < self->total ? at : self->total;
    }
}

int layout_from_plan(const Msg__PlanReply *reply, data_kind_t kind, size_t n_shard, layout_t *self,
                     err_t *err)
{
    enum { MAX_TENSORS = 1 << 20 };
    layout_t made = {0};
    if (reply->n_params == 0 || reply->n_params > MAX_TENSORS)
        return err_set(err, ERR_SHAPE, "a plan with %zu parameters", reply->n_params);
    made.tensor = mem_calloc(reply->n_params, sizeof *made.tensor);
    int rc = 0;
    for (size_t i = 0; i < reply->n_params && rc == 0; i++)
        rc = take_param(reply->params[i], &made, err);
    if (rc == 0) rc = take_batch(reply, kind, &made, err);
    if (rc < 0) {
        layout_fini(&made);
        return -1;
    }
    cut(&made, n_shard);
    *self = made;
    return 0;
}

uint64_t layout_state_most(const layout_t *self)
{
    enum { VECTORS = 8, HEADER_BYTES = 64 << 20 }; /* those of f64 count twice */
    return self->total * VECTORS * sizeof(float) + HEADER_BYTES;
}

void layout_fini(layout_t *self)
{
    for (size_t i = 0; i < self->n; i++) free(self->tensor[i].name);
    free(self->tensor);
    free(self->bounds);
    *self = (layout_t){0};
}

bool layout_equal(const layout_t *a, const layout_t *b)
{
    if (a->n != b->n || a->total != b->total || a->batch.unit != b->batch.unit ||
        a->batch.units != b->batch.units)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const layout_tensor_t *x = &a->tensor[i], *y = &b->tensor[i];
        if (strcmp(x->name, y->name) != 0 || !ir_type_equal(&x->type, &y->type)) return false;
    }
    return true;
}

void layout_copy(const layout_t *from, layout_t *to)
{
    *to = *from;
    to->tensor = mem_calloc(from->n ? from->n : 1, sizeof *to->tensor);
    for (size_t i = 0; i < from->n; i++) {
        to->tensor[i] = from->tensor[i];
        to->tensor[i].name = mem_strdup(from->tensor[i].name);
    }
    to->bounds = mem_calloc(from->n_shard + 1, sizeof *to->bounds);
    if (from->bounds) memcpy(to->bounds, from->bounds, (from->n_shard + 1) * sizeof *to->bounds);
}
