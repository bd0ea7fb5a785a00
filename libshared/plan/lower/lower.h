/* Inside plan/: one program on its way from IR to steps. Not for other folders (see plan/build.h).
 *
 * Values with storage are *roots*; every other value is inlined into its users as an expression of
 * its index. Roots that agree on rows x columns share a *group*, which becomes one kernel: rows in
 * parallel, phases over the columns of a row one after another. */
#ifndef PLAN_LOWER_H
#define PLAN_LOWER_H

#include "ir/ir.h"
#include "ir/op.h"
#include "plan/format/plan.h"
#include "plan/kernel/kernel.h"

/* Storage order of a root that is not row-major: position = sum over d of stride[d] * digit d of
 * the row-major position written in dim[]. rank 0: row-major. */
typedef struct {
    int rank;
    int64_t dim[IR_MAX_RANK], stride[IR_MAX_RANK];
} layout_t;

enum { BEFORE = -1 }; /* order of values that are there when the program starts */

typedef struct {
    bool root;
    bool chosen; /* a root by cost */
    int order;   /* of the step that completes it, BEFORE, or INT_MAX: not placed yet */
    int group;   /* that makes it, or -1 */
    int member;  /* its place there */
    bool stored; /* read outside of its group: lives in the arena */
    layout_t layout;
    bool plain;       /* read by loops that know no layout */
    int cost;         /* estimated work per element when inlined */
    int chain;        /* ops between it and the roots it is made of, itself counted */
    int64_t reads;    /* elements that users ask for, over all users */
    int woven;        /* its place in lower_t.woven, from 1 (plan/lower/weave.h); 0: it has none */
    ir_val_t squares; /* of a product: sums of its squares (plan/lower/squares.h); 0: not wanted */
    ir_val_t whole; /* the value that it is a part of and lies in (plan/lower/joined.h); 0: none */
    int64_t whole_at; /* the element of that it begins at */
    bool joined;      /* it is there when its parts are */
    /* Of a scatter: the argument that it starts from; IR_NONE: none. Who reads that comes first, so that the scatter may be
     * written in its place. */
    ir_val_t over;
} lvalue_t;

/* A rounded parameter that is stored woven, in the ways that are wanted. */
typedef struct {
    int64_t rows, cols;
    bool wanted[2], refused; /* refused: it is read in another way, too */
    ir_val_t value[2];       /* what has its storage */
} woven_t;

typedef enum {
    MEMBER_FULL,    /* an element per row and column */
    MEMBER_ROW,     /* an element per row */
    MEMBER_FOLD,    /* reduces the columns: an element per row */
    MEMBER_SUM,     /* reduces the rows of a chunk: an element per chunk and column */
    MEMBER_SCATTER, /* folds each element to a place that data names; no users in the group */
} member_kind_t;

typedef struct {
    ir_val_t value;
    member_kind_t kind;
    op_code_t op;      /* FOLD, SUM, SCATTER: the reducer; SCATTER: OP_invalid replaces */
    kx_t expr;         /* the element, or what is folded */
    kx_t init;         /* FOLD, SUM: folded in at the end; KX_NONE when neutral */
    kx_t index, guard; /* SCATTER: where to, if at all */
    int phase;
    bool late; /* reads what steps have made */
} member_t;

/* Expressions of (value, index), by the node that stands for them. */
typedef struct {
    kx_t x;      /* KX_NONE: not known */
    int attempt; /* that failed, and is the only one that x is for; 0: for all */
} memo_t;
typedef VEC(memo_t) memos_t;

typedef struct {
    int64_t rows, cols;
    int64_t chunk;  /* rows per unit of parallelism; rows: by_column */
    bool by_column; /* parallel over blocks of columns, rows in sequence */
    int order;
    kernel_t *kernel; /* its graph holds the members' expressions */
    kx_t row, col;
    int row_var, col_var;
    VEC(member_t) member;
    memos_t memo;  /* of inline_value */
    int n_attempt; /* to build members */
} group_t;

/* Column sums that a chunk keeps on devices of threads without number (caps_t.many): 16 KiB, shared by a group. */
enum { LOWER_MANY_SUMS = 4096 };

typedef enum { LOWER_GROUP, LOWER_GEMM, LOWER_COPY, LOWER_CARRY, LOWER_LOOP } lstep_kind_t;
typedef struct {
    lstep_kind_t kind;
    int group;
    ir_val_t *arg;            /* group: the kernel's arguments, NULL: its own */
    int64_t begin, extent;    /* group: a part of the kernel's extent; extent 0: all of it */
    int64_t *shift;           /* group: elements to add to where arguments lie, NULL: none */
    bool again;               /* what a step before computed is recomputed */
    ir_val_t value, lhs, rhs; /* gemm: result and the roots of its operands */
    plan_gemm_step_t gemm;    /* a, b, c: element offsets within the roots */
    ir_val_t from;            /* copy to the tensor of result to_result */
    int to_result;
    int to_tensor;       /* carry: `from` to this tensor of the builder */
    const ir_op_t *loop; /* loop: the while op; carries of it come right before */
    int n_carry;         /* their number */
    int condition, body; /* programs of the builder */
    int more;            /* tensor that the condition leaves */
    int sweep;           /* steps of equal number, neighbours, run in one go; 0: alone */
    int64_t strips;      /* of the sweep; 0: its steps are apart (plan/schedule/sweep.h) */
} lstep_t;

typedef struct {
    const ir_op_t *op;
    ir_val_t value; /* room that the loops of op work in */
} scratch_t;

