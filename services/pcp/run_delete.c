/* A run is deleted for good, so whoever asks for it is told what it is, and says yes. */
#include "pcp/run_delete.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *size_text(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1000 && unit + 1 < sizeof units / sizeof *units; unit++) value /= 1000;
    snprintf(text, 32, unit && value < 10 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

static int ask(run_talk_t *talk, const char *id, bool dry, msg_envelope_t **answer, err_t *err)
{
    Msg__RunAsk question = MSG__RUN_ASK__INIT;
    question.verb = MSG__RUN_ASK__VERB__DELETE;
    question.run = (char *)id;
    question.dry = dry;
    return run_talk_ask(talk, &question, true, answer, err);
}

static int confirm(const Msg__RunInfo *info, const char *what, err_t *err)
{
    char line[16] = "";
    if (!isatty(STDIN_FILENO))
        return err_set(err, ERR_ARG, "delete %s (%s, %s): nobody is there to ask: say --yes",
                       info->id, info->state, what);
    fprintf(stderr,
            "%s is %s after round %u of %u. Its files (%s), checkpoints among them, and its "
            "records go for good.\nDelete it? [y/N] ",
            info->id, info->state, info->round, info->rounds, what);
    bool yes = fgets(line, sizeof line, stdin) &&
               (strcmp(line, "y\n") == 0 || strcmp(line, "yes\n") == 0);
    return yes ? 0 : err_set(err, ERR_STATE, "run %s is not deleted", info->id);
}

/* The front was lost after it had begun, and the next one has brought it to its end. */
static bool is_gone(run_talk_t *talk, const char *id)
{
    Msg__RunAsk question = MSG__RUN_ASK__INIT;
    err_t err = {0};
    question.verb = MSG__RUN_ASK__VERB__GET;
    question.run = (char *)id;
    return run_talk_ask(talk, &question, false, NULL, &err) < 0 && err.code == ERR_STATE;
}

int run_delete(run_talk_t *talk, const char *id, bool yes, err_t *err)
{
    char what[64], size[32];
    msg_envelope_t *answer = NULL;
    if (ask(talk, id, true, &answer, err) < 0) return -1;
    const Msg__RunAnswer *found = answer->run_answer;
    snprintf(what, sizeof what, "%s in %llu files", size_text(found->bytes, size),
             (unsigned long long)found->found);
    int rc = found->n_runs == 1 ? 0 : err_set(err, ERR_NET, "an answer without a run");
    if (rc == 0 && !yes) rc = confirm(found->runs[0], what, err);
    msg_free(&answer);
    if (rc < 0) return -1;
    run_talk_renewed(talk);
    rc = ask(talk, id, false, &answer, err);
    if (rc < 0 && err->code == ERR_STATE && run_talk_renewed(talk) && is_gone(talk, id)) rc = 0;
    msg_free(&answer);
    if (rc == 0) printf("%s is deleted: %s freed\n", id, what);
    return rc;
}
