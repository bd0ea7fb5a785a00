/* Submissions to a front: names, what is in their way, clients that leave; deletions of runs. */
#include <sys/stat.h>
#include <time.h>

#include "base/utf8.h"
#include "front_rig.h"
#include "msg/wire.h"

/* --- Names --- */

static void file_names(void **state)
{
    (void)state;
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    static const char *const bad[] = {
        "",
        ".",
        "..",
        ".x",
        "a/b",
        "../x",
        "-rf",
        "checkpoint",
        "a b",
        "a\nb",
        "a\tb",
        "shepherd.log",
        "a\x80",
        "\xff",
        "a\xc3\xa4",
        "pcp.db",
        "run.js\x7f",
        "run.json",
        "0123456789012345678901234567890123456789012345678901234567890123"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wish_t wish;
        wish_init(&wish, "run", "words");
        wish.file[2].name = (char *)bad[i];
        const Msg__RunAnswer *answer = asked(rig, &wish.ask);
        if (!strstr(answer->error, "file 3 of 4: ")) fail_msg("%zu: \"%s\"", i, answer->error);
    }
    static const char *const good[] = {"a", "init.safetensors", "A_b-c.0", "checkpoint2"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_null(front_name_fault(good[i]));
    wish_t wish;
    wish_init(&wish, "run", "words");
    wish.file[0].name = "other.json";
    assert_non_null(strstr(asked(rig, &wish.ask)->error, "run.json"));
    static const char *const bad_runs[] = {"control", "events", "pcp.db", "..", ".x", "a/b", "-x"};
    for (size_t i = 0; i < sizeof bad_runs / sizeof *bad_runs; i++) {
        wish_init(&wish, bad_runs[i], "words");
        assert_non_null(strstr(asked(rig, &wish.ask)->error, "the run's name: "));
    }
    static const char *const bad_keys[] = {"a\nb", "\x80", "caf\xe9", "a\x1b[31m"};
    for (size_t i = 0; i < sizeof bad_keys / sizeof *bad_keys; i++) {
        wish_init(&wish, "run", "words");
        wish.ask.key = (char *)bad_keys[i];
        assert_non_null(strstr(asked(rig, &wish.ask)->error, "the key "));
    }
    only_entries(rig, 0);
    rig_destroy(rig);
}

/* --- What is in the way --- */

static void other_content(void **state)
{
    (void)state;
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    assert_int_equal(file_make_dirs(temp_path(rig->dir, "runs/one/checkpoint"), NULL), 0);
    temp_write(temp_path(rig->dir, "runs/one/checkpoint/model"), "precious", 8);
    const Msg__RunAnswer *answer = submit(rig, "one", "words");
    assert_non_null(strstr(answer->error, rig->runs));
    assert_non_null(strstr(answer->error, "/one is there already"));
    assert_non_null(strstr(answer->error, "--name"));
    assert_non_null(strstr(answer->error, "mv "));
    assert_string_equal(content(rig, "runs/one/checkpoint/model"), "precious");
    only_entries(rig, 1);
    assert_int_equal(rig->front.runs.n, 0);
    rig_destroy(rig);
}

static void link_in_the_way(void **state)
{
    (void)state;
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    assert_int_equal(file_make_dirs(temp_path(rig->dir, "kept"), NULL), 0);
    temp_write(temp_path(rig->dir, "kept/file"), "precious", 8);
    assert_int_equal(symlink(temp_path(rig->dir, "kept"), temp_path(rig->dir, "runs/one")), 0);
    assert_non_null(strstr(submit(rig, "one", "words")->error, "it is no directory"));
    assert_string_equal(content(rig, "kept/file"), "precious");
    only_entries(rig, 1);
    rig_destroy(rig);
}

/* The database is lost: the run is submitted again, and has its checkpoints. */
static void adopted(void **state)
{
    (void)state;
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    assert_false(submit(rig, "one", "words")->runs[0]->adopted);
    assert_int_equal(file_make_dirs(temp_path(rig->dir, "runs/one/checkpoint"), NULL), 0);
    temp_write(temp_path(rig->dir, "runs/one/checkpoint/model"), "precious", 8);
    end(rig);
    static const char *const ends[] = {"pcp.db", "pcp.db-wal", "pcp.db-shm"};
    for (int i = 0; i < 3; i++) unlink(temp_path(rig->dir, ends[i]));
    begin(rig);
    join(rig, 0, MSG__KIND__KIND_CLI);
    assert_int_equal(rig->front.runs.n, 0);
    assert_non_null(strstr(submit(rig, "one", "other words")->error, "train.u16"));
    assert_string_equal(content(rig, "runs/one/train.u16"), "words");
    const Msg__RunAnswer *answer = submit(rig, "one", "words");
    assert_string_equal(answer->error, "");
    assert_true(answer->runs[0]->adopted);
    assert_string_equal(content(rig, "runs/one/checkpoint/model"), "precious");
    only_entries(rig, 1);
    rig_destroy(rig);
}

/* Who leaves when all is said has the run all the same; another of its key waits for that. */
static void client_leaves(void **state)
{
    (void)state;
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    wish_t wish;
    wish_init(&wish, "one", "words");
    assert_true(asked(rig, &wish.ask)->send);
    send_pieces(rig, &wish);
    Msg__RunAsk commit = MSG__RUN_ASK__INIT;
    commit.verb = MSG__RUN_ASK__VERB__COMMIT;
    tell(rig, 0, &commit);
    front_drop(&rig->front, front_by_id(&rig->front, "member-0"));
    join(rig, 0, MSG__KIND__KIND_CLI);
    assert_true(asked(rig, &wish.ask)->busy);
    turn(rig, has_runs, 1);
    assert_true(asked(rig, &wish.ask)->existed);
    assert_string_equal(content(rig, "runs/one/train.u16"), "words");
    only_entries(rig, 1);
    rig_destroy(rig);
}

/* Pieces need not wait for each other, but the front's memory is not without end. */
static void pieces_on_their_way(void **state)
{
    enum { FIT = FRONT_WINDOW_MOST / FRONT_PIECE_BYTES };
    (void)state;
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    wish_t wish;
    wish_init(&wish, "run", "words");
    wish.file[1].size = 2 * FRONT_WINDOW_MOST;
    assert_int_equal(asked(rig, &wish.ask)->window, FRONT_WINDOW_MOST);
    Msg__RunPiece piece = MSG__RUN_PIECE__INIT;
    piece.file = 1;
    piece.data.len = FRONT_PIECE_BYTES;
    piece.data.data = mem_calloc(1, FRONT_PIECE_BYTES);
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = BODY(RUN_PIECE);
    message.run_piece = &piece;
    size_t before = rig->heard.n;
    for (int i = 0; i < FIT + 1; i++, piece.offset += FRONT_PIECE_BYTES)
        front_on_piece(&rig->front, &rig->watched, &message);
    assert_int_equal(rig->heard.n, before + 1); /* the one that does not fit, at once */
    assert_non_null(strstr(rig->heard.at[before]->run_answer->error, "beyond its window"));
    Msg__RunAsk commit = MSG__RUN_ASK__INIT;
    commit.verb = MSG__RUN_ASK__VERB__COMMIT;
    assert_non_null(strstr(asked(rig, &commit)->error, "nothing was submitted"));
    turn(rig, has_heard, before + 2 + FIT);
    for (size_t i = before + 2; i < before + 2 + FIT; i++)
        assert_string_equal(rig->heard.at[i]->run_answer->error, "");
    piece.offset -= FRONT_PIECE_BYTES;
    front_on_piece(&rig->front, &rig->watched, &message); /* there is room again */
    turn(rig, has_heard, before + 3 + FIT);
    assert_string_equal(rig->heard.at[before + 2 + FIT]->run_answer->error, "");
    front_drop(&rig->front, front_by_id(&rig->front, "member-0"));
    join(rig, 0, MSG__KIND__KIND_CLI);
    only_entries(rig, 1); /* waits for the rest */
    free(piece.data.data);
    rig_destroy(rig);
}

/* Bytes [from, to) of a file; the answer. */
static const char *send_part(rig_t *rig, const wish_t *wish, uint32_t file, size_t from, size_t to)
{
    Msg__RunPiece piece = MSG__RUN_PIECE__INIT;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    piece.file = file;
    piece.offset = from;
    piece.data.data = (uint8_t *)(uintptr_t)wish->text[file] + from;
    piece.data.len = to - from;
    message.body_case = BODY(RUN_PIECE);
    message.run_piece = &piece;
    size_t before = rig->heard.n;
    front_on_piece(&rig->front, &rig->watched, &message);
    turn(rig, has_heard, before + 1);
    return rig->heard.at[before]->run_answer->error;
}

/* What is the cluster's to say is refused by its name: places of its machine above all. */
static void not_theirs_to_set(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"store", "\"sqlite:///tmp/x\""},
                                          {"state_dir", "\"/var/lib\""},
                                          {"health", "\"/tmp/health\""},
                                          {"probe", "true"},
                                          {"key", "\"k\""},
                                          {"insecure", "true"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rig_t *rig = rig_new();
        join(rig, 0, MSG__KIND__KIND_CLI);
        wish_t wish;
        wish_init(&wish, "run", "words");
        char *json = mem_printf("%.*s, \"%s\": %s}", (int)strlen(run_json) - 1, run_json,
                                rows[i][0], rows[i][1]);
        wish.text[0] = json;
        hash_content(json, strlen(json), wish.hash[0]);
        wish.file[0].size = strlen(json);
        assert_true(asked(rig, &wish.ask)->send);
        send_pieces(rig, &wish);
        const char *error = asked_about(rig, MSG__RUN_ASK__VERB__COMMIT, "")->error;
        if (!strstr(error, rows[i][0]) || !strstr(error, "the cluster's to set"))
            fail_msg("%s: %s", rows[i][0], error);
        free(json);
        rig_destroy(rig);
    }
}

