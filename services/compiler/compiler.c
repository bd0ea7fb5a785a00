/* Compile jobs: fetch the module, compile or find in the cache, describe the plan. */
#include "compiler/compiler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "compile/compile.h"
#include "compile/plan_cache.h"
#include "compiler/task.h"
#include "msg/vouch.h"
#include "tools/tuning.h"

int compiler_init(compiler_t *self, const char *cache_dir, err_t *err)
{
    *self = (compiler_t){.cache_dir = cache_dir};
    if (file_make_dirs(cache_dir, err) < 0) return -1;
    file_sweep_temporaries(cache_dir); /* of compilers that were killed */
    return plan_cache_version(self->version, err);
}

char *compiler_cache_path(const compiler_t *self, const Msg__Compile *job, const tune_t *table)
{
    char tuned[HASH_HEX];
    tune_hash(table, tuned);
    const char *parts[] = {job->module, job->spec, job->target, tuned};
    return plan_cache_path(self->cache_dir, self->version, parts, sizeof parts / sizeof *parts);
}

void compiler_prune(const compiler_t *self)
{
    if (self->cache_limit > 0) plan_cache_prune(self->cache_dir, self->cache_limit);
}

/* The table that this compiler makes plans of the target with; NULL: none. What cannot be measured
 * is no reason to fail. */
static tune_t *table_for(const compiler_t *self, const Msg__Compile *job, const char *text,
                         size_t n, const train_spec_t *spec)
{
    err_t err = {0};
    tune_t *table = NULL;
    if (self->tune_table) {
        size_t n_line = 0;
        char *lines = file_read(self->tune_table, &n_line, &err);
        table = lines ? tune_parse(lines, &err) : NULL;
        free(lines);
    } else {
        tuning_t tuning = {.dir = self->cache_dir, .target = job->target};
        table = tuning_of_text(&tuning, text, n, job->file, spec, NULL, &err);
    }
    if (!table) log_event(LOG_WARN, "not_tuned", "target=%s error=\"%s\"", job->target, err.text);
    return table;
}

uint8_t *compiler_make(const compiler_t *self, const Msg__Compile *job, const char *text,
                       size_t n_text, bool *cached, size_t *n, err_t *err)
{
    train_spec_t spec;
    *cached = false;
    if (train_spec_parse(job->spec, &spec, err) < 0) return NULL;
    bool tuned = self->tune || self->tune_table;
    tune_t *table = tuned ? table_for(self, job, text, n_text, &spec) : NULL;
    char *path = compiler_cache_path(self, job, table);
    uint8_t *plan = tuned ? plan_cache_read(path, n) : NULL;
    *cached = plan != NULL;
    if (!plan)
        plan = compile_text_tuned(text, n_text, job->file, &spec, job->target, table, n, err);
    err_t write_err = {0};
    if (plan && !*cached && file_write_atomic(path, plan, *n, &write_err) < 0)
        log_event(LOG_WARN, "cache_not_written", "error=\"%s\"", write_err.text); /* go on */
    tune_destroy(&table);
    free(path);
    return plan;
}

/* Without a table the cache is looked into before the module is fetched. */
uint8_t *compiler_plan(const compiler_t *self, const Msg__Compile *job, data_client_t *client,
                       const compiler_stop_t *stop, bool *cached, size_t *n, err_t *err)
{
    train_spec_t spec;
    size_t n_text = 0;
    *cached = false;
    if (!self->tune && !self->tune_table) {
        char *path = compiler_cache_path(self, job, NULL);
        uint8_t *plan = plan_cache_read(path, n);
        free(path);
        *cached = plan != NULL;
        if (plan) return plan;
    }
    if (train_spec_parse(job->spec, &spec, err) < 0) return NULL;
    char *text = data_get_object(client, job->module, COMPILER_MODULE_BYTES, &n_text, err);
    uint8_t *plan = text ? task_run(self, job, text, n_text, stop, cached, n, err) : NULL;
    free(text);
    if (plan && !*cached) compiler_prune(self);
    return plan;
}

bool compiler_model_at_fault(err_code_t code)
{
    return code == ERR_PARSE || code == ERR_SHAPE || code == ERR_TYPE || code == ERR_UNSUPPORTED ||
           code == ERR_ARG || code == ERR_NUMERIC;
}

/* It comes from another process, as words. */
bool compiler_lacks_room(const char *error)
{
    return strstr(error, strerror(ENOSPC)) || strstr(error, strerror(EDQUOT));
}

struct compiler_lists {
    plan_t *plan;
    size_t n;
    Msg__TensorInfo *info;
    Msg__TensorInfo **list; /* params first, then batch */
};

void compiler_lists_destroy(compiler_lists_t **self_p)
{
    compiler_lists_t *self = *self_p;
    if (!self) return;
    plan_destroy(&self->plan);
    free(self->info);
    free(self->list);
    free(self);
    *self_p = NULL;
}

char *compiler_seal(const compiler_lists_t *self, const char *hash)
{
    const plan_t *plan = self->plan;
    return vouch_plan(&(vouch_plan_t){hash, plan->target, plan->module_hash, plan->spec});
}

static size_t take_role(compiler_lists_t *self, plan_role_t role)
{
    size_t first = self->n;
    for (int i = 0; i < self->plan->n_tensor; i++) {
        plan_tensor_t *tensor = &self->plan->tensor[i];
        if (tensor->role != role || (role == ROLE_BATCH && !plan_trains_on(self->plan, i)))
            continue;
        Msg__TensorInfo *info = &self->info[self->n];
        msg__tensor_info__init(info);
        info->name = tensor->name;
        info->dtype = (char *)dtype_name(tensor->type.dtype);
        info->n_dims = (size_t)tensor->type.rank;
        info->dims = tensor->type.dim;
        self->list[self->n++] = info;
    }
    return self->n - first;
}

compiler_lists_t *compiler_describe(const uint8_t *plan, size_t n, Msg__PlanReply *reply,
                                    err_t *err)
{
    compiler_lists_t *self = mem_calloc(1, sizeof *self);
    self->plan = plan_unpack(plan, n, err);
    if (!self->plan) {
        compiler_lists_destroy(&self);
        return NULL;
    }
    size_t most = (size_t)self->plan->n_tensor;
    self->info = mem_calloc(most + 1, sizeof *self->info);
    self->list = mem_calloc(most + 1, sizeof *self->list);
    reply->n_params = take_role(self, ROLE_PARAM);
    reply->n_batch = take_role(self, ROLE_BATCH);
    reply->params = self->list;
    reply->batch = self->list + reply->n_params;
    return self;
}
