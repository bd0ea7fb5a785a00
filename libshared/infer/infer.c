/* Sequences in their slots, and who reads them: programs that keep keys and values, or @logits over
 * windows. */
#include "infer/infer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "derive/derive.h"
#include "infer/scorer.h"
#include "infer/steps.h"
#include "model/family.h"
#include "parse/parse.h"

typedef struct {
    bool used;
    VEC(uint32_t) token;
    size_t n_read;     /* of these: what is kept, also when it has ended */
    uint64_t turn;     /* when it was begun */
    float *scores;     /* [vocab], of the last one when all are read */
    const float *lent; /* these while they are where they were computed; NULL: scores has them */
    float *hidden;     /* [width], as they are; wanted or not */
    bool wants_hidden;
} sequence_t;

struct infer {
    infer_facts_t facts;
    steps_t *steps; /* or: */
    scorer_t *scorer;
    sequence_t *sequence; /* [slots] */
    uint32_t *next;       /* [slots]: of a step */
    int64_t *at;
    uint64_t n_begun, n_reused;
    err_t why; /* what facts.why says */
};

infer_weights_t infer_weights(const char *text)
{
    return strcmp(text, "f32") == 0    ? INFER_F32
           : strcmp(text, "bf16") == 0 ? INFER_BF16
           : strcmp(text, "int8") == 0 ? INFER_I8
                                       : INFER_AS_TRAINED;
}

infer_keep_t infer_keep(const char *text)
{
    return strcmp(text, "f32") == 0    ? INFER_KEEP_F32
           : strcmp(text, "bf16") == 0 ? INFER_KEEP_BF16
                                       : INFER_KEEP_AS_WEIGHTS;
}

infer_activations_t infer_activations(const char *text)
{
    return strcmp(text, "weights") == 0 ? INFER_ACTIVATIONS_AS_WEIGHTS : INFER_ACTIVATIONS_F32;
}

/* --- opening --- */

/* What @logits says of the model, and the family's description (copied) or NULL. */
typedef struct {
    int64_t length;
    bool bf16;
    char *config;
    derive_t *derived;    /* of other models; NULL: self->why */
    adapters_t *adapters; /* of the parameters */
} model_facts_t;

static int look(const infer_source_t *source, model_facts_t *facts, err_t *err)
{
    ir_module_t *module = parse_stablehlo(source->text, source->n_text, source->file, err);
    if (!module) return -1;
    if (scorer_logits(module, err) < 0) {
        ir_module_destroy(&module);
        return -1;
    }
    const ir_fn_t *fn = ir_module_find(module, "logits");
    const char *config = family_config(module);
    int n = fn ? fn->body->n_arg : 0;
    const ir_type_t *tokens = n > 0 ? ir_type_of(fn, ir_fn_param(fn, n - 1)) : NULL;
    if (config) facts->config = mem_strdup(config);
    for (int i = 0; i < n; i++)
        facts->bf16 = facts->bf16 || ir_type_of(fn, ir_fn_param(fn, i))->dtype == DT_BF16;
    facts->length = tokens && tokens->rank == 2 ? tokens->dim[1] : 0;
    facts->adapters = adapters_new(module, source->params, err);
    ir_module_destroy(&module);
    return facts->adapters ? 0 : -1;
}

/* Of a model of no known family: is what it keeps told by its graph? */
static void look_closer(infer_t *self, const infer_source_t *source, model_facts_t *facts)
{
    ir_module_t *module = parse_stablehlo(source->text, source->n_text, source->file, &self->why);
    facts->derived = module ? derive_new(module, &self->why) : NULL;
    if (facts->derived) facts->length = derive_length(facts->derived);
}

static int check_length(int64_t has, int64_t wanted, err_t *err)
{
    return wanted <= has ? 0
                         : err_set(err, ERR_ARG, "%lld tokens: @logits reads %lld",
                                   (long long)wanted, (long long)has);
}

/* Keys and values are no more exact than the matrices that made them. Derived programs read them by products, which
 * are as slow with bf16. */
static infer_keep_t choose_keep(const infer_options_t *o, bool trained_half, bool derived)
{
    bool half = o->weights == INFER_BF16 || o->weights == INFER_I8 ||
                (o->weights == INFER_AS_TRAINED && trained_half);
    if (o->keep != INFER_KEEP_AS_WEIGHTS) return o->keep;
    return half && !derived ? INFER_KEEP_BF16 : INFER_KEEP_F32;
}