static void leave_and_come(rig_t *rig)
{
    front_drop(&rig->front, front_by_id(&rig->front, "member-0"));
    join(rig, 0, MSG__KIND__KIND_CLI);
}

/* A submission that broke off goes on where it was, also at the next front, and by another client; two do not send
 * the same at the same time. */
static void goes_on(void **state)
{
    (void)state;
    wish_t wish;
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    wish_init(&wish, "one", "some words");
    const Msg__RunAnswer *answer = asked(rig, &wish.ask);
    assert_true(answer->send);
    assert_int_equal(answer->n_have, N_FILES);
    for (int i = 0; i < N_FILES; i++) assert_int_equal(answer->have[i], 0);
    assert_string_equal(send_part(rig, &wish, 1, 0, strlen("module")), "");
    assert_string_equal(send_part(rig, &wish, 3, 0, 2), "");
    assert_string_equal(send_part(rig, &wish, 3, 2, 4), "");

    join(rig, 1, MSG__KIND__KIND_CLI);
    tell(rig, 1, &wish.ask); /* the other one waits */
    assert_null(front_by_id(&rig->front, "member-1")->upload);
    leave_and_come(rig);
    answer = asked(rig, &wish.ask);
    assert_int_equal(answer->have[0], 0);
    assert_int_equal(answer->have[1], strlen("module"));
    assert_int_equal(answer->have[3], 4);
    end(rig);
    begin(rig);
    join(rig, 0, MSG__KIND__KIND_CLI);
    answer = asked(rig, &wish.ask);
    assert_int_equal(answer->have[3], 4);
    assert_string_equal(send_part(rig, &wish, 0, 0, strlen(run_json)), "");
    assert_string_equal(send_part(rig, &wish, 2, 0, strlen("values")), "");
    assert_string_equal(send_part(rig, &wish, 3, 4, 10), "");
    assert_string_equal(asked_about(rig, MSG__RUN_ASK__VERB__COMMIT, "")->error, "");
    assert_string_equal(content(rig, "runs/one/train.u16"), "some words");
    only_entries(rig, 1);
    rig_destroy(rig);
}

