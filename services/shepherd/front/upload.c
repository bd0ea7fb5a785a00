/* Submissions: announced with names, sizes and hashes, sent in pieces, sealed, entered in the
 * store. Nothing is a run before the store has it; one that breaks off and is announced again goes on
 * where it was, for its directory is called by what it holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "shepherd/front/front.h"

static void upload_free(front_upload_t *upload)
{
    if (!upload) return;
    free(upload->dir);
    free(upload->key);
    free(upload->run);
    free(upload->spec);
    free(upload->files);
    free(upload);
}

void front_upload_leave(front_t *self, front_member_t *client)
{
    (void)self;
    upload_free(client->upload);
    client->upload = NULL;
}

static void discard(front_t *self, front_member_t *client)
{
    if (client->upload)
        front_files_start(self->files, front_job_new(FILES_DROP, 0, client->upload->dir));
    front_upload_leave(self, client);
}

static uint64_t most_bytes(const front_t *self)
{
    return (uint64_t)self->config->upload_gib << 30;
}

void front_uploads_expire(front_t *self, front_job_kind_t kind)
{
    front_job_t *job = front_job_new(kind, 0, self->config->runs_dir);
    job->offset = most_bytes(self);
    self->uploads_ms = self->now_ms;
    front_files_start(self->files, job);
}

static void give_up(front_t *self, front_member_t *client, const char *error)
{
    log_event(LOG_WARN, "submission_refused", "client=%s reason=\"%s\"", client->is.id, error);
    discard(self, client);
    front_answer(self, client, NULL, error);
}

/* "what: why" as the answer. */
static void give_up_about(front_t *self, front_member_t *client, const char *what, const char *why)
{
    char *text = mem_printf("%s: %s", what, why);
    give_up(self, client, text);
    free(text);
}

/* --- Announced --- */

/* NULL: good; a file whose name is not plain is called by its number. */
static const char *check_file(const Msg__RunAsk *ask, size_t i, uint64_t *left)
{
    const Msg__RunFile *file = ask->files[i];
    const char *wrong = front_name_fault(file->name);
    if (wrong) return wrong;
    if (!hash_is_name(file->hash)) return "its hash is none";
    if (file->size > *left) return "all are larger than this cluster takes (--upload-gib)";
    *left -= file->size;
    for (size_t k = 0; k < i; k++)
        if (strcmp(ask->files[k]->name, file->name) == 0) return "an earlier one has its name";
    return NULL;
}

static bool files_good(front_t *self, front_member_t *client, const Msg__RunAsk *ask)
{
    uint64_t left = most_bytes(self);
    bool has_config = false;
    if (ask->n_files == 0 || ask->n_files > FRONT_FILES_MAX) {
        give_up(self, client, "1 to 16 files are a submission");
        return false;
    }
    for (size_t i = 0; i < ask->n_files; i++) {
        char what[64];
        const char *wrong = check_file(ask, i, &left);
        snprintf(what, sizeof what, "file %zu of %zu", i + 1, ask->n_files);
        if (wrong) give_up_about(self, client, what, wrong);
        if (wrong) return false;
        has_config |= strcmp(ask->files[i]->name, "run.json") == 0;
    }
    if (!has_config) give_up(self, client, "a submission has a file run.json");
    return has_config;
}

static bool ask_good(front_t *self, front_member_t *client, const Msg__RunAsk *ask)
{
    const char *name = *ask->run ? front_name_fault(ask->run) : NULL;
    const char *key = front_key_fault(ask->key);
    if (name) {
        give_up_about(self, client, "the run's name", name);
        return false;
    }
    if (key || !hash_is_name(ask->spec)) {
        give_up(self, client, key ? key : "the hash of the submission is none");
        return false;
    }
    return files_good(self, client, ask);
}

static void answer_existing(front_t *self, const front_member_t *client, const front_run_t *run)
{
    Msg__RunInfo info = MSG__RUN_INFO__INIT, *list[] = {&info};
    Msg__RunAnswer answer = MSG__RUN_ANSWER__INIT;
    info.id = (char *)run->row.id;
    info.key = (char *)run->row.key;
    info.state = (char *)run->row.state;
    answer.existed = true;
    answer.n_runs = 1;
    answer.runs = list;
    MSG_SEND(self->out, &client->is.peer, 0, RUN_ANSWER, run_answer, &answer);
}

