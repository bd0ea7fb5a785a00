/* What was heard of each part of a validation that audits look at, and of whom. */
#include <stdio.h>
#include <string.h>

#include "shepherd/round/audit.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

void audits_open_parts(shepherd_t *self)
{
    audits_t *audits = &self->audits;
    const part_audit_t none = {0};
    for (size_t i = 0; i < audits->part.n; i++) VEC_FREE(&audits->part.at[i].heard);
    audits->part.n = 0;
    while (audits->at && audits->part.n < self->round.eval.n) VEC_PUSH(&audits->part, none);
}

uint32_t audits_part_index(const shepherd_t *self, const work_t *part)
{
    return (uint32_t)(part - self->round.eval.at);
}

part_audit_t *audits_part(const shepherd_t *self, const work_t *part)
{
    uint32_t i = audits_part_index(self, part);
    return i < self->audits.part.n ? &self->audits.part.at[i] : NULL;
}

bool audits_has_part(const shepherd_t *self, const work_t *part)
{
    const part_audit_t *audit = audits_part(self, part);
    return audit && audit->heard.n > 0;
}

/* Of those whom audits may ask, and nobody of its name was heard. */
static bool may_estimate(const part_audit_t *audit, const work_t *part, const member_row_t *row)
{
    if (!audits_may_ask(row, audit->target) || row->serial == part->avoid) return false;
    for (size_t i = 0; i < audit->heard.n; i++)
        if (strcmp(audit->heard.at[i].said.name, member_name(row)) == 0) return false;
    return true;
}

bool audits_may_estimate(const shepherd_t *self, const work_t *part, const member_row_t *row)
{
    return !audits_has_part(self, part) || may_estimate(audits_part(self, part), part, row);
}

estimate_t *audits_hear_part(const shepherd_t *self, const work_t *part)
{
    part_audit_t *audit = audits_part(self, part);
    const member_row_t *row = member_by_serial(&self->roster, part->holder);
    estimate_t one = {0};
    snprintf(one.said.worker, sizeof one.said.worker, "%s", row ? row->id : part->worker);
    audits_name(self, one.said.worker, one.said.name);
    if (audit->heard.n == 0)
        snprintf(audit->target, sizeof audit->target, "%s", row ? row->target : "");
    VEC_PUSH(&audit->heard, one);
    return &audit->heard.at[audit->heard.n - 1];
}

void audits_part_failed(shepherd_t *self, const work_t *part)
{
    if (audits_has_part(self, part)) audits_hear_part(self, part);
}

void audits_doubt_parts(shepherd_t *self, const testimony_t *liar)
{
    for (size_t i = 0; i < self->audits.part.n && i < self->round.eval.n; i++) {
        work_t *part = &self->round.eval.at[i];
        part_audit_t *audit = &self->audits.part.at[i];
        if (audit->known) continue;
        for (size_t k = 0; k < audit->heard.n; k++)
            if (strcmp(audit->heard.at[k].said.name, liar->name) == 0)
                *audit->heard.at[k].said.digest = '\0';
        if (part->state == WORK_DONE && strcmp(part->worker, liar->worker) == 0)
            work_reopen_eval(self, part);
    }
}
