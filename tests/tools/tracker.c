/* tracker: a small server that speaks as much of MLflow's REST API 2.0 as services/metrics/track asks, and
 * keeps what it gets, for tests.
 *
 *   tracker DIR [TOKEN]
 *
 * Prints its port. With a TOKEN, who does not say it gets 401. The file DIR/mode says how it behaves, at
 * each request: ok; refuse (503); deny (400); slow (no answer while that mode lasts); cut (every third request is
 * done, and its connection ended without an answer). GET /dump: all it has, a line each:
 *
 *   run NAME STATUS END_TIME      metric NAME KEY STEP VALUE TIMESTAMP      param NAME KEY VALUE
 *   tag NAME KEY VALUE            conflict NAME KEY ...: another value for what was said already
 *   requests N */
#include <arpa/inet.h>
#include <jansson.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

enum { RUNS = 64, BODY_BYTES = 8 << 20, POLL_US = 50000 };

typedef struct {
    char id[32];
    json_t *info, *tags, *params, *metrics; /* objects: value by key; metrics by "KEY STEP" */
} run_t;

static struct {
    pthread_mutex_t lock;
    const char *dir, *token;
    char experiment[128]; /* its name; "": none yet */
    run_t run[RUNS];
    int n_run;
    long requests, cuts;
    str_t conflicts;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void mode_is(char mode[16])
{
    char *path = mem_printf("%s/mode", all.dir);
    FILE *file = fopen(path, "r");
    strcpy(mode, "ok");
    if (file && fscanf(file, "%15s", mode) != 1) strcpy(mode, "ok");
    if (file) fclose(file);
    free(path);
}

static const char *text(const json_t *json, const char *key)
{
    const char *found = json_string_value(json_object_get(json, key));
    return found ? found : "";
}

static run_t *run_of(const json_t *body)
{
    for (int i = 0; i < all.n_run; i++)
        if (strcmp(all.run[i].id, text(body, "run_id")) == 0) return &all.run[i];
    return NULL;
}

static const char *name_of(const run_t *run)
{
    return text(run->tags, "pcp.run");
}

/* --- what is asked; each gives an answer, or NULL: 404 --- */

static json_t *get_experiment(const char *name)
{
    if (!*all.experiment || strcmp(all.experiment, name) != 0) return NULL;
    return json_pack("{s{ssss}}", "experiment", "experiment_id", "7", "name", all.experiment);
}

static json_t *create_experiment(const json_t *body)
{
    snprintf(all.experiment, sizeof all.experiment, "%s", text(body, "name"));
    return json_pack("{ss}", "experiment_id", "7");
}

static void keep(run_t *run, json_t *values, const json_t *list, const char *what)
{
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row)
    {
        char key[256];
        json_t *step = json_object_get(row, "step");
        snprintf(key, sizeof key, step ? "%s %lld" : "%s", text(row, "key"),
                 (long long)json_integer_value(step));
        json_t *before = json_object_get(values, key);
        json_t *now = json_pack("{sO}", "value", json_object_get(row, "value"));
        json_t *time = json_object_get(row, "timestamp");
        if (time) json_object_set(now, "time", time);
        bool fixed = strcmp(what, "tag") != 0;
        if (fixed && before && !json_equal(before, now))
            str_addf(&all.conflicts, "conflict %s %s %s\n", name_of(run), what, key);
        json_object_set_new(values, key, now);
    }
}

static void keep_tags(run_t *run, const json_t *list)
{
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row)
        json_object_set(run->tags, text(row, "key"), json_object_get(row, "value"));
}

static json_t *describe(const run_t *run)
{
    json_t *tags = json_array(), *value;
    const char *key;
    json_object_foreach(run->tags, key, value)
        json_array_append_new(tags, json_pack("{sssO}", "key", key, "value", value));
    return json_pack("{sOs{so}}", "info", run->info, "data", "tags", tags);
}

static json_t *create_run(const json_t *body)
{
    if (all.n_run == RUNS || strcmp(text(body, "experiment_id"), "7") != 0) return NULL;
    run_t *run = &all.run[all.n_run++];
    snprintf(run->id, sizeof run->id, "id%d", all.n_run);
    run->info = json_pack("{sssssO}", "run_id", run->id, "status", "RUNNING", "start_time",
                          json_object_get(body, "start_time"));
    run->tags = json_object();
    run->params = json_object();
    run->metrics = json_object();
    keep_tags(run, json_object_get(body, "tags"));
    return json_pack("{so}", "run", describe(run));
}

static json_t *search_runs(const json_t *body)
{
    json_t *list = json_array();
    for (int i = 0; i < all.n_run; i++) {
        char *filter = mem_printf("tags.\"pcp.run\" = '%s'", name_of(&all.run[i]));
        if (strcmp(text(body, "filter"), filter) == 0)
            json_array_append_new(list, describe(&all.run[i]));
        free(filter);
    }
    return json_pack("{so}", "runs", list);
}

static json_t *log_batch(const json_t *body)
{
    run_t *run = run_of(body);
    if (!run || json_array_size(json_object_get(body, "metrics")) > 1000) return NULL;
    keep(run, run->params, json_object_get(body, "params"), "param");
    keep(run, run->metrics, json_object_get(body, "metrics"), "metric");
    keep_tags(run, json_object_get(body, "tags"));
    return json_object();
}

static json_t *set_tag(const json_t *body)
{
    run_t *run = run_of(body);
    if (!run) return NULL;
    json_object_set(run->tags, text(body, "key"), json_object_get(body, "value"));
    return json_object();
}

static json_t *update_run(const json_t *body)
{
    run_t *run = run_of(body);
    if (!run) return NULL;
    json_object_set(run->info, "status", json_object_get(body, "status"));
    json_t *end = json_object_get(body, "end_time");
    if (end) json_object_set(run->info, "end_time", end);
    return json_object();
}

