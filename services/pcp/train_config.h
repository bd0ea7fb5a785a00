/* The experiment's fields: what `pcp train` reads from a JSON file, PCP_* variables and flags. */
#ifndef PCP_TRAIN_CONFIG_H
#define PCP_TRAIN_CONFIG_H

#include "options/train.h"

/* Fields `data`, `field`, `messages` and `tokenizer` of a command's options of type T: what to train on. */
#define TRAIN_DATA_FIELDS(T)                                                                    \
    {.name = "data",                                                                            \
     .kind = CONFIG_STRING,                                                                     \
     .offset = offsetof(T, data),                                                               \
     .help = "text, JSON lines or tokens: files, directories, patterns (docs/text.md), or "     \
             "records:DIR (docs/models.md)"},                                                   \
        {.name = "field",                                                                       \
         .kind = CONFIG_STRING,                                                                 \
         .offset = offsetof(T, field),                                                          \
         .fallback = "text",                                                                    \
         .help = "of JSON lines: the one that holds the text"},                                 \
        {.name = "messages",                                                                    \
         .kind = CONFIG_STRING,                                                                 \
         .offset = offsetof(T, messages),                                                       \
         .help = "JSON lines are conversations, their answers alone count: the chat template, " \
                 "auto or a name (docs/text.md)"},                                              \
        {.name = "tokenizer",                                                                   \
         .kind = CONFIG_STRING,                                                                 \
         .offset = offsetof(T, tokenizer),                                                      \
         .fallback = "char",                                                                    \
         .help = "how the data becomes tokens: char, byte, raw, or a file (docs/text.md)"},

typedef struct {
    TRAIN_OPTIONS(OPTION_MEMBER, )
    /* what to train */
    char *model, *data, *field, *messages, *tokenizer, *init, *dtype;
    char *entry, *role, *roles, *freeze, *group, *lora, *shape; /* pcp/model_roles.h */
    bool constants_as_params;
    int64_t loss_result;
    double val_fraction;
    /* who trains */
    int64_t threads;
    /* where */
    char *track, *track_experiment, *track_token_file;
    char *checkpoint, *resume, *run_dir, *log_level;
    bool prepare_only, tune, web;
    int64_t web_port;
} train_config_t;

extern const config_table_t train_config_table;

/* What no single field can tell: combinations; and files that must exist. */
int train_config_combine(const train_config_t *self, err_t *err);
int train_config_check(const train_config_t *self, err_t *err);
int train_config_check_data(const char *data, err_t *err);

#endif
