/* Objects that arrive: uploads that nobody ends, directories that several processes share, disks
 * that take nothing for a while. */
#include "aggregator_rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/log.h"

enum { SIZE = 2 * MSG_CHUNK_BYTES + 100, CHUNKS = 3 };

static msg_peer_t peer_number(uint32_t number)
{
    msg_peer_t from = {.n = sizeof number + 1};
    memcpy(from.at + 1, &number, sizeof number);
    return from;
}

/* One request of that peer's; the type of the answer. */
static wire_type_t say(rig_t *rig, const msg_peer_t *from, wire_header_t header,
                       const void *payload, size_t n)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    header.check = hash_fast(payload, n);
    wire_pack(&header, bytes);
    aggregator_on_data(&rig->state, from, bytes, sizeof bytes, payload, n);
    return rig->answer.type;
}

static uint8_t *make_bytes(uint64_t seed, char hash[HASH_HEX])
{
    uint8_t *bytes = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (uint8_t)rng_bits(seed, i / 64);
    hash_content(bytes, SIZE, hash);
    return bytes;
}

static wire_header_t request(wire_type_t type, const char *hash, int chunk)
{
    uint64_t begin = (uint64_t)chunk * MSG_CHUNK_BYTES, left = SIZE - begin;
    wire_header_t header = {.type = type, .begin = begin, .total = SIZE};
    header.count = left < MSG_CHUNK_BYTES ? left : MSG_CHUNK_BYTES;
    wire_hash_parse(hash, header.object, NULL);
    return header;
}

static wire_type_t put(rig_t *rig, const msg_peer_t *from, const char *hash, int chunk,
                       const uint8_t *bytes)
{
    wire_header_t header = request(WIRE_PUT_OBJECT, hash, chunk);
    return say(rig, from, header, bytes + header.begin, header.count);
}

static bool put_all(rig_t *rig, const msg_peer_t *from, const char *hash, const uint8_t *bytes)
{
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        if (put(rig, from, hash, chunk, bytes) != WIRE_ACK) return false;
    return rig->answer.code == ACK_COMPLETE;
}

static bool serves(rig_t *rig, const char *hash, const uint8_t *bytes)
{
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        wire_header_t header = request(WIRE_GET_OBJECT, hash, chunk);
        if (say(rig, &peer, header, NULL, 0) != WIRE_DATA) return false;
        assert_int_equal(rig->n_payload, header.count);
        assert_memory_equal(rig->payload, bytes + header.begin, header.count);
    }
    return true;
}

/* Files of uploads in the directory. */
static int count_uploads(const rig_t *rig)
{
    int n = 0;
    DIR *dir = opendir(rig->root);
    for (const struct dirent *entry; (entry = readdir(dir));)
        n += strncmp(entry->d_name, "upload.", 7) == 0;
    closedir(dir);
    return n;
}

/* Begin an upload that is never ended. */
static wire_type_t begin(rig_t *rig, const msg_peer_t *from, uint32_t number)
{
    uint8_t chunk[8] = {1};
    wire_header_t header = {.type = WIRE_PUT_OBJECT,
                            .begin = (uint64_t)MSG_CHUNK_BYTES * 9,
                            .count = sizeof chunk,
                            .total = (uint64_t)MSG_CHUNK_BYTES * 9 + sizeof chunk};
    memcpy(header.object, &number, sizeof number);
    return say(rig, from, header, chunk, sizeof chunk);
}

static void uploads_that_nobody_ends_keep_nobody_out(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    char hash[HASH_HEX];
    uint8_t *bytes = make_bytes(1, hash);
    msg_peer_t one = peer_number(1), other = peer_number(2);
    for (uint32_t i = 0; i < 300; i++) assert_int_equal(begin(rig, &one, i), WIRE_ACK);
    assert_true(put_all(rig, &other, hash, bytes));
    assert_true(count_uploads(rig) <= MSG_PEER_UPLOADS);
    free(bytes);
    rig_free(rig);
}

static void too_many_peers_wait_for_room(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    char hash[HASH_HEX];
    uint8_t *bytes = make_bytes(1, hash);
    rig->state.now_ms = 1000;
    for (uint32_t i = 0; i < MSG_UPLOADS; i++) {
        msg_peer_t from = peer_number(10 + i);
        assert_int_equal(begin(rig, &from, i), WIRE_ACK);
    }
    assert_int_equal(put(rig, &peer, hash, 0, bytes), WIRE_NACK);
    assert_int_equal(rig->answer.code, NACK_CANNOT_WRITE); /* put off, not refused */
    rig->state.now_ms += MSG_UPLOAD_ROOM_MS;
    assert_true(put_all(rig, &peer, hash, bytes));
    uploads_tick(&rig->state);
    assert_int_equal(rig->state.uploads.n, MSG_UPLOADS - 1);
    rig->state.now_ms += MSG_UPLOAD_IDLE_MS;
    uploads_tick(&rig->state);
    assert_int_equal(rig->state.uploads.n, 0);
    assert_int_equal(count_uploads(rig), 0);
    free(bytes);
    rig_free(rig);
}

