/* The courier: publishes a run's files, sends its first parameters; checkpoints are next door. */
#include "shepherd/bulk/courier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hand_over.h"
#include "base/log.h"
#include "base/mem.h"
#include "data/token_bytes.h"
#include "shepherd/actor.h"
#include "shepherd/bulk/at_hand.h"
#include "shepherd/bulk/stored.h"

courier_job_t *courier_job_new(courier_kind_t kind, char *const *endpoints, size_t n)
{
    courier_job_t *job = mem_calloc(1, sizeof *job);
    job->kind = kind;
    job->n_endpoint = n;
    job->endpoints = mem_calloc(n, sizeof *job->endpoints);
    for (size_t i = 0; i < n; i++) job->endpoints[i] = mem_strdup(endpoints[i]);
    return job;
}

void courier_job_destroy(courier_job_t **self_p)
{
    courier_job_t *job = *self_p;
    if (!job) return;
    for (size_t i = 0; i < job->n_endpoint; i++) free(job->endpoints[i]);
    free(job->endpoints);
    layout_fini(&job->layout);
    at_hand_close(&job->state_fd, &job->ledger);
    ledger_fini(&job->ledger);
    free(job->path);
    free(job->good);
    free(job);
    *self_p = NULL;
}

void courier_result_destroy(courier_result_t **self_p)
{
    if (!*self_p) return;
    ledger_fini(&(*self_p)->ledger);
    checkpoint_list_fini(&(*self_p)->pruned);
    free((*self_p)->checkpoint);
    free(*self_p);
    *self_p = NULL;
}

/* --- PUBLISH --- */

static int put_file(data_client_t *client, const char *path, char hash[HASH_HEX], err_t *err)
{
    file_map_t map;
    if (file_map(path, &map, err) < 0) return -1;
    hash_content(map.at, map.n, hash);
    int rc = data_put_object(client, hash, map.at, map.n, err);
    file_unmap(&map);
    return rc < 0 ? err_prefix(err, "%s: ", path) : 0;
}

/* Tokens are checked here once, so that no worker reads beyond a table by a wrong file. */
static int check_tokens(const char *path, int64_t vocab, uint64_t *n_tokens, err_t *err)
{
    file_map_t map;
    if (file_map(path, &map, err) < 0) return -1;
    int rc = 0;
    int bytes = token_bytes_named(path);
    size_t n = map.n / (size_t)bytes;
    if (n == 0 || map.n % (size_t)bytes)
        rc = err_set(err, ERR_PARSE, "%s: %zu bytes are no list of %s tokens", path, map.n,
                     token_bytes_ending(bytes));
    for (size_t i = 0; rc == 0 && i < n; i++) {
        uint32_t token = token_at(map.at, i, bytes) & ~TOKEN_SILENT;
        if (token >= vocab)
            rc = err_set(err, ERR_PARSE, "%s: token %u at place %zu; the vocabulary has %lld", path,
                         token, i, (long long)vocab);
    }
    *n_tokens = n;
    file_unmap(&map);
    return rc;
}

static int publish(const shepherd_config_t *config, data_client_t *client, courier_result_t *result,
                   err_t *err)
{
    const char *validation = config->validation_tokens;
    const char *tokenizer = config->tokenizer;
    bool validates = validation && *validation, has_text = tokenizer && *tokenizer;
    if (check_tokens(config->train_tokens, config->vocab, &result->train_tokens, err) < 0)
        return -1;
    if (validates && check_tokens(validation, config->vocab, &result->validation_tokens, err) < 0)
        return -1;
    if (put_file(client, config->model, result->module_hash, err) < 0) return -1;
    if (has_text && put_file(client, tokenizer, result->tokenizer_hash, err) < 0) return -1;
    if (put_file(client, config->train_tokens, result->train_hash, err) < 0) return -1;
    return validates ? put_file(client, validation, result->validation_hash, err) : 0;
}

/* --- INIT --- */

