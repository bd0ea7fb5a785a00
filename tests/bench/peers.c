/* bench-peers: training steps of our plans and of PyTorch, in turn, block by block, from the same
 * weights on the same batches. Each side is a process of its own, so that its peak memory is its
 * own. First both take a few steps whose losses must agree. Ratios are of a block's medians, by the
 * wall clock and by CPU time, which load from elsewhere disturbs less; what the machine can do at
 * best is measured between the blocks. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "ceiling.h"
#include "codegen/target.h"
#include "command.h"
#include "peers/ours.h"
#include "peers/peer.h"
#include "peers/table.h"
#include "runtime/device.h"

enum { CHECKED = 4, MAX_STEPS = 1000 };

typedef struct {
    int64_t threads, blocks, memory_budget;
    double seconds;
    char *precision, *python, *device, *peer;
    bool peer_compiles;
} options_t;

#define FIELD(f) offsetof(options_t, f)
static const config_field_t fields[] = {
    {"threads", CONFIG_INT, FIELD(threads), "0", "threads of each side; 0: all cores", 0, 1024,
     NULL, false},
    {"precision", CONFIG_ENUM, FIELD(precision), "f32", "of matrix products", 0, 0, "f32|bf16",
     false},
    {"blocks", CONFIG_INT, FIELD(blocks), "5", "blocks of steps of each side, in turn", 1,
     TABLE_MAX_BLOCK, NULL, false},
    {"memory_budget", CONFIG_INT, FIELD(memory_budget), "0",
     "of our plan, as of pcp compile (640Mi); 0: any", 0, 1e15, NULL, false},
    {"seconds", CONFIG_FLOAT, FIELD(seconds), "2", "length of a block, at least one step", 0, 3600,
     NULL, false},
    {"device", CONFIG_STRING, FIELD(device), "cpu",
     "what ours runs on, as pcp devices names it: cuda, vulkan:1", 0, 0, NULL, false},
    {"peer", CONFIG_ENUM, FIELD(peer), "cpu", "what PyTorch runs on", 0, 0, "cpu|cuda", false},
    {"peer_compiles", CONFIG_BOOL, FIELD(peer_compiles), "false",
     "PyTorch's model goes through torch.compile", 0, 0, NULL, false},
    {"python", CONFIG_STRING, FIELD(python), "/usr/bin/python3", "a Python that has torch", 0, 0,
     NULL, false},
};
static const config_table_t table = {
    .usage = "bench-peers [a|b|c|d|e|f ...] [FLAGS]: our training step beside PyTorch's (AdamW,\n"
             "clipping at 1; same weights, batches and losses). Without letters: a to e.\n"
             "  a  GPT-2 124M, 4 x 64 tokens      b  GPT-2 124M, 1 x 1024 tokens\n"
             "  c  2 layers, 64 wide, 64 x 32     d  4 layers, 256 wide, 64 x 128\n"
             "  e  4 layers, 128 wide, 12 x 64: the size of scripts/reference\n"
             "  f  GPT-2 124M, 16 x 1024 tokens: for GPUs",
    .fields = fields,
    .n_fields = sizeof fields / sizeof fields[0],
    .no_env = true,
};

/* layers, heads, width, block, vocab, batch */
static const gpt2_config_t configs[] = {
    {12, 12, 768, 64, 50304, 4, true, false, false},
    {12, 12, 768, 1024, 50304, 1, true, false, false},
    {2, 4, 64, 32, 65, 64, true, false, false},
    {4, 8, 256, 128, 256, 64, true, false, false},
    {4, 4, 128, 64, 65, 12, true, false, false},
    {12, 12, 768, 1024, 50304, 16, true, false, false},
};
enum { N_CONFIG = sizeof configs / sizeof configs[0], N_USUAL = 5 };

typedef struct {
    const options_t *options;
    gpt2_config_t config;
    device_place_t place; /* of ours */
    device_info_t device;
    bool on_device; /* not on processors, both of us */
    int threads;
    const char *dir;
    peer_t ours, theirs;
    pool_t *pool, *one; /* the second of one thread */
    peer_step_t *step;  /* scratch, MAX_STEPS */
    double *seconds;
} duel_t;

/* --- starting both sides ---------------------------------------------------------------------- */

/* pcp compile, as a user would: a process of its own keeps its memory out of the comparison. */
static int compile_plan(const duel_t *d, err_t *err)
{
    char *command = mem_printf(
        "build/bin/pcp compile %s/model.mlir --output %s/plan --precision %s --memory-budget %lld "
        "--target %s",
        d->dir, d->dir, d->options->precision, (long long)d->options->memory_budget,
        d->place.target);
    int status = system(command);
    free(command);
    return status == 0 ? 0 : err_set(err, ERR_STATE, "pcp compile failed, see above");
}