/* Pieces that overtake others leave holes: what lies behind the first one comes again. */
static void holes(void **state)
{
    enum { PIECE = FRONT_PIECE_BYTES, ALL = 4 * PIECE };
    static const int order[] = {2, 0, 1}, have[] = {0, 1, 3}; /* pieces behind each other */
    (void)state;
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    wish_t wish;
    wish_init(&wish, "run", "words");
    wish.file[1].size = ALL;
    wish.text[1] = mem_calloc(1, ALL);
    memset((void *)(uintptr_t)wish.text[1], 'x', ALL);
    assert_true(asked(rig, &wish.ask)->send);
    for (int i = 0; i < 3; i++) {
        size_t at = (size_t)order[i] * PIECE;
        assert_string_equal(send_part(rig, &wish, 1, at, at + PIECE), "");
        leave_and_come(rig);
        assert_int_equal(asked(rig, &wish.ask)->have[1], have[i] * PIECE);
    }
    free((void *)(uintptr_t)wish.text[1]);
    rig_destroy(rig);
}

static void age(const rig_t *rig, int hours)
{
    DIR *dir = opendir(rig->runs);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (strncmp(entry->d_name, FRONT_UPLOAD_PREFIX, strlen(FRONT_UPLOAD_PREFIX)) != 0) continue;
        const struct timespec times[2] = {{time(NULL) - hours * 3600, 0},
                                          {time(NULL) - hours * 3600, 0}};
        char *path = mem_printf("%s/%s", rig->runs, entry->d_name),
             *file = mem_printf("%s/train.u16", path);
        assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        free(path);
        free(file);
    }
    closedir(dir);
}

