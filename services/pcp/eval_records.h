/* pcp eval over records: the mean of what a function of the model says of them. */
#ifndef PCP_EVAL_RECORDS_H
#define PCP_EVAL_RECORDS_H

#include "base/err.h"

/* Run the function `entry` (NULL: main, which gives the loss) of the checkpoint's model, with its
 * parameters, over the records in `from` (a folder or file: pcp/record_source.h), batch by batch, and
 * print the mean of each result that is a number. Records that fill no whole batch are left out, and
 * that is said. threads 0: one per core. Errors name the checkpoint. */
int eval_records(const char *checkpoint, const char *entry, const char *from, int threads,
                 err_t *err);

#endif
