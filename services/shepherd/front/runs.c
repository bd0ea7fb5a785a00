/* The life of each run: queued, given a shepherd, watched, ended. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/utf8.h"
#include "msg/wire.h"
#include "shepherd/front/front.h"

enum {
    SHORT_MS = 10000,     /* a life shorter than this counts towards giving up */
    MOST_SHORT_LIVES = 8, /* in a row */
    FIRST_WAIT_MS = 50,   /* before the second start, doubling */
    STOP_MS = 60000,      /* a shepherd that is to stop may save for so long */
    LOG_TAIL_BYTES = 500
};

front_run_t *front_run_find(front_t *self, const char *id)
{
    for (size_t i = 0; i < self->runs.n; i++)
        if (strcmp(self->runs.at[i]->row.id, id) == 0) return self->runs.at[i];
    return NULL;
}

front_run_t *front_run_by_key(front_t *self, const char *key)
{
    for (size_t i = 0; i < self->runs.n; i++)
        if (strcmp(self->runs.at[i]->row.key, key) == 0) return self->runs.at[i];
    return NULL;
}

/* What a front before us heard, or nobody did, the store knows. */
static void take_figures(front_run_t *run, const store_figures_t *figures)
{
    front_news_t *news = &run->news;
    run->row.figures = (store_figures_t){0};
    if (figures->checkpoint) run->checkpoint = mem_strdup(figures->checkpoint);
    if (figures->rounds == 0) return;
    news->round = (uint32_t)figures->rounds;
    news->tokens = figures->tokens;
    news->loss = figures->loss;
    news->has_val_loss = !isnan(figures->validation_loss);
    if (news->has_val_loss) news->val_loss = figures->validation_loss;
    news->tokens_per_s = isnan(figures->tokens_per_s) ? 0 : figures->tokens_per_s;
}

front_run_t *front_run_new(front_t *self, const store_submission_t *row)
{
    front_run_t *run = mem_calloc(1, sizeof *run);
    run->front = self;
    run->row = *row;
    run->row.reason = mem_strdup(row->reason ? row->reason : "");
    run->hash = wire_run_hash(row->id);
    run->name = mem_printf("%s/shepherd", row->id);
    run->control = mem_printf("ipc://%s/%lld.control", self->config_dir, (long long)row->number);
    run->events = mem_printf("ipc://%s/%lld.events", self->config_dir, (long long)row->number);
    run->news.rounds = (uint32_t)row->n_rounds;
    run->news.loss = NAN;
    take_figures(run, &row->figures);
    VEC_PUSH(&self->runs, run);
    return run;
}

static void forget_targets(front_run_t *run)
{
    for (size_t i = 0; i < run->targets.n; i++) free(run->targets.at[i]);
    VEC_FREE(&run->targets);
    run->n_plan = 0;
}

void front_run_destroy(front_run_t *run)
{
    front_pipe_close(run);
    front_child_unlink(run);
    forget_targets(run);
    free(run->row.reason);
    free(run->name);
    free(run->control);
    free(run->events);
    free(run->fault);
    free(run->checkpoint);
    free(run);
}

bool front_run_is(const front_run_t *run, const char *state)
{
    return strcmp(run->row.state, state) == 0;
}

/* Last words of a process may be any bytes; the store and our answers take UTF-8. */
static char *plain_text(const char *reason)
{
    str_t text = {0};
    str_add(&text, "");
    utf8_add(&text, reason, strlen(reason));
    for (char *at = text.at; (at = strpbrk(at, "\t\r\n"));) *at = ' '; /* one line, of several */
    utf8_plain(text.at, false);
    return text.at;
}

/* The store's own times come with the next front. */
static void mark_times(store_submission_t *row, const char *state)
{
    int64_t now_ms = clock_wall_ms();
    bool over = strcmp(state, "done") == 0 || strcmp(state, "failed") == 0 ||
                strcmp(state, "cancelled") == 0;
    if (strcmp(state, "running") == 0 && row->started_ms < 0) row->started_ms = now_ms;
    if (!over) row->finished_ms = -1;
    if (over && row->finished_ms < 0) row->finished_ms = now_ms;
}

void front_run_move(front_run_t *run, const char *state, const char *reason, uint64_t ticket)
{
    mark_times(&run->row, state);
    log_event(LOG_INFO, "run", "run=%s state=%s before=%s reason=\"%s\"", run->row.id, state,
              run->row.state, reason);
    snprintf(run->row.state, sizeof run->row.state, "%s", state);
    char *old = run->row.reason;
    run->row.reason = plain_text(reason);
    free(old);
    front_write(run->front, run, CLERK_MOVE, ticket);
    front_tell_watchers(run, NULL);
}

/* --- Starting and stopping --- */

void front_run_start(front_run_t *run)
{
    run->active = true;
    run->stop_ms = 0;
    run->short_lives = 0;
    run->due_ms = run->front->now_ms;
    free(run->fault);
    run->fault = NULL;
    if (!front_run_is(run, "running")) front_run_move(run, "running", "", 0);
}

void front_run_stop(front_run_t *run)
{
    if (!run->active || run->stop_ms) return;
    run->stop_ms = run->front->now_ms;
    run->due_ms = 0;
    children_signal_one(run->front->children, run->name, SIGTERM);
}

