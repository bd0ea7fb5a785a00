/* The Tiny Shakespeare reference whole, ours and PyTorch: the same first weights, batches and
 * rates, blocks of steps in turn; then the time of all steps and the loss on text that neither has
 * seen. The model is configuration (e) of bench-peers. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "command.h"
#include "peers/ours.h"
#include "peers/peer.h"
#include "runtime/pool.h"

enum { BLOCK_STEPS = 20, WARMUP = 100, VALID_BATCHES = 64, N_BYTE = 256, MAX_STEPS = 100000 };
static const double RATE = 1e-3, LEAST_RATE = 1e-4;
static const gpt2_config_t config = {4, 4, 128, 64, 65, 12, true, false, false};

typedef struct {
    int64_t threads, steps;
    char *precision, *peer_precision, *data, *python;
} options_t;

#define FIELD(f) offsetof(options_t, f)
static const config_field_t fields[] = {
    {"threads", CONFIG_INT, FIELD(threads), "0", "threads of each side; 0: all cores", 0, 1024,
     NULL, false},
    {"steps", CONFIG_INT, FIELD(steps), "2000", "of each side", BLOCK_STEPS, MAX_STEPS, NULL,
     false},
    {"precision", CONFIG_ENUM, FIELD(precision), "f32", "of our matrix products", 0, 0, "f32|bf16",
     false},
    {"peer-precision", CONFIG_ENUM, FIELD(peer_precision), "f32", "of PyTorch's", 0, 0, "f32|bf16",
     false},
    {"data", CONFIG_STRING, FIELD(data), "../shared/data/tiny_shakespeare.txt", "the text", 0, 0,
     NULL, false},
    {"python", CONFIG_STRING, FIELD(python), "/usr/bin/python3", "a Python that has torch", 0, 0,
     NULL, false},
};
static const config_table_t table = {
    .usage =
        "bench-reference [FLAGS]: 4 layers, 128 wide, 12 x 64 characters of Tiny Shakespeare,\n"
        "AdamW with a rate that rises for 100 steps and falls as a cosine",
    .fields = fields,
    .n_fields = sizeof fields / sizeof fields[0],
    .no_env = true,
};

typedef struct {
    double seconds, cpu_seconds, loss;
} total_t;

/* --- the text --------------------------------------------------------------------------------- */

/* Characters by their rank among those that occur; the last tenth validates. Returns, caller frees.
 */
static int32_t *read_text(const char *path, ours_text_t *text, err_t *err)
{
    size_t n;
    int32_t rank[N_BYTE] = {0}, kinds = 0;
    char *bytes = file_read(path, &n, err);
    if (!bytes) return NULL;
    for (size_t i = 0; i < n; i++) rank[(unsigned char)bytes[i]] = 1;
    for (int c = 0; c < N_BYTE; c++) rank[c] = rank[c] ? kinds++ : 0;
    int32_t *token = mem_calloc(n + 1, sizeof *token);
    for (size_t i = 0; i < n; i++) token[i] = rank[(unsigned char)bytes[i]];
    free(bytes);
    text->token = token;
    text->n_valid = (int64_t)n / 10 - 1; /* one more is there to be predicted */
    text->n_train = (int64_t)n - text->n_valid - 1;
    if (kinds <= config.vocab && text->n_valid > 2 * config.block) return token;
    err_set(err, ERR_ARG, "%s: %zu characters of %d kinds, want many of at most %d", path, n,
            (int)kinds, (int)config.vocab);
    free(token);
    return NULL;
}

/* --- both sides ------------------------------------------------------------------------------- */

static int start_ours(peer_t *peer, const options_t *o, const char *dir, int threads, err_t *err)
{
    char count[16], self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return err_set_errno(err, "/proc/self/exe");
    self[n] = 0;
    snprintf(count, sizeof count, "%d", threads);
    char *compile = mem_printf(
        "build/bin/pcp compile %s/model.mlir --output %s/plan --precision %s", dir, dir,
        o->precision);
    char *plan = mem_printf("%s/plan", dir), *start = mem_printf("%s/start.safetensors", dir);
    char *argv[] = {self, "serve", plan, start, count, NULL}, *environment[] = {NULL};
    int status = system(compile) == 0 ? peer_start(peer, "ours", argv, environment, err)
                                      : err_set(err, ERR_STATE, "pcp compile failed, see above");
    free(compile);
    free(plan);
    free(start);
    return status;
}

