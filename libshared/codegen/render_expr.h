/* Between render_c.c and render_expr.c: scalar expressions as C. */
#ifndef CODEGEN_RENDER_EXPR_H
#define CODEGEN_RENDER_EXPR_H

#include "base/str.h"
#include "plan/kernel/kernel.h"

enum { NOT_IN_SCOPE = -1, INNERMOST = 1 << 20 };

typedef struct {
    const kernel_t *kernel;
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
} render_t;

/* The depth at which x can be computed: that of the innermost loop it depends on; INNERMOST when it
 * reads memory that the kernel writes. */
int render_level(render_t *self, kx_t x);
/* Declare temporaries for x and what it needs, where x's level allows it at self->depth. */
void render_declare(render_t *self, kx_t x);
/* The same at x's own statement: without that limit. */
void render_declare_here(render_t *self, kx_t x);
/* What was read from memory that the kernel writes, or from cells, is to be read again. */
void render_forget(render_t *self);
/* x as C: a name, a literal or an expression over declared names. */
void render_use(render_t *self, kx_t x, str_t *out);

const char *render_storage(dtype_t dtype); /* the C type of an element in memory */
const char *render_type(dtype_t dtype);    /* and of a value in a register */
const char *render_suffix(dtype_t dtype);  /* the prelude's $t */
void render_indent(render_t *self);
/* op on operand texts of type `dtype` (the compute type follows the operands). */
void render_op(str_t *out, op_code_t op, dtype_t result, dtype_t operand, int n_in,
               const char *const *in);
/* text, of type `from`, as type `to`. */
void render_convert(str_t *out, dtype_t to, dtype_t from, const char *text);
void render_number(const kx_node_t *n, str_t *out); /* a KX_NUMBER */

#endif
