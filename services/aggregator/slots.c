/* The slots of an aggregator, side by side on one loop. */
#include "aggregator/slots.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "msg/control.h"
#include "msg/door.h"

char *slot_endpoint(const char *endpoint, size_t slot)
{
    const char *colon = strrchr(endpoint, ':');
    if (str_ends(endpoint, "*")) return mem_strdup(endpoint);
    if (!str_starts(endpoint, "tcp://") || !colon) return mem_printf("%s-s%zu", endpoint, slot);
    unsigned long port = strtoul(colon + 1, NULL, 10);
    return mem_printf("%.*s:%lu", (int)(colon - endpoint), endpoint, port + slot);
}

static aggregator_config_t config_of(const aggregator_config_t *from, size_t slot, bool several)
{
    aggregator_config_t config = {.common = from->common, .once = from->once, .slots = 1};
    bool given = from->advertise && *from->advertise;
    config.shepherd = mem_strdup(from->shepherd);
    config.id = several ? mem_printf("%s-s%zu", from->id, slot) : mem_strdup(from->id);
    config.bind = several ? slot_endpoint(from->bind, slot) : mem_strdup(from->bind);
    if (given)
        config.advertise = several ? slot_endpoint(from->advertise, slot)
                                   : mem_strdup(from->advertise);
    config.object_dir = several ? mem_printf("%s/s%zu", from->object_dir, slot)
                                : mem_strdup(from->object_dir);
    config.state_dir = several ? mem_printf("%s/s%zu", from->state_dir, slot)
                               : mem_strdup(from->state_dir);
    return config;
}

static int slot_init(slot_t *slot, err_t *err)
{
    aggregator_config_t *config = &slot->config;
    slot->loop.config = config;
    if (aggregator_init(&slot->loop.state, config->object_dir, config->state_dir, err) < 0)
        return -1;
    slot->loop.data = endpoint_open(endpoint_of_data(endpoint_bind(ZMQ_ROUTER, config->bind)), err);
    return slot->loop.data ? 0 : -1;
}

int slots_init(slots_t *self, const aggregator_config_t *config, err_t *err)
{
    size_t n = (size_t)config->slots;
    *self = (slots_t){.at = mem_calloc(n, sizeof *self->at)};
    for (; self->n < n; self->n++) {
        slot_t *slot = &self->at[self->n];
        slot->config = config_of(config, self->n, n > 1);
        if (slot_init(slot, err) < 0) {
            self->n++;
            return -1;
        }
    }
    return 0;
}

void slots_fini(slots_t *self)
{
    for (size_t i = 0; i < self->n; i++) {
        slot_t *slot = &self->at[i];
        /* Pending answers borrow snapshots and files: end the socket first. */
        zsock_destroy(&slot->loop.data);
        aggregator_fini(&slot->loop.state);
        slot->config.common = (service_options_t){0}; /* borrowed */
        config_fini(&aggregator_table, &slot->config);
    }
    free(self->at);
    *self = (slots_t){0};
}

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    slots_t *self = arg;
    bool leaving = true;
    for (size_t i = 0; i < self->n; i++) leaving &= loop_tick(&self->at[i].loop);
    return leaving ? -1 : 0;
}

static void on_signal(void *user)
{
    slots_t *self = user;
    for (size_t i = 0; i < self->n; i++) loop_leave(&self->at[i].loop);
}

/* As the slot that is worst off. */
static bool how_it_is(void *user, char *text, size_t n)
{
    slots_t *self = user;
    for (size_t i = 0; i < self->n; i++)
        if (!member_joined(self->at[i].loop.member))
            return member_health(self->at[i].loop.member, text, n);
    return member_health(self->at[0].loop.member, text, n);
}

static int serve(slots_t *self, err_t *err)
{
    zsock_t **doors = mem_calloc(self->n + 1, sizeof *doors);
    for (size_t i = 0; i < self->n; i++) doors[i] = self->at[i].loop.data;
    door_t *door = door_new(self->zloop, doors, self->n, err);
    free(doors);
    if (!door) return -1;
    service_loop(self->zloop);
    door_destroy(&door);
    return 0;
}

int slots_run(slots_t *self, int signal_fd, err_t *err)
{
    enum { TICK_MS = 50 };
    service_signals_t signals = {.on_signal = on_signal, .user = self};
    self->zloop = zloop_new();
    int rc = service_on_signal(self->zloop, signal_fd, &signals, err);
    for (size_t i = 0; rc == 0 && i < self->n; i++) {
        loop_t *loop = &self->at[i].loop;
        const char *advertise = loop->config->advertise;
        rc = loop_start(loop, self->zloop, advertise ? advertise : zsock_endpoint(loop->data), err);
    }
    health_t *health = NULL;
    if (rc == 0)
        rc = service_health(self->zloop, &self->at[0].loop.config->common, how_it_is, self, &health,
                            err);
    if (rc == 0) {
        zloop_timer(self->zloop, TICK_MS, 0, on_tick, self);
        rc = serve(self, err);
    }
    health_destroy(&health);
    for (size_t i = 0; i < self->n; i++) loop_stop(&self->at[i].loop);
    zloop_destroy(&self->zloop);
    return rc;
}
