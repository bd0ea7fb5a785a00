/* A corpus as files, as blocks, as documents: what is found, in which order; where blocks are cut; packed files that
 * are damaged; lines that are no documents; shards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/ordered.h"
#include "data/corpus_reader.h"
#include "data/jsonl.h"
#include "data/packed_file.h"
#include "data/token_shard.h"
#include "temp.h"

static const char *dir; /* of the test in hand */

static int setup(void **state)
{
    dir = *state = temp_dir();
    return 0;
}

static int teardown(void **state)
{
    temp_remove((char **)state);
    return 0;
}

static void write_text(const char *name, const char *text)
{
    temp_write(temp_path(dir, name), text, strlen(text));
}

/* --- names --- */

/* The names of the files that `data` (NAMES of the directory, with commas) is, without the directory. */
static char *found(const char *names)
{
    corpus_t corpus;
    err_t err = {0};
    str_t data = {0}, all = {0};
    char *copy = mem_strdup(names);
    for (char *save = NULL, *name = strtok_r(copy, ",", &save); name;
         name = strtok_r(NULL, ",", &save))
        str_addf(&data, "%s%s/%s", data.n ? "," : "", dir, name);
    if (corpus_find(str_text(&data), &corpus, &err) < 0) str_addf(&all, "error: %s", err.text);
    for (size_t i = 0; err.code == 0 && i < corpus.file.n; i++)
        str_addf(&all, "%s%s", i ? " " : "", corpus.file.at[i].name + strlen(dir) + 1);
    corpus_fini(&corpus);
    str_fini(&data);
    free(copy);
    str_add(&all, "");
    return all.at;
}

static void expect(const char *names, const char *want)
{
    char *got = found(names);
    if (strstr(got, "error: ") ? !strstr(got, want) : strcmp(got, want) != 0)
        fail_msg("%s: %s, not %s", names, got, want);
    free(got);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const files[] = {"b.txt",       "a.jsonl", "B.txt",  "c.bin", "d.txt.gz",
                                        "e.jsonl.zst", "note",    ".h.txt", "f.md",  "x,y.txt"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) write_text(files[i], "t");
    mkdir(temp_path(dir, "a"), 0755);
    mkdir(temp_path(dir, "none"), 0755);
    write_text("a/z.txt", "t");
    expect(".", "./B.txt ./a.jsonl ./a/z.txt ./b.txt ./c.bin ./d.txt.gz ./e.jsonl.zst ./x,y.txt");
    expect("b.txt", "b.txt");
    expect("note", "note");
    expect("f.md,B.txt", "f.md B.txt");
    expect("*.txt", "B.txt b.txt x,y.txt");
    expect("[ab]*", "a/z.txt a.jsonl b.txt");
    expect("b.txt,gone.txt", "gone.txt: no such file");
    expect("*.text", "*.text: no file has such a name");
    expect("none", "none: no file of it has an ending that is known: .txt, .jsonl and .bin");
    char *comma = mem_printf("%s/x,y.txt", dir);
    corpus_t corpus;
    assert_int_equal(corpus_find(comma, &corpus, NULL), 0); /* the file, not two parts */
    assert_int_equal(corpus.file.n, 1);
    assert_int_equal(corpus.n_bytes, 1);
    corpus_fini(&corpus);
    free(comma);
    assert_int_equal(symlink(".", temp_path(dir, "a/loop")), 0);
    expect("a", "does a link lead back up?");
}

static char *with_star(const char *path)
{
    return mem_printf("/texts/%s", path);
}

static void test_absolute(void **state)
{
    (void)state;
    char *all = corpus_absolute("a.txt,b/*.gz", with_star);
    assert_string_equal(all, "/texts/a.txt,/texts/b/*.gz");
    free(all);
    assert_null(corpus_absolute(NULL, with_star));
}

/* --- packed files --- */