static const struct {
    const char *path;
    json_t *(*answer)(const json_t *body);
} posts[] = {
    {"experiments/create", create_experiment},
    {"runs/create", create_run},
    {"runs/search", search_runs},
    {"runs/log-batch", log_batch},
    {"runs/set-tag", set_tag},
    {"runs/update", update_run},
};

/* --- what it has --- */

static void dump_run(const run_t *run, str_t *out)
{
    const char *key, *name = name_of(run);
    json_t *value;
    str_addf(out, "run %s %s %lld\n", name, text(run->info, "status"),
             (long long)json_integer_value(json_object_get(run->info, "end_time")));
    json_object_foreach(run->params, key, value)
        str_addf(out, "param %s %s %s\n", name, key, text(value, "value"));
    json_object_foreach(run->tags, key, value)
        str_addf(out, "tag %s %s %s\n", name, key, json_string_value(value));
    json_object_foreach(run->metrics, key, value)
        str_addf(out, "metric %s %s %.17g %lld\n", name, key,
                 json_number_value(json_object_get(value, "value")),
                 (long long)json_integer_value(json_object_get(value, "time")));
}

/* --- HTTP --- */

static enum MHD_Result answer(struct MHD_Connection *to, unsigned status, const char *body,
                              size_t n)
{
    struct MHD_Response *made = MHD_create_response_from_buffer(n, (void *)body,
                                                                MHD_RESPMEM_MUST_COPY);
    enum MHD_Result rc = MHD_queue_response(to, status, made);
    MHD_destroy_response(made);
    return rc;
}

static enum MHD_Result answer_json(struct MHD_Connection *to, json_t *json)
{
    char *body = json ? json_dumps(json, 0)
                      : mem_strdup("{\"error_code\": \"RESOURCE_DOES_NOT_EXIST\", "
                                   "\"message\": \"there is no such thing\"}");
    enum MHD_Result rc = answer(to, json ? 200 : 404, body, strlen(body));
    json_decref(json);
    free(body);
    return rc;
}

static bool is_allowed(struct MHD_Connection *to)
{
    const char *said = MHD_lookup_connection_value(to, MHD_HEADER_KIND, "Authorization");
    char *want = mem_printf("Bearer %s", all.token ? all.token : "");
    bool allowed = !all.token || (said && strcmp(said, want) == 0);
    free(want);
    return allowed;
}

static json_t *perform(struct MHD_Connection *to, const char *path, const str_t *body)
{
    static const char api[] = "/api/2.0/mlflow/";
    json_t *asked = json_loadb(str_text(body), body->n, 0, NULL), *made = NULL;
    const char *name = MHD_lookup_connection_value(to, MHD_GET_ARGUMENT_KIND, "experiment_name");
    if (strncmp(path, api, sizeof api - 1) != 0) return NULL;
    path += sizeof api - 1;
    if (strcmp(path, "experiments/get-by-name") == 0) made = get_experiment(name ? name : "");
    for (size_t i = 0; i < sizeof posts / sizeof *posts; i++)
        if (asked && strcmp(path, posts[i].path) == 0) made = posts[i].answer(asked);
    json_decref(asked);
    return made;
}

static enum MHD_Result dump(struct MHD_Connection *to)
{
    str_t out = {0};
    for (int i = 0; i < all.n_run; i++) dump_run(&all.run[i], &out);
    str_addf(&out, "%srequests %ld\n", str_text(&all.conflicts), all.requests);
    enum MHD_Result rc = answer(to, 200, str_text(&out), out.n);
    str_fini(&out);
    return rc;
}

static enum MHD_Result serve(struct MHD_Connection *to, const char *path, const str_t *body)
{
    char mode[16];
    mode_is(mode);
    if (strcmp(path, "/dump") == 0) return dump(to);
    all.requests++;
    if (!is_allowed(to)) return answer(to, 401, "who are you?", 12);
    if (strcmp(mode, "refuse") == 0) return answer(to, 503, "not now", 7);
    if (strcmp(mode, "deny") == 0) return answer(to, 400, "{\"message\": \"never\"}", 20);
    while (strcmp(mode, "slow") == 0) {
        pthread_mutex_unlock(&all.lock);
        usleep(POLL_US);
        mode_is(mode);
        pthread_mutex_lock(&all.lock);
    }
    json_t *made = perform(to, path, body);
    if (strcmp(mode, "cut") == 0 && ++all.cuts % 3 == 0) {
        json_decref(made);
        return MHD_NO;
    }
    return answer_json(to, made);
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *to, const char *path,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *n, void **state)
{
    (void)user, (void)method, (void)version;
    str_t *body = *state;
    if (!body) {
        *state = mem_calloc(1, sizeof *body);
        return MHD_YES;
    }
    if (*n > 0) {
        if (body->n + *n > BODY_BYTES) return MHD_NO;
        str_addn(body, bytes, *n);
        *n = 0;
        return MHD_YES;
    }
    pthread_mutex_lock(&all.lock);
    enum MHD_Result rc = serve(to, path, body);
    pthread_mutex_unlock(&all.lock);
    return rc;
}

static void on_end(void *user, struct MHD_Connection *to, void **state,
                   enum MHD_RequestTerminationCode code)
{
    (void)user, (void)to, (void)code;
    if (*state) str_fini(*state);
    free(*state);
    *state = NULL;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: tracker DIR [TOKEN]\n");
        return 2;
    }
    all.dir = argv[1];
    all.token = argc > 2 ? argv[2] : NULL;
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, on_request,
        NULL, MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL, MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_END);
    if (!daemon) return 1;
    printf("%u\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    for (;;) pause();
}