/* What broke off is kept for a day, and less long where there is no room. */
static void is_not_kept_for_ever(void **state)
{
    (void)state;
    wish_t one, two;
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    wish_init(&one, "one", "some words");
    wish_init(&two, "two", "other words");
    asked(rig, &one.ask);
    assert_string_equal(send_part(rig, &one, 3, 0, 4), "");
    age(rig, 23);
    asked(rig, &two.ask);
    assert_string_equal(send_part(rig, &two, 3, 0, 4), "");
    only_entries(rig, 2);
    age(rig, 25);
    asked(rig, &two.ask);
    assert_int_equal(rig->heard.at[rig->heard.n - 1]->run_answer->have[3],
                     4); /* not the one in hand */
    only_entries(rig, 1);
    asked(rig, &one.ask);
    assert_string_equal(send_part(rig, &one, 3, 0, 4), "");
    only_entries(rig, 1); /* `two` went */
    age(rig, 1);
    files_expire(rig->runs, NULL, 4);
    only_entries(rig, 1);
    files_expire(rig->runs, NULL, 3);
    only_entries(rig, 0);
    rig_destroy(rig);
}

/* --- Deletion --- */

static front_run_t *ended_run(rig_t *rig, const char *id, const char *state)
{
    assert_string_equal(submit(rig, id, "words")->error, "");
    front_run_t *run = front_run_find(&rig->front, id);
    char path[64];
    snprintf(path, sizeof path, "runs/%s/checkpoint", id);
    assert_int_equal(file_make_dirs(temp_path(rig->dir, path), NULL), 0);
    front_run_move(run, state, "", 0);
    return run;
}

static int64_t rows_of(const rig_t *rig, const char *id)
{
    store_t *store = store_open(rig->url, NULL, NULL);
    store_submissions_t list = {0};
    STORE_OK(store_submission_list(store, &list, err));
    int64_t n = 0;
    for (size_t i = 0; i < list.n; i++) n += strcmp(list.at[i].id, id) == 0;
    store_submissions_fini(&list);
    store_destroy(&store);
    return n;
}

