/* Values are squares, rows and scalars of one element type, so that most of them fit into most
 * slots of a loop; each maker keeps floats within [-2, 2]. */
#include "random_loops.h"

#include <stdio.h>

#include "base/rng.h"
#include "base/vec.h"
#include "ir/build_index.h"

enum { SIZE = 4, N_PARAM = 6, N_RESULT = 6, MAX_CARRY = 5, MAX_DEPTH = 3, MAX_OPS = 120 };

typedef struct {
    ir_fn_t *fn;
    uint64_t seed, counter;
    dtype_t dtype;
    int depth, n_op;    /* loops and branches around the cursor; steps so far */
    ir_val_t count;     /* of the innermost loop, or a parameter: i32 */
    VEC(ir_val_t) pool; /* what can be read at the cursor */
} loops_t;

static int draw(loops_t *self, int n)
{
    return (int)(rng_bits(self->seed, self->counter++) % (uint64_t)n);
}

static int rank_of(const loops_t *self, ir_val_t v)
{
    return ir_type_of(self->fn, v)->rank;
}

static ir_type_t type_of_rank(const loops_t *self, int rank)
{
    return ir_type(self->dtype, rank, (int64_t[]){SIZE, SIZE});
}

static bool is_float(const loops_t *self)
{
    return self->dtype == DT_F32;
}

/* One of the last values as often as any. */
static ir_val_t any(loops_t *self)
{
    int n = (int)self->pool.n, recent = n < 5 ? n : 5;
    return self->pool.at[draw(self, 2) ? n - 1 - draw(self, recent) : draw(self, n)];
}

static ir_val_t any_of_rank(loops_t *self, int rank)
{
    for (int i = 0; i < 12; i++) {
        ir_val_t v = any(self);
        if (rank_of(self, v) == rank) return v;
    }
    for (size_t i = self->pool.n; i-- > 0;)
        if (rank_of(self, self->pool.at[i]) == rank) return self->pool.at[i];
    return IR_NONE;
}

static ir_val_t scaled(loops_t *self, ir_val_t x, double by)
{
    if (!is_float(self)) return x;
    return ir_op2(self->fn, OP_multiply, x, ir_scalar_like(self->fn, x, by));
}

/* --- Makers ----------------------------------------------------------------------------------- */

static ir_val_t map(loops_t *self, ir_val_t x)
{
    ir_fn_t *fn = self->fn;
    ir_val_t y = any_of_rank(self, rank_of(self, x));
    static const op_code_t ints[] = {OP_add, OP_subtract, OP_multiply, OP_xor, OP_maximum};
    if (!is_float(self)) return ir_op2(fn, ints[draw(self, 5)], x, y);
    switch (draw(self, 4)) {
    case 0: return ir_op1(fn, OP_tanh, ir_op2(fn, OP_add, x, y));
    case 1: return ir_op1(fn, OP_sine, ir_op2(fn, OP_multiply, x, y));
    case 2: return scaled(self, ir_op2(fn, OP_subtract, x, y), 0.5);
    default: return ir_op2(fn, OP_minimum, x, y);
    }
}

static ir_val_t fold(loops_t *self, ir_val_t x)
{
    if (rank_of(self, x) == 0) return IR_NONE;
    int64_t dim = draw(self, rank_of(self, x));
    if (draw(self, 3) == 0) return ir_reduce(self->fn, OP_maximum, x, &dim, 1);
    return scaled(self, ir_reduce(self->fn, OP_add, x, &dim, 1), 1.0 / SIZE);
}

static ir_val_t spread(loops_t *self, ir_val_t x)
{
    int rank = rank_of(self, x);
    if (rank == 2) return ir_transpose(self->fn, x, (int64_t[]){1, 0});
    ir_type_t to = type_of_rank(self, rank + 1);
    return ir_broadcast(self->fn, x, &to, (int64_t[]){draw(self, rank + 1)});
}

