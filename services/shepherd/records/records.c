/* The run's truth on its way into the store: what is written when, and what follows once it is in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "msg/happening.h"
#include "shepherd/shepherd.h"

void records_write(shepherd_t *self, record_t *record)
{
    if (self->ports.record && !self->records.gone) {
        self->ports.record(self->ports.user, record);
        return;
    }
    recorder_result_t result = {.event = RECORDED,
                                .kind = record->kind,
                                .round = record->round,
                                .replica = record->replica,
                                .fence = record->fence};
    record_destroy(&record);
    self->records.at_once(self, &result);
}

static record_t *of_lease(const shepherd_t *self, record_kind_t kind, uint32_t replica)
{
    record_t *record = record_new(kind, self->round.number);
    record->replica = replica;
    record->fence = self->round.lease[replica].fence;
    return record;
}

record_t *records_open(const shepherd_t *self)
{
    size_t n = (size_t)self->round.replicas;
    record_t *record = record_new(RECORD_OPEN, self->round.number);
    record->cursor = self->ranges.cursor;
    record->leases = mem_calloc(n, sizeof *record->leases);
    record->n_lease = n;
    for (size_t k = 0; k < n; k++) {
        store_lease_t *to = &record->leases[k];
        *to = (store_lease_t){.replica = (uint32_t)k,
                              .fence = self->round.fence_base, /* below the first one given */
                              .range = self->round.lease[k].range};
        to->lag = self->round.lease[k].lag;
        memcpy(to->state_in, self->round.lease[k].state_in, HASH_HEX);
    }
    return record;
}

static void fill_entries(const shepherd_t *self, record_t *record)
{
    size_t n = (size_t)self->round.replicas;
    record->entries = mem_calloc(n, sizeof *record->entries);
    for (size_t k = 0; k < n; k++) {
        const work_t *lease = &self->round.lease[k];
        if (lease->state != WORK_DONE) continue;
        record->entries[record->n_entry++] = (store_commit_entry_t){
            .replica = (uint32_t)k, .fence = lease->fence, .done_windows = lease->done_windows};
    }
}

record_t *records_decide(const shepherd_t *self)
{
    record_t *record = record_new(RECORD_DECIDE, self->round.number);
    fill_entries(self, record);
    for (int64_t k = 0; k < self->round.replicas; k++)
        if (self->round.lease[k].late)
            record->entries[record->n_entry++] = (store_commit_entry_t){
                .replica = (uint32_t)k, .fence = self->round.lease[k].fence, .late = true};
    return record;
}

/* Where the round's time went: means over its leases, so that the parts add up to about the whole.
 */
static void fill_times(const shepherd_t *self, store_commit_t *commit)
{
    double compute = 0, transfer = 0, wait = 0, recover = 0;
    int64_t last = 0, n = 0;
    for (int64_t k = 0; k < self->round.replicas; k++)
        if (self->round.lease[k].state == WORK_DONE && self->round.lease[k].done_ms > last)
            last = self->round.lease[k].done_ms;
    for (int64_t k = 0; k < self->round.replicas; k++) {
        const work_t *lease = &self->round.lease[k];
        if (lease->state != WORK_DONE) continue;
        compute += lease->compute_s * 1000;
        transfer += lease->transfer_s * 1000;
        wait += (double)(last - lease->done_ms);
        recover += (double)(lease->given_ms - lease->first_ms); /* what it had done, and waiting */
        n++;
    }
    if (n == 0) n = 1;
    commit->compute_ms = (int64_t)(compute / (double)n);
    commit->transfer_ms = (int64_t)(transfer / (double)n);
    commit->wait_ms = (int64_t)(wait / (double)n);
    commit->recover_ms = (int64_t)(recover / (double)n) + self->round.outage_ms;
    commit->received_bytes = (int64_t)self->progress.bytes_in;
    commit->sent_bytes = (int64_t)self->progress.bytes_out;
}

record_t *records_commit(const shepherd_t *self, double loss, uint64_t tokens)
{
    record_t *record = record_new(RECORD_COMMIT, self->round.number);
    fill_entries(self, record);
    fill_times(self, &record->commit);
    record->commit.loss = loss;
    record->commit.tokens = tokens;
    return record;
}

void records_issue(shepherd_t *self, uint32_t replica)
{
    record_t *record = of_lease(self, RECORD_ISSUE, replica);
    record->text = mem_strdup(self->round.lease[replica].worker);
    record->detail = mem_strdup(self->round.lease[replica].target);
    records_write(self, record);
}

/* As a worker says: any number. */
int64_t records_ms(double seconds)
{
    return seconds >= 0 && seconds < 1e9 ? (int64_t)(seconds * 1000) : -1;
}

void records_done(shepherd_t *self, uint32_t replica)
{
    const work_t *lease = &self->round.lease[replica];
    record_t *record = of_lease(self, RECORD_DONE, replica);
    record->done = (store_done_t){.windows = lease->done_windows,
                                  .loss = lease->loss,
                                  .tokens = lease->tokens,
                                  .steps = lease->steps,
                                  .norm2 = lease->norm2,
                                  .compute_s = lease->compute_s,
                                  .sent_bytes = lease->sent_bytes,
                                  .received_bytes = lease->received_bytes,
                                  .download_ms = records_ms(lease->download_s),
                                  .upload_ms = records_ms(lease->upload_s)};
    memcpy(record->state, lease->state_out, HASH_HEX);
    records_write(self, record);
}

void records_reopen(shepherd_t *self, uint32_t replica)
{
    records_write(self, of_lease(self, RECORD_REOPEN, replica));
}

