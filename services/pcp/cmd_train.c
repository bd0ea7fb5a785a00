/* pcp train: prepare a run directory, start every service as a child, show progress, leave none
 * behind. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/children.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ckpt/checkpoint.h"
#include "msg/control.h"
#include "msg/member.h"
#include "msg/publish.h"
#include "pcp/cmd.h"
#include "pcp/progress.h"
#include "pcp/restarts.h"
#include "pcp/routes.h"
#include "pcp/sample_line.h"
#include "pcp/train_dir.h"
#include "pcp/train_page.h"
#include "pcp/train_phase.h"
#include "pcp/train_prepare.h"
#include "pcp/train_processes.h"
#include "pcp/train_resume.h"

enum { EXIT_INTERRUPTED = 130, END_GRACE_MS = 10000, LAST_WORDS_MS = 500, LOG_TAIL_BYTES = 600 };

typedef struct {
    train_config_t config;
    train_resume_t resume;
    train_prepared_t prepared;
    children_t *children;
    progress_t progress;
    member_t *member;
    zsock_t *events; /* of the shepherd; what is lost is not shown */
    zloop_t *loop;
    int signals;
    bool members_started;
    int interrupts;
    restarts_t restarts;
    char ended[64], how[64]; /* a child that ended: its name and how; */
    int64_t judge_ms;        /* unless the shepherd explains it by then, the run has failed */
    bool shepherd_content;   /* it ended with status 0: the run is over */
    bool done;               /* the shepherd said RUN_DONE */
    bool failed;
    char *reason;        /* of the failure */
    char *failed_worker; /* the last one that its supervisor gave up */
    char *checkpoint;
    double val_loss;
    uint64_t val_tokens; /* that it is the mean of; 0: not known */
    bool has_val_loss;
    bool trained; /* a round has ended since we began */
} train_t;

static void fail(train_t *self, const char *reason)
{
    if (!self->reason) self->reason = mem_strdup(reason);
    self->failed = true;
}

/* --- the shepherd's events --- */

static void on_rewound(train_t *self, const Msg__Rewound *r)
{
    progress_note(&self->progress, "back from round %u to %u (%s): %s", r->from + 1, r->to + 1,
                  *r->checkpoint ? r->checkpoint : "the beginning", r->reason);
}

static void on_resized(train_t *self, const Msg__Resized *r)
{
    if (r->from > 0)
        progress_note(&self->progress, "%u replicas from round %u on, not %u: %s", r->to,
                      r->round + 1, r->from, r->reason);
}

/* What its supervisor says of a worker: worth a line when it died. */
static void on_worker(train_t *self, const Msg__WorkerState *worker)
{
    if (self->done || self->failed || self->interrupts || !*worker->reason) return;
    if (strcmp(worker->state, "drained") == 0) return;
    progress_note(&self->progress, "%s %s", worker->id, worker->reason);
    if (strcmp(worker->state, "failed") != 0) return;
    free(self->failed_worker);
    self->failed_worker = mem_strdup(worker->id);
}

static void on_event(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    train_t *self = state;
    const Msg__Event *event = message->run_event;
    switch (event->body_case) {
    case MSG__EVENT__BODY_ROUND:
        progress_round(&self->progress, event->round);
        self->trained = true;
        if (event->round->has_val_loss) self->val_tokens = event->round->val_tokens;
        break;
    case MSG__EVENT__BODY_WORKER: on_worker(self, event->worker); break;
    case MSG__EVENT__BODY_RUN_DONE:
        self->done = true;
        free(self->checkpoint);
        self->checkpoint = mem_strdup(event->run_done->checkpoint);
        self->has_val_loss = event->run_done->has_val_loss;
        self->val_loss = event->run_done->val_loss;
        break;
    case MSG__EVENT__BODY_REWOUND: on_rewound(self, event->rewound); break;
    case MSG__EVENT__BODY_RESIZED: on_resized(self, event->resized); break;
    case MSG__EVENT__BODY_WRITTEN: sample_line(&self->progress, event->written); break;
    case MSG__EVENT__BODY_RUN_FAILED: fail(self, event->run_failed->reason); break;
    default: break;
    }
}

static void on_welcome(void *state, const Msg__Welcome *welcome)
{
    (void)welcome;
    train_t *self = state;
    err_t err = {0};
    if (self->members_started) return;
    self->members_started = true;
    if (train_processes_members(&self->config, &self->prepared, self->children, &err) < 0)
        fail(self, err.text);
}

static void on_lost(void *state, const char *reason)
{
    (void)state;
    (void)reason; /* if the shepherd died, SIGCHLD says so, and better */
}

