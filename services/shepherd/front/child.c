/* A run's shepherd as a child process: its command line, and what connects it to the front. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "data/token_bytes.h"
#include "msg/control.h"
#include "shepherd/front/front.h"

typedef struct {
    VEC(char *) words; /* owned */
} command_t;

static void flag(command_t *c, const char *name, char *value)
{
    VEC_PUSH(&c->words, mem_strdup(name));
    VEC_PUSH(&c->words, value);
}

/* A file of the run by its usual name, if it has one. */
static void file_flag(command_t *c, const front_run_t *run, const char *name, const char *file)
{
    char *path = mem_printf("%s/%s/%s", run->front->config->runs_dir, run->row.id, file);
    if (file_exists(path))
        flag(c, name, path);
    else
        free(path);
}

/* A submission has one of them: its run.json is checked when it comes. */
static void token_flag(command_t *c, const front_run_t *run, const char *name, const char *stem)
{
    for (int bytes = 1; bytes <= 4; bytes *= 2) {
        char *file = mem_printf("%s.%s", stem, token_bytes_ending(bytes));
        file_flag(c, run, name, file);
        free(file);
    }
}

/* URLs may have passwords: they go by the environment (loop.c). */
static void add_places(command_t *c, const front_run_t *run)
{
    const front_config_t *o = run->front->config;
    const char *id = run->row.id;
    flag(c, "--config", mem_printf("%s/%s/run.json", o->runs_dir, id));
    flag(c, "--run", mem_strdup(id));
    flag(c, "--run-dir", mem_strdup(run->front->config_dir));
    flag(c, "--bind", mem_strdup(run->control));
    flag(c, "--events", mem_strdup(run->events));
    flag(c, "--telemetry",
         o->telemetry ? mem_strdup(o->telemetry)
                      : mem_printf("ipc://%s/%lld.telemetry", run->front->config_dir,
                                   (long long)run->row.number));
    flag(c, "--id", mem_printf("%s.%s", o->id, id));
    file_flag(c, run, "--model", "model.mlir");
    file_flag(c, run, "--init", "init.safetensors");
    token_flag(c, run, "--train-tokens", "train");
    token_flag(c, run, "--validation-tokens", "validation");
    file_flag(c, run, "--tokenizer", "tokenizer.json");
    flag(c, "--checkpoint", mem_printf("%s/%s/checkpoint", o->runs_dir, id));
}

static void add_policy(command_t *c, const front_run_t *run)
{
    const front_config_t *o = run->front->config;
    flag(c, "--resume", mem_strdup("latest"));
    flag(c, "--workers", mem_strdup("1")); /* how many it gets is ours to say, and may change */
    flag(c, "--keep-state", mem_strdup(o->keep_state));
    flag(c, "--heartbeat-ms", mem_printf("%lld", (long long)o->heartbeat_ms));
    flag(c, "--timeout-ms", mem_printf("%lld", (long long)o->timeout_ms));
    flag(c, "--leader-ttl-ms", mem_printf("%lld", (long long)o->leader_ttl_ms));
    flag(c, "--shard-wait-s", mem_printf("%g", o->shard_wait_s));
    flag(c, "--log-level", mem_strdup(o->common.log_level));
    flag(c, "--log-format", mem_strdup(o->common.log_format));
}

int front_child_spawn(front_run_t *run, err_t *err)
{
    command_t c = {0};
    VEC_PUSH(&c.words, mem_strdup(run->front->program));
    VEC_PUSH(&c.words, mem_strdup("--parent-death"));
    add_places(&c, run);
    add_policy(&c, run);
    VEC_PUSH(&c.words, NULL);
    int rc = children_spawn(run->front->children, run->name, c.words.at, err);
    for (size_t i = 0; i < c.words.n; i++) free(c.words.at[i]);
    VEC_FREE(&c.words);
    return rc;
}

/* --- The front as a member of the run --- */

static void on_event(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    front_run_heard(state, message->run_event);
}

/* About the checkpoint that an operator asked for. */
static void on_reply(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    front_run_t *run = state;
    Msg__ControlReply reply = *message->control_reply;
    const front_member_t *client = front_by_serial(run->front, run->asker);
    if (!client) return;
    reply.client = client->is.id;
    reply.request = run->question;
    MSG_SEND(run->front->out, &client->is.peer, run->question, CONTROL_REPLY, control_reply,
             &reply);
    run->asker = 0;
}

const msg_route_t front_child_routes[MSG_KIND_COUNT] = {
    MSG_ROUTE(RUN_EVENT, 4096 + MSG_NAME_BYTES, on_event, MSG_FROM_SHEPHERD),
    MSG_ROUTE(CONTROL_REPLY, 1 << 20, on_reply, MSG_FROM_SHEPHERD),
};

static void on_welcome(void *state, const Msg__Welcome *welcome)
{
    (void)state, (void)welcome;
}

static void on_lost(void *state, const char *reason)
{
    (void)state, (void)reason; /* its end as a process says more */
}

int front_child_link(front_run_t *run, err_t *err)
{
    front_t *self = run->front;
    if (!run->listening && endpoint_add(self->news, run->events, false, err) < 0) return -1;
    run->listening = true;
    if (run->link) return 0;
    member_options_t options = {.endpoint = run->control,
                                .kind = MSG__KIND__KIND_CLI,
                                .id = "front",
                                .routes = front_child_routes,
                                .state = run,
                                .on_welcome = on_welcome,
                                .on_lost = on_lost};
    run->link = member_new(self->loop, &options, err);
    return run->link ? 0 : -1;
}

void front_child_unlink(front_run_t *run)
{
    if (run->listening) zsock_disconnect(run->front->news, "%s", run->events);
    run->listening = false;
    member_destroy(&run->link);
}
