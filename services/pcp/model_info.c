/* Arguments, batch shape and vocabulary of a StableHLO model. */
#include "pcp/model_info.h"

#include "ir/op.h"
#include "parse/parse.h"
#include "pcp/cmd.h"

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
        if (index < 0 || info->args[index].is_param || table < 0) continue;
        int64_t rows = ir_type_of(fn, op->in[0])->dim[0];
        if (vocab == 0 || rows < vocab) vocab = rows;
    }
    return vocab;
}

static int check_entry(model_info_t *info, err_t *err)
{
    const ir_fn_t *fn = info->entry;
    char text[IR_TYPE_TEXT];
    if (fn->body->n_result < 1)
        return err_set(err, ERR_TYPE,
                       "@%s returns nothing; its first result must be the loss, a "
                       "float scalar",
                       fn->name);
    const ir_type_t *loss = ir_type_of(fn, fn->body->result[0]);
    if (loss->rank != 0 || !dtype_is_float(loss->dtype))
        return err_set(err, ERR_TYPE,
                       "@%s returns %s; its first result must be the loss, a float "
                       "scalar such as tensor<f32>",
                       fn->name, ir_type_text(loss, text));
    for (int i = 0; i < fn->body->n_arg; i++) {
        const optim_arg_t *arg = &info->args[i];
        info->n_params += arg->is_param;
        info->n_batch += !arg->is_param;
        if (!arg->is_param && arg->type.rank >= 2) info->row_tokens = arg->type.dim[1];
    }
    if (info->n_params == 0)
        return err_set(err, ERR_TYPE, "@%s has no float argument to train", fn->name);
    if (info->n_batch == 0)
        return err_set(err, ERR_TYPE, "@%s has no integer argument to feed with data", fn->name);
    return 0;
}

int model_info_load(const char *path, model_info_t *info, err_t *err)
{
    *info = (model_info_t){.module = parse_stablehlo_file(path, err)};
    if (!info->module) return -1;
    cmd_notes(path, info->module);
    info->entry = ir_module_entry(info->module, err);
    if (!info->entry) return err_prefix(err, "%s: ", path);
    info->args = optim_args(info->module, info->entry, err);
    if (!info->args || check_entry(info, err) < 0) return err_prefix(err, "%s: ", path);
    info->vocab = find_vocab(info);
    return 0;
}

void model_info_fini(model_info_t *info)
{
    ir_module_destroy(&info->module);
}
