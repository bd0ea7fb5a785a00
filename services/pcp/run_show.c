/* Runs as lines of text, and as what output.h prints. */
#include "pcp/run_show.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pcp/progress.h"

bool run_show_over(const Msg__RunInfo *info)
{
    return strcmp(info->state, "done") == 0 || strcmp(info->state, "failed") == 0 ||
           strcmp(info->state, "cancelled") == 0;
}

static json_t *json_time(int64_t ms)
{
    return ms < 0 ? json_null() : json_integer(ms);
}

static json_t *json_of(const Msg__RunInfo *info)
{
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:s, s:I}",
        "run", info->id, "key", info->key, "state", info->state, "reason", info->reason, "phase",
        info->phase, "workers", (json_int_t)info->workers, "workers_wanted",
        (json_int_t)info->workers_wanted, "aggregators", (json_int_t)info->aggregators, "shards",
        (json_int_t)info->shards, "compilers", (json_int_t)info->compilers, "round",
        (json_int_t)info->round, "rounds", (json_int_t)info->rounds, "tokens",
        (json_int_t)info->tokens, "tokens_per_s", info->tokens_per_s, "eta_s", info->eta_s,
        "checkpoint", info->checkpoint, "restarts", (json_int_t)info->restarts);
    if (!json) return json_null(); /* a text that is no UTF-8 */
    json_object_set_new(json, "loss", info->round ? json_real(info->loss) : json_null());
    json_object_set_new(json, "val_loss",
                        info->has_val_loss ? json_real(info->val_loss) : json_null());
    json_object_set_new(json, "number", json_integer(info->number));
    json_object_set_new(json, "created_ms", json_time(info->created_ms));
    json_object_set_new(json, "started_ms", json_time(info->started_ms));
    json_object_set_new(json, "finished_ms", json_time(info->finished_ms));
    return json;
}

void run_show_list(Msg__RunInfo *const *runs, size_t n, output_t format)
{
    static const output_column_t columns[] = {
        {"RUN", "run", 24, NULL},          {"STATE", "state", 10, NULL},
        {"ROUND", "round", -15, "rounds"}, {"WORKERS", "workers", -9, "workers_wanted"},
        {"LOSS", "loss", -9, NULL},        {"VALIDATION", "val_loss", -10, NULL},
        {" REASON", "reason", 0, NULL}};
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_of(runs[i]));
    output_list(format, columns, sizeof columns / sizeof *columns, list, stdout);
}

static void print_time(const char *what, int64_t ms)
{
    char text[64];
    time_t seconds = (time_t)(ms / 1000);
    if (ms < 0) return;
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", localtime(&seconds));
    printf("%-12s %s\n", what, text);
}

void run_show_one(const Msg__RunInfo *info, output_t format)
{
    if (format != OUTPUT_TABLE) {
        output_value(format, json_of(info), stdout);
        return;
    }
    bool waits = strcmp(info->state, "queued") == 0 || strcmp(info->state, "running") == 0;
    printf("%-12s %s\n%-12s %s\n%-12s %s%s%s\n", "run", info->id, "key", info->key, "state",
           info->state, *info->phase ? ", " : "", info->phase);
    if (*info->reason) printf("%-12s %s\n", waits ? "waits for" : "reason", info->reason);
    printf("%-12s %u of %u\n%-12s %u of %u\n%-12s %u of %u\n", "rounds", info->round, info->rounds,
           "workers", info->workers, info->workers_wanted, "aggregators", info->aggregators,
           info->shards);
    if (info->loss > 0) printf("%-12s %.4f\n", "loss", info->loss);
    if (info->has_val_loss) printf("%-12s %.4f\n", "validation", info->val_loss);
    if (info->tokens_per_s > 0) printf("%-12s %.0f\n", "tokens/s", info->tokens_per_s);
    char left[32];
    if (info->eta_s > 0 && !run_show_over(info))
        printf("%-12s %s\n", "time left", progress_duration(info->eta_s, left));
    print_time("submitted", info->created_ms);
    print_time("started", info->started_ms);
    print_time("finished", info->finished_ms);
    if (*info->checkpoint) printf("%-12s %s\n", "checkpoint", info->checkpoint);
}