static void answer_send(front_t *self, const front_member_t *client)
{
    Msg__RunAnswer answer = MSG__RUN_ANSWER__INIT;
    answer.send = true;
    answer.window = client->upload->window;
    MSG_SEND(self->out, &client->is.peer, 0, RUN_ANSWER, run_answer, &answer);
}

/* Another client's of these files is on its way: soon there is its run, or a part of the files. */
static bool being_sent(const front_t *self, const front_member_t *client)
{
    for (size_t i = 0; i < self->members.n; i++) {
        const front_member_t *other = self->members.at[i];
        if (other != client && other->upload &&
            strcmp(other->upload->dir, client->upload->dir) == 0)
            return true;
    }
    return false;
}

/* Another client's of that key or name is complete, and being checked. */
static bool being_sealed(const front_t *self, const char *key, const char *run)
{
    for (size_t i = 0; i < self->sealing.n; i++) {
        const front_upload_t *upload = self->sealing.at[i];
        if (strcmp(upload->key, key) == 0 || strcmp(upload->run, run) == 0) return true;
    }
    return false;
}

static void answer_busy(front_t *self, front_member_t *client)
{
    Msg__RunAnswer answer = MSG__RUN_ANSWER__INIT;
    front_upload_leave(self, client);
    answer.busy = true;
    MSG_SEND(self->out, &client->is.peer, 0, RUN_ANSWER, run_answer, &answer);
}

/* What is on its way is in our memory: those who submit at the same time share it. */
static uint64_t window_of(const front_t *self)
{
    uint64_t n = 1;
    for (size_t i = 0; i < self->members.n; i++) n += self->members.at[i]->upload != NULL;
    uint64_t share = FRONT_WINDOW_ALL / n;
    if (share < FRONT_WINDOW_LEAST) return FRONT_WINDOW_LEAST;
    return share < FRONT_WINDOW_MOST ? share : FRONT_WINDOW_MOST;
}

/* Called by names, sizes and hashes of the files. Returns, caller frees. */
static char *dir_of(const front_t *self, const Msg__RunAsk *ask)
{
    char hash[HASH_HEX];
    str_t all = {0};
    for (size_t i = 0; i < ask->n_files; i++)
        str_addf(&all, "%s %llu %s\n", ask->files[i]->name, (unsigned long long)ask->files[i]->size,
                 ask->files[i]->hash);
    hash_content(str_text(&all), all.n, hash);
    str_fini(&all);
    return mem_printf("%s/" FRONT_UPLOAD_PREFIX "%.32s", self->config->runs_dir, hash);
}

static front_upload_t *upload_new(front_t *self, const Msg__RunAsk *ask, const char *key)
{
    char hash[HASH_HEX];
    front_upload_t *upload = mem_calloc(1, sizeof *upload);
    upload->number = ++self->last_upload;
    upload->dir = dir_of(self, ask);
    upload->key = mem_strdup(key);
    upload->spec = mem_strdup(ask->spec);
    hash_content(key, strlen(key), hash);
    upload->run = *ask->run ? mem_strdup(ask->run) : mem_printf("run-%.12s", hash);
    upload->window = window_of(self);
    upload->n_file = ask->n_files;
    upload->files = mem_calloc(ask->n_files, sizeof *upload->files);
    for (size_t i = 0; i < ask->n_files; i++) {
        snprintf(upload->files[i].name, FRONT_FILE_NAME, "%s", ask->files[i]->name);
        memcpy(upload->files[i].hash, ask->files[i]->hash, HASH_HEX);
        upload->files[i].size = ask->files[i]->size;
    }
    return upload;
}

static void other_files(front_t *self, front_member_t *client, const front_run_t *run)
{
    char *text = mem_printf("the key \"%s\" was used for run %s, which has other files or options",
                            run->row.key, run->row.id);
    give_up(self, client, text);
    free(text);
}

static front_job_t *job_of(front_member_t *client, front_job_kind_t kind)
{
    const front_upload_t *upload = client->upload;
    front_job_t *job = front_job_new(kind, client->is.serial, upload->dir);
    job->upload = upload->number;
    job->n_file = upload->n_file;
    job->files = mem_calloc(upload->n_file, sizeof *job->files);
    memcpy(job->files, upload->files, upload->n_file * sizeof *job->files);
    client->upload->n_open++;
    return job;
}

