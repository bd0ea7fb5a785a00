/* Between the renderers: what every language of a loop kernel shares (at which depth a node can be computed,
 * temporaries, the walk over statements: render_walk.c), and scalar expressions as C
 * (render_expr.c). */
#ifndef CODEGEN_RENDER_EXPR_H
#define CODEGEN_RENDER_EXPR_H

#include "base/str.h"
#include "plan/kernel/kernel.h"

enum { NOT_IN_SCOPE = -1, INNERMOST = 1 << 20 };

struct render_lang;

typedef struct {
    const kernel_t *kernel;
    const struct render_lang *lang;
    str_t *out;
    VEC(int) var_depth; /* by variable: depth of its loop, or NOT_IN_SCOPE */
    VEC(int) acc_depth; /* by accumulator: depth of the block that starts it */
    VEC(bool) keyed;    /* by accumulator: inside a loop that folds its key */
    VEC(int) named;     /* by node: number of its temporary, 0 when none is in scope */
    VEC(int) loop;      /* by variable: number of its loop */
    int n_name, n_loop; /* numbers given so far: equal kernels get equal names */
    VEC(kx_t) order;    /* named nodes, oldest first */
    unsigned walk;      /* number of the walk over a graph; what follows holds for one of them */
    VEC(int) level;     /* by node, where leveled[] is the walk */
    VEC(unsigned) leveled, declared; /* by node: the last walk that did */
    int depth;                       /* of the block being written */
    int turn; /* a loop's number: arrays have an element for each of the thread's turns there, j<turn>; 0: for each index */
    void *own; /* the language's */
} render_t;

/* How a language writes what others write otherwise. */
typedef struct render_lang {
    const char *(*type)(const render_t *self, const kx_node_t *n); /* of a temporary for the node */
    const char *(*cell_type)(dtype_t dtype);
    void (*sum)(render_t *self, const kx_node_t *n, str_t *out); /* a KX_AFFINE */
    void (*number)(const kx_node_t *n, str_t *out);              /* a KX_NUMBER */
    void (*node)(render_t *self, kx_t x, str_t *out);            /* all that is not in place */
    void (*loop)(render_t *self, const kstmt_t *s);              /* KS_FOR with its body */
    void (*store)(render_t *self, const kstmt_t *s, const char *base, dtype_t dtype);
    void (*accumulate)(render_t *self, const kstmt_t *s); /* KS_START, KS_FOLD */
    /* NULL, or: x as a value of its type, where small indices have another one. */
    void (*value)(render_t *self, kx_t x, str_t *out);
    const char *wide; /* NULL, or what makes of a loop's number one of 64 bits */
} render_lang_t;

/* For one kernel; render_end is due. */
void render_begin(render_t *self, const kernel_t *kernel, const render_lang_t *lang, str_t *out);
void render_end(render_t *self);
void render_block(render_t *self, const kblock_t *block);
/* Which accumulators are folded under the block: folds[kernel->acc.n], false before. */
void render_find_folds(const kblock_t *block, bool *folds);

/* Write the turn as an array's index, if arrays have an element for each; false: they do not. */
bool render_turn(const render_t *self, str_t *out);

/* The depth at which x can be computed: that of the innermost loop it depends on; INNERMOST when it
 * reads memory that the kernel writes. */
int render_level(render_t *self, kx_t x);
/* Declare temporaries for x and what it needs, where x's level allows it at self->depth. */
void render_declare(render_t *self, kx_t x);
/* The same at x's own statement: without that limit. */
void render_declare_here(render_t *self, kx_t x);
/* Declare what the block's statements load of what the kernel does not write, all of it before the first store: it is
 * then on its way together, where a compiler would keep the loads behind a store, whose place may be the same. Returns
 * the mark for render_leave, which is due behind the block. */
size_t render_fetch(render_t *self, const kblock_t *block);
/* What was declared since self->order.n was `mark` has no name any more. */
void render_leave(render_t *self, size_t mark);
/* What was read from memory that the kernel writes, or from cells, is to be read again. */
void render_forget(render_t *self);
/* x as C: a name, a literal or an expression over declared names. */
void render_use(render_t *self, kx_t x, str_t *out);

/* The same as an operand: a value of x's own type. */
void render_value(render_t *self, kx_t x, str_t *out);
/* Is the node an index that, once declared or in place, fits in 32 bits as all it is made of? For
 * languages whose devices have few 64-bit units. */
bool render_is_small(const render_t *self, const kx_node_t *n);

/* A loop variable: its name, or its parts or parents where these have the loops. */
void render_var(render_t *self, int v, str_t *out);
/* The text of op's expression for operands of a type; $0, $1, ... and $t are to be replaced. */
const char *render_op_text(op_code_t op, dtype_t operand);
bool render_is_sub_byte(dtype_t dtype); /* i2, i4, ui2, ui4 */
/* Results that need no rounding when the operands are narrow floats already. */
bool render_is_exact(op_code_t op, dtype_t result);

const char *render_storage(dtype_t dtype); /* the C type of an element in memory */
const char *render_type(dtype_t dtype);    /* and of a value in a register */
const char *render_suffix(dtype_t dtype);  /* the prelude's $t */
void render_indent(render_t *self);
void render_line(render_t *self, const char *text); /* indented; text ends it */
/* op on operand texts of type `dtype` (the compute type follows the operands). */
void render_op(str_t *out, op_code_t op, dtype_t result, dtype_t operand, int n_in,
               const char *const *in);
/* text, of type `from`, as type `to`. */
void render_convert(str_t *out, dtype_t to, dtype_t from, const char *text);
void render_number(const kx_node_t *n, str_t *out); /* a KX_NUMBER */
/* The C entries of render_lang_t. */
const char *render_node_type(const render_t *self, const kx_node_t *n);
void render_sum(render_t *self, const kx_node_t *n, str_t *out);
void render_node(render_t *self, kx_t x, str_t *out);
/* A store to "a" (an argument) or "l" (an array), behind the indentation. */
void render_store(render_t *self, const kstmt_t *s, const char *base, dtype_t dtype);
/* Of it what follows the place: " = " and the value. */
void render_stored(render_t *self, const kstmt_t *s, dtype_t dtype);

#endif
