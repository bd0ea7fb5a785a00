/* The flags of pcp generate, and the lists among them. */
#ifndef PCP_GENERATE_OPTIONS_H
#define PCP_GENERATE_OPTIONS_H

#include "base/config.h"
#include "infer/choose.h"
#include "infer/infer.h"

typedef struct {
    char *checkpoint, *prompt, *prompts, *stop, *bias, *weights, *keep, *activations;
    int64_t tokens, top_k, seed, threads, logprobs, batch, context, plans_limit;
    double temperature, top_p, min_p, repetition;
    bool json, window, no_slide, timing;
} generate_options_t;

extern const config_table_t generate_table;

/* What is given several times. */
typedef struct {
    char *file; /* of prompts, which point into it */
    char **prompt, **stop;
    size_t n_prompt, n_stop, n_bias;
    choose_bias_t *bias;
} generate_lists_t;

/* ERR_ARG, ERR_IO. lists is zeroed on error. */
int generate_lists(const generate_options_t *options, generate_lists_t *lists, err_t *err);
void generate_lists_fini(generate_lists_t *self);

choose_options_t generate_choose(const generate_options_t *options, const generate_lists_t *lists);

#endif
