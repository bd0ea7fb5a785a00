/* Writing a checkpoint: parameters and outer state from the shards, inner states from the object
 * service, the ledger. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/checkpoint.h"
#include "outer/change.h"
#include "shepherd/bulk/courier.h"

static const size_t MAX_STATE_BYTES = (size_t)1 << 36;

typedef struct {
    data_client_t *client;
    const char *hash;
    char name[32];
} state_file_t;

/* A replica's state, verified on the way, as a file. */
static int fetch_state(const checkpoint_file_t *file, const char *path, err_t *err)
{
    const state_file_t *state = file->user;
    size_t n = 0;
    char *bytes = data_get_object(state->client, state->hash, MAX_STATE_BYTES, &n, err);
    int rc = bytes ? file_write_atomic(path, bytes, n, err) : -1;
    free(bytes);
    return rc;
}

/* Can every inner state be had? Those of a run that was stopped may lie with its workers alone. */
static bool states_there(const courier_job_t *job, data_client_t *client)
{
    err_t err = {0};
    uint64_t n;
    for (size_t k = 0; k < job->ledger.n_state; k++)
        if (*job->ledger.state[k] && data_object_size(client, job->ledger.state[k], &n, &err) < 0) {
            log_event(LOG_WARN, "checkpoint_without_states", "round=%u replica=%zu error=\"%s\"",
                      job->round, k, err.text);
            return false;
        }
    return true;
}

/* The parameters, or (names) a vector of the outer rule's state, as so many tensors from `to` on. */
static void make_tensors(const layout_t *layout, char *const *names, const float *values,
                         safetensor_t *to)
{
    for (size_t i = 0; i < layout->n; i++, to++) {
        const layout_tensor_t *from = &layout->tensor[i];
        *to = (safetensor_t){.name = names ? names[i] : from->name,
                             .dtype = DT_F32,
                             .rank = from->type.rank,
                             .data = values + from->begin,
                             .n_bytes = from->count * sizeof(float)};
        for (int d = 0; d < to->rank && d < SAFETENSORS_MAX_RANK; d++)
            to->dims[d] = from->type.dim[d];
    }
}

/* The vectors that go into it. */
typedef struct {
    float *theta;
    size_t n_outer;
    float *outer[OUTER_STATES];
    char **names[OUTER_STATES]; /* of the tensors in outer[], by parameter */
} vectors_t;

static int fetch_vectors(const courier_job_t *job, const shepherd_config_t *config,
                         data_client_t *client, vectors_t *self, err_t *err)
{
    const outer_rule_t *rule = outer_rule_find(config->outer_rule, NULL);
    const codec_t *down = change_codec_named(config->down_codec, NULL);
    const layout_t *layout = &job->layout;
    self->theta = mem_calloc(layout->total, sizeof *self->theta);
    int rc = data_get_params(client, layout->bounds, job->round, self->theta, err);
    for (; rc == 0 && self->n_outer < outer_vectors(rule, down); self->n_outer++) {
        size_t s = self->n_outer;
        self->outer[s] = mem_calloc(layout->total, sizeof *self->outer[s]);
        self->names[s] = mem_calloc(layout->n, sizeof *self->names[s]);
        for (size_t i = 0; i < layout->n; i++)
            self->names[s][i] = courier_state_name(&layout->tensor[i], rule, s);
        rc = data_get_outer(client, layout->bounds, job->round, (uint16_t)s, self->outer[s], err);
    }
    return rc;
}

static void vectors_fini(vectors_t *self, size_t n_param)
{
    free(self->theta);
    for (size_t s = 0; s < self->n_outer; s++) {
        for (size_t i = 0; i < n_param; i++) free(self->names[s][i]);
        free(self->names[s]);
        free(self->outer[s]);
    }
}

typedef struct {
    char *model, *tokenizer, *ledger;
    size_t n_file;
    checkpoint_file_t *file;
    state_file_t *state;
} parts_t;

