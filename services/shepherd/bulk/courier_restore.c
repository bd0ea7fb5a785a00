/* Going on from a checkpoint: which one, and what is in it to the aggregators. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/checkpoint.h"
#include "ckpt/fits.h"
#include "outer/change.h"
#include "shepherd/bulk/courier.h"
#include "shepherd/bulk/stored.h"

/* Open one and read its ledger. ERR_STATE: whole, but made without one. */
static int look(const shepherd_config_t *config, const char *path, courier_result_t *result,
                err_t *err)
{
    checkpoint_t *checkpoint = checkpoint_open(path, err);
    if (!checkpoint) return -1;
    size_t most = (size_t)shepherd_most(config);
    checkpoint_run_t run = {.model = config->model,
                            .seed = (uint64_t)config->seed,
                            .rounds = (uint64_t)config->rounds,
                            .least = shepherd_is_auto(config) ? 1 : most,
                            .most = most};
    int rc = checkpoint_fits(checkpoint, &run, &result->ledger, err);
    if (rc == 0)
        result->checkpoint = mem_strdup(checkpoint_path(checkpoint));
    else
        err_prefix(err, "checkpoint %s: ", path);
    checkpoint_close(&checkpoint);
    return rc;
}

static bool has_resume(const shepherd_config_t *config)
{
    return config->resume && *config->resume;
}

static bool is_ours(const shepherd_config_t *config, const courier_job_t *job, const char *hash)
{
    bool ours = has_resume(config) || !job->back;
    for (size_t i = 0; !ours && i < job->n_good; i++) ours = strcmp(job->good[i].hash, hash) == 0;
    return ours;
}

/* The newest of the run's own that is whole and has a ledger; damaged ones are named in the log. */
static int find_latest(const shepherd_config_t *config, const courier_job_t *job,
                       courier_result_t *result, err_t *err)
{
    checkpoint_list_t list;
    err_t worst = {0};
    if (!file_exists(config->checkpoint)) return 0; /* none was written yet */
    if (checkpoint_list(config->checkpoint, false, &list, err) < 0) return -1;
    for (size_t i = 0; i < list.n && !result->checkpoint; i++) {
        err_t fault = {0};
        if (!is_ours(config, job, list.at[i].hash)) continue;
        if (look(config, list.at[i].path, result, &fault) == 0) break;
        log_event(LOG_WARN, "checkpoint_refused", "reason=\"%s\"", fault.text);
        if (fault.code != ERR_STATE && worst.code == ERR_OK) worst = fault;
    }
    checkpoint_list_fini(&list);
    if (result->checkpoint || worst.code == ERR_OK) return 0;
    return err_set(err, worst.code, "%s; and none of the others can be gone on from", worst.text);
}

int courier_find(const shepherd_config_t *config, const courier_job_t *job,
                 courier_result_t *result, err_t *err)
{
    bool named = has_resume(config) && strcmp(config->resume, "latest") != 0;
    if (job->back) {
        err_t fault = {0}; /* each is in the log */
        if (find_latest(config, job, result, &fault) == 0 && result->checkpoint) return 0;
        return named ? look(config, config->resume, result, err) : 0;
    }
    return named ? look(config, config->resume, result, err)
                 : find_latest(config, job, result, err);
}

static int put_params(const courier_job_t *job, const checkpoint_t *from, data_client_t *client,
                      err_t *err)
{
    const layout_t *layout = &job->layout;
    const safetensors_t *file = checkpoint_params(from);
    const data_vector_t which = {.round = job->round};
    stored_t values;
    stored_init(&values, layout);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < layout->n; i++)
        rc = stored_take(&values, i, safetensors_find(file, layout->tensor[i].name), job->path,
                         err);
    const source_t source = stored_source(&values);
    if (rc == 0) rc = data_put_vector(client, layout->bounds, &which, &source, err);
    stored_fini(&values);
    return rc;
}

char *courier_state_name(const layout_tensor_t *param, const outer_rule_t *rule, size_t s)
{
    bool first = s == 0 && outer_states(rule) > 0; /* alone in checkpoints of before */
    return first ? mem_strdup(param->name)
                 : mem_printf("%s:%s", param->name, outer_vector(rule, s));
}

static int put_outer(const courier_job_t *job, const checkpoint_t *from, const outer_rule_t *rule,
                     size_t s, data_client_t *client, err_t *err)
{
    const layout_t *layout = &job->layout;
    const data_vector_t which = {.round = job->round, .outer = true, .state = (uint16_t)s};
    stored_t values;
    stored_init(&values, layout);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < layout->n; i++) {
        const layout_tensor_t *want = &layout->tensor[i];
        char *name = courier_state_name(want, rule, s);
        const safetensor_t *have = safetensors_find(checkpoint_state(from), name);
        if (have)
            rc = stored_take(&values, i, have, job->path, err);
        else if (s <
                 outer_states(rule)) /* else it was made without a codec: nothing was left out */
            rc = err_set(err, ERR_ARG,
                         "%s: has no %s of \"%s\", which outer_rule %s goes on with: another rule "
                         "made it",
                         job->path, rule->state[s], want->name, rule->name);
        free(name);
    }
    const source_t source = stored_source(&values);
    if (rc == 0) rc = data_put_vector(client, layout->bounds, &which, &source, err);
    stored_fini(&values);
    return rc;
}

/* It is read twice: for its name, and to send what the aggregator has not yet. */
static int put_state(const char *path, const char *hash, data_client_t *client, err_t *err)
{
    char found[HASH_HEX];
    struct stat info;
    file_part_t part = {.fd = open(path, O_RDONLY | O_CLOEXEC), .path = path};
    if (part.fd < 0) return err_set_errno(err, "%s", path);
    int rc = fstat(part.fd, &info) < 0 ? err_set_errno(err, "%s", path) : 0;
    const source_t source = source_of_file(&part, (uint64_t)info.st_size);
    if (rc == 0) rc = source_hash(&source, found, err);
    if (rc == 0 && strcmp(found, hash) != 0)
        rc = err_set(err, ERR_CORRUPT, "%s: not the state that the ledger names", path);
    if (rc == 0) rc = data_put_object_from(client, hash, &source, err);
    close(part.fd);
    return rc;
}

static int put_states(const char *dir, const ledger_t *ledger, data_client_t *client, err_t *err)
{
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < ledger->n_state; k++) {
        if (!*ledger->state[k]) continue;
        char name[32];
        ledger_state_name(k, name);
        char *path = mem_printf("%s/%s", dir, name);
        rc = put_state(path, ledger->state[k], client, err);
        free(path);
    }
    return rc;
}

int courier_restore(const shepherd_config_t *config, const courier_job_t *job,
                    data_client_t *client, err_t *err)
{
    const outer_rule_t *rule = outer_rule_find(config->outer_rule, err);
    const codec_t *down = change_codec_named(config->down_codec, NULL);
    checkpoint_t *checkpoint = checkpoint_open(job->path, err);
    if (!checkpoint) return -1;
    int rc = put_states(job->path, &job->ledger, client, err);
    for (size_t s = 0; rc == 0 && s < outer_vectors(rule, down); s++)
        rc = put_outer(job, checkpoint, rule, s, client, err);
    if (rc == 0) rc = put_params(job, checkpoint, client, err); /* the last: they open the shards */
    checkpoint_close(&checkpoint);
    return rc;
}
