/* The table of `pcp train`'s fields. */
#include "pcp/train_config.h"

#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "data/corpus.h"
#include "pcp/model_roles.h"
#include "pcp/train_records.h"
#include "text/tokenizer.h"

#define AT(name) offsetof(train_config_t, name)
#define TEXT(name, fallback, help)                                        \
    {                                                                     \
#name, CONFIG_STRING, AT(name), fallback, help, 0, 0, NULL, false \
    }
#define WORD(name, fallback, words, help)                                \
    {                                                                    \
#name, CONFIG_ENUM, AT(name), fallback, help, 0, 0, words, false \
    }
#define WHOLE(name, fallback, min, max, help)                              \
    {                                                                      \
#name, CONFIG_INT, AT(name), fallback, help, min, max, NULL, false \
    }
#define REAL(name, fallback, min, max, help)                                 \
    {                                                                        \
#name, CONFIG_FLOAT, AT(name), fallback, help, min, max, NULL, false \
    }
#define YES_NO(name, fallback, help)                                    \
    {                                                                   \
#name, CONFIG_BOOL, AT(name), fallback, help, 0, 0, NULL, false \
    }

static const config_field_t fields[] = {
    TEXT(model, NULL, "StableHLO file with a scalar loss"),
    MODEL_ROLES_FIELDS(train_config_t) TRAIN_DATA_FIELDS(train_config_t)
        TEXT(init, NULL, "safetensors file with every parameter's initial value"),
    WORD(dtype, "auto", "auto|f32|bf16", "refuse a model whose parameters are of another type"),
    REAL(val_fraction, "0.1", 0, 0.9, "share of the data, at its end, kept for validation"),
    WHOLE(threads, "0", 0, 1024, "threads per worker; 0: cores / workers"),
    YES_NO(tune, "false",
           "choose kernels of products by measuring them on this machine, once each"),
    TRAIN_OPTIONS(OPTION_FIELD, train_config_t)
        TEXT(checkpoint, NULL, "directory to write at the end; default RUN_DIR/checkpoint"),
    TEXT(resume, NULL,
         "go on with a run: its directory, or latest; or begin one from a checkpoint (directory)"),
    TEXT(run_dir, NULL, "a new run's logs and working files; default runs/<time>"),
    YES_NO(prepare_only, "false", "write the run directory and stop (docs/services.md)"),
    YES_NO(web, "false", "show the run in a browser on this machine: prints the page's address"),
    WHOLE(web_port, "0", 0, 65535, "of that page, on 127.0.0.1; 0: one that is free"),
    TEXT(track, NULL,
         "mlflow:http://HOST:PORT, a tracker that gets losses and speed (docs/page.md)"),
    TEXT(track_experiment, "pcp", "of the tracker, that the run belongs to"),
    TEXT(track_token_file, NULL, "its first line is the tracker's token [MLFLOW_TRACKING_TOKEN]"),
    WORD(log_level, "info", "debug|info|warn|error", "of the services' logs"),
};

const config_table_t train_config_table = {
    .usage =
        "usage: pcp train CONFIG.json|MODEL.mlir [FLAGS]\n\n"
        "Trains a StableHLO model on this machine: starts a shepherd, aggregators, a compiler and\n"
        "workers, shows progress, writes a checkpoint. Flags override PCP_* variables, which\n"
        "override the file. Ctrl-C stops after the last finished round, with a checkpoint.\n\n"
        "--resume RUN_DIR goes on with that run, --resume latest with the newest in runs/ (of "
        "MODEL,\n"
        "if given) or with that in --run-dir. Options come from the run; those given now may make "
        "it\n"
        "longer (--rounds), also when it has ended, or change who trains and what is saved.\n\n"
        "  pcp train gpt.mlir --data book.txt --workers 2 --rounds 100\n"
        "  pcp train --resume latest --rounds 200",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

static int need_file(const char *path, const char *field, err_t *err)
{
    if (!path) return err_set(err, ERR_ARG, "no %s given (--%s FILE)", field, field);
    if (!file_exists(path)) return err_set(err, ERR_IO, "%s: no such file (--%s)", path, field);
    return 0;
}

int train_config_check_data(const char *data, err_t *err)
{
    corpus_t corpus;
    const char *records = train_records_dir(data);
    if (!data || records) return need_file(records, "data", err);
    int rc = corpus_find(data, &corpus, err);
    corpus_fini(&corpus);
    return rc;
}

int train_config_check(const train_config_t *self, err_t *err)
{
    if (need_file(self->model, "model", err) < 0 || train_config_check_data(self->data, err) < 0)
        return -1;
    if (self->init && need_file(self->init, "init", err) < 0) return -1;
    if (!tokenizer_is_kind(self->tokenizer) && !file_exists(self->tokenizer))
        return err_set(err, ERR_ARG,
                       "--tokenizer %s is neither char, byte nor raw, and no file is there",
                       self->tokenizer);
    if (self->track && !str_starts(self->track, "mlflow:http"))
        return err_set(err, ERR_ARG, "--track %s: expected mlflow:http://HOST:PORT", self->track);
    return train_config_combine(self, err);
}

int train_config_combine(const train_config_t *self, err_t *err)
{
    const train_rules_t rules = {
        .options = {TRAIN_OPTIONS(OPTION_TAKE, self)},
        .tokenizer = train_records_dir(self->data) ? NULL : self->tokenizer,
    };
    return train_rules_check(&rules, err);
}
