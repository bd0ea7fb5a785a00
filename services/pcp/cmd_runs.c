/* pcp run: the life of runs on a cluster, by way of its front. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scratch.h"
#include "base/str.h"
#include "pcp/cmd.h"
#include "pcp/progress.h"
#include "pcp/run_delete.h"
#include "pcp/run_links.h"
#include "pcp/run_list.h"
#include "pcp/run_logs.h"
#include "pcp/run_show.h"
#include "pcp/run_submit.h"
#include "pcp/sample_line.h"
#include "pcp/train_prepare.h"

typedef struct {
    char *key_file, *shepherd, *key, *name, *output;
    int64_t wait_ms, limit, tail;
    bool json, follow, watch, links, all, yes;
    train_config_t train; /* submit */
} options_t;

#define AT(key) offsetof(options_t, key)
static const config_field_t own_fields[] = {
    CMD_SHEPHERD_FIELD(options_t),
    CMD_KEY_FIELD(options_t),
    {"wait_ms", CONFIG_INT, AT(wait_ms), "5000", "how long the cluster may take to answer", 1,
     3600000, NULL, false},
    OUTPUT_FIELDS(options_t, "list, get, watch --links: "),
    {"follow", CONFIG_BOOL, AT(follow), "false", "logs: wait for more until the run is over", 0, 0,
     NULL, false},
    {"tail", CONFIG_INT, AT(tail), "0", "logs: only the last so many lines; 0: all there are", 0,
     1000000000, NULL, false},
    {"limit", CONFIG_INT, AT(limit), "50", "list: so many, the newest first", 1, 1000000, NULL,
     false},
    {"all", CONFIG_BOOL, AT(all), "false", "list: all there are", 0, 0, NULL, false},
    {"yes", CONFIG_BOOL, AT(yes), "false", "delete: without asking", 0, 0, NULL, false},
    {"watch", CONFIG_BOOL, AT(watch), "false", "submit: then watch it", 0, 0, NULL, false},
    {"links", CONFIG_BOOL, AT(links), "false",
     "watch: with each round its workers' links in Mbit/s, and what they waited for", 0, 0, NULL,
     false},
    {"key", CONFIG_STRING, AT(key), NULL,
     "submit: a second submission under this key gives the first's run; a flag alone, as PCP_KEY "
     "names the operator's key [hash of its files]",
     0, 0, NULL, false},
    {"name", CONFIG_STRING, AT(name), NULL, "submit: id of the run [by the key]", 0, 0, NULL,
     false},
};
enum { N_OWN = sizeof own_fields / sizeof *own_fields };

static const char usage[] =
    "usage: pcp run submit CONFIG.json|MODEL.mlir|RUN_DIR [FLAGS]\n"
    "       pcp run list|get|watch|logs|pause|resume|cancel|delete [RUN] [FLAGS]\n\n"
    "submit   hands a run to the cluster and prints its id: an experiment with the flags of pcp\n"
    "         train (pcp train --help), or a directory of pcp train --prepare-only\n"
    "         or of a run that the cluster keeps\n"
    "list     the newest runs first\n"
    "get      one run: state, what it waits for, round, loss\n"
    "watch    its rounds as they end, until it is over; --links: with what its workers waited for\n"
    "logs     the log of its shepherd, as far back as it is kept\n"
    "pause    saves and gives its workers to other runs; nothing trained is lost\n"
    "resume   a paused or failed run: where it stopped\n"
    "cancel   for good\n"
    "delete   one that is over: its files, checkpoints and records, after asking (--yes: at once)\n"
    "Exit status: 0 well, 1 no cluster or refused; watch: 1 when the run fails or is cancelled;\n"
    "2 usage.\n\n"
    "  pcp run submit gpt.mlir --data book.txt --workers 4 --shepherd tcp://host:7000 --watch";

