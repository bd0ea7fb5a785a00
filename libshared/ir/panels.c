/* The view is a transpose, a reshape and, where n is no multiple of 16, a slice. */
#include "ir/panels.h"

enum { LEAST_COLS = 32 };

int ir_panels_together(dtype_t dtype)
{
    return dtype == DT_F32 ? 1 : dtype == DT_BF16 ? 2 : dtype == DT_I8 ? 4 : 0;
}

bool ir_panels_suit(const ir_type_t *matrix)
{
    int g = ir_panels_together(matrix->dtype);
    return g > 0 && matrix->rank == 2 && matrix->dim[0] >= IR_PANEL_ROWS &&
           matrix->dim[1] >= LEAST_COLS && matrix->dim[1] % g == 0;
}

ir_type_t ir_panels_type(const ir_type_t *matrix)
{
    int64_t g = ir_panels_together(matrix->dtype);
    int64_t n = (matrix->dim[0] + IR_PANEL_ROWS - 1) / IR_PANEL_ROWS;
    return ir_type(matrix->dtype, 4, (int64_t[]){n, matrix->dim[1] / g, IR_PANEL_ROWS, g});
}

int64_t ir_panels_place(dtype_t dtype, int64_t k, int64_t row, int64_t col)
{
    int64_t g = ir_panels_together(dtype);
    return (row / IR_PANEL_ROWS * k + col / g * g) * IR_PANEL_ROWS + row % IR_PANEL_ROWS * g +
           col % g;
}

ir_val_t ir_panels_view(ir_fn_t *fn, ir_val_t x, int64_t n)
{
    if (x == IR_NONE) return x;
    const ir_type_t in = *ir_type_of(fn, x);
    ir_type_t all = ir_type(in.dtype, 2,
                            (int64_t[]){in.dim[0] * IR_PANEL_ROWS, in.dim[1] * in.dim[3]});
    x = ir_reshape(fn, ir_transpose(fn, x, (int64_t[]){0, 2, 1, 3}), &all);
    if (n == all.dim[0]) return x;
    return ir_slice(fn, x, (int64_t[]){0, 0}, (int64_t[]){n, all.dim[1]}, NULL);
}

/* The op that makes v, of such a code; NULL: it is another one. */
static const ir_op_t *made_by(const ir_fn_t *fn, ir_val_t v, op_code_t code)
{
    const ir_op_t *op = ir_def(fn, v);
    return op && op->code == code ? op : NULL;
}

/* What v widens to f32; rounding is no view. */
static ir_val_t widened(const ir_fn_t *fn, ir_val_t v)
{
    const ir_op_t *op;
    while (ir_type_of(fn, v)->dtype == DT_F32 && (op = made_by(fn, v, OP_convert))) v = op->in[0];
    return v;
}

/* All of the columns and the first rows. */
static bool takes_first_rows(const ir_fn_t *fn, const ir_op_t *slice)
{
    int n;
    const int64_t *start = attr_ints(&slice->attrs, "start_indices", &n);
    const int64_t *stride = attr_ints(&slice->attrs, "strides", &n);
    return n == 2 && start[0] == 0 && start[1] == 0 && stride[0] == 1 && stride[1] == 1 &&
           ir_type_of(fn, slice->out)->dim[1] == ir_type_of(fn, slice->in[0])->dim[1];
}

/* v without dimensions of 1 in front. */
static ir_val_t without_ones(const ir_fn_t *fn, ir_val_t v)
{
    const ir_op_t *op = made_by(fn, v, OP_reshape);
    if (!op) return v;
    const ir_type_t *to = ir_type_of(fn, v), *from = ir_type_of(fn, op->in[0]);
    int more = to->rank - from->rank;
    for (int d = 0; d < to->rank; d++)
        if (to->dim[d] != (d < more ? 1 : from->dim[d - more])) return v;
    return op->in[0];
}

bool ir_panels_behind(const ir_fn_t *fn, ir_val_t v, ir_val_t *from)
{
    v = widened(fn, without_ones(fn, widened(fn, v)));
    const ir_op_t *slice = made_by(fn, v, OP_slice);
    if (slice && !takes_first_rows(fn, slice)) return false;
    if (slice) v = widened(fn, slice->in[0]);
    const ir_op_t *reshape = made_by(fn, v, OP_reshape);
    const ir_op_t *turn = reshape ? made_by(fn, widened(fn, reshape->in[0]), OP_transpose) : NULL;
    if (!turn) return false;
    const ir_val_t x = widened(fn, turn->in[0]);
    const ir_type_t *in = ir_type_of(fn, x), *out = ir_type_of(fn, v);
    int n;
    const int64_t *perm = attr_ints(&turn->attrs, "permutation", &n);
    bool turns = n == 4 && perm[0] == 0 && perm[1] == 2 && perm[2] == 1 && perm[3] == 3;
    bool fits = !ir_def(fn, x) && turns && in->rank == 4 && out->rank == 2 &&
                in->dim[2] == IR_PANEL_ROWS && in->dim[3] == ir_panels_together(in->dtype) &&
                out->dim[0] == in->dim[0] * IR_PANEL_ROWS && out->dim[1] == in->dim[1] * in->dim[3];
    if (fits) *from = x;
    return fits;
}
