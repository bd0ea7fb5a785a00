/* What is kept of operands of products: written where each token is kept, and read where it lies. */
#include <string.h>

#include "derive/emit.h"
#include "ir/build_index.h"

/* The only number of a [1] as a scalar. */
static ir_val_t scalar_of(ir_fn_t *fn, ir_val_t one)
{
    ir_type_t type = ir_type_scalar(DT_I32);
    return ir_reshape(fn, one, &type);
}

/* Where each token is kept: its slot and its position, [rows * time, 2]. */
static ir_val_t places(emit_t *self)
{
    ir_fn_t *fn = self->to;
    int64_t n = self->sizes.rows * self->sizes.time;
    ir_type_t each = ir_type(DT_I32, 2, (int64_t[]){self->sizes.rows, self->sizes.time});
    ir_type_t column = ir_type(DT_I32, 2, (int64_t[]){n, 1});
    ir_val_t slot = self->slot == IR_NONE ? ir_iota(fn, &each, 0)
                                          : ir_broadcast(fn, self->slot, &each, (int64_t[]){0});
    ir_val_t part[] = {ir_reshape(fn, slot, &column), ir_reshape(fn, self->positions, &column)};
    return ir_concatenate(fn, part, 2, 1);
}

/* x [n, ...] written where each is kept. */
static void write_at(emit_t *self, cache_t *cache, ir_val_t x, ir_val_t where)
{
    const ir_type_t *t = &cache->type;
    ir_gather_t g = {.n_offset = t->rank - 2,
                     .n_collapsed = 2,
                     .n_start = 2,
                     .collapsed = {0, 1},
                     .start_map = {0, 1},
                     .index_vector_dim = 1,
                     .unique = true};
    if (where == IR_NONE) return;
    int64_t dim[IR_MAX_RANK] = {ir_type_of(self->to, where)->dim[0]};
    for (int d = 0; d < t->rank; d++) {
        g.slice[d] = d < 2 ? 1 : t->dim[d];
        if (d < 2) continue;
        g.offset_dims[d - 2] = d - 1;
        dim[d - 1] = t->dim[d];
    }
    if (x == IR_NONE) return;
    ir_type_t rows = ir_type(ir_type_of(self->to, x)->dtype, t->rank - 1, dim);
    x = ir_convert(self->to, ir_reshape(self->to, x, &rows), t->dtype);
    cache->now = ir_scatter(self->to, OP_invalid, cache->now, where, x, &g);
}

/* What is kept of this call's sequences: [rows, span, ...]. */
static ir_val_t read_kept(emit_t *self, const cache_t *cache)
{
    ir_fn_t *fn = self->to;
    int64_t size[IR_MAX_RANK], zero[IR_MAX_RANK] = {0};
    ir_val_t at[IR_MAX_RANK];
    memcpy(size, cache->type.dim, sizeof size);
    size[0] = self->sizes.rows;
    size[1] = self->sizes.span;
    if (cache->now == IR_NONE) return IR_NONE;
    if (self->slot == IR_NONE) return ir_slice(fn, cache->now, zero, size, NULL);
    at[0] = scalar_of(fn, self->slot);
    for (int d = 1; d < cache->type.rank; d++) at[d] = ir_scalar(fn, DT_I32, 0);
    return ir_dynamic_slice(fn, cache->now, at, size);
}

void emit_copy(emit_t *self, ir_val_t from, ir_val_t to, int64_t span)
{
    ir_fn_t *fn = self->to;
    ir_type_t column = ir_type(DT_I32, 2, (int64_t[]){span, 1});
    ir_type_t row = ir_type(DT_I32, 1, &span);
    ir_val_t slot = ir_broadcast(fn, scalar_of(fn, to), &row, NULL);
    ir_val_t part[] = {ir_reshape(fn, slot, &column), ir_iota(fn, &column, 0)};
    ir_val_t where = ir_concatenate(fn, part, 2, 1);
    self->sizes = (sizes_t){1, 1, span};
    self->slot = from;
    for (size_t i = 0; i < self->cache.n; i++) {
        cache_t *cache = &self->cache.at[i];
        write_at(self, cache, read_kept(self, cache), where);
    }
}

/* v's axes as [rows, time, others...]. */
static ir_val_t in_order(emit_t *self, ir_val_t v, int n, const axis_t *axes)
{
    int64_t size[IR_MAX_RANK], perm[IR_MAX_RANK];
    ir_val_t x = emit_value(self, v);
    if (x == IR_NONE) return IR_NONE;
    int rank = 2;
    for (int i = 0; i < n; i++) {
        size[i] = axis_size(axes[i], &self->sizes);
        perm[axes[i].kind == AXIS_ROW ? 0 : axes[i].kind == AXIS_TIME ? 1 : rank++] = i;
    }
    ir_type_t apart = ir_type(ir_type_of(self->to, x)->dtype, n, size);
    return ir_transpose(self->to, ir_reshape(self->to, x, &apart), perm);
}

static cache_t *find_cache(emit_t *self, ir_val_t v)
{
    for (size_t i = 0; i < self->cache.n; i++)
        if (self->cache.at[i].of == v) return &self->cache.at[i];
    return NULL;
}

/* All axes of v, of which some are written several times. */
ir_val_t emit_kept(emit_t *self, ir_val_t v, int n, const axis_t *axes)
{
    ir_val_t x = in_order(self, v, n, axes);
    if (x == IR_NONE) return IR_NONE;
    const ir_type_t type = *ir_type_of(self->to, x);
    if (self->window) return x;
    cache_t *cache = find_cache(self, v);
    if (!cache) {
        err_set(&self->why, ERR_STATE, "value %u is not kept", v);
        return IR_NONE;
    }
    if (cache->type.rank != type.rank) {
        err_set(&self->why, ERR_UNSUPPORTED, "a value is looked at in two ways");
        return IR_NONE;
    }
    if (cache->now < self->to->body->arg + (ir_val_t)self->to->body->n_arg)
        write_at(self, cache, x, places(self));
    x = read_kept(self, cache);
    return x == IR_NONE ? x : ir_convert(self->to, x, type.dtype);
}