/* The flags of submit are ours and those of pcp train. Caller frees. */
static config_field_t *join_fields(bool with_train, size_t *n)
{
    size_t n_train = with_train ? train_config_table.n_fields : 0;
    config_field_t *fields = mem_calloc(N_OWN + n_train, sizeof *fields);
    memcpy(fields, own_fields, sizeof own_fields);
    for (size_t i = 0; i < n_train; i++) {
        fields[N_OWN + i] = train_config_table.fields[i];
        fields[N_OWN + i].offset += AT(train);
    }
    *n = N_OWN + n_train;
    return fields;
}

/* --- submit --- */

static void print_run(const run_submitted_t *run)
{
    printf("%s\n", run->id);
    fflush(stdout);
    if (run->existed) fprintf(stderr, "pcp run: %s was submitted before\n", run->id);
    if (run->adopted && !run->existed)
        fprintf(stderr,
                "pcp run: the directory of %s was there with the same files: it is the run's "
                "again, with its checkpoints\n",
                run->id);
}

static int submit_dir(options_t *o, run_talk_t *talk, progress_t *progress, const char *dir,
                      char *id, err_t *err)
{
    run_submission_t submission = {
        .dir = dir, .key = o->key, .name = o->name, .progress = progress};
    run_submitted_t run;
    if (run_submit(talk, &submission, &run, err) < 0) return -1;
    print_run(&run);
    snprintf(id, MSG_ID_BYTES, "%s", run.id);
    return 0;
}

/* Everything a user can get wrong in model and data is found here, before anything is sent. */
static int submit_experiment(options_t *o, run_talk_t *talk, progress_t *progress, char *id,
                             err_t *err)
{
    scratch_t files = {0};
    train_prepared_t prepared = {0};
    scratch_sweep("/tmp", "submit"); /* of those that were killed */
    if (scratch_make(&files, "/tmp", "submit", err) < 0) return -1;
    free(o->train.run_dir);
    o->train.run_dir = mem_strdup(files.dir);
    int rc = train_prepare(&o->train, progress, &prepared, err);
    if (rc == 0) rc = submit_dir(o, talk, progress, files.dir, id, err);
    train_prepared_fini(&prepared);
    scratch_remove(&files);
    return rc;
}

/* --- watch --- */

typedef struct {
    progress_t progress;
    bool links;
    output_t format;
    char state[32];
    int status;
    char *reason, *checkpoint;
} watch_t;

/* Its state has changed, or what a queued one waits for. */
static void on_state(watch_t *self, const Msg__RunInfo *info)
{
    bool same = strcmp(self->state, info->state) == 0;
    bool waits = strcmp(info->state, "queued") == 0 && *info->reason;
    if (same && (!waits || strcmp(self->reason, info->reason) == 0)) return;
    snprintf(self->state, sizeof self->state, "%s", info->state);
    if (!run_show_over(info))
        progress_note(&self->progress, "%s is %s%s%s", info->id, info->state,
                      waits ? ", waits for " : "", waits ? info->reason : "");
    free(self->reason);
    self->reason = mem_strdup(info->reason);
    free(self->checkpoint);
    self->checkpoint = mem_strdup(info->checkpoint);
}

/* For programs: one line a round, and nothing else on stdout; all other lines are on stderr. */
static void print_links(watch_t *self, const Msg__Links *links)
{
    char *text = run_links_json(links);
    progress_end(&self->progress);
    printf("%s%s\n", self->format == OUTPUT_YAML ? "- " : "", text); /* JSON is YAML, too */
    fflush(stdout);
    free(text);
}

/* The table's lines stand among those of rounds. */
static void on_links(watch_t *self, const Msg__Links *links)
{
    if (self->format != OUTPUT_TABLE) {
        print_links(self, links);
        return;
    }
    char *text = run_links_table(links);
    char *at = text;
    for (char *line; (line = strsep(&at, "\n"));) progress_note(&self->progress, "%s", line);
    free(text);
}

static bool on_news(void *user, const Msg__Event *event, const Msg__RunAnswer *answer)
{
    watch_t *self = user;
    if (event && event->body_case == MSG__EVENT__BODY_ROUND)
        progress_round(&self->progress, event->round);
    if (event && event->body_case == MSG__EVENT__BODY_WRITTEN)
        sample_line(&self->progress, event->written);
    if (event && event->body_case == MSG__EVENT__BODY_LINKS && self->links)
        on_links(self, event->links);
    if (!answer) return true;
    if (answer->n_runs == 0) {
        free(self->reason);
        self->reason = mem_strdup(answer->error);
        return false;
    }
    on_state(self, answer->runs[0]);
    return !run_show_over(answer->runs[0]);
}

