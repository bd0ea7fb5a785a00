/* What `pcp top` shows: the same reports as the page's (store/report.h), read together. */
#ifndef PCP_TOP_DATA_H
#define PCP_TOP_DATA_H

#include "base/err.h"
#include "store/report.h"

typedef struct {
    char run[STORE_ID]; /* whose reports these are; "": there is no run */
    int64_t read_ms;    /* since 1970 */
    report_t runs, queue;
    report_t loss, validation, speed, open, workers, leases, checkpoints, events; /* of the run */
} top_data_t;

/* Read them. `run`: that one; "", or one that is not there: the newest. Errors as store_report's; *out is
 * then unchanged. Caller: top_data_fini. */
int top_data_read(store_t *store, const char *run, top_data_t *out, err_t *err);
void top_data_fini(top_data_t *self);

/* The row of a run in `runs`; n_row: it is not there. */
size_t top_data_find(const top_data_t *self, const char *run);

#endif
