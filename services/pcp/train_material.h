/* What a run is made of besides its options: tokens, tokenizer, initial values. Made and checked
 * first, tokens in a temporary file of the run's directory and the rest in memory, so that nothing is
 * kept of what cannot be trained. The model outlives what is made of it. */
#ifndef PCP_TRAIN_MATERIAL_H
#define PCP_TRAIN_MATERIAL_H

#include "ckpt/safetensors.h"
#include "pcp/model_info.h"
#include "pcp/progress.h"
#include "pcp/token_file.h"
#include "pcp/train_config.h"

typedef struct {
    token_file_t *tokens;
    size_t n_train, n_validation; /* the first train, the last validate */
    int vocab;
    char *tokenizer; /* as JSON */
    safetensor_t *tensors;
    void **values; /* of each, that were made here; NULL: the model's constant, which is borrowed */
    int n_tensors;
    int64_t n_params; /* elements of all of them */
} train_material_t;

/* config has a run_dir, which is there. ERR_ARG, ERR_SHAPE, ERR_PARSE, ERR_IO: text, tokenizer, model and initial values do not fit
 * together. Free it in any case. `progress` may be NULL, here and below. */
int train_material_make(const train_config_t *config, const model_info_t *model,
                        progress_t *progress, train_material_t *out, err_t *err);
/* The same without initial values: `init`, `dtype` and `seed` of config are not read. */
int train_material_tokens(const train_config_t *config, const model_info_t *model,
                          progress_t *progress, train_material_t *out, err_t *err);
int train_material_write(const train_material_t *self, const char *dir, progress_t *progress,
                         err_t *err);
/* The name of a file of its tokens, "train" or "validation", in that directory. Returns, caller frees. */
char *train_material_path(const char *dir, const char *what, int bytes);
void train_material_fini(train_material_t *self);

#endif
