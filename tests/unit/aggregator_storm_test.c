/* A storm on the data socket's handler: frames of an honest exchange, and what cuts, flipped bits, wrong places, wrong
 * payloads and another order make of them, between the control messages of a run. Each frame that has a header gets one answer
 * at most, and a run that is assigned afterwards ends with the bits that it has in peace. PCP_STORM=N: so many steps. */
#include "aggregator_rig.h"

#include "base/log.h"

enum { STEPS = 4000, KEPT = 64 };

static uint64_t storm_seed, storm_at;

static uint64_t draw(uint64_t n)
{
    return rng_bits(storm_seed, storm_at++) % n;
}

typedef struct {
    uint8_t head[WIRE_HEADER_BYTES + 8];
    size_t n_head;
    uint8_t *payload;
    size_t n;
} frame_t;

typedef struct {
    rig_t *rig;
    frame_t kept[KEPT]; /* to be sent again, later */
    uint64_t handled[WIRE_TYPE_COUNT], answers[WIRE_TYPE_COUNT];
    uint64_t commits;
} storm_t;

static uint64_t edge(void)
{
    static const uint64_t at[] = {0,
                                  1,
                                  2,
                                  MSG_CHUNK_FLOATS - 1,
                                  MSG_CHUNK_FLOATS,
                                  N - 1,
                                  N,
                                  N + 1,
                                  MSG_CHUNK_BYTES,
                                  UINT32_MAX,
                                  (uint64_t)UINT32_MAX + 1,
                                  INT64_MAX,
                                  UINT64_MAX - 1,
                                  UINT64_MAX};
    return at[draw(sizeof at / sizeof *at)];
}

/* Mostly `usual`. */
static uint64_t mostly(uint64_t usual)
{
    return draw(12) ? usual : draw(3) ? draw(5) : edge();
}

static void fill(uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)draw(256);
}

static void put_payload(frame_t *frame, const void *bytes, size_t n)
{
    frame->payload = malloc(n + 1);
    if (n) memcpy(frame->payload, bytes, n);
    frame->n = n;
}

/* Values of that chunk as some codec has them. */
static void put_encoded(frame_t *frame, wire_header_t *header)
{
    static const char *const names[] = {"f32", "bf16", "int8", "topk"};
    const codec_t *codec = codec_find(names[draw(4)], NULL);
    if (!codec || header->count > MSG_CHUNK_FLOATS || !header->count) return;
    float *values = calloc(header->count, sizeof *values);
    for (uint64_t i = 0; i < header->count; i++) values[i] = value(storm_at, i);
    const codec_chunk_t as = codec_chunk(codec, header->begin, header->count, 0);
    size_t most = codec_chunk_most(&as), n = 0;
    frame->payload = malloc(most + 1);
    if (codec_chunk_encode(&as, values, frame->payload, most, &n, NULL) < 0) n = 0;
    frame->n = n;
    header->codec = (uint8_t)codec->id;
    free(values);
}

static void put_object(frame_t *frame, wire_header_t *header)
{
    static uint8_t bytes[2 * MSG_CHUNK_BYTES];
    uint64_t which = draw(6);
    size_t whole = which * (MSG_CHUNK_BYTES / 3) + 5;
    char hash[HASH_HEX];
    memset(bytes, (int)which, whole);
    hash_content(bytes, whole, hash);
    wire_hash_parse(hash, header->object, NULL);
    if (!draw(8)) fill(header->object, WIRE_HASH_BYTES);
    header->begin = whole > MSG_CHUNK_BYTES ? draw(2) * MSG_CHUNK_BYTES : 0;
    header->count = whole - header->begin < MSG_CHUNK_BYTES ? whole - header->begin
                                                            : MSG_CHUNK_BYTES;
    header->total = mostly(whole);
    if (header->type == WIRE_PUT_OBJECT) put_payload(frame, bytes + header->begin, header->count);
}

