/* The gateway's side of members without sockets: who may join, what may be offered, a tokenizer in pieces, and what a
 * member that lies costs: itself. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/members.h"

enum { MOST = 64 };

typedef struct {
    members_t *members;
    served_t served;
    msg_kind_t sent[MOST]; /* kinds, in order */
    Msg__Fault__Code fault;
    uint64_t offset; /* of the last OFFER_ASK */
    size_t n_sent, n_heard;
    bool gone; /* no peer has its connection any more */
    char *description, hash[HASH_HEX];
} rig_t;

static void record(void *user, const msg_peer_t *to, msg_envelope_t *message)
{
    (void)to;
    rig_t *self = user;
    assert_true(self->n_sent < MOST);
    self->sent[self->n_sent++] = message->body_case;
    if (message->body_case == MSG__ENVELOPE__BODY_FAULT) self->fault = message->fault->code;
    if (message->body_case == MSG__ENVELOPE__BODY_OFFER_ASK)
        self->offset = message->offer_ask->offset;
}

static bool reaches(void *user, const msg_peer_t *peer)
{
    (void)peer;
    return !((rig_t *)user)->gone;
}

static served_t *find(void *user, const char *name)
{
    rig_t *self = user;
    return strcmp(name, self->served.name) == 0 ? &self->served : NULL;
}

static void hear(void *user, host_t *host, text_t *text, const engine_item_t *item,
                 const char *weights)
{
    (void)host;
    ((rig_t *)user)->n_heard += route_hear(text, item, weights) == ROUTE_NEW;
}

static void changed(void *user)
{
    (void)user;
}

static void begin(rig_t *self)
{
    err_t err = {0};
    *self = (rig_t){0};
    log_init("test", LOG_OFF, LOG_LOGFMT);
    served_init_named(&self->served, "tiny");
    self->members = members_new(&(members_options_t){.out = {record, self},
                                                     .reaches = reaches,
                                                     .find = find,
                                                     .hear = hear,
                                                     .changed = changed,
                                                     .user = self});
    tokenizer_t *tokenizer = tokenizer_new("byte", NULL, 0, &err);
    self->description = tokenizer_print(tokenizer);
    hash_content(self->description, strlen(self->description), self->hash);
    tokenizer_destroy(&tokenizer);
}

static void end(rig_t *self)
{
    members_destroy(&self->members);
    served_fini(&self->served);
    free(self->description);
}

static const msg_peer_t anna = {.n = 1, .at = {1}}, berta = {.n = 1, .at = {2}};

static void say(rig_t *self, const msg_peer_t *from, msg_kind_t kind, void *body)
{
    static uint64_t id;
    size_t n;
    msg_count_t count = {0};
    const msg_table_t table = members_table();
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    envelope.version = MSG_VERSION;
    envelope.id = ++id;
    envelope.body_case = kind;
    envelope.hello = body; /* all of them are one union */
    uint8_t *bytes = msg_pack(&envelope, &n);
    self->n_sent = 0;
    self->fault = MSG__FAULT__CODE__NONE;
    msg_dispatch(&table, self->members, from, bytes, n, &count, NULL);
    free(bytes);
}

#define SAY(self, from, KIND, body) say((self), (from), MSG__ENVELOPE__BODY_##KIND, (body))

static void hello(rig_t *self, const msg_peer_t *from, const char *id, uint64_t incarnation)
{
    Msg__Hello m = MSG__HELLO__INIT;
    m.kind = MSG__KIND__KIND_INFERENCE;
    m.id = (char *)(uintptr_t)id;
    m.incarnation = incarnation;
    m.protocol = 2;
    m.protocol_oldest = 1;
    SAY(self, from, HELLO, &m);
}

static Msg__Offer offer_of(rig_t *self)
{
    Msg__Offer m = MSG__OFFER__INIT;
    m.name = (char *)(uintptr_t) "tiny";
    m.weights = (char *)(uintptr_t) "abc";
    m.slots = 2;
    m.length = 100;
    m.vocab = 256;
    m.width = 8;
    m.tokenizer = self->hash;
    m.tokenizer_bytes = strlen(self->description);
    m.chat = (char *)(uintptr_t) "";
    return m;
}

