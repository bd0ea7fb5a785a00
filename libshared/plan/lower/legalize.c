/* Before lowering: products and reductions that no kernel shape covers, rewritten into others.
 *   dot_general                -> [batch, rows, sum] x [batch, columns, sum]
 *   dot_general of halves      -> convert, f32 product, convert; bf16 as it is if the target has it
 *   dot_general of integers    -> broadcast, multiply, reduce
 *   reduce of halves           -> convert, f32 sum, convert
 *   empty operands             -> what ops make of them (empty.h)
 *   barrier of several         -> barriers of one
 *   groups without a kernel    -> what they stand for
 *   if, case                   -> all branches and selects
 *   reduce of scattered dims   -> transpose, so that the reduced ones are adjacent
 *   long reductions            -> two stages of fixed size, so that threads share them and the
 *                                 order of summation never depends on their number */
#include <string.h>

#include "ir/build.h"
#include "plan/lower/attention.h"
#include "plan/lower/branches.h"
#include "plan/lower/empty.h"
#include "plan/lower/long_sums.h"
#include "plan/lower/loops.h"
#include "plan/lower/lower.h"
#include "plan/lower/squares.h"

enum {
    LONG_ROW = 16384,   /* elements of a row from which it is cut */
    PART_OF_ROW = 4096, /* the wanted length of its parts */
    MANY_ROWS = 512,    /* rows from which a sum over rows is cut into chunks */
    CHUNKS = 32,
    WIDE_ROW = 16384, /* columns from which sums over rows run in parallel over columns instead */
    /* The same of devices of threads without number (caps_t.many), which wait for each row of a chunk. */
    MANY_CHUNKS = 1056,
    FEWEST_ROWS = 8, /* of a chunk */
    MANY_WIDE_ROW = LOWER_MANY_SUMS,
    MANY_LONG_ROW = 2048, /* of a single row */
    MANY_PART_OF_ROW = 512,
};

/* The largest divisor of n that is at most `limit`. */
static int64_t divisor(int64_t n, int64_t limit)
{
    for (int64_t d = limit < n ? limit : n; d > 1; d--)
        if (n % d == 0) return d;
    return 1;
}

static ir_val_t finish_reduce(ir_fn_t *fn, op_code_t reducer, ir_val_t y, ir_val_t init)
{
    const tensor_t *t = ir_const_of(fn, init);
    if (t) {
        double f = dtype_is_float(t->type.dtype) ? tensor_get_f64(t, 0)
                                                 : (double)tensor_get_i64(t, 0);
        if ((f == 0 && reducer == OP_add) || (f == 1 && reducer == OP_multiply) ||
            (f == -__builtin_inf() && reducer == OP_maximum) ||
            (f == __builtin_inf() && reducer == OP_minimum))
            return y;
    }
    return ir_op2(fn, reducer, y, ir_broadcast_scalar(fn, init, ir_type_of(fn, y)));
}

/* Matrices that a recognised group works on one by one (sequences times heads); 1: there is none.
 */
static int64_t group_batch(const ir_fn_t *fn)
{
    for (int i = 0; i < fn->body->n_op; i++) {
        const ir_op_t *op = fn->body->op[i];
        const ir_type_t *t = op->code == OP_pcp_fused ? ir_type_of(fn, op->in[0]) : NULL;
        if (t && t->rank == 3) return t->dim[0];
    }
    return 1;
}

/* How many chunks b rows are cut into: where it can, so that chunks and the matrices of groups fall
 * into the same strips (plan/schedule/sweep.h). */
static int64_t chunk_count(const ir_fn_t *fn, int64_t b, const caps_t *caps)
{
    int64_t most = b / FEWEST_ROWS < MANY_CHUNKS ? b / FEWEST_ROWS : MANY_CHUNKS;
    if (caps->many) return divisor(b, most);
    int64_t chunks = divisor(group_batch(fn), CHUNKS);
    return chunks >= CHUNKS / 4 && b % chunks == 0 ? chunks : divisor(b, CHUNKS);
}

/* How many parts a rows of b columns are cut into. */
static int64_t row_parts(int64_t a, int64_t b, const caps_t *caps)
{
    if (caps->many && a == 1 && b >= MANY_LONG_ROW) {
        int64_t parts = b / MANY_PART_OF_ROW;
        return divisor(b, parts < MANY_CHUNKS ? parts : MANY_CHUNKS);
    }
    return a < 8 && b >= LONG_ROW ? divisor(b, b / PART_OF_ROW) : 1;
}