static frame_t frame_of(const storm_t *self)
{
    const state_meta_t *meta = &self->rig->state.meta;
    frame_t frame = {.n_head = WIRE_HEADER_BYTES};
    wire_header_t header = chunk_header((wire_type_t)(1 + draw(WIRE_TYPE_COUNT - 1)), (int)draw(2));
    if (!draw(3)) header.type = WIRE_PUT_DELTA;
    header.run = mostly(meta->run);
    header.round = (uint32_t)mostly(meta->round);
    if (!draw(4)) header.round -= (uint32_t)draw(3);
    header.replica = (uint32_t)mostly(draw(K));
    header.fence = (uint32_t)mostly(1);
    header.weight = mostly(10);
    header.total = mostly(K);
    header.fragment = (uint16_t)mostly(0);
    header.vector = (uint16_t)mostly(draw(3) ? 0 : WIRE_LATE);
    header.seq = (uint32_t)storm_at;
    header.flags = draw(3) ? WIRE_KNOWS : (uint8_t)(draw(16) << 4);
    bool object = header.type == WIRE_PUT_OBJECT || header.type == WIRE_GET_OBJECT;
    if (object)
        put_object(&frame, &header);
    else if (header.type == WIRE_PUT_DELTA)
        put_encoded(&frame, &header);
    else if (header.type == WIRE_PUT_INIT || header.type == WIRE_PUT_OUTER)
        header.codec = 0;
    if (!object && !draw(6)) header.begin = edge();
    if (!object && !draw(6)) header.count = edge();
    if (header.type == WIRE_PUT_INIT || header.type == WIRE_PUT_OUTER) {
        float *values = calloc(MSG_CHUNK_FLOATS, sizeof *values);
        uint64_t n = header.count < MSG_CHUNK_FLOATS ? header.count : MSG_CHUNK_FLOATS;
        put_payload(&frame, values, n * sizeof *values);
        free(values);
    }
    if (!draw(10)) { /* others */
        free(frame.payload);
        uint8_t noise[300];
        size_t n = draw(sizeof noise);
        fill(noise, n);
        put_payload(&frame, noise, n);
    }
    if (frame.n && !draw(12)) frame.n = draw(frame.n);
    header.check = draw(20) ? hash_fast(frame.payload, frame.n) : draw(UINT32_MAX);
    wire_pack(&header, frame.head);
    if (!draw(8)) frame.head[draw(WIRE_HEADER_BYTES)] ^= (uint8_t)(1u << draw(8));
    if (!draw(40)) frame.n_head = draw(WIRE_HEADER_BYTES + 8);
    return frame;
}

static void send_frame(storm_t *self, const frame_t *frame)
{
    rig_t *rig = self->rig;
    int before = rig->n_answer;
    /* Of their own sizes, so that a byte beyond is seen. */
    uint8_t *head = malloc(frame->n_head + !frame->n_head), *payload = malloc(frame->n + !frame->n);
    memcpy(head, frame->head, frame->n_head);
    if (frame->n) memcpy(payload, frame->payload, frame->n);
    msg_peer_t from = {.n = 5};
    from.at[0] = (uint8_t)draw(4);
    rig->state.now_ms += (int64_t)draw(50);
    aggregator_on_data(&rig->state, &from, head, frame->n_head, payload, frame->n);
    assert_in_range(rig->n_answer - before, 0, 1);
    if (rig->n_answer > before && frame->n_head == WIRE_HEADER_BYTES &&
        frame->head[5] < WIRE_TYPE_COUNT) {
        self->handled[frame->head[5]]++;
        self->answers[rig->answer.type]++;
    }
    free(head);
    free(payload);
}

static void say(storm_t *self)
{
    rig_t *rig = self->rig;
    uint32_t round = rig->state.meta.round;
    uint64_t held[K];
    uint32_t fences[K];
    for (int k = 0; k < K; k++) {
        held[k] = mostly(10);
        fences[k] = draw(6) ? 1 : (uint32_t)draw(4);
    }
    switch (draw(12)) {
    case 0:
        rig->attempt = draw(4);
        rig->fragments = 1 + (uint32_t)draw(2);
        way_down = draw(2) ? "bf16" : NULL;
        assign_as(rig, 0, N, (uint32_t)draw(3), !draw(4));
        break;
    case 1: fence(rig, round, (uint32_t)mostly(draw(K)), (uint32_t)mostly(1)); break;
    case 2: announce(rig, round, (uint32_t)mostly(draw(K)), (uint32_t)mostly(1), "w"); break;
    case 3:
        if (rig->state.assigned) inspect(rig, (uint32_t)mostly(draw(K)), 1, 10);
        break;
    default:
        rig->lag = (uint32_t)draw(3);
        commit_begin(rig, (uint32_t)mostly(round), fences, held, !draw(3));
        self->commits++;
    }
}