static size_t gzip(const void *text, size_t n, uint8_t *to, size_t room)
{
    z_stream z = {.next_in = (void *)(uintptr_t)text,
                  .avail_in = (unsigned)n,
                  .next_out = to,
                  .avail_out = (unsigned)room};
    deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t n_packed = z.total_out;
    deflateEnd(&z);
    return n_packed;
}

/* With the checksum that the command zstd writes, too. */
static size_t zstd(const void *text, size_t n, uint8_t *to, size_t room)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    size_t n_packed = ZSTD_compress2(context, to, room, text, n);
    ZSTD_freeCCtx(context);
    return n_packed;
}

enum { LONG = 700000 };

static char *long_text(void)
{
    char *text = malloc(LONG);
    unsigned seed = 1;
    for (int i = 0; i < LONG; i++)
        text[i] = (char)(' ' + (seed = seed * 1103515245 + 12345) / 65536 % 90);
    return text;
}

/* All of a file, `some` bytes at a time; -1 and err. */
static int read_all(const char *path, size_t some, char *to, size_t room, size_t *n, err_t *err)
{
    packed_file_t *file = packed_file_open(path, NULL, err);
    size_t got = some;
    int rc = file ? 0 : -1;
    for (*n = 0; rc == 0 && got == some && *n < room; *n += got)
        rc = packed_file_read(file, to + *n, some < room - *n ? some : room - *n, &got, err);
    packed_file_close(&file);
    return rc;
}

static void test_packed(void **state)
{
    (void)state;
    char *text = long_text(), *back = malloc(2 * LONG + 10);
    uint8_t *packed = malloc(2 * LONG);
    static const struct {
        const char *name;
        size_t (*pack)(const void *, size_t, uint8_t *, size_t);
    } ways[] = {{"t.txt.gz", gzip}, {"t.txt.zst", zstd}};
    for (int w = 0; w < 2; w++) {
        const char *path = temp_path(dir, ways[w].name);
        size_t n = ways[w].pack(text, LONG, packed, LONG);
        size_t all = n + ways[w].pack(text, LONG, packed + n, LONG), got; /* two in a row */
        temp_write(path, packed, all);
        for (size_t some = 100000; some < 2 * LONG + 10; some = some * 3 + 1) {
            err_t err = {0};
            if (read_all(path, some, back, 2 * LONG + 10, &got, &err) < 0) fail_msg("%s", err.text);
            assert_int_equal(got, 2 * LONG);
            assert_memory_equal(back, text, LONG);
            assert_memory_equal(back + LONG, text, LONG);
        }
        static const double cuts[] = {0, 0.001, 0.3, 0.7, 0.9999999};
        for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
            err_t err = {0};
            temp_write(path, packed, (size_t)((double)all * cuts[i]));
            assert_int_equal(read_all(path, 65536, back, 2 * LONG + 10, &got, &err), -1);
            if (!strstr(err.text, "it was cut off")) fail_msg("%s", err.text);
            assert_non_null(strstr(err.text, ways[w].name));
        }
        err_t err = {0};
        memset(packed + n / 2, 0x55, 3000);
        temp_write(path, packed, all);
        assert_int_equal(read_all(path, 65536, back, 2 * LONG + 10, &got, &err), -1);
        if (!strstr(err.text, "damaged before byte ")) fail_msg("%s", err.text);
        assert_int_equal(err.code, ERR_CORRUPT);
    }
    free(packed);
    free(back);
    free(text);
}

