/* Batches of records through one program of the model, without gradients. */
#include "pcp/eval_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ckpt/checkpoint.h"
#include "ckpt/run_checkpoint.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "data/batch.h"
#include "infer/plans.h"
#include "parse/parse.h"
#include "pcp/train_records.h"

enum { MAX_RESULTS = 64 };

typedef struct {
    const char *entry;
    model_info_t model; /* of the function at hand */
    train_records_t *records;
    uint16_t *units; /* of one batch */
    batch_layout_t layout;
    plan_t *plan;
    exec_t *exec;
    int n_result;
    int tensor[MAX_RESULTS]; /* of the plan */
    char *name[MAX_RESULTS];
    double sum[MAX_RESULTS];
} job_t;

static void job_fini(job_t *self)
{
    for (int i = 0; i < self->n_result; i++) free(self->name[i]);
    exec_destroy(&self->exec);
    plan_destroy(&self->plan);
    free(self->units);
    train_records_close(&self->records);
    model_info_fini(&self->model);
}

/* --- the model and its records --- */

static int find_function(job_t *job, const checkpoint_t *checkpoint, err_t *err)
{
    size_t n;
    const char *text = checkpoint_file(checkpoint, "model.mlir", &n);
    if (!text) return err_set(err, ERR_CORRUPT, "has no model.mlir");
    model_info_t *model = &job->model;
    model->module = parse_stablehlo(text, n, "model.mlir", err);
    if (!model->module) return -1;
    model->entry = ir_module_find(model->module, job->entry);
    if (!model->entry) return err_set(err, ERR_ARG, "its model has no function @%s", job->entry);
    model->args = optim_args(model->module, model->entry, err);
    if (!model->args) return -1;
    for (int i = 0; i < model->entry->body->n_arg; i++)
        model->n_batch += model->args[i].role == ARG_batch;
    if (model->n_batch > 0) return 0;
    return err_set(err, ERR_TYPE, "@%s has no argument with the role batch", job->entry);
}

static int lay_out(job_t *job, err_t *err)
{
    ir_type_t types[BATCH_MAX_ARGS];
    int n = 0;
    for (int i = 0; i < job->model.entry->body->n_arg; i++)
        if (job->model.args[i].role == ARG_batch && n < BATCH_MAX_ARGS)
            types[n++] = job->model.args[i].type;
    int n_batch = job->model.n_batch;
    return batch_layout(DATA_ROWS, types, n_batch, &job->layout, err);
}

/* What a result is called: by the exporter, or as the function when it is the only one. */
static char *result_name(const job_t *job, int r)
{
    const ir_fn_t *fn = job->model.entry;
    const char *info = fn->result_attrs ? attr_text(&fn->result_attrs[r], "jax.result_info", "")
                                        : "";
    if (strcmp(job->entry, "main") == 0 && r == 0) return mem_strdup("loss");
    if (fn->body->n_result == 1) return mem_strdup(job->entry);
    return *info ? mem_strdup(info) : mem_printf("result %d", r);
}

static int find_results(job_t *job, err_t *err)
{
    for (int r = 0; r < job->model.entry->body->n_result; r++) {
        char name[24];
        snprintf(name, sizeof name, "result%d", r);
        int tensor = plan_find_tensor(job->plan, ROLE_RESULT, name);
        if (tensor < 0) continue;
        if (job->n_result == MAX_RESULTS)
            return err_set(err, ERR_UNSUPPORTED, "@%s has more than %d numbers as results",
                           job->entry, MAX_RESULTS);
        job->tensor[job->n_result] = tensor;
        job->name[job->n_result++] = result_name(job, r);
    }
    return 0;
}

static int compile(job_t *job, const checkpoint_t *checkpoint, int threads, err_t *err)
{
    const exec_options_t options = {.threads = threads};
    ir_module_t *module = job->model.module;
    if (optim_build_evaluation(module, job->entry, err) < 0) return -1;
    job->plan = compile_module(module, checkpoint_info(checkpoint)->module_hash, NULL,
                               target_host(), err);
    if (!job->plan || find_results(job, err) < 0) return -1;
    job->exec = exec_new(job->plan, &options, err);
    if (!job->exec) return -1;
    return plans_load(job->plan, job->exec, checkpoint_params(checkpoint), NULL, err);
}