/* A run from ASSIGN to its second round, whoever was here before. */
static float *honest(rig_t *rig)
{
    static uint64_t attempt = 1000;
    rig->attempt = ++attempt;
    rig->fragments = 1;
    rig->lag = 0;
    way_down = NULL;
    assign_as(rig, 0, N, 0, false);
    assert_string_equal(rig->error ? rig->error : "", "");
    put_init(rig);
    put_deltas(rig, 0);
    commit(rig, 0, all, weights);
    return get_params(rig, 1);
}

static void storm(storm_t *self, int steps)
{
    for (int i = 0; i < steps; i++) {
        frame_t *old = &self->kept[draw(KEPT)];
        if (old->n_head && !draw(3)) send_frame(self, old);
        frame_t frame = frame_of(self);
        send_frame(self, &frame);
        free(old->payload);
        *old = frame;
        if (!draw(20)) say(self);
        if (!draw(300)) { /* a round that is whole */
            float *params = honest(self->rig);
            free(params);
        }
        for (uint64_t n = draw(4); n && aggregator_work(&self->rig->state); n--) continue;
        if (!draw(500)) uploads_tick(&self->rig->state);
        if (!draw(400)) { /* another process on its directory */
            char *root = mem_strdup(self->rig->root);
            rig_close(self->rig);
            self->rig = rig_open(root, true);
            free(root);
        }
    }
}

static void the_next_run_has_its_bits(void **state)
{
    (void)state;
    const char *more = getenv("PCP_STORM"), *from = getenv("PCP_STORM_SEED");
    storm_seed = from ? (uint64_t)atoll(from) : 7;
    char *calm_root = new_root(), *root = new_root();
    rig_t *calm = rig_open(calm_root, true);
    float *want = honest(calm);
    assert_non_null(want);
    storm_t self = {.rig = rig_open(root, true)};
    storm(&self, more ? atoi(more) : STEPS);
    for (int t = 1; t < WIRE_TYPE_COUNT; t++)
        print_message("%-12s %llu handled, %llu answered so\n", wire_type_name((wire_type_t)t),
                      (unsigned long long)self.handled[t], (unsigned long long)self.answers[t]);
    while (aggregator_work(&self.rig->state)) continue;
    float *found = honest(self.rig);
    assert_non_null(found);
    assert_memory_equal(found, want, N * sizeof *found);
    for (int i = 0; i < KEPT; i++) free(self.kept[i].payload);
    free(found);
    free(want);
    rig_close(self.rig);
    rig_close(calm);
    remove_root(root);
    remove_root(calm_root);
}

/* Garbage, and requests that a key does not allow, write no line each: the first thousand, then each thousandth. */
static void garbage_fills_no_log(void **state)
{
    (void)state;
    enum { SENT = 4000 };
    rig_t *rig = rig_new();
    FILE *out = tmpfile();
    int kept = dup(STDERR_FILENO), lines = 0;
    const keys_card_t card = {.role = KEYS_VIEWER};
    msg_peer_t from = {.n = 5, .card = &card};
    uint8_t garbage[WIRE_HEADER_BYTES] = {0}, head[WIRE_HEADER_BYTES];
    const wire_header_t header = {.type = WIRE_PUT_INIT};
    wire_pack(&header, head);
    log_init("aggregator", LOG_WARN, LOG_LOGFMT);
    dup2(fileno(out), STDERR_FILENO);
    for (int i = 0; i < SENT; i++) {
        aggregator_on_data(&rig->state, &from, garbage, sizeof garbage, NULL, 0);
        aggregator_on_data(&rig->state, &from, head, sizeof head, NULL, 0);
    }
    dup2(kept, STDERR_FILENO);
    close(kept);
    log_init("aggregator", LOG_OFF, LOG_LOGFMT);
    rewind(out);
    for (int c; (c = fgetc(out)) != EOF;) lines += c == '\n';
    fclose(out);
    assert_in_range(lines, 3000, 3012); /* dropped, refused, and the NACK */
    assert_int_equal(rig->state.data_dropped, SENT);
    assert_int_equal(rig->state.data_refused, SENT);
    rig_free(rig);
}

int main(void)
{
    log_init("aggregator_storm_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_next_run_has_its_bits),
                                       cmocka_unit_test(garbage_fills_no_log)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
