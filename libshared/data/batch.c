/* Units of token data -> integer batch arguments. */
#include "data/batch.h"

#include <string.h>

#include "data/token_bytes.h"

enum { WEIGHTS = 2 }; /* windows: the argument of what targets count */

static int check_arg(int i, const ir_type_t *type, err_t *err)
{
    char text[IR_TYPE_TEXT];
    if (!dtype_is_int(type->dtype) || dtype_bits(type->dtype) < 8)
        return err_set(err, ERR_TYPE,
                       "batch argument %d is %s: tokens need i8 to i64 or ui8 to ui64", i,
                       ir_type_text(type, text));
    if (type->rank < 1 || ir_type_count(type) < 1)
        return err_set(err, ERR_SHAPE, "batch argument %d is %s: it holds no row of tokens", i,
                       ir_type_text(type, text));
    return 0;
}

static int layout_windows(const ir_type_t *types, batch_layout_t *l, err_t *err)
{
    if (l->n_arg != 2 && l->n_arg != 3)
        return err_set(err, ERR_SHAPE,
                       "windows fill two arguments (inputs, targets), or three with weights, the "
                       "module has %d; records fill any",
                       l->n_arg);
    if (l->n_arg == 3 && (l->dtype[2] != DT_F32 || l->n[2] != l->n[1]))
        return err_set(err, ERR_SHAPE,
                       "windows: the third argument is the targets' weights, %llu of f32; records "
                       "fill any",
                       (unsigned long long)l->n[1]);
    if (l->n[0] != l->n[1])
        return err_set(err, ERR_SHAPE,
                       "windows: inputs have %llu elements, targets %llu; records fill any",
                       (unsigned long long)l->n[0], (unsigned long long)l->n[1]);
    l->unit = (uint64_t)types[0].dim[types[0].rank - 1];
    l->unit_tokens = l->unit + 1;
    l->units = l->n[0] / l->unit;
    return 0;
}

data_kind_t batch_kind(const char *word)
{
    return strcmp(word, "records") == 0 ? DATA_RECORDS
           : strcmp(word, "rows") == 0  ? DATA_ROWS
                                        : DATA_WINDOWS;
}

static int layout_rows(const ir_type_t *types, int n_arg, batch_layout_t *out, err_t *err)
{
    char text[IR_TYPE_TEXT];
    batch_layout_t l = {.kind = DATA_ROWS, .n_arg = n_arg, .token_bytes = 2};
    uint64_t bytes = 0;
    for (int i = 0; i < n_arg; i++) {
        bool whole = types[i].dtype == DT_I1 || dtype_bits(types[i].dtype) >= 8;
        if (types[i].rank < 1 || ir_type_count(&types[i]) < 1 || !whole)
            return err_set(err, ERR_SHAPE, "batch argument %d is %s: it has no rows of bytes", i,
                           ir_type_text(&types[i], text));
        if (types[i].dim[0] != types[0].dim[0])
            return err_set(err, ERR_SHAPE,
                           "batch argument %d is %s, but argument 0 has %lld rows: records fill a "
                           "row of each",
                           i, ir_type_text(&types[i], text), (long long)types[0].dim[0]);
        l.dtype[i] = types[i].dtype;
        l.n[i] = (uint64_t)ir_type_count(&types[i]);
        l.row_bytes[i] = (uint64_t)ir_type_bytes(&types[i]) / (uint64_t)types[i].dim[0];
        bytes += l.row_bytes[i];
    }
    l.units = (uint64_t)types[0].dim[0];
    l.unit = l.unit_tokens = (bytes + 1) / 2;
    l.tokens = l.units * l.unit;
    *out = l;
    return 0;
}

int batch_layout(data_kind_t kind, const ir_type_t *types, int n_arg, batch_layout_t *out,
                 err_t *err)
{
    if (n_arg < 1 || n_arg > BATCH_MAX_ARGS)
        return err_set(err, ERR_SHAPE, "the module has %d batch arguments (1 to %d)", n_arg,
                       BATCH_MAX_ARGS);
    if (kind == DATA_ROWS) return layout_rows(types, n_arg, out, err);
    batch_layout_t l = {.kind = kind, .n_arg = n_arg, .token_bytes = 2, .units = 1};
    for (int i = 0; i < n_arg; i++) {
        bool weights = kind == DATA_WINDOWS && i == WEIGHTS && types[i].dtype == DT_F32;
        if (!weights && check_arg(i, &types[i], err) < 0) return -1;
        l.dtype[i] = types[i].dtype;
        l.n[i] = (uint64_t)ir_type_count(&types[i]);
        l.unit += l.n[i];
    }
    l.unit_tokens = l.unit;
    if (kind == DATA_WINDOWS && layout_windows(types, &l, err) < 0) return -1;
    l.tokens = l.units * l.unit;
    *out = l;
    return 0;
}