/* x by a row that is spread over it: read again with what was made of it. */
static ir_val_t weigh(loops_t *self, ir_val_t x)
{
    if (rank_of(self, x) != 2) return IR_NONE;
    ir_type_t to = type_of_rank(self, 2);
    ir_val_t row = any_of_rank(self, 1);
    if (row == IR_NONE) return IR_NONE;
    row = ir_broadcast(self->fn, row, &to, (int64_t[]){draw(self, 2)});
    return scaled(self, ir_op2(self->fn, OP_multiply, x, row), 0.5);
}

static ir_val_t product(loops_t *self, ir_val_t x)
{
    ir_val_t y = any_of_rank(self, 1 + draw(self, 2));
    if (rank_of(self, x) == 0 || y == IR_NONE) return IR_NONE;
    ir_dot_t dims = {.n_contract = 1};
    dims.lhs_contract[0] = draw(self, rank_of(self, x));
    dims.rhs_contract[0] = draw(self, rank_of(self, y));
    return scaled(self, ir_dot(self->fn, x, y, &dims, DT_NONE), 0.5 / SIZE);
}

static ir_val_t replace_row(loops_t *self, ir_val_t x)
{
    if (rank_of(self, x) != 2) return IR_NONE;
    ir_val_t row = any_of_rank(self, 1), zero = ir_scalar(self->fn, DT_I32, 0);
    ir_type_t flat = ir_type(self->dtype, 2, (int64_t[]){1, SIZE});
    if (row == IR_NONE) return IR_NONE;
    const ir_val_t at[] = {self->count, zero};
    return ir_dynamic_update_slice(self->fn, x, ir_reshape(self->fn, row, &flat), at);
}

static ir_val_t pick_row(loops_t *self, ir_val_t x)
{
    if (rank_of(self, x) != 2) return IR_NONE;
    ir_type_t flat = type_of_rank(self, 1);
    const ir_val_t at[] = {self->count, ir_scalar(self->fn, DT_I32, 0)};
    const int64_t sizes[] = {1, SIZE};
    return ir_reshape(self->fn, ir_dynamic_slice(self->fn, x, at, sizes), &flat);
}

static ir_val_t is_even(loops_t *self)
{
    ir_val_t x = ir_op2(self->fn, OP_and, self->count, ir_scalar(self->fn, DT_I32, 1));
    return ir_compare(self->fn, "EQ", x, ir_scalar(self->fn, DT_I32, 0));
}

static ir_val_t choose(loops_t *self, ir_val_t x)
{
    return ir_select(self->fn, is_even(self), x, any_of_rank(self, rank_of(self, x)));
}

static ir_val_t constant(loops_t *self, ir_val_t x)
{
    ir_type_t type = type_of_rank(self, rank_of(self, x));
    return ir_splat(self->fn, &type, is_float(self) ? 0.5 : 3);
}

/* x by rows that are made of it, again and again: each is read by a product and then for the last
 * time where the next one is made, element by element. At last an older value is read. */
static ir_val_t chain(loops_t *self, ir_val_t x)
{
    ir_fn_t *fn = self->fn;
    ir_type_t square = type_of_rank(self, 2);
    if (rank_of(self, x) != 2) return IR_NONE;
    ir_val_t old = any_of_rank(self, 2);
    VEC_PUSH(&self->pool, x);
    for (int n = 1 + draw(self, 3); n > 0; n--) {
        ir_dot_t dims = {.n_contract = 1, .lhs_contract = {draw(self, 2)}};
        ir_val_t row = ir_dot(fn, x, any_of_rank(self, 1), &dims, DT_NONE);
        row = ir_broadcast(fn, scaled(self, row, 0.5 / SIZE), &square, (int64_t[]){draw(self, 2)});
        x = ir_op2(fn, draw(self, 2) ? OP_multiply : OP_subtract, x, row);
        x = is_float(self) ? ir_op1(fn, OP_tanh, x) : x;
        VEC_PUSH(&self->pool, x);
    }
    ir_dot_t dims = {.n_contract = 1, .lhs_contract = {1}};
    x = scaled(self, ir_dot(fn, x, any_of_rank(self, 2), &dims, DT_NONE), 0.5 / SIZE);
    return scaled(self, ir_op2(fn, OP_add, x, old), 0.5);
}

