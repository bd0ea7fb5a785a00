/* From a checkpoint to scores of tokens. */
#include "infer/scorer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "derive/derive.h"
#include "infer/plans.h"
#include "optim/optim.h"
#include "parse/parse.h"
#include "runtime/exec.h"

struct scorer {
    plan_t *plan;
    plans_place_t place;
    exec_t *exec;
    int tokens, logits; /* tensors of the plan */
    int64_t length, vocab;
    float *scores; /* [length, vocab] */
    void *window;  /* the token tensor's bytes */
};

int scorer_logits(ir_module_t *module, err_t *err)
{
    err_t why = {0};
    if (derive_logits(module, &why) == 0) return 0;
    return err_set(
        err, ERR_ARG,
        "the module has no function @logits (parameters, tokens) -> logits, and scores of "
        "tokens are not found in its loss: %s",
        why.text);
}

static ir_module_t *make_logits(void *user, err_t *err)
{
    const infer_source_t *source = user;
    ir_module_t *module = parse_stablehlo(source->text, source->n_text, source->file, err);
    if (module && (scorer_logits(module, err) < 0 || optim_build_logits(module, err) < 0))
        ir_module_destroy(&module);
    return module;
}

static plan_t *get_plan(const infer_source_t *source, plans_place_t *place, bool *compiled,
                        err_t *err)
{
    char hash[HASH_HEX];
    infer_source_t copy = *source;
    hash_content(source->text, source->n_text, hash);
    char *what = mem_printf("logits of %s", hash);
    plan_t *plan = plans_get(what, make_logits, &copy, place, compiled, err);
    free(what);
    return plan;
}

/* A text is tokens alone: a mask of what is padded, or positions, would have to be made up. */
static int refuse_arguments(const plan_t *plan, err_t *err)
{
    static const char *const PREFIX = "logits.";
    str_t all = {0};
    int n = 0;
    for (int i = 0; i < plan->n_tensor; i++) {
        char type[IR_TYPE_TEXT];
        if (plan->tensor[i].role != ROLE_BATCH) continue;
        const char *name = plan->tensor[i].name;
        if (str_starts(name, PREFIX)) name += strlen(PREFIX);
        str_addf(&all, "%s%s: %s", n++ ? ", " : "", name,
                 ir_type_text(&plan->tensor[i].type, type));
    }
    err_set(err, ERR_SHAPE,
            "@logits takes %d arguments beside parameters (%s), and texts are one: tokens, [1, "
            "length]. Export the model without the others: no text is padded here",
            n, n ? str_text(&all) : "none");
    str_fini(&all);
    return -1;
}

static int find_tensors(scorer_t *self, err_t *err)
{
    self->tokens = plan_find_tensor(self->plan, ROLE_BATCH, "tokens");
    self->logits = plan_find_tensor(self->plan, ROLE_RESULT, "logits");
    if (self->tokens < 0 || self->logits < 0) return refuse_arguments(self->plan, err);
    const ir_type_t *in = &self->plan->tensor[self->tokens].type;
    const ir_type_t *out = &self->plan->tensor[self->logits].type;
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    bool fits = in->rank == 2 && in->dim[0] == 1 && out->rank == 3 && out->dim[0] == 1 &&
                out->dim[1] == in->dim[1] && out->dim[2] >= 1 && out->dim[2] <= 1 << 24 &&
                (in->dtype == DT_I32 || in->dtype == DT_I64) && out->dtype == DT_F32;
    if (!fits)
        return err_set(err, ERR_SHAPE,
                       "@logits takes %s to %s; expected [1, length] i32 or i64 to "
                       "[1, length, vocabulary] f32",
                       ir_type_text(in, a), ir_type_text(out, b));
    self->length = in->dim[1];
    self->vocab = out->dim[2];
    return 0;
}

scorer_t *scorer_open(const infer_source_t *source, const infer_options_t *o, bool *compiled,
                      err_t *err)
{
    scorer_t *self = mem_calloc(1, sizeof *self);
    exec_options_t options = {.threads = o->threads};
    self->place = (plans_place_t){.dir = o->cache_dir, .limit = o->cache_limit};
    self->plan = get_plan(source, &self->place, compiled, err);
    int status = self->plan ? find_tensors(self, err) : -1;
    if (status == 0 && !(self->exec = exec_new(self->plan, &options, err))) status = -1;
    if (status == 0) status = plans_load(self->plan, self->exec, source->params, NULL, err);
    if (status == 0) {
        self->scores = mem_calloc((size_t)(self->length * self->vocab), sizeof *self->scores);
        self->window = mem_calloc((size_t)self->length, sizeof(int64_t));
    }
    if (status < 0) scorer_destroy(&self);
    return self;
}

scorer_t *scorer_new(const checkpoint_t *checkpoint, int threads, err_t *err)
{
    const infer_options_t options = {.threads = threads};
    infer_source_t source;
    bool compiled;
    return infer_source_of(checkpoint, &source, err) < 0
               ? NULL
               : scorer_open(&source, &options, &compiled, err);
}

void scorer_destroy(scorer_t **self_p)
{
    scorer_t *self = self_p ? *self_p : NULL;
    if (!self) return;
    exec_destroy(&self->exec);
    plan_destroy(&self->plan);
    plans_done(&self->place);
    free(self->scores);
    free(self->window);
    free(self);
    *self_p = NULL;
}

int64_t scorer_length(const scorer_t *self)
{
    return self->length;
}

int64_t scorer_vocab(const scorer_t *self)
{
    return self->vocab;
}

int scorer_check(const scorer_t *self, const uint32_t *tokens, size_t n, err_t *err)
{
    for (size_t i = 0; i < n; i++)
        if (tokens[i] >= self->vocab)
            return err_set(err, ERR_ARG, "token %u is outside the model's vocabulary of %lld",
                           tokens[i], (long long)self->vocab);
    return 0;
}

/* Zeros stand behind a shorter window: later positions do not reach earlier ones. */
const float *scorer_run(scorer_t *self, const uint32_t *tokens, size_t n, err_t *err)
{
    const plan_tensor_t *in = &self->plan->tensor[self->tokens];
    for (size_t i = 0; i < (size_t)self->length; i++) {
        int64_t token = i < n ? tokens[i] : 0;
        if (in->type.dtype == DT_I64)
            ((int64_t *)self->window)[i] = token;
        else
            ((int32_t *)self->window)[i] = (int32_t)token;
    }
    if (exec_write(self->exec, self->tokens, self->window, in->n_bytes, err) < 0 ||
        exec_run(self->exec, "logits", err) < 0 ||
        exec_read(self->exec, self->logits, self->scores, self->plan->tensor[self->logits].n_bytes,
                  err) < 0)
        return NULL;
    return self->scores;
}