static int watch(const options_t *o, run_talk_t *talk, const char *id, err_t *err)
{
    watch_t self = {.links = o->links, .format = output_of(o->output, o->json)};
    FILE *out = self.format == OUTPUT_TABLE ? stdout : stderr;
    progress_init(&self.progress, out);
    int rc = run_talk_watch(talk, id, on_news, &self, err);
    progress_end(&self.progress);
    if (rc == 0 && strcmp(self.state, "done") != 0)
        rc = *self.state ? err_set(err, ERR_STATE, "run %s %s%s%s", id, self.state,
                                   *self.reason ? ": " : "", self.reason)
                         : err_set(err, ERR_STATE, "%s", self.reason ? self.reason : "no answer");
    if (rc == 0)
        fprintf(out, "%s is done%s%s\n", id, *self.checkpoint ? ": " : "", self.checkpoint);
    free(self.reason);
    free(self.checkpoint);
    return rc;
}

/* --- the others --- */

static int ask_about(run_talk_t *talk, Msg__RunAsk__Verb verb, const char *id,
                     msg_envelope_t **answer, err_t *err)
{
    Msg__RunAsk ask = MSG__RUN_ASK__INIT;
    ask.verb = verb;
    ask.run = (char *)id;
    return run_talk_ask(talk, &ask, false, answer, err);
}

static int print_answer(const options_t *o, run_talk_t *talk, Msg__RunAsk__Verb verb,
                        const char *id, err_t *err)
{
    msg_envelope_t *answer = NULL;
    if (ask_about(talk, verb, id, &answer, err) < 0) return -1;
    const Msg__RunAnswer *found = answer->run_answer;
    output_t format = output_of(o->output, o->json);
    if (found->n_runs && (verb == MSG__RUN_ASK__VERB__GET || format != OUTPUT_TABLE))
        run_show_one(found->runs[0], format);
    else if (found->n_runs)
        printf("%s is %s\n", found->runs[0]->id, found->runs[0]->state);
    msg_free(&answer);
    return 0;
}

/* --- words --- */

static const struct {
    const char *word;
    Msg__RunAsk__Verb verb;
} verbs[] = {
    {"submit", MSG__RUN_ASK__VERB__SUBMIT}, {"list", MSG__RUN_ASK__VERB__LIST},
    {"get", MSG__RUN_ASK__VERB__GET},       {"watch", MSG__RUN_ASK__VERB__WATCH},
    {"logs", MSG__RUN_ASK__VERB__LOGS},     {"pause", MSG__RUN_ASK__VERB__PAUSE},
    {"resume", MSG__RUN_ASK__VERB__RESUME}, {"cancel", MSG__RUN_ASK__VERB__CANCEL},
    {"delete", MSG__RUN_ASK__VERB__DELETE},
};

static Msg__RunAsk__Verb verb_of(const char *word)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].word, word) == 0) return verbs[i].verb;
    return MSG__RUN_ASK__VERB__NONE;
}

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int submit(options_t *o, run_talk_t *talk, const char *what, err_t *err)
{
    char id[MSG_ID_BYTES] = "";
    progress_t progress;
    progress_init(&progress, stderr);
    int rc = what && is_directory(what) ? submit_dir(o, talk, &progress, what, id, err)
                                        : submit_experiment(o, talk, &progress, id, err);
    progress_end(&progress);
    return rc == 0 && o->watch ? watch(o, talk, id, err) : rc;
}

/* Before the cluster is asked: in a container files often belong to somebody else. */
static int inputs_readable(const options_t *o, const char *what, err_t *err)
{
    const char *files[] = {what, o->train.model, o->train.init};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] && *files[i] && file_readable(files[i], err) < 0) return -1;
    return o->train.data ? train_config_check_data(o->train.data, err) : 0;
}

