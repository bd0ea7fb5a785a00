/* The migrations of deploy/postgres, part of the program. Internal to store/. */
#ifndef STORE_MIGRATIONS_H
#define STORE_MIGRATIONS_H

typedef struct {
    const char *name; /* "0001_runs" */
    const char *text; /* PostgreSQL's dialect */
} migration_t;

extern const migration_t migrations[]; /* version i + 1 */
extern const int n_migrations;

#endif
