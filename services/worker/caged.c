/* Refusals and ends of runners, told to people. */
#include "worker/caged.h"

#include <stdio.h>

#include "base/cage_code.h"
#include "base/log.h"
#include "msg/seal.h"
#include "runtime/runner.h"
#include "worker/ready.h"

uint64_t caged_refusals(const trainer_t *self)
{
    return self->device.runners ? runners_refusals(self->device.runners, NULL) : 0;
}

static void tell(const trainer_t *self, const char *plan, const char *seal, uint64_t more)
{
    char text[512], name[32];
    int call = 0;
    seal_t made;
    bool sealed = seal &&
                  seal_read(seal, &made) == 0; /* it was judged before the plan was loaded */
    runners_refusals(self->device.runners, &call);
    snprintf(text, sizeof text,
             "the code of plan %.12s, signed by %s, asked for %llu system calls that its cage "
             "refused, %s "
             "the last: whoever compiled it may be hostile",
             plan, sealed ? made.by.name : "nobody", (unsigned long long)more,
             cage_call_name(call, name));
    log_event(LOG_WARN, "cage_refused", "plan=%.12s signer=%s calls=%llu last=%s", plan,
              sealed ? made.by.name : "", (unsigned long long)more, name);
    if (self->hooks.degraded) self->hooks.degraded(self->hooks.user, text, false);
}

void caged_after(trainer_t *self, const char *plan, const char *seal, const err_t *outcome)
{
    uint64_t refusals = caged_refusals(self);
    if (refusals > self->told_refusals) tell(self, plan, seal, refusals - self->told_refusals);
    self->told_refusals = refusals;
    if (outcome->code == ERR_CRASH) ready_drop_engine(self);
}