static int open_steps(infer_t *self, const infer_source_t *source, infer_options_t o,
                      model_facts_t *facts, err_t *err)
{
    infer_source_t merged = *source;
    merged.adapters = facts->adapters;
    bool half = facts->bf16 && !facts->derived; /* derived programs read what the module has */
    o.keep = choose_keep(&o, facts->bf16, facts->derived != NULL);
    if (o.weights == INFER_AS_TRAINED) o.weights = half ? INFER_BF16 : INFER_F32;
    self->facts.length = o.length > 0 ? o.length : facts->length;
    if (facts->derived && check_length(facts->length, o.length, err) < 0) return -1;
    char hash[HASH_HEX];
    hash_content(source->text, source->n_text, hash);
    const steps_from_t from = facts->derived ? (steps_from_t){hash, &facts->derived}
                                             : (steps_from_t){facts->config, NULL};
    self->steps = steps_new(&from, self->facts.length, &merged, &o, &self->facts.compiled, err);
    if (!self->steps) return -1;
    self->facts.vocab = steps_vocab(self->steps);
    self->facts.width = steps_width(self->steps);
    const plan_t *plan = steps_plan(self->steps);
    for (int i = 0; i < plan->n_tensor; i++) {
        const plan_tensor_t *t = &plan->tensor[i];
        if (t->role == ROLE_PARAM) self->facts.weight_bytes += t->n_bytes;
        if (t->role == ROLE_STATE) self->facts.kept_bytes += t->n_bytes;
    }
    return 0;
}

static int open_window(infer_t *self, const infer_source_t *source, const infer_options_t *o,
                       err_t *err)
{
    self->facts.window = true;
    self->facts.why = o->window ? "as asked for" : self->why.text;
    self->scorer = scorer_open(source, o, &self->facts.compiled, err);
    if (!self->scorer) return -1;
    self->facts.vocab = scorer_vocab(self->scorer);
    self->facts.length = scorer_length(self->scorer);
    if (check_length(self->facts.length, o->length, err) < 0) return -1;
    if (o->length > 0) self->facts.length = o->length;
    return 0;
}

enum { MOST_SLOTS = 4096 };

infer_t *infer_open(const infer_source_t *source, const infer_options_t *o, err_t *err)
{
    if (o->slots < 0 || o->slots > MOST_SLOTS || o->length < 0) {
        err_set(err, ERR_ARG, "%d sequences of %lld tokens: 1 to %d of any length", o->slots,
                (long long)o->length, MOST_SLOTS);
        return NULL;
    }
    infer_t *self = mem_calloc(1, sizeof *self);
    model_facts_t facts = {0};
    self->facts.slots = o->slots > 0 ? o->slots : 1;
    self->facts.slides = o->slide;
    int status = look(source, &facts, err);
    if (status == 0 && !facts.config && !o->window) look_closer(self, source, &facts);
    bool known = (facts.config || facts.derived) && facts.length > 0 && !o->window;
    if (status == 0)
        status = known ? open_steps(self, source, *o, &facts, err)
                       : open_window(self, source, o, err);
    free(facts.config);
    derive_destroy(&facts.derived);
    adapters_destroy(&facts.adapters);
    size_t n = (size_t)self->facts.slots;
    self->sequence = mem_calloc(n, sizeof *self->sequence);
    self->next = mem_calloc(n, sizeof *self->next);
    self->at = mem_calloc(n, sizeof *self->at);
    if (status < 0) infer_close(&self);
    return self;
}

int infer_source_of(const checkpoint_t *checkpoint, infer_source_t *source, err_t *err)
{
    *source = (infer_source_t){.file = "model.mlir", .params = checkpoint_params(checkpoint)};
    source->text = checkpoint_file(checkpoint, "model.mlir", &source->n_text);
    return source->text ? 0 : err_set(err, ERR_CORRUPT, "has no model.mlir");
}

infer_t *infer_open_checkpoint(const checkpoint_t *checkpoint, const infer_options_t *o, err_t *err)
{
    infer_source_t source;
    return infer_source_of(checkpoint, &source, err) < 0 ? NULL : infer_open(&source, o, err);
}

void infer_close(infer_t **self_p)
{
    infer_t *self = self_p ? *self_p : NULL;
    if (!self) return;
    steps_destroy(&self->steps);
    scorer_destroy(&self->scorer);
    for (int i = 0; i < self->facts.slots; i++) {
        VEC_FREE(&self->sequence[i].token);
        free(self->sequence[i].scores);
        free(self->sequence[i].hidden);
    }
    free(self->sequence);
    free(self->next);
    free(self->at);
    free(self);
    *self_p = NULL;
}

infer_facts_t infer_facts(const infer_t *self)
{
    return self->facts;
}

exec_t *infer_exec(infer_t *self)
{
    return self->steps ? steps_exec(self->steps) : NULL;
}

/* --- sequences --- */

static int check_token(const infer_t *self, uint32_t token, err_t *err)
{
    return token < self->facts.vocab
               ? 0
               : err_set(err, ERR_ARG, "token %u is outside the model's vocabulary of %lld", token,
                         (long long)self->facts.vocab);
}

