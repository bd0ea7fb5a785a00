/* One report after the other. */
#include "pcp/top_data.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* Rows that one screen can use; of a long run so many means are a curve. */
enum { RUNS = 200, POINTS = 400, WORKERS = 500, LEASES = 500, EVENTS = 200 };

static const struct {
    const char *name;
    size_t offset;
    int64_t most;
} of_run[] = {
    {"loss", offsetof(top_data_t, loss), POINTS},
    {"validation", offsetof(top_data_t, validation), POINTS},
    {"speed", offsetof(top_data_t, speed), POINTS},
    {"open", offsetof(top_data_t, open), 1},
    {"workers", offsetof(top_data_t, workers), WORKERS},
    {"leases", offsetof(top_data_t, leases), LEASES},
    {"checkpoints", offsetof(top_data_t, checkpoints), 1},
    {"events", offsetof(top_data_t, events), EVENTS},
};
enum { N_OF_RUN = sizeof of_run / sizeof *of_run };

static report_t *report_of(top_data_t *self, size_t i)
{
    return (report_t *)((char *)self + of_run[i].offset);
}

size_t top_data_find(const top_data_t *self, const char *run)
{
    size_t i = 0;
    while (i < self->runs.n_row) {
        const char *name = store_report_cell(&self->runs, i, "run");
        if (name && strcmp(name, run) == 0) break;
        i++;
    }
    return i;
}

static int read_run(store_t *store, top_data_t *data, err_t *err)
{
    for (size_t i = 0; i < N_OF_RUN; i++)
        if (store_report(store, of_run[i].name, data->run, of_run[i].most, report_of(data, i),
                         err) < 0)
            return -1;
    return 0;
}

int top_data_read(store_t *store, const char *run, top_data_t *out, err_t *err)
{
    top_data_t data = {.read_ms = clock_wall_ms()};
    int rc = store_report(store, "runs", "", RUNS, &data.runs, err);
    if (rc == 0) rc = store_report(store, "queue", "", RUNS, &data.queue, err);
    if (rc == 0 && data.runs.n_row > 0) {
        size_t row = top_data_find(&data, run);
        const char *name = store_report_cell(&data.runs, row < data.runs.n_row ? row : 0, "run");
        snprintf(data.run, sizeof data.run, "%s", name ? name : "");
        rc = read_run(store, &data, err);
    }
    if (rc < 0) {
        top_data_fini(&data);
        return -1;
    }
    *out = data;
    return 0;
}

void top_data_fini(top_data_t *self)
{
    for (size_t i = 0; i < N_OF_RUN; i++) store_report_fini(report_of(self, i));
    store_report_fini(&self->queue);
    store_report_fini(&self->runs);
    *self = (top_data_t){0};
}