/* Reduce dim 1 of x[a][b][c], in two stages where that is long: sums over rows in `chunks`. */
static ir_val_t reduce_middle(ir_fn_t *fn, op_code_t reducer, ir_val_t x, const int64_t *abc,
                              int64_t chunks, const caps_t *caps)
{
    int64_t a = abc[0], b = abc[1], c = abc[2], wide = caps->many ? MANY_WIDE_ROW : WIDE_ROW;
    dtype_t dtype = ir_type_of(fn, x)->dtype;
    int64_t parts = 1;
    bool tiles = caps->matrix && a == 1 && b % SQUARES_OF_TILE == 0 && squares_are(fn, x);
    if (c == 1)
        parts = tiles && b >= LONG_ROW ? b / SQUARES_OF_TILE : row_parts(a, b, caps);
    else if (c > 1 && a == 1 && b >= MANY_ROWS && c <= wide)
        parts = chunks;
    if (parts > 1) {
        ir_type_t cut = ir_type(dtype, 4, (int64_t[]){a, parts, b / parts, c});
        x = ir_reduce(fn, reducer, ir_reshape(fn, x, &cut), (int64_t[]){2}, 1);
        b = parts;
    }
    ir_type_t flat = ir_type(dtype, 3, (int64_t[]){a, b, c});
    return ir_reduce(fn, reducer, ir_reshape(fn, x, &flat), (int64_t[]){1}, 1);
}

/* Order of dimensions that brings the reduced ones together: unchanged when they are, else last. */
static void gather_reduced(const ir_type_t *t, const bool *reduced, int64_t *perm, int64_t *abc)
{
    int runs = 0, n = 0;
    bool inside = false;
    for (int d = 0; d < t->rank; d++) {
        if (t->dim[d] == 1) continue;
        runs += reduced[d] && !inside;
        inside = reduced[d];
    }
    abc[0] = abc[1] = abc[2] = 1;
    for (int d = 0; runs <= 1 && d < t->rank; d++) {
        perm[d] = d;
        abc[reduced[d] ? 1 : abc[1] > 1 ? 2 : 0] *= t->dim[d];
    }
    for (int pass = 0; runs > 1 && pass < 2; pass++)
        for (int d = 0; d < t->rank; d++)
            if (reduced[d] == (pass == 1)) {
                perm[n++] = d;
                abc[pass] *= t->dim[d];
            }
}

static int rewrite_reduce(ir_clone_t *self, const ir_op_t *op)
{
    ir_fn_t *fn = self->to;
    if (loops_has_form(self->from, op)) return 0;
    op_code_t reducer = ir_reducer_op(op->region[0]);
    ir_val_t x = self->map[op->in[0]], init = self->map[op->in[1]];
    const ir_type_t type = *ir_type_of(fn, x), result = *ir_type_of(self->from, op->out);
    const caps_t *caps = &((branches_t *)self->user)->caps;
    bool reduced[IR_MAX_RANK] = {false}, widen = dtype_is_narrow(type.dtype);
    int64_t perm[IR_MAX_RANK], abc[3];
    int n;
    const int64_t *dims = attr_ints(&op->attrs, "dimensions", &n);
    for (int i = 0; i < n; i++) reduced[dims[i]] = true;
    gather_reduced(&type, reduced, perm, abc);
    if (widen) {
        x = ir_convert(fn, x, DT_F32);
        init = ir_convert(fn, init, DT_F32);
    }
    bool identity = true;
    for (int d = 0; d < type.rank; d++) identity = identity && perm[d] == d;
    if (!identity) x = ir_transpose(fn, x, perm);
    ir_val_t y = reduce_middle(fn, reducer, x, abc, chunk_count(self->from, abc[1], caps), caps);
    ir_type_t wide = ir_type_with(result, widen ? DT_F32 : result.dtype);
    y = finish_reduce(fn, reducer, ir_reshape(fn, y, &wide), init);
    self->map[op->out] = widen ? ir_convert(fn, y, result.dtype) : y;
    return 1;
}