static int start_theirs(peer_t *peer, const options_t *o, const char *dir, int threads, err_t *err)
{
    char text[4][64];
    snprintf(text[0], 64, "%d", threads);
    snprintf(text[1], 64, "%d", (int)config.layers);
    snprintf(text[2], 64, "%d", (int)config.heads);
    snprintf(text[3], 64, "OMP_NUM_THREADS=%d", threads);
    char *start = mem_printf("%s/start.safetensors", dir);
    char *argv[] = {
        o->python, "tests/bench/peer_torch.py", start, text[0], o->peer_precision, text[1], text[2],
        NULL};
    char *environment[] = {"OMP_WAIT_POLICY=passive", text[3], NULL};
    int status = peer_start(peer, "PyTorch", argv, environment, err);
    free(start);
    return status;
}

static double rate_at(int64_t step, int64_t steps)
{
    if (step < WARMUP) return RATE * (double)(step + BLOCK_STEPS) / (WARMUP + BLOCK_STEPS);
    double done = (double)(step - WARMUP) / (double)(steps > WARMUP ? steps - WARMUP : 1);
    return LEAST_RATE + 0.5 * (RATE - LEAST_RATE) * (1 + cos(acos(-1) * done));
}

static int run_block(peer_t *peer, int n, double rate, total_t *total, err_t *err)
{
    peer_step_t step[BLOCK_STEPS];
    if (peer_run(peer, n, rate, step, err) < 0) return -1;
    for (int i = 0; i < n; i++) {
        total->seconds += step[i].seconds;
        total->cpu_seconds += step[i].cpu_seconds;
    }
    return 0;
}

static int train(const options_t *o, peer_t peer[2], total_t total[2], err_t *err)
{
    for (int64_t at = 0; at < o->steps; at += BLOCK_STEPS) {
        int n = o->steps - at < BLOCK_STEPS ? (int)(o->steps - at) : BLOCK_STEPS;
        int first = at / BLOCK_STEPS % 2 == 1;
        double rate = rate_at(at, o->steps);
        if (run_block(&peer[first], n, rate, &total[first], err) < 0 ||
            run_block(&peer[!first], n, rate, &total[!first], err) < 0)
            return -1;
    }
    for (int i = 0; i < 2; i++)
        if (peer_evaluate(&peer[i], &total[i].loss, err) < 0) return -1;
    return 0;
}

static void print_result(const options_t *o, int threads, const total_t total[2])
{
    printf("Tiny Shakespeare, %d steps, ours in %s, PyTorch in %s, %d threads\n", (int)o->steps,
           o->precision, o->peer_precision, threads);
    printf("| | ours | PyTorch | ratio |\n|---|---|---|---|\n");
    printf("| seconds | %.1f | %.1f | %.2f |\n", total[0].seconds, total[1].seconds,
           total[1].seconds / total[0].seconds);
    printf("| CPU seconds | %.1f | %.1f | %.2f |\n", total[0].cpu_seconds, total[1].cpu_seconds,
           total[1].cpu_seconds / total[0].cpu_seconds);
    printf("| validation loss | %.4f | %.4f | %+.4f off |\n", total[0].loss, total[1].loss,
           total[0].loss - total[1].loss);
}

static int run_in(const options_t *o, const char *dir, err_t *err)
{
    peer_t peer[2] = {{0}};
    total_t total[2] = {{0}};
    int threads = o->threads ? (int)o->threads : pool_cores();
    ours_text_t text = {.batches = o->steps, .valid_batches = VALID_BATCHES};
    int32_t *token = read_text(o->data, &text, err);
    int status = token ? ours_write_model(&config, &text, dir, err) : -1;
    free(token);
    if (status == 0) status = start_ours(&peer[0], o, dir, threads, err);
    if (status == 0) status = start_theirs(&peer[1], o, dir, threads, err);
    if (status == 0) status = train(o, peer, total, err);
    if (status == 0) print_result(o, threads, total);
    for (int i = 0; i < 2; i++) peer_stop(&peer[i]);
    return status;
}

static int run(const void *options, const config_args_t *args, err_t *err)
{
    const options_t *o = options;
    char dir[] = "/tmp/pcp-bench-reference-XXXXXX";
    if (args->n_operands) return err_set(err, ERR_ARG, "no operand is known (try --help)");
    if (access(o->data, R_OK) != 0 || !peer_has_torch(o->python)) {
        printf("bench-reference: skipped, %s is absent or %s has no torch (scripts/setup "
               "--with-peers)\n",
               o->data, o->python);
        return 0;
    }
    if (!mkdtemp(dir)) return err_set_errno(err, "%s", dir);
    int status = run_in(o, dir, err);
    char *command = mem_printf("rm -rf %s", dir);
    if (system(command) != 0) fprintf(stderr, "bench-reference: %s is left\n", dir);
    free(command);
    return status;
}

int main(int argc, char **argv)
{
    options_t options = {0};
    int status = ours_main(argc, argv);
    return status >= 0 ? status
                       : bench_command("bench-reference", &table, &options, argc, argv, run);
}
