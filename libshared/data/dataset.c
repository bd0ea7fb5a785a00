/* Token data, cut into windows or records. */
#include "data/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "token files are little-endian and mapped as they are: a big-endian host must swap here"
#endif

typedef struct {
    const uint16_t *tokens; /* where the split begins */
    uint64_t n, units;
} split_t;

struct dataset {
    char *name;
    file_map_t map;  /* of a file, or */
    uint16_t *owned; /* a copy of the caller's tokens */
    uint64_t n;      /* tokens in all */
    uint64_t stride, unit_tokens;
    split_t split[2]; /* by data_split_t */
};

static uint64_t count_units(data_kind_t kind, uint64_t n, uint64_t unit)
{
    if (kind == DATA_RECORDS) return n / unit;
    return n == 0 ? 0 : (n - 1) / unit; /* every window reads one token of its successor */
}

static int check_options(const char *name, const dataset_options_t *o, err_t *err)
{
    if (o->unit < 1 || o->unit > (uint64_t)1 << 32)
        return err_set(err, ERR_ARG, "%s: a unit of %llu tokens (1 to 2^32)", name,
                       (unsigned long long)o->unit);
    if (!(o->validation >= 0 && o->validation < 1))
        return err_set(err, ERR_ARG, "%s: validation fraction %g is outside [0, 1)", name,
                       o->validation);
    return 0;
}

/* Fill in the splits over `tokens`; everything else of self is set. */
static int cut(dataset_t *self, const uint16_t *tokens, const dataset_options_t *o, err_t *err)
{
    uint64_t items = o->kind == DATA_RECORDS ? self->n / o->unit : self->n;
    uint64_t train = (uint64_t)floor((double)items * (1.0 - o->validation));
    if (o->validation > 0 && train == items && items > 0) train--;
    if (o->kind == DATA_RECORDS) train *= o->unit;
    self->stride = o->unit;
    self->unit_tokens = o->kind == DATA_RECORDS ? o->unit : o->unit + 1;
    self->split[DATA_TRAIN] = (split_t){tokens, train, count_units(o->kind, train, o->unit)};
    self->split[DATA_VALIDATION] = (split_t){tokens + train, self->n - train,
                                             count_units(o->kind, self->n - train, o->unit)};
    if (self->split[DATA_TRAIN].units > 0) return 0;
    return err_set(
        err, ERR_ARG,
        "%s: %llu tokens, %llu of them for training; one %s reads %llu: give more data or "
        "shorter units",
        self->name, (unsigned long long)self->n, (unsigned long long)train,
        o->kind == DATA_RECORDS ? "record" : "window", (unsigned long long)self->unit_tokens);
}

dataset_t *dataset_open(const char *path, const dataset_options_t *options, err_t *err)
{
    if (check_options(path, options, err) < 0) return NULL;
    dataset_t *self = mem_calloc(1, sizeof *self);
    self->name = mem_strdup(path);
    int rc = file_map(path, &self->map, err);
    if (rc == 0 && self->map.n % 2 != 0)
        rc = err_set(err, ERR_ARG, "%s: %zu bytes are no sequence of 16-bit tokens", path,
                     self->map.n);
    self->n = self->map.n / 2;
    if (rc == 0) rc = cut(self, (const uint16_t *)(const void *)self->map.at, options, err);
    if (rc < 0) dataset_destroy(&self);
    return self;
}

dataset_t *dataset_from_tokens(const char *name, const uint16_t *tokens, size_t n,
                               const dataset_options_t *options, err_t *err)
{
    if (check_options(name, options, err) < 0) return NULL;
    dataset_t *self = mem_calloc(1, sizeof *self);
    self->name = mem_strdup(name);
    self->n = n;
    self->owned = mem_calloc(n, sizeof *tokens);
    if (n) memcpy(self->owned, tokens, n * sizeof *tokens);
    if (cut(self, self->owned, options, err) < 0) dataset_destroy(&self);
    return self;
}

void dataset_destroy(dataset_t **self_p)
{
    if (!self_p || !*self_p) return;
    dataset_t *self = *self_p;
    file_unmap(&self->map);
    free(self->owned);
    free(self->name);
    free(self);
    *self_p = NULL;
}

uint64_t dataset_tokens(const dataset_t *self, data_split_t split)
{
    return self->split[split].n;
}

uint64_t dataset_units(const dataset_t *self, data_split_t split)
{
    return self->split[split].units;
}

uint64_t dataset_unit_tokens(const dataset_t *self)
{
    return self->unit_tokens;
}

const uint16_t *dataset_unit(const dataset_t *self, data_split_t split, uint64_t unit, err_t *err)
{
    const split_t *s = &self->split[split];
    if (unit < s->units) return s->tokens + unit * self->stride;
    err_set(err, ERR_ARG, "%s: unit %llu of %llu %s units", self->name, (unsigned long long)unit,
            (unsigned long long)s->units, split == DATA_TRAIN ? "training" : "validation");
    return NULL;
}

uint16_t dataset_max_token(const dataset_t *self)
{
    const uint16_t *tokens = self->split[DATA_TRAIN].tokens;
    uint16_t largest = 0;
    for (uint64_t i = 0; i < self->n; i++)
        if (tokens[i] > largest) largest = tokens[i];
    return largest;
}
