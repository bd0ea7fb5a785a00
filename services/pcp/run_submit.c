/* From a run directory to a submission. run.json is written anew: paths become plain names, what is
 * the cluster's to set is left out, keys are sorted, so that the same run has the same hash. */
#include "pcp/run_submit.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "data/token_bytes.h"

enum {
    N_FILES = 6,
    NAME_BYTES = 24,
    HASH_BYTES = 8 << 20, /* between two looks at the clock */
    ATTEMPTS = 5,
    QUIET_MS = 700, /* work that is done by then shows nothing */
    BUSY_US = 200000,
    TOLD_BYTES = 1 << 20, /* less of an earlier attempt is not worth a word */
};

static const struct {
    const char *key, *name;
} places[N_FILES - 1] = {{"model", "model.mlir"},
                         {"init", "init.safetensors"},
                         {"train_tokens", "train"},
                         {"validation_tokens", "validation"},
                         {"tokenizer", "tokenizer.json"}};

/* The cluster's: where things are, who is called how, what goes on from where. */
static const char *const dropped[] = {
    "run",       "run_dir",        "bind",         "telemetry",    "events",       "store",
    "id",        "liveness",       "resume",       "checkpoint",   "keep_state",   "leader_ttl_ms",
    "config",    "workers_wait_s", "store_sync",   "shard_wait_s", "heartbeat_ms", "timeout_ms",
    "log_level", "log_format",     "parent_death", "state_dir"};

typedef struct {
    const char *name;
    file_map_t map;
    char hash[HASH_HEX];
} part_t;

typedef struct {
    part_t part[N_FILES];
    char names[N_FILES - 1][NAME_BYTES]; /* of tokens */
    size_t n;
    char *json; /* the text of run.json: part 0 */
    char spec[HASH_HEX];
} parts_t;

/* What is under way, shown when it has taken QUIET_MS. */
typedef struct {
    progress_t *out;
    const char *phase;
    int64_t begun_ms;
    bool shown;
    double done, total; /* bytes */
} meter_t;

static meter_t meter_begin(progress_t *out, const char *phase, const parts_t *parts)
{
    meter_t meter = {.out = out, .phase = phase, .begun_ms = clock_mono_ms()};
    for (size_t i = 0; i < parts->n; i++) meter.total += (double)parts->part[i].map.n;
    return meter;
}

static void meter_add(meter_t *self, size_t bytes)
{
    self->done += (double)bytes;
    if (!self->shown && clock_mono_ms() - self->begun_ms < QUIET_MS) return;
    if (!self->shown) {
        progress_phase(self->out, "%s", self->phase);
        self->out->begun_ms = self->begun_ms; /* so the rate is that of all of it */
    }
    self->shown = true;
    progress_at(self->out, self->done, self->total, PROGRESS_BYTES);
}

static void parts_fini(parts_t *self)
{
    for (size_t i = 1; i < self->n; i++) file_unmap(&self->part[i].map);
    free(self->json);
}

static int add_file(parts_t *self, const char *name, const char *path, err_t *err)
{
    part_t *part = &self->part[self->n];
    if (file_map(path, &part->map, err) < 0) return -1;
    part->name = name;
    self->n++;
    return 0;
}

/* Names of tokens end as their files' do, which tells what they are. */
static const char *name_of(char (*room)[NAME_BYTES], const char *place, const char *path)
{
    if (strchr(place, '.')) return place;
    snprintf(*room, NAME_BYTES, "%s.%s", place, token_bytes_ending(token_bytes_named(path)));
    return *room;
}

/* Where a file is that run.json names: in its directory, as where a cluster keeps a run, else as the path says.
 * Caller frees. */
static char *place_of(const char *dir, const char *path)
{
    char *within = path[0] == '/' ? NULL : mem_printf("%s/%s", dir, path);
    if (within && file_exists(within)) return within;
    free(within);
    return mem_strdup(path);
}

