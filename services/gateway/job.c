/* Deep copies of what a request says, as the request may be gone before its text is stopped. */
#include "gateway/job.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void *copy(const void *from, size_t n, size_t size)
{
    void *to = mem_calloc(n + 1, size);
    if (n > 0) memcpy(to, from, n * size);
    return to;
}

job_t *job_new(uint64_t id, const request_t *request, const uint32_t *tokens, size_t n_tokens,
               uint64_t seed)
{
    job_t *self = mem_calloc(1, sizeof *self);
    *self = (job_t){.id = id, .n_tokens = n_tokens};
    self->tokens = copy(tokens, n_tokens, sizeof *tokens);
    self->how = (writer_options_t){.choose = request->choose,
                                   .tokens = request->tokens > 0 ? request->tokens : INT64_MAX,
                                   .logprobs = request->logprobs};
    self->how.hidden = request->embeds;
    self->how.choose.seed = seed;
    self->how.choose.bias = copy(request->choose.bias, request->choose.n_bias,
                                 sizeof *request->choose.bias);
    for (size_t i = 0; i < request->n_stop; i++) job_add_stop(self, request->stop[i]);
    return self;
}

void job_add_stop(job_t *self, const char *stop)
{
    const char **list = (const char **)(uintptr_t)self->how.stop;
    list = mem_realloc(list, (self->how.n_stop + 1) * sizeof *list);
    list[self->how.n_stop++] = mem_strdup(stop);
    self->how.stop = list;
}

void job_set_end(job_t *self, const uint32_t *end, size_t n)
{
    free((void *)(uintptr_t)self->how.end);
    self->how.end = copy(end, n, sizeof *end);
    self->how.n_end = n;
}

job_t *job_copy(const job_t *self, uint64_t id)
{
    job_t *out = mem_calloc(1, sizeof *out);
    *out = *self;
    out->id = id;
    out->next = NULL;
    out->tokens = copy(self->tokens, self->n_tokens, sizeof *self->tokens);
    out->how.choose.bias = copy(self->how.choose.bias, self->how.choose.n_bias,
                                sizeof *self->how.choose.bias);
    out->how.end = copy(self->how.end, self->how.n_end, sizeof *self->how.end);
    out->how.stop = NULL;
    out->how.n_stop = 0;
    for (size_t i = 0; i < self->how.n_stop; i++) job_add_stop(out, self->how.stop[i]);
    return out;
}

void job_free(job_t *self)
{
    if (!self) return;
    for (size_t i = 0; i < self->how.n_stop; i++) free((void *)(uintptr_t)self->how.stop[i]);
    free((void *)(uintptr_t)self->how.stop);
    free((void *)(uintptr_t)self->how.choose.bias);
    free((void *)(uintptr_t)self->how.end);
    free(self->tokens);
    free(self);
}
