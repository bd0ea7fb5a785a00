/* What operators ask about runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/front/front.h"

void front_describe(front_run_t *run, Msg__RunInfo *info)
{
    const front_t *self = run->front;
    const store_submission_t *row = &run->row;
    const front_news_t *news = &run->news;
    msg__run_info__init(info);
    info->id = (char *)row->id;
    info->key = (char *)row->key;
    info->state = (char *)row->state;
    info->reason = run->deleting                                   ? (char *)"being deleted"
                   : front_run_is(run, "running") && !*row->reason ? (char *)news->waits
                                                                   : row->reason;
    info->phase = (char *)news->phase;
    info->workers = front_count(self, MSG__KIND__KIND_WORKER, run);
    info->aggregators = front_count(self, MSG__KIND__KIND_AGGREGATOR, run);
    info->compilers = front_count(self, MSG__KIND__KIND_COMPILER, run);
    info->workers_wanted = (uint32_t)row->n_workers;
    info->shards = (uint32_t)row->n_shards;
    info->rounds = (uint32_t)row->n_rounds;
    info->round = front_run_is(run, "done") ? info->rounds : news->round;
    info->loss = isnan(news->loss) ? 0 : news->loss;
    info->has_val_loss = news->has_val_loss;
    info->val_loss = news->val_loss;
    info->tokens = news->tokens;
    info->tokens_per_s = news->tokens_per_s;
    info->eta_s = news->eta_s;
    info->created_ms = row->created_ms;
    info->started_ms = row->started_ms;
    info->finished_ms = row->finished_ms;
    info->checkpoint = run->checkpoint ? run->checkpoint : "";
    info->restarts = run->restarts;
    info->number = row->number;
    info->adopted = run->adopted;
}

void front_answer(front_t *self, const front_member_t *to, const front_run_t *run,
                  const char *error)
{
    Msg__RunInfo info, *list[] = {&info};
    Msg__RunAnswer answer = MSG__RUN_ANSWER__INIT;
    answer.error = (char *)(error ? error : "");
    if (run) {
        front_describe((front_run_t *)run, &info);
        answer.n_runs = 1;
        answer.runs = list;
    }
    MSG_SEND(self->out, &to->is.peer, 0, RUN_ANSWER, run_answer, &answer);
}

void front_tell_watchers(front_run_t *run, const Msg__Event *event)
{
    front_t *self = run->front;
    for (size_t i = 0; i < self->members.n; i++) {
        const front_member_t *member = self->members.at[i];
        if (member->watches != run) continue;
        if (event)
            MSG_SEND(self->out, &member->is.peer, 0, RUN_EVENT, run_event, (Msg__Event *)event);
        else
            front_answer(self, member, run, NULL);
    }
}

/* --- Verbs --- */

static void refuse(front_t *self, const front_member_t *client, const char *format, const char *id,
                   const char *state)
{
    char *text = mem_printf(format, id, state);
    front_answer(self, client, NULL, text);
    free(text);
}

/* The newest first, as many as are asked for and fit into an answer. */
static void list(front_t *self, const front_member_t *client, const Msg__RunAsk *ask)
{
    enum { ROOM = MSG_CONTROL_BYTES / 2, OVERHEAD = 16 };
    size_t most = ask->limit ? ask->limit : self->runs.n, bytes = 0, at = self->runs.n;
    if (most > self->runs.n) most = self->runs.n;
    Msg__RunAnswer answer = MSG__RUN_ANSWER__INIT;
    Msg__RunInfo *info = mem_calloc(most + 1, sizeof *info),
                 **rows = mem_calloc(most + 1, sizeof *rows);
    while (at > 0 && ask->before > 0 && self->runs.at[at - 1]->row.number >= ask->before) at--;
    for (; at > 0 && answer.n_runs < most; at--) {
        Msg__RunInfo *row = &info[answer.n_runs];
        front_describe(self->runs.at[at - 1], row);
        bytes += msg__run_info__get_packed_size(row) + OVERHEAD;
        if (bytes > ROOM && answer.n_runs > 0) break;
        rows[answer.n_runs++] = row;
    }
    answer.more = at > 0;
    answer.runs = rows;
    MSG_SEND(self->out, &client->is.peer, 0, RUN_ANSWER, run_answer, &answer);
    free(info);
    free(rows);
}

