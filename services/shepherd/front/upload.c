/* Submissions: announced with names, sizes and hashes, sent in pieces, sealed, entered in the
 * store. Nothing is a run before the store has it; a submission that breaks off leaves nothing. */
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

void front_upload_drop(front_t *self, front_member_t *client)
{
    front_upload_t *upload = client->upload;
    client->upload = NULL;
    if (!upload) return;
    front_files_start(self->files, front_job_new(FILES_DROP, 0, upload->dir));
    upload_free(upload);
}

static void give_up(front_t *self, front_member_t *client, const char *error)
{
    log_event(LOG_WARN, "submission_refused", "client=%s reason=\"%s\"", client->is.id, error);
    front_upload_drop(self, client);
    front_answer(self, client, NULL, error);
}

/* --- Announced --- */

static bool hash_good(const char *hash)
{
    return strlen(hash) == HASH_HEX - 1 && strspn(hash, "0123456789abcdef") == HASH_HEX - 1;
}

static const char *check_files(const front_t *self, const Msg__RunAsk *ask)
{
    uint64_t left = (uint64_t)self->config->upload_gib << 30;
    if (ask->n_files == 0 || ask->n_files > FRONT_FILES_MAX)
        return "1 to 16 files are a submission";
    for (size_t i = 0; i < ask->n_files; i++) {
        const Msg__RunFile *file = ask->files[i];
        if (!front_name_good(file->name)) return "a file's name is not plain";
        if (!hash_good(file->hash)) return "a file's hash is none";
        if (file->size > left) return "it is larger than this cluster takes (--upload-gib)";
        left -= file->size;
        for (size_t k = 0; k < i; k++)
            if (strcmp(ask->files[k]->name, file->name) == 0) return "two files of one name";
    }
    return NULL;
}

static const char *check_ask(const front_t *self, const Msg__RunAsk *ask)
{
    if (*ask->run && !front_name_good(ask->run))
        return "a run's name has 1 to 63 letters, digits, '.', '_' or '-', no '.' in front";
    if (strlen(ask->key) >= STORE_ID) return "the key is longer than 127 bytes";
    for (const char *at = ask->key; *at; at++)
        if ((unsigned char)*at < 32 || *at == 127) return "the key has control characters";
    if (!hash_good(ask->spec)) return "the hash of the submission is none";
    return check_files(self, ask);
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
    MSG_SEND(self->out, &client->is.peer, 0, RUN_ANSWER, run_answer, &answer);
}

static front_upload_t *upload_new(front_t *self, const Msg__RunAsk *ask, const char *key)
{
    front_upload_t *upload = mem_calloc(1, sizeof *upload);
    upload->dir = mem_printf("%s/.upload-%s-%llu", self->config->runs_dir, self->config->id,
                             (unsigned long long)++self->last_ticket);
    upload->key = mem_strdup(key);
    upload->spec = mem_strdup(ask->spec);
    char hash[HASH_HEX];
    hash_content(key, strlen(key), hash);
    upload->run = *ask->run ? mem_strdup(ask->run) : mem_printf("run-%.12s", hash);
    upload->n_file = ask->n_files;
    upload->files = mem_calloc(ask->n_files, sizeof *upload->files);
    for (size_t i = 0; i < ask->n_files; i++) {
        snprintf(upload->files[i].name, FRONT_FILE_NAME, "%s", ask->files[i]->name);
        memcpy(upload->files[i].hash, ask->files[i]->hash, HASH_HEX);
        upload->files[i].size = ask->files[i]->size;
    }
    return upload;
}

void front_submit(front_t *self, front_member_t *client, const Msg__RunAsk *ask)
{
    front_upload_drop(self, client);
    const char *wrong = check_ask(self, ask);
    if (wrong) {
        give_up(self, client, wrong);
        return;
    }
    const char *key = *ask->key ? ask->key : ask->spec;
    const front_run_t *run = front_run_by_key(self, key);
    bool same = run && strcmp(run->row.spec_hash, ask->spec) == 0;
    if (run && !run->stored) {
        give_up(self, client, "another submission under this key is under way: try again");
    } else if (same) {
        answer_existing(self, client, run);
    } else if (run) {
        char *text = mem_printf("the key \"%s\" was used for run %s, which has other files or "
                                "options",
                                key, run->row.id);
        give_up(self, client, text);
        free(text);
    } else {
        client->upload = upload_new(self, ask, key);
        if (front_run_find(self, client->upload->run)) {
            char *text = mem_printf("there is a run \"%s\" already, under another key",
                                    client->upload->run);
            give_up(self, client, text);
            free(text);
            return;
        }
        answer_send(self, client);
    }
}

