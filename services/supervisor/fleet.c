/* Transitions of the workers' states. */
#include "supervisor/fleet.h"

#include <signal.h>
#include <stdio.h>

const char *slot_state_name(slot_state_t state)
{
    static const char *const names[] = {"waiting",  "starting", "running",
                                        "draining", "drained",  "failed"};
    return names[state];
}

static void change(fleet_t *self, slot_t *slot, slot_state_t state, const char *reason)
{
    slot->state = state;
    self->ops.changed(self->ops.user, (int)(slot - self->slots.at), reason);
}

static void send_signal(fleet_t *self, const slot_t *slot, int signal)
{
    self->ops.kill(self->ops.user, (int)(slot - self->slots.at), signal);
}

static void add(fleet_t *self, int n)
{
    int64_t start_ms = self->now_ms;
    while (self->slots.n < (size_t)n) {
        slot_t slot = {.state = SLOT_WAITING, .start_ms = start_ms};
        VEC_PUSH(&self->slots, slot);
        start_ms += self->policy->stagger_ms;
    }
}

void fleet_init(fleet_t *self, const fleet_policy_t *policy, const fleet_ops_t *ops, int n,
                int64_t now_ms)
{
    self->policy = policy;
    self->ops = *ops;
    self->now_ms = now_ms;
    add(self, n);
}

void fleet_fini(fleet_t *self)
{
    VEC_FREE(&self->slots);
}

/* --- ends --- */

/* A life that ended by itself: when does the next one begin? */
static void end_crashed(fleet_t *self, slot_t *slot, int64_t life_ms, const char *how)
{
    double chance = self->ops.chance(self->ops.user);
    int64_t wait = restart_wait(&slot->restart, &self->policy->restart, self->now_ms, life_ms,
                                chance);
    char reason[160];
    if (wait == RESTART_NEVER) {
        snprintf(reason, sizeof reason, "%s; %d ends within %.0f s: given up", how,
                 self->policy->restart.max_exits, (double)self->policy->restart.window_ms / 1000);
        change(self, slot, SLOT_FAILED, reason);
        return;
    }
    slot->start_ms = self->now_ms + wait;
    snprintf(reason, sizeof reason, "%s; starts again in %lld ms", how, (long long)wait);
    change(self, slot, SLOT_WAITING, reason);
}

static void start(fleet_t *self, slot_t *slot)
{
    err_t err = {0};
    slot->start_ms = slot->beat_ms = self->now_ms;
    slot->killed = false;
    slot->process = self->ops.spawn(self->ops.user, (int)(slot - self->slots.at), &err) == 0;
    if (slot->process)
        change(self, slot, SLOT_STARTING, "");
    else
        end_crashed(self, slot, 0, err.text);
}

void fleet_ended(fleet_t *self, int worker, fleet_cause_t cause, const char *how)
{
    slot_t *slot = &self->slots.at[worker];
    slot->process = false;
    if (self->stopping || slot->state == SLOT_DRAINING) {
        slot_state_t next = self->stopping ? SLOT_DRAINED : slot->next;
        slot->start_ms = self->now_ms;
        if (next == SLOT_WAITING) slot->restarts++;
        change(self, slot, next, how);
    } else if (self->policy->once && cause == ENDED_CLEAN) {
        change(self, slot, SLOT_DRAINED, how);
    } else if (cause == ENDED_HOPELESS) {
        change(self, slot, SLOT_FAILED, how);
    } else {
        bool lost = cause == ENDED_LOST; /* a driver that resets its device takes its time */
        if (lost && slot->restart.short_lives == 0) slot->restart.short_lives = 1;
        slot->restarts++;
        end_crashed(self, slot, lost ? 0 : self->now_ms - slot->start_ms, how);
    }
    /* No need to wait for a tick when nothing else is waited for. */
    if (slot->state == SLOT_WAITING && slot->start_ms <= self->now_ms) start(self, slot);
}

/* --- time --- */