static void read_log(front_t *self, const front_member_t *client, const front_run_t *run,
                     const Msg__RunAsk *ask)
{
    char *path = mem_printf("%s/%s.log", self->config->runs_dir, run->name);
    front_job_t *job = front_job_new(FILES_LOG, client->is.serial, path);
    job->offset = ask->offset;
    job->older = ask->older;
    front_files_start(self->files, job);
    free(path);
}

/* The answer comes when the store has it (front_on_clerk). */
static void move(front_t *self, front_member_t *client, front_run_t *run, const char *state)
{
    client->ticket = ++self->last_ticket;
    client->watches = NULL;
    front_run_move(run, state, "", client->ticket);
}

static bool one_of(const front_run_t *run, const char *a, const char *b, const char *c)
{
    return front_run_is(run, a) || (b && front_run_is(run, b)) || (c && front_run_is(run, c));
}

static void ask_pause(front_t *self, front_member_t *client, front_run_t *run)
{
    if (front_run_is(run, "paused")) {
        front_answer(self, client, run, NULL);
    } else if (one_of(run, "queued", "running", NULL)) {
        move(self, client, run, "paused");
        front_run_stop(run);
    } else {
        refuse(self, client, "run %s is %s: only queued and running ones can be paused",
               run->row.id, run->row.state);
    }
}

static void ask_resume(front_t *self, front_member_t *client, front_run_t *run)
{
    if (one_of(run, "queued", "running", NULL))
        front_answer(self, client, run, NULL);
    else if (one_of(run, "paused", "failed", NULL))
        move(self, client, run, "queued");
    else
        refuse(self, client, "run %s is %s: only paused and failed ones can be resumed",
               run->row.id, run->row.state);
}

static void ask_cancel(front_t *self, front_member_t *client, front_run_t *run)
{
    if (front_run_is(run, "cancelled")) {
        front_answer(self, client, run, NULL);
    } else if (front_run_is(run, "done")) {
        refuse(self, client, "run %s is %s: there is nothing to cancel", run->row.id,
               run->row.state);
    } else {
        move(self, client, run, "cancelled");
        front_run_stop(run);
    }
}

static bool changes(Msg__RunAsk__Verb verb)
{
    return verb == MSG__RUN_ASK__VERB__PAUSE || verb == MSG__RUN_ASK__VERB__RESUME ||
           verb == MSG__RUN_ASK__VERB__CANCEL || verb == MSG__RUN_ASK__VERB__DELETE;
}

/* A deletion that the front before us began is not known before its directory is. */
static const char *cannot_change(const front_t *self, const front_run_t *run)
{
    if (run->deleting) return "is being deleted";
    return self->swept ? NULL : "is not known yet, this front has just begun: try again";
}

static void about_run(front_t *self, front_member_t *client, const Msg__RunAsk *ask)
{
    front_run_t *run = front_run_find(self, ask->run);
    if (!run || !run->stored) {
        refuse(self, client, "there is no run \"%.64s\"%s", ask->run, "");
        return;
    }
    const char *not_now = changes(ask->verb) ? cannot_change(self, run) : NULL;
    if (not_now) {
        refuse(self, client, "run %s %s", run->row.id, not_now);
        return;
    }
    switch (ask->verb) {
    case MSG__RUN_ASK__VERB__WATCH: client->watches = run; /* fall through */
    case MSG__RUN_ASK__VERB__GET: front_answer(self, client, run, NULL); break;
    case MSG__RUN_ASK__VERB__LOGS: read_log(self, client, run, ask); break;
    case MSG__RUN_ASK__VERB__PAUSE: ask_pause(self, client, run); break;
    case MSG__RUN_ASK__VERB__RESUME: ask_resume(self, client, run); break;
    case MSG__RUN_ASK__VERB__CANCEL: ask_cancel(self, client, run); break;
    case MSG__RUN_ASK__VERB__DELETE: front_delete(self, client, run, ask->dry); break;
    default: front_answer(self, client, NULL, "no such question about a run"); break;
    }
}

void front_on_ask(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    front_t *self = state;
    front_member_t *client = front_by_peer(self, from);
    const Msg__RunAsk *ask = message->run_ask;
    log_event(LOG_DEBUG, "asked", "verb=%d run=%.64s client=%s", (int)ask->verb, ask->run,
              client->is.id);
    switch (ask->verb) {
    case MSG__RUN_ASK__VERB__SUBMIT: front_submit(self, client, ask); break;
    case MSG__RUN_ASK__VERB__COMMIT: front_commit(self, client); break;
    case MSG__RUN_ASK__VERB__LIST: list(self, client, ask); break;
    default: about_run(self, client, ask); break;
    }
}
