/* A worker's parameters that come before their round is committed, against an aggregator behind a ROUTER: right ones come
 * once, wrong ones are found out, and whoever waits for them is let go. */
#include "aggregator_world.h"

#include "base/clock.h"
#include "base/log.h"
#include "outer/change.h"

static ahead_which_t which_of(char **endpoint, world_t *self, uint32_t round)
{
    *endpoint = self->endpoint;
    return (ahead_which_t){.endpoints = endpoint,
                           .n_endpoint = 1,
                           .bounds = BOUNDS,
                           .run = RUN,
                           .round = round,
                           .down_codec = way_down ? codec_find(way_down, NULL)->id : 0,
                           .down_exact_from = exact_from};
}

static void start(world_t *self, uint32_t round)
{
    char *endpoint;
    ahead_which_t which = which_of(&endpoint, self, round);
    ahead_begin(self->ahead, &which);
}

static data_ahead_t *take(world_t *self, uint32_t round)
{
    char *endpoint;
    ahead_which_t which = which_of(&endpoint, self, round);
    return ahead_take(self->ahead, &which, NULL, NULL);
}

static size_t bytes_of(size_t n)
{
    const change_t change = {way_down ? codec_find(way_down, NULL) : NULL, 0};
    return way_down ? change_bytes(&change, 0, n) : n * sizeof(float);
}

static size_t all_bytes(void)
{
    return bytes_of(MSG_CHUNK_FLOATS) + bytes_of(N - MSG_CHUNK_FLOATS);
}

static void put_chunk(world_t *self, int chunk)
{
    begin(self);
    for (uint32_t k = 0; k < K; k++)
        assert_int_equal(put_delta(self->rig, 0, k, 1, weights[k], chunk, "bf16"), WIRE_ACK);
    end(self);
}

/* Until so many bytes have gone early. */
static void until_early(world_t *self, uint64_t want)
{
    for (int64_t until = clock_mono_ms() + 20000;;) {
        pthread_mutex_lock(&self->lock);
        uint64_t early = self->early;
        pthread_mutex_unlock(&self->lock);
        if (early >= want) return;
        if (clock_mono_ms() > until) fail_msg("%llu bytes early", (unsigned long long)early);
        usleep(5000);
    }
}

/* Round 1 begins: it has the parameters that the shard has, and so many bytes of them were at hand. */
static void begins_round(world_t *self, data_ahead_t *ahead, uint64_t want)
{
    err_t err = {0};
    uint64_t used = 0, sent, before, after;
    assert_non_null(ahead);
    data_client_traffic(self->client, &sent, &before);
    if (data_end_ahead(self->client, ahead, self->theta, &used, &err) < 0) fail_msg("%s", err.text);
    data_client_traffic(self->client, &sent, &after);
    assert_int_equal(used, want);
    assert_int_equal(after - before, all_bytes() - used + CHUNKS * sizeof(uint64_t));
    begin(self);
    float *theta = get_params(self->rig, 1);
    end(self);
    assert_memory_equal(theta, self->theta, N * sizeof *theta);
    free(theta);
}

static const uint32_t two[K] = {1, 1, 0};

static void commit_of(world_t *self, const uint32_t *fences)
{
    begin(self);
    commit(self->rig, 0, fences, weights);
    assert_string_equal(self->rig->error, "");
    end(self);
}

/* A right guess is not fetched again; a wrong one, which the commit has left a replica out of, is. */
static void a_guess_is_used_if_it_is_right(void **unused)
{
    (void)unused;
    static const char *const codecs[] = {NULL, "int8"};
    for (size_t c = 0; c < 2; c++)
        for (int right = 0; right < 2; right++) {
            way_down = codecs[c];
            world_t *world = world_new();
            start(world, 1);
            put_chunk(world, 0);
            put_chunk(world, 1);
            until_early(world, all_bytes());
            commit_of(world, right ? all : two);
            data_ahead_t *ahead = take(world, 1);
            begins_round(world, ahead, right ? all_bytes() : 0);
            assert_int_equal(world->early, all_bytes()); /* once */
            world_free(world);
        }
    way_down = NULL;
}

/* A lease comes in between that is of the same round: what has come waits for the next. Returns whether nothing was asked for
 * twice, as it is but for what was on its way when the lease came. */
static bool goes_on(void)
{
    world_t *world = world_new();
    start(world, 1);
    put_chunk(world, 0);
    until_early(world, bytes_of(MSG_CHUNK_FLOATS));
    usleep(50000); /* it arrives */
    assert_null(take(world, 0));
    start(world, 1);
    usleep(50000);
    put_chunk(world, 1);
    until_early(world, all_bytes());
    commit_of(world, all);
    begins_round(world, take(world, 1), all_bytes());
    bool once = world->early == all_bytes();
    world_free(world);
    return once;
}

static void it_goes_on_where_it_was(void **unused)
{
    (void)unused;
    way_down = "int8";
    int tries = 0;
    while (!goes_on())
        if (++tries == 20) fail_msg("what had come was fetched again");
    way_down = NULL;
}

/* The round was committed before anything had come. */
static world_t *world_committed(void)
{
    world_t *world = world_new();
    put_chunk(world, 0);
    put_chunk(world, 1);
    commit_of(world, all);
    start(world, 1);
    return world;
}

/* The same thread brings it then. */
static void who_is_late_gets_it_too(void **unused)
{
    (void)unused;
    world_t *world = world_committed();
    begins_round(world, take(world, 1), all_bytes());
    ahead_forget(world->ahead);
    assert_null(take(world, 1));
    world_free(world);
}

static bool at_once(void *user)
{
    (void)user;
    return true;
}

/* What a round came into, the next one comes into, and nothing of it is taken for the next one's. */
static void memory_serves_again(void **unused)
{
    (void)unused;
    world_t *world = world_committed();
    data_ahead_t *ahead = take(world, 1);
    begins_round(world, ahead, all_bytes());
    const uint8_t *at = ahead->bytes;
    size_t n = ahead->n_room;
    assert_true(n >= all_bytes());
    ahead_used(world->ahead);
    start(world, 2);
    char *endpoint;
    ahead_which_t which = which_of(&endpoint, world, 2);
    ahead = ahead_take(world->ahead, &which, at_once, NULL);
    assert_ptr_equal(ahead->bytes, at);
    assert_int_equal(ahead->n_room, n);
    for (size_t i = 0; i < CHUNKS; i++) assert_int_equal(ahead->came[i], 0);
    ahead_forget(world->ahead);
    world_free(world);
}

/* Nothing ever comes of a round that does not end. */
static void waiting_ends_when_it_shall(void **unused)
{
    (void)unused;
    world_t *world = world_new();
    start(world, 1);
    usleep(100000);
    int64_t begun = clock_mono_ms();
    char *endpoint;
    ahead_which_t which = which_of(&endpoint, world, 1);
    assert_non_null(ahead_take(world->ahead, &which, at_once, NULL));
    start(world, 1);
    ahead_destroy(&world->ahead);
    assert_true(clock_mono_ms() - begun < 3000);
    world_free(world);
}

int main(void)
{
    log_init("aggregator_ahead_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guess_is_used_if_it_is_right), cmocka_unit_test(it_goes_on_where_it_was),
        cmocka_unit_test(who_is_late_gets_it_too),        cmocka_unit_test(memory_serves_again),
        cmocka_unit_test(waiting_ends_when_it_shall),
    };
    int failed = cmocka_run_group_tests_name("aggregator_ahead", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
