/* Trials: compile, initial values, random batches, steps. */
#include "tools/trial.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "model/init.h"
#include "parse/parse.h"
#include "tools/tuning.h"

static const char *target_of(const trial_options_t *o)
{
    return o->place ? o->place->target : target_host();
}

static int compile_plan(trial_t *self, const char *text, size_t n_text, const char *file_name,
                        const trial_options_t *o, err_t *err)
{
    char hash[HASH_HEX];
    const train_spec_t *spec = o->spec ? o->spec : &TRAIN_SPEC_DEFAULT;
    const tuning_t tuning = {.dir = o->tune_dir, .target = target_of(o), .threads = o->threads};
    tune_t *tune = o->tune ? tuning_of_text(&tuning, text, n_text, file_name, spec, NULL, err)
                           : NULL;
    if (o->tune && !tune) return -1;
    ir_module_t *module = parse_stablehlo(text, n_text, file_name, err);
    hash_content(text, n_text, hash);
    self->widens = compile_precision(spec, target_caps(target_of(o))) != train_spec_precision(spec);
    if (module) self->plan = compile_module_tuned(module, hash, spec, target_of(o), tune, err);
    ir_module_destroy(&module);
    tune_destroy(&tune);
    return self->plan ? 0 : -1;
}

static int fill_param(trial_t *self, int tensor, const char *rule, uint64_t seed, err_t *err)
{
    const plan_tensor_t *t = &self->plan->tensor[tensor];
    if (t->type.dtype != DT_F32 && t->type.dtype != DT_F64)
        return err_set(err, ERR_TYPE, "parameter %s is kept in %s, expected f32 or f64", t->name,
                       dtype_name(t->type.dtype));
    int64_t n = ir_type_count(&t->type);
    float *values = mem_calloc((size_t)n + 1, sizeof *values);
    double *wide = mem_calloc(t->type.dtype == DT_F64 ? (size_t)n + 1 : 1, sizeof *wide);
    int status = init_fill(rule, seed, t->name, values, n, err);
    for (int64_t i = 0; t->type.dtype == DT_F64 && i < n; i++) wide[i] = values[i];
    const void *bytes = t->type.dtype == DT_F64 ? (const void *)wide : values;
    if (status == 0) status = exec_write(self->exec, tensor, bytes, (size_t)t->n_bytes, err);
    free(wide);
    free(values);
    return status;
}

/* Parameters by the module's own rules. */
static int fill_params(trial_t *self, const char *text, size_t n_text, const char *file_name,
                       uint64_t seed, err_t *err)
{
    ir_module_t *module = parse_stablehlo(text, n_text, file_name, err);
    ir_fn_t *fn = module ? ir_module_entry(module, err) : NULL;
    optim_arg_t *args = fn ? optim_args(module, fn, err) : NULL;
    int status = args ? 0 : -1;
    for (int a = 0; status == 0 && a < fn->body->n_arg; a++) {
        int tensor = args[a].is_param ? plan_find_tensor(self->plan, ROLE_PARAM, args[a].name) : -1;
        if (tensor >= 0) status = fill_param(self, tensor, init_rule(fn, a), seed, err);
    }
    ir_module_destroy(&module);
    return status;
}

static void put_integer(char *to, dtype_t dtype, int64_t value)
{
    size_t width = dtype_bytes(dtype);
    memcpy(to, &value, width); /* every host is little-endian */
}

/* Values for all micro-batches of a step. `index`: which batch tensor. */
static void draw(const plan_tensor_t *t, int64_t n, const trial_options_t *o, int index,
                 uint64_t turn, void *values)
{
    uint64_t stream = rng_derive(o->seed, t->name) + (uint64_t)index;
    size_t width = dtype_bytes(t->type.dtype);
    if (turn > 0) stream = rng_bits(stream, turn);
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = rng_bits(stream, (uint64_t)i);
        if (t->type.dtype == DT_F32)
            ((float *)values)[i] = (float)rng_uniform(stream, (uint64_t)i);
        else if (t->type.dtype == DT_F64)
            ((double *)values)[i] = rng_uniform(stream, (uint64_t)i);
        else
            put_integer((char *)values + (size_t)i * width, t->type.dtype,
                        (int64_t)(bits % (uint64_t)(t->type.dtype == DT_I1 ? 2 : o->vocab)));
    }
}

void trial_draw(trial_t *self, const trial_options_t *options, uint64_t turn)
{
    int index = 0;
    for (int i = 0; i < self->plan->n_tensor; i++) {
        const plan_tensor_t *t = &self->plan->tensor[i];
        if (!plan_trains_on(self->plan, i)) continue;
        draw(t, ir_type_count(&t->type) * self->plan->accumulate, options, index, turn,
             self->batch[index]);
        index++;
    }
}

static int fill_batch(trial_t *self, const trial_options_t *options, err_t *err)
{
    const plan_t *plan = self->plan;
    self->batch = mem_calloc((size_t)plan->n_tensor + 1, sizeof *self->batch);
    for (int i = 0; i < plan->n_tensor; i++) {
        const plan_tensor_t *t = &plan->tensor[i];
        if (!plan_trains_on(plan, i)) continue;
        bool drawn = t->type.dtype == DT_F32 || t->type.dtype == DT_F64;
        if (!drawn && dtype_is_float(t->type.dtype))
            return err_set(err, ERR_UNSUPPORTED, "batch tensor %s: no made-up values of %s",
                           t->name, dtype_name(t->type.dtype));
        int64_t n = ir_type_count(&t->type) * plan->accumulate;
        self->batch[self->n_batch++] = mem_calloc((size_t)n + 1, dtype_bytes(t->type.dtype));
        if (!dtype_is_float(t->type.dtype) && n > self->tokens) self->tokens = n;
    }
    trial_draw(self, options, 0);
    return 0;
}

int trial_init(trial_t *self, const char *text, size_t n_text, const char *file_name,
               const trial_options_t *options, err_t *err)
{
    exec_options_t exec_options = {.ordinal = options->place ? options->place->ordinal : 0,
                                   .threads = options->threads,
                                   .pin = options->pin,
                                   .memory_limit = options->memory_limit};
    *self = (trial_t){0};
    if (compile_plan(self, text, n_text, file_name, options, err) < 0) return -1;
    self->exec = exec_new(self->plan, &exec_options, err);
    if (!self->exec) return -1;
    if (fill_params(self, text, n_text, file_name, options->seed, err) < 0) return -1;
    return fill_batch(self, options, err);
}

void trial_fini(trial_t *self)
{
    exec_destroy(&self->exec);
    plan_destroy(&self->plan);
    for (int i = 0; i < self->n_batch; i++) free(self->batch[i]);
    free(self->batch);
    *self = (trial_t){0};
}

int trial_step(trial_t *self, float *loss, err_t *err)
{
    return exec_train_step(self->exec, (const void *const *)self->batch, 1e-4, ++self->step, loss,
                           err);
}