static void deletion(void **state)
{
    (void)state;
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    join(rig, 1, MSG__KIND__KIND_AGGREGATOR);
    front_run_t *run = ended_run(rig, "one", "queued");
    ended_run(rig, "two", "done");
    static const char *const states[] = {"queued", "running", "paused"};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        snprintf(run->row.state, sizeof run->row.state, "%s", states[i]);
        const Msg__RunAnswer *answer = asked_about(rig, MSG__RUN_ASK__VERB__DELETE, "one");
        assert_non_null(strstr(answer->error, "pcp run cancel one"));
    }
    front_run_move(run, "cancelled", "", 0);
    run->active = true;
    assert_non_null(
        strstr(asked_about(rig, MSG__RUN_ASK__VERB__DELETE, "one")->error, "still saves"));
    run->active = false;
    Msg__RunAsk ask = MSG__RUN_ASK__INIT;
    ask.verb = MSG__RUN_ASK__VERB__DELETE;
    ask.run = "one";
    ask.dry = true;
    const Msg__RunAnswer *answer = asked(rig, &ask);
    assert_string_equal(answer->error, "");
    assert_int_equal(answer->n_runs, 1);
    assert_int_equal(answer->found, N_FILES);
    assert_true(file_exists(temp_path(rig->dir, "runs/one/train.u16")));
    uint64_t bytes = answer->bytes;
    assert_true(bytes > 0);
    ask.dry = false;
    answer = asked(rig, &ask);
    assert_string_equal(answer->error, "");
    assert_int_equal(answer->bytes, bytes);
    assert_int_equal(temp_count(rig->runs), 1); /* of the other run */
    assert_int_equal(rows_of(rig, "one"), 0);
    assert_int_equal(rows_of(rig, "two"), 1);
    assert_non_null(strstr(asked(rig, &ask)->error, "there is no run \"one\""));
    assert_string_equal(submit(rig, "one", "words")->error, ""); /* its name is free */
    rig_destroy(rig);
}

/* While it is being deleted it cannot be resumed; whoever watches it is told. */
static void meanwhile(void **state)
{
    (void)state;
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    join(rig, 1, MSG__KIND__KIND_CLI);
    ended_run(rig, "one", "failed");
    Msg__RunAsk ask = MSG__RUN_ASK__INIT;
    ask.verb = MSG__RUN_ASK__VERB__WATCH;
    ask.run = "one";
    tell(rig, 1, &ask);
    ask.verb = MSG__RUN_ASK__VERB__DELETE;
    tell(rig, 0, &ask);
    size_t before = rig->heard.n;
    ask.verb = MSG__RUN_ASK__VERB__RESUME;
    tell(rig, 0, &ask);
    assert_string_equal(rig->heard.at[before]->run_answer->error, "run one is being deleted");
    rig->watched = peer_of(1);
    turn(rig, has_heard, before + 2);
    assert_string_equal(rig->heard.at[before + 1]->run_answer->error, "the run was deleted");
    assert_null(front_by_id(&rig->front, "member-1")->watches);
    rig_destroy(rig);
}

/* Who the trail says has deleted the run; "": nobody. */
static const char *deleter_of(const rig_t *rig, const char *id)
{
    static char who[STORE_ID];
    store_trail_t trail;
    store_t *store = store_open(rig->url, NULL, NULL);
    assert_non_null(store);
    assert_int_equal(store_trail_read(store, 0, &trail, NULL), 0);
    *who = '\0';
    for (size_t i = 0; i < trail.n; i++)
        if (strcmp(trail.at[i].action, "delete") == 0 && strcmp(trail.at[i].object, id) == 0)
            utf8_cut(who, sizeof who, trail.at[i].who);
    store_trail_fini(&trail);
    store_destroy(&store);
    return who;
}

