/* Events and samples, in numbered batches so that each is written once. */
#include <inttypes.h>
#include <stdlib.h>

#include "store/private.h"

enum { EVENT_COLUMNS = 9, SAMPLE_COLUMNS = 6 };

static void event_values(const store_event_t *e, sql_value_t v[EVENT_COLUMNS])
{
    v[0] = sql_int(e->time_ms);
    v[1] = sql_text(e->level);
    v[2] = sql_text(e->service);
    v[3] = sql_text(e->member);
    v[4] = sql_text(e->name);
    v[5] = sql_text(e->run);
    v[6] = sql_maybe_int(e->round);
    v[7] = sql_text(e->detail ? e->detail : "{}");
    v[8] = sql_text(e->key);
}

static void sample_values(const store_sample_t *s, sql_value_t v[SAMPLE_COLUMNS])
{
    v[0] = sql_int(s->time_ms);
    v[1] = sql_text(s->name);
    v[2] = sql_text(s->member);
    v[3] = sql_text(s->run);
    v[4] = sql_maybe_int(s->round);
    v[5] = sql_float(s->value);
}

static int write_events(store_t *self, const store_event_t *events, size_t n, err_t *err)
{
    sql_value_t values[STORE_BATCH * EVENT_COLUMNS];
    size_t i = 0;
    for (; i + STORE_BATCH <= n; i += STORE_BATCH) {
        for (size_t k = 0; k < STORE_BATCH; k++)
            event_values(&events[i + k], values + k * EVENT_COLUMNS);
        if (sql_run(self->db, self->insert_events, values, STORE_BATCH * EVENT_COLUMNS, NULL, err) <
            0)
            return -1;
    }
    for (; i < n; i++) {
        event_values(&events[i], values);
        if (sql_run(
                self->db,
                "INSERT INTO event (time_ms, level, service, member, name, run_id, round, detail, "
                "key) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING",
                values, EVENT_COLUMNS, NULL, err) < 0)
            return -1;
    }
    return 0;
}

static int write_samples(store_t *self, const store_sample_t *samples, size_t n, err_t *err)
{
    sql_value_t values[STORE_BATCH * SAMPLE_COLUMNS];
    size_t i = 0;
    for (; i + STORE_BATCH <= n; i += STORE_BATCH) {
        for (size_t k = 0; k < STORE_BATCH; k++)
            sample_values(&samples[i + k], values + k * SAMPLE_COLUMNS);
        if (sql_run(self->db, self->insert_samples, values, STORE_BATCH * SAMPLE_COLUMNS, NULL,
                    err) < 0)
            return -1;
    }
    for (; i < n; i++) {
        sample_values(&samples[i], values);
        if (sql_run(self->db,
                    "INSERT INTO sample (time_ms, name, member, run_id, round, value) "
                    "VALUES ($1, $2, $3, $4, $5, $6)",
                    values, SAMPLE_COLUMNS, NULL, err) < 0)
            return -1;
    }
    return 0;
}

int store_telemetry_write(store_t *self, const char *source, int64_t batch,
                          const store_event_t *events, size_t n_event,
                          const store_sample_t *samples, size_t n_sample, err_t *err)
{
    if (store_check_id("source of telemetry", source, err) < 0) return -1;
    if (batch < 1) return err_set(err, ERR_ARG, "store: batch %" PRId64 " of %s", batch, source);
    if (sql_begin(self->db, err) < 0) return -1;
    int64_t fresh = SQL_RUN(self->db, err, NULL,
                            "INSERT INTO telemetry_source (source, batch, written_ms) "
                            "VALUES ($1, $2, now_ms()) ON CONFLICT (source) DO UPDATE SET "
                            "batch = excluded.batch, written_ms = excluded.written_ms "
                            "WHERE telemetry_source.batch < excluded.batch",
                            sql_text(source), sql_int(batch));
    int rc = fresh < 0 ? -1 : 0;
    if (fresh > 0) rc = write_events(self, events, n_event, err);
    if (fresh > 0 && rc == 0) rc = write_samples(self, samples, n_sample, err);
    return sql_end(self->db, rc, err);
}

int store_event_add(store_t *self, const store_leader_t *leader, const store_event_t *event,
                    err_t *err)
{
    if (store_begin(self, leader, err) < 0) return -1;
    return sql_end(self->db, write_events(self, event, 1, err), err);
}

/* Up to which time a slice of what is older than before_ms reaches. Read apart from the deletion, so that this knows its bound,
 * and goes by the index. */
#define SLICE_END(table) \
    "SELECT time_ms FROM " table " WHERE time_ms < $1 ORDER BY time_ms LIMIT 1 OFFSET $2"

static int prune_slice(store_t *self, const char *find_end, const char *delete_to,
                       int64_t before_ms, bool *done, err_t *err)
{
    enum { SLICE = 10000 };
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows, find_end, sql_int(before_ms), sql_int(SLICE));
    int64_t end_ms = n > 0 ? sql_cell_int(&rows, 0, 0) : before_ms - 1;
    sql_rows_fini(&rows);
    if (n < 0 || SQL_RUN(self->db, err, NULL, delete_to, sql_int(end_ms)) < 0) return -1;
    if (n > 0) *done = false;
    return 0;
}

int store_telemetry_prune(store_t *self, int64_t before_ms, bool *done, err_t *err)
{
    *done = true;
    if (prune_slice(self, SLICE_END("event"), "DELETE FROM event WHERE time_ms <= $1", before_ms,
                    done, err) < 0)
        return -1;
    return prune_slice(self, SLICE_END("sample"), "DELETE FROM sample WHERE time_ms <= $1",
                       before_ms, done, err);
}

int store_telemetry_count(store_t *self, const char *run, uint64_t *n_event, uint64_t *n_sample,
                          err_t *err)
{
    sql_rows_t rows = {0};
    int64_t n = SQL_RUN(self->db, err, &rows,
                        "SELECT (SELECT count(*) FROM event WHERE $1 = '' OR run_id = $1), "
                        "(SELECT count(*) FROM sample WHERE $1 = '' OR run_id = $1)",
                        sql_text(run ? run : ""));
    if (n > 0) {
        *n_event = (uint64_t)sql_cell_int(&rows, 0, 0);
        *n_sample = (uint64_t)sql_cell_int(&rows, 0, 1);
    }
    sql_rows_fini(&rows);
    return n < 0 ? -1 : 0;
}
