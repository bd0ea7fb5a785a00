/* Reports: what people look at, by name; each is one query of the views pcp_*, so that a login with
 * the role pcp_reader may ask. Bounded: a report has at most STORE_REPORT_ROWS rows, and of a long
 * run the rounds are put together until they fit. */
#ifndef STORE_REPORT_H
#define STORE_REPORT_H

#include "store/store.h"

enum { STORE_REPORT_ROWS = 2000 };

typedef enum {
    REPORT_TEXT,
    REPORT_NUMBER,
    REPORT_TIME, /* "2026-01-31T23:59:59.123Z", UTC */
    REPORT_JSON  /* as text, not checked */
} report_kind_t;

typedef struct {
    char name[STORE_WORD];
    report_kind_t kind;
} report_column_t;

typedef struct {
    size_t n_row, n_column;
    report_column_t *column;
    char **cell;   /* row after row; NULL: the database says NULL. Numbers are JSON's */
    bool more;     /* rows were left out */
    int64_t each;  /* of rounds: so many make a row, their mean; else 0 */
    uint64_t n_of; /* of rounds: how many there are */
} report_t;

/* A store to read reports from beside a reactor: it writes nothing, and what it does not answer within some seconds
 * is ERR_NET. As store_open. */
store_t *store_report_open(const char *url, err_t *err);

/* One of store_report's names? *of_run: it is of one run. */
bool store_report_known(const char *name, bool *of_run);
/* The name of report i, or NULL: to list them. */
const char *store_report_name(size_t i);

/* `run` "": of all runs, where the report is not of one. `most` rows: 1 to STORE_REPORT_ROWS
 * (ERR_ARG). ERR_STATE: there is no such run. ERR_NET, ERR_SCHEMA as all of store.h. */
int store_report(store_t *self, const char *name, const char *run, int64_t most, report_t *out,
                 err_t *err);
/* Committed rounds of a run as they are, in order: those behind `after`, and those behind `validated` that
 * have a validation loss; `most` as above. Columns: round, loss, validation_loss, tokens_per_second,
 * committed_at. */
int store_report_rounds(store_t *self, const char *run, int64_t after, int64_t validated,
                        int64_t most, report_t *out, err_t *err);
void store_report_fini(report_t *self);

/* A cell by its column's name: borrowed; NULL: the database says NULL, or there is no such row or
 * column. As a number: NaN for these. */
const char *store_report_cell(const report_t *self, size_t row, const char *column);
double store_report_number(const report_t *self, size_t row, const char *column);

/* A number that is another one after somebody else has changed the database (and perhaps without a
 * change). Costs next to nothing. */
int store_report_stamp(store_t *self, int64_t *stamp, err_t *err);

/* "2026-01-31 23:59:59.123456+01" or without an offset (UTC), as databases write it, as REPORT_TIME.
 * False: it is no such text. */
bool store_report_time(const char *text, char out[STORE_WORD]);

#endif
