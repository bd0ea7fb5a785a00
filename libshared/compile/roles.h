/* What a model's arguments are: parameters, frozen values, states, data, seeds, scalars.
 *
 * Exporters write none of this: a float may be a weight, a running mean, a batch of images or a
 * learning rate. Each argument of the entry gets its role from the first of these that says one:
 *   1. a rule of the caller (`--role NAME=ROLE`, a roles file)
 *   2. its attribute pcp.role; with pcp.name alone: floats are parameters, integers data
 *   3. its name: pcp.name, the exporter's (loc("params['w']"), jax.arg_info), or %name
 *   4. its use: it feeds random bits; a result is its next value; its rows are those of the data; ..
 *   5. its type: floats are parameters, integers data
 * and the reason is kept. Where several roles are possible and nothing tells them apart, the row is
 * unsure and says what to add.
 *
 * The module is rewritten to say it all, so that nobody behind has to know: the entry is @main and
 * the only public function besides @logits, its first result the loss, then the next values of
 * states; parameters come first, then frozen values, states, and the rest in the order they had,
 * each with pcp.role and pcp.name. A module for which the defaults of optim/optim.h say the same is
 * left as it is. One thread at a time per module. */
#ifndef COMPILE_ROLES_H
#define COMPILE_ROLES_H

#include "base/str.h"
#include "optim/optim.h"

typedef struct {
    const char *entry;  /* function; NULL: ir_module_entry */
    int loss_result;    /* -1: the first, or else the only float scalar */
    const char *rules;  /* NAME=ROLE[,NAME=ROLE..]; NULL: none. NAME may hold * and ? */
    const char *file;   /* the same, one rule a line, # comments; NULL: none */
    const char *shapes; /* of arguments with `?`, for the parser (parse/parse.h); NULL: none */
    const char *freeze; /* NAME[,NAME..]: what would be trained keeps its value; NULL: nothing */
    const char *group;  /* other learning rates and decays (compile/groups.h); NULL: none */
    const char *lora;   /* adapters beside weights (compile/lora.h); NULL: none */
    bool constants;     /* constants that are weights become parameters (roles_constants.c) */
} roles_options_t;

/* With `constants`: an argument that was a constant has it as this attribute, a tensor, to start with. */
#define ROLES_VALUE "pcp.value"

typedef struct {
    int index;         /* of the argument, as the text has it */
    const char *name;  /* in checkpoints */
    const char *shown; /* as the text calls it: %x, params['w'] */
    const char *role;  /* as pcp.role has it, with results counted as the text does */
    const char *why;
    const char *unsure; /* NULL, or what else it may be and the flag that says so */
    ir_type_t type;
} roles_row_t;

typedef struct {
    roles_row_t *row; /* in the arena of the module, in the text's order */
    int n;
    const char *entry, *loss; /* the entry's name; the number of the loss among its results */
    const char *dropped;      /* results that nothing reads, named; NULL: none */
    const char *remark;       /* on the data's order; NULL: none */
    bool rewritten;           /* the module says more than its text */
} roles_t;

/* ERR_ARG, ERR_TYPE: a rule names no argument or no role, or one that its type cannot have; the
 * entry, the loss; no argument is a parameter. Everything in `out` lives as long as the module. */
int roles_assign(ir_module_t *module, const roles_options_t *options, roles_t *out, err_t *err);

/* The table: argument, name, type, role, why; and what there is to say below it. */
void roles_print(const roles_t *self, str_t *out);

/* ERR_ARG with the flags to add when a row is unsure. */
int roles_check(const roles_t *self, err_t *err);

#endif
