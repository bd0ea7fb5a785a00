/* schema.json of a folder of records: what raw files hold, and scales (pcp/record_source.h). */
#ifndef DATA_RECORD_SCHEMA_H
#define DATA_RECORD_SCHEMA_H

#include "ir/type.h"

typedef struct {
    char *name, *file; /* file NULL: only a scale */
    ir_type_t record;  /* of one record; not empty */
    uint64_t offset;   /* bytes in front of the first */
    bool scaled;
    double scale, shift;
} record_column_t;

typedef struct {
    record_column_t *column; /* heap */
    size_t n;
} record_schema_t;

/* DIR/schema.json; none there: an empty one. ERR_PARSE names the file, the column and what is wrong. */
int record_schema_read(const char *dir, record_schema_t *out, err_t *err);
/* The same of a text, for which `from` stands in messages. */
int record_schema_parse(const char *text, size_t n, const char *from, record_schema_t *out,
                        err_t *err);
void record_schema_fini(record_schema_t *self);

const record_column_t *record_schema_find(const record_schema_t *self, const char *name);

#endif