/* Two processes of containers, with one process number, that share a directory. */
static void two_processes_share_a_directory(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new(), *second = rig_open(rig->root, false);
    char hash[HASH_HEX], wrong_hash[HASH_HEX];
    uint8_t *bytes = make_bytes(1, hash), *wrong = make_bytes(2, wrong_hash);
    assert_int_equal(put(rig, &peer, hash, 0, bytes), WIRE_ACK);
    assert_int_equal(put(second, &peer, hash, 0, wrong), WIRE_ACK);
    assert_int_equal(put(second, &peer, hash, 1, wrong), WIRE_ACK);
    assert_int_equal(put(rig, &peer, hash, 1, bytes), WIRE_ACK);
    assert_int_equal(put(rig, &peer, hash, 2, bytes), WIRE_ACK);
    assert_int_equal(rig->answer.code, ACK_COMPLETE);
    assert_true(serves(rig, hash, bytes));
    assert_int_equal(put(second, &peer, hash, 2, bytes), WIRE_ACK);
    assert_int_equal(second->answer.code, ACK_COMPLETE);
    assert_true(serves(second, hash, bytes));
    free(bytes);
    free(wrong);
    rig_close(second);
    rig_free(rig);
}

static wire_type_t put_for(rig_t *rig, uint64_t run, const char *hash, const uint8_t *bytes)
{
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        wire_header_t header = request(WIRE_PUT_OBJECT, hash, chunk);
        header.run = run;
        if (say(rig, &peer, header, bytes + header.begin, header.count) != WIRE_ACK) break;
    }
    return rig->answer.type;
}

static void forget(rig_t *rig, uint64_t run, char *hash, bool all)
{
    char *list[] = {hash};
    Msg__Forget body = MSG__FORGET__INIT;
    body.run_hash = run;
    body.n_objects = hash ? 1 : 0;
    body.objects = list;
    body.all = all;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = MSG__ENVELOPE__BODY_FORGET;
    message.forget = &body;
    control(rig, &message);
}

/* A worker of run 2 says that an object of run 1 is its inner state: with or without having put it, its run can forget what
 * it put itself alone. */
static void a_run_forgets_its_own_alone(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    char hash[3][HASH_HEX];
    uint8_t *bytes[3];
    for (int i = 0; i < 3; i++) bytes[i] = make_bytes(20 + (uint64_t)i, hash[i]);
    assert_int_equal(put_for(rig, 1, hash[0], bytes[0]), WIRE_ACK);
    forget(rig, 2, hash[0], false);
    assert_true(serves(rig, hash[0], bytes[0]));
    assert_int_equal(put_for(rig, 2, hash[0], bytes[0]), WIRE_ACK);
    forget(rig, 2, hash[0], false);
    assert_true(serves(rig, hash[0], bytes[0]));
    forget(rig, 1, hash[0], false);
    assert_false(serves(rig, hash[0], bytes[0]));
    /* A run that is deleted takes along what nobody else needs. */
    assert_int_equal(put_for(rig, 2, hash[1], bytes[1]), WIRE_ACK);
    assert_int_equal(put_for(rig, 2, hash[2], bytes[2]), WIRE_ACK);
    assert_int_equal(put_for(rig, 1, hash[2], bytes[2]), WIRE_ACK);
    forget(rig, 2, NULL, true);
    assert_false(serves(rig, hash[1], bytes[1]));
    assert_true(serves(rig, hash[2], bytes[2]));
    forget(rig, 1, NULL, true);
    assert_false(serves(rig, hash[2], bytes[2]));
    /* So do those that were deleted while we were away; 3 never was here. */
    for (int i = 0; i < 3; i++)
        assert_int_equal(put_for(rig, 4 + (uint64_t)i, hash[i], bytes[i]), WIRE_ACK);
    uint64_t deleted[] = {3, 4, 6};
    Msg__Forget gone = MSG__FORGET__INIT;
    gone.deleted = deleted;
    gone.n_deleted = 3;
    SAY(rig, FORGET, forget, &gone);
    assert_false(serves(rig, hash[0], bytes[0]));
    assert_true(serves(rig, hash[1], bytes[1]));
    assert_false(serves(rig, hash[2], bytes[2]));
    for (int i = 0; i < 3; i++) free(bytes[i]);
    rig_free(rig);
}

