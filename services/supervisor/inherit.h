/* What a supervisor before this one left in our directories. */
#ifndef SUPERVISOR_INHERIT_H
#define SUPERVISOR_INHERIT_H

#include "supervisor/config.h"

/* For a supervisor whose id was not chosen, and is another one after each start: caches and logs of the workers of those
 * that had such ids and are gone become our workers', under our id, so that a restart fetches nothing again and a disk
 * does not fill with folders of nobody. Of several that left a worker of the same number the first's is kept. A supervisor
 * that lives, also one that shares the directory, keeps its own; so do those whose ids were chosen. Returns a
 * descriptor that says until it is closed that we live; -1 with ERR_IO. */
int inherit_caches(const supervisor_config_t *config, err_t *err);

#endif
