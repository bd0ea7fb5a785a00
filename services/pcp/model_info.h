/* What `pcp train` must know of a model before it trains: arguments, batch shape, vocabulary. */
#ifndef PCP_MODEL_INFO_H
#define PCP_MODEL_INFO_H

#include "ir/ir.h"
#include "optim/optim.h"
#include "pcp/model_roles.h"

typedef struct {
    ir_module_t *module;
    const ir_fn_t *entry;
    const optim_arg_t *args; /* entry->body->n_arg */
    int n_params, n_batch;   /* arguments that are kept among the parameters; that are data */
    int64_t row_tokens;      /* length of a sequence: the batch arguments' second dimension */
    int64_t vocab;           /* rows of the table that tokens look up; 0: could not tell */
    file_view_t text;        /* of the module with its roles */
} model_info_t;

/* Parse, settle the roles (shown on stderr) and check: at least one parameter and one batch argument,
 * the first result a float scalar. Free with model_info_fini, also after an error. */
int model_info_load(const char *path, const roles_options_t *roles, model_info_t *info, err_t *err);
void model_info_fini(model_info_t *info);

#endif
