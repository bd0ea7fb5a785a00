/* Which texts a model writes at a time: those that came first, as many as it has slots; who comes later
 * takes a slot when one is free, between two tokens of the others. One thread.
 *
 * New weights of the same model (sched_load once more) write what begins from then on; what has begun
 * is written to its end with the old ones, which then are closed. */
#ifndef GATEWAY_SCHED_H
#define GATEWAY_SCHED_H

#include "gateway/job.h"
#include "infer/infer.h"

/* A text has grown, or ended (end, or error not NULL: then for good). Borrowed. */
typedef struct {
    uint64_t id;
    const char *piece; /* n bytes */
    size_t n;
    const writer_token_t *token; /* NULL: nobody asked, or the end */
    const float *hidden;         /* [width], NULL: nobody asked */
    size_t width;
    writer_end_t end;
    const char *error;
    bool again;       /* with error: its weights are not the newest (job_t), others may write it */
    uint32_t number;  /* of this news of the text, from 0 */
    unsigned weights; /* that write it, by the number of their sched_load; 0: none did */
} sched_news_t;
typedef void sched_fn(void *user, const sched_news_t *news);

typedef struct sched sched_t;

sched_t *sched_new(sched_fn *tell, void *user);
void sched_destroy(sched_t **self_p); /* nobody is told */

/* Takes the model; the tokenizer is borrowed until sched_destroy. */
void sched_load(sched_t *self, infer_t *model, const tokenizer_t *tokenizer);
void sched_add(sched_t *self, job_t *job);     /* takes the job */
void sched_cancel(sched_t *self, uint64_t id); /* of one that has ended: nothing */
bool sched_busy(const sched_t *self);          /* sched_step would do something */
void sched_step(sched_t *self);                /* one token of each text, and who comes next */
size_t sched_running(const sched_t *self);
size_t sched_waiting(const sched_t *self);
uint64_t sched_reused(const sched_t *self); /* tokens of prompts that were not read again */
size_t sched_models(const sched_t *self);   /* weights that are loaded */

#endif
