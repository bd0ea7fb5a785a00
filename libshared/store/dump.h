/* All records of a database as files, for backups: as of one moment, while others write to it, and
 * back into an empty database of the same kind. PostgreSQL: DIR/TABLE.copy, COPY's text format, one
 * for each table; SQLite: DIR/records.db, a database. Times and threads as in store/store.h. */
#ifndef STORE_DUMP_H
#define STORE_DUMP_H

#include "store/store.h"

typedef struct {
    char kind[STORE_WORD]; /* postgresql, sqlite */
    int version;           /* of the schema */
} store_dump_t;

/* About how large the dump will be. */
int store_dump_size(store_t *self, int64_t *n_bytes, err_t *err);

/* Write it into the directory, which is there and empty. ERR_SCHEMA: the tables are not this
 * program's; ERR_IO. */
int store_dump(store_t *self, const char *dir, store_dump_t *out, err_t *err);

/* 0 when the database is of that kind and has no records (no tables, or empty ones of that
 * version); ERR_STATE says what stands in the way. ERR_SCHEMA: a dump of a newer program. */
int store_load_check(store_t *self, const store_dump_t *from, err_t *err);

/* Fill it (store_load_check has said 0), and bring it to this program's schema. In one transaction
 * but for the schema: after an error there are no records in it. */
int store_load(store_t *self, const char *dir, const store_dump_t *from, err_t *err);

/* What was written at FROM is at TO now: paths of checkpoints that begin with FROM/. */
int store_load_moved(store_t *self, const char *from, const char *to, err_t *err);

#endif
