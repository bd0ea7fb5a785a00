/* A worker's parameters on a link that takes longer for them than rounds last: what has come is kept whatever becomes of the
 * lease, and who is behind takes changes. */
#include "aggregator_world.h"

#include "base/clock.h"
#include "base/log.h"
#include "outer/change.h"
#include "worker/params.h"

/* From round to round + 1. */
static void one_round(world_t *self, uint32_t round)
{
    begin(self);
    put_deltas(self->rig, round);
    commit(self->rig, round, all, weights);
    assert_string_equal(self->rig->error, "");
    end(self);
}

static void rounds(world_t *self, uint32_t from, uint32_t to)
{
    for (uint32_t round = from; round < to; round++) one_round(self, round);
}

typedef struct {
    world_t *world;
    data_client_t *client;
    params_t params;
    float *out;
    uint64_t received; /* before the present fetch */
} worker_t;

/* A lease that ends when nothing comes any more, and what was let through has come. */
static bool nothing_comes(void *user)
{
    worker_t *self = user;
    uint64_t sent, received;
    pthread_mutex_lock(&self->world->lock);
    bool none = self->world->most == 0;
    pthread_mutex_unlock(&self->world->lock);
    data_client_traffic(self->client, &sent, &received);
    return none && received > self->received;
}

static void let_through(worker_t *self, int most)
{
    uint64_t sent;
    data_client_traffic(self->client, &sent, &self->received);
    pthread_mutex_lock(&self->world->lock);
    self->world->most = most;
    self->world->changes = 0;
    pthread_mutex_unlock(&self->world->lock);
}

static void worker_init(worker_t *self)
{
    *self = (worker_t){.world = world_new(), .out = calloc(N, sizeof(float))};
    char *endpoint = self->world->endpoint;
    data_options_t options = {.endpoints = &endpoint,
                              .n_endpoint = 1,
                              .run = RUN,
                              .stopped = nothing_comes,
                              .user = self};
    self->client = data_client_new(&options, NULL);
    assert_non_null(self->client);
}

static void worker_free(worker_t *self)
{
    params_forget(&self->params);
    data_client_destroy(&self->client);
    world_free(self->world);
    free(self->out);
}

static int fetch(worker_t *self, uint32_t round, data_ahead_t *ahead)
{
    err_t err = {0};
    const params_which_t which = {.bounds = BOUNDS,
                                  .n_shard = 1,
                                  .n = N,
                                  .round = round,
                                  .down_codec = codec_find(way_down, NULL)->id,
                                  .down_exact_from = exact_from,
                                  .ahead = ahead,
                                  .stopped = nothing_comes,
                                  .user = self};
    int rc = params_fetch(&self->params, self->client, &which, self->out, &err);
    if (rc < 0 && err.code != ERR_STATE) fail_msg("%s", err.text);
    return rc;
}

/* Fetches that round: it has come whole and right, in so many bytes and so many changes of chunks. */
static void comes(worker_t *self, uint32_t round, data_ahead_t *ahead, uint64_t bytes,
                  uint64_t changes)
{
    uint64_t sent, after;
    let_through(self, -1);
    assert_int_equal(fetch(self, round, ahead), 0);
    data_client_traffic(self->client, &sent, &after);
    assert_int_equal(after - self->received, bytes);
    pthread_mutex_lock(&self->world->lock);
    assert_true(self->world->changes >= changes); /* a machine without time may ask again */
    pthread_mutex_unlock(&self->world->lock);
    assert_int_equal(params_round(&self->params), round);
    begin(self->world);
    float *want = get_params(self->world->rig, round);
    end(self->world);
    assert_memory_equal(self->out, want, N * sizeof *want);
    free(want);
}

static uint64_t change_of(uint64_t n)
{
    const change_t change = {codec_find(way_down, NULL), exact_from};
    return change_bytes(&change, n == N - MSG_CHUNK_FLOATS ? MSG_CHUNK_FLOATS : 0, (size_t)n);
}

enum { LAST = N - MSG_CHUNK_FLOATS, WHOLE = N * sizeof(float) };

/* Of two chunks one comes before its lease is over; the next lease, of a later round, has the other one whole, and of this
 * one the changes. */
