/* Requests and what is read of their answers, which are text that nobody vouches for. */
#include "metrics/track/mlflow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

enum {
    PARAM_BYTES = 500, /* of a value, in versions of before */
    PARAMS = 100,      /* in a batch */
};

#define API "api/2.0/mlflow/"

/* The text at json[key], if it fits. */
static int take_text(const json_t *json, const char *key, char *to, size_t space, err_t *err)
{
    const char *text = json_string_value(json_object_get(json, key));
    if (!text || !*text || strlen(text) >= space)
        return err_set(err, ERR_NET, "an answer without \"%s\"", key);
    memcpy(to, text, strlen(text) + 1);
    return 0;
}

int mlflow_experiment(poster_t *poster, const char *name, char id[MLFLOW_ID], err_t *err)
{
    json_t *answer = NULL;
    char *escaped = poster_escape(poster, name);
    char *path = mem_printf(API "experiments/get-by-name?experiment_name=%s", escaped);
    err_t absent = {0};
    int rc = poster_ask(poster, path, NULL, &answer, &absent);
    poster_free(escaped);
    free(path);
    if (rc == 0) {
        rc = take_text(json_object_get(answer, "experiment"), "experiment_id", id, MLFLOW_ID, err);
    } else if (absent.code == ERR_IO) {
        json_t *body = json_pack("{ss}", "name", name);
        rc = poster_ask(poster, API "experiments/create", body, &answer, err);
        json_decref(body);
        if (rc == 0) rc = take_text(answer, "experiment_id", id, MLFLOW_ID, err);
    } else {
        rc = err_set(err, absent.code, "%s", absent.text);
    }
    json_decref(answer);
    return rc;
}

static void read_sent(const json_t *tags, mlflow_run_t *out)
{
    size_t i;
    json_t *tag;
    json_array_foreach(tags, i, tag)
    {
        const char *key = json_string_value(json_object_get(tag, "key"));
        const char *value = json_string_value(json_object_get(tag, "value"));
        long long sent = 0, validated = 0;
        if (!key || !value || strcmp(key, "pcp.sent") != 0) continue;
        if (sscanf(value, "%lld %lld", &sent, &validated) != 2 || sent < 0 || validated < 0)
            continue;
        out->has_cursor = true;
        out->sent = sent;
        out->validated = validated;
    }
}

static int read_run(const json_t *run, mlflow_run_t *out, err_t *err)
{
    const json_t *info = json_object_get(run, "info");
    *out = (mlflow_run_t){0};
    read_sent(json_object_get(json_object_get(run, "data"), "tags"), out);
    if (take_text(info, "run_id", out->id, sizeof out->id, err) < 0) return -1;
    return take_text(info, "status", out->status, sizeof out->status, err);
}

int mlflow_find(poster_t *poster, const char *experiment, const char *name, mlflow_run_t *out,
                bool *found, err_t *err)
{
    char *filter = mem_printf("tags.\"pcp.run\" = '%s'", name); /* ids have no quotes */
    json_t *answer = NULL, *body = json_pack("{s[s]sssi}", "experiment_ids", experiment, "filter",
                                             filter, "max_results", 1);
    int rc = poster_ask(poster, API "runs/search", body, &answer, err);
    const json_t *run = json_array_get(json_object_get(answer, "runs"), 0);
    *found = rc == 0 && run;
    if (*found) rc = read_run(run, out, err);
    json_decref(body);
    json_decref(answer);
    free(filter);
    return rc;
}

static json_t *tag(const char *key, const char *value)
{
    return json_pack("{ssss}", "key", key, "value", value);
}

int mlflow_options(poster_t *poster, const mlflow_run_t *run, const json_t *options, err_t *err)
{
    json_t *list = json_array(), *value;
    const char *key;
    json_object_foreach((json_t *)options, key, value)
    {
        char cut[PARAM_BYTES + 1];
        char *plain = json_is_string(value) ? mem_strdup(json_string_value(value))
                                            : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT |
                                                                    JSON_REAL_PRECISION(15));
        utf8_cut(cut, sizeof cut, plain ? plain : "");
        if (json_array_size(list) < PARAMS) json_array_append_new(list, tag(key, cut));
        free(plain);
    }
    json_t *body = json_pack("{ssso}", "run_id", run->id, "params", list);
    int rc = json_array_size(list) ? poster_ask(poster, API "runs/log-batch", body, NULL, err) : 0;
    json_decref(body);
    return rc;
}

int mlflow_create(poster_t *poster, const char *experiment, const char *name, int64_t start_ms,
                  mlflow_run_t *out, err_t *err)
{
    json_t *answer = NULL;
    json_t *body = json_pack("{sssssIs[oo]}", "experiment_id", experiment, "run_name", name,
                             "start_time", (json_int_t)start_ms, "tags", tag("pcp.run", name),
                             tag("mlflow.source.name", "pcp"));
    int rc = poster_ask(poster, API "runs/create", body, &answer, err);
    if (rc == 0) rc = read_run(json_object_get(answer, "run"), out, err);
    json_decref(body);
    json_decref(answer);
    return rc;
}

void mlflow_add(json_t *batch, const char *key, double value, int64_t step, int64_t time_ms)
{
    json_array_append_new(batch, json_pack("{sssfsIsI}", "key", key, "value", value, "timestamp",
                                           (json_int_t)time_ms, "step", (json_int_t)step));
}

int mlflow_send(poster_t *poster, const mlflow_run_t *run, json_t *batch, err_t *err)
{
    char sent[64];
    snprintf(sent, sizeof sent, "%" PRId64 " %" PRId64, run->sent, run->validated);
    json_t *body = json_pack("{sssOs[o]}", "run_id", run->id, "metrics", batch, "tags",
                             tag("pcp.sent", sent));
    int rc = poster_ask(poster, API "runs/log-batch", body, NULL, err);
    json_decref(body);
    return rc;
}

int mlflow_status(poster_t *poster, mlflow_run_t *run, const char *status, int64_t end_ms,
                  const char *reason, err_t *err)
{
    json_t *body = json_pack("{ssss}", "run_id", run->id, "status", status);
    if (end_ms > 0) json_object_set_new(body, "end_time", json_integer(end_ms));
    int rc = poster_ask(poster, API "runs/update", body, NULL, err);
    json_decref(body);
    if (rc == 0 && *reason) {
        body = json_pack("{ssssss}", "run_id", run->id, "key", "pcp.reason", "value", reason);
        rc = poster_ask(poster, API "runs/set-tag", body, NULL, err);
        json_decref(body);
    }
    if (rc == 0) snprintf(run->status, sizeof run->status, "%s", status);
    return rc;
}