const msg_route_t train_routes[MSG_KIND_COUNT] = {
    MSG_ROUTE(RUN_EVENT, 4096 + MSG_NAME_BYTES, on_event, MSG_FROM_SHEPHERD),
};

/* What everybody says of itself: only for the eye. */
static int on_telemetry(zloop_t *loop, zsock_t *socket, void *state)
{
    (void)loop;
    train_t *self = state;
    Msg__Event *event = NULL;
    while (publish_receive(socket, &event, NULL) > 0) {
        if (!self->done && !self->failed && self->interrupts == 0)
            train_phase_event(&self->progress, event, self->config.inner_steps);
        msg__event__free_unpacked(event, NULL);
    }
    return 0;
}

/* --- children that end --- */

static void fail_with_log(train_t *self, const char *name, const char *how)
{
    char *tail = children_log_tail(self->children, name, LOG_TAIL_BYTES);
    char *reason = mem_printf("%s %s; the end of %s/logs/%s.log:\n%s", name, how,
                              self->config.run_dir, name, tail);
    fail(self, reason);
    free(reason);
    free(tail);
}

/* Only for the eye: the run goes on. */
static void note_page_end(train_t *self, const char *how)
{
    char *tail = children_log_tail(self->children, TRAIN_PAGE, LOG_TAIL_BYTES);
    size_t n = strlen(tail);
    if (n > 0 && tail[n - 1] == '\n') tail[n - 1] = '\0';
    const char *last = strrchr(tail, '\n');
    progress_note(&self->progress,
                  "the page or tracker %s, the run goes on (%s/logs/" TRAIN_PAGE ".log): %s", how,
                  self->config.run_dir, last ? last + 1 : tail);
    free(tail);
}

/* Why it ended may still be on the way, with the shepherd's last words. Who ended with status 0 was
 * dismissed, and the shepherd will end, too. */
static void on_child_end(train_t *self, const child_end_t *end)
{
    bool content = !end->signalled && end->code == 0;
    bool shepherd = strcmp(end->name, "shepherd") == 0;
    char how[64];
    if (strcmp(end->name, TRAIN_PAGE) == 0) {
        if (!self->done && !self->failed && !self->interrupts)
            note_page_end(self, child_end_text(end, how));
        return;
    }
    bool leaving = self->done || self->failed || self->interrupts > 0; /* then everybody ends */
    if (end->signalled && !leaving && restarts_plan(&self->restarts, end->name, clock_mono_ms())) {
        progress_note(&self->progress, "%s %s; it starts again", end->name,
                      child_end_text(end, how));
        return;
    }
    if (shepherd) self->shepherd_content = content;
    int64_t due = clock_mono_ms() + (content && !shepherd ? END_GRACE_MS : LAST_WORDS_MS);
    if (self->judge_ms && self->judge_ms <= due) return;
    self->judge_ms = due;
    snprintf(self->ended, sizeof self->ended, "%s", end->name);
    child_end_text(end, self->how);
}

static void on_interrupt(train_t *self)
{
    self->interrupts++;
    if (self->interrupts > 1) return;
    progress_note(&self->progress, "stopping with a checkpoint (Ctrl-C again: at once)");
    progress_phase(&self->progress, "writing the checkpoint");
    children_signal(self->children, "shepherd", SIGTERM);
}

static void reap(train_t *self)
{
    child_end_t end;
    while (children_reap(self->children, &end)) on_child_end(self, &end);
}

static int on_signal(zloop_t *loop, zmq_pollitem_t *item, void *state)
{
    (void)loop;
    train_t *self = state;
    struct signalfd_siginfo info;
    if (read(item->fd, &info, sizeof info) != (ssize_t)sizeof info) return 0;
    if (info.ssi_signo == SIGCHLD)
        reap(self);
    else
        on_interrupt(self);
    return 0;
}

/* The shepherd's last message is lost when it takes us for dead, as on a machine that stood still
 * for seconds. Its exit status and the checkpoint say the same. */
static void read_result(train_t *self)
{
    err_t err = {0};
    checkpoint_t *checkpoint = checkpoint_open(self->prepared.checkpoint, &err);
    if (!checkpoint) {
        fail(self, err.text);
        return;
    }
    self->done = true;
    self->checkpoint = mem_strdup(checkpoint_path(checkpoint));
    self->val_loss = checkpoint_info(checkpoint)->validation;
    self->has_val_loss = !isnan(self->val_loss);
    checkpoint_close(&checkpoint);
}

/* A child ended, and the shepherd has said nothing that would explain it. */
static void judge(train_t *self)
{
    if (self->shepherd_content)
        read_result(self);
    else if (strcmp(self->ended, "supervisor") == 0 && self->failed_worker)
        fail_with_log(self, self->failed_worker, "was given up, and so were all others");
    else
        fail_with_log(self, self->ended, self->how);
}

