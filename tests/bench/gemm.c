/* bench-gemm: matrix products of transformers by generated kernels and by OpenBLAS, in turn, beside
 * the machine's peaks of f32 multiply-adds and of bf16: which is faster, and what is left. */
#include <stdio.h>
#include <time.h>

#include "ceiling.h"
#include "codegen/c/compiler.h"
#include "codegen/codegen.h"
#include "command.h"
#include "runtime/amx.h"
#include "runtime/code.h"

typedef struct {
    int64_t threads, repeats;
    double seconds;
} options_t;

#define FIELD(f) offsetof(options_t, f)
static const config_field_t fields[] = {
    {"threads", CONFIG_INT, FIELD(threads), "0", "0: all cores", 0, 1024, NULL, false},
    {"repeats", CONFIG_INT, FIELD(repeats), "7", "measurements of each row", 1, 1000, NULL, false},
    {"seconds", CONFIG_FLOAT, FIELD(seconds), "0.01", "length of one measurement", 1e-4, 3600, NULL,
     false},
};
static const config_table_t table = {
    .usage =
        "bench-gemm [TEXT]: GFLOP/s of generated kernels and of OpenBLAS by shape, of those\n"
        "whose name holds TEXT, and their share of the peak: f32 of the multiply-adds, bf16 of\n"
        "the matrix unit or, where there is none, of the dot products of pairs.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof fields[0],
    .no_env = true,
};

/* Operands lie one after another; with heads, entries of A, B and C are column blocks of
 * [batch, rows, inner * columns] buffers. */
typedef struct {
    const char *name;
    int64_t batch, inner, m, n, k;
    bool trans_a, trans_b;
} shape_t;

/* Of the models of bench-peers (docs/performance.md) by letter: each layer's product forward and both
 * of its gradients; products of heads; of few rows. */
