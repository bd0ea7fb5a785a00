/* A text that is to be written, on its way from the loop to the thread that owns the model. It owns
 * all that it points to. */
#ifndef GATEWAY_JOB_H
#define GATEWAY_JOB_H

#include "infer/writer.h"
#include "serve/request.h"

typedef struct job job_t;
struct job {
    uint64_t id;
    uint32_t *tokens; /* n of them: the prompt */
    size_t n_tokens;
    writer_options_t how;
    unsigned weights; /* of that sched_load alone, counted from 1; 0: of the newest */
    job_t *next;      /* in the list of who has it */
};

/* A job that writes as the request says, with `seed` in the place of its own; stop strings besides the
 * request's; the tokens that end a text. All copied. */
job_t *job_new(uint64_t id, const request_t *request, const uint32_t *tokens, size_t n_tokens,
               uint64_t seed);
void job_add_stop(job_t *self, const char *stop);
job_t *job_copy(const job_t *self, uint64_t id);
void job_set_end(job_t *self, const uint32_t *end, size_t n);
void job_free(job_t *self);

#endif
