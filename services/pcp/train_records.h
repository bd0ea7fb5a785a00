/* Records for models whose data are no text: an array for each batch argument, in a folder or file. */
#ifndef PCP_TRAIN_RECORDS_H
#define PCP_TRAIN_RECORDS_H

#include "pcp/model_info.h"

#define TRAIN_RECORDS "records:" /* in front of the folder, in --data */

/* The folder in `data`, or NULL: it is no such. */
const char *train_records_dir(const char *data);

/* All records of a model, one after another: the arrays may be larger than memory. */
typedef struct train_records train_records_t;

/* An array for each batch argument (pcp/record_source.h), under the name that the table of roles has
 * (without %), or its number among them: records x the argument's other dimensions, values scaled
 * where the schema says so and converted to its type. ERR_IO: a file that is missing; ERR_SHAPE: of
 * another shape, or of another number of records than the others. The model is borrowed until the end. */
train_records_t *train_records_open(const char *dir, const model_info_t *model, err_t *err);
void train_records_close(train_records_t **self_p);

size_t train_records_count(const train_records_t *self); /* at least 1 */
size_t train_records_unit(const train_records_t *self);  /* u16 of a record */

/* The next n records, of which there must be so many, into units[n * unit]: side by side, as the layout
 * `rows` has them (data/batch.h). ERR_CORRUPT: an archive is damaged. */
int train_records_next(train_records_t *self, uint16_t *units, size_t n, err_t *err);

#endif