/* Take the files that run.json names, and put plain names in their place. */
static int take_files(parts_t *self, const char *dir, json_t *json, err_t *err)
{
    self->n = 1;
    for (size_t i = 0; i < N_FILES - 1; i++) {
        const char *path = json_string_value(json_object_get(json, places[i].key));
        if (!path || !*path) {
            json_object_del(json, places[i].key);
            continue;
        }
        const char *name = name_of(&self->names[i], places[i].name, path);
        char *place = place_of(dir, path);
        int rc = add_file(self, name, place, err);
        free(place);
        if (rc < 0) return -1;
        json_object_set_new(json, places[i].key, json_string(name));
    }
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) json_object_del(json, dropped[i]);
    self->json = json_dumps(json, JSON_INDENT(2) | JSON_SORT_KEYS);
    self->part[0] = (part_t){.name = "run.json",
                             .map = {(const uint8_t *)self->json, strlen(self->json)}};
    return 0;
}

static void hash_parts(parts_t *self, progress_t *progress)
{
    str_t all = {0};
    meter_t meter = meter_begin(progress, "hashing files", self);
    for (size_t i = 0; i < self->n; i++) {
        part_t *part = &self->part[i];
        hash_stream_t *hash = hash_stream_new();
        for (size_t at = 0, n; at < part->map.n; at += n) {
            n = part->map.n - at < HASH_BYTES ? part->map.n - at : HASH_BYTES;
            hash_stream_add(hash, part->map.at + at, n);
            meter_add(&meter, n);
        }
        hash_stream_finish(&hash, part->hash);
        str_addf(&all, "%s %s\n", part->name, part->hash);
    }
    hash_content(str_text(&all), all.n, self->spec);
    str_fini(&all);
}

static int read_parts(parts_t *self, const char *dir, progress_t *progress, err_t *err)
{
    json_error_t fault;
    char *path = mem_printf("%s/run.json", dir);
    json_t *json = json_load_file(path, 0, &fault);
    int rc = 0;
    if (!file_exists(path))
        rc = err_set(err, ERR_ARG,
                     "%s: there is no run.json in it: give a directory of pcp train "
                     "--prepare-only",
                     dir);
    else if (!json)
        rc = err_set(err, ERR_PARSE, "%s:%d:%d: %s", path, fault.line, fault.column, fault.text);
    else if (!json_is_object(json))
        rc = err_set(err, ERR_PARSE, "%s: no object", path);
    if (rc == 0) rc = take_files(self, dir, json, err);
    json_decref(json);
    free(path);
    if (rc == 0) hash_parts(self, progress);
    return rc;
}

/* --- Sending --- */

static int announce(run_talk_t *talk, const run_submission_t *submission, parts_t *parts,
                    msg_envelope_t **answer, err_t *err)
{
    Msg__RunFile file[N_FILES], *list[N_FILES];
    Msg__RunAsk ask = MSG__RUN_ASK__INIT;
    ask.verb = MSG__RUN_ASK__VERB__SUBMIT;
    ask.run = (char *)(submission->name ? submission->name : "");
    ask.key = (char *)(submission->key ? submission->key : "");
    ask.spec = parts->spec;
    for (size_t i = 0; i < parts->n; i++) {
        msg__run_file__init(&file[i]);
        file[i].name = (char *)parts->part[i].name;
        file[i].size = parts->part[i].map.n;
        file[i].hash = parts->part[i].hash;
        list[i] = &file[i];
    }
    ask.files = list;
    ask.n_files = parts->n;
    return run_talk_ask(talk, &ask, false, answer, err);
}

/* Where the sending is. */
typedef struct {
    const parts_t *parts;
    size_t index;         /* file of the next piece */
    uint64_t at[N_FILES]; /* place in each of what comes next: its size: no more does */
    meter_t meter;
} sending_t;

/* What the front has of an earlier attempt, or of another client's of the same files, need not go. */
static sending_t sending_of(const parts_t *parts, const Msg__RunAnswer *answer,
                            progress_t *progress)
{
    uint64_t n_have = 0;
    sending_t self = {.parts = parts, .meter = meter_begin(progress, "sending files", parts)};
    for (size_t i = 0; i < parts->n && answer->n_have == parts->n; i++) {
        self.at[i] = answer->have[i] < parts->part[i].map.n ? answer->have[i]
                                                            : parts->part[i].map.n;
        n_have += self.at[i];
    }
    self.meter.done = (double)n_have;
    if (n_have > TOLD_BYTES)
        progress_note(progress, "%llu MB of %.0f are at the cluster already",
                      (unsigned long long)n_have / 1000000, self.meter.total / 1e6);
    return self;
}