static void parts_fini(parts_t *self)
{
    free(self->model);
    free(self->tokenizer);
    free(self->ledger);
    free(self->file);
    free(self->state);
}

static int make_parts(const shepherd_config_t *config, const courier_job_t *job,
                      data_client_t *client, parts_t *self, err_t *err)
{
    size_t n_model = 0, n = 0, n_state = job->ledger.n_state;
    self->file = mem_calloc(2 + n_state, sizeof *self->file);
    self->state = mem_calloc(n_state + 1, sizeof *self->state);
    self->model = file_read(config->model, &n_model, err);
    if (!self->model) return -1;
    if (config->tokenizer && *config->tokenizer &&
        !(self->tokenizer = file_read(config->tokenizer, &n, err)))
        return -1;
    self->file[self->n_file++] = (checkpoint_file_t){
        .name = "model.mlir", .bytes = self->model, .n = n_model};
    if (!job->has_ledger || !states_there(job, client)) return 0;
    self->ledger = ledger_print(&job->ledger);
    self->file[self->n_file++] = (checkpoint_file_t){
        .name = LEDGER_FILE, .bytes = self->ledger, .n = strlen(self->ledger)};
    for (size_t k = 0; k < n_state; k++) {
        if (!*job->ledger.state[k]) continue;
        state_file_t *state = &self->state[k];
        *state = (state_file_t){.client = client, .hash = job->ledger.state[k]};
        ledger_state_name(k, state->name);
        self->file[self->n_file++] = (checkpoint_file_t){
            .name = state->name, .make = fetch_state, .user = state};
    }
    return 0;
}

static int write_all(const shepherd_config_t *config, const courier_job_t *job,
                     const parts_t *parts, const vectors_t *vectors, courier_result_t *result,
                     err_t *err)
{
    size_t n = job->layout.n;
    char *text = config_print(&shepherd_table, config, true);
    safetensor_t *params = mem_calloc(n + 1, sizeof *params);
    safetensor_t *state = mem_calloc(n * vectors->n_outer + 1, sizeof *state);
    make_tensors(&job->layout, NULL, vectors->theta, params);
    for (size_t s = 0; s < vectors->n_outer; s++)
        make_tensors(&job->layout, vectors->names[s], vectors->outer[s], state + s * n);
    checkpoint_info_t info = {
        .run = config->run,
        .round = job->round,
        .tokens = (int64_t)job->tokens,
        .loss = job->loss,
        .validation = job->validation,
        .module_hash = job->module_hash,
        .config = text,
        .tokenizer = parts->tokenizer,
    };
    int rc = checkpoint_write(config->checkpoint, &info, params, n, state, n * vectors->n_outer,
                              parts->file, parts->n_file, &result->checkpoint, err);
    free(text);
    free(params);
    free(state);
    return rc;
}

int courier_save(const shepherd_config_t *config, const courier_job_t *job, data_client_t *client,
                 courier_result_t *result, err_t *err)
{
    parts_t parts = {0};
    vectors_t vectors = {0};
    result->round = job->round;
    int rc = fetch_vectors(job, config, client, &vectors, err);
    if (rc == 0) rc = make_parts(config, job, client, &parts, err);
    if (rc == 0) rc = write_all(config, job, &parts, &vectors, result, err);
    vectors_fini(&vectors, job->layout.n);
    parts_fini(&parts);
    if (rc == 0) {
        checkpoint_t *made = checkpoint_open(result->checkpoint, err);
        if (made) memcpy(result->checkpoint_hash, checkpoint_hash(made), HASH_HEX);
        result->checkpoint_bytes = made ? (uint64_t)checkpoint_bytes(made) : 0;
        rc = made ? 0 : -1;
        checkpoint_close(&made);
    }
    err_t prune = {0};
    if (rc == 0 && config->checkpoint_keep > 0 &&
        checkpoint_prune(config->checkpoint, (int)config->checkpoint_keep, &result->pruned,
                         &prune) < 0)
        log_event(LOG_WARN, "prune", "error=\"%s\"", prune.text);
    return rc;
}
