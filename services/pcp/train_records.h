/* Records for models whose data are no text: a folder of NumPy arrays, one for each batch argument. */
#ifndef PCP_TRAIN_RECORDS_H
#define PCP_TRAIN_RECORDS_H

#include "pcp/model_info.h"

#define TRAIN_RECORDS "records:" /* in front of the folder, in --data */

/* The folder in `data`, or NULL: it is no such. */
const char *train_records_dir(const char *data);

/* DIR/NAME.npy for each batch argument, where NAME is what the table of roles calls it (without %), or
 * its number among them (0.npy ..): an array of records x the argument's other dimensions, values
 * converted to its type. *units: all records side by side, as the layout `rows` has them
 * (data/batch.h), *n_unit u16 each, *n_record of them. Returns, caller frees. ERR_IO: a file that is
 * missing; ERR_SHAPE: of another shape, or of another number of records than the others. */
uint16_t *train_records_read(const char *dir, const model_info_t *model, size_t *n_unit,
                             size_t *n_record, err_t *err);

#endif