/* An empty file is one empty piece. */
static bool next_piece(void *user, Msg__RunPiece *piece)
{
    sending_t *self = user;
    const part_t *part = self->parts->part;
    while (self->index < self->parts->n && part[self->index].map.n > 0 &&
           self->at[self->index] == part[self->index].map.n)
        self->index++;
    if (self->index == self->parts->n) return false;
    const file_map_t *map = &part[self->index].map;
    uint64_t *at = &self->at[self->index];
    size_t left = map->n - *at, n = left < RUN_TALK_PIECE_BYTES ? left : RUN_TALK_PIECE_BYTES;
    piece->file = (uint32_t)self->index;
    piece->offset = *at;
    piece->data.data = (uint8_t *)(uintptr_t)map->at + *at;
    piece->data.len = n;
    *at += n;
    if (*at == map->n) self->index++;
    return true;
}

static void arrived(void *user, size_t bytes)
{
    meter_add(&((sending_t *)user)->meter, bytes);
}

/* *answer is that to the announcement, then that to the end of it. */
static int send_all(run_talk_t *talk, const parts_t *parts, progress_t *progress,
                    msg_envelope_t **answer, err_t *err)
{
    uint64_t window = (*answer)->run_answer->window;
    sending_t sending = sending_of(parts, (*answer)->run_answer, progress);
    msg_free(answer);
    run_pieces_t pieces = {next_piece, arrived, &sending};
    if (run_talk_pieces(talk, window, &pieces, err) < 0) return -1;
    /* The front hashes all of it and has it written to its disk. */
    if (sending.meter.shown) progress_phase(progress, "the cluster checks and stores the files");
    Msg__RunAsk ask = MSG__RUN_ASK__INIT;
    ask.verb = MSG__RUN_ASK__VERB__COMMIT;
    return run_talk_ask(talk, &ask, true, answer, err);
}

/* Another client's submission under this key is about to be a run: wait what becomes of it. */
static int announce_until_told(run_talk_t *talk, const run_submission_t *submission, parts_t *parts,
                               msg_envelope_t **answer, err_t *err)
{
    for (;;) {
        if (announce(talk, submission, parts, answer, err) < 0) return -1;
        if (!(*answer)->run_answer->busy) return 0;
        msg_free(answer);
        progress_state(submission->progress, "another submission under this key is being entered");
        usleep(BUSY_US);
    }
}

static int attempt(run_talk_t *talk, const run_submission_t *submission, parts_t *parts,
                   run_submitted_t *out, err_t *err)
{
    msg_envelope_t *answer = NULL;
    if (announce_until_told(talk, submission, parts, &answer, err) < 0) return -1;
    bool existed = answer->run_answer->existed;
    if (answer->run_answer->send) {
        run_talk_renewed(talk); /* this front knows of it */
        if (send_all(talk, parts, submission->progress, &answer, err) < 0) return -1;
    }
    int rc = answer->run_answer->n_runs == 1 ? 0 : err_set(err, ERR_NET, "an answer without a run");
    if (rc == 0) {
        const Msg__RunInfo *run = answer->run_answer->runs[0];
        *out = (run_submitted_t){.existed = existed, .adopted = run->adopted};
        snprintf(out->id, sizeof out->id, "%s", run->id);
    }
    msg_free(&answer);
    return rc;
}

int run_submit(run_talk_t *talk, const run_submission_t *submission, run_submitted_t *out,
               err_t *err)
{
    parts_t parts = {0};
    int rc = read_parts(&parts, submission->dir, submission->progress, err);
    run_talk_renewed(talk);
    run_talk_show(talk, submission->progress);
    for (int i = 0; rc == 0 && i < ATTEMPTS; i++) {
        rc = attempt(talk, submission, &parts, out, err);
        if (rc == 0 || !run_talk_renewed(talk)) break; /* another front is told of it anew */
        if (i + 1 < ATTEMPTS) rc = 0;
    }
    run_talk_show(talk, NULL);
    progress_end(submission->progress);
    parts_fini(&parts);
    return rc;
}