uint64_t batch_units(const batch_layout_t *self, uint64_t tokens)
{
    if (self->kind != DATA_WINDOWS) return tokens / self->unit;
    return tokens ? (tokens - 1) / self->unit : 0;
}

/* Largest token that fits the element type. */
static uint32_t type_limit(dtype_t dtype)
{
    int bits = dtype_bits(dtype) - (dtype_is_signed(dtype) ? 1 : 0);
    return bits >= 32 ? UINT32_MAX : ((uint32_t)1 << bits) - 1;
}

/* Tokens [from, from + n) become arg[at, at + n). */
static void put_tokens(const batch_layout_t *self, const void *tokens, uint64_t from, uint64_t n,
                       int arg, void *const *args, uint64_t at)
{
    size_t width = dtype_bytes(self->dtype[arg]);
    char *to = (char *)args[arg] + at * width;
    for (uint64_t i = 0; i < n; i++, to += width) {
        /* little-endian: the low bytes come first */
        uint64_t wide = token_at(tokens, from + i, self->token_bytes) & ~TOKEN_SILENT;
        memcpy(to, &wide, width);
    }
}

/* What targets [from, from + n) count. */
static void put_weights(const batch_layout_t *self, const void *tokens, uint64_t from, uint64_t n,
                        float *to)
{
    for (uint64_t i = 0; i < n; i++)
        to[i] = token_at(tokens, from + i, self->token_bytes) & TOKEN_SILENT ? 0 : 1;
}

static int check_tokens(const batch_layout_t *self, const void *tokens, size_t n, uint32_t vocab,
                        err_t *err)
{
    uint32_t limit = UINT32_MAX;
    int narrow = 0, n_arg = self->kind == DATA_WINDOWS ? WEIGHTS : self->n_arg;
    bool weighted = self->kind == DATA_WINDOWS && self->n_arg > WEIGHTS;
    for (int i = 0; i < n_arg; i++) {
        if (type_limit(self->dtype[i]) >= limit) continue;
        limit = type_limit(self->dtype[i]);
        narrow = i;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t token = token_at(tokens, i, self->token_bytes);
        if (token & TOKEN_SILENT && !weighted)
            return err_set(err, ERR_TYPE,
                           "the tokens say which of them count, but the model's loss takes no "
                           "weights: print it with pcp model --weighted");
        token &= ~TOKEN_SILENT;
        if (vocab && token >= vocab)
            return err_set(
                err, ERR_ARG,
                "token %u (place %zu of unit %zu of the batch) is outside the vocabulary "
                "of %u",
                token, i % self->unit_tokens, i / self->unit_tokens, vocab);
        if (token > limit)
            return err_set(err, ERR_TYPE, "token %u does not fit %s, the type of batch argument %d",
                           token, dtype_name(self->dtype[narrow]), narrow);
    }
    return 0;
}

static void fill_rows(const batch_layout_t *self, const void *tokens, void *const *args)
{
    for (uint64_t u = 0; u < self->units; u++) {
        const char *from = (const char *)tokens + u * self->unit_tokens * 2;
        for (int i = 0; i < self->n_arg; i++) {
            memcpy((char *)args[i] + u * self->row_bytes[i], from, (size_t)self->row_bytes[i]);
            from += self->row_bytes[i];
        }
    }
}

int batch_fill(const batch_layout_t *self, const void *tokens, size_t n_tokens, uint32_t vocab,
               void *const *args, err_t *err)
{
    if (n_tokens != self->units * self->unit_tokens)
        return err_set(err, ERR_ARG, "a batch takes %llu units of %llu tokens, not %zu tokens",
                       (unsigned long long)self->units, (unsigned long long)self->unit_tokens,
                       n_tokens);
    if (self->kind == DATA_ROWS) {
        fill_rows(self, tokens, args);
        return 0;
    }
    if (check_tokens(self, tokens, n_tokens, vocab, err) < 0) return -1;
    if (self->kind == DATA_RECORDS) {
        uint64_t at = 0;
        for (int i = 0; i < self->n_arg; at += self->n[i], i++)
            put_tokens(self, tokens, at, self->n[i], i, args, 0);
        return 0;
    }
    for (uint64_t row = 0; row < self->units; row++) {
        uint64_t from = row * self->unit_tokens, at = row * self->unit;
        for (int i = 0; i < WEIGHTS; i++)
            put_tokens(self, tokens, from + (uint64_t)i, self->unit, i, args, at);
        if (self->n_arg > WEIGHTS)
            put_weights(self, tokens, from + 1, self->unit, (float *)args[WEIGHTS] + at);
    }
    return 0;
}

batch_sample_t batch_sample(const batch_layout_t *self, uint64_t n_units, uint64_t most)
{
    uint64_t all = n_units / self->units, some = most / self->tokens;
    if (most == 0 || all * self->tokens <= most) return (batch_sample_t){all, false};
    return (batch_sample_t){some ? some : 1, true};
}
