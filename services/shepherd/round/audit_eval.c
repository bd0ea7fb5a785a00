/* Audits of validations: what a part's worker says is taken when a second one of its target has said the same. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "shepherd/round/audit.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

/* The numbers, as evidence that says what it is. One that is no number is like any other. */
static void say(estimate_t *self, uint32_t part, const Msg__EvalDone *done)
{
    self->loss = done->loss;
    self->tokens = done->tokens;
    if (isfinite(done->loss))
        snprintf(self->said.digest, HASH_HEX, "part:%u:%.17g:%" PRIu64, part, done->loss,
                 done->tokens);
    else
        snprintf(self->said.digest, HASH_HEX, "part:%u:nan:%" PRIu64, part, done->tokens);
}

static void take(shepherd_t *self, work_t *part, const estimate_t *estimate)
{
    part->loss = estimate->loss;
    part->tokens = estimate->tokens;
    snprintf(part->worker, sizeof part->worker, "%s", estimate->said.worker);
    work_move(self, part, WORK_DONE, 0);
}

/* Two of different names say the same; NULL: not yet. */
static const estimate_t *find_truth(const part_audit_t *audit)
{
    for (size_t i = 0; i < audit->heard.n; i++)
        for (size_t j = 0; *audit->heard.at[i].said.digest && j < i; j++)
            if (strcmp(audit->heard.at[i].said.digest, audit->heard.at[j].said.digest) == 0)
                return &audit->heard.at[i];
    return NULL;
}

static void name_witnesses(const part_audit_t *audit, const char *truth, str_t *text)
{
    for (size_t i = 0; i < audit->heard.n; i++)
        if (strcmp(audit->heard.at[i].said.digest, truth) == 0)
            str_addf(text, "%s%s", text->n ? "," : "", audit->heard.at[i].said.worker);
}

static void denounce(shepherd_t *self, const work_t *part, const testimony_t *said,
                     const char *truth)
{
    str_t text = {0};
    name_witnesses(audits_part(self, part), truth, &text);
    quarantine_add(self, &(liar_t){.part = true,
                                   .replica = audits_part_index(self, part),
                                   .fence = part->fence,
                                   .name = said->name,
                                   .member = said->worker,
                                   .digest = said->digest,
                                   .agreed = truth,
                                   .witnesses = str_text(&text)});
    str_fini(&text);
    audits_replace(self, said);
}

/* Somebody else is to say what it is. */
static void ask_another(shepherd_t *self, work_t *part)
{
    part->reopened_ms = self->now_ms;
    work_reopen_eval(self, part);
}

static void judge(shepherd_t *self, work_t *part)
{
    part_audit_t *audit = audits_part(self, part);
    const estimate_t *truth = find_truth(audit);
    if (!truth) {
        ask_another(self, part);
        return;
    }
    char digest[HASH_HEX];
    memcpy(digest, truth->said.digest, HASH_HEX);
    audit->known = true;
    self->audits.n_parts++;
    take(self, part, truth);
    log_event(LOG_DEBUG, "audited", "round=%u part=%u worker=%s stands=%d", self->round.number,
              audits_part_index(self, part), audit->heard.at[0].said.worker,
              strcmp(audit->heard.at[0].said.digest, digest) == 0);
    for (size_t i = 0; i < audit->heard.n; i++) {
        const testimony_t said = audit->heard.at[i].said;
        if (*said.digest && strcmp(said.digest, digest) != 0) denounce(self, part, &said, digest);
    }
}

void audits_estimated(shepherd_t *self, work_t *part, const Msg__EvalDone *done)
{
    uint32_t i = audits_part_index(self, part);
    part_audit_t *audit = audits_part(self, part);
    estimate_t alone = {0};
    bool looks = audit && (audit->heard.n > 0 || !isfinite(done->loss) ||
                           audits_drawn_part(&self->audits, self->round.number, i));
    const member_row_t *row = member_by_serial(&self->roster, part->holder);
    estimate_t *heard = looks ? audits_hear_part(self, part) : &alone;
    if (!looks && row) snprintf(alone.said.worker, sizeof alone.said.worker, "%s", row->id);
    say(heard, i, done);
    if (looks)
        judge(self, part);
    else
        take(self, part, &alone);
}

/* Is there somebody who may say more, and will? */
static bool awaits_another(const shepherd_t *self, const part_audit_t *audit, const work_t *part)
{
    if (audits_await_comers(self, audit->target, part->reopened_ms)) return true;
    for (size_t i = 0; i < self->roster.members.n; i++) {
        const member_row_t *row = self->roster.members.at[i];
        if (audits_may_estimate(self, part, row) && audits_await(self, row, part->reopened_ms))
            return true;
    }
    return false;
}

/* The first who has said something is believed, as without an audit; and nobody: the part is given to anybody. */
static void give_up(shepherd_t *self, work_t *part)
{
    part_audit_t *audit = audits_part(self, part);
    str_t text = {0};
    const estimate_t *first = NULL;
    size_t n = 0;
    for (size_t k = audit->heard.n; k-- > 0;) {
        const testimony_t *said = &audit->heard.at[k].said;
        if (!*said->digest) continue;
        first = &audit->heard.at[k];
        str_addf(&text, "%s%s: %s", n++ ? ", " : "", said->worker, said->digest);
    }
    log_event(LOG_WARN, n > 1 ? "audit_undecided" : "audit_skipped",
              "round=%u part=%u suspected=\"%s\" reason=\"nobody else of its target answers\"",
              self->round.number, audits_part_index(self, part), n > 1 ? str_text(&text) : "");
    if (n > 1)
        records_happened(self, "audit_undecided", first->said.worker,
                         json_pack("{sIss}", "part", (json_int_t)audits_part_index(self, part),
                                   "suspected", str_text(&text)));
    str_fini(&text);
    *(n > 1 ? &self->audits.n_parts : &self->audits.n_skipped) += 1;
    if (first) {
        take(self, part, first);
    } else {
        VEC_FREE(&audit->heard);
        self->round.stirred = true;
    }
}

void audits_tick_parts(shepherd_t *self)
{
    if (self->phase != PHASE_TRAIN) return;
    for (size_t i = 0; i < self->audits.part.n && i < self->round.eval.n; i++) {
        work_t *part = &self->round.eval.at[i];
        const part_audit_t *audit = &self->audits.part.at[i];
        if (part->state == WORK_OPEN && audit->heard.n > 0 && !awaits_another(self, audit, part))
            give_up(self, part);
    }
}
