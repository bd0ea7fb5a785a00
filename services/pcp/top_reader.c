/* Questions to top_data_read. */
#include "pcp/top_reader.h"

#include <stdlib.h>

#include "base/mem.h"
#include "msg/asker.h"

struct top_reader {
    asker_t *asker;
    bool asked;
    /* the thread's */
    store_t *store;
    int64_t stamp; /* of what was read last; -1: nothing */
};

typedef struct {
    char run[STORE_ID];
    bool again;
    top_answer_t *answer;
} question_t;

/* Has the store changed since *stamp? Also true when that cannot be told: then reading tells why. */
static bool changed(store_t *store, int64_t *stamp)
{
    int64_t now = 0;
    bool known = store_report_stamp(store, &now, NULL) == 0;
    if (known && now == *stamp) return false;
    *stamp = known ? now : -1;
    return true;
}

static void answer(void *user, void *question)
{
    top_reader_t *self = user;
    question_t *q = question;
    top_answer_t *result = mem_calloc(1, sizeof *result);
    bool reads = changed(self->store, &self->stamp) || q->again;
    result->fresh = reads && top_data_read(self->store, q->run, &result->data, &result->err) == 0;
    if (reads && !result->fresh) self->stamp = -1; /* so that the next question reads again */
    q->answer = result;
}

static void drop(void *question)
{
    question_t *q = question;
    top_answer_free(q->answer);
    free(q);
}

top_reader_t *top_reader_new(const char *url, err_t *err)
{
    store_t *store = store_report_open(url, err);
    if (!store) return NULL;
    top_reader_t *self = mem_calloc(1, sizeof *self);
    self->store = store;
    self->stamp = -1;
    self->asker = asker_new(answer, drop, self);
    return self;
}

void top_reader_destroy(top_reader_t **self_p)
{
    top_reader_t *self = *self_p;
    if (!self) return;
    asker_destroy(&self->asker);
    store_destroy(&self->store);
    free(self);
    *self_p = NULL;
}

zsock_t *top_reader_socket(top_reader_t *self)
{
    return asker_socket(self->asker);
}

bool top_reader_ask(top_reader_t *self, const char *run, bool again)
{
    if (self->asked) return false;
    question_t *question = mem_calloc(1, sizeof *question);
    snprintf(question->run, sizeof question->run, "%s", run);
    question->again = again;
    self->asked = true;
    asker_ask(self->asker, question);
    return true;
}

top_answer_t *top_reader_receive(top_reader_t *self)
{
    question_t *question = asker_receive(self->asker);
    if (!question) return NULL;
    top_answer_t *result = question->answer;
    question->answer = NULL;
    self->asked = false;
    drop(question);
    return result;
}

void top_answer_free(top_answer_t *answer)
{
    if (!answer) return;
    top_data_fini(&answer->data);
    free(answer);
}