static void restart(train_t *self)
{
    const char *name;
    err_t err = {0};
    while (!self->failed && (name = restarts_due(&self->restarts, clock_mono_ms())))
        if (train_processes_again(&self->config, &self->prepared, self->children, name, &err) < 0)
            fail(self, err.text);
}

/* Ends the loop when there is nothing left to wait for. */
static int on_tick(zloop_t *loop, int timer, void *state)
{
    (void)loop;
    (void)timer;
    train_t *self = state;
    reap(self); /* nobody, for the most part: it also looks at the logs */
    bool leaving = self->done || self->failed || self->interrupts > 0;
    progress_tick(&self->progress);
    if (!leaving) restart(self);
    if (self->judge_ms && !leaving && clock_mono_ms() >= self->judge_ms) judge(self);
    bool gone = !children_running(self->children, "shepherd");
    bool over = self->done || self->interrupts > 0;
    return self->failed || (gone && over) || self->interrupts > 1 ? -1 : 0;
}

/* --- the run --- */

static int block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    zsys_handler_set(NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* It is our child: if it had ended we would know, so it begins still. */
static void on_unreachable(void *state, const char *text)
{
    train_t *self = state;
    (void)text;
    if (!self->done && !self->failed && self->interrupts == 0)
        progress_phase(&self->progress, "waiting for the shepherd");
}

static int watch(train_t *self, err_t *err)
{
    char *control = mem_printf("ipc://%s/control", self->prepared.sockets);
    char *events = mem_printf("ipc://%s/events", self->prepared.sockets);
    member_options_t options = {.endpoint = control,
                                .kind = MSG__KIND__KIND_CLI,
                                .id = "pcp-train",
                                .routes = train_routes,
                                .state = self,
                                .on_welcome = on_welcome,
                                .on_lost = on_lost,
                                .on_unreachable = on_unreachable};
    self->loop = zloop_new();
    zloop_set_nonstop(self->loop, true); /* signals arrive by descriptor */
    self->member = member_new(self->loop, &options, err);
    self->events = endpoint_open(endpoint_connect(ZMQ_SUB, events), NULL);
    zmq_pollitem_t item = {.fd = self->signals, .events = ZMQ_POLLIN};
    if (self->member) {
        zloop_poller(self->loop, &item, on_signal, self);
        if (self->events) zloop_reader(self->loop, self->events, on_telemetry, self);
        zloop_timer(self->loop, 100, 0, on_tick, self);
        zloop_start(self->loop);
    }
    int status = self->member ? 0 : -1;
    member_destroy(&self->member);
    zloop_destroy(&self->loop);
    zsock_destroy(&self->events);
    free(control);
    free(events);
    return status;
}

/* Up to limit_ms; a Ctrl-C, the first or another one, ends the patience. */
static bool wait_for_children(train_t *self, int limit_ms)
{
    enum { STEP_MS = 100, QUIET_MS = 1000 };
    for (int ms = 0; ms < limit_ms; ms += STEP_MS) {
        struct signalfd_siginfo info;
        if (children_wait(self->children, STEP_MS)) return true;
        if (ms == QUIET_MS) progress_phase(&self->progress, "waiting for the services to end");
        progress_tick(&self->progress);
        while (read(self->signals, &info, sizeof info) == (ssize_t)sizeof info)
            if (info.ssi_signo != SIGCHLD) return false;
    }
    return false;
}

/* The run is over. Whoever has not heard of it, or hangs, is helped along; a checkpoint that was
 * being written then is half of one, and nobody else writes where we have the lock. */
static void end_children(train_t *self)
{
    children_signal(self->children, "", self->interrupts > 1 ? SIGKILL : SIGTERM);
    if (wait_for_children(self, END_GRACE_MS)) {
        if (self->interrupts > 1) train_dir_sweep(self->config.run_dir);
        return;
    }
    children_signal(self->children, "", SIGKILL);
    if (children_wait(self->children, END_GRACE_MS)) train_dir_sweep(self->config.run_dir);
}

static void print_validation(const train_t *self)
{
    long long of = (long long)self->prepared.validation_tokens, most = self->config.validate_tokens;
    long long n = (long long)self->val_tokens;
    bool sampled = most > 0 && of > most;
    printf("validation loss %.4f over ", self->val_loss);
    if (n > 0 && n < of)
        printf("%lld of %lld tokens", n, of);
    else
        printf("%s%lld tokens", n > 0 ? "" : sampled ? "a sample of " : "whole batches of ", of);
    puts(sampled           ? ", always the same (--validate-tokens)"
         : n > 0 && n < of ? ", in whole batches"
                           : "");
}

static int report(train_t *self, err_t *err)
{
    progress_end(&self->progress);
    if (self->failed) return err_set(err, ERR_STATE, "%s", self->reason);
    if (self->resume.dir && self->done && !self->trained)
        printf("the run had ended before: --rounds %lld, for instance, goes on with it\n",
               (long long)self->config.rounds * 2);
    if (self->has_val_loss) print_validation(self);
    if (self->checkpoint) printf("checkpoint %s\n", self->checkpoint);
    if (self->interrupts) printf("pcp train --resume %s goes on\n", self->config.run_dir);
    return 0;
}

/* What is trained, and where. */
static void introduce(train_t *self)
{
    const train_resume_t *resume = &self->resume;
    if (resume->dir)
        progress_note(&self->progress, "going on with the run in %s%s%s%s", self->config.run_dir,
                      resume->searched ? ", the newest" : "", resume->text ? ": " : "",
                      resume->text ? resume->text : "");
    progress_note(&self->progress,
                  "%s: %lld parameters in %d tensors; %lld tokens to train on; run in %s",
                  self->config.model, (long long)self->prepared.n_params, self->prepared.n_tensors,
                  (long long)self->prepared.train_tokens, self->config.run_dir);
}

static int prepare(train_t *self, err_t *err)
{
    enum { MOST_WORKERS = 4096 }; /* as pcp-supervisor's --scale */
    train_config_t *c = &self->config;
    bool again = self->resume.dir != NULL;
    progress_init(&self->progress, stdout);
    if (!c->prepare_only && c->workers > MOST_WORKERS)
        return err_set(err, ERR_ARG,
                       "workers %lld: at most %d are started here; a cluster may have more (pcp "
                       "run submit)",
                       (long long)c->workers, MOST_WORKERS);
    if (!c->prepare_only && train_processes_there(c->web || c->track, err) < 0) return -1;
    if ((again ? train_config_combine(c, err) : train_config_check(c, err)) < 0) return -1;
    int rc = again ? train_prepare_again(c, &self->progress, &self->prepared, err)
                   : train_prepare(c, &self->progress, &self->prepared, err);
    progress_end(&self->progress);
    return rc;
}

static int open_page(train_t *self, err_t *err)
{
    unsigned port;
    if (train_page_start(&self->config, self->prepared.sockets, self->children, &port, err) < 0)
        return -1;
    if (self->config.web) progress_note(&self->progress, "page http://127.0.0.1:%u/", port);
    return 0;
}

static int train(train_t *self, err_t *err)
{
    if (prepare(self, err) < 0) return -1;
    introduce(self);
    if (self->config.prepare_only) return 0;
    char *logs = mem_printf("%s/logs", self->config.run_dir);
    self->children = children_new(logs, SIGTERM);
    free(logs);
    self->signals = block_signals();
    int status = self->signals < 0 ? err_set_errno(err, "signalfd") : 0;
    if (status == 0 && (self->config.web || self->config.track)) status = open_page(self, err);
    if (status == 0)
        status = train_processes_shepherd(&self->config, &self->prepared, self->children, err);
    if (status == 0) status = watch(self, err);
    end_children(self);
    children_destroy(&self->children);
    if (self->signals >= 0) close(self->signals);
    return status == 0 ? report(self, err) : -1;
}

/* Flags, --help, what is gone on with. */
static int load(train_t *self, int argc, char **argv, config_args_t *args, bool *done)
{
    err_t err = {0};
    *done = true;
    if (train_resume_load(&self->config, &self->resume, argc, argv, args, &err) < 0) {
        fprintf(stderr, "pcp train: %s\ntry: pcp train --help\n", err.text);
        return CMD_USAGE;
    }
    if (args->asks) {
        cmd_answer(&train_config_table, args, argv[0]);
        return CMD_OK;
    }
    *done = false;
    return CMD_OK;
}

int cmd_train(int argc, char **argv)
{
    train_t self = {0};
    config_args_t args = {0};
    err_t err = {0};
    bool done;
    int status = load(&self, argc, argv, &args, &done);
    if (!done && train(&self, &err) < 0) status = cmd_fail("train", &err);
    if (!done && self.interrupts) status = EXIT_INTERRUPTED;
    train_prepared_fini(&self.prepared);
    train_resume_fini(&self.resume);
    restarts_fini(&self.restarts);
    free(self.reason);
    free(self.checkpoint);
    free(self.failed_worker);
    config_args_fini(&args);
    config_fini(&train_config_table, &self.config);
    return status;
}