static void close_run(front_run_t *run)
{
    run->active = false;
    run->due_ms = run->stop_ms = 0;
    *run->news.phase = *run->news.waits = '\0';
    front_kick_all(run->front, run, "the run has stopped");
    front_pipe_close(run);
    front_child_unlink(run);
}

static void fail(front_run_t *run, const char *reason)
{
    close_run(run);
    front_run_move(run, "failed", reason, 0);
}

static void spawn(front_run_t *run)
{
    err_t err = {0};
    run->due_ms = 0;
    run->born_ms = run->compiler_ms = run->front->now_ms;
    forget_targets(run);
    if (front_child_link(run, &err) < 0 || front_child_spawn(run, &err) < 0) {
        fail(run, err.text);
        return;
    }
    log_event(LOG_INFO, "shepherd_started", "run=%s pid=%d restarts=%u", run->row.id,
              children_pid(run->front->children, run->name), run->restarts);
}

/* Killed, stopped from outside, or deposed by a stand-by's: again, after a while. */
static void start_again(front_run_t *run, const char *how)
{
    bool was_short = run->front->now_ms - run->born_ms < SHORT_MS;
    run->short_lives = was_short ? run->short_lives + 1 : 0;
    if (run->short_lives >= MOST_SHORT_LIVES) {
        char *reason = mem_printf("its shepherd %s, %d times in a row", how, run->short_lives);
        fail(run, reason);
        free(reason);
        return;
    }
    run->restarts++;
    run->due_ms = run->front->now_ms + ((int64_t)FIRST_WAIT_MS << run->short_lives);
}

/* --- The end of a process --- */

/* The last line of its log, for ends that it did not explain. */
static char *last_line(const front_run_t *run)
{
    char *tail = children_log_tail(run->front->children, run->name, LOG_TAIL_BYTES);
    size_t n = strlen(tail);
    while (n > 0 && tail[n - 1] == '\n') tail[--n] = '\0';
    const char *line = strrchr(tail, '\n');
    char *copy = mem_strdup(line ? line + 1 : tail);
    free(tail);
    for (char *at = copy; *at; at++)
        if (*at == '"') *at = '\'';
    return copy;
}

static void failed(front_run_t *run, const char *how)
{
    char *line = run->fault ? NULL : last_line(run);
    char *reason = run->fault ? mem_strdup(run->fault)
                              : mem_printf("its shepherd %s: %s", how, line);
    fail(run, reason);
    free(reason);
    free(line);
}

static void ended(front_run_t *run, const child_end_t *end)
{
    enum { EXIT_STOPPED = 3, EXIT_DEPOSED = 5 };
    char how[64];
    child_end_text(end, how);
    log_event(end->signalled ? LOG_WARN : LOG_INFO, "shepherd_ended", "run=%s how=\"%s\"",
              run->row.id, how);
    front_kick_all(run->front, run, "the run's shepherd has ended");
    front_pipe_close(run);
    bool wanted = front_run_is(run, "running");
    if (!end->signalled && end->code == 0) {
        close_run(run);
        if (!front_run_is(run, "cancelled")) front_run_move(run, "done", "", 0);
    } else if (!wanted || run->front->stopping) {
        close_run(run); /* paused, cancelled, or queued again meanwhile */
    } else if (end->signalled || end->code == EXIT_STOPPED || end->code == EXIT_DEPOSED) {
        start_again(run, how);
    } else {
        failed(run, how);
    }
}

void front_runs_reap(front_t *self)
{
    child_end_t end;
    while (children_reap(self->children, &end))
        for (size_t i = 0; i < self->runs.n; i++)
            if (strcmp(self->runs.at[i]->name, end.name) == 0) {
                ended(self->runs.at[i], &end);
                break;
            }
}

void front_runs_tick(front_t *self)
{
    for (size_t i = 0; i < self->runs.n; i++) {
        front_run_t *run = self->runs.at[i];
        if (!run->active) continue;
        bool runs = children_running(self->children, run->name);
        if (run->stop_ms && !runs) close_run(run); /* it waited for its next start */
        if (run->stop_ms && runs && self->now_ms - run->stop_ms > STOP_MS)
            children_signal_one(self->children, run->name, SIGKILL);
        bool due = run->due_ms && self->now_ms >= run->due_ms;
        if (run->active && due && !self->stopping) spawn(run);
    }
}

/* --- What it says --- */

static void on_round(front_run_t *run, const Msg__RoundStats *r)
{
    front_news_t *news = &run->news;
    news->round = r->round;
    news->rounds = r->rounds;
    news->loss = r->loss;
    news->tokens = r->tokens;
    news->tokens_per_s = r->tokens_per_s;
    news->eta_s = r->eta_s;
    if (!r->has_val_loss) return;
    news->has_val_loss = true;
    news->val_loss = r->val_loss;
}

void front_run_heard(front_run_t *run, const Msg__Event *event)
{
    switch (event->body_case) {
    case MSG__EVENT__BODY_ROUND: on_round(run, event->round); break;
    case MSG__EVENT__BODY_RUN_DONE:
        free(run->checkpoint);
        run->checkpoint = mem_strdup(event->run_done->checkpoint);
        if (event->run_done->has_val_loss) run->news.val_loss = event->run_done->val_loss;
        run->news.has_val_loss |= event->run_done->has_val_loss;
        break;
    case MSG__EVENT__BODY_RUN_FAILED:
        free(run->fault);
        run->fault = mem_strdup(event->run_failed->reason);
        break;
    default: break;
    }
    front_tell_watchers(run, event);
}