static const shape_t shapes[] = {
    {"a qkv nn", 1, 1, 256, 2304, 768, false, false},
    {"a qkv back nt", 1, 1, 256, 768, 2304, false, true},
    {"a qkv weights tn", 1, 1, 768, 2304, 256, true, false},
    {"a attn nn", 1, 1, 256, 768, 768, false, false},
    {"a attn back nt", 1, 1, 256, 768, 768, false, true},
    {"a attn weights tn", 1, 1, 768, 768, 256, true, false},
    {"a fc nn", 1, 1, 256, 3072, 768, false, false},
    {"a fc back nt", 1, 1, 256, 768, 3072, false, true},
    {"a fc weights tn", 1, 1, 768, 3072, 256, true, false},
    {"a proj nn", 1, 1, 256, 768, 3072, false, false},
    {"a proj back nt", 1, 1, 256, 3072, 768, false, true},
    {"a proj weights tn", 1, 1, 3072, 768, 256, true, false},
    {"a logits nt", 1, 1, 256, 50304, 768, false, true},
    {"a logits back nn", 1, 1, 256, 768, 50304, false, false},
    {"a logits weights tn", 1, 1, 50304, 768, 256, true, false},
    {"b qkv nn", 1, 1, 1024, 2304, 768, false, false},
    {"b qkv back nt", 1, 1, 1024, 768, 2304, false, true},
    {"b qkv weights tn", 1, 1, 768, 2304, 1024, true, false},
    {"b attn nn", 1, 1, 1024, 768, 768, false, false},
    {"b attn back nt", 1, 1, 1024, 768, 768, false, true},
    {"b attn weights tn", 1, 1, 768, 768, 1024, true, false},
    {"b fc nn", 1, 1, 1024, 3072, 768, false, false},
    {"b fc back nt", 1, 1, 1024, 768, 3072, false, true},
    {"b fc weights tn", 1, 1, 768, 3072, 1024, true, false},
    {"b proj nn", 1, 1, 1024, 768, 3072, false, false},
    {"b proj back nt", 1, 1, 1024, 3072, 768, false, true},
    {"b proj weights tn", 1, 1, 3072, 768, 1024, true, false},
    {"b logits nt", 1, 1, 1024, 50304, 768, false, true},
    {"b logits back nn", 1, 1, 1024, 768, 50304, false, false},
    {"b logits weights tn", 1, 1, 50304, 768, 1024, true, false},
    {"c qkv nn", 1, 1, 2048, 192, 64, false, false},
    {"c qkv back nt", 1, 1, 2048, 64, 192, false, true},
    {"c qkv weights tn", 1, 1, 64, 192, 2048, true, false},
    {"c attn nn", 1, 1, 2048, 64, 64, false, false},
    {"c attn back nt", 1, 1, 2048, 64, 64, false, true},
    {"c attn weights tn", 1, 1, 64, 64, 2048, true, false},
    {"c fc nn", 1, 1, 2048, 256, 64, false, false},
    {"c fc back nt", 1, 1, 2048, 64, 256, false, true},
    {"c fc weights tn", 1, 1, 64, 256, 2048, true, false},
    {"c proj nn", 1, 1, 2048, 64, 256, false, false},
    {"c proj back nt", 1, 1, 2048, 256, 64, false, true},
    {"c proj weights tn", 1, 1, 256, 64, 2048, true, false},
    {"c logits nt", 1, 1, 2048, 65, 64, false, true},
    {"c logits back nn", 1, 1, 2048, 64, 65, false, false},
    {"c logits weights tn", 1, 1, 65, 64, 2048, true, false},
    {"d qkv nn", 1, 1, 8192, 768, 256, false, false},
    {"d qkv back nt", 1, 1, 8192, 256, 768, false, true},
    {"d qkv weights tn", 1, 1, 256, 768, 8192, true, false},
    {"d attn nn", 1, 1, 8192, 256, 256, false, false},
    {"d attn back nt", 1, 1, 8192, 256, 256, false, true},
    {"d attn weights tn", 1, 1, 256, 256, 8192, true, false},
    {"d fc nn", 1, 1, 8192, 1024, 256, false, false},
    {"d fc back nt", 1, 1, 8192, 256, 1024, false, true},
    {"d fc weights tn", 1, 1, 256, 1024, 8192, true, false},
    {"d proj nn", 1, 1, 8192, 256, 1024, false, false},
    {"d proj back nt", 1, 1, 8192, 1024, 256, false, true},
    {"d proj weights tn", 1, 1, 1024, 256, 8192, true, false},
    {"d logits nt", 1, 1, 8192, 256, 256, false, true},
    {"d logits back nn", 1, 1, 8192, 256, 256, false, false},
    {"d logits weights tn", 1, 1, 256, 256, 8192, true, false},
    {"e qkv nn", 1, 1, 768, 384, 128, false, false},
    {"e qkv back nt", 1, 1, 768, 128, 384, false, true},
    {"e qkv weights tn", 1, 1, 128, 384, 768, true, false},
    {"e attn nn", 1, 1, 768, 128, 128, false, false},
    {"e attn back nt", 1, 1, 768, 128, 128, false, true},
    {"e attn weights tn", 1, 1, 128, 128, 768, true, false},
    {"e fc nn", 1, 1, 768, 512, 128, false, false},
    {"e fc back nt", 1, 1, 768, 128, 512, false, true},
    {"e fc weights tn", 1, 1, 128, 512, 768, true, false},
    {"e proj nn", 1, 1, 768, 128, 512, false, false},
    {"e proj back nt", 1, 1, 768, 512, 128, false, true},
    {"e proj weights tn", 1, 1, 512, 128, 768, true, false},
    {"e logits nt", 1, 1, 768, 65, 128, false, true},
    {"e logits back nn", 1, 1, 768, 128, 65, false, false},
    {"e logits weights tn", 1, 1, 65, 128, 768, true, false},
    {"c scores nt", 64, 4, 32, 32, 16, false, true},
    {"c values nn", 64, 4, 32, 16, 32, false, false},
    {"c values tn", 64, 4, 32, 16, 32, true, false},
    {"d scores nt", 64, 8, 128, 128, 32, false, true},
    {"d values nn", 64, 8, 128, 32, 128, false, false},
    {"e scores nt", 12, 4, 64, 64, 32, false, true},
    {"e values nn", 12, 4, 64, 32, 64, false, false},
    {"a scores nt", 4, 12, 64, 64, 64, false, true},
    {"b scores nt", 1, 12, 1024, 1024, 64, false, true},
    {"b values nn", 1, 12, 1024, 64, 1024, false, false},
    {"row nn", 1, 1, 1, 1024, 256, false, false},
    {"rows nt", 1, 1, 4, 1024, 256, false, true},
};
enum { N_SHAPE = sizeof shapes / sizeof shapes[0] };

enum { PEAK_TRIES = 20 };

enum { OWN, BLAS, HALF, WOVEN, N_WAY }; /* own kernels with bf16 operands, and with B woven */

/* A product with its kernel; without one where the target has none (bf16) or the sum is odd. */
typedef struct {
    product_t product;
    kernel_t *kernel;
    plan_kernel_fn *fn;
} own_t;

typedef struct {
    const shape_t *shape;
    own_t own[N_WAY]; /* but for BLAS */
    char *arena;
    double *seconds[N_WAY]; /* per call */
} row_t;

/* A call of one of the ways. */
typedef struct {
    row_t *row;
    int way;
} call_t;

