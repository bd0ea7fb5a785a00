/* Deleting a run that is over: its directory gets another name, which says what is meant (files);
 * its rows go (the clerk); objects that nobody else needs are forgotten, and the directory is
 * removed. Whatever ends the front in between, the next one finds the name and goes on. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/utf8.h"
#include "shepherd/front/front.h"

static void refuse(front_t *self, const front_member_t *client, const front_run_t *run,
                   const char *why)
{
    char *text = mem_printf("run %s is %s", run->row.id, why);
    front_answer(self, client, NULL, text);
    free(text);
}

/* "RUNS_DIR/.deleted-ID"; caller frees. */
static char *retired_path(const front_t *self, const char *id)
{
    return mem_printf("%s/" FRONT_DELETED_PREFIX "%s", self->config->runs_dir, id);
}

static bool is_over(const front_run_t *run)
{
    return !run->active && (front_run_is(run, "done") || front_run_is(run, "failed") ||
                            front_run_is(run, "cancelled"));
}

void front_delete(front_t *self, front_member_t *client, front_run_t *run, bool dry)
{
    if (!is_over(run)) {
        char *why = run->active && !front_run_is(run, "running")
                        ? mem_printf("%s, but its shepherd still saves: try again", run->row.state)
                        : mem_printf("%s: pcp run cancel %s ends it first", run->row.state,
                                     run->row.id);
        refuse(self, client, run, why);
        free(why);
        return;
    }
    char *path = mem_printf("%s/%s", self->config->runs_dir, run->row.id);
    front_job_t *job = front_job_new(dry ? FILES_MEASURE : FILES_RETIRE, client->is.serial, path);
    free(path);
    job->run = mem_strdup(run->row.id);
    job->to = retired_path(self, run->row.id);
    run->deleting |= !dry;
    if (!dry) run->deleter = client->is.serial;
    if (!dry) run->deleted_by = front_actor(client);
    front_files_start(self->files, job);
}

static void answer(front_t *self, const front_member_t *client, front_run_t *run,
                   const front_job_t *job)
{
    Msg__RunInfo info, *list[] = {&info};
    Msg__RunAnswer found = MSG__RUN_ANSWER__INIT;
    if (run) {
        front_describe(run, &info);
        found.n_runs = 1;
        found.runs = list;
    }
    found.error = (char *)job->err.text;
    found.bytes = job->n_bytes;
    found.found = job->n_found;
    MSG_SEND(self->out, &client->is.peer, 0, RUN_ANSWER, run_answer, &found);
}

void front_measured(front_t *self, front_member_t *client, front_job_t *job)
{
    front_run_t *run = front_run_find(self, job->run);
    if (client) answer(self, client, run, job);
}

static void delete_rows(front_t *self, front_run_t *run)
{
    run->deleting = true;
    front_write(self, run, CLERK_DELETE, ++self->last_ticket);
}

void front_retired(front_t *self, front_member_t *client, front_job_t *job)
{
    front_run_t *run = front_run_find(self, job->run);
    if (!run) return;
    if (job->err.code) {
        log_event(LOG_WARN, "not_deleted", "run=%s error=\"%s\"", job->run, job->err.text);
        run->deleting = false;
        if (client) answer(self, client, NULL, job);
        return;
    }
    run->freed = job->n_bytes;
    run->freed_files = job->n_found;
    delete_rows(self, run);
}

/* To all: those that have not heard of one ignore it. */
static void forget_objects(front_t *self, const front_run_t *run, const store_hashes_t *objects)
{
    Msg__Forget forget = MSG__FORGET__INIT;
    char **list = mem_calloc(objects->n + 1, sizeof *list);
    for (size_t i = 0; i < objects->n; i++) list[i] = objects->at[i];
    forget.n_objects = objects->n;
    forget.objects = list;
    forget.run_hash = run->hash;
    forget.all = true;
    for (size_t i = 0; i < self->members.n; i++)
        if (self->members.at[i]->is.kind == MSG__KIND__KIND_AGGREGATOR)
            MSG_SEND(self->out, &self->members.at[i]->is.peer, 0, FORGET, forget, &forget);
    free(list);
}

static bool is_run(const front_t *self, uint64_t hash)
{
    for (size_t i = 0; i < self->runs.n; i++)
        if (self->runs.at[i]->hash == hash) return true;
    return false;
}

void front_tell_deleted(front_t *self, const front_member_t *member)
{
    if (member->is.kind != MSG__KIND__KIND_AGGREGATOR || self->deleted.n == 0) return;
    Msg__Forget forget = MSG__FORGET__INIT;
    forget.deleted = mem_calloc(self->deleted.n, sizeof *forget.deleted);
    for (size_t i = 0; i < self->deleted.n; i++) /* not one that was submitted again */
        if (!is_run(self, self->deleted.at[i]))
            forget.deleted[forget.n_deleted++] = self->deleted.at[i];
    MSG_SEND(self->out, &member->is.peer, 0, FORGET, forget, &forget);
    free(forget.deleted);
}

void front_deleted(front_t *self, front_run_t *run, const clerk_result_t *result)
{
    if (result->err.code) {
        front_member_t *client = front_by_serial(self, run->deleter);
        log_event(LOG_WARN, "not_deleted", "run=%s error=\"%s\"", run->row.id, result->err.text);
        run->deleting = false;
        if (client) front_answer(self, client, NULL, result->err.text);
        return;
    }
    log_event(LOG_INFO, "deleted", "run=%s bytes=%llu objects=%zu", run->row.id,
              (unsigned long long)run->freed, result->objects.n);
    forget_objects(self, run, &result->objects);
    VEC_PUSH(&self->deleted, run->hash);
    char *path = retired_path(self, run->row.id);
    front_job_t *job = front_job_new(FILES_DROP, run->deleter, path);
    job->run = mem_strdup(run->row.id);
    job->n_bytes = run->freed;
    job->n_found = run->freed_files;
    free(path);
    front_forget_run(self, run);
    front_files_start(self->files, job);
}

void front_dropped(front_t *self, front_member_t *client, front_job_t *job)
{
    if (job->err.code)
        log_event(LOG_WARN, "not_removed", "path=%s error=\"%s\"", job->dir, job->err.text);
    if (job->run && client) answer(self, client, NULL, job);
}

/* What another front began: nobody knows who asked it, so that the trail names us. */
static void finish(front_t *self, front_run_t *run)
{
    utf8_cut(run->deleted_by.id, sizeof run->deleted_by.id, self->config->id);
    delete_rows(self, run);
}

void front_swept(front_t *self, const front_job_t *job)
{
    self->swept = true;
    for (size_t i = 0; i < job->names.n; i++) {
        front_run_t *run = front_run_find(self, job->names.at[i]);
        char *path = retired_path(self, job->names.at[i]);
        if (!run)
            front_files_start(self->files, front_job_new(FILES_DROP, 0, path));
        else if (is_over(run) && !run->deleting)
            finish(self, run);
        else
            log_event(LOG_WARN, "not_deleted", "run=%s error=\"%s is there, but the run is %s\"",
                      run->row.id, path, run->row.state);
        free(path);
    }
}