static void some_steps(loops_t *self, int n);

/* What a region gives for a slot of this rank: `args` are its arguments, `before` the slots so far,
 * `outside` values of the pool were there before it. */
static ir_val_t slot_value(loops_t *self, int rank, ir_val_t own, const ir_val_t *before, int n,
                           size_t outside)
{
    for (int i = 0; i < 24; i++) {
        ir_val_t v = any_of_rank(self, rank);
        switch (draw(self, 12)) {
        case 0: v = own; break;
        case 1: v = n > 0 ? before[draw(self, n)] : own; break;
        case 2: v = self->pool.at[draw(self, (int)outside)]; break;
        case 3: v = constant(self, v); break;
        default: v = self->pool.at[outside + (size_t)draw(self, (int)(self->pool.n - outside))];
        }
        if (rank_of(self, v) == rank) return v;
    }
    return own;
}

static ir_val_t branch(loops_t *self, ir_val_t x)
{
    ir_fn_t *fn = self->fn;
    if (self->depth >= MAX_DEPTH) return IR_NONE;
    ir_val_t pred = is_even(self);
    ir_type_t types[2] = {type_of_rank(self, rank_of(self, x)), type_of_rank(self, 2)};
    ir_region_t *saved, *regions[2];
    self->depth++;
    for (int r = 0; r < 2; r++) {
        size_t outside = self->pool.n;
        regions[r] = ir_region_begin(fn, 0, NULL, &saved);
        ir_val_t first = map(self, any_of_rank(self, 2));
        VEC_PUSH(&self->pool, first);
        some_steps(self, draw(self, 4));
        ir_val_t results[2];
        for (int i = 0; i < 2; i++)
            results[i] = slot_value(self, types[i].rank, any_of_rank(self, types[i].rank), results,
                                    i, outside);
        ir_region_end(fn, regions[r], 2, results, saved);
        self->pool.n = outside;
    }
    self->depth--;
    ir_op_t *op = ir_emit(fn, OP_if, 1, &pred, NULL, 2, types, 2, regions);
    if (!op) return IR_NONE;
    VEC_PUSH(&self->pool, op->out);
    return op->out + 1;
}

/* --- Loops ------------------------------------------------------------------------------------ */

typedef struct {
    int n; /* slots: the count, a value that the condition reads, then the others */
    ir_val_t in[MAX_CARRY + 2];
    ir_type_t types[MAX_CARRY + 2];
} carries_t;

static void draw_carries(loops_t *self, carries_t *c)
{
    c->n = 2 + 1 + draw(self, MAX_CARRY);
    c->in[0] = ir_scalar(self->fn, DT_I32, 0);
    c->in[1] = ir_scalar(self->fn, DT_I32, 1 + draw(self, 4));
    int rank = draw(self, 4) ? 2 : draw(self, 3);
    for (int i = 2; i < c->n; i++) {
        if (draw(self, 4) == 0) rank = draw(self, 3);
        c->in[i] = draw(self, 5) ? any_of_rank(self, rank)
                                 : constant(self, any_of_rank(self, rank));
        if (c->in[i] == IR_NONE) c->in[i] = any_of_rank(self, 2);
    }
    for (int i = 0; i < c->n; i++) c->types[i] = *ir_type_of(self->fn, c->in[i]);
}

/* Below a limit that is carried itself. */
static ir_region_t *condition(loops_t *self, const carries_t *c)
{
    ir_region_t *saved, *r = ir_region_begin(self->fn, c->n, c->types, &saved);
    ir_val_t more = ir_compare(self->fn, "LT", r->arg, r->arg + 1);
    ir_region_end(self->fn, r, 1, &more, saved);
    return r;
}

