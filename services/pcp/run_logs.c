/* A log that is long begins anew, and the one before stays beside it (base/children.h): here they are one. */
#include "pcp/run_logs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "pcp/run_show.h"

static bool is_over(run_talk_t *talk, const char *id)
{
    Msg__RunAsk ask = MSG__RUN_ASK__INIT;
    msg_envelope_t *answer = NULL;
    err_t err = {0};
    ask.verb = MSG__RUN_ASK__VERB__GET;
    ask.run = (char *)id;
    if (run_talk_ask(talk, &ask, false, &answer, &err) < 0) return true;
    bool over = answer->run_answer->n_runs == 0 || run_show_over(answer->run_answer->runs[0]);
    msg_free(&answer);
    return over;
}

/* Only the last `tail` lines stay. A last one that has not ended counts. */
static void drop_lines(str_t *text, int64_t tail)
{
    size_t from = text->n > 0 && text->at[text->n - 1] == '\n' ? text->n - 1 : text->n;
    for (int64_t lines = 0; from > 0; from--)
        if (text->at[from - 1] == '\n' && ++lines == tail) break;
    if (from == 0) return;
    memmove(text->at, text->at + from, text->n - from + 1);
    text->n -= from;
}

/* The next piece from ask->offset on. `kept`: takes it, instead of standard output. Returns its bytes; -1. */
static int64_t piece(run_talk_t *talk, Msg__RunAsk *ask, str_t *kept, err_t *err)
{
    msg_envelope_t *answer = NULL;
    if (run_talk_ask(talk, ask, false, &answer, err) < 0) return -1;
    const ProtobufCBinaryData *data = &answer->run_answer->data;
    int64_t n = (int64_t)data->len;
    if (kept)
        str_addn(kept, (const char *)data->data, data->len);
    else if (n)
        fwrite(data->data, 1, data->len, stdout);
    ask->offset = answer->run_answer->offset;
    ask->older = answer->run_answer->older; /* a front of before tells of the present one at once */
    msg_free(&answer);
    return n;
}

/* All there is, from the beginning of the one before. */
static int history(run_talk_t *talk, Msg__RunAsk *ask, int64_t tail, err_t *err)
{
    str_t kept = {0};
    int64_t n;
    ask->older = true;
    while ((n = piece(talk, ask, tail ? &kept : NULL, err)) > 0 || (n == 0 && ask->older)) {
        if (tail && n > 0) drop_lines(&kept, tail);
        if (n > 0) continue;
        ask->older = false;
        ask->offset = 0;
    }
    fwrite(str_text(&kept), 1, kept.n, stdout);
    str_fini(&kept);
    return n < 0 ? -1 : 0;
}

int run_logs(run_talk_t *talk, const char *id, int64_t tail, bool follow, err_t *err)
{
    enum { PAUSE_US = 300000 };
    Msg__RunAsk ask = MSG__RUN_ASK__INIT;
    ask.verb = MSG__RUN_ASK__VERB__LOGS;
    ask.run = (char *)id;
    if (history(talk, &ask, tail, err) < 0) return -1;
    for (bool over = false; follow;) {
        int64_t n = piece(talk, &ask, NULL, err);
        if (n < 0) return -1;
        if (n > 0) continue;
        fflush(stdout);
        if (over) return 0;
        over = is_over(talk, id); /* what it said last comes with the next piece */
        if (!over) usleep(PAUSE_US);
    }
    return 0;
}
