/* Writing a checkpoint: parameters and outer state from the shards, inner states from the object
 * service, the ledger. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/checkpoint.h"
#include "outer/change.h"
#include "shepherd/bulk/at_hand.h"
#include "shepherd/bulk/courier.h"

typedef struct {
    data_client_t *client;
    const char *hash;
    int fd; /* of the file, if it is on this machine; -1 */
    char name[32];
} state_file_t;

/* A replica's state, chunk by chunk into a file; what writes the checkpoint compares its hash. */
static int fetch_state(const checkpoint_file_t *file, const char *path, err_t *err)
{
    const state_file_t *state = file->user;
    uint64_t n;
    if (state->fd >= 0) return at_hand_take(state->fd, path, err);
    if (data_object_size(state->client, state->hash, &n, err) < 0) return -1;
    file_part_t part = {.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644),
                        .path = path};
    if (part.fd < 0) return err_set_errno(err, "%s", path);
    const sink_t to = sink_to_file(&part);
    int rc = data_get_object_to(state->client, state->hash, n, &to, err);
    if (close(part.fd) < 0 && rc == 0) rc = err_set_errno(err, "%s: close", path);
    return rc;
}

static int state_fd(const courier_job_t *job, size_t k)
{
    return job->state_fd ? job->state_fd[k] : -1;
}

/* A worker may name what it likes as its state: no disk is filled with that. */
static int state_there(const courier_job_t *job, data_client_t *client, const char *hash,
                       err_t *err)
{
    uint64_t n;
    if (data_object_size(client, hash, &n, err) < 0) return -1;
    if (n <= layout_state_most(&job->layout)) return 0;
    return err_set(err, ERR_CORRUPT, "%.12s has %llu bytes: no inner state of %llu parameters",
                   hash, (unsigned long long)n, (unsigned long long)job->layout.total);
}

/* Can every inner state be had? Those of a run that was stopped may lie with its workers alone. */
static bool states_there(const courier_job_t *job, data_client_t *client)
{
    err_t err = {0};
    for (size_t k = 0; k < job->ledger.n_state; k++)
        if (*job->ledger.state[k] && state_fd(job, k) < 0 &&
            state_there(job, client, job->ledger.state[k], &err) < 0) {
            log_event(LOG_WARN, "checkpoint_without_states", "round=%u replica=%zu error=\"%s\"",
                      job->round, k, err.text);
            return false;
        }
    return true;
}

/* --- Tensors: a vector of the shards is its parameters end to end, as a file has them. --- */

/* One file of them: the parameters, or all that the outer rule keeps of them, vector by vector. */
typedef struct {
    const courier_job_t *job;
    data_client_t *client;
    size_t n_vector;
    bool outer;
    char **names; /* of the tensors, by vector and parameter; NULL: the parameters' own */
    safetensor_t *tensor;
} vectors_t;

static void make_tensors(vectors_t *self, const outer_rule_t *rule)
{
    const layout_t *layout = &self->job->layout;
    size_t n = layout->n * self->n_vector;
    self->tensor = mem_calloc(n + 1, sizeof *self->tensor);
    self->names = mem_calloc(n + 1, sizeof *self->names);
    for (size_t i = 0; i < n; i++) {
        const layout_tensor_t *from = &layout->tensor[i % layout->n];
        self->names[i] = self->outer ? courier_state_name(from, rule, i / layout->n)
                                     : mem_strdup(from->name);
        safetensor_t *to = &self->tensor[i];
        *to = (safetensor_t){.name = self->names[i],
                             .dtype = DT_F32,
                             .rank = from->type.rank,
                             .n_bytes = from->count * sizeof(float)};
        for (int d = 0; d < to->rank && d < SAFETENSORS_MAX_RANK; d++)
            to->dims[d] = from->type.dim[d];
    }
}

static void vectors_fini(vectors_t *self)
{
    for (size_t i = 0; self->names && i < self->n_vector * self->job->layout.n; i++)
        free(self->names[i]);
    free(self->names);
    free(self->tensor);
}

typedef struct {
    const sink_t *to;
    uint64_t begin; /* of the vector among those of the file */
} place_t;

static int write_at(void *user, uint64_t at, const void *bytes, size_t n, err_t *err)
{
    const place_t *place = user;
    return place->to->write(place->to->user, place->begin + at, bytes, n, err);
}

static int fill_vectors(void *user, const sink_t *to, err_t *err)
{
    const vectors_t *self = user;
    const layout_t *layout = &self->job->layout;
    for (size_t v = 0; v < self->n_vector; v++) {
        place_t place = {to, v * layout->total * sizeof(float)};
        const sink_t sink = {.write = write_at, .user = &place};
        const data_vector_t which = {
            .round = self->job->round, .outer = self->outer, .state = (uint16_t)v};
        if (data_get_vector(self->client, layout->bounds, &which, &sink, err) < 0) return -1;
    }
    return 0;
}

/* --- The other files --- */

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
        *state = (state_file_t){
            .client = client, .hash = job->ledger.state[k], .fd = state_fd(job, k)};
        ledger_state_name(k, state->name);
        self->file[self->n_file++] = (checkpoint_file_t){
            .name = state->name, .make = fetch_state, .user = state, .hash = state->hash};
    }
    return 0;
}

static int write_all(const shepherd_config_t *config, const courier_job_t *job,
                     data_client_t *client, const parts_t *parts, checkpoint_made_t *made,
                     err_t *err)
{
    const outer_rule_t *rule = outer_rule_find(config->outer_rule, NULL);
    const codec_t *down = change_codec_named(config->down_codec, NULL);
    vectors_t params = {.job = job, .client = client, .n_vector = 1};
    vectors_t outer = {
        .job = job, .client = client, .n_vector = outer_vectors(rule, down), .outer = true};
    make_tensors(&params, rule);
    make_tensors(&outer, rule);
    const checkpoint_tensors_t values = {params.tensor, job->layout.n, fill_vectors, &params};
    const checkpoint_tensors_t state = {outer.tensor, job->layout.n * outer.n_vector, fill_vectors,
                                        &outer};
    char *text = config_print(&shepherd_table, config, true);
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
    int rc = checkpoint_make(config->checkpoint, &info, &values, &state, parts->file, parts->n_file,
                             made, err);
    free(text);
    vectors_fini(&params);
    vectors_fini(&outer);
    return rc;
}

int courier_save(const shepherd_config_t *config, const courier_job_t *job, data_client_t *client,
                 courier_result_t *result, err_t *err)
{
    parts_t parts = {0};
    checkpoint_made_t made = {0};
    result->round = job->round;
    int rc = make_parts(config, job, client, &parts, err);
    if (rc == 0) rc = write_all(config, job, client, &parts, &made, err);
    parts_fini(&parts);
    if (rc < 0) return -1;
    result->checkpoint = made.path;
    memcpy(result->checkpoint_hash, made.hash, HASH_HEX);
    result->checkpoint_bytes = (uint64_t)made.n_bytes;
    err_t prune = {0};
    if (config->checkpoint_keep > 0 &&
        checkpoint_prune(config->checkpoint, (int)config->checkpoint_keep, &result->pruned,
                         &prune) < 0)
        log_event(LOG_WARN, "prune", "error=\"%s\"", prune.text);
    return 0;
}
