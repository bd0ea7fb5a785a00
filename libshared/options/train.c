/* The rows as a table, and the rules between them: a list of functions, each of which knows one. */
#include "options/train.h"

#include <string.h>

enum { MOST_REPLICAS = 4096 }; /* as in their row */

#define ROW(spec, what, key, text, low, high, choice, is_fixed, say) \
    {{.name = #key,                                                  \
      .kind = CONFIG_##what,                                         \
      .offset = offsetof(train_options_t, key),                      \
      .fallback = #text,                                             \
      .help = say,                                                   \
      .min = low,                                                    \
      .max = high,                                                   \
      .words = choice},                                              \
     is_fixed,                                                       \
     spec},
const train_option_t train_option_rows[] = {
    TRAIN_MEMBER_OPTIONS(ROW, false) TRAIN_RUN_OPTIONS(ROW, false) TRAIN_SPEC_OPTIONS(ROW, true)};
const size_t n_train_option_rows = sizeof train_option_rows / sizeof *train_option_rows;

const train_option_t *train_option_find(const char *name)
{
    for (size_t i = 0; i < n_train_option_rows; i++)
        if (strcmp(train_option_rows[i].field.name, name) == 0) return &train_option_rows[i];
    return NULL;
}

int64_t train_most_replicas(int64_t replicas, int64_t workers, int64_t max_replicas)
{
    if (replicas != CONFIG_WORD) return replicas ? replicas : workers;
    int64_t most = max_replicas ? max_replicas : 4 * workers;
    return most < MOST_REPLICAS ? most : MOST_REPLICAS;
}

static int check_layout(const train_rules_t *self, err_t *err)
{
    const char *layout = self->options.layout;
    if (!self->tokenizer || strcmp(layout, "windows") == 0 || strcmp(self->tokenizer, "raw") == 0)
        return 0;
    return err_set(err, ERR_ARG, "layout %s holds no text: use --tokenizer raw", layout);
}

/* Settled when the run begins, where nobody sees what is wrong with it. */
static int check_replicas(const train_rules_t *self, err_t *err)
{
    const train_options_t *o = &self->options;
    if (o->replicas != 0 || o->workers <= MOST_REPLICAS) return 0;
    return err_set(err, ERR_ARG,
                   "workers %lld: each has a replica, of which a round has %d at most: ask for "
                   "fewer, or set replicas, too",
                   (long long)o->workers, MOST_REPLICAS);
}

static int check_quorum(const train_rules_t *self, err_t *err)
{
    const train_options_t *o = &self->options;
    int64_t most = train_most_replicas(o->replicas, o->workers, o->max_replicas);
    if (o->quorum > most)
        return err_set(err, ERR_ARG, "quorum %lld is above replicas %lld", (long long)o->quorum,
                       (long long)most);
    if (o->quorum == 0 && (o->deadline_s > 0 || strcmp(o->late, "drop") != 0))
        return err_set(err, ERR_ARG,
                       "deadline_s and late are for rounds that close early: set quorum, too");
    if (o->late_rounds > 1 && strcmp(o->late, "next") != 0)
        return err_set(err, ERR_ARG, "late_rounds %lld is for late next, late is %s",
                       (long long)o->late_rounds, o->late);
    return 0;
}

/* A constant rate does not look at min_lr, the others would rise to it. */
static int check_rates(const train_rules_t *self, err_t *err)
{
    const train_options_t *o = &self->options;
    if (o->min_lr <= o->lr || strcmp(o->schedule, "constant") == 0) return 0;
    return err_set(err, ERR_ARG, "min_lr %g is above lr %g: the schedule %s ends at min_lr",
                   o->min_lr, o->lr, o->schedule);
}

static int check_auto(const train_rules_t *self, err_t *err)
{
    bool is_auto = self->options.replicas == CONFIG_WORD;
    if (!is_auto || !self->keep_state || strcmp(self->keep_state, "memory") != 0) return 0;
    return err_set(err, ERR_ARG,
                   "replicas auto moves replicas between workers: keep_state must be local or "
                   "object, not memory");
}

/* Whether the model can write is asked where the model is. */
static int check_sample(const train_rules_t *self, err_t *err)
{
    const train_options_t *o = &self->options;
    const char *prompt = o->sample_prompt ? o->sample_prompt : "";
    if (o->sample_every == 0) return 0;
    if (strcmp(o->layout, "windows") != 0 ||
        (self->tokenizer && strcmp(self->tokenizer, "raw") == 0))
        return err_set(err, ERR_ARG,
                       "sample_every %lld: a run without a tokenizer writes no text: leave it out, "
                       "or train on text (--tokenizer)",
                       (long long)o->sample_every);
    if (strlen(prompt) > SAMPLE_PROMPT_BYTES)
        return err_set(err, ERR_ARG, "sample_prompt has %zu bytes; at most %d are taken",
                       strlen(prompt), SAMPLE_PROMPT_BYTES);
    return 0;
}

int train_rules_check(const train_rules_t *self, err_t *err)
{
    static int (*const rules[])(const train_rules_t *, err_t *) = {
        check_layout, check_replicas, check_quorum, check_rates, check_auto, check_sample};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i](self, err) < 0) return -1;
    return 0;
}
