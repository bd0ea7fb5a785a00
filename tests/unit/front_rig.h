/* A front with its own actors on a scratch directory and a database of its own, and a command line
 * that asks it: for tests of its handlers. Header-only, as each test uses a part of it. */
#ifndef TESTS_FRONT_RIG_H
#define TESTS_FRONT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hand_over.h"
#include "base/log.h"
#include "base/mem.h"
#include "shepherd/front/front.h"
#include "store_help.h"
#include "temp.h"

#define BODY(kind) MSG__ENVELOPE__BODY_##kind

enum { LIMIT_MS = 60000 };

typedef struct {
    char *dir, *runs, *url;
    front_config_t config;
    clerk_options_t clerk;
    front_t front;
    VEC(msg_envelope_t *) heard; /* what was sent to `watched` */
    msg_peer_t watched;
    unsigned n_fault, n_forget;
    size_t n_deleted;  /* runs that the last FORGET names as deleted ... */
    uint64_t deleted;  /* ... and the last of them */
    size_t most_bytes; /* of a packed message */
} rig_t;

/* --- The rig --- */

static inline void hear(void *user, const msg_peer_t *to, msg_envelope_t *message)
{
    rig_t *rig = user;
    size_t n;
    message->version = MSG_VERSION;
    uint8_t *bytes = msg_pack(message, &n);
    if (n > rig->most_bytes) rig->most_bytes = n;
    rig->n_fault += message->body_case == BODY(FAULT);
    rig->n_forget += message->body_case == BODY(FORGET);
    if (message->body_case == BODY(FORGET)) {
        rig->n_deleted = message->forget->n_deleted;
        rig->deleted = rig->n_deleted ? message->forget->deleted[rig->n_deleted - 1] : 0;
    }
    bool counts = message->body_case == BODY(RUN_ANSWER);
    if (counts && msg_peer_equal(to, &rig->watched))
        VEC_PUSH(&rig->heard, msg_unpack(bytes, n, NULL));
    free(bytes);
}

/* What the actors have to tell, until `done` says so. */
typedef bool done_fn(const rig_t *rig, size_t n);

static inline void turn(rig_t *rig, done_fn *done, size_t n)
{
    front_t *front = &rig->front;
    int64_t limit = clock_mono_ms() + LIMIT_MS;
    zpoller_t *poller = zpoller_new(front->clerk, front->files, NULL);
    while (!done(rig, n)) {
        assert_true(clock_mono_ms() < limit);
        void *ready = zpoller_wait(poller, 100);
        front->now_ms = clock_mono_ms();
        if (ready == front->clerk) {
            clerk_result_t *result = clerk_take(front->clerk);
            assert_int_not_equal(result->event, CLERK_FAILED);
            front_on_clerk(front, result);
            clerk_result_destroy(&result);
        } else if (ready == front->files) {
            front_job_t *job = front_files_take(front->files);
            front_on_file(front, job);
            front_job_destroy(&job);
        }
    }
    zpoller_destroy(&poller);
}

static inline bool has_begun(const rig_t *rig, size_t n)
{
    (void)n;
    return rig->front.leads && rig->front.swept;
}
static inline bool has_heard(const rig_t *rig, size_t n)
{
    return rig->heard.n >= n;
}
static inline bool has_runs(const rig_t *rig, size_t n)
{
    if (rig->front.runs.n != n) return false;
    for (size_t i = 0; i < n; i++)
        if (!rig->front.runs.at[i]->stored || rig->front.runs.at[i]->deleting) return false;
    return true;
}

static inline void begin(rig_t *rig)
{
    rig->front = (front_t){.config = &rig->config, .config_dir = rig->dir, .wake = -1};
    rig->front.out = (msg_out_t){hear, rig};
    rig->front.now_ms = clock_mono_ms();
    rig->front.loop = zloop_new();
    rig->front.clerk = clerk_new(&rig->clerk);
    rig->front.files = front_files_new();
    turn(rig, has_begun, 0);
}

static inline void end(rig_t *rig)
{
    front_fini(&rig->front);
    clerk_destroy(&rig->front.clerk);
    front_files_destroy(&rig->front.files);
    zloop_destroy(&rig->front.loop);
    take_over(&rig->clerk);
}

static inline rig_t *rig_new(void)
{
    rig_t *rig = calloc(1, sizeof *rig);
    rig->dir = temp_dir();
    rig->runs = mem_printf("%s/runs", rig->dir);
    rig->url = mem_printf("sqlite://%s/pcp.db", rig->dir);
    assert_int_equal(file_make_dirs(rig->runs, NULL), 0);
    rig->config = (front_config_t){.id = "front",
                                   .runs_dir = rig->runs,
                                   .heartbeat_ms = 500,
                                   .timeout_ms = 4000,
                                   .most_runs = 16,
                                   .upload_gib = 1};
    rig->clerk = (clerk_options_t){
        .url = rig->url, .holder = "front", .ttl_ms = 60000, .migrate = true};
    begin(rig);
    return rig;
}

static inline void rig_destroy(rig_t *rig)
{
    end(rig);
    for (size_t i = 0; i < rig->heard.n; i++) msg_free(&rig->heard.at[i]);
    VEC_FREE(&rig->heard);
    free(rig->runs);
    free(rig->url);
    temp_remove(&rig->dir);
    free(rig);
}

static inline msg_peer_t peer_of(unsigned number)
{
    msg_peer_t peer = {.n = 4};
    memcpy(peer.at, &number, 4);
    return peer;
}