/* How many first tokens are those that a place has kept; the last of a prompt is read anyway. */
static size_t shared(const sequence_t *s, const uint32_t *tokens, size_t n)
{
    size_t k = 0;
    while (k + 1 < n && k < s->n_read && s->token.at[k] == tokens[k]) k++;
    return k;
}

/* Before anything else is computed: scores that somebody may still read. */
static void keep_lent(infer_t *self)
{
    for (int i = 0; i < self->facts.slots; i++) {
        sequence_t *s = &self->sequence[i];
        if (s->lent && s->used && s->n_read == s->token.n)
            memcpy(s->scores, s->lent, (size_t)self->facts.vocab * sizeof *s->scores);
        s->lent = NULL;
    }
}

enum { WORTH_COPYING = 16 }; /* tokens; fewer are read sooner */

/* The place of a new sequence, whose first *n_kept tokens are kept there then. It is the one that has
 * most of them, if that is most of what it has; else the one that was begun longest ago, with a copy of
 * them. -1: none is free. */
static int take_place(infer_t *self, const uint32_t *tokens, size_t n, size_t *n_kept, err_t *err)
{
    int oldest = -1, best = -1;
    size_t most = 0;
    for (int i = 0; i < self->facts.slots; i++) {
        const sequence_t *s = &self->sequence[i];
        size_t k = self->steps ? shared(s, tokens, n) : 0;
        if (!s->used && (oldest < 0 || s->turn < self->sequence[oldest].turn)) oldest = i;
        if (k <= most) continue;
        most = k;
        best = i;
    }
    *n_kept = 0;
    if (oldest < 0 || best < 0) return oldest;
    bool mine = !self->sequence[best].used && 2 * most >= self->sequence[best].n_read;
    *n_kept = most;
    if (mine || best == oldest) return best;
    *n_kept = shared(&self->sequence[oldest], tokens, n);
    if (most < *n_kept + WORTH_COPYING) return oldest;
    keep_lent(self);
    if (steps_copy(self->steps, best, oldest, (int64_t)most, err) < 0) return -2;
    *n_kept = most;
    return oldest;
}

static int check_prompt(const infer_t *self, const uint32_t *tokens, size_t n, err_t *err)
{
    if (n == 0) return err_set(err, ERR_ARG, "a sequence begins with at least one token");
    if (n > (size_t)self->facts.length && !self->facts.slides)
        return err_set(err, ERR_ARG, "a prompt of %zu tokens: the model's context has %lld", n,
                       (long long)self->facts.length);
    for (size_t k = 0; k < n; k++)
        if (check_token(self, tokens[k], err) < 0) return -1;
    return 0;
}

int infer_add(infer_t *self, const uint32_t *tokens, size_t n, err_t *err)
{
    size_t most = (size_t)self->facts.length, n_kept = 0;
    if (check_prompt(self, tokens, n, err) < 0) return -1;
    if (n > most) tokens += n - most;
    if (n > most) n = most;
    int i = take_place(self, tokens, n, &n_kept, err);
    if (i == -1) return err_set(err, ERR_STATE, "all %d sequences are in use", self->facts.slots);
    if (i < 0) return -1;
    sequence_t *s = &self->sequence[i];
    s->used = true;
    s->wants_hidden = false;
    s->turn = ++self->n_begun;
    s->token.n = 0;
    s->n_read = n_kept;
    self->n_reused += n_kept;
    for (size_t k = 0; k < n; k++) VEC_PUSH(&s->token, tokens[k]);
    if (!s->scores) s->scores = mem_calloc((size_t)self->facts.vocab, sizeof *s->scores);
    return i;
}

uint64_t infer_reused(const infer_t *self)
{
    return self->n_reused;
}

void infer_end(infer_t *self, int sequence)
{
    self->sequence[sequence].used = false;
}

/* The window slides by one token; what is kept has its positions, and is read again. */
static void make_room(infer_t *self, sequence_t *s)
{
    size_t drop = self->steps && s->token.n > 1 ? (s->token.n + 1) / 2 : 1;
    memmove(s->token.at, s->token.at + drop, (s->token.n - drop) * sizeof *s->token.at);
    s->token.n -= drop;
    s->n_read = 0;
}

int infer_push(infer_t *self, int sequence, uint32_t token, err_t *err)
{
    sequence_t *s = &self->sequence[sequence];
    if (check_token(self, token, err) < 0) return -1;
    if (s->token.n >= (size_t)self->facts.length) {
        if (!self->facts.slides)
            return err_set(err, ERR_ARG, "the sequence fills the model's context of %lld tokens",
                           (long long)self->facts.length);
        make_room(self, s);
    }
    VEC_PUSH(&s->token, token);
    return 0;
}

