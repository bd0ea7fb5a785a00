/* A run directory, new or gone on with. */
#include "pcp/train_prepare.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "ckpt/fits.h"
#include "pcp/train_dir.h"
#include "pcp/train_json.h"
#include "pcp/train_material.h"
#include "pcp/train_records.h"
#include "pcp/train_sample.h"

/* Unix sockets allow 107 bytes of path, run directories more. Nothing takes down the sockets of a
 * process that is killed, so the next one does. */
static int make_socket_dir(train_prepared_t *out, err_t *err)
{
    scratch_sweep("/tmp", "train");
    if (scratch_make(&out->socket_dir, "/tmp", "train", err) < 0) return -1;
    out->sockets = out->socket_dir.dir;
    return 0;
}

static int check_dtype(const train_config_t *c, const model_info_t *model, err_t *err)
{
    dtype_t want = dtype_parse(c->dtype, strlen(c->dtype)); /* auto: none */
    for (int i = 0; want != DT_NONE && i < model->entry->body->n_arg; i++)
        if (model->args[i].role == ARG_param && model->args[i].type.dtype != want)
            return err_set(err, ERR_TYPE, "%s: parameter \"%s\" is %s, --dtype %s was asked for",
                           c->model, model->args[i].name, dtype_name(model->args[i].type.dtype),
                           c->dtype);
    return 0;
}

/* A large model takes seconds to read. */
static int load_model(const train_config_t *c, const char *path, progress_t *progress,
                      model_info_t *model, err_t *err)
{
    const roles_options_t as_given = MODEL_ROLES_OPTIONS(c), as_kept = {.loss_result = -1};
    bool given = path == c->model; /* else the run's own, which says its roles itself */
    enum { LARGE_BYTES = 1 << 20 };
    if (progress && file_size(path) >= LARGE_BYTES) progress_phase(progress, "reading %s", path);
    return model_info_load(path, given ? &as_given : &as_kept, model, err);
}

static int refuse_run(const train_config_t *c, err_t *err)
{
    if (!c->run_dir || !train_dir_has_run(c->run_dir)) return 0;
    return err_set(err, ERR_ARG,
                   "--run-dir %s: there is a run in it already: go on with it (pcp train --resume "
                   "%s), or give another directory",
                   c->run_dir, c->run_dir);
}

/* A new run that begins where a checkpoint stands: is it of this model, seed, ...? */
static int check_start(const train_config_t *c, const model_info_t *model, progress_t *progress,
                       err_t *err)
{
    if (!c->resume || strcmp(c->resume, "latest") == 0) return 0;
    if (progress) progress_phase(progress, "checking %s", c->resume);
    checkpoint_t *checkpoint = checkpoint_open(c->resume, err);
    if (!checkpoint) return -1;
    bool is_auto = c->replicas == CONFIG_WORD;
    size_t most = (size_t)(is_auto ? c->max_replicas : c->replicas);
    checkpoint_run_t run = {.model = c->model,
                            .text = model->text.at,
                            .n_text = model->text.n,
                            .seed = (uint64_t)c->seed,
                            .rounds = (uint64_t)c->rounds,
                            .least = is_auto ? 1 : most,
                            .most = most};
    ledger_t ledger = {0};
    int rc = checkpoint_fits(checkpoint, &run, &ledger, err);
    if (rc < 0) err_prefix(err, "checkpoint %s: ", c->resume);
    ledger_fini(&ledger);
    checkpoint_close(&checkpoint);
    return rc;
}

/* What was left open is settled when the run begins: later it has more workers, or fewer. */
static void settle(train_config_t *c)
{
    int64_t most = train_most_replicas(c->replicas, c->workers, c->max_replicas);
    *(c->replicas == CONFIG_WORD ? &c->max_replicas : &c->replicas) = most;
    if (!train_records_dir(c->data)) return;
    free(c->layout);
    c->layout = mem_strdup("rows");
}

static int claim(train_config_t *c, train_prepared_t *out, err_t *err)
{
    out->made_dir = !c->run_dir || !file_exists(c->run_dir);
    if (!c->run_dir && !(c->run_dir = train_dir_new(err))) return -1;
    if ((out->lock = train_dir_claim(c->run_dir, err)) < 0) return -1;
    char *logs = mem_printf("%s/logs", c->run_dir);
    int rc = file_make_dirs(logs, err);
    free(logs);
    return rc;
}