static int act(options_t *o, run_talk_t *talk, Msg__RunAsk__Verb verb, const char *what, err_t *err)
{
    switch (verb) {
    case MSG__RUN_ASK__VERB__SUBMIT: return submit(o, talk, what, err);
    case MSG__RUN_ASK__VERB__WATCH: return watch(o, talk, what, err);
    case MSG__RUN_ASK__VERB__LOGS: return run_logs(talk, what, o->tail, o->follow, err);
    case MSG__RUN_ASK__VERB__LIST:
        return run_list(talk, o->limit, o->all, output_of(o->output, o->json), err);
    case MSG__RUN_ASK__VERB__DELETE: return run_delete(talk, what, o->yes, err);
    default: return print_answer(o, talk, verb, what, err);
    }
}

static int perform(options_t *o, Msg__RunAsk__Verb verb, const config_args_t *args, err_t *err)
{
    const char *what = args->n_operands > 1 ? args->operands[1] : NULL;
    bool alone = verb == MSG__RUN_ASK__VERB__LIST, submits = verb == MSG__RUN_ASK__VERB__SUBMIT;
    if (verb == MSG__RUN_ASK__VERB__NONE)
        return err_set(err, ERR_ARG,
                       "say one of: submit, list, get, watch, logs, pause, resume, cancel, delete");
    if (args->n_operands > (alone ? 1 : 2))
        return err_set(err, ERR_ARG, "unexpected word \"%s\"", args->operands[alone ? 1 : 2]);
    if (!alone && !submits && !what) return err_set(err, ERR_ARG, "say which run");
    if (verb == MSG__RUN_ASK__VERB__WATCH && !o->links &&
        output_of(o->output, o->json) != OUTPUT_TABLE)
        return err_set(err, ERR_ARG, "watch: -o %s is for --links", o->json ? "json" : o->output);
    if (submits && inputs_readable(o, what, err) < 0) return -1;
    if (submits && what && !is_directory(what) && !str_ends(what, ".json")) {
        free(o->train.model);
        o->train.model = mem_strdup(what);
    }
    if (submits && !(what && is_directory(what)) && train_config_check(&o->train, err) < 0)
        return -1;
    if (cmd_key(o->key_file, err) < 0) return -1;
    run_talk_t *talk = run_talk_new(o->shepherd, o->wait_ms, err);
    if (!talk) return -1;
    int rc = act(o, talk, verb, what, err);
    run_talk_destroy(&talk);
    return rc;
}

/* `pcp run submit CONFIG.json` reads that file, as pcp train does. */
static const char *config_of(Msg__RunAsk__Verb verb, int argc, char **argv)
{
    bool named = verb == MSG__RUN_ASK__VERB__SUBMIT && argc > 2 && str_ends(argv[2], ".json");
    return named ? argv[2] : NULL;
}

int cmd_runs(int argc, char **argv)
{
    options_t options = {0};
    config_args_t args = {0};
    err_t err = {0};
    Msg__RunAsk__Verb verb = argc > 1 ? verb_of(argv[1]) : MSG__RUN_ASK__VERB__NONE;
    size_t n = 0;
    config_field_t *fields = join_fields(verb == MSG__RUN_ASK__VERB__SUBMIT, &n);
    config_table_t table = {
        .usage = usage,
        .fields = fields,
        .n_fields = n,
        .flag_only = "key", /* PCP_KEY is the file of the operator's */
        .purpose = "submit, watch, pause, resume and cancel the runs of a cluster"};
    int status = CMD_OK;
    if (config_load(&table, &options, config_of(verb, argc, argv), argc, argv, &args, &err) < 0) {
        fprintf(stderr, "pcp run: %s\ntry: pcp run --help\n", err.text);
        status = CMD_USAGE;
    } else if (args.asks) {
        cmd_answer(&table, &args, argv[0]);
    } else if (perform(&options, verb, &args, &err) < 0) {
        status = cmd_fail("run", &err);
    }
    config_args_fini(&args);
    config_fini(&table, &options);
    free(fields);
    return status;
}
