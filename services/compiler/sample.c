/* The process gets one anonymous file: three sizes, then parameters (as a safetensors file, first, so that
 * its numbers are aligned), module and tokenizer. */
#include "compiler/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "compiler/task_io.h"
#include "infer/sample.h"

enum { WORDS = 7, PARTS = 3, TOKENIZER_BYTES = 256 << 20, LOWEST_PRIORITY = 19 };

/* --- In the service --------------------------------------------------------------------------- */

/* Room for one of the parameters; false: the message makes no sense. */
static bool describe(const Msg__TensorInfo *info, safetensor_t *to)
{
    uint64_t n = 1;
    *to = (safetensor_t){.name = info->name, .dtype = DT_F32, .rank = (int)info->n_dims};
    if (info->n_dims > SAFETENSORS_MAX_RANK) return false;
    for (size_t d = 0; d < info->n_dims; d++) {
        if (info->dims[d] < 0 || __builtin_mul_overflow(n, (uint64_t)info->dims[d], &n) ||
            n > INT64_MAX / 16)
            return false;
        to->dims[d] = info->dims[d];
    }
    to->n_bytes = (size_t)n * sizeof(float);
    return true;
}

/* An empty safetensors file of the layout; NULL: err. */
static uint8_t *make_room(const Msg__Sample *job, size_t *n, size_t *at, err_t *err)
{
    safetensor_t *list = mem_calloc(job->n_params + 1, sizeof *list);
    size_t n_good = 0;
    uint64_t total = 0;
    while (n_good < job->n_params && describe(job->params[n_good], &list[n_good]) &&
           !__builtin_add_overflow(total, list[n_good].n_bytes / sizeof(float), &total))
        n_good++;
    bool fits = n_good == job->n_params && job->n_data > 0 && job->n_bounds == job->n_data + 1 &&
                job->bounds[0] == 0 && job->bounds[job->n_data] == total;
    for (size_t i = 0; fits && i < job->n_data; i++) fits = job->bounds[i] <= job->bounds[i + 1];
    uint8_t *room = fits ? safetensors_pack(list, n_good, NULL, 0, n, at, err) : NULL;
    if (!fits) err_set(err, ERR_NET, "a layout of %zu parameters that is none", job->n_params);
    free(list);
    return room;
}

typedef struct {
    void *at;
    size_t n;
} part_t;

static int fetch(const Msg__Sample *job, data_client_t *client, part_t part[PARTS], err_t *err)
{
    size_t at = 0;
    part[0].at = make_room(job, &part[0].n, &at, err);
    if (!part[0].at) return -1;
    if (data_get_params(client, job->bounds, job->round, (float *)((uint8_t *)part[0].at + at),
                        err) < 0)
        return err_prefix(err, "the parameters of round %u: ", job->round);
    part[1].at = data_get_object(client, job->module, COMPILER_MODULE_BYTES, &part[1].n, err);
    if (!part[1].at) return err_prefix(err, "the module: ");
    part[2].at = data_get_object(client, job->tokenizer, TOKENIZER_BYTES, &part[2].n, err);
    return part[2].at ? 0 : err_prefix(err, "the tokenizer: ");
}

static int put(int fd, const part_t part[PARTS], err_t *err)
{
    uint64_t sizes[PARTS];
    for (int i = 0; i < PARTS; i++) sizes[i] = part[i].n;
    int rc = task_io_write(fd, sizes, sizeof sizes, err);
    for (int i = 0; rc == 0 && i < PARTS; i++) rc = task_io_write(fd, part[i].at, part[i].n, err);
    return rc;
}