/* --- Sent --- */

static front_job_t *job_of(front_member_t *client, front_job_kind_t kind)
{
    const front_upload_t *upload = client->upload;
    front_job_t *job = front_job_new(kind, client->is.serial, upload->dir);
    job->n_file = upload->n_file;
    job->files = mem_calloc(upload->n_file, sizeof *job->files);
    memcpy(job->files, upload->files, upload->n_file * sizeof *job->files);
    client->upload->busy = true;
    return job;
}

void front_on_piece(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    front_t *self = state;
    front_member_t *client = front_known(self, from);
    if (!client) return;
    front_upload_t *upload = client->upload;
    const Msg__RunPiece *piece = message->run_piece;
    if (!upload || upload->busy) {
        front_answer(self, client, NULL, "a piece without a submission, or before its turn");
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
    job->data = mem_calloc(1, job->n + 1);
    if (job->n) memcpy(job->data, piece->data.data, job->n);
    front_files_start(self->files, job);
}

/* Another client's submission of the same key or name may have been faster. */
static const char *taken(front_t *self, const front_upload_t *upload)
{
    if (front_run_by_key(self, upload->key)) return "its key was used meanwhile: submit again";
    return front_run_find(self, upload->run) ? "its name was used meanwhile" : NULL;
}

/* Two must not become one directory. */
static bool being_sealed(const front_t *self, const char *run)
{
    for (size_t i = 0; i < self->members.n; i++) {
        const front_upload_t *upload = self->members.at[i]->upload;
        if (upload && upload->sealing && strcmp(upload->run, run) == 0) return true;
    }
    return false;
}

void front_commit(front_t *self, front_member_t *client)
{
    if (!client->upload || client->upload->busy) {
        front_answer(self, client, NULL, "nothing was submitted before");
        return;
    }
    const char *wrong = taken(self, client->upload);
    if (being_sealed(self, client->upload->run)) wrong = "its name is being used: submit again";
    if (wrong) {
        give_up(self, client, wrong);
        return;
    }
    front_job_t *job = job_of(client, FILES_SEAL);
    client->upload->sealing = true;
    job->to = mem_printf("%s/%s", self->config->runs_dir, client->upload->run);
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

static void enter(front_t *self, front_member_t *client, const front_job_t *job)
{
    const front_upload_t *upload = client->upload;
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
    const front_run_t *run = front_run_new(self, &row);
    client->ticket = ++self->last_ticket;
    front_write(self, run, true, client->ticket);
    log_event(LOG_INFO, "submitted", "run=%s key=\"%s\" number=%lld workers=%llu shards=%llu",
              row.id, row.key, (long long)row.number, (unsigned long long)row.n_workers,
              (unsigned long long)row.n_shards);
    upload_free(client->upload); /* its directory is the run's now */
    client->upload = NULL;
}

static void log_read(front_t *self, const front_member_t *client, front_job_t *job)
{
    Msg__RunAnswer answer = MSG__RUN_ANSWER__INIT;
    answer.error = job->err.text;
    answer.data.data = job->data;
    answer.data.len = job->n;
    answer.offset = job->offset;
    MSG_SEND(self->out, &client->is.peer, 0, RUN_ANSWER, run_answer, &answer);
}

void front_on_file(front_t *self, front_job_t *job)
{
    front_member_t *client = job->client ? front_by_serial(self, job->client) : NULL;
    if (!client || client->kicked) return; /* a run's directory without a run is replaced later */
    if (job->kind == FILES_LOG) {
        log_read(self, client, job);
        return;
    }
    if (!client->upload || strcmp(client->upload->dir, job->dir) != 0) return;
    client->upload->busy = false;
    const char *wrong = job->err.code ? job->err.text : NULL;
    if (wrong)
        give_up(self, client, wrong);
    else if (job->kind == FILES_SEAL)
        enter(self, client, job);
    else
        answer_send(self, client);
}
