/* The intermediate representation: modules of functions in SSA form, static shapes.
 *
 * A module owns one arena; everything below it lives there and is freed at once by
 * ir_module_destroy. Values are indices (ir_val_t) into their function's value table. An op takes
 * values, makes values, carries attributes and may hold regions; a region has arguments, ops in
 * order, and results (the operands of its terminator, which is not an op of its own). A region sees
 * the values of the regions around it. One thread at a time per module. */
#ifndef IR_IR_H
#define IR_IR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/spill.h"
#include "ir/attr.h"
#include "ir/type.h"

typedef uint32_t ir_val_t;
#define IR_NONE UINT32_MAX /* no value: an absent cotangent, or the result of a failed emit */

/* Op codes, from ir/op_list.h: OP_add, OP_multiply, ... */
typedef enum {
    OP_invalid = 0,
#define OP(name) OP_##name,
#include "ir/op_list.h"
#undef OP
    OP_COUNT
} op_code_t;

typedef struct ir_op ir_op_t;
typedef struct ir_region ir_region_t;
typedef struct ir_fn ir_fn_t;
typedef struct ir_module ir_module_t;

struct ir_op {
    op_code_t code;
    int n_in, n_out, n_region;
    ir_val_t *in; /* n_in operands */
    ir_val_t out; /* first result; result i is out + i */
    ir_attrs_t attrs;
    ir_region_t **region; /* n_region */
    ir_region_t *parent;  /* the region that holds this op */
    int line;             /* in the source text; 0 when made by a pass */
};

struct ir_region {
    int n_arg, n_op, n_result;
    int op_space;
    ir_val_t arg;     /* first argument; argument i is arg + i */
    ir_op_t **op;     /* in execution order */
    ir_val_t *result; /* operands of the terminator */
    ir_op_t *parent;  /* the op that holds this region; NULL for a function's body */
};

typedef struct {
    ir_type_t type;
    ir_op_t *def;       /* NULL for a region's argument */
    ir_region_t *owner; /* the region whose argument it is; NULL for an op's result */
    int index;          /* which result or argument */
    const char *name;   /* from the text, without %, for messages; may be NULL */
} ir_value_t;

struct ir_fn {
    const char *name; /* ir_fn_rename gives another one */
    bool is_private;
    ir_module_t *module;
    ir_region_t *body;        /* arguments are the parameters, results the returned values */
    ir_attrs_t *param_attrs;  /* body->n_arg: pcp.name, pcp.role, pcp.init, jax.arg_info, ... */
    ir_attrs_t *result_attrs; /* one per result; NULL until ir_fn_finish */
    ir_attrs_t attrs;
    ir_value_t *value; /* the value table */
    uint32_t n_value, value_space;
    ir_region_t *cursor; /* where the builder appends */
    err_t err;           /* first error of the builder; sticky (ir/build.h) */
    ir_fn_t *next_named; /* in a chain of the module's table of names; NULL: the last */
};

struct ir_module {
    arena_t *arena;
    spill_t *spill;   /* data of large constants; NULL: there are none */
    const char *name; /* may be NULL */
    ir_attrs_t attrs;
    ir_fn_t **fn; /* ir_fn_new, ir_module_remove and ir_module_replace change the list */
    int n_fn, fn_space;
    ir_fn_t **named;   /* fn_space chains by names; NULL: no function yet */
    const char *notes; /* lines about what the parser left out or took otherwise; NULL: none */
};

ir_module_t *ir_module_new(void);
void ir_module_destroy(ir_module_t **self_p);
/* The first of this name; NULL: there is none. A look into a table. */
ir_fn_t *ir_module_find(const ir_module_t *self, const char *name);
/* The function named main, else the only public one, else the only one; NULL (ERR_ARG) if none. */
ir_fn_t *ir_module_entry(const ir_module_t *self, err_t *err);
void ir_module_remove(ir_module_t *self, const ir_fn_t *fn);