static int open_job(job_t *job, const char *path, const char *from, int threads, err_t *err)
{
    checkpoint_t *checkpoint = run_checkpoint_open(path, err);
    if (!checkpoint) return -1;
    int rc = find_function(job, checkpoint, err);
    if (rc == 0) rc = lay_out(job, err);
    if (rc < 0) err_prefix(err, "%s: ", path);
    if (rc == 0) {
        job->records = train_records_open(from, &job->model, err);
        rc = job->records ? 0 : -1;
    }
    if (rc == 0 && (rc = compile(job, checkpoint, threads, err)) < 0) err_prefix(err, "%s: ", path);
    checkpoint_close(&checkpoint);
    return rc;
}

/* --- batches --- */

static int write_batch(job_t *job, void *const *args, err_t *err)
{
    int n = 0;
    for (int i = 0; i < job->model.entry->body->n_arg; i++) {
        const optim_arg_t *arg = &job->model.args[i];
        if (arg->role != ARG_batch) continue;
        int tensor = plan_find_tensor(job->plan, ROLE_BATCH, arg->name);
        size_t n_bytes = (size_t)ir_type_bytes(&arg->type);
        const void *from = args[n++];
        if (tensor >= 0 && exec_write(job->exec, tensor, from, n_bytes, err) < 0) return -1;
    }
    return 0;
}

static int run_batch(job_t *job, void *const *args, err_t *err)
{
    size_t n_tokens = (size_t)(job->layout.units * job->layout.unit_tokens);
    if (train_records_next(job->records, job->units, (size_t)job->layout.units, err) < 0 ||
        batch_fill(&job->layout, job->units, n_tokens, 0, args, err) < 0 ||
        write_batch(job, args, err) < 0 || exec_run(job->exec, "evaluate", err) < 0)
        return -1;
    for (int i = 0; i < job->n_result; i++) {
        float value;
        if (exec_read(job->exec, job->tensor[i], &value, sizeof value, err) < 0) return -1;
        job->sum[i] += (double)value;
    }
    return 0;
}

static int run_all(job_t *job, size_t n_batch, err_t *err)
{
    void *args[BATCH_MAX_ARGS] = {0};
    int rc = 0;
    for (int i = 0; i < job->layout.n_arg; i++)
        args[i] = mem_calloc((size_t)(job->layout.row_bytes[i] * job->layout.units) + 1, 1);
    job->units = mem_calloc((size_t)(job->layout.units * job->layout.unit_tokens),
                            sizeof *job->units);
    for (size_t b = 0; rc == 0 && b < n_batch; b++) rc = run_batch(job, args, err);
    size_t rest = train_records_count(job->records) % (size_t)job->layout.units;
    if (rc == 0 && rest) /* damage behind the last batch is damage, too */
        rc = train_records_next(job->records, job->units, rest, err);
    for (int i = 0; i < job->layout.n_arg; i++) free(args[i]);
    return rc;
}

static void print(const job_t *job, size_t n_batch)
{
    size_t n = n_batch * (size_t)job->layout.units, n_record = train_records_count(job->records);
    printf("%-11s %zu", "records", n);
    if (n < n_record)
        printf(" (the last %zu fill no batch of %zu)", n_record - n, (size_t)job->layout.units);
    printf("\n");
    for (int i = 0; i < job->n_result; i++)
        printf("%-11s %.6f\n", job->name[i], job->sum[i] / (double)n_batch);
}

int eval_records(const char *checkpoint, const char *entry, const char *from, int threads,
                 err_t *err)
{
    job_t job = {.entry = entry ? entry : "main"};
    int rc = open_job(&job, checkpoint, from, threads, err);
    size_t n_record = rc == 0 ? train_records_count(job.records) : 0;
    size_t n_batch = rc == 0 ? n_record / (size_t)job.layout.units : 0;
    if (rc == 0 && n_batch == 0)
        rc = err_set(err, ERR_ARG, "%s: %zu records, a batch of @%s has %zu", from, n_record,
                     job.entry, (size_t)job.layout.units);
    if (rc == 0) rc = run_all(&job, n_batch, err);
    if (rc == 0) print(&job, n_batch);
    job_fini(&job);
    return rc;
}