static int start_ours(duel_t *d, err_t *err)
{
    char threads[16], ordinal[16], self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return err_set_errno(err, "/proc/self/exe");
    self[n] = 0;
    snprintf(threads, sizeof threads, "%d", d->threads);
    snprintf(ordinal, sizeof ordinal, "%d", d->place.ordinal);
    char *plan = mem_printf("%s/plan", d->dir), *start = mem_printf("%s/start.safetensors", d->dir);
    char *argv[] = {self, "serve", plan, start, threads, ordinal, NULL}, *environment[] = {NULL};
    int status = peer_start(&d->ours, "ours", argv, environment, err);
    free(plan);
    free(start);
    return status;
}

static int start_theirs(duel_t *d, err_t *err)
{
    char text[5][64];
    snprintf(text[0], 64, "%d", d->threads);
    snprintf(text[1], 64, "%d", d->config.layers);
    snprintf(text[2], 64, "%d", d->config.heads);
    snprintf(text[3], 64, "OMP_NUM_THREADS=%d", d->threads);
    snprintf(text[4], 64, "OPENBLAS_NUM_THREADS=%d", d->threads);
    char *start = mem_printf("%s/start.safetensors", d->dir);
    char *argv[] = {d->options->python,
                    "tests/bench/peer_torch.py",
                    start,
                    text[0],
                    d->options->precision,
                    text[1],
                    text[2],
                    d->options->peer,
                    d->options->peer_compiles ? "compile" : "eager",
                    NULL};
    /* Waiting actively, its threads would take the cores from us in our blocks. */
    char *environment[] = {"OMP_WAIT_POLICY=passive", text[3], text[4], NULL};
    int status = peer_start(&d->theirs, "PyTorch", argv, environment, err);
    free(start);
    return status;
}

/* Multiply-adds of the model's products, forward and twice that backward, two FLOPs each; all of
 * attention's squares, though half of them are masked. What a plan saves of it is its gain. */
static double count_flops(const gpt2_config_t *c)
{
    double tokens = (double)c->batch * c->block, width = c->width;
    double layer = 12 * tokens * width * width + 2 * tokens * c->block * width;
    return 3 * 2 * (c->layers * layer + tokens * width * c->vocab);
}

static int count_work(const duel_t *d, result_t *r, err_t *err)
{
    char *path = mem_printf("%s/plan", d->dir);
    size_t n;
    char *bytes = file_read(path, &n, err);
    plan_t *plan = bytes ? plan_unpack((const uint8_t *)bytes, n, err) : NULL;
    const plan_program_t *train = plan ? plan_find_program(plan, "train") : NULL;
    for (int i = 0; train && i < train->n_step; i++) r->bytes += train->step[i].bytes;
    if (plan) r->peak_ours = (double)plan->arena_bytes / (1 << 20);
    r->tokens = (double)d->config.batch * (double)d->config.block;
    r->flops = count_flops(&d->config);
    plan_destroy(&plan);
    free(bytes);
    free(path);
    return train ? 0 : -1;
}

/* --- measuring -------------------------------------------------------------------------------- */

/* The first steps: the same losses on both sides, up to rounding. bf16 keeps 8 bits of a factor,
 * and the sides round at different places. */
static int check_losses(duel_t *d, result_t *r, err_t *err)
{
    peer_step_t ours[CHECKED], theirs[CHECKED];
    double limit = strcmp(d->options->precision, "f32") == 0 ? 1e-4 : 1e-2;
    if (peer_run(&d->ours, CHECKED, OURS_LEARNING_RATE, ours, err) < 0 ||
        peer_run(&d->theirs, CHECKED, OURS_LEARNING_RATE, theirs, err) < 0)
        return -1;
    for (int i = 0; i < CHECKED; i++) {
        double off = fabs(ours[i].loss - theirs[i].loss) / fabs(theirs[i].loss);
        if (!(off <= limit))
            return err_set(err, ERR_NUMERIC, "step %d: our loss is %.7g, PyTorch's %.7g", i + 1,
                           ours[i].loss, theirs[i].loss);
        if (off > r->deviation) r->deviation = off;
    }
    return 0;
}

/* The median seconds of a step in one block, and those of its CPU time. */
static int run_block(duel_t *d, peer_t *peer, double *each, double *each_cpu, err_t *err)
{
    if (peer_run(peer, 1, OURS_LEARNING_RATE, d->step, err) < 0)
        return -1; /* caches are its own again */
    double left = d->options->seconds / d->step[0].seconds;
    int n = left < 1 ? 1 : left > MAX_STEPS ? MAX_STEPS : (int)left;
    if (peer_run(peer, n, OURS_LEARNING_RATE, d->step, err) < 0) return -1;
    for (int i = 0; i < n; i++) d->seconds[i] = d->step[i].seconds;
    *each = bench_median(d->seconds, n);
    for (int i = 0; i < n; i++) d->seconds[i] = d->step[i].cpu_seconds;
    *each_cpu = bench_median(d->seconds, n);
    return 0;
}

static int run_ours(duel_t *d, result_t *r, int64_t b, err_t *err)
{
    return run_block(d, &d->ours, &r->ours[b], &r->ours_cpu[b], err);
}