static int64_t place(int64_t at, int64_t count)
{
    return (at + 4 * count + 4095) / 4096 * 4096 + 64; /* no two operands a page apart */
}

static plan_gemm_step_t step_of(const shape_t *x, int64_t *n_bytes)
{
    bool heads = x->inner > 1;
    int64_t rows_a = x->trans_a ? x->k : x->m, cols_a = x->trans_a ? x->m : x->k;
    int64_t rows_b = x->trans_b ? x->n : x->k, cols_b = x->trans_b ? x->k : x->n;
    plan_gemm_step_t s = {.dtype = DT_F32,
                          .batch = x->batch,
                          .inner = x->inner,
                          .m = x->m,
                          .n = x->n,
                          .k = x->k,
                          .trans_a = x->trans_a,
                          .trans_b = x->trans_b};
    int64_t i = x->inner;
    s.lda = cols_a * (heads ? i : 1), s.inner_a = cols_a, s.stride_a = rows_a * cols_a * i;
    s.ldb = cols_b * (heads ? i : 1), s.inner_b = cols_b, s.stride_b = rows_b * cols_b * i;
    s.ldc = x->n * (heads ? i : 1), s.inner_c = x->n, s.stride_c = x->m * x->n * i;
    s.b = place(0, s.stride_a * x->batch);
    s.c = place(s.b, s.stride_b * x->batch);
    *n_bytes = place(s.c, s.stride_c * x->batch);
    return s;
}

static void run_part(void *context, int64_t begin, int64_t end, int worker)
{
    const call_t *call = context;
    const own_t *own = &call->row->own[call->way];
    const plan_gemm_step_t *s = &own->product.step;
    (void)worker;
    own->fn(call->row->arena, (const int64_t[]){s->a, s->b, s->c}, begin, end);
}

static void run_call(call_t *call, pool_t *pool)
{
    const row_t *row = call->row;
    if (call->way == BLAS)
        gemm_run(pool, row->arena, &row->own[OWN].product.step);
    else
        pool_run(pool, run_part, call, tiles_n_part(&row->own[call->way].product), 1);
}

/* Seconds of processor time, summed over the threads. */
static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of the fastest call in a row of them: what other load on the machine does not reach. */
static double time_of(call_t call, pool_t *pool, double seconds)
{
    bool alone = pool_threads(pool) == 1; /* then other load does not count either */
    double start = alone ? cpu_s() : clock_mono_s(), last = start, best = 1e9;
    for (int n = 0; last - start < seconds || n < 3; n++) {
        run_call(&call, pool);
        double now = alone ? cpu_s() : clock_mono_s();
        if (now - last < best) best = now - last;
        last = now;
    }
    return best;
}

static void open_own(own_t *own, const plan_gemm_step_t *step, bool bf16, bool woven)
{
    own->product.step = *step;
    own->product.step.bf16 = bf16;
    own->product.step.woven = woven;
    if (!tiles_cut(&own->product.tiles, &own->product.step, target_caps(target_host()))) return;
    own->kernel = kernel_new();
    own->kernel->kind = KERNEL_PRODUCT;
    own->kernel->product = &own->product;
}

static void open_row(row_t *row, const shape_t *shape, int64_t repeats)
{
    int64_t n_bytes;
    plan_gemm_step_t step = step_of(shape, &n_bytes);
    row->shape = shape;
    row->arena = aligned_alloc(4096, (size_t)(n_bytes + 4095) / 4096 * 4096);
    if (!row->arena) mem_fail((size_t)n_bytes);
    for (int64_t i = 0; i < n_bytes / 4; i++) ((float *)row->arena)[i] = (float)(i % 13) - 6;
    for (int w = 0; w < N_WAY; w++) row->seconds[w] = mem_calloc((size_t)repeats, sizeof(double));
    open_own(&row->own[OWN], &step, false, false);
    open_own(&row->own[HALF], &step, true, false);
    bool weight = !step.trans_a && step.batch * step.inner == 1;
    if (weight && target_caps(target_host()).matrix) open_own(&row->own[WOVEN], &step, true, true);
}

static void close_row(row_t *row)
{
    for (int w = 0; w < N_WAY; w++) {
        kernel_destroy(&row->own[w].kernel);
        free(row->seconds[w]);
    }
    free(row->arena);
}

