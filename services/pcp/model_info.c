/* Arguments, batch shape and vocabulary of a StableHLO model. */
#include "pcp/model_info.h"

#include <stdlib.h>

#include "ir/op.h"

/* The argument that v is a view or conversion of, or -1. */
static int source_argument(const ir_fn_t *fn, ir_val_t v)
{
    const ir_op_t *def = ir_def(fn, v);
    while (def && def->n_in >= 1 &&
           (op_def(def->code)->kind == K_VIEW || op_def(def->code)->kind == K_MAP)) {
        v = def->in[def->code == OP_select ? 1 : 0];
        def = ir_def(fn, v);
    }
    bool is_param = !def && fn->value[v].owner == fn->body;
    return is_param ? fn->value[v].index : -1;
}

/* The smallest table whose rows are gathered by the first batch argument. */
static int64_t find_vocab(const model_info_t *info)
{
    const ir_fn_t *fn = info->entry;
    int64_t vocab = 0;
    for (int i = 0; i < fn->body->n_op; i++) {
        const ir_op_t *op = fn->body->op[i];
        if (op->code != OP_gather || ir_type_of(fn, op->in[0])->rank < 2) continue;
        int index = source_argument(fn, op->in[1]), table = source_argument(fn, op->in[0]);
        if (index < 0 || info->args[index].role != ARG_batch || table < 0) continue;
        int64_t rows = ir_type_of(fn, op->in[0])->dim[0];
        if (vocab == 0 || rows < vocab) vocab = rows;
    }
    return vocab;
}

static int check_entry(model_info_t *info, err_t *err)
{
    const ir_fn_t *fn = info->entry;
    for (int i = 0; i < fn->body->n_arg; i++) {
        const optim_arg_t *arg = &info->args[i];
        bool is_batch = arg->role == ARG_batch;
        info->n_params += arg->is_param;
        info->n_batch += is_batch;
        if (is_batch && arg->type.rank >= 2) info->row_tokens = arg->type.dim[1];
    }
    if (info->n_batch > 0) return 0;
    return err_set(err, ERR_TYPE,
                   "@%s has no argument to feed with data: none has the role batch (--role "
                   "NAME=batch)",
                   fn->name);
}

int model_info_load(const char *path, const roles_options_t *roles, model_info_t *info, err_t *err)
{
    *info = (model_info_t){0};
    if (model_roles_text(path, roles, true, false, &info->module, &info->text, err) < 0) return -1;
    info->entry = ir_module_entry(info->module, err);
    if (!info->entry) return err_prefix(err, "%s: ", path);
    info->args = optim_args(info->module, info->entry, err);
    if (!info->args || check_entry(info, err) < 0) return err_prefix(err, "%s: ", path);
    info->vocab = find_vocab(info);
    return 0;
}

void model_info_fini(model_info_t *info)
{
    file_view_close(&info->text);
    ir_module_destroy(&info->module);
    *info = (model_info_t){0};
}
