/* How a module uses its matrices: which lie transposed, and which may be kept in fewer bytes. */
#include "derive/find.h"

#include "ir/build_index.h"

enum { VIEWS = 4 }; /* of a matrix, one of another */

/* What reads a matrix: v is it, or a view of it, whose rows are its columns if `turned`. */
typedef bool use_fn(const found_t *self, const ir_op_t *op, ir_val_t v, bool turned);

static bool is_transpose(const ir_op_t *op)
{
    int n;
    return op->code == OP_transpose && attr_ints(&op->attrs, "permutation", &n)[0] == 1;
}

static bool is_conversion(const found_t *self, const ir_op_t *op)
{
    return op->code == OP_convert && dtype_is_float(ir_type_of(self->fn, op->out)->dtype);
}

/* Do all that read a matrix, as it is or by views, fit? False: none does. */
static bool all_fit(const found_t *self, ir_val_t v, bool turned, int views, use_fn *fits)
{
    const ir_region_t *body = self->fn->body;
    bool any = false;
    for (int i = 0; i < body->n_op; i++) {
        const ir_op_t *op = body->op[i];
        bool reads = false;
        for (int k = 0; k < op->n_in; k++) reads = reads || op->in[k] == v;
        if (!reads || !self->needed[op->out]) continue;
        any = true;
        bool turns = is_transpose(op), view = turns || is_conversion(self, op);
        bool fine = view ? views > 0 && all_fit(self, op->out, turned != turns, views - 1, fits)
                         : fits(self, op, v, turned);
        if (!fine) return false;
    }
    return any;
}

/* The dimension of v that op sums over, with what belongs to tokens; -1: it does something else. */
static int summed(const found_t *self, const ir_op_t *op, ir_val_t v)
{
    ir_dot_t dims;
    if (op->code != OP_dot_general || op->in[0] == op->in[1]) return -1;
    ir_dot_dims(op, &dims);
    int side = op->in[1] == v;
    if (dims.n_batch > 0 || dims.n_contract != 1 || trace_is_static(&self->trace, op->in[1 - side]))
        return -1;
    return (int)(side ? dims.rhs_contract : dims.lhs_contract)[0];
}

/* Whole rows of v, one for each token. */
static bool looks_up(const found_t *self, const ir_op_t *op, ir_val_t v)
{
    ir_gather_t g;
    if (op->code != OP_gather || op->in[0] != v || op->in[1] == v) return false;
    if (trace_is_static(&self->trace, op->in[1])) return false;
    ir_gather_dims(op, &g);
    return g.n_batch == 0 && g.n_start == 1 && g.start_map[0] == 0 && g.n_collapsed == 1 &&
           g.collapsed[0] == 0 && g.slice[1] == ir_type_of(self->fn, v)->dim[1];
}

static bool sums_rows(const found_t *self, const ir_op_t *op, ir_val_t v, bool turned)
{
    return summed(self, op, v) == (turned ? 1 : 0);
}

static bool sums_columns(const found_t *self, const ir_op_t *op, ir_val_t v, bool turned)
{
    return summed(self, op, v) == (turned ? 0 : 1) || (!turned && looks_up(self, op, v));
}

static bool sums_any(const found_t *self, const ir_op_t *op, ir_val_t v, bool turned)
{
    return summed(self, op, v) >= 0 || (!turned && looks_up(self, op, v));
}

static bool is_second(const ir_op_t *op, ir_val_t v)
{
    return op->code != OP_dot_general || op->in[1] == v;
}

static bool streams_rows(const found_t *self, const ir_op_t *op, ir_val_t v, bool turned)
{
    return is_second(op, v) && sums_rows(self, op, v, turned);
}

static bool streams_columns(const found_t *self, const ir_op_t *op, ir_val_t v, bool turned)
{
    return is_second(op, v) && sums_columns(self, op, v, turned);
}

static bool is_matrix(const found_t *self, int i)
{
    return self->is_param[i] && self->arg[i].type.rank == 2;
}

void find_turned(found_t *self)
{
    for (int i = 0; i < self->fn->body->n_arg; i++)
        self->turned[i] = is_matrix(self, i) &&
                          all_fit(self, ir_fn_param(self->fn, i), false, VIEWS, sums_rows);
}

void find_narrow(found_t *self, dtype_t weights)
{
    for (int i = 0; i < self->fn->body->n_arg; i++) {
        dtype_t has = self->arg[i].type.dtype;
        use_fn *fits = weights == DT_I8 ? self->turned[i] ? sums_rows : sums_columns : sums_any;
        bool known = has == DT_F32 || (weights == DT_I8 && (has == DT_BF16 || has == DT_F16));
        bool narrow = (weights == DT_I8 || weights == DT_BF16) && known && is_matrix(self, i) &&
                      all_fit(self, ir_fn_param(self->fn, i), false, VIEWS, fits);
        self->narrow[i] = narrow ? weights : DT_NONE;
    }
}

void find_panels(found_t *self)
{
    for (int i = 0; i < self->fn->body->n_arg; i++)
        self->panels[i] = is_matrix(self, i) &&
                          all_fit(self, ir_fn_param(self->fn, i), false, VIEWS,
                                  self->turned[i] ? streams_rows : streams_columns);
}