static ir_region_t *body(loops_t *self, const carries_t *c)
{
    ir_fn_t *fn = self->fn;
    ir_region_t *saved, *r = ir_region_begin(fn, c->n, c->types, &saved);
    ir_val_t results[MAX_CARRY + 2], outer = self->count;
    size_t outside = self->pool.n;
    self->count = r->arg;
    self->depth++;
    for (int i = 2; i < c->n; i++) VEC_PUSH(&self->pool, r->arg + (ir_val_t)i);
    ir_val_t first = draw(self, 4) ? chain(self, map(self, any_of_rank(self, 2))) : IR_NONE;
    if (first != IR_NONE) VEC_PUSH(&self->pool, first);
    some_steps(self, draw(self, 8));
    results[0] = ir_op2(fn, OP_add, r->arg, ir_scalar(fn, DT_I32, 1));
    results[1] = draw(self, 3) ? r->arg + 1
                               : ir_op2(fn, OP_minimum, r->arg + 1, ir_scalar(fn, DT_I32, 3));
    for (int i = 2; i < c->n; i++)
        results[i] = slot_value(self, c->types[i].rank, r->arg + (ir_val_t)i, results + 2, i - 2,
                                outside);
    self->depth--;
    self->count = outer;
    self->pool.n = outside;
    ir_region_end(fn, r, c->n, results, saved);
    return r;
}

static ir_val_t loop(loops_t *self, ir_val_t x)
{
    carries_t c;
    if (self->depth >= MAX_DEPTH || self->n_op > MAX_OPS) return x;
    draw_carries(self, &c);
    ir_region_t *regions[2];
    regions[0] = condition(self, &c);
    regions[1] = body(self, &c);
    ir_op_t *op = ir_emit(self->fn, OP_while, c.n, c.in, NULL, c.n, c.types, 2, regions);
    for (int i = 2; op && i < c.n; i++) VEC_PUSH(&self->pool, op->out + (ir_val_t)i);
    return IR_NONE;
}

/* --- Functions -------------------------------------------------------------------------------- */

static void some_steps(loops_t *self, int n)
{
    static ir_val_t (*const makers[])(loops_t *, ir_val_t) = {
        map,    map,         fold,     spread, weigh, product, product,
        choose, replace_row, pick_row, chain,  chain, branch,  loop,
    };
    for (int i = 0; i < n && self->fn->err.code == ERR_OK; i++) {
        ir_val_t x = any(self), y = makers[draw(self, sizeof makers / sizeof *makers)](self, x);
        self->n_op++;
        if (y != IR_NONE && y != x) VEC_PUSH(&self->pool, y);
    }
}

ir_fn_t *random_loops(ir_module_t *module, const char *name, uint64_t seed)
{
    loops_t self = {.seed = rng_derive(seed, "loops")};
    self.dtype = draw(&self, 3) ? DT_F32 : DT_I32;
    const int ranks[N_PARAM - 1] = {2, 2, 2, 1, 0};
    ir_type_t types[N_PARAM];
    for (int i = 0; i < N_PARAM - 1; i++) types[i] = type_of_rank(&self, ranks[i]);
    types[N_PARAM - 1] = ir_type_scalar(DT_I32);
    self.fn = ir_fn_new(module, arena_strdup(module->arena, name), N_PARAM, types);
    self.count = ir_fn_param(self.fn, N_PARAM - 1);
    for (int i = 0; i < N_PARAM - 1; i++) VEC_PUSH(&self.pool, ir_fn_param(self.fn, i));
    int n_loop = 1 + draw(&self, 2);
    for (int i = 0; i < n_loop; i++) {
        some_steps(&self, draw(&self, 3));
        loop(&self, IR_NONE);
    }
    some_steps(&self, draw(&self, 4));
    ir_val_t results[N_RESULT];
    for (int i = 0; i < N_RESULT; i++) results[i] = any(&self);
    err_t err = {0};
    ir_fn_t *fn = ir_fn_finish(self.fn, N_RESULT, results, &err) == 0 ? self.fn : NULL;
    VEC_FREE(&self.pool);
    if (!fn) fprintf(stderr, "random_loops(%llu): %s\n", (unsigned long long)seed, err.text);
    return fn;
}