/* gzip(1) and other readers take zeros behind a member for padding; in front of the first they are damage. */
static void test_padded_gzip(void **state)
{
    (void)state;
    enum { PADDING = 300000 }; /* more than is read at once */
    static uint8_t packed[2 * PADDING + 200];
    char back[100];
    err_t err = {0};
    size_t n = gzip("one ", 4, packed, 100), got;
    const char *path = temp_path(dir, "padded.gz");
    temp_write(path, packed, n + PADDING);
    if (read_all(path, 7, back, sizeof back, &got, &err) < 0) fail_msg("%s", err.text);
    assert_int_equal(got, 4);
    n += PADDING;
    n += gzip("two", 3, packed + n, 100);
    temp_write(path, packed, n + 1);
    if (read_all(path, 70, back, sizeof back, &got, &err) < 0) fail_msg("%s", err.text);
    assert_int_equal(got, 7);
    assert_memory_equal(back, "one two", 7);
    packed[n + 1] = 'x';
    temp_write(path, packed, n + 2);
    assert_int_equal(read_all(path, 70, back, sizeof back, &got, &err), -1);
    temp_write(path, packed + 100, PADDING);
    assert_int_equal(read_all(path, 70, back, sizeof back, &got, &err), -1);
    assert_non_null(strstr(err.text, "damaged before byte "));
}

/* --- blocks --- */

typedef struct {
    str_t text;
    size_t n_blocks, n_begins;
} blocks_t;

static int read_blocks(const char *name, corpus_view_t view, blocks_t *out, err_t *err)
{
    corpus_t corpus;
    corpus_block_t block;
    int rc;
    *out = (blocks_t){0};
    char *path = mem_printf("%s/%s", dir, name);
    assert_int_equal(corpus_find(path, &corpus, err), 0);
    corpus_reader_t *reader = corpus_reader_open(&corpus, view);
    while ((rc = corpus_reader_next(reader, &block, err)) > 0) {
        assert_true(block.n > 0);
        if (corpus.file.n == 1 && block.kind != BLOCK_TOKENS)
            assert_int_equal(block.at, out->text.n);
        str_addn(&out->text, block.bytes, block.n);
        out->n_blocks++;
        out->n_begins += block.begins;
        free(block.bytes);
    }
    if (rc == 0) assert_int_equal(corpus_reader_done(reader), corpus.n_bytes);
    corpus_reader_close(&reader);
    corpus_fini(&corpus);
    free(path);
    return rc;
}

static void expect_blocks(const char *name, size_t n_blocks, const char *text, size_t n)
{
    err_t err = {0};
    blocks_t got;
    if (read_blocks(name, CORPUS_AS_TEXT, &got, &err) < 0) fail_msg("%s: %s", name, err.text);
    assert_int_equal(got.n_blocks, n_blocks);
    assert_int_equal(got.text.n, n);
    assert_memory_equal(got.text.at, text, n);
    str_fini(&got.text);
}

/* Of the first block of a text. */
static size_t first_block(const char *text, size_t n)
{
    corpus_t corpus;
    corpus_block_t block;
    temp_write(temp_path(dir, "cut.txt"), text, n);
    assert_int_equal(corpus_find(temp_path(dir, "cut.txt"), &corpus, NULL), 0);
    corpus_reader_t *reader = corpus_reader_open(&corpus, CORPUS_AS_TEXT);
    assert_int_equal(corpus_reader_next(reader, &block, NULL), 1);
    free(block.bytes);
    corpus_reader_close(&reader);
    corpus_fini(&corpus);
    return block.n;
}

static void test_cuts(void **state)
{
    (void)state;
    enum { ALL = CORPUS_BLOCK_BYTES, N = 3 * ALL / 2 };
    char *text = malloc(N);
    memset(text, 'x', N);
    assert_int_equal(first_block(text, N), ALL); /* no line at all */
    memcpy(text + ALL - 1, "\xc3\xa9", 2);
    assert_int_equal(first_block(text, N),
                     ALL - 1); /* nor a place between two bytes of a character */
    text[ALL - 100] = '\n';
    text[ALL - 101] = ' ';
    assert_int_equal(first_block(text, N), ALL - 99); /* any line break */
    text[ALL - 5000] = '\n';
    assert_int_equal(first_block(text, N),
                     ALL - 4999);                 /* better one without white space beside it */
    memcpy(text + ALL - 4999, "\xe3\x80\x80", 3); /* which U+3000 is, too */
    assert_int_equal(first_block(text, N), ALL - 99);
    memcpy(text + ALL - 4999, "\xe3\x80\x81", 3);
    assert_int_equal(first_block(text, N), ALL - 4999);
    text[ALL / 2 - 1] = '\n'; /* in the first half: too early */
    text[ALL - 5000] = text[ALL - 100] = 'x';
    assert_int_equal(first_block(text, N), ALL - 1);
    free(text);
}