typedef struct {
    ir_module_t *module;
    ir_fn_t *fn;
    caps_t caps;     /* of the target */
    lvalue_t *value; /* fn->n_value */
    VEC(group_t *) group;
    VEC(lstep_t) step;
    VEC(scratch_t) scratch;
    VEC(woven_t) woven;
    uint64_t large; /* bytes from which temporaries are held by parts (parts.h); 0: never */
    int turn;       /* number of the op that makes the loss: ops behind it may make values again
                     * (recompute.h); -1: none */
    ir_val_t again; /* the first value that is made again; fn->n_value: none */
    int n_early;    /* number of groups that ops up to the turn have opened */
    int n_before;   /* groups that were opened before the last product that has its place */
    err_t *err;
} lower_t;

/* --- convolution.c: fn, or a copy whose convolutions are products ----------------------------- */
const ir_fn_t *convolutions_to_products(ir_module_t *module, const ir_fn_t *fn, err_t *err);

/* --- legalize.c: rewrite what has no direct kernel into ops that have one --------------------- */
/* caps: of the target; large: as in lower_t. */
ir_fn_t *legalize_fn(ir_module_t *module, const ir_fn_t *fn, caps_t caps, uint64_t large,
                     err_t *err);

/* --- inline.c: a value at an index, as an expression ------------------------------------------ */
typedef struct {
    lower_t *lower;
    kx_graph_t *graph;
    group_t *group;    /* whose members may be referred to; NULL: none */
    const kx_t *bound; /* by value: what stands for it, KX_NONE: nothing does; NULL: for none */
    bool failed;       /* something is not there yet, or not in this row */
    int attempt;       /* of the group, from 1 */
    memos_t memo;      /* without a group */
} inline_t;
void inline_fini(inline_t *self); /* which begins with zeros */
kx_t inline_value(inline_t *self, ir_val_t v, const kx_t *index);
/* v at row-major position. */
kx_t inline_at(inline_t *self, ir_val_t v, kx_t linear);
/* An integer constant that is a sum of index * slope: inlined, never stored. */
bool inline_constant_slopes(const tensor_t *t, int64_t *slope);
bool inline_knows(const ir_op_t *op);
/* Is there a rule for ops of this code, whatever their regions and attributes? */
bool inline_has_rule(op_code_t code);
kx_t inline_gather(inline_t *self, const ir_op_t *op, const kx_t *index); /* inline_index.c */
kx_t inline_dynamic_slice(inline_t *self, const ir_op_t *op, const kx_t *index);
kx_t inline_dynamic_update(inline_t *self, const ir_op_t *op, const kx_t *index);
kx_t inline_scatter(inline_t *self, const ir_op_t *op, const kx_t *index);
/* A scatter whose updates each have one place per row of the result, known from the index alone. */
bool inline_scatter_is_direct(lower_t *lower, const ir_op_t *op);
/* Where update element u of a scatter goes: the position in the result and the guard. */
void inline_scatter_target(inline_t *self, const ir_op_t *op, const kx_t *update_index, kx_t *index,
                           kx_t *guard);

/* --- roots.c: which values get storage -------------------------------------------------------- */
int roots_choose(lower_t *self);
/* bound.c: storage for what would become too large an expression. */
void roots_bound(lower_t *self);
/* Work of one element of a map, in additions; views cost nothing. */
int roots_cost(const ir_op_t *op);
/* Position in storage of a root's row-major position. */
kx_t layout_index(kx_graph_t *graph, const lvalue_t *value, kx_t linear);

/* --- group.c: roots to groups ----------------------------------------------------------------- */
int group_place(lower_t *self, const ir_op_t *op, ir_val_t v);
void group_destroy(group_t **self_p);
/* Elements only, read and written in order: one long row, cut into blocks. */
void group_flatten(lower_t *self, group_t *group);
bool group_build_member(lower_t *self, group_t *group, member_t *m);

/* --- gemm.c: dot_general to GEMM steps -------------------------------------------------------- */
/* The value behind bijective views of v that have no storage. */
ir_val_t gemm_behind_views(const lower_t *self, ir_val_t v);
/* Can the GEMM library read or write the operands as they are stored? Marks as roots the operands
 * that need copies. */
int gemm_prepare(lower_t *self, const ir_op_t *op);
int gemm_place(lower_t *self, const ir_op_t *op);
/* The product as a step, and where its operands and result lie. A set of GEMM_BAD_* says which of them
 * strides cannot describe. *weight: the type of the second operand before it is converted. */
enum { GEMM_BAD_A = 1, GEMM_BAD_B = 2, GEMM_BAD_C = 4 };
int gemm_describe(lower_t *self, const ir_op_t *op, dtype_t *weight, ir_val_t root[3],
                  plan_gemm_step_t *step);

/* --- emit.c: groups to kernels of loops and stores -------------------------------------------- */
int emit_group(lower_t *self, group_t *group);
/* The argument that load n, a node of the kernel's graph, of an IR value is from, and what is to be taken off its
 * index: kernels that read a layer's part of weights that lie side by side do the same for every layer, and are the
 * same when they are given their part. */
int emit_load_arg(const lower_t *self, kernel_t *kernel, const kx_node_t *n, kx_t index,
                  int64_t *at);

/* One function to groups and steps with kernels emitted; `large` as above, `keep` as in
 * recompute.h. Returns, caller destroys. */
lower_t *lower_fn(ir_module_t *module, const ir_fn_t *fn, caps_t caps, uint64_t large,
                  uint64_t keep, err_t *err);
/* A value of storage alone, made by the group and the step that come next. */
ir_val_t lower_new_value(lower_t *self, ir_type_t type);
/* Is v a product of so many bytes? */
bool lower_is_large(const lower_t *self, ir_val_t v);
void lower_destroy(lower_t **self_p);

#endif