void records_reject(shepherd_t *self, const rejection_t *rejected)
{
    record_t *record = record_new(RECORD_REJECTION, self->round.number);
    record->replica = rejected->replica;
    record->fence = rejected->fence;
    record->text = mem_strdup(rejected->reason);
    record->detail = mem_strdup(rejected->detail);
    record->worker = mem_strdup(*rejected->worker ? rejected->worker : "nobody");
    log_event(LOG_WARN, "rejected",
              "round=%u replica=%u fence=%u worker=%s reason=%s detail=\"%s\"", self->round.number,
              rejected->replica, rejected->fence, record->worker, record->text, record->detail);
    records_write(self, record);
}

void records_quarantine(shepherd_t *self, const liar_t *liar)
{
    record_t *record = record_new(RECORD_QUARANTINE, self->round.number);
    record->replica = liar->replica;
    record->fence = liar->fence;
    record->key = mem_strdup(liar->name);
    record->worker = mem_strdup(liar->member);
    record->text = mem_strdup(liar->digest);
    record->detail = mem_strdup(liar->witnesses);
    snprintf(record->state, sizeof record->state, "%s", liar->agreed);
    records_write(self, record);
}

void records_deed(shepherd_t *self, record_kind_t kind, const member_row_t *client,
                  const char *action, const char *object, json_t *detail)
{
    record_t *record = record_new(kind, self->round.number);
    const keys_card_t *card = client->peer.card;
    char *text = detail ? json_dumps(detail, JSON_COMPACT) : NULL;
    json_decref(detail);
    record->worker = mem_strdup(client->id);
    record->text = mem_strdup(action);
    record->key = mem_strdup(*object ? object : self->config->run);
    record->detail = text ? text : mem_strdup("{}");
    if (card) snprintf(record->key_name, sizeof record->key_name, "%s", card->name);
    if (card) keys_hex(card->public_key, KEYS_BYTES, record->public_key);
    records_write(self, record);
}

void records_run(shepherd_t *self, const char *state, const char *reason)
{
    record_t *record = record_new(RECORD_RUN, self->round.number);
    record->text = mem_strdup(state);
    record->detail = mem_strdup(reason);
    records_write(self, record);
}

/* --- What is told, and who is there --- */

static bool leads(const shepherd_t *self)
{
    return self->ports.record && self->phase != PHASE_STANDBY && !self->finished;
}

/* `detail` and `key` are taken; member is copied. */
static void write_event(shepherd_t *self, const store_event_t *event, char *detail, char *key)
{
    record_t *record = record_new(RECORD_EVENT, self->round.number);
    record->event = *event;
    record->text = mem_strdup(event->name);
    record->worker = mem_strdup(event->member);
    record->detail = detail;
    record->key = key;
    records_write(self, record);
}

void records_event(shepherd_t *self, const Msg__Event *event)
{
    happening_t what;
    if (!leads(self) || !happening_of(event, &what)) return;
    store_event_t row = {.time_ms = event->time_ms,
                         .level = what.level,
                         .service = what.service,
                         .member = what.member,
                         .name = what.name,
                         .round = what.round < 0 ? (int64_t)self->round.number + 1 : what.round};
    write_event(self, &row, what.detail, what.key);
}

static void happened(shepherd_t *self, const char *level, const char *name, const char *member,
                     json_t *detail)
{
    char *text = detail ? json_dumps(detail, JSON_COMPACT) : NULL;
    json_decref(detail);
    store_event_t row = {.time_ms = clock_wall_ms(),
                         .level = level,
                         .service = "shepherd",
                         .member = member,
                         .name = name,
                         .round = (int64_t)self->round.number + 1};
    if (leads(self))
        write_event(self, &row, text ? text : mem_strdup("{}"), NULL);
    else
        free(text);
}

void records_happened(shepherd_t *self, const char *name, const char *member, json_t *detail)
{
    happened(self, "info", name, member, detail);
}

void records_failed(shepherd_t *self, const char *name, json_t *detail)
{
    happened(self, "error", name, self->config->id, detail);
}

void records_joined(shepherd_t *self, const member_row_t *row)
{
    if (!leads(self) || row->kind != MSG__KIND__KIND_WORKER) return;
    record_t *record = record_new(RECORD_JOINED, self->round.number);
    store_worker_t *worker = record->joined = mem_calloc(1, sizeof *worker);
    const struct {
        char *to;
        size_t space;
        const char *from;
    } texts[] = {
        {worker->id, sizeof worker->id, row->id},
        {worker->kind, sizeof worker->kind, msg_who_name(row->kind)},
        {worker->state, sizeof worker->state, "idle"},
        {worker->supervisor, sizeof worker->supervisor, row->supervisor},
        {worker->host, sizeof worker->host, row->host},
        {worker->target, sizeof worker->target, row->target},
        {worker->run, sizeof worker->run, self->config->run},
    };
    char *device = *row->device ? mem_printf("%s%s%s", row->device, *row->device_name ? " " : "",
                                             row->device_name)
                                : mem_strdup("");
    utf8_cut(worker->device, sizeof worker->device, device);
    free(device);
    worker->memory_bytes = row->device_bytes <= INT64_MAX ? (int64_t)row->device_bytes : 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        utf8_cut(texts[i].to, texts[i].space, texts[i].from);
    if (row->incarnation)
        snprintf(worker->incarnation, sizeof worker->incarnation, "%016llx",
                 (unsigned long long)row->incarnation);
    records_write(self, record);
}

void records_left(shepherd_t *self, const member_row_t *row, const char *state, const char *reason)
{
    if (!leads(self) || row->kind != MSG__KIND__KIND_WORKER) return;
    record_t *record = record_new(RECORD_LEFT, self->round.number);
    record->worker = mem_strdup(row->id);
    record->text = mem_strdup(state);
    record->detail = mem_strdup(reason);
    records_write(self, record);
}