static void test_lines_stay_whole(void **state)
{
    (void)state;
    enum { LINE = 3 * CORPUS_BLOCK_BYTES };
    char *text = malloc(2 * LINE);
    memset(text, 'x', 2 * LINE);
    text[100] = text[LINE] = '\n';
    temp_write(temp_path(dir, "l.jsonl"), text, 2 * LINE);
    expect_blocks("l.jsonl", 3, text, 2 * LINE);
    free(text);
    FILE *file = fopen(temp_path(dir, "l.jsonl"), "w");
    for (int i = 0; i <= CORPUS_LINE_BYTES >> 20; i++) fprintf(file, "%*s", 1 << 20, "");
    fclose(file);
    err_t err = {0};
    blocks_t got;
    assert_int_equal(read_blocks("l.jsonl", CORPUS_AS_TEXT, &got, &err), -1);
    assert_non_null(strstr(err.text, "l.jsonl:1: a line of more than 64 MiB"));
    str_fini(&got.text);
}

/* --- shards --- */

static void write_shard(const char *name, int magic, int version, int n_says, int n_bytes)
{
    int32_t head[TOKEN_SHARD_HEADER / 4] = {magic, version, n_says};
    FILE *file = fopen(temp_path(dir, name), "w");
    fwrite(head, 1, sizeof head, file);
    for (int i = 0; i < n_bytes; i++) fputc(i, file);
    fclose(file);
}

static void expect_refused(const char *name, corpus_view_t view, const char *want)
{
    err_t err = {0};
    blocks_t got;
    int rc = read_blocks(name, view, &got, &err);
    str_fini(&got.text);
    if (rc == 0 || !strstr(err.text, want))
        fail_msg("%s: \"%s\", not \"%s\"", name, err.text, want);
}

static void test_shards(void **state)
{
    (void)state;
    err_t err = {0};
    blocks_t got;
    write_shard("a.bin", 20240520, 1, 5, 10);
    assert_int_equal(read_blocks("a.bin", CORPUS_AS_TEXT, &got, &err), 0);
    assert_int_equal(got.text.n, 10);
    assert_memory_equal(got.text.at, "\0\1\2\3\4\5\6\7\10\11", 10);
    str_fini(&got.text);
    write_shard("b.bin", 20240801, 7, 2, 12); /* four bytes each; what lies behind them is none */
    assert_int_equal(read_blocks("b.bin", CORPUS_AS_TOKENS, &got, &err), 0);
    assert_int_equal(got.text.n, 8);
    str_fini(&got.text);
    write_shard("short.bin", 20240520, 1, 6, 10);
    expect_refused("short.bin", CORPUS_AS_TEXT, "short.bin: 1 tokens are missing at its end");
    write_shard("old.bin", 20240520, 2, 5, 10);
    expect_refused("old.bin", CORPUS_AS_TEXT, "a token shard of version 2: 1 is known");
    write_shard("other.bin", 20240521, 1, 5, 10);
    expect_refused("other.bin", CORPUS_AS_TEXT, "other.bin: it does not begin as a token shard");
    temp_write(temp_path(dir, "head.bin"), "\x88\xd8\x34\x01", 4);
    expect_refused("head.bin", CORPUS_AS_TEXT, "4 bytes are less than a token shard's header");
    unlink(temp_path(dir, "head.bin"));
    temp_write(temp_path(dir, "odd.u16"), "abc", 3);
    expect_refused("odd.u16", CORPUS_AS_TOKENS,
                   "odd.u16: 3 bytes are no whole number of u16 tokens");
    write_text("t.txt", "text");
    expect_refused("[at].*", CORPUS_AS_TEXT, "t.txt text: one run takes the one or the other");
    assert_int_equal(read_blocks("other.bin", CORPUS_AS_BYTES, &got, &err),
                     0); /* any bytes are a text */
    str_fini(&got.text);
}