void infer_cut(infer_t *self, int sequence, size_t n)
{
    sequence_t *s = &self->sequence[sequence];
    s->token.n = n;
    if (s->n_read > n - 1) s->n_read = n - 1;
}

size_t infer_room(const infer_t *self, int sequence)
{
    return (size_t)self->facts.length - self->sequence[sequence].token.n;
}

const float *infer_scores(const infer_t *self, int sequence)
{
    const sequence_t *s = &self->sequence[sequence];
    if (!s->used || s->n_read != s->token.n) return NULL;
    return s->lent ? s->lent : s->scores;
}

void infer_want_hidden(infer_t *self, int sequence)
{
    sequence_t *s = &self->sequence[sequence];
    s->wants_hidden = self->facts.width > 0;
    if (!s->hidden) s->hidden = mem_calloc((size_t)self->facts.width + 1, sizeof *s->hidden);
}

const float *infer_hidden(const infer_t *self, int sequence)
{
    const sequence_t *s = &self->sequence[sequence];
    return s->wants_hidden && infer_scores(self, sequence) ? s->hidden : NULL;
}

/* --- a step --- */

/* Row `row` of what was computed last is the sequence's. */
static int take_hidden(infer_t *self, sequence_t *s, int row, err_t *err)
{
    size_t width = (size_t)self->facts.width;
    if (!s->wants_hidden) return 0;
    const float *all = steps_hidden(self->steps, err);
    if (all) memcpy(s->hidden, all + (size_t)row * width, width * sizeof *all);
    return all ? 0 : -1;
}

static int check_scores(const infer_t *self, const float *scores, err_t *err)
{
    int bad = 0; /* in one sweep without branches, as there are many */
    for (int64_t i = 0; i < self->facts.vocab; i++) bad |= scores[i] != scores[i];
    for (int64_t i = 0; bad && i < self->facts.vocab; i++)
        if (isnan(scores[i]))
            return err_set(err, ERR_NUMERIC, "the model's score of token %lld is not a number",
                           (long long)i);
    return 0;
}

static int read_window(infer_t *self, sequence_t *s, err_t *err)
{
    size_t vocab = (size_t)self->facts.vocab;
    const float *all = scorer_run(self->scorer, s->token.at, s->token.n, err);
    if (!all) return -1;
    memcpy(s->scores, all + (s->token.n - 1) * vocab, vocab * sizeof *all);
    s->n_read = s->token.n;
    return check_scores(self, s->scores, err);
}

static int read_chunk(infer_t *self, int i, err_t *err)
{
    sequence_t *s = &self->sequence[i];
    int64_t n = steps_chunk(self->steps, (int64_t)(s->token.n - s->n_read));
    if (steps_read(self->steps, i, s->token.at + s->n_read, n, (int64_t)s->n_read, s->scores, err) <
        0)
        return -1;
    s->n_read += (size_t)n;
    if (s->n_read < s->token.n) return 0;
    return check_scores(self, s->scores, err) < 0 ? -1 : take_hidden(self, s, 0, err);
}

/* The one token that is left to be read, of all sequences that have one. The others stand where they
 * are, where what is written will be written over, or, when they have ended, behind the end, where
 * nothing is. */
static int read_next(infer_t *self, err_t *err)
{
    int n = 0;
    for (int i = 0; i < self->facts.slots; i++) {
        const sequence_t *s = &self->sequence[i];
        bool due = s->used && s->n_read + 1 == s->token.n;
        self->next[i] = due ? s->token.at[s->n_read] : 0;
        self->at[i] = s->used ? (int64_t)s->n_read : self->facts.length;
        if (due) n = i + 1;
    }
    if (n > 0 && steps_next(self->steps, n, self->next, self->at, err) < 0) return -1;
    for (int i = 0; i < n; i++) {
        sequence_t *s = &self->sequence[i];
        if (!s->used || s->n_read + 1 != s->token.n) continue;
        s->n_read++;
        s->lent = steps_peek(self->steps, i);
        if (!s->lent && steps_scores(self->steps, i, s->scores, err) < 0) return -1;
        if (check_scores(self, s->lent ? s->lent : s->scores, err) < 0 ||
            take_hidden(self, s, i, err) < 0)
            return -1;
    }
    return 0;
}

int infer_step(infer_t *self, err_t *err)
{
    keep_lent(self);
    for (int i = 0; i < self->facts.slots; i++) {
        sequence_t *s = &self->sequence[i];
        if (!s->used || s->n_read == s->token.n) continue;
        bool several = s->n_read + 1 < s->token.n;
        if (self->scorer ? read_window(self, s, err) < 0 : several && read_chunk(self, i, err) < 0)
            return -1;
    }
    return self->steps ? read_next(self, err) : 0;
}