/* Compile all kernels into one object. */
static code_t *compile(row_t *rows, int n_row, err_t *err)
{
    const kernel_t *kernels[N_WAY * N_SHAPE];
    own_t *own[N_WAY * N_SHAPE];
    codegen_t gen = {0};
    code_t *code = NULL;
    size_t n_bytes = 0;
    int n = 0;
    double start = clock_mono_s();
    for (int i = 0; i < N_WAY * n_row; i++) {
        own[n] = &rows[i / N_WAY].own[i % N_WAY];
        if (own[n]->kernel) kernels[n] = own[n]->kernel, n++;
    }
    const target_t *target = target_find(target_host(), err);
    int status = target ? codegen_init(&gen, target, n, kernels, err) : -1;
    uint8_t *bytes = status == 0 ? codegen_compile(&gen, &n_bytes, err) : NULL;
    if (bytes) code = code_load(bytes, n_bytes, err);
    for (int i = 0; code && i < n; i++) {
        void *address = code_symbol(code, gen.name[gen.symbol[i]], err);
        memcpy(&own[i]->fn, &address, sizeof address);
    }
    printf("# %d kernels of %zu bytes, compiled in %.2f s\n", n, n_bytes, clock_mono_s() - start);
    codegen_fini(&gen);
    free(bytes);
    return code;
}

static void print_half(double rate, double peak)
{
    printf(" %8.1f %6.1f%%", rate, 100 * rate / peak);
}

static void report_row(row_t *row, int repeats, double peak, double half_peak)
{
    const shape_t *x = row->shape;
    const tiles_t *t = &row->own[OWN].product.tiles;
    char sizes[64];
    double flops = 2e-9 * (double)(x->batch * x->inner * x->m) * (double)(x->n * x->k);
    double own = flops / bench_median(row->seconds[OWN], repeats);
    double blas = flops / bench_median(row->seconds[BLAS], repeats);
    snprintf(sizes, sizeof sizes, "%lld %lld %lld %lld", (long long)(x->batch * x->inner),
             (long long)x->m, (long long)x->n, (long long)x->k);
    printf("%-20s %-22s %8.1f %8.1f %6.2f %6.1f%%", x->name, sizes, own, blas, own / blas,
           100 * own / peak);
    for (int w = HALF; w < N_WAY; w++) {
        if (row->own[w].fn)
            print_half(flops / bench_median(row->seconds[w], repeats), half_peak);
        else
            printf(" %8s %7s", "-", "-");
    }
    printf("  %dx%d%s%s\n", t->rows, t->cols, t->pack_a ? " a" : "", t->pack_b ? " b" : "");
}

static int measure(row_t *rows, int n, pool_t *pool, const options_t *options, err_t *err)
{
    int repeats = (int)options->repeats;
    code_t *code = compile(rows, n, err);
    int rc = code && blas_open(target_host(), err) == 0 ? 0 : -1;
    if (rc == 0 && target_caps(target_host()).matrix) rc = amx_enable(err);
    for (int r = 0; rc == 0 && r < repeats; r++)
        for (int i = 0; i < n; i++)
            for (int w = 0; w < N_WAY; w++)
                if (w == BLAS || rows[i].own[w].fn)
                    rows[i].seconds[w][r] = time_of((call_t){&rows[i], w}, pool, options->seconds);
    if (rc == 0) {
        double rate = ceiling_flops(pool, false, PEAK_TRIES);
        double half = ceiling_flops(pool, true, PEAK_TRIES);
        printf("\npeaks of %d threads: %.1f GFLOP/s of f32 multiply-adds, %.1f of bf16\n\n",
               pool_threads(pool), rate, half);
        printf("%-20s %-22s %8s %8s %6s %7s %8s %7s %8s %7s  %s\n", "product", "entries m n k",
               "own", "blas", "ratio", "of peak", "bf16", "of peak", "woven", "of peak",
               "tile, copies");
        for (int i = 0; i < n; i++) report_row(&rows[i], repeats, rate, half);
    }
    code_destroy(&code);
    return rc;
}

static int run(const void *given, const config_args_t *args, err_t *err)
{
    const options_t *options = given;
    const char *wanted = args->n_operands ? args->operands[0] : NULL;
    static row_t rows[N_SHAPE];
    int n = 0, threads = options->threads ? (int)options->threads : pool_cores();
    for (int i = 0; i < N_SHAPE; i++)
        if (!wanted || strstr(shapes[i].name, wanted))
            open_row(&rows[n++], &shapes[i], options->repeats);
    if (n == 0)
        return err_set(err, ERR_ARG, "no product has \"%s\" in its name; without it all are listed",
                       wanted);
    pool_t *pool = pool_new(threads, false, err);
    int rc = pool ? measure(rows, n, pool, options, err) : -1;
    for (int i = 0; i < n; i++) close_row(&rows[i]);
    pool_destroy(&pool);
    return rc;
}

int main(int argc, char **argv)
{
    options_t options = {0};
    return bench_command("bench-gemm", &table, &options, argc, argv, run);
}