/* --- lines --- */

static void expect_lines(const char *text, const char *want)
{
    str_t all = {0}, doc = {0};
    err_t err = {0};
    size_t at = 0;
    uint64_t line = 7;
    int rc;
    while ((rc = jsonl_next(text, strlen(text), "text", false, &at, &line, &doc, &err)) > 0)
        str_addf(&all, "%llu=%.*s;", (unsigned long long)line - 1, (int)doc.n, str_text(&doc));
    if (rc < 0) str_add(&all, err.text);
    if (!strstr(str_text(&all), want)) fail_msg("\"%s\", not \"%s\"", str_text(&all), want);
    str_fini(&all);
    str_fini(&doc);
}

static void test_lines(void **state)
{
    (void)state;
    expect_lines("{\"text\": \"a\"}\n{\"text\": \"b\\n\\u00e9\"}", "7=a;8=b\n\xc3\xa9;");
    expect_lines("\r\n \n{\"id\": 1, \"text\": \"a\"}\r\n\n", "9=a;");
    expect_lines("{\"text\": \"\"}\n", "7=;");
    expect_lines("{\"text\": \"a\"}\n{\"text\": \"b\"\n", "7=a;8:12: no JSON: ");
    expect_lines("[\"a\"]\n", "7: no JSON object");
    expect_lines(
        "{\"body\": \"a\", \"n\": 1, \"title\": \"x\"}",
        "7: no text in a field \"text\" (texts are in: body, title): name one with --field");
    expect_lines("{\"text\": 5}", "(texts are in: none)");
    expect_lines("{\"text\": \"\xff\"}", "7:");
}

/* A byte-order mark is none of a file's first line, and nothing else elsewhere. */
static void test_mark(void **state)
{
    static const char marked[] = "\xEF\xBB\xBF{\"text\": \"a\"}\n\xEF\xBB\xBF{\"text\": \"b\"}\n";
    err_t err = {0};
    str_t doc = {0};
    size_t at = 0;
    uint64_t line = 1;
    (void)state;
    assert_int_equal(jsonl_next(marked, sizeof marked - 1, "text", false, &at, &line, &doc, &err),
                     1);
    assert_string_equal(str_text(&doc), "a");
    assert_int_equal(jsonl_next(marked, sizeof marked - 1, "text", false, &at, &line, &doc, &err),
                     -1);
    assert_non_null(strstr(err.text, "2:"));
    str_fini(&doc);
}

/* --- jobs in order --- */

static void slow_work(void *user, int thread, void *job)
{
    (void)user, (void)thread;
    int *number = job;
    usleep((unsigned)(*number * 7919 % 500));
    *number *= 2;
}

static void test_order(void **state)
{
    (void)state;
    enum { JOBS = 200 };
    static const int threads[] = {0, 1, 3, 8};
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        int job[JOBS], given = 0;
        ordered_t *ordered = ordered_new(threads[t], 10, slow_work, NULL);
        for (int i = 0; i < JOBS; i++) job[i] = i;
        for (int i = 0; i < JOBS; i++) {
            while (given < JOBS && !ordered_full(ordered)) ordered_give(ordered, &job[given++]);
            assert_int_equal(given, i + 10 < JOBS ? i + 10 : JOBS);
            assert_ptr_equal(ordered_take(ordered), &job[i]);
            assert_int_equal(job[i], 2 * i);
        }
        assert_null(ordered_take(ordered));
        ordered_destroy(&ordered);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, setup, teardown),
        cmocka_unit_test(test_absolute),
        cmocka_unit_test_setup_teardown(test_packed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_padded_gzip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cuts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lines_stay_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shards, setup, teardown),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_mark),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests_name("corpus", tests, NULL, NULL);
}
