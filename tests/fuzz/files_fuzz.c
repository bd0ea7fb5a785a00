/* Fuzz target: files of runs and of people that have no target of their own. The first byte says which: a ledger (L),
 * lines of JSON (J), tokens for HTTP (H), the head of a file of tokens (T), a text packed by gzip (G; a window of
 * Zstandard's is more than a target may allocate), a checkpoint's manifest (M), and what a plan's code has around its
 * modules (V Vulkan, C CUDA). What is accepted is within its bounds and reads back as it was written, and takes a
 * bounded time; what is not is refused in words. */
#include <jansson.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "ckpt/checkpoint.h"
#include "ckpt/checkpoint_files.h"
#include "ckpt/ledger.h"
#include "codegen/cuda/cubins.h"
#include "codegen/vulkan/shaders.h"
#include "data/jsonl.h"
#include "data/packed_file.h"
#include "data/token_shard.h"
#include "http/access.h"

#include "fuzz.h"

static void refused(const err_t *err, const char *what)
{
    if (err->code == ERR_OK || !*err->text) broken("an error says so", what);
}

static void read_ledger(const uint8_t *data, size_t n)
{
    err_t err = {0};
    ledger_t ledger, again;
    if (ledger_parse((const char *)data, n, &ledger, &err) < 0) {
        refused(&err, "ledger");
        return;
    }
    if (ledger.n_state > LEDGER_REPLICAS || ledger.n_returned > LEDGER_RANGES)
        broken("within its limits", "ledger");
    char *text = ledger_print(&ledger);
    if (ledger_parse(text, strlen(text), &again, &err) < 0) broken("reads back", err.text);
    char *third = ledger_print(&again);
    if (strcmp(text, third) != 0) broken("to the same", text);
    free(text);
    free(third);
    ledger_fini(&ledger);
    ledger_fini(&again);
}

/* Each call goes on, so that a text of n bytes has no more lines than these. */
static void read_lines(const uint8_t *data, size_t n)
{
    size_t at = 0, before = 0, calls = 0;
    uint64_t line = 0;
    str_t out = {0};
    err_t err = {0};
    int rc;
    while ((rc = jsonl_next((const char *)data, n, "text", n % 2, &at, &line, &out, &err)) > 0) {
        if (at <= before || at > n || ++calls > n) broken("each line is behind the one before", "");
        before = at;
    }
    if (rc < 0) refused(&err, "lines");
    str_fini(&out);
}

static void read_tokens(const uint8_t *data, size_t n)
{
    char path[32];
    err_t err = {0};
    int fd = fuzz_file(data, n, path);
    fchmod(fd, 0600);
    access_t *access = access_open(path, &err);
    if (!access) refused(&err, "tokens");
    if (access && access_name(access, "Bearer ")) broken("no token is none of them", "");
    if (access) access_name(access, "Basic YTph");
    access_destroy(&access);
    close(fd);
}

static void read_shard(const uint8_t *data, size_t n)
{
    token_shard_t shard = {0};
    err_t err = {0};
    if (token_shard_read(data, n, &shard, &err) < 0) {
        refused(&err, "shard");
        return;
    }
    if (shard.token_bytes != 2 && shard.token_bytes != 4) broken("a width that there is", "shard");
    if (shard.n_tokens > INT32_MAX) broken("as many as its head may say", "shard");
}

/* What a few bytes unpack to has no end: some of it. */
static void read_packed(const uint8_t *data, size_t n, const char *name)
{
    enum { PIECE = 4096, PIECES = 64 };
    static char piece[PIECE];
    char path[32];
    err_t err = {0};
    int fd = fuzz_file(data, n, path);
    packed_file_t *file = packed_file_open(name, path, &err);
    size_t got = PIECE;
    int rc = 0;
    for (int i = 0; file && rc == 0 && got == PIECE && i < PIECES; i++) {
        rc = packed_file_read(file, piece, PIECE, &got, &err);
        if (rc == 0 && got > PIECE) broken("no more than there is room for", name);
        if (packed_file_done(file) > n) broken("no more than the file", name);
    }
    if (!file || rc < 0) refused(&err, name);
    packed_file_close(&file);
    close(fd);
}