static int write_model(const train_config_t *c, const model_info_t *model, err_t *err)
{
    char *path = mem_printf("%s/model.mlir", c->run_dir);
    int rc = file_write_atomic(path, model->text.at, model->text.n, err);
    free(path);
    return rc;
}

/* run.json comes last: with it the directory is complete. */
static int describe(const train_config_t *c, train_prepared_t *out, err_t *err)
{
    out->checkpoint = c->checkpoint ? mem_strdup(c->checkpoint)
                                    : mem_printf("%s/checkpoint", c->run_dir);
    if (train_json_write_experiment(c, err) < 0 || train_json_write_run(c, out, err) < 0) return -1;
    return make_socket_dir(out, err);
}

/* States come behind all other parameters (compile/roles.h). */
static int64_t find_states(const model_info_t *model)
{
    int64_t n = 0, states = 0;
    for (int i = 0; i < model->entry->body->n_arg; i++) {
        if (model->args[i].is_param) n += ir_type_count(&model->args[i].type);
        if (model->args[i].role == ARG_state) states += ir_type_count(&model->args[i].type);
    }
    return states ? n - states : 0;
}

static int write_all(train_config_t *c, const model_info_t *model, const train_material_t *material,
                     progress_t *progress, train_prepared_t *out, err_t *err)
{
    const char *slash = strrchr(c->run_dir, '/'), *name = slash ? slash + 1 : c->run_dir;
    out->run = mem_strdup(*name ? name : "run");
    out->n_params = material->n_params;
    out->averaged_from = find_states(model);
    out->n_tensors = material->n_tensors;
    out->train_tokens = (int64_t)material->n_train;
    out->validation_tokens = (int64_t)material->n_validation;
    out->vocab = material->vocab;
    out->token_bytes = (int)material->tokens->bytes;
    if (write_model(c, model, err) < 0 ||
        train_material_write(material, c->run_dir, progress, err) < 0)
        return -1;
    return describe(c, out, err);
}

int train_prepare(train_config_t *config, progress_t *progress, train_prepared_t *out, err_t *err)
{
    model_info_t model;
    train_material_t material = {0};
    *out = (train_prepared_t){.lock = -1};
    if (refuse_run(config, err) < 0) return -1;
    settle(config);
    int rc = load_model(config, config->model, progress, &model, err);
    if (rc == 0) rc = check_dtype(config, &model, err);
    if (rc == 0) rc = train_sample_check(config, &model, err);
    if (rc == 0) rc = check_start(config, &model, progress, err);
    if (rc == 0) rc = claim(config, out, err);
    if (rc == 0) rc = refuse_run(config, err); /* begun meanwhile? */
    if (rc == 0) rc = train_material_make(config, &model, progress, &material, err);
    if (rc == 0) rc = write_all(config, &model, &material, progress, out, err);
    train_material_fini(&material);
    if (rc < 0 && out->lock >= 0 && out->made_dir) train_dir_give_up(config->run_dir);
    model_info_fini(&model);
    return rc;
}

static int count_parameters(const train_config_t *c, progress_t *progress, train_prepared_t *out,
                            err_t *err)
{
    model_info_t model;
    char *path = mem_printf("%s/model.mlir", c->run_dir);
    int rc = load_model(c, path, progress, &model, err);
    for (int i = 0; rc == 0 && i < model.entry->body->n_arg; i++)
        if (model.args[i].is_param) out->n_params += ir_type_count(&model.args[i].type);
    out->n_tensors = rc == 0 ? model.n_params : 0;
    if (rc == 0) out->averaged_from = find_states(&model);
    if (rc == 0) rc = train_sample_check(c, &model, err);
    model_info_fini(&model);
    free(path);
    return rc;
}

int train_prepare_again(train_config_t *config, progress_t *progress, train_prepared_t *out,
                        err_t *err)
{
    *out = (train_prepared_t){.lock = -1};
    if (train_json_read_run(config->run_dir, out, err) < 0 ||
        count_parameters(config, progress, out, err) < 0 || claim(config, out, err) < 0)
        return -1;
    train_dir_sweep(config->run_dir);
    return describe(config, out, err);
}

void train_prepared_fini(train_prepared_t *self)
{
    free(self->run);
    free(self->checkpoint);
    scratch_remove(&self->socket_dir);
    if (self->lock > 0) close(self->lock);
    *self = (train_prepared_t){.lock = -1};
}
