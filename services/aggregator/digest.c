/* Digests of contributions, for audits: of the encoded chunks as they came, in their order, so that a
 * worker that trains the lease again knows what the digest must be. Read from the journal a few chunks
 * at a time, for a range may be large. */
#include <string.h>

#include "aggregator/aggregator.h"
#include "base/log.h"

enum { SLICE_CHUNKS = OBJECTS_SLICE_CHUNKS };

static bool is_same(const digest_t *job, const Msg__Inspect *question)
{
    return job->round == question->round && job->replica == question->replica &&
           job->fragment == question->fragment && job->fence == question->fence;
}

void digest_begin(aggregator_t *self, const Msg__Inspect *question)
{
    for (size_t i = 0; i < self->digests.n; i++)
        if (is_same(&self->digests.at[i], question)) return; /* asked twice */
    digest_t job = {.round = question->round,
                    .replica = question->replica,
                    .fragment = question->fragment,
                    .fence = question->fence,
                    .weight = question->weight,
                    .hasher = hash_stream_new()};
    VEC_PUSH(&self->digests, job);
}

static void end(aggregator_t *self, char digest[HASH_HEX])
{
    hash_stream_finish(&self->digests.at[0].hasher, digest);
    memmove(self->digests.at, self->digests.at + 1, --self->digests.n * sizeof *self->digests.at);
}

/* It may have been fenced off, or committed, since it was asked for. */
static bool is_there(const aggregator_t *self, const digest_t *job)
{
    return self->assigned && job->round == self->meta.round && job->replica < self->meta.replicas &&
           job->fragment < self->meta.fragments &&
           deltas_complete(self, job->replica, job->fragment, job->fence, job->weight);
}

static int add_chunk(aggregator_t *self, digest_t *job, err_t *err)
{
    const held_chunk_t *held = &contribution(self, job->replica, job->fragment)->chunk[job->chunk];
    uint8_t *bytes = mem_calloc(1, held->n);
    int rc = journal_read(&self->disk.journal, held->at, bytes, held->n, err);
    if (rc == 0) hash_stream_add(job->hasher, bytes, held->n);
    job->chunk++;
    free(bytes);
    return rc;
}

static void answer(aggregator_t *self, bool complete)
{
    digest_t job = self->digests.at[0];
    char digest[HASH_HEX];
    end(self, digest);
    Msg__Inspected answer = MSG__INSPECTED__INIT;
    answer.round = job.round;
    answer.shard = self->meta.shard;
    answer.replica = job.replica;
    answer.fragment = job.fragment;
    answer.fence = job.fence;
    answer.complete = complete;
    if (complete) answer.digest = digest;
    MSG_SEND(self->out, NULL, 0, INSPECTED, inspected, &answer);
}

void digest_work(aggregator_t *self)
{
    if (self->digests.n == 0) return;
    digest_t *job = &self->digests.at[0];
    err_t err = {0};
    bool there = is_there(self, job);
    size_t n_chunk = there ? self->fragment[job->fragment].n_chunk : 0;
    for (size_t i = 0; there && i < SLICE_CHUNKS && job->chunk < n_chunk; i++)
        there = add_chunk(self, job, &err) == 0;
    if (err.code) log_event(LOG_ERROR, "digest", "error=\"%s\"", err.text);
    if (!there || job->chunk == n_chunk) answer(self, there);
}

void digest_forget(aggregator_t *self)
{
    char unused[HASH_HEX];
    while (self->digests.n > 0) end(self, unused);
    VEC_FREE(&self->digests);
}