/* [batch, free, contract] order of an operand, dims grouped into three. */
static ir_val_t to_three(ir_fn_t *fn, ir_val_t x, const int64_t *batch, int n_batch,
                         const int64_t *contract, int n_contract)
{
    const ir_type_t t = *ir_type_of(fn, x);
    int64_t perm[IR_MAX_RANK];
    bool taken[IR_MAX_RANK] = {false};
    int64_t extent[3] = {1, 1, 1};
    int n = 0;
    for (int i = 0; i < n_batch; i++) {
        taken[batch[i]] = true;
        extent[0] *= t.dim[batch[i]];
        perm[n++] = batch[i];
    }
    for (int i = 0; i < n_contract; i++) taken[contract[i]] = true;
    for (int d = 0; d < t.rank; d++)
        if (!taken[d]) {
            extent[1] *= t.dim[d];
            perm[n++] = d;
        }
    for (int i = 0; i < n_contract; i++) {
        extent[2] *= t.dim[contract[i]];
        perm[n++] = contract[i];
    }
    ir_type_t to = ir_type(t.dtype, 3, extent);
    bool identity = true;
    for (int i = 0; i < n; i++) identity = identity && perm[i] == i;
    return ir_reshape(fn, identity ? x : ir_transpose(fn, x, perm), &to);
}

/* [b, m, k] x [b, n, k] of the same integer type. */
static ir_val_t product_of_integers(ir_fn_t *fn, ir_val_t a, ir_val_t b)
{
    const ir_type_t ta = *ir_type_of(fn, a), tb = *ir_type_of(fn, b);
    ir_type_t all = ir_type(ta.dtype, 4, (int64_t[]){ta.dim[0], ta.dim[1], tb.dim[1], ta.dim[2]});
    a = ir_broadcast(fn, a, &all, (int64_t[]){0, 1, 3});
    b = ir_broadcast(fn, b, &all, (int64_t[]){0, 2, 3});
    return ir_reduce(fn, OP_add, ir_op2(fn, OP_multiply, a, b), (int64_t[]){3}, 1);
}

/* Does the target multiply pairs of bf16, and are there any? */
static bool keeps_pairs(caps_t caps, const ir_fn_t *fn, const ir_op_t *op, const ir_dot_t *dot)
{
    const ir_type_t *a = ir_type_of(fn, op->in[0]), *b = ir_type_of(fn, op->in[1]);
    const ir_type_t *y = ir_type_of(fn, op->out);
    int64_t terms = 1;
    for (int i = 0; i < dot->n_contract; i++) terms *= a->dim[dot->lhs_contract[i]];
    return caps.bf16 && a->dtype == DT_BF16 && b->dtype == DT_BF16 &&
           (y->dtype == DT_BF16 || y->dtype == DT_F32) && terms > 0 && ir_type_count(y) > 0;
}

/* The type that products compute in. */
static dtype_t product_type(dtype_t a, dtype_t b, dtype_t result)
{
    if (!dtype_is_float(result) || !dtype_is_float(a) || !dtype_is_float(b)) return result;
    return a == DT_F64 || b == DT_F64 || result == DT_F64 ? DT_F64 : DT_F32;
}

/* Do rows of such a size come by parts (plan/schedule/parts.h)? There a sum over all of a row is not cut. */
static bool by_parts(const branches_t *how, const ir_type_t *type)
{
    return how->large > 0 && (uint64_t)ir_type_bytes(type) > how->large;
}

/* [b, m, k] x [b, n, k]; long sums of one product in parts. */
static ir_val_t product_of_floats(ir_fn_t *fn, ir_val_t a, ir_val_t b, dtype_t compute,
                                  const branches_t *how)
{
    const ir_dot_t three = {1, 1, {0}, {0}, {2}, {2}};
    const ir_type_t ta = *ir_type_of(fn, a), tb = *ir_type_of(fn, b);
    int64_t m = ta.dim[1], n = tb.dim[1];
    bool whole = ta.dim[0] > 1 || compute != DT_F32 || by_parts(how, &ta) || by_parts(how, &tb);
    int64_t parts = whole ? 1 : long_sums_parts(&how->caps, m, n, ta.dim[2], ta.dtype == DT_BF16);
    if (parts == 1) return ir_dot(fn, a, b, &three, compute);
    ir_val_t y = long_sums_dot(fn, a, b, parts);
    if (how->caps.many) return long_sums_add(fn, y);
    return reduce_middle(fn, OP_add, y, (int64_t[]){1, parts, m * n}, 1, &how->caps);
}