static void objects_of_equal_beginning_are_two(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    char hash[HASH_HEX], near[HASH_HEX];
    uint8_t *bytes = make_bytes(1, hash), *wrong = make_bytes(2, near);
    memcpy(near, hash, HASH_HEX);
    near[40] = near[40] == '0' ? '1' : '0';
    msg_peer_t other = peer_number(3);
    assert_int_equal(put(rig, &peer, hash, 0, bytes), WIRE_ACK);
    assert_int_equal(put(rig, &other, near, 0, wrong), WIRE_ACK);
    assert_int_equal(put(rig, &peer, hash, 1, bytes), WIRE_ACK);
    assert_int_equal(put(rig, &peer, hash, 2, bytes), WIRE_ACK);
    assert_true(serves(rig, hash, bytes));
    free(bytes);
    free(wrong);
    rig_free(rig);
}

/* Verified was another file of that name. */
static void a_file_that_was_replaced_is_verified_again(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    char hash[HASH_HEX], wrong_hash[HASH_HEX];
    uint8_t *bytes = make_bytes(1, hash), *wrong = make_bytes(2, wrong_hash);
    assert_true(put_all(rig, &peer, hash, bytes));
    char *path = mem_printf("%s/%.2s/%s", rig->root, hash, hash);
    assert_int_equal(file_write_atomic(path, wrong, SIZE, NULL), 0);
    assert_false(serves(rig, hash, bytes)); /* nor the wrong ones */
    assert_true(put_all(rig, &peer, hash, bytes));
    assert_true(serves(rig, hash, bytes));
    free(path);
    free(bytes);
    free(wrong);
    rig_free(rig);
}

static void limit_files(rlim_t most)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = most;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_disk_that_takes_nothing_is_waited_for(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    char hash[HASH_HEX];
    uint8_t *bytes = make_bytes(1, hash);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(put(rig, &peer, hash, 0, bytes), WIRE_ACK);
    limit_files(MSG_CHUNK_BYTES); /* as if it were full */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(put(rig, &peer, hash, 1, bytes), WIRE_NACK);
        assert_int_equal(rig->answer.code, NACK_CANNOT_WRITE);
        assert_non_null(strstr((char *)rig->payload, rig->root)); /* it names the file */
    }
    assert_true(rig->state.cannot_write);
    limit_files(RLIM_INFINITY);
    assert_int_equal(put(rig, &peer, hash, 1, bytes), WIRE_ACK);
    /* And when only its name is wanting. */
    char *dir = mem_printf("%s/%.2s", rig->root, hash);
    assert_int_equal(file_write_atomic(dir, "in the way", 10, NULL), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(put(rig, &peer, hash, 2, bytes), WIRE_NACK);
        assert_int_equal(rig->answer.code, NACK_CANNOT_WRITE);
        assert_false(aggregator_busy(&rig->state)); /* it does not try all the time */
    }
    unlink(dir);
    assert_int_equal(put(rig, &peer, hash, 2, bytes), WIRE_ACK);
    assert_int_equal(rig->answer.code, ACK_COMPLETE);
    assert_false(rig->state.cannot_write);
    assert_true(serves(rig, hash, bytes));
    free(dir);
    free(bytes);
    rig_free(rig);
}

static void age(const char *path)
{
    struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
}

static void what_a_killed_process_left_is_removed(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    char hash[HASH_HEX];
    uint8_t *bytes = make_bytes(1, hash);
    char *dead = mem_printf("%s/upload.%s.tmp.%032d", rig->root, hash, 7);
    assert_int_equal(file_write_atomic(dead, "x", 1, NULL), 0);
    age(dead);
    assert_int_equal(put(rig, &peer, hash, 0, bytes), WIRE_ACK); /* another's, who lives */
    age(rig->state.uploads.at[0].path);
    rig_t *second = rig_open(rig->root, false);
    assert_false(file_exists(dead));
    assert_int_equal(count_uploads(rig), 1);
    assert_int_equal(put(rig, &peer, hash, 1, bytes), WIRE_ACK);
    assert_int_equal(put(rig, &peer, hash, 2, bytes), WIRE_ACK);
    assert_true(serves(rig, hash, bytes));
    free(dead);
    free(bytes);
    rig_close(second);
    rig_free(rig);
}

int main(void)
{
    log_init("aggregator_uploads_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uploads_that_nobody_ends_keep_nobody_out),
        cmocka_unit_test(too_many_peers_wait_for_room),
        cmocka_unit_test(two_processes_share_a_directory),
        cmocka_unit_test(a_run_forgets_its_own_alone),
        cmocka_unit_test(objects_of_equal_beginning_are_two),
        cmocka_unit_test(a_file_that_was_replaced_is_verified_again),
        cmocka_unit_test(a_disk_that_takes_nothing_is_waited_for),
        cmocka_unit_test(what_a_killed_process_left_is_removed),
    };
    return cmocka_run_group_tests_name("aggregator_uploads", tests, NULL, NULL);
}
