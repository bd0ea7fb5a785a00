/* The same question as infer/ asks, before anything is trained. */
#include "pcp/train_sample.h"

#include "infer/scorer.h"
#include "pcp/train_records.h"

/* Parameters and [1, length] tokens to [1, length, vocabulary] scores. */
static bool writes(const ir_fn_t *fn)
{
    if (!fn || fn->body->n_arg == 0 || fn->body->n_result < 1) return false;
    const ir_type_t *in = ir_type_of(fn, ir_fn_param(fn, fn->body->n_arg - 1));
    const ir_type_t *out = ir_type_of(fn, fn->body->result[0]);
    return (in->dtype == DT_I32 || in->dtype == DT_I64) && in->rank == 2 && in->dim[0] == 1 &&
           out->dtype == DT_F32 && out->rank == 3 && out->dim[0] == 1 && out->dim[1] == in->dim[1];
}

/* Of a module with a loss alone they are what it compares with targets. */
static bool has_scores(const ir_module_t *module, err_t *why)
{
    ir_module_t *copy = ir_module_clone(module, why);
    bool found = copy && scorer_logits(copy, why) == 0 && writes(ir_module_find(copy, "logits"));
    ir_module_destroy(&copy);
    return found;
}

int train_sample_check(const train_config_t *config, const model_info_t *model, err_t *err)
{
    long long every = config->sample_every;
    if (every == 0) return 0;
    if (train_records_dir(config->data))
        return err_set(err, ERR_ARG, "sample_every %lld: records are no text: leave it out", every);
    const ir_fn_t *logits = ir_module_find(model->module, "logits");
    err_t why = {0};
    if (logits ? writes(logits) : has_scores(model->module, &why)) return 0;
    return err_set(err, ERR_ARG, "sample_every %lld: %s is no language model: %s; leave it out",
                   every, config->model,
                   *why.text
                       ? why.text
                       : "its function @logits is not from parameters and [1, length] tokens to "
                         "[1, length, vocabulary] f32 (docs/models.md)");
}
