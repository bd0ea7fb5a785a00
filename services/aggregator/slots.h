/* An aggregator with slots: as many members of the cluster in one process and reactor, each with an
 * id, a data endpoint and directories of its own, so that each may serve another run. */
#ifndef AGGREGATOR_SLOTS_H
#define AGGREGATOR_SLOTS_H

#include "aggregator/loop.h"

typedef struct {
    aggregator_config_t config; /* of the slot; its texts are owned */
    loop_t loop;
} slot_t;

typedef struct {
    zloop_t *zloop;
    slot_t *at;
    size_t n;
} slots_t;

/* One slot is the aggregator as configured; of several, slot I is <id>-sI, binds (and advertises)
 * the port of --bind plus I (or <path>-sI), and keeps its files in a folder sI of the directories.
 */
int slots_init(slots_t *self, const aggregator_config_t *config, err_t *err);
void slots_fini(slots_t *self);

/* Run until a signal (or, with --once, until all are dismissed). */
int slots_run(slots_t *self, int signal_fd, err_t *err);

/* "tcp://host:7100" of slot 2: "tcp://host:7102"; any other end of an endpoint gets "-s2", but for
 * a port "*". Returns, caller frees. */
char *slot_endpoint(const char *endpoint, size_t slot);

#endif
