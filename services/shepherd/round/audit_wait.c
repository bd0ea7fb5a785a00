/* Whom audits may ask, of leases and of parts, and how long they wait for them. A round waits for its audits, so nobody may
 * hold one: neither who asks for no work, nor who comes and goes, nor who takes work and never answers. */
#include <string.h>

#include "shepherd/round/audit.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

bool audits_may_ask(const member_row_t *row, const char *target)
{
    return row->kind == MSG__KIND__KIND_WORKER && !row->blame.refused && row->blame.overdue == 0 &&
           strcmp(row->target, target) == 0;
}

static bool is_within(const shepherd_t *self, int64_t since_ms, double seconds)
{
    return (double)(self->now_ms - since_ms) < seconds * 1000;
}

bool audits_await(const shepherd_t *self, const member_row_t *row, int64_t since_ms)
{
    return row->n_work > 0 || work_free(self, row) ||
           is_within(self, since_ms, self->config->work_wait_s);
}

bool audits_await_comers(const shepherd_t *self, const char *target, int64_t since_ms)
{
    return work_waits_for(self, target, 0) &&
           is_within(self, since_ms, self->config->target_wait_s);
}