static void lose_a_lease(uint64_t states)
{
    way_down = "int8";
    exact_from = states;
    worker_t self;
    worker_init(&self);
    let_through(&self, 1);
    assert_int_equal(fetch(&self, 0, NULL), -1);
    assert_int_equal(params_round(&self.params), PARAMS_NONE);
    rounds(self.world, 0, 2);
    comes(&self, 2, NULL, LAST * sizeof(float) + 2 * change_of(MSG_CHUNK_FLOATS), 2);
    /* Changes likewise: one of two chunks, two rounds on. */
    rounds(self.world, 2, 3);
    let_through(&self, 1);
    assert_int_equal(fetch(&self, 3, NULL), -1);
    rounds(self.world, 3, 4);
    comes(&self, 4, NULL, 2 * change_of(LAST) + change_of(MSG_CHUNK_FLOATS), 3);
    worker_free(&self);
    way_down = NULL;
    exact_from = 0;
}

static void what_came_of_a_lost_lease_is_kept(void **unused)
{
    (void)unused;
    lose_a_lease(0);
    lose_a_lease(N - 3000);
}

static void who_is_behind_takes_what_is_less(void **unused)
{
    (void)unused;
    way_down = "int8";
    worker_t self;
    worker_init(&self);
    uint64_t round_bytes = change_of(MSG_CHUNK_FLOATS) + change_of(LAST);
    comes(&self, 0, NULL, WHOLE, 0);
    rounds(self.world, 0, 4);
    comes(&self, 4, NULL, 4 * round_bytes, 8);
    rounds(self.world, 4, 9);
    comes(&self, 9, NULL, WHOLE, 0);
    comes(&self, 8, NULL, WHOLE, 0); /* back, as a late lease of another worker's would */
    worker_free(&self);
    way_down = NULL;
}

static data_ahead_t *came_ahead(worker_t *self, uint32_t round)
{
    char *endpoint = self->world->endpoint;
    ahead_which_t which = {&endpoint, 1, BOUNDS, RUN, round, codec_find(way_down, NULL)->id,
                           exact_from};
    bool busy = true;
    ahead_begin(self->world->ahead, &which);
    which.round += 3; /* whoever asks for a later round is led there */
    for (int64_t until = clock_mono_ms() + 20000; busy && clock_mono_ms() < until; usleep(2000))
        if (ahead_look(self->world->ahead, &which, &busy))
            return ahead_take(self->world->ahead, &which, NULL, NULL);
    fail_msg("nothing came ahead");
    return NULL;
}

/* The change of a round that others have gone on from comes ahead, though it is not the newest, and is a step of the way. */
static void step_ahead(uint64_t states)
{
    enum { CHECKS = 2 * sizeof(uint64_t) };
    way_down = "e3m0";
    exact_from = states;
    worker_t self;
    worker_init(&self);
    uint64_t round_bytes = change_of(MSG_CHUNK_FLOATS) + change_of(LAST);
    err_t err = {0};
    comes(&self, 0, NULL, WHOLE, 0);
    rounds(self.world, 0, 5);
    data_ahead_t *ahead = came_ahead(&self, 1);
    assert_true(data_ahead_whole(ahead) && params_follow(&self.params, ahead));
    assert_int_equal(params_advance(&self.params, self.client, ahead, &err), 0);
    assert_false(params_follow(&self.params, ahead));
    assert_int_equal(params_round(&self.params), 1);
    ahead = came_ahead(&self, 2);
    comes(&self, 5, ahead, CHECKS + 3 * round_bytes, 6);
    /* On the line: a machine without time seems to be far away, and gets less. */
    assert_true(self.params.used > round_bytes && self.params.used <= 2 * round_bytes);
    worker_free(&self);
    way_down = NULL;
    exact_from = 0;
}

static void a_change_ahead_is_a_step(void **unused)
{
    (void)unused;
    step_ahead(0);
    step_ahead(N - 3000);
}

int main(void)
{
    log_init("aggregator_params_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_of_a_lost_lease_is_kept),
        cmocka_unit_test(who_is_behind_takes_what_is_less),
        cmocka_unit_test(a_change_ahead_is_a_step),
    };
    int failed = cmocka_run_group_tests_name("aggregator_params", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