static void kill_hung(fleet_t *self, slot_t *slot, int64_t limit_ms)
{
    int64_t silent_ms = self->now_ms - slot->beat_ms;
    if (slot->killed || silent_ms <= limit_ms) return;
    char reason[80];
    snprintf(reason, sizeof reason, "no sign of life for %lld ms: killed", (long long)silent_ms);
    slot->killed = true;
    send_signal(self, slot, SIGKILL);
    self->ops.changed(self->ops.user, (int)(slot - self->slots.at), reason);
}

static void kill_late(fleet_t *self, slot_t *slot)
{
    if (slot->killed || self->now_ms < slot->kill_ms) return;
    slot->killed = true;
    self->n_killed++;
    send_signal(self, slot, SIGKILL);
    self->ops.changed(self->ops.user, (int)(slot - self->slots.at),
                      "did not leave within the grace period: killed");
}

/* Having slept (stopped, suspended) is no reason to believe that the workers hang. */
static void forgive_own_sleep(fleet_t *self, int64_t gap_ms)
{
    if (gap_ms < self->policy->timeout_ms / 2) return;
    for (size_t i = 0; i < self->slots.n; i++) self->slots.at[i].beat_ms += gap_ms;
}

void fleet_tick(fleet_t *self, int64_t now_ms)
{
    forgive_own_sleep(self, now_ms - self->now_ms);
    self->now_ms = now_ms;
    for (size_t i = 0; i < self->slots.n; i++) {
        slot_t *slot = &self->slots.at[i];
        switch (slot->state) {
        case SLOT_WAITING:
            if (now_ms >= slot->start_ms) start(self, slot);
            break;
        case SLOT_STARTING: kill_hung(self, slot, self->policy->first_beat_ms); break;
        case SLOT_RUNNING: kill_hung(self, slot, self->policy->timeout_ms); break;
        case SLOT_DRAINING: kill_late(self, slot); break;
        case SLOT_DRAINED:
        case SLOT_FAILED: break;
        }
    }
}

void fleet_alive(fleet_t *self, int worker)
{
    slot_t *slot = &self->slots.at[worker];
    slot->beat_ms = self->now_ms;
    if (slot->state == SLOT_STARTING) change(self, slot, SLOT_RUNNING, "");
}

/* --- wishes --- */

static void drain(fleet_t *self, slot_t *slot, slot_state_t next)
{
    slot->next = next;
    if (slot->state == SLOT_DRAINING) return;
    if (!slot->process) {
        slot->start_ms = self->now_ms;
        if (slot->state != next) change(self, slot, next, "");
        return;
    }
    slot->kill_ms = self->now_ms + self->policy->grace_ms;
    send_signal(self, slot, SIGTERM);
    change(self, slot, SLOT_DRAINING, "");
}

void fleet_restart(fleet_t *self, int worker)
{
    slot_t *slot = &self->slots.at[worker];
    slot->restart = (restart_t){0};
    if (!self->stopping) drain(self, slot, SLOT_WAITING);
}

void fleet_drain(fleet_t *self, int worker)
{
    drain(self, &self->slots.at[worker], SLOT_DRAINED);
}

void fleet_scale(fleet_t *self, int n)
{
    if (self->stopping) return;
    for (size_t i = 0; i < self->slots.n; i++) {
        slot_t *slot = &self->slots.at[i];
        if (i >= (size_t)n) {
            drain(self, slot, SLOT_DRAINED);
        } else if (slot->state == SLOT_DRAINING) {
            slot->next = SLOT_WAITING;
        } else if (slot->state == SLOT_DRAINED || slot->state == SLOT_FAILED) {
            fleet_restart(self, (int)i);
        }
    }
    add(self, n);
}

void fleet_stop(fleet_t *self)
{
    self->stopping = true;
    for (size_t i = 0; i < self->slots.n; i++) drain(self, &self->slots.at[i], SLOT_DRAINED);
}

fleet_end_t fleet_end(const fleet_t *self)
{
    bool failed = false;
    for (size_t i = 0; i < self->slots.n; i++) {
        const slot_t *slot = &self->slots.at[i];
        if (slot->process || slot->state == SLOT_WAITING) return FLEET_WORKS;
        failed = failed || slot->state == SLOT_FAILED;
    }
    if (self->stopping) return FLEET_EMPTY;
    if (failed) return FLEET_FAILED;
    return self->policy->once ? FLEET_EMPTY : FLEET_WORKS;
}
