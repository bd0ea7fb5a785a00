/* One sample at a time, and one that waits. The shards have a round's parameters until the next round is
 * committed: what is not asked for by then is left out. */
#include "shepherd/round/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "shepherd/shepherd.h"

enum {
    ANSWER_MS = 660000, /* the compiler gives up before */
    LAST_MS = 60000,    /* so long the end of the run waits for its text */
    TOLD_PROMPT = 300,  /* bytes of an event, which is small */
    TOLD_TEXT = 1500,
};

/* Its parameters are gone. */
#define LEFT_OUT "left out: no compiler was free to write it before the next rounds were over"

/* Everybody hears of it; the whole text is in the records. */
static void tell(shepherd_t *self, uint32_t round, const char *text, const char *error)
{
    const char *prompt = self->config->sample_prompt ? self->config->sample_prompt : "";
    char short_prompt[TOLD_PROMPT], short_text[TOLD_TEXT], why[TOLD_TEXT];
    utf8_cut(short_prompt, sizeof short_prompt, prompt);
    utf8_cut(short_text, sizeof short_text, text);
    utf8_cut(why, sizeof why, error);
    Msg__Written written = MSG__WRITTEN__INIT;
    written.round = round;
    written.prompt = short_prompt;
    written.text = short_text;
    written.error = why;
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_WRITTEN;
    event.written = &written;
    log_event(*error ? LOG_WARN : LOG_INFO, *error ? "sample_failed" : "sample",
              "round=%u bytes=%zu error=\"%s\"", round, strlen(text), error);
    shepherd_tell(self, &event);
}

static void end(shepherd_t *self, const char *text, const char *error)
{
    uint32_t round = self->samples.round, next = self->samples.next;
    self->samples = (samples_t){.round = next, .since_ms = self->now_ms};
    if (!*error) {
        record_t *record = record_new(RECORD_WRITTEN, round - 1);
        record->text = mem_strdup(self->config->sample_prompt ? self->config->sample_prompt : "");
        record->detail = mem_strdup(text);
        records_write(self, record);
    }
    tell(self, round, text, error);
}

static bool due(const shepherd_t *self)
{
    int64_t every = self->config->sample_every, round = self->round.number;
    return every > 0 && round > 0 && (round % every == 0 || round == self->config->rounds);
}

void samples_want(shepherd_t *self)
{
    if (!due(self)) return;
    uint32_t *place = self->samples.compiler ? &self->samples.next : &self->samples.round;
    if (*place) tell(self, *place, "", LEFT_OUT);
    *place = self->round.number;
    self->samples.since_ms = self->samples.compiler ? self->samples.since_ms : self->now_ms;
}

/* --- asking --- */

/* Caller frees the array; what is in it is the layout's. */
static Msg__TensorInfo **describe(const layout_t *layout, Msg__TensorInfo *info)
{
    Msg__TensorInfo **list = mem_calloc(layout->n + 1, sizeof *list);
    for (size_t i = 0; i < layout->n; i++) {
        msg__tensor_info__init(&info[i]);
        info[i].name = layout->tensor[i].name;
        info[i].dtype = "f32";
        info[i].n_dims = (size_t)layout->tensor[i].type.rank;
        info[i].dims = layout->tensor[i].type.dim;
        list[i] = &info[i];
    }
    return list;
}

static void ask(shepherd_t *self, const member_row_t *compiler)
{
    const layout_t *layout = &self->bulk.layout;
    Msg__TensorInfo *info = mem_calloc(layout->n + 1, sizeof *info);
    Msg__Sample sample = MSG__SAMPLE__INIT;
    char **endpoints = members_endpoints(&self->roster, layout->n_shard);
    sample.round = self->samples.round;
    sample.run_hash = self->run_hash;
    sample.module = self->bulk.module_hash;
    sample.file = self->config->model;
    sample.tokenizer = self->bulk.tokenizer_hash;
    sample.prompt = self->config->sample_prompt ? self->config->sample_prompt : "";
    sample.tokens = (uint32_t)self->config->sample_tokens;
    sample.seed = (uint64_t)self->config->seed;
    sample.data = endpoints;
    sample.n_data = layout->n_shard;
    sample.bounds = layout->bounds;
    sample.n_bounds = layout->n_shard + 1;
    sample.params = describe(layout, info);
    sample.n_params = layout->n;
    MSG_SEND(self->ports.out, &compiler->peer, 0, SAMPLE, sample, &sample);
    self->samples.compiler = compiler->serial;
    self->samples.since_ms = self->now_ms;
    log_event(LOG_INFO, "sampling", "round=%u compiler=%s", sample.round, compiler->id);
    free(sample.params);
    free(endpoints);
    free(info);
}

static const member_row_t *any_compiler(const shepherd_t *self)
{
    for (size_t i = 0; i < self->roster.others.n; i++) {
        const member_row_t *row = self->roster.others.at[i];
        if (row->kind == MSG__KIND__KIND_COMPILER && !row->blame.refused) return row;
    }
    return NULL;
}

/* Why it is not to be had any more; NULL: it is. */
static const char *hopeless(const shepherd_t *self)
{
    if (self->samples.compiler)
        return self->now_ms - self->samples.since_ms > ANSWER_MS ? "the compiler does not answer"
                                                                 : NULL;
    if (!*self->bulk.tokenizer_hash) return "the run's tokenizer does not lie at its aggregators";
    return self->round.number > self->samples.round + 1 ? LEFT_OUT : NULL;
}

void samples_dispatch(shepherd_t *self)
{
    bool serves = self->phase >= PHASE_OPEN && self->phase < PHASE_SAVE;
    if (!self->samples.round || !serves) return;
    if (self->samples.round > self->round.number) { /* the run went back: it will be due again */
        self->samples = (samples_t){0};
        return;
    }
    const char *why = hopeless(self);
    const member_row_t *compiler = why || self->samples.compiler ? NULL : any_compiler(self);
    if (why)
        end(self, "", why);
    else if (compiler && members_shards_here(self))
        ask(self, compiler);
}

void samples_forget_compiler(shepherd_t *self, uint32_t serial)
{
    if (self->samples.compiler == serial && self->phase < PHASE_SAVE)
        end(self, "", "the compiler that wrote it was lost");
}

bool samples_awaited(const shepherd_t *self)
{
    return self->samples.round && self->now_ms - self->samples.since_ms < LAST_MS &&
           (self->samples.compiler || any_compiler(self));
}

void on_sampled(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const Msg__Sampled *answer = message->sampled;
    const member_row_t *compiler = member_by_peer(&self->roster, from);
    if (!compiler || !self->samples.round || compiler->serial != self->samples.compiler ||
        answer->round != self->samples.round) {
        log_event(LOG_WARN, "sample_ignored", "round=%u", answer->round);
        return;
    }
    end(self, answer->text, answer->error);
}
