/* An answer holds as many runs as a message may be long: the next question begins where it ends. */
#include "pcp/run_list.h"

#include <stdio.h>

#include "base/vec.h"
#include "pcp/run_show.h"

typedef struct {
    VEC(msg_envelope_t *) pages;
    VEC(Msg__RunInfo *) rows; /* in the pages */
    bool more;
} found_t;

static void fini(found_t *self)
{
    for (size_t i = 0; i < self->pages.n; i++) msg_free(&self->pages.at[i]);
    VEC_FREE(&self->pages);
    VEC_FREE(&self->rows);
}

/* At most `most` more. */
static int next_page(run_talk_t *talk, uint32_t most, found_t *found, err_t *err)
{
    Msg__RunAsk ask = MSG__RUN_ASK__INIT;
    ask.verb = MSG__RUN_ASK__VERB__LIST;
    ask.limit = most;
    if (found->rows.n) ask.before = found->rows.at[found->rows.n - 1]->number;
    msg_envelope_t *page = NULL;
    if (run_talk_ask(talk, &ask, false, &page, err) < 0) return -1;
    VEC_PUSH(&found->pages, page);
    const Msg__RunAnswer *answer = page->run_answer;
    for (size_t i = 0; i < answer->n_runs; i++) {
        int64_t number = answer->runs[i]->number;
        if (number < 1 || (ask.before && number >= ask.before))
            return err_set(err, ERR_NET, "the cluster's list of runs is not in order");
        ask.before = number;
        VEC_PUSH(&found->rows, answer->runs[i]);
    }
    found->more = answer->more && answer->n_runs > 0;
    return 0;
}

int run_list(run_talk_t *talk, int64_t limit, bool all, output_t format, err_t *err)
{
    found_t found = {.more = true};
    int rc = 0;
    while (rc == 0 && found.more && (all || (int64_t)found.rows.n < limit))
        rc = next_page(talk, all ? 0 : (uint32_t)(limit - (int64_t)found.rows.n), &found, err);
    if (rc == 0) run_show_list(found.rows.at, found.rows.n, format);
    if (rc == 0 && found.more)
        fprintf(stderr, "pcp run: the newest %zu are shown; --all or --limit N shows more\n",
                found.rows.n);
    fini(&found);
    return rc;
}