static void begin(front_t *self, front_member_t *client, const Msg__RunAsk *ask, const char *key)
{
    client->upload = upload_new(self, ask, key);
    const char *id = client->upload->run;
    if (being_sealed(self, key, id) || being_sent(self, client)) {
        answer_busy(self, client);
    } else if (front_run_find(self, id)) {
        char *text = mem_printf("there is a run \"%s\" already, under another key", id);
        give_up(self, client, text);
        free(text);
    } else {
        front_job_t *job = job_of(client, FILES_LOOK);
        job->offset = most_bytes(self);
        front_files_start(self->files, job);
    }
}

void front_submit(front_t *self, front_member_t *client, const Msg__RunAsk *ask)
{
    front_upload_leave(self, client);
    if (!ask_good(self, client, ask)) return;
    const char *key = *ask->key ? ask->key : ask->spec;
    const front_run_t *run = front_run_by_key(self, key);
    if (run && !run->stored)
        answer_busy(self, client);
    else if (run && strcmp(run->row.spec_hash, ask->spec) == 0)
        answer_existing(self, client, run);
    else if (run)
        other_files(self, client, run);
    else
        begin(self, client, ask, key);
}

/* --- Sent --- */

void front_on_piece(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    front_t *self = state;
    front_member_t *client = front_by_peer(self, from);
    front_upload_t *upload = client->upload;
    const Msg__RunPiece *piece = message->run_piece;
    if (!upload || upload->open_bytes + piece->data.len > upload->window) {
        front_answer(self, client, NULL, "a piece without a submission, or beyond its window");
        return;
    }
    const front_file_t *file = piece->file < upload->n_file ? &upload->files[piece->file] : NULL;
    if (!file || piece->data.len > FRONT_PIECE_BYTES || piece->offset > file->size ||
        piece->data.len > file->size - piece->offset) {
        give_up(self, client, "a piece lies outside of its file");
        return;
    }
    front_job_t *job = job_of(client, FILES_PIECE);
    job->index = piece->file;
    job->offset = piece->offset;
    job->n = piece->data.len;
    upload->open_bytes += job->n;
    job->data = mem_calloc(1, job->n + 1);
    if (job->n) memcpy(job->data, piece->data.data, job->n);
    front_files_start(self->files, job);
}

/* Another client's submission of the same key or name may have been faster. */
static const char *taken(front_t *self, const front_upload_t *upload)
{
    if (being_sealed(self, upload->key, upload->run) || front_run_by_key(self, upload->key))
        return "its key or name was used meanwhile: submit again";
    return front_run_find(self, upload->run) ? "its name was used meanwhile" : NULL;
}

/* From here on it goes its way without the client: who asks for a run and is gone when it is ready
 * has it all the same, and asks again under its key. */
void front_commit(front_t *self, front_member_t *client)
{
    if (!client->upload || client->upload->n_open) {
        front_answer(self, client, NULL, "nothing was submitted before");
        return;
    }
    const char *wrong = taken(self, client->upload);
    if (wrong) {
        give_up(self, client, wrong);
        return;
    }
    front_job_t *job = job_of(client, FILES_SEAL);
    job->to = mem_printf("%s/%s", self->config->runs_dir, client->upload->run);
    VEC_PUSH(&self->sealing, client->upload);
    client->upload = NULL;
    front_files_start(self->files, job);
}

/* --- Sealed: now the store --- */

static int64_t next_number(const front_t *self)
{
    int64_t number = 0;
    for (size_t i = 0; i < self->runs.n; i++)
        if (self->runs.at[i]->row.number > number) number = self->runs.at[i]->row.number;
    return number + 1;
}