static inline front_member_t *join(rig_t *rig, unsigned number, Msg__Kind kind)
{
    char id[32];
    snprintf(id, sizeof id, "member-%u", number);
    Msg__Hello hello = MSG__HELLO__INIT;
    hello.kind = kind;
    hello.id = id;
    hello.target = "cpu:x86-64-v3";
    hello.endpoint = "tcp://here:1";
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = BODY(HELLO);
    message.hello = &hello;
    message.version = MSG_VERSION;
    size_t n;
    uint8_t *bytes = msg_pack(&message, &n);
    zmq_msg_t body;
    zmq_msg_init_size(&body, n);
    memcpy(zmq_msg_data(&body), bytes, n);
    free(bytes);
    msg_peer_t peer = peer_of(number);
    front_on_hello(&rig->front, &peer, &body);
    zmq_msg_close(&body);
    front_member_t *member = front_by_peer(&rig->front, &peer);
    assert_non_null(member);
    return member;
}

static inline void tell(rig_t *rig, unsigned client, const Msg__RunAsk *ask)
{
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = BODY(RUN_ASK);
    message.run_ask = (Msg__RunAsk *)ask;
    msg_peer_t peer = peer_of(client);
    front_on_ask(&rig->front, &peer, &message);
}

/* The answer to a question of the command line (member 0), borrowed. */
static inline const Msg__RunAnswer *asked(rig_t *rig, const Msg__RunAsk *ask)
{
    size_t before = rig->heard.n;
    rig->watched = peer_of(0);
    tell(rig, 0, ask);
    turn(rig, has_heard, before + 1);
    return rig->heard.at[before]->run_answer;
}

static inline const Msg__RunAnswer *asked_about(rig_t *rig, Msg__RunAsk__Verb verb, const char *run)
{
    Msg__RunAsk ask = MSG__RUN_ASK__INIT;
    ask.verb = verb;
    ask.run = (char *)run;
    return asked(rig, &ask);
}

/* --- Submissions --- */

#define SPEC "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
static const char run_json[] =
    "{\"model\": \"model.mlir\", \"init\": \"init.safetensors\", \"train_tokens\": \"train.u16\"}";
enum { N_FILES = 4 };
static const char *const names[N_FILES] = {"run.json", "model.mlir", "init.safetensors",
                                           "train.u16"};

/* A submission of four files, the last of which holds `words`. */
typedef struct {
    Msg__RunAsk ask;
    Msg__RunFile file[N_FILES], *list[N_FILES];
    const char *text[N_FILES];
    char hash[N_FILES][HASH_HEX];
} wish_t;

static inline void wish_init(wish_t *self, const char *run, const char *words)
{
    msg__run_ask__init(&self->ask);
    self->ask.verb = MSG__RUN_ASK__VERB__SUBMIT;
    self->ask.run = (char *)run;
    self->ask.key = (char *)run;
    self->ask.spec = SPEC;
    self->ask.n_files = N_FILES;
    self->ask.files = self->list;
    const char *text[N_FILES] = {run_json, "module", "values", words};
    for (int i = 0; i < N_FILES; i++) {
        self->text[i] = text[i];
        hash_content(text[i], strlen(text[i]), self->hash[i]);
        msg__run_file__init(&self->file[i]);
        self->file[i].name = (char *)names[i];
        self->file[i].size = strlen(text[i]);
        self->file[i].hash = self->hash[i];
        self->list[i] = &self->file[i];
    }
}

static inline void send_pieces(rig_t *rig, const wish_t *wish)
{
    for (uint32_t i = 0; i < N_FILES; i++) {
        Msg__RunPiece piece = MSG__RUN_PIECE__INIT;
        piece.file = i;
        piece.data.data = (uint8_t *)(uintptr_t)wish->text[i];
        piece.data.len = strlen(wish->text[i]);
        msg_envelope_t message = MSG__ENVELOPE__INIT;
        message.body_case = BODY(RUN_PIECE);
        message.run_piece = &piece;
        size_t before = rig->heard.n;
        front_on_piece(&rig->front, &rig->watched, &message);
        turn(rig, has_heard, before + 1);
        assert_string_equal(rig->heard.at[before]->run_answer->error, "");
    }
}

/* All of it; the answer to COMMIT. */
static inline const Msg__RunAnswer *submit(rig_t *rig, const char *run, const char *words)
{
    wish_t wish;
    wish_init(&wish, run, words);
    const Msg__RunAnswer *answer = asked(rig, &wish.ask);
    assert_string_equal(answer->error, "");
    assert_true(answer->send);
    send_pieces(rig, &wish);
    return asked_about(rig, MSG__RUN_ASK__VERB__COMMIT, "");
}

static inline void only_entries(rig_t *rig, int entries)
{
    rig_t *self = rig;
    asked_about(self, MSG__RUN_ASK__VERB__LIST, "");
    char *nothing = mem_printf("%s/nothing", rig->dir);
    front_job_t *job = front_job_new(FILES_LOG, front_by_id(&self->front, "member-0")->is.serial,
                                     nothing); /* behind what was to be dropped */
    size_t before = rig->heard.n;
    front_files_start(self->front.files, job);
    turn(self, has_heard, before + 1);
    free(nothing);
    assert_int_equal(temp_count(rig->runs), entries);
}

static inline const char *content(const rig_t *rig, const char *path)
{
    static char text[256];
    size_t n = 0;
    char *bytes = file_read(temp_path(rig->dir, path), &n, NULL);
    snprintf(text, sizeof text, "%s", bytes ? bytes : "(none)");
    free(bytes);
    return text;
}

#endif
