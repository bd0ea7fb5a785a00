/* What exporters' names say: words that mean the same in every framework. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "compile/roles_in.h"

static const struct {
    const char *word;
    name_role_t role;
} words[] = {
    /* the first match of any word of the path, in this order */
    {"opt_state", NAME_optimizer},
    {"optimizer", NAME_optimizer},
    {"batch_stats", NAME_state},
    {"running_mean", NAME_state},
    {"running_var", NAME_state},
    {"moving_mean", NAME_state},
    {"moving_variance", NAME_state},
    {"moving_var", NAME_state},
    {"num_batches_tracked", NAME_state},
    {"model_state", NAME_state},
    {"net_state", NAME_state},
    {"params", NAME_param},
    {"param", NAME_param},
    {"parameters", NAME_param},
    {"weights", NAME_param},
    {"theta", NAME_param},
    {"state", NAME_state},
    {"buffers", NAME_frozen},
    {"constants", NAME_frozen},
    {"frozen", NAME_frozen},
    {"inv_freq", NAME_frozen},
    {"freqs_cis", NAME_frozen},
    {"freqs", NAME_frozen},
    {"cos", NAME_frozen},
    {"sin", NAME_frozen},
    {"rope_cos", NAME_frozen},
    {"rope_sin", NAME_frozen},
    {"causal_mask", NAME_frozen},
    {"key", NAME_seed},
    {"rng", NAME_seed},
    {"rngs", NAME_seed},
    {"seed", NAME_seed},
    {"prng_key", NAME_seed},
    {"rng_key", NAME_seed},
    {"dropout_key", NAME_seed},
    {"dropout_rng", NAME_seed},
    {"dropout_seed", NAME_seed},
    {"step", NAME_step},
    {"global_step", NAME_step},
    {"iteration", NAME_step},
    {"lr", NAME_lr},
    {"learning_rate", NAME_lr},
    {"batch", NAME_batch},
    {"x", NAME_batch},
    {"y", NAME_batch},
    {"xs", NAME_batch},
    {"ys", NAME_batch},
    {"input", NAME_batch},
    {"inputs", NAME_batch},
    {"input_ids", NAME_batch},
    {"image", NAME_batch},
    {"images", NAME_batch},
    {"label", NAME_batch},
    {"labels", NAME_batch},
    {"target", NAME_batch},
    {"targets", NAME_batch},
    {"token", NAME_batch},
    {"tokens", NAME_batch},
    {"data", NAME_batch},
    {"features", NAME_batch},
    {"attention_mask", NAME_batch},
    {"loss_weights", NAME_batch},
};

/* Is `word` one of the names' words: letters, digits and _ between other characters? */
static bool has_word(const char *name, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = name; (at = strstr(at, word)) != NULL; at++) {
        bool starts = at == name || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bool ends = !(isalnum((unsigned char)at[n]) || at[n] == '_');
        if (starts && ends) return true;
    }
    return false;
}

/* `name` in small letters. */
static void fold(const char *name, char *out, size_t space)
{
    size_t n = 0;
    for (; name[n] && n + 1 < space; n++) out[n] = (char)tolower((unsigned char)name[n]);
    out[n] = '\0';
}

name_role_t roles_name_says(const char *name)
{
    char text[256];
    fold(name, text, sizeof text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has_word(text, words[i].word)) return words[i].role;
    return NAME_NONE;
}

const char *roles_name_rest(const char *name)
{
    while (isalnum((unsigned char)*name) || *name == '_') name++;
    while (*name == '[' && isdigit((unsigned char)name[1])) { /* result[1]['mean'] */
        const char *close = strchr(name, ']');
        if (!close) break;
        name = close + 1;
    }
    return name;
}

bool roles_name_matches(const char *pattern, size_t n_pattern, const char *name)
{
    char text[256];
    if (n_pattern >= sizeof text) return false;
    memcpy(text, pattern, n_pattern);
    text[n_pattern] = '\0';
    if (strcmp(text, name) == 0) return true;
    return !strpbrk(text, "['") && fnmatch(text, name, 0) == 0;
}
