/* The kernel loop-IR: what plan/ lowers to and codegen/ renders (C today, other languages beside
 * it).
 *
 * A kernel is a tree of loops and stores over a graph of scalar expressions. Expressions are
 * hash-consed (equal expressions are one node), so a renderer computes each once, at the outermost
 * loop where its inputs are known. Index expressions are kept as sums of coefficient * term; loop
 * variables split themselves (v = hi * extent(lo) + lo) when a division asks for it, which is how
 * reshapes and transposes dissolve. One thread at a time per graph. */
#ifndef PLAN_KERNEL_H
#define PLAN_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "ir/ir.h"
#include "plan/kernel/tiles.h"

typedef uint32_t kx_t; /* a node of a graph */
#define KX_NONE UINT32_MAX

typedef enum {
    KX_NUMBER, /* constant of dtype: f for floats, i else */
    KX_VAR,    /* i64: loop variable i */
    KX_AFFINE, /* i64: i + sum coef[t] * in[t] */
    KX_DIV,    /* i64: in[0] / i, both >= 0 */
    KX_MOD,    /* i64: in[0] % i, both >= 0 */
    KX_GE0,    /* i1: in[0] >= 0 */
    KX_LOAD,   /* element in[0] of kernel argument i */
    KX_LOCAL,  /* element in[0] of local array i */
    KX_ACC,    /* final value of accumulator i */
    KX_CELL,   /* what cell i holds now */
    KX_REF,    /* while lowering: member i of the kernel, at column in[0] when n_in is 1 */
    KX_MAP,    /* op(in..) with in's dtypes; compare: i is the direction */
    KX_CONVERT,
    KX_SELECT, /* in[0] ? in[1] : in[2] */
    KX_KEY,    /* i32 or i64: the float in[0] as an integer in IEEE's total order */
    KX_ROUND,  /* the float in[0] to a format of i / 64 bits of exponent and i % 64 of mantissa, in
                * f64  (reduce_precision) */
} kx_kind_t;

typedef enum { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE } kx_compare_t;

typedef struct {
    kx_kind_t kind;
    dtype_t dtype;
    op_code_t op; /* KX_MAP */
    int n_in;
    kx_t *in;
    int64_t *coef; /* KX_AFFINE */
    int64_t i;
    double f;
    int64_t lo, hi; /* integers: inclusive range; INT64_MIN, INT64_MAX when unknown */
} kx_node_t;

/* Loop variable v runs over [0, extent). hi, lo: its parts once split, else -1. */
typedef struct {
    int64_t extent;
    int parent, hi, lo;
    kx_t node;
} kx_var_t;

typedef struct {
    arena_t *arena;
    VEC(kx_node_t) node;
    VEC(kx_var_t) var;
    uint32_t *slot; /* hash table of node numbers + 1 */
    size_t n_slot;
} kx_graph_t;

void kx_init(kx_graph_t *self);
void kx_fini(kx_graph_t *self);

/* A new loop variable; extent 1 gives the constant 0 (var number still valid). */
kx_t kx_var(kx_graph_t *self, int64_t extent, int *var);
kx_t kx_int(kx_graph_t *self, int64_t i);
kx_t kx_number(kx_graph_t *self, dtype_t dtype, double f, int64_t i);

/* Index arithmetic on i64 nodes; div and mod by d > 0. Where the dividend may be negative the
 * result must not be used (it sits behind a guard). */
kx_t kx_add(kx_graph_t *self, kx_t a, kx_t b);
kx_t kx_sub(kx_graph_t *self, kx_t a, kx_t b);
kx_t kx_addi(kx_graph_t *self, kx_t a, int64_t i);
kx_t kx_scale(kx_graph_t *self, kx_t a, int64_t k);
kx_t kx_div(kx_graph_t *self, kx_t a, int64_t d);
kx_t kx_mod(kx_graph_t *self, kx_t a, int64_t d);
/* i1: lo <= a < hi. */
kx_t kx_within(kx_graph_t *self, kx_t a, int64_t lo, int64_t hi);
kx_t kx_and(kx_graph_t *self, kx_t p, kx_t q);

kx_t kx_load(kx_graph_t *self, int arg, dtype_t dtype, kx_t index);
kx_t kx_local(kx_graph_t *self, int array, dtype_t dtype, kx_t index);
kx_t kx_acc(kx_graph_t *self, int acc, dtype_t dtype);
kx_t kx_cell(kx_graph_t *self, int cell, dtype_t dtype);
kx_t kx_ref(kx_graph_t *self, int member, dtype_t dtype, kx_t column); /* KX_NONE: a row's value */
kx_t kx_map(kx_graph_t *self, op_code_t op, dtype_t dtype, int n_in, const kx_t *in);
kx_t kx_compare(kx_graph_t *self, kx_compare_t direction, kx_t a, kx_t b);
kx_t kx_convert(kx_graph_t *self, kx_t a, dtype_t to);
kx_t kx_select(kx_graph_t *self, kx_t p, kx_t a, kx_t b);
kx_t kx_key(kx_graph_t *self, kx_t a);
kx_t kx_round(kx_graph_t *self, kx_t a, int exponent_bits, int mantissa_bits);

/* a as sum of coefficients: the coefficient of variable v in a (its parts not expanded), and
 * whether a is nothing but variables and a constant. */
