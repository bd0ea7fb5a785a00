/* The table of `pcp train`'s fields. */
#include "pcp/train_config.h"

#include <string.h>

#include "base/file.h"
#include "optim/optim.h"

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
    TEXT(data, NULL, "text file (tokenizer char, byte) or u16 tokens (tokenizer raw)"),
    WORD(tokenizer, "char", "char|byte|raw", "how the data becomes tokens"),
    WORD(layout, "windows", "windows|records",
         "next-token windows, or raw records (docs/models.md)"),
    TEXT(init, NULL, "safetensors file with every parameter's initial value"),
    WORD(dtype, "auto", "auto|f32|bf16", "refuse a model whose parameters are of another type"),
    REAL(val_fraction, "0.1", 0, 0.9, "share of the data, at its end, kept for validation"),
    YES_NO(shuffle, "true", "permute the windows each epoch"),
    WHOLE(seed, "1337", 0, 0, "of initial values and data order"),
    WHOLE(workers, "2", 1, 4096, "worker processes to start"),
    {"replicas", CONFIG_INT, AT(replicas), "0",
     "per round; 0: one per worker; auto: per worker that is there", 0, 4096, "auto", false},
    WHOLE(max_replicas, "0", 0, 4096, "auto: at most so many; 0: four times the workers"),
    REAL(shrink_s, "30", 0, 1e6, "auto: fewer only when workers were missing for so long"),
    WHOLE(threads, "0", 0, 1024, "threads per worker; 0: cores / workers"),
    WHOLE(aggregators, "1", 1, 256, "aggregator shards"),
    WHOLE(inner_steps, "10", 1, 1000000, "optimizer steps per round and replica (H)"),
    WHOLE(rounds, "50", 1, 100000000, "outer rounds"),
    WHOLE(accumulate, "1", 1, 65536, "micro-batches per optimizer step"),
    WHOLE(validate_every, "10", 0, 100000000, "rounds between validations; 0: only at the end"),
    WORD(optimizer, "adamw", "adamw|sgd", "inner optimizer"),
    WORD(schedule, "cosine", "constant|cosine|wsd", "inner learning rate"),
    REAL(lr, "1e-3", 0, 1e6, "peak inner learning rate"),
    REAL(min_lr, "1e-4", 0, 1e6, "final inner learning rate (cosine)"),
    WHOLE(warmup, "0", 0, 1000000000, "warm-up steps"),
    REAL(decay_fraction, "0.2", 0, 1, "share of the steps that decay (wsd)"),
    REAL(beta1, "0.9", 0, 1, "adamw"),
    REAL(beta2, "0.99", 0, 1, "adamw"),
    REAL(eps, "1e-8", 0, 1, "adamw"),
    REAL(weight_decay, "0.1", 0, 10, "adamw, on parameters of rank 2 and more"),
    REAL(momentum, "0.9", 0, 1, "sgd"),
    REAL(clip, "1", 0, 1e9, "global gradient norm; 0: off"),
    WORD(precision, "f32", PRECISION_WORDS, "of matrix products; weights and the rest stay f32"),
    YES_NO(tune, "false",
           "choose kernels of products by measuring them on this machine, once each"),
    REAL(outer_lr, "0.7", 0, 100, "outer learning rate (DiLoCo); 1 with momentum 0: averaging"),
    REAL(outer_momentum, "0.9", 0, 1, "outer Nesterov momentum"),
    WORD(codec, "f32", "f32|bf16|int8", "pseudo-gradients on the wire"),
    WHOLE(quorum, "0", 0, 4096, "a round closes with so many replicas; 0: with all"),
    REAL(deadline_s, "0", 0, 1e6, "but not before so long"),
    WORD(late, "drop", "drop|next", "deltas that come after that: dropped, or in the next round"),
    REAL(outlier, "0", 0, 1e9, "updates of so many times the usual norm are rejected; 0: none"),
    YES_NO(balance, "false", "fewer inner steps for slower workers"),
    TEXT(checkpoint, NULL, "directory to write at the end; default RUN_DIR/checkpoint"),
    WHOLE(checkpoint_every, "10", 0, 1000000000, "rounds between checkpoints; 0: only at the end"),
    WHOLE(checkpoint_keep, "3", 0, 1000000, "checkpoints to keep; 0: all"),
    TEXT(resume, NULL,
         "go on with the run in RUN_DIR; where that is lost, from PATH or the latest"),
    TEXT(run_dir, NULL, "logs and working files; default runs/<time>"),
    YES_NO(prepare_only, "false", "write the run directory and stop (docs/services.md)"),
    WORD(log_level, "info", "debug|info|warn|error", "of the services' logs"),
};

const config_table_t train_config_table = {
    .usage =
        "usage: pcp train CONFIG.json|MODEL.mlir [FLAGS]\n\n"
        "Trains a StableHLO model on this machine: starts a shepherd, aggregators, a compiler and\n"
        "workers, shows progress, writes a checkpoint. Flags override PCP_* variables, which\n"
        "override the file. Ctrl-C stops after the last finished round, with a checkpoint.\n\n"
        "  pcp train gpt.mlir --data book.txt --workers 2 --rounds 100",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

static int need_file(const char *path, const char *field, err_t *err)
{
    if (!path) return err_set(err, ERR_ARG, "no %s given (--%s FILE)", field, field);
    if (!file_exists(path)) return err_set(err, ERR_IO, "%s: no such file (--%s)", path, field);
    return 0;
}

int64_t train_config_most(const train_config_t *self)
{
    int64_t most = self->max_replicas ? self->max_replicas : 4 * self->workers;
    return most < 4096 ? most : 4096;
}

int train_config_check(const train_config_t *self, err_t *err)
{
    if (need_file(self->model, "model", err) < 0 || need_file(self->data, "data", err) < 0)
        return -1;
    if (self->init && need_file(self->init, "init", err) < 0) return -1;
    bool raw = strcmp(self->tokenizer, "raw") == 0;
    if (strcmp(self->layout, "records") == 0 && !raw)
        return err_set(err, ERR_ARG, "layout records holds tokens: use --tokenizer raw");
    int64_t replicas = self->replicas ? self->replicas : self->workers;
    if (self->replicas == CONFIG_WORD) replicas = train_config_most(self);
    if (self->quorum > replicas)
        return err_set(err, ERR_ARG, "quorum %lld is above replicas %lld", (long long)self->quorum,
                       (long long)replicas);
    if (self->quorum == 0 && (self->deadline_s > 0 || strcmp(self->late, "drop") != 0))
        return err_set(err, ERR_ARG,
                       "deadline-s and late are for rounds that close early: set --quorum, too");
    if (self->min_lr > self->lr)
        return err_set(err, ERR_ARG, "min_lr %g is above lr %g", self->min_lr, self->lr);
    return 0;
}
