/* Words for the phases of a run. */
#include "pcp/train_phase.h"

#include <string.h>

static const struct {
    const char *phase, *words;
} phases[] = {
    {"standby", "waiting for the run's records"},
    {"gather", "waiting for the aggregators"},
    {"publish", "hashing model and tokens, handing them out"},
    {"compile", "compiling the model"},
    {"assign", "handing out the initial values"},
    {"init", "handing out the initial values"},
    {"save", "writing the checkpoint"},
};

static uint32_t workers(const Msg__Status *status, const char *state)
{
    uint32_t n = 0;
    for (size_t i = 0; i < status->n_members; i++)
        if (strcmp(status->members[i]->kind, "worker") == 0 &&
            (!state || strcmp(status->members[i]->state, state) == 0))
            n += status->members[i]->count;
    return n;
}

static void training(progress_t *progress, const Msg__Status *status)
{
    if (status->evals > 0) {
        char words[PROGRESS_TEXT];
        snprintf(words, sizeof words, "validating round %u/%u", status->round, status->rounds);
        progress_state(progress, words);
        progress_at(progress, status->evals_done, status->evals, PROGRESS_THINGS);
    } else if (workers(status, NULL) == workers(status, "preparing")) {
        progress_state(progress, "waiting for workers");
    } else if (status->round < status->rounds) {
        progress_in_round(progress, status->round + 1, status->rounds);
    }
}

static void on_status(progress_t *progress, const Msg__Status *status)
{
    if (strcmp(status->phase, "train") == 0) training(progress, status);
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (strcmp(phases[i].phase, status->phase) == 0) progress_state(progress, phases[i].words);
}

void train_phase_event(progress_t *progress, const Msg__Event *event, int64_t inner_steps)
{
    if (event->body_case == MSG__EVENT__BODY_STATUS) on_status(progress, event->status);
    if (event->body_case != MSG__EVENT__BODY_STEP) return;
    const Msg__StepStats *step = event->step;
    uint64_t base = step->round * (uint64_t)inner_steps;
    if (step->step < base || step->step - base >= (uint64_t)inner_steps) return; /* a late one */
    progress_step(progress, step->round + 1, (int64_t)(step->step - base) + 1, inner_steps);
}