static char *write_by_process(const compiler_t *self, const Msg__Sample *job, int in,
                              const compiler_stop_t *stop, err_t *err)
{
    char path[4096], tokens[32], seed[32];
    const char *program = self->program ? self->program : task_io_program(path);
    snprintf(tokens, sizeof tokens, "%u", job->tokens);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)job->seed);
    const char *const argv[WORDS + 1] = {
        program, SAMPLE_COMMAND, self->cache_dir, job->file, job->prompt, tokens, seed, NULL};
    child_limits_t limits = {SAMPLE_SECONDS, self->limits.bytes, "writing a text"};
    int out = memfd_create("text", MFD_CLOEXEC);
    size_t n = 0;
    bool cached;
    char *text = NULL;
    if (out < 0)
        err_set_errno(err, "memfd_create");
    else if (child_run(&limits, (char *const *)argv, in, out, stop ? stop->stopped : NULL,
                       stop ? stop->user : NULL, err) == 0)
        text = (char *)task_io_answer(out, &cached, &n, err);
    if (out >= 0) close(out);
    return text;
}

char *sample_run(const compiler_t *self, const Msg__Sample *job, data_client_t *client,
                 const compiler_stop_t *stop, err_t *err)
{
    part_t part[PARTS] = {{0}};
    int in = memfd_create("model", MFD_CLOEXEC);
    int rc = in < 0 ? err_set_errno(err, "memfd_create") : fetch(job, client, part, err);
    if (rc == 0) rc = put(in, part, err);
    for (int i = 0; i < PARTS; i++) free(part[i].at);
    char *text = rc == 0 ? write_by_process(self, job, in, stop, err) : NULL;
    compiler_prune(self);
    if (in >= 0) close(in);
    return text;
}

/* --- In the process --------------------------------------------------------------------------- */

/* The file of the service, which is ours: NULL with ERR_IO when it cannot be mapped. */
static const uint8_t *map_parts(const uint8_t *part[PARTS], uint64_t sizes[PARTS], err_t *err)
{
    struct stat st;
    size_t n = fstat(CHILD_IN_FD, &st) == 0 ? (size_t)st.st_size : 0;
    uint8_t *all = n > sizeof(uint64_t[PARTS])
                       ? mmap(NULL, n, PROT_READ, MAP_PRIVATE, CHILD_IN_FD, 0)
                       : MAP_FAILED;
    if (all == MAP_FAILED) {
        err_set_errno(err, "a job's file");
        return NULL;
    }
    memcpy(sizes, all, sizeof(uint64_t[PARTS]));
    const uint8_t *at = all + sizeof(uint64_t[PARTS]);
    for (int i = 0; i < PARTS; at += sizes[i++]) part[i] = at;
    return all;
}

static int write_text(char **argv, str_t *text, err_t *err)
{
    const uint8_t *part[PARTS];
    uint64_t sizes[PARTS];
    if (task_io_confine(argv[2], NULL, err) < 0 || !map_parts(part, sizes, err)) return -1;
    safetensors_t *params = safetensors_view(part[0], sizes[0], err);
    if (!params) return -1;
    char *tokenizer = mem_calloc(sizes[2] + 1, 1);
    memcpy(tokenizer, part[2], sizes[2]);
    const infer_source_t model = {
        .text = (const char *)part[1], .n_text = sizes[1], .file = argv[3], .params = params};
    const sample_t sample = {.model = &model,
                             .tokenizer = tokenizer,
                             .prompt = argv[4],
                             .tokens = atoll(argv[5]),
                             .seed = strtoull(argv[6], NULL, 10),
                             .cache_dir = argv[2],
                             .cache_limit = UINT64_MAX}; /* the service prunes */
    int rc = sample_write(&sample, text, err);
    free(tokenizer);
    safetensors_close(&params);
    return rc;
}

int sample_main(int argc, char **argv)
{
    err_t err = {0};
    str_t text = {0};
    if (argc != WORDS) {
        fprintf(stderr, "pcp-compiler: %s is for the compiler itself\n", SAMPLE_COMMAND);
        return 2;
    }
    log_init("compiler", LOG_INFO, LOG_LOGFMT);
    setpriority(PRIO_PROCESS, 0, LOWEST_PRIORITY); /* whoever trains beside it goes first */
    int rc = write_text(argv, &text, &err);
    int status = rc == 0 ? task_io_reply(ERR_OK, false, str_text(&text), text.n)
                         : task_io_reply((int32_t)err.code, false, err.text, strlen(err.text));
    str_fini(&text);
    return status;
}