static int rewrite_dot(ir_clone_t *self, const ir_op_t *op)
{
    ir_fn_t *fn = self->to;
    ir_val_t a = self->map[op->in[0]], b = self->map[op->in[1]], y;
    const ir_type_t result = *ir_type_of(self->from, op->out);
    dtype_t compute = product_type(ir_type_of(fn, a)->dtype, ir_type_of(fn, b)->dtype,
                                   result.dtype);
    const branches_t *how = self->user;
    ir_dot_t d;
    ir_dot_dims(op, &d);
    if (!keeps_pairs(how->caps, self->from, op, &d)) {
        a = ir_convert(fn, a, compute);
        b = ir_convert(fn, b, compute);
    }
    a = to_three(fn, a, d.lhs_batch, d.n_batch, d.lhs_contract, d.n_contract);
    b = to_three(fn, b, d.rhs_batch, d.n_batch, d.rhs_contract, d.n_contract);
    if (dtype_is_float(compute))
        y = product_of_floats(fn, a, b, compute, how);
    else
        y = product_of_integers(fn, a, b);
    ir_type_t shape = ir_type_with(result, compute);
    self->map[op->out] = ir_convert(fn, ir_reshape(fn, y, &shape), result.dtype);
    return 1;
}

static int rewrite_barrier(ir_clone_t *self, const ir_op_t *op)
{
    for (int i = 0; i < op->n_in; i++)
        self->map[op->out + (ir_val_t)i] = ir_op1(self->to, op->code, self->map[op->in[i]]);
    return 1;
}

/* A group without a kernel: its region in its place. */
static int rewrite_group(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    const ir_region_t *region = op->region[0];
    if (attention_knows(&((branches_t *)self->user)->caps, self->from, op)) return 0;
    for (int i = 0; i < op->n_in; i++) self->map[region->arg + (ir_val_t)i] = self->map[op->in[i]];
    if (ir_clone_ops(self, region, err) < 0) return -1;
    for (int i = 0; i < op->n_out; i++)
        self->map[op->out + (ir_val_t)i] = self->map[region->result[i]];
    return 1;
}

static int rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    int n_before = self->to->cursor->n_op, status = 0;
    if (empty_rewrite(self, op))
        status = 1;
    else if (op->code == OP_reduce)
        status = rewrite_reduce(self, op);
    else if (op->code == OP_dot_general)
        status = rewrite_dot(self, op);
    else if (op->code == OP_optimization_barrier && op->n_in > 1)
        status = rewrite_barrier(self, op);
    else if (op->code == OP_pcp_fused)
        status = rewrite_group(self, op, err);
    else
        status = branches_rewrite(self, op, err);
    for (int i = n_before; status == 1 && i < self->to->cursor->n_op; i++)
        self->to->cursor->op[i]->line = op->line;
    return status;
}

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* Does result i of fn give parameter v back under its own role and name? */
static bool is_passed_through(const ir_fn_t *fn, int i, ir_val_t v)
{
    const ir_attrs_t *p = &fn->param_attrs[v - fn->body->arg], *r = &fn->result_attrs[i];
    return same_text(attr_text(p, "pcp.role", NULL), attr_text(r, "pcp.role", NULL)) &&
           same_text(attr_text(p, "pcp.name", NULL), attr_text(r, "pcp.name", NULL));
}

/* What a result has: the product that rewrite_dot made it from, whose numbers lie as the result's do. */
static ir_val_t product_behind(const ir_fn_t *fn, ir_val_t v)
{
    const ir_op_t *op = ir_def(fn, v);
    const ir_op_t *behind = op && op->code == OP_reshape ? ir_def(fn, op->in[0]) : NULL;
    return behind && behind->code == OP_dot_general ? op->in[0] : v;
}

/* Results that are parameters, constants or given twice become values of their own. */
static void own_results(ir_fn_t *fn)
{
    ir_region_t *body = fn->body;
    bool *given = mem_calloc((size_t)fn->n_value + 1, sizeof *given);
    fn->cursor = body;
    for (int i = 0; i < body->n_result; i++) {
        ir_val_t v = body->result[i] = product_behind(fn, body->result[i]);
        const ir_op_t *op = ir_def(fn, v);
        bool twice = given[v];
        given[v] = true;
        if ((op && op->code != OP_constant && !twice) || (!op && is_passed_through(fn, i, v)))
            continue;
        body->result[i] = ir_op1(fn, OP_optimization_barrier, v);
    }
    free(given);
}

ir_fn_t *legalize_fn(ir_module_t *module, const ir_fn_t *fn, caps_t caps, uint64_t large,
                     err_t *err)
{
    branches_t branches = {IR_NONE, caps, large};
    ir_fn_t *to = ir_clone_fn(module, fn, rewrite, &branches, err);
    if (!to) return NULL;
    own_results(to);
    if (to->err.code == ERR_OK) return to;
    if (err) *err = to->err;
    return NULL;
}