static int init(const shepherd_config_t *config, const courier_job_t *job, data_client_t *client,
                char hash[HASH_HEX], err_t *err)
{
    if (hash_file(config->init, hash, err) < 0) return -1;
    safetensors_t *file = safetensors_open(config->init, err);
    if (!file) return -1;
    const layout_t *layout = &job->layout;
    const data_vector_t which = {.round = job->round};
    stored_t theta;
    stored_init(&theta, layout);
    int rc = 0;
    if (safetensors_count(file) != layout->n)
        rc = err_set(err, ERR_ARG, "%s: %zu tensors, the model has %zu parameters", config->init,
                     safetensors_count(file), layout->n);
    for (size_t i = 0; rc == 0 && i < layout->n; i++)
        rc = stored_take(&theta, i, safetensors_find(file, layout->tensor[i].name), config->init,
                         err);
    const source_t source = stored_source(&theta);
    if (rc == 0) rc = data_put_vector(client, layout->bounds, &which, &source, err);
    stored_fini(&theta);
    safetensors_close(&file);
    return rc;
}

void courier_do(const shepherd_config_t *config, const courier_job_t *job, const courier_ear_t *ear,
                courier_result_t *result)
{
    *result = (courier_result_t){.kind = job->kind};
    err_t *err = &result->err;
    if (job->kind == COURIER_LEDGER) { /* files alone */
        courier_find(config, job, result, err);
        return;
    }
    data_options_t options = {.endpoints = job->endpoints,
                              .n_endpoint = job->n_endpoint,
                              .run = job->run_hash,
                              .attempt = job->attempt,
                              .stopped = ear->stopped,
                              .waits = ear->waits,
                              .user = ear->user};
    data_client_t *client = data_client_new(&options, err);
    if (!client) return;
    switch (job->kind) {
    case COURIER_PUBLISH: publish(config, client, result, err); break;
    case COURIER_INIT: init(config, job, client, result->init_hash, err); break;
    case COURIER_SAVE:
    case COURIER_CHECKPOINT: courier_save(config, job, client, result, err); break;
    case COURIER_RESTORE: courier_restore(config, job, client, err); break;
    default: break;
    }
    data_client_destroy(&client);
}

/* --- The actor --- */

/* $TERM waits on the pipe: zactor_destroy wants us to leave. */
static bool told_to_stop(void *user)
{
    return (zsock_events(user) & ZMQ_POLLIN) != 0;
}

static void tell_waits(void *user, const char *text)
{
    courier_result_t *news = mem_calloc(1, sizeof *news);
    news->kind = COURIER_WAITS;
    snprintf(news->err.text, sizeof news->err.text, "%s", text);
    zsock_send(user, "p", hand_over(news));
}

static void courier_main(zsock_t *pipe, void *arg)
{
    const shepherd_config_t *config = arg;
    const courier_ear_t ear = {told_to_stop, tell_waits, pipe};
    zsock_signal(pipe, 0);
    for (;;) {
        char *command = NULL;
        void *pointer = NULL;
        if (zsock_recv(pipe, "sp", &command, &pointer) < 0) {
            free(command);
            break;
        }
        bool work = strcmp(command, "JOB") == 0;
        free(command);
        if (!work) break;
        courier_job_t *job = take_over(pointer);
        courier_result_t *result = mem_calloc(1, sizeof *result);
        courier_do(config, job, &ear, result);
        courier_job_destroy(&job);
        zsock_send(pipe, "p", hand_over(result));
    }
    actor_last(pipe);
    hand_over(arg);
}

zactor_t *courier_new(const shepherd_config_t *config)
{
    return zactor_new(courier_main, (void *)config);
}

void courier_start(zactor_t *self, courier_job_t *job)
{
    zsock_send(self, "sp", "JOB", hand_over(job));
}

courier_result_t *courier_take(zactor_t *self)
{
    return actor_take(self);
}

static void drop(void *answer)
{
    courier_result_t *result = answer;
    courier_result_destroy(&result);
}

void courier_destroy(zactor_t **self_p)
{
    actor_end(self_p, drop);
}
