/* Who is right: two who agree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "shepherd/round/audit.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

static void end(shepherd_t *self, audit_t *audit)
{
    if (!audit->open) return;
    audit->open = false;
    self->audits.n_open--;
}

/* Two of different names say the same. */
static bool find_truth(audit_t *audit)
{
    for (size_t i = 0; !*audit->truth && i < audit->heard.n; i++)
        for (size_t j = 0; *audit->heard.at[i].digest && j < i; j++)
            if (strcmp(audit->heard.at[i].digest, audit->heard.at[j].digest) == 0)
                memcpy(audit->truth, audit->heard.at[i].digest, HASH_HEX);
    return *audit->truth;
}

static bool is_true(const audit_t *audit, const testimony_t *said)
{
    return strcmp(said->digest, audit->truth) == 0;
}

/* One who has the right result at hand, or nobody: whoever is free then trains it. */
static uint32_t witness(const shepherd_t *self, const audit_t *audit)
{
    for (size_t i = audit->heard.n; i-- > 1;) {
        const member_row_t *row = member_by_id(&self->roster, audit->heard.at[i].worker);
        if (is_true(audit, &audit->heard.at[i]) && row && work_ready(self, row)) return row->serial;
    }
    return 0;
}

static void replace(shepherd_t *self, uint32_t replica, uint32_t home, const char *why)
{
    work_t *lease = &self->round.lease[replica];
    if (lease->state != WORK_DONE) return;
    rejection_t rejected = {replica, lease->fence, lease->worker, "audit", why};
    records_reject(self, &rejected);
    records_reopen(self, replica);
    work_reopen(self, replica);
    work_home(self, lease, home);
}

/* What else the liar has contributed to the round is not looked at: others train it. */
void audits_replace(shepherd_t *self, const testimony_t *liar)
{
    const char *worker = liar->worker;
    audits_doubt_parts(self, liar);
    for (int64_t k = 0; k < self->round.replicas; k++) {
        audit_t *audit = &self->audits.at[k];
        if (strcmp(self->round.lease[k].worker, worker) != 0 || (*audit->truth && !audit->open))
            continue;
        if (self->round.lease[k].state != WORK_DONE) continue;
        audits_release(self, audit->auditor);
        if (audit->open) end(self, audit);
        replace(self, (uint32_t)k, 0, "its worker is in quarantine");
    }
}

static void name_witnesses(const audit_t *audit, str_t *text)
{
    for (size_t i = 0; i < audit->heard.n; i++)
        if (is_true(audit, &audit->heard.at[i]))
            str_addf(text, "%s%s", text->n ? "," : "", audit->heard.at[i].worker);
}

static void denounce(shepherd_t *self, uint32_t replica, const testimony_t *said)
{
    const audit_t *audit = &self->audits.at[replica];
    str_t text = {0};
    name_witnesses(audit, &text);
    quarantine_add(self, &(liar_t){.replica = replica,
                                   .fence = audit->fence,
                                   .name = said->name,
                                   .member = said->worker,
                                   .digest = said->digest,
                                   .agreed = audit->truth,
                                   .witnesses = str_text(&text)});
    str_fini(&text);
    audits_replace(self, said);
}

void audits_judge(shepherd_t *self, uint32_t replica)
{
    audit_t *audit = &self->audits.at[replica];
    if (!find_truth(audit)) return; /* somebody else is asked next */
    bool stands = is_true(audit, &audit->heard.at[0]);
    uint32_t home = stands ? 0 : witness(self, audit);
    self->audits.n_leases += audit->open;
    end(self, audit);
    log_event(stands ? LOG_DEBUG : LOG_WARN, "audited", "round=%u replica=%u worker=%s stands=%d",
              self->round.number, replica, audit->heard.at[0].worker, stands);
    if (!stands) replace(self, replica, home, "two others who trained it agree on another result");
    for (size_t i = 0; i < audit->heard.n; i++) {
        const testimony_t *said = &audit->heard.at[i];
        if (!*said->digest || is_true(audit, said)) continue;
        denounce(self, replica, said);
    }
}

/* Without a majority everybody who was heard may be the liar: an operator has to look. */
void audits_give_up(shepherd_t *self, uint32_t replica)
{
    audit_t *audit = &self->audits.at[replica];
    str_t text = {0};
    size_t n = 0;
    for (size_t i = 0; i < audit->heard.n; i++) {
        const testimony_t *said = &audit->heard.at[i];
        if (!*said->digest) continue;
        str_addf(&text, "%s%s: %.12s", n++ ? ", " : "", said->worker, said->digest);
    }
    bool undecided = n > 1;
    log_event(LOG_WARN, undecided ? "audit_undecided" : "audit_skipped",
              "round=%u replica=%u suspected=\"%s\" reason=\"%s\"", self->round.number, replica,
              undecided ? str_text(&text) : "",
              undecided ? "nobody else of its target answers, to decide"
                        : "nobody else of its target answers, or its shard cannot tell");
    if (undecided)
        records_happened(
            self, "audit_undecided", audit->heard.at[0].worker,
            json_pack("{sIss}", "replica", (json_int_t)replica, "suspected", str_text(&text)));
    str_fini(&text);
    *(undecided ? &self->audits.n_leases : &self->audits.n_skipped) += audit->open;
    end(self, audit);
}
