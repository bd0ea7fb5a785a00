/* Records for models whose data are no text: an array for each batch argument, in a folder or file. */
#ifndef PCP_TRAIN_RECORDS_H
#define PCP_TRAIN_RECORDS_H

#include "pcp/model_info.h"

#define TRAIN_RECORDS "records:" /* in front of the folder, in --data */

/* The folder in `data`, or NULL: it is no such. */
const char *train_records_dir(const char *data);

/* An array for each batch argument (pcp/record_source.h), under the name that the table of roles has
 * (without %), or its number among them: records x the argument's other dimensions, values scaled
 * where the schema says so and converted to its type. *units: all records side by side, as the layout `rows` has them
 * (data/batch.h), *n_unit u16 each, *n_record of them. Returns, caller frees. ERR_IO: a file that is
 * missing; ERR_SHAPE: of another shape, or of another number of records than the others. */
uint16_t *train_records_read(const char *dir, const model_info_t *model, size_t *n_unit,
                             size_t *n_record, err_t *err);

#endif