/* A new function with parameters and an empty body; the cursor stands in the body. */
ir_fn_t *ir_fn_new(ir_module_t *module, const char *name, int n_param, const ir_type_t *params);
void ir_fn_rename(ir_fn_t *self, const char *name); /* copied */
ir_val_t ir_fn_param(const ir_fn_t *self, int i);
/* Set the returned values and give result_attrs room. Returns -1 with the sticky error, if any. */
int ir_fn_finish(ir_fn_t *self, int n_result, const ir_val_t *results, err_t *err);

static inline const ir_type_t *ir_type_of(const ir_fn_t *fn, ir_val_t v)
{
    return &fn->value[v].type;
}

/* The op that makes v, or NULL for an argument. */
static inline ir_op_t *ir_def(const ir_fn_t *fn, ir_val_t v)
{
    return fn->value[v].def;
}

/* The constant tensor that v is, or NULL when v is not the result of a constant op. */
const tensor_t *ir_const_of(const ir_fn_t *fn, ir_val_t v);

/* --- Low-level construction (parser, clone). Types are taken as given; run ir_verify after. --- */
ir_op_t *ir_op_new(ir_fn_t *fn, op_code_t code, int n_in, const ir_val_t *in, int n_out,
                   const ir_type_t *out_types, int n_region); /* not yet in a region */
ir_region_t *ir_region_new(ir_fn_t *fn, int n_arg, const ir_type_t *arg_types);
void ir_region_append(ir_region_t *region, ir_op_t *op, arena_t *arena);
void ir_region_finish(ir_fn_t *fn, ir_region_t *region, int n_result, const ir_val_t *results);

/* --- Verification: every function, region and op against the op table (ir/op.h). --- */
int ir_verify(const ir_module_t *self, err_t *err);

/* --- Cloning with a value map: the base of every pass. map[old value] = new value or IR_NONE. */
typedef struct ir_clone ir_clone_t;
struct ir_clone {
    const ir_fn_t *from;
    ir_fn_t *to;
    ir_val_t *map; /* from->n_value entries */
    /* Called for each op of `from` in order, before it is copied; NULL copies everything. Return 1
     * when the results were mapped (op is dropped or replaced), 0 to copy it, -1 on error. */
    int (*rewrite)(ir_clone_t *self, const ir_op_t *op, err_t *err);
    void *user;
};
/* Copy the ops of `region` (not its arguments: map them first) to the cursor of self->to. */
int ir_clone_ops(ir_clone_t *self, const ir_region_t *region, err_t *err);
/* Copy one op with its regions, operands mapped; results are mapped. */
ir_op_t *ir_clone_op(ir_clone_t *self, const ir_op_t *op, err_t *err);
/* A copy of fn inside `module` (the same or another), rewritten on the way. The name is kept; the
 * caller places it with ir_module_replace or renames it. NULL on error. */
ir_fn_t *ir_clone_fn(ir_module_t *module, const ir_fn_t *fn,
                     int (*rewrite)(ir_clone_t *, const ir_op_t *, err_t *), void *user,
                     err_t *err);
/* What is said of the function, its parameters and results beside their types: attributes, names,
 * privacy. `to` is finished and has as many of both. */
void ir_clone_words(ir_fn_t *to, const ir_fn_t *from);
/* Put `fresh` in the place of `old` in the module's list. */
void ir_module_replace(ir_module_t *self, const ir_fn_t *old, ir_fn_t *fresh);
/* A deep copy of a whole module in an arena of its own. */
ir_module_t *ir_module_clone(const ir_module_t *self, err_t *err);

/* Uses of each value, over all regions of fn: a heap array of n_value counts, caller frees.
 * Returned values count as uses. */
uint32_t *ir_count_uses(const ir_fn_t *fn);
/* Uses of one value in a region and those inside of it. */
int ir_uses_in(const ir_region_t *region, ir_val_t v);

#endif
