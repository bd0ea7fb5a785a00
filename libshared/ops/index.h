/* The address code that gather and scatter share. In both, an index tensor holds start positions,
 * one vector along index_vector_dim for each place of its other dimensions, and a window is moved
 * between the big operand and the small one (gather's result, scatter's updates). Attribute names
 * differ; the structure does not. Pure functions. */
#ifndef OPS_INDEX_H
#define OPS_INDEX_H

#include "ir/op.h"
#include "ir/tensor.h"

typedef struct {
    int rank;                   /* of the big operand */
    int64_t dim[IR_MAX_RANK];   /* of the big operand */
    int64_t slice[IR_MAX_RANK]; /* window extent in each dimension of the big operand */
    /* The small operand: places (one start vector each) and window dimensions. */
    int n_place, n_window;
    int64_t place_dim[IR_MAX_RANK], place_stride[IR_MAX_RANK];   /* in the small operand */
    int64_t window_dim[IR_MAX_RANK], window_stride[IR_MAX_RANK]; /* in the small operand */
    int64_t window_to[IR_MAX_RANK]; /* the big operand's dimension of each window dimension */
    /* The index tensor: entry e of a start vector moves dimension start_map[e]. */
    int n_start;
    int64_t start_map[IR_MAX_RANK];
    int64_t
        index_stride[IR_MAX_RANK]; /* of each place dimension, in elements of the index tensor */
    int64_t entry_stride;
    /* Batching dimensions: dimension batch_to[i] of the big operand follows place dimension
     * batch_from[i]. */
    int n_batch;
    int64_t batch_to[IR_MAX_RANK], batch_from[IR_MAX_RANK];
} index_map_t;

/* The names under which the two ops keep the same lists. */
typedef struct {
    const char *window;  /* offset_dims | update_window_dims */
    const char *dropped; /* collapsed_slice_dims | inserted_window_dims */
    const char *big_batch, *index_batch;
    const char *start_map;
} index_names_t;
extern const index_names_t index_names_gather, index_names_scatter;

/* Check the lists against the types, as far as both ops share the rules. small_rank is the rank of
 * the result or the updates. */
int index_infer(const ir_op_t *op, const index_names_t *names, const ir_type_t *big,
                const ir_type_t *index, int small_rank, err_t *err);
/* Extents of the places in order: the index tensor's dimensions without index_vector_dim. Returns
 * how many. */
int index_places(const ir_op_t *op, const ir_type_t *index, int64_t *dim);
/* Dimensions of the big operand that the small one's window has, ascending. Returns how many. */
int index_window_dims(const ir_op_t *op, const index_names_t *names, int rank, int64_t *dims);

/* For ops that passed their type rule. slice: extents of the window in the big operand. */
index_map_t index_map_new(const ir_op_t *op, const index_names_t *names, const ir_type_t *big,
                          const ir_type_t *index, const ir_type_t *small, const int64_t *slice);
/* The start of the window at place[n_place], in every dimension of the big operand, not clamped. */
void index_start(const index_map_t *self, const tensor_t *index, const int64_t *place,
                 int64_t *start);

#endif