/* `client` may be NULL. */
static void enter(front_t *self, front_member_t *client, const front_upload_t *upload,
                  const front_job_t *job)
{
    store_submission_t row = {.number = next_number(self),
                              .n_workers = job->n_workers,
                              .n_shards = job->n_shards,
                              .n_rounds = job->n_rounds,
                              .created_ms = clock_wall_ms(),
                              .started_ms = -1,
                              .finished_ms = -1};
    snprintf(row.id, sizeof row.id, "%s", upload->run);
    snprintf(row.key, sizeof row.key, "%s", upload->key);
    snprintf(row.spec_hash, sizeof row.spec_hash, "%s", upload->spec);
    snprintf(row.state, sizeof row.state, "queued");
    front_run_t *run = front_run_new(self, &row);
    run->adopted = job->adopted;
    uint64_t ticket = ++self->last_ticket;
    if (client) client->ticket = ticket;
    front_write(self, run, CLERK_ADD, ticket);
    log_event(LOG_INFO, "submitted",
              "run=%s key=\"%s\" number=%lld workers=%llu shards=%llu adopted=%d", row.id, row.key,
              (long long)row.number, (unsigned long long)row.n_workers,
              (unsigned long long)row.n_shards, job->adopted);
}

/* Its directory is the run's now; or what has arrived goes. */
static void sealed(front_t *self, front_member_t *client, front_job_t *job)
{
    front_upload_t *upload = NULL;
    for (size_t i = 0; i < self->sealing.n && !upload; i++)
        if (strcmp(self->sealing.at[i]->dir, job->dir) == 0) {
            upload = self->sealing.at[i];
            self->sealing.at[i] = self->sealing.at[--self->sealing.n];
        }
    if (!upload) return;
    if (job->err.code) {
        log_event(LOG_WARN, "submission_refused", "run=%s reason=\"%s\"", upload->run,
                  job->err.text);
        front_files_start(self->files, front_job_new(FILES_DROP, 0, upload->dir));
        if (client) front_answer(self, client, NULL, job->err.text);
    } else {
        enter(self, client, upload, job);
    }
    upload_free(upload);
}

static void log_read(front_t *self, const front_member_t *client, front_job_t *job)
{
    Msg__RunAnswer answer = MSG__RUN_ANSWER__INIT;
    answer.error = job->err.text;
    answer.data.data = job->data;
    answer.data.len = job->n;
    answer.offset = job->offset;
    answer.older = job->older;
    MSG_SEND(self->out, &client->is.peer, 0, RUN_ANSWER, run_answer, &answer);
}

/* What is here already need not come. */
static void looked(front_t *self, front_member_t *client, const front_job_t *job)
{
    uint64_t have[FRONT_FILES_MAX], n_bytes = 0;
    if (!client->upload || strcmp(client->upload->dir, job->dir) != 0) return;
    if (client->upload->number == job->upload) client->upload->n_open--;
    for (size_t i = 0; i < job->n_file; i++) n_bytes += have[i] = job->files[i].have;
    if (n_bytes)
        log_event(LOG_INFO, "submission_goes_on", "run=%s bytes=%llu", client->upload->run,
                  (unsigned long long)n_bytes);
    Msg__RunAnswer answer = MSG__RUN_ANSWER__INIT;
    answer.send = true;
    answer.window = client->upload->window;
    answer.n_have = job->n_file;
    answer.have = have;
    MSG_SEND(self->out, &client->is.peer, 0, RUN_ANSWER, run_answer, &answer);
}

static void piece_written(front_t *self, front_member_t *client, const front_job_t *job)
{
    if (!client->upload || strcmp(client->upload->dir, job->dir) != 0) return;
    if (client->upload->number == job->upload) {
        client->upload->n_open--;
        client->upload->open_bytes -= job->n;
    }
    if (job->err.code)
        give_up(self, client, job->err.text);
    else
        answer_send(self, client);
}

void front_on_file(front_t *self, front_job_t *job)
{
    front_member_t *client = job->client ? front_by_serial(self, job->client) : NULL;
    if (client && client->kicked) client = NULL;
    switch (job->kind) {
    case FILES_SEAL: sealed(self, client, job); break;
    case FILES_LOG:
        if (client) log_read(self, client, job);
        break;
    case FILES_LOOK:
        if (client) looked(self, client, job);
        break;
    case FILES_EXPIRE: break;
    case FILES_PIECE:
        if (client) piece_written(self, client, job);
        break;
    case FILES_SWEEP: front_swept(self, job); break;
    case FILES_MEASURE: front_measured(self, client, job); break;
    case FILES_RETIRE: front_retired(self, client, job); break;
    case FILES_DROP: front_dropped(self, client, job); break;
    }
}

void front_uploads_fini(front_t *self)
{
    for (size_t i = 0; i < self->sealing.n; i++) upload_free(self->sealing.at[i]);
    VEC_FREE(&self->sealing);
}
