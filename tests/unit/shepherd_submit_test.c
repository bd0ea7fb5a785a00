/* Submissions to a front: names, what is in their way, clients that leave; deletions of runs. */
#include "front_rig.h"

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
    front_on_piece(&rig->front, &rig->watched, &message); /* there is room again */
    turn(rig, has_heard, before + 3 + FIT);
    assert_string_equal(rig->heard.at[before + 2 + FIT]->run_answer->error, "");
    front_drop(&rig->front, front_by_id(&rig->front, "member-0"));
    join(rig, 0, MSG__KIND__KIND_CLI);
    only_entries(rig, 0);
    free(piece.data.data);
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
    assert_string_equal(content(rig, "runs/two/train.u16"), "words");
    assert_string_equal(content(rig, "runs/three/train.u16"), "words");
    rig_destroy(rig);
}

int main(void)
{
    log_init("test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_names),
        cmocka_unit_test(other_content),
        cmocka_unit_test(link_in_the_way),
        cmocka_unit_test(adopted),
        cmocka_unit_test(pieces_on_their_way),
        cmocka_unit_test(client_leaves),
        cmocka_unit_test(deletion),
        cmocka_unit_test(meanwhile),
        cmocka_unit_test(cut_short),
    };
    int failed = cmocka_run_group_tests_name("shepherd_submit", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
