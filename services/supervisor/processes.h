/* The supervisor's workers as processes: command lines, and a pipe from each for its signs of
 * life. */
#ifndef SUPERVISOR_PROCESSES_H
#define SUPERVISOR_PROCESSES_H

#include "base/children.h"
#include "runtime/device.h"
#include "supervisor/config.h"

typedef struct {
    const supervisor_config_t *config;
    children_t *children;
    char *program;         /* pcp-worker beside this program */
    device_name_t *device; /* [n_device]: of worker i is device[i % n_device] */
    int n_device;          /* 0: the workers choose */
    int scale;             /* workers to begin with */
    long threads; /* per worker; fixed, so that a restarted worker computes the same bits */
} processes_t;

/* config is borrowed. ERR_ARG: devices names none; ERR_IO: no pcp-worker beside this program, or no log directory. */
int processes_init(processes_t *self, const supervisor_config_t *config, err_t *err);
void processes_fini(processes_t *self); /* kills what still runs */

enum { PROCESSES_ID_BYTES = 64 };
const char *processes_id(const processes_t *self, int worker, char id[PROCESSES_ID_BYTES]);

/* Start a worker. Returns the reading end of its pipe, non-blocking, which the caller closes; or -1
 * with ERR_IO. */
int processes_start(processes_t *self, int worker, err_t *err);

/* The worker of an id, -1: not one of ours. */
int processes_worker(const processes_t *self, const char *id);

#endif
