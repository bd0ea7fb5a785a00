/* Items side by side, one in each of infer's sequences: its context is read once, and cut back to
 * before each choice. */
#include "pcp/eval_choices.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ckpt/checkpoint.h"
#include "ckpt/run_checkpoint.h"
#include "infer/choose.h"
#include "infer/infer.h"
#include "infer/writer.h"
#include "pcp/choice_items.h"
#include "pcp/progress.h"

/* A sequence, and the item that it reads. */
typedef struct {
    int sequence;        /* -1: none yet */
    choice_item_t *item; /* NULL: idle */
    size_t choice, n;    /* of its tokens the sequence has the first n */
} reader_t;

typedef struct {
    const eval_choices_t *options;
    tokenizer_t *tokenizer;
    infer_t *model;
    infer_facts_t facts;
    choice_items_t items;
    reader_t *reader; /* [slots] */
    size_t n_begun, n_done;
} job_t;

static void job_fini(job_t *self)
{
    free(self->reader);
    choice_items_fini(&self->items);
    infer_close(&self->model);
    tokenizer_destroy(&self->tokenizer);
}

/* --- opening --- */

/* A choice's last token is foretold, and not read. */
static int check_choice(const job_t *job, const choice_t *c, err_t *err)
{
    size_t most = (size_t)job->facts.length;
    if (c->n - 1 > most)
        return err_set(err, ERR_ARG, "%zu tokens with its context: the model's context has %zu",
                       c->n, most);
    for (size_t i = 0; i < c->n; i++)
        if (c->token[i] >= job->facts.vocab)
            return err_set(err, ERR_ARG, "token %u is outside the model's vocabulary of %lld",
                           c->token[i], (long long)job->facts.vocab);
    return 0;
}

static int check_items(const job_t *job, err_t *err)
{
    for (size_t i = 0; i < job->items.n; i++)
        for (size_t k = 0; k < job->items.at[i].n; k++)
            if (check_choice(job, &job->items.at[i].choice[k], err) < 0)
                return err_prefix(err, "%s:%llu: choice %zu: ", job->options->file,
                                  (unsigned long long)job->items.at[i].line, k);
    return 0;
}

static int open_model(job_t *job, const checkpoint_t *checkpoint, err_t *err)
{
    const eval_choices_t *o = job->options;
    size_t slots = o->batch > 0 ? (size_t)o->batch : 8;
    if (slots > job->items.n) slots = job->items.n;
    const infer_options_t options = {.threads = o->threads, .slots = (int)slots};
    job->model = infer_open_checkpoint(checkpoint, &options, err);
    if (!job->model) return err_prefix(err, "%s: ", o->checkpoint);
    job->facts = infer_facts(job->model);
    if (writer_fits(job->tokenizer, job->facts.vocab, err) < 0)
        return err_prefix(err, "%s: ", o->checkpoint);
    job->reader = mem_calloc(slots, sizeof *job->reader);
    for (size_t i = 0; i < slots; i++) job->reader[i].sequence = -1;
    return check_items(job, err);
}

static int open_job(job_t *job, err_t *err)
{
    checkpoint_t *checkpoint = run_checkpoint_open(job->options->checkpoint, err);
    if (!checkpoint) return -1;
    const char *json = checkpoint_info(checkpoint)->tokenizer;
    int status = json ? 0 : err_set(err, ERR_CORRUPT, "the checkpoint names no tokenizer");
    if (status == 0 && !(job->tokenizer = tokenizer_parse(json, err))) status = -1;
    if (status < 0) err_prefix(err, "%s: ", job->options->checkpoint);
    if (status == 0)
        status = choice_items_read(job->options->file, job->tokenizer, &job->items, err);
    if (status == 0) status = open_model(job, checkpoint, err);
    checkpoint_close(&checkpoint);
    return status;
}

/* --- reading --- */

/* What two texts begin with, as far as the second one's context. */
static size_t shared(const choice_t *a, size_t n_a, const choice_t *b)
{
    size_t n = 0;
    while (n < n_a && n < b->first && a->token[n] == b->token[n]) n++;
    return n;
}

/* The reader's sequence becomes the context of the choice at hand; of the one before it has read n. */
static int begin_choice(job_t *job, reader_t *r, err_t *err)
{
    const choice_t *c = &r->item->choice[r->choice];
    size_t keep = r->choice > 0 ? shared(c - 1, r->n, c) : 0;
    r->n = c->first;
    if (keep > 0) {
        infer_cut(job->model, r->sequence, keep);
        for (size_t i = keep; i < c->first; i++)
            if (infer_push(job->model, r->sequence, c->token[i], err) < 0) return -1;
        return 0;
    }
    if (r->sequence >= 0) infer_end(job->model, r->sequence);
    r->sequence = infer_add(job->model, c->token, c->first, err);
    return r->sequence < 0 ? -1 : 0;
}

static int begin_item(job_t *job, reader_t *r, err_t *err)
{
    r->item = job->n_begun < job->items.n ? &job->items.at[job->n_begun++] : NULL;
    r->choice = 0;
    return r->item ? begin_choice(job, r, err) : 0;
}