/* Who asks for a deletion and leaves is in the trail all the same. */
static void deleter_leaves(void **state)
{
    (void)state;
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    ended_run(rig, "one", "done");
    Msg__RunAsk ask = MSG__RUN_ASK__INIT;
    ask.verb = MSG__RUN_ASK__VERB__DELETE;
    ask.run = "one";
    tell(rig, 0, &ask);
    front_drop(&rig->front, front_by_id(&rig->front, "member-0"));
    turn(rig, has_runs, 0);
    assert_string_equal(deleter_of(rig, "one"), "member-0");
    rig_destroy(rig);
}

/* An aggregator that is away while a run is deleted hears of it when it is back, of this front or the next; not where the
 * run has been submitted again, and nobody else hears of it. */
static void aggregator_is_away(void **state)
{
    (void)state;
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    join(rig, 1, MSG__KIND__KIND_AGGREGATOR);
    assert_int_equal(rig->n_forget, 0);
    ended_run(rig, "one", "done");
    ended_run(rig, "two", "done");
    assert_string_equal(asked_about(rig, MSG__RUN_ASK__VERB__DELETE, "one")->error, "");
    assert_int_equal(rig->n_forget, 1); /* of the one that is here */
    rig->n_forget = 0;
    join(rig, 2, MSG__KIND__KIND_AGGREGATOR);
    join(rig, 3, MSG__KIND__KIND_COMPILER);
    assert_int_equal(rig->n_forget, 1);
    assert_int_equal(rig->n_deleted, 1);
    assert_int_equal(rig->deleted, wire_run_hash("one"));
    end(rig);
    begin(rig);
    rig->deleted = 0;
    join(rig, 2, MSG__KIND__KIND_AGGREGATOR);
    assert_int_equal(rig->n_deleted, 1);
    assert_int_equal(rig->deleted, wire_run_hash("one"));
    join(rig, 0, MSG__KIND__KIND_CLI);
    assert_string_equal(submit(rig, "one", "words")->error, "");
    join(rig, 4, MSG__KIND__KIND_AGGREGATOR);
    assert_int_equal(rig->n_deleted, 0);
    rig_destroy(rig);
}

/* The front ends when the directory has its new name, or when the rows are gone. */
static void cut_short(void **state)
{
    (void)state;
    rig_t *rig = rig_new();
    join(rig, 0, MSG__KIND__KIND_CLI);
    ended_run(rig, "one", "done");
    ended_run(rig, "two", "done");
    ended_run(rig, "three", "failed");
    end(rig);
    assert_int_equal(
        rename(temp_path(rig->dir, "runs/one"), temp_path(rig->dir, "runs/.deleted-one")), 0);
    assert_int_equal(file_make_dirs(temp_path(rig->dir, "runs/.deleted-gone/checkpoint"), NULL), 0);
    assert_int_equal(file_make_dirs(temp_path(rig->dir, "runs/.deleted-two"), NULL), 0);
    begin(rig);
    join(rig, 0, MSG__KIND__KIND_CLI);
    turn(rig, has_runs, 2);
    only_entries(rig, 2);
    assert_int_equal(rows_of(rig, "one"), 0);
    assert_string_equal(deleter_of(rig, "one"), "front"); /* which has ended it */
    assert_string_equal(content(rig, "runs/two/train.u16"), "words");
    assert_string_equal(content(rig, "runs/three/train.u16"), "words");
    rig_destroy(rig);
}

int main(void)
{
    log_init("test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_theirs_to_set),
        cmocka_unit_test(file_names),
        cmocka_unit_test(other_content),
        cmocka_unit_test(link_in_the_way),
        cmocka_unit_test(adopted),
        cmocka_unit_test(pieces_on_their_way),
        cmocka_unit_test(goes_on),
        cmocka_unit_test(holes),
        cmocka_unit_test(is_not_kept_for_ever),
        cmocka_unit_test(client_leaves),
        cmocka_unit_test(deletion),
        cmocka_unit_test(meanwhile),
        cmocka_unit_test(deleter_leaves),
        cmocka_unit_test(aggregator_is_away),
        cmocka_unit_test(cut_short),
    };
    int failed = cmocka_run_group_tests_name("shepherd_submit", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