int64_t kx_coef(const kx_graph_t *self, kx_t a, kx_t term);
/* Row-major position of index[] in dims, and back. */
kx_t kx_linear(kx_graph_t *self, int rank, const int64_t *dim, const kx_t *index);
void kx_unlinear(kx_graph_t *self, kx_t linear, int rank, const int64_t *dim, kx_t *index);

/* Rebuild `root` with every node that `replace` maps (returns KX_NONE: keep) exchanged; simplifies
 * on the way. memo: graph->node.n entries of KX_NONE at the start, kept by the caller for a whole
 * run. */
typedef struct {
    kx_graph_t *graph;
    kx_t (*replace)(void *user, kx_t node);
    void *user;
    VEC(kx_t) memo;
} kx_rewrite_t;
kx_t kx_rewrite(kx_rewrite_t *self, kx_t root);

/* --- Statements and kernels ------------------------------------------------------------------- */

typedef enum {
    KS_FOR,   /* for var in [lo, hi): body; simd: iterations are independent but for accumulators */
    KS_STORE, /* argument[target][index] = value */
    KS_KEEP,  /* local array[target][index] = value */
    KS_START, /* accumulator[target] = value (its neutral element or the reduction's init) */
    KS_FOLD,  /* accumulator[target] = op(accumulator, value) */
    KS_LET,   /* cell[target], new from here to the end of the block, = value */
    KS_SET,   /* all cells of `set` at the same time */
    KS_IF,    /* where value holds: body. Nothing of the body is computed elsewhere */
    KS_WHILE, /* while value holds: body. Likewise */
} kstmt_kind_t;

typedef struct {
    int cell;
    kx_t value;
} kset_t;

typedef struct kstmt kstmt_t;
typedef VEC(kstmt_t *) kblock_t;
struct kstmt {
    kstmt_kind_t kind;
    int var;     /* KS_FOR */
    kx_t lo, hi; /* KS_FOR; KX_NONE on the outermost loop: the caller's [begin, end) */
    bool simd;
    int target;
    kx_t index, value;
    VEC(kset_t) set;
    kblock_t body;
};

/* Kernels count on their arguments to begin at a multiple of so many bytes. */
enum { KERNEL_ALIGN = 64 };

typedef struct {
    ir_val_t value; /* the IR value whose storage it is */
    dtype_t dtype;
    bool written;
    int64_t at; /* the element of it that the argument begins at */
} karg_t;

typedef struct {
    dtype_t dtype;
    int64_t n;
} karray_t;

typedef struct {
    dtype_t dtype; /* f32 for bf16 and f16 sums */
    op_code_t op;
} kacc_t;

/* How a kernel is described. A backend says which kinds it has code for (codegen/backend.h). */
typedef enum {
    KERNEL_LOOPS,     /* by the loop-IR: graph, array, acc, cell, body */
    KERNEL_PRODUCT,   /* a matrix product, cut for registers and caches (plan/kernel/tiles.h) */
    KERNEL_ATTENTION, /* attention by blocks, or its gradient (plan/lower/attention.h) */
    KERNEL_STREAM,    /* a product of few rows (plan/lower/stream.h) */
    KERNEL_LINES,     /* rows of A as such a product reads them (plan/lower/stream_panels.h) */
    KERNEL_WEAVE,     /* weights in a matrix unit's order (plan/lower/weave.h) */
    KERNEL_KIND_COUNT,
} kernel_kind_t;

const char *kernel_kind_name(kernel_kind_t kind); /* "loops", ... for messages */

typedef struct {
    kernel_kind_t kind;
    VEC(karg_t) arg;
    int64_t extent, grain;
    double flops, bytes;
    char *label;
    /* LOOPS, and the graph of every kernel while it is lowered */
    kx_graph_t graph;
    VEC(karray_t) array;
    VEC(kacc_t) acc;
    VEC(dtype_t) cell;
    kblock_t body;
    /* LOOPS: statements take effect one after another, and what is read back was written before
     * (plan/lower/loops.h). Else no value is read from where the kernel has changed it since. */
    bool in_order;
    bool cold; /* LOOPS: what it reads lies in memory, more than caches hold ... */
    bool past; /* ... and what it writes is not read soon */
    union {
        const product_t *product; /* PRODUCT */
        struct {                  /* ATTENTION */
            const ir_op_t *op;
            const struct attention *attention;
        };
        const struct stream *stream; /* STREAM, LINES */
        const struct weave *weave;   /* WEAVE */
    };
} kernel_t;

/* Of a group of values (plan/lower/group.c): statements in loops over rows and columns, of which no two
 * see each other's memory. */
static inline bool kernel_is_group(const kernel_t *self)
{
    return self->kind == KERNEL_LOOPS && !self->in_order;
}

kernel_t *kernel_new(void);
void kernel_destroy(kernel_t **self_p);
kstmt_t *kernel_stmt(kblock_t *block, kstmt_kind_t kind); /* appended, zeroed */
int kernel_cell(kernel_t *self, dtype_t dtype);           /* a new one: its number */
/* The number of the argument that is `value`, added when new. */
int kernel_arg(kernel_t *self, ir_val_t value, dtype_t dtype, bool written);
/* The same, from element `at` of its storage on. */
int kernel_arg_at(kernel_t *self, ir_val_t value, dtype_t dtype, bool written, int64_t at);

#endif
