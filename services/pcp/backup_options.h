/* The options that pcp backup and pcp restore share: where the runs and the records are. */
#ifndef PCP_BACKUP_OPTIONS_H
#define PCP_BACKUP_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

typedef struct {
    char *store, *runs_dir;
    int64_t wait_ms;
} backup_options_t;

/* clang-format off */
#define BACKUP_FIELDS(runs_help, store_help) \
    {"runs_dir", CONFIG_STRING, offsetof(backup_options_t, runs_dir), "runs", runs_help, 0, 0, NULL, false}, \
    {"store", CONFIG_STRING, offsetof(backup_options_t, store), NULL, \
     store_help " [sqlite://RUNS_DIR/pcp.db]", 0, 0, NULL, true}, \
    {"wait_ms", CONFIG_INT, offsetof(backup_options_t, wait_ms), "600000", \
     "how long the database may take for one step", 1, 3600000, NULL, false}
/* clang-format on */

/* URL of the records: --store, or its default. Caller frees. */
static inline char *backup_store_url(const backup_options_t *o)
{
    return o->store && *o->store ? mem_strdup(o->store)
                                 : mem_printf("sqlite://%s/pcp.db", o->runs_dir);
}

#endif