static int failed(const job_t *job, const reader_t *r, err_t *err)
{
    return err_prefix(err, "%s:%llu: choice %zu: ", job->options->file,
                      (unsigned long long)r->item->line, r->choice);
}

/* Count the token that the scores foretell, and go on behind it. */
static int take(job_t *job, reader_t *r, const float *scores, err_t *err)
{
    choice_t *c = &r->item->choice[r->choice];
    double logprob = choose_logprob(scores, job->facts.vocab, c->token[r->n]);
    if (!isfinite(logprob)) {
        err_set(err, ERR_NUMERIC, "the model's scores rule out token %zu", r->n);
        return failed(job, r, err);
    }
    c->logprob += logprob;
    if (r->n + 1 < c->n) return infer_push(job->model, r->sequence, c->token[r->n++], err);
    if (++r->choice < r->item->n) return begin_choice(job, r, err);
    job->n_done++;
    return begin_item(job, r, err);
}

static int read_all(job_t *job, progress_t *progress, err_t *err)
{
    int slots = job->facts.slots, status = 0;
    for (int i = 0; status == 0 && i < slots; i++) status = begin_item(job, &job->reader[i], err);
    while (status == 0 && job->n_done < job->items.n) {
        status = infer_step(job->model, err);
        for (int i = 0; status == 0 && i < slots; i++) {
            reader_t *r = &job->reader[i];
            const float *scores = r->item ? infer_scores(job->model, r->sequence) : NULL;
            if (scores) status = take(job, r, scores, err);
        }
        progress_at(progress, (double)job->n_done, (double)job->items.n, PROGRESS_THINGS);
    }
    return status;
}

/* --- results --- */

static size_t likeliest(const choice_item_t *item, bool norm)
{
    size_t best = 0;
    double most = -INFINITY;
    for (size_t i = 0; i < item->n; i++) {
        const choice_t *c = &item->choice[i];
        double x = norm ? c->logprob / (double)c->n_bytes : c->logprob;
        if (x > most) best = i, most = x;
    }
    return best;
}

typedef struct {
    double mean, error; /* error: of the mean, sqrt(p (1 - p) / (n - 1)); NaN of one item */
} accuracy_t;

static accuracy_t accuracy(const choice_items_t *items, bool norm)
{
    double n = (double)items->n, right = 0;
    for (size_t i = 0; i < items->n; i++)
        right += likeliest(&items->at[i], norm) == items->at[i].answer;
    double p = right / n;
    return (accuracy_t){p, n > 1 ? sqrt(p * (1 - p) / (n - 1)) : NAN};
}

static json_t *item_json(const choice_item_t *item)
{
    json_t *choices = json_array();
    for (size_t i = 0; i < item->n; i++) {
        const choice_t *c = &item->choice[i];
        json_array_append_new(choices, json_pack("{s:f, s:I, s:I}", "logprob", c->logprob, "tokens",
                                                 (json_int_t)(c->n - c->first), "bytes",
                                                 (json_int_t)c->n_bytes));
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:o}", "line", (json_int_t)item->line, "answer",
                     (json_int_t)item->answer, "acc", (json_int_t)likeliest(item, false),
                     "acc_norm", (json_int_t)likeliest(item, true), "choices", choices);
}

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static void print_json(const choice_items_t *items, accuracy_t acc, accuracy_t norm)
{
    json_t *json = json_object(), *results = json_array();
    for (size_t i = 0; i < items->n; i++) json_array_append_new(results, item_json(&items->at[i]));
    json_object_set_new(json, "items", json_integer((json_int_t)items->n));
    json_object_set_new(json, "acc", number(acc.mean));
    json_object_set_new(json, "acc_stderr", number(acc.error));
    json_object_set_new(json, "acc_norm", number(norm.mean));
    json_object_set_new(json, "acc_norm_stderr", number(norm.error));
    json_object_set_new(json, "results", results);
    json_dumpf(json, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(json);
}

static void print_accuracy(const char *name, accuracy_t a)
{
    printf("%-11s %.4f", name, a.mean);
    if (isfinite(a.error)) printf(" +- %.4f", a.error);
    putchar('\n');
}

static void print(const job_t *job)
{
    accuracy_t acc = accuracy(&job->items, false), norm = accuracy(&job->items, true);
    if (job->options->json) {
        print_json(&job->items, acc, norm);
    } else {
        printf("%-11s %zu\n", "items", job->items.n);
        print_accuracy("acc", acc);
        print_accuracy("acc_norm", norm);
    }
}

int eval_choices(const eval_choices_t *options, err_t *err)
{
    job_t job = {.options = options};
    progress_t progress;
    progress_aside(&progress, "making the model ready for this machine");
    int status = open_job(&job, err);
    progress_end(&progress);
    if (status == 0) {
        progress_aside(&progress, "reading the items");
        status = read_all(&job, &progress, err);
        progress_end(&progress);
    }
    if (status == 0) print(&job);
    job_fini(&job);
    return status;
}