/* With the right check, since no fuzzer finds hashes. Returns, caller frees; NULL: it is no object. */
static char *checked(const uint8_t *data, size_t n)
{
    char hex[HASH_HEX];
    json_t *manifest = json_loadb((const char *)data, n, 0, NULL);
    if (!json_is_object(manifest)) {
        json_decref(manifest);
        return NULL;
    }
    ckpt_manifest_check(manifest, hex);
    json_object_set_new(manifest, "check", json_string(hex));
    char *text = json_dumps(manifest, 0);
    json_decref(manifest);
    return text;
}

static void list_checkpoints(const char *root, bool verify)
{
    checkpoint_list_t list = {0};
    err_t err = {0};
    if (checkpoint_list(root, verify, &list, &err) < 0) refused(&err, "list");
    if (list.n > 1) broken("one directory is one checkpoint", root);
    if (verify && list.n == 1 && !list.at[0].fault) broken("its files are missing", root);
    checkpoint_list_fini(&list);
}

/* A directory that has nothing but its manifest. */
static void read_manifest(const uint8_t *data, size_t n)
{
    char root[] = "/dev/shm/pcp-fuzz-files.XXXXXX", dir[64], path[96];
    char *text = checked(data, n);
    err_t err = {0};
    if (!mkdtemp(root)) broken("a directory", root);
    snprintf(dir, sizeof dir, "%s/round-000001", root);
    snprintf(path, sizeof path, "%s/" CKPT_MANIFEST, dir);
    bool made = mkdir(dir, 0700) == 0 && file_write_atomic(path, text ? text : (const char *)data,
                                                           text ? strlen(text) : n, &err) == 0;
    if (!made) broken("a file", path);
    checkpoint_t *checkpoint = checkpoint_open(dir, &err);
    if (checkpoint) broken("a checkpoint without its files", "was opened");
    refused(&err, "manifest");
    list_checkpoints(root, false);
    list_checkpoints(root, true);
    unlink(path);
    rmdir(dir);
    rmdir(root);
    free(text);
}

static void read_shaders(const uint8_t *data, size_t n)
{
    shaders_t shaders;
    err_t err = {0};
    if (shaders_load(&shaders, data, n, &err) < 0) refused(&err, "shaders");
    for (int i = 0; err.code == ERR_OK && i < shaders.n; i++) {
        const shader_t *s = &shaders.shader[i];
        const uint32_t *end = shaders.word + n / sizeof *end;
        if (s->word < shaders.word || s->n_word > (size_t)(end - s->word)) broken("inside", "V");
        if (s->panel_word && s->n_panel_word > (size_t)(end - s->panel_word)) broken("inside", "V");
        for (int k = 0; k < s->n_arg; k++)
            if (s->arg[k].size == 0) broken("elements have bytes", "V");
    }
    shaders_fini(&shaders);
}

static void read_cubins(const uint8_t *data, size_t n)
{
    cubins_t cubins;
    err_t err = {0};
    if (cubins_load(&cubins, data, n, &err) < 0) refused(&err, "modules");
    for (int i = 0; err.code == ERR_OK && i < cubins.n_kernel; i++) {
        const cubin_kernel_t *k = &cubins.kernel[i];
        if (k->module >= (uint32_t)cubins.n_module || k->block == 0) broken("inside", k->name);
        if (!cubins_find(&cubins, k->name)) broken("it is found", k->name);
    }
    cubins_fini(&cubins);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0) return 0;
    const uint8_t *rest = data + 1;
    switch (data[0]) {
    case 'L': read_ledger(rest, n - 1); break;
    case 'J': read_lines(rest, n - 1); break;
    case 'H': read_tokens(rest, n - 1); break;
    case 'T': read_shard(rest, n - 1); break;
    case 'G': read_packed(rest, n - 1, "text.gz"); break;
    case 'M': read_manifest(rest, n - 1); break;
    case 'V': read_shaders(rest, n - 1); break;
    case 'C': read_cubins(rest, n - 1); break;
    default: break;
    }
    return 0;
}
