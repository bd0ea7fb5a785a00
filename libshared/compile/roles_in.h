/* What the files of roles share; private to compile/. */
#ifndef COMPILE_ROLES_IN_H
#define COMPILE_ROLES_IN_H

#include "compile/roles.h"

/* --- roles_constants.c --- */
/* Constants of the function `name` that look like weights become its last arguments, with role and
 * name; those of other public functions with the same values take the same names. Functions that
 * it calls are inlined where they have such constants. ERR_ARG when there are none. */
int roles_hoist(ir_module_t *module, const char *name, err_t *err);

/* --- roles_use.c: what the program does with each argument --- */
typedef struct {
    bool in_loss;   /* the loss depends on it */
    bool makes_key; /* its bits are mixed, or drawn from */
    bool is_index;  /* rows of a float argument are looked up by it */
    int next;       /* the one result that is computed from it element by element; 0: none */
    int n_next;     /* how many there are */
    int row[2];     /* the classes of its first two dimensions (roles_dims.c); -1: none */
} roles_use_t;

typedef struct {
    roles_use_t *arg; /* heap, n of them */
    int n;
} roles_uses_t;

/* Look at the entry of `module`, whose loss is result `loss`, in a copy with its calls inlined. */
int roles_uses(const ir_module_t *module, const char *entry, int loss, roles_uses_t *out,
               err_t *err);
void roles_uses_fini(roles_uses_t *self);

/* --- roles_dims.c: which dimensions are the same --- */
typedef struct roles_dims roles_dims_t;
roles_dims_t *roles_dims_new(const ir_fn_t *fn);
void roles_dims_destroy(roles_dims_t **self_p);
/* The class of dimension d of v; two that are the same dimension of the program are in one. */
int roles_dims_class(roles_dims_t *self, ir_val_t v, int d);

/* --- roles_infer.c --- */
/* Rows without a role get one, and a reason; rows with the role "state" the number of its result. */
typedef struct {
    arena_t *arena;
    const ir_fn_t *fn; /* the entry, as parsed */
    int loss;
    roles_row_t *row;
    const char *const *exported; /* the exporters' names; NULL where there is none */
    const roles_uses_t *uses;
} infer_input_t;
void roles_infer(const infer_input_t *input);

/* --- roles_rewrite.c --- */
typedef struct {
    ir_module_t *module;
    const ir_fn_t *fn; /* the entry, as parsed */
    int loss;
    roles_row_t *row;
    const char *const *exported;
    const optim_arg_t *parsed; /* roles and results' numbers as the text has them */
} roles_rewrite_t;
/* Put the entry in order, where it says more then; out->rewritten and out->remark. */
int roles_rewrite(const roles_rewrite_t *self, roles_t *out, err_t *err);

/* --- roles_names.c --- */
typedef enum {
    NAME_NONE,
    NAME_param,
    NAME_state,
    NAME_frozen,
    NAME_batch,
    NAME_seed,
    NAME_step,
    NAME_lr,
    NAME_optimizer
} name_role_t;
/* What a name such as params['dense']['w'] or running_mean says. */
name_role_t roles_name_says(const char *name);
/* The part of a path behind its first word: "['bn']['mean']"; "" if there is none. */
const char *roles_name_rest(const char *name);
/* Does one of the caller's rules name this? */
bool roles_name_matches(const char *pattern, size_t n_pattern, const char *name);

#endif