/* Hand over the tokenizer, in two pieces, and wait until it is read. */
static void hand_over_tokenizer(rig_t *self, const msg_peer_t *from)
{
    size_t n = strlen(self->description), half = n / 2;
    for (size_t at = 0; at < n; at = at ? n : half) {
        Msg__OfferPiece piece = MSG__OFFER_PIECE__INIT;
        assert_int_equal(self->offset, at);
        piece.offset = at;
        piece.data.data = (uint8_t *)self->description + at;
        piece.data.len = at ? n - half : half;
        SAY(self, from, OFFER_PIECE, &piece);
    }
    zpoller_t *poller = zpoller_new(members_socket(self->members), NULL);
    assert_non_null(zpoller_wait(poller, 60000));
    zpoller_destroy(&poller);
    members_read(self->members);
}

static void join(rig_t *self)
{
    hello(self, &anna, "anna", 7);
    assert_int_equal(self->sent[0], MSG__ENVELOPE__BODY_WELCOME);
    Msg__Offer offer = offer_of(self);
    SAY(self, &anna, OFFER, &offer);
    assert_int_equal(self->sent[0], MSG__ENVELOPE__BODY_OFFER_ASK);
    hand_over_tokenizer(self, &anna);
    assert_true(served_ready(&self->served));
}

static void joins(void **state)
{
    (void)state;
    rig_t self;
    begin(&self);
    Msg__Heartbeat beat = MSG__HEARTBEAT__INIT;
    SAY(&self, &anna, HEARTBEAT, &beat);
    assert_int_equal(self.fault, MSG__FAULT__CODE__UNKNOWN_PEER);
    Msg__Hello worker = MSG__HELLO__INIT;
    worker.kind = MSG__KIND__KIND_WORKER;
    worker.id = (char *)(uintptr_t) "anna";
    SAY(&self, &anna, HELLO, &worker);
    assert_int_equal(self.fault, MSG__FAULT__CODE__REFUSED);
    hello(&self, &anna, "an id with blanks", 7);
    assert_int_equal(self.fault, MSG__FAULT__CODE__REFUSED);
    join(&self);
    hello(&self, &anna, "anna", 7); /* said again: its offers stay */
    assert_int_equal(self.sent[0], MSG__ENVELOPE__BODY_WELCOME);
    assert_true(served_ready(&self.served));
    hello(&self, &berta, "anna", 8); /* another process */
    assert_int_equal(self.fault, MSG__FAULT__CODE__ID_IN_USE);
    hello(&self, &berta, "anna", 7); /* the same one, on another connection */
    assert_int_equal(self.sent[self.n_sent - 1], MSG__ENVELOPE__BODY_WELCOME);
    assert_int_equal(members_count(self.members), 1);
    assert_false(served_ready(&self.served));
    self.gone = true;
    members_tick(self.members, 1);
    assert_int_equal(members_count(self.members), 0);
    end(&self);
}

static void offers(void **state)
{
    (void)state;
    rig_t self;
    begin(&self);
    join(&self);
    hello(&self, &berta, "berta", 9);
    Msg__Offer wrong[7];
    for (int i = 0; i < 7; i++) wrong[i] = offer_of(&self);
    wrong[0].model = MEMBERS_MODELS;
    wrong[1].name = (char *)(uintptr_t) "a name";
    wrong[2].slots = 1u << 20;
    wrong[3].tokenizer_bytes = (uint64_t)1 << 40;
    wrong[4].width = 1u << 20;
    wrong[5].vocab = 255;                       /* not the model that is known by that name */
    wrong[6].name = (char *)(uintptr_t) "none"; /* for which there is no room */
    wrong[6].model = 1;
    for (int i = 0; i < 7; i++) {
        SAY(&self, &berta, OFFER, &wrong[i]);
        assert_int_equal(self.fault, MSG__FAULT__CODE__REFUSED);
    }
    assert_int_equal(route_hosts(&self.served.route), 1);
    Msg__Offer same = offer_of(&self);
    same.model = 2;
    SAY(&self, &berta, OFFER, &same); /* whose tokenizer is known */
    assert_int_equal(route_hosts(&self.served.route), 2);
    Msg__OfferPiece piece = MSG__OFFER_PIECE__INIT; /* nobody has asked */
    piece.model = 2;
    piece.data.data = (uint8_t *)self.description;
    piece.data.len = 5;
    SAY(&self, &berta, OFFER_PIECE, &piece);
    assert_int_equal(members_count(self.members), 2);
    end(&self);
}

