/* The text of --lora. */
#include "compile/lora.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int add_pattern(const char **list, int *n, const char *text, err_t *err)
{
    if (*text && *n < LORA_MAX_PATTERNS) {
        list[(*n)++] = text;
        return 0;
    }
    return err_set(err, ERR_ARG, "--lora: %s",
                   *text ? "more than 32 patterns" : "an empty pattern");
}

static int take_number(const char *key, const char *text, double low, double high, double *out,
                       err_t *err)
{
    char *end;
    *out = strtod(text, &end);
    if (end != text && !*end && *out >= low && *out <= high) return 0;
    return err_set(err, ERR_ARG, "--lora: %s=%s: expected a number of %g to %g", key, text, low,
                   high);
}

static int take(lora_t *self, const char *key, const char *value, err_t *err)
{
    double rank = self->rank;
    int status;
    if (strcmp(key, "rank") == 0) {
        status = take_number(key, value, 1, 4096, &rank, err);
        if (status == 0 && rank != floor(rank))
            status = err_set(err, ERR_ARG, "--lora: rank=%s: expected a whole number", value);
        self->rank = (int)rank;
    } else if (strcmp(key, "alpha") == 0) {
        status = take_number(key, value, 0, 1e6, &self->alpha, err);
    } else if (strcmp(key, "targets") == 0) {
        status = add_pattern(self->target, &self->n_target, value, err);
    } else if (strcmp(key, "train") == 0) {
        status = add_pattern(self->train, &self->n_train, value, err);
    } else {
        status = err_set(
            err, ERR_ARG,
            "--lora: \"%s\" is none of rank=N, alpha=X, targets=PATTERN, train=PATTERN", key);
    }
    return status;
}

int lora_parse(const char *text, arena_t *arena, lora_t *out, err_t *err)
{
    *out = (lora_t){.rank = 8, .alpha = -1};
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, ",");
        char *part = arena_strndup(arena, at, n), *equal = strchr(part, '=');
        if (!equal)
            return err_set(err, ERR_ARG,
                           "--lora: \"%s\": expected KEY=VALUE, as in rank=8,targets=*attn*", part);
        *equal = '\0';
        if (take(out, part, equal + 1, err) < 0) return -1;
        at += n;
        at += *at == ',';
    }
    if (out->alpha < 0) out->alpha = 2.0 * out->rank;
    return 0;
}