/* What is the best that can be done, in these minutes. */
static int find_ceilings(duel_t *d, result_t *r, int64_t b, err_t *err)
{
    if (d->on_device) return peer_ask(&d->theirs, "peak", &r->peak[b], err);
    bool bf16 = strcmp(d->options->precision, "bf16") == 0 && target_caps(target_host()).bf16;
    r->fma[b] = ceiling_flops(d->one, bf16, 5);
    r->sgemm[b] = bench_sgemm_by(bench_cpu_s, d->one, 768, 0.2);
    r->memory[b] = ceiling_memory(d->pool, false);
    return 0;
}

static int run_blocks(duel_t *d, result_t *r, err_t *err)
{
    r->n = (int)d->options->blocks;
    for (int64_t b = 0; b < d->options->blocks; b++) {
        if (find_ceilings(d, r, b, err) < 0) return -1;
        bool first = b % 2 == 0;
        if ((first && run_ours(d, r, b, err) < 0) ||
            run_block(d, &d->theirs, &r->theirs[b], &r->theirs_cpu[b], err) < 0 ||
            (!first && run_ours(d, r, b, err) < 0))
            return -1;
        r->ratio[b] = r->theirs[b] / r->ours[b];
        r->cpu_ratio[b] = r->theirs_cpu[b] / r->ours_cpu[b];
    }
    if (d->on_device) return peer_ask(&d->theirs, "memory", &r->peak_theirs, err);
    r->peak_ours = peer_peak_mib(&d->ours);
    r->peak_theirs = peer_peak_mib(&d->theirs);
    return 0;
}

static int run_config(duel_t *d, char letter, err_t *err)
{
    result_t *r = mem_calloc(1, sizeof *r);
    d->config = configs[letter - 'a'];
    int status = ours_write_model(&d->config, NULL, d->dir, err);
    if (status == 0) status = compile_plan(d, err);
    if (status == 0) status = count_work(d, r, err);
    if (status == 0) status = start_ours(d, err);
    if (status == 0) status = start_theirs(d, err);
    if (status == 0) status = check_losses(d, r, err);
    if (status == 0) status = run_blocks(d, r, err);
    if (status == 0 && d->on_device) table_device_row(letter, d->options->precision, r);
    if (status == 0 && !d->on_device) table_row(letter, d->options->precision, d->threads, r);
    peer_stop(&d->ours);
    peer_stop(&d->theirs);
    free(r);
    return status < 0 ? err_prefix(err, "%c: ", letter) : 0;
}

/* --- the command ------------------------------------------------------------------------------ */

static int check_operands(const config_args_t *args, err_t *err)
{
    for (int i = 0; i < args->n_operands; i++) {
        const char *word = args->operands[i];
        if (word[0] < 'a' || word[0] >= 'a' + N_CONFIG || word[1])
            return err_set(err, ERR_ARG, "\"%s\" is none of a, b, c, d, e, f (try --help)", word);
    }
    return 0;
}

static int run(const void *given, const config_args_t *args, err_t *err)
{
    const options_t *options = given;
    if (check_operands(args, err) < 0) return -1;
    if (!peer_has_torch(options->python)) {
        printf("bench-peers: skipped, %s has no torch: scripts/setup --with-peers\n",
               options->python);
        return 0;
    }
    char dir[] = "/tmp/pcp-bench-peers-XXXXXX";
    if (!mkdtemp(dir)) return err_set_errno(err, "%s", dir);
    duel_t d = {.options = options, .dir = dir};
    d.threads = options->threads ? (int)options->threads : pool_cores();
    d.seconds = mem_calloc(MAX_STEPS, sizeof *d.seconds);
    d.step = mem_calloc(MAX_STEPS, sizeof *d.step);
    d.pool = pool_new(d.threads, false, err);
    d.one = pool_new(1, false, err);
    int status = d.pool && d.one ? device_place(options->device, &d.place, err) : -1;
    if (status == 0) status = device_look(&d.place, &d.device, err);
    d.on_device = status == 0 && strcmp(d.place.ops->prefix, "cpu") != 0;
    if (d.on_device)
        table_device_head(d.device.text, options->peer);
    else if (status == 0)
        table_head();
    for (int i = 0; status == 0 && i < args->n_operands; i++)
        status = run_config(&d, args->operands[i][0], err);
    for (char c = 'a'; status == 0 && args->n_operands == 0 && c < 'a' + N_USUAL; c++)
        status = run_config(&d, c, err);
    pool_destroy(&d.pool);
    pool_destroy(&d.one);
    free(d.seconds);
    free(d.step);
    char *command = mem_printf("rm -rf %s", dir);
    if (system(command) != 0) fprintf(stderr, "bench-peers: %s is left\n", dir);
    free(command);
    return status;
}

int main(int argc, char **argv)
{
    options_t options = {0};
    int status = ours_main(argc, argv);
    return status >= 0 ? status : bench_command("bench-peers", &table, &options, argc, argv, run);
}