static void other_tokenizer(void **state)
{
    (void)state;
    rig_t self;
    begin(&self);
    hello(&self, &anna, "anna", 7);
    Msg__Offer offer = offer_of(&self);
    SAY(&self, &anna, OFFER, &offer);
    self.description[2] ^= 1; /* not what the hash says */
    hand_over_tokenizer(&self, &anna);
    assert_false(served_ready(&self.served));
    assert_int_equal(self.fault, MSG__FAULT__CODE__REFUSED);
    end(&self);
}

static void news(void **state)
{
    (void)state;
    rig_t self;
    begin(&self);
    join(&self);
    static const uint32_t prompt[] = {1};
    request_t request = {.tokens = 5};
    text_t text = {.job = job_new(0, &request, prompt, 1, 7)};
    route_add(&self.served.route, &text);
    assert_int_equal(self.sent[self.n_sent - 1], MSG__ENVELOPE__BODY_WRITE_TEXT);
    Msg__TextItem item = MSG__TEXT_ITEM__INIT, *items[] = {&item};
    Msg__TextNews m = MSG__TEXT_NEWS__INIT;
    m.items = items;
    m.n_items = 1;
    item.text = text.number + 1; /* not its text */
    SAY(&self, &anna, TEXT_NEWS, &m);
    assert_int_equal(self.n_heard, 0);
    item.text = text.number;
    m.model = 5; /* nor its model */
    SAY(&self, &anna, TEXT_NEWS, &m);
    assert_int_equal(self.n_heard, 0);
    m.model = 0;
    SAY(&self, &berta, TEXT_NEWS, &m); /* who has not joined */
    assert_int_equal(self.fault, MSG__FAULT__CODE__UNKNOWN_PEER);
    assert_int_equal(self.n_heard, 0);
    SAY(&self, &anna, TEXT_NEWS, &m);
    assert_int_equal(self.n_heard, 1);
    item.number = 1;
    item.has_token = true;
    item.token = 256; /* outside of the vocabulary: it is a member no more, and the text waits */
    SAY(&self, &anna, TEXT_NEWS, &m);
    assert_int_equal(self.n_heard, 1);
    assert_int_equal(self.fault, MSG__FAULT__CODE__UNKNOWN_PEER);
    assert_int_equal(members_count(self.members), 0);
    assert_null(text.host);
    route_end(&text, true);
    end(&self);
}

/* What is said of a text that was given: more than was asked for, or an embedding without its vector. */
static void lies(void **state)
{
    (void)state;
    static const struct {
        bool embeds;
        uint32_t number, end;
        size_t n_hidden, n_piece;
        bool fits;
    } row[] = {{true, 0, WRITER_STOP, 8, 0, true},        {true, 0, WRITER_STOP, 0, 0, false},
               {true, 0, WRITER_GOES_ON, 8, 0, false},    {false, 0, WRITER_GOES_ON, 0, 9, true},
               {false, 100, WRITER_GOES_ON, 0, 9, false}, {false, 0, WRITER_STOP, 0, 80000, false}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        rig_t self;
        begin(&self);
        join(&self);
        static const uint32_t prompt[] = {1};
        float hidden[8] = {0.5f};
        request_t request = {.tokens = 5, .embeds = row[i].embeds};
        text_t text = {.job = job_new(0, &request, prompt, 1, 7)};
        route_add(&self.served.route, &text);
        Msg__TextItem item = MSG__TEXT_ITEM__INIT, *items[] = {&item};
        Msg__TextNews m = MSG__TEXT_NEWS__INIT;
        m.items = items;
        m.n_items = 1;
        item.text = text.number;
        item.number = row[i].number;
        item.end = row[i].end;
        item.hidden = hidden;
        item.n_hidden = row[i].n_hidden;
        item.piece.len = row[i].n_piece;
        item.piece.data = mem_calloc(row[i].n_piece + 1, 1);
        memset(item.piece.data, 'a', row[i].n_piece);
        SAY(&self, &anna, TEXT_NEWS, &m);
        assert_int_equal(self.n_heard, row[i].fits);
        assert_int_equal(members_count(self.members), row[i].fits);
        free(item.piece.data);
        route_end(&text, true);
        end(&self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins), cmocka_unit_test(offers), cmocka_unit_test(other_tokenizer),
        cmocka_unit_test(news),  cmocka_unit_test(lies),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
