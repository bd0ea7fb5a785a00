/* bench-gemm: matrix products of transformers by generated kernels and by OpenBLAS, in turn, beside
 * the machine's fused multiply-add peak: which is faster, and what is left. */
#include <stdio.h>
#include <time.h>

#include "base/config.h"
#include "bench.h"
#include "codegen/codegen.h"
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
    .usage = "bench-gemm [TEXT]: GFLOP/s of generated kernels and of OpenBLAS by shape, of those\n"
             "whose name holds TEXT, and their share of the multiply-add peak.",
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

static const shape_t shapes[] = {
    {"small fc forward nn", 1, 1, 2048, 256, 64, false, false},
    {"small fc forward nt", 1, 1, 2048, 256, 64, false, true},
    {"small fc weights tn", 1, 1, 64, 256, 2048, true, false},
    {"small fc weights tn'", 1, 1, 256, 64, 2048, true, false},
    {"small proj nn", 1, 1, 2048, 64, 256, false, false},
    {"small proj nt", 1, 1, 2048, 64, 256, false, true},
    {"small qkv nt", 1, 1, 2048, 192, 64, false, true},
    {"small qkv nn", 1, 1, 2048, 64, 192, false, false},
    {"small qkv weights tn", 1, 1, 192, 64, 2048, true, false},
    {"small attn nt", 1, 1, 2048, 64, 64, false, true},
    {"small attn weights tn", 1, 1, 64, 64, 2048, true, false},
    {"small logits nt", 1, 1, 2048, 65, 64, false, true},
    {"small logits nn", 1, 1, 2048, 64, 65, false, false},
    {"small logits weights tn", 1, 1, 65, 64, 2048, true, false},
    {"small scores nt", 64, 4, 32, 32, 16, false, true},
    {"small values nn", 64, 4, 32, 16, 32, false, false},
    {"small values tn", 64, 4, 32, 16, 32, true, false},
    {"4x128 fc forward nn", 1, 1, 768, 512, 128, false, false},
    {"4x128 fc forward nt", 1, 1, 768, 512, 128, false, true},
    {"4x128 fc back nt", 1, 1, 768, 128, 512, false, true},
    {"4x128 fc weights tn", 1, 1, 512, 128, 768, true, false},
    {"4x128 scores nt", 12, 4, 64, 64, 32, false, true},
    {"4x128 values nn", 12, 4, 64, 32, 64, false, false},
    {"medium fc forward nt", 1, 1, 8192, 1024, 256, false, true},
    {"medium fc back nn", 1, 1, 8192, 256, 1024, false, false},
    {"medium fc weights tn", 1, 1, 256, 1024, 8192, true, false},
    {"medium scores nt", 64, 4, 128, 128, 64, false, true},
    {"medium values nn", 64, 4, 128, 64, 128, false, false},
    {"gpt2 fc forward nn", 1, 1, 256, 3072, 768, false, false},
    {"gpt2 fc back nt", 1, 1, 256, 768, 3072, false, true},
    {"gpt2 fc weights tn", 1, 1, 768, 3072, 256, true, false},
    {"gpt2 logits nt", 1, 1, 256, 50257, 768, false, true},
    {"row nn", 1, 1, 1, 1024, 256, false, false},
    {"rows nt", 1, 1, 4, 1024, 256, false, true},
};
enum { N_SHAPE = sizeof shapes / sizeof shapes[0], MAX_REPEATS = 1000 };

typedef struct {
    const shape_t *shape;
    product_t product;
    kernel_t *kernel;
    char *arena;
    plan_kernel_fn *fn;
    double *own, *blas; /* seconds per call */
} row_t;

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
    const row_t *row = context;
    const plan_gemm_step_t *s = &row->product.step;
    (void)worker;
    row->fn(row->arena, (const int64_t[]){s->a, s->b, s->c}, begin, end);
}

static void run_own(row_t *row, pool_t *pool)
{
    pool_run(pool, run_part, row, tiles_n_part(&row->product), 1);
}

static void run_blas(row_t *row, pool_t *pool)
{
    gemm_run(pool, row->arena, &row->product.step);
}

/* Seconds of processor time, summed over the threads. */
static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of the fastest call in a row of them: what other load on the machine does not reach. */
static double time_of(void (*run)(row_t *, pool_t *), row_t *row, pool_t *pool, double seconds)
{
    bool alone = pool_threads(pool) == 1; /* then other load does not count either */
    double start = alone ? cpu_s() : clock_mono_s(), last = start, best = 1e9;
    for (int n = 0; last - start < seconds || n < 3; n++) {
        run(row, pool);
        double now = alone ? cpu_s() : clock_mono_s();
        if (now - last < best) best = now - last;
        last = now;
    }
    return best;
}

static int open_row(row_t *row, const shape_t *shape, int64_t repeats)
{
    int64_t n_bytes;
    row->shape = shape;
    row->product.step = step_of(shape, &n_bytes);
    row->arena = aligned_alloc(4096, (size_t)(n_bytes + 4095) / 4096 * 4096);
    if (!row->arena) mem_fail((size_t)n_bytes);
    for (int64_t i = 0; i < n_bytes / 4; i++) ((float *)row->arena)[i] = (float)(i % 13) - 6;
    row->own = mem_calloc((size_t)repeats, sizeof(double));
    row->blas = mem_calloc((size_t)repeats, sizeof(double));
    row->kernel = kernel_new();
    row->kernel->product = &row->product;
    return tiles_cut(&row->product.tiles, &row->product.step, target_simd(target_host())) ? 0 : -1;
}

/* Compile all kernels into one object. */
static code_t *compile(row_t *rows, int n, err_t *err)
{
    const kernel_t *kernels[N_SHAPE];
    codegen_t gen;
    code_t *code = NULL;
    size_t n_bytes = 0;
    double start = clock_mono_s();
    for (int i = 0; i < n; i++) kernels[i] = rows[i].kernel;
    codegen_init(&gen, n, kernels);
    uint8_t *bytes = codegen_compile(&gen, target_host(), &n_bytes, err);
    if (bytes) code = code_load(bytes, n_bytes, err);
    for (int i = 0; code && i < n; i++) {
        void *address = code_symbol(code, gen.name[gen.symbol[i]], err);
        memcpy(&rows[i].fn, &address, sizeof address);
    }
    printf("# %d kernels of %zu bytes, compiled in %.2f s\n", n, n_bytes, clock_mono_s() - start);
    codegen_fini(&gen);
    free(bytes);
    return code;
}

static void report(row_t *rows, int n, int repeats, double peak)
{
    printf("\nmultiply-add peak: %.1f GFLOP/s\n\n%-26s %-24s %8s %8s %6s %7s\n", peak, "product",
           "entries m n k", "own", "blas", "ratio", "of peak");
    for (int i = 0; i < n; i++) {
        const shape_t *x = rows[i].shape;
        const tiles_t *t = &rows[i].product.tiles;
        char sizes[64];
        double flops = 2e-9 * (double)(x->batch * x->inner * x->m) * (double)(x->n * x->k);
        double own = flops / bench_median(rows[i].own, repeats);
        double blas = flops / bench_median(rows[i].blas, repeats);
        snprintf(sizes, sizeof sizes, "%lld %lld %lld %lld", (long long)(x->batch * x->inner),
                 (long long)x->m, (long long)x->n, (long long)x->k);
        printf("%-26s %-24s %8.1f %8.1f %6.2f %6.1f%%  %dx%d%s%s\n", x->name, sizes, own, blas,
               own / blas, 100 * own / peak, t->rows, t->cols, t->pack_a ? " a" : "",
               t->pack_b ? " b" : "");
    }
}

static int run(const options_t *options, const char *wanted, err_t *err)
{
    static row_t rows[N_SHAPE];
    int n = 0, rc = 0, repeats = (int)options->repeats;
    int threads = options->threads ? (int)options->threads : pool_cores();
    pool_t *pool = pool_new(threads, false, err);
    for (int i = 0; i < N_SHAPE; i++)
        if (!wanted || strstr(shapes[i].name, wanted))
            rc |= open_row(&rows[n++], &shapes[i], options->repeats);
    code_t *code = pool && rc == 0 ? compile(rows, n, err) : NULL;
    if (!code || blas_open(target_host(), err) < 0) rc = -1;
    for (int r = 0; rc == 0 && r < repeats; r++)
        for (int i = 0; i < n; i++) {
            rows[i].own[r] = time_of(run_own, &rows[i], pool, options->seconds);
            rows[i].blas[r] = time_of(run_blas, &rows[i], pool, options->seconds);
        }
    if (rc == 0) report(rows, n, repeats, 118.0 * threads);
    for (int i = 0; i < n; i++) {
        kernel_destroy(&rows[i].kernel);
        free(rows[i].arena);
        free(rows[i].own);
        free(rows[i].blas);
    }
    code_destroy(&code);
    pool_destroy(&pool);
    return rc;
}

int main(int argc, char **argv)
{
    options_t options = {0};
    config_args_t args = {0};
    err_t err = {0};
    int rc = config_load(&table, &options, NULL, argc, argv, &args, &err);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (rc == 0 && args.help)
        config_help(&table, stdout);
    else if (rc == 0)
        rc = run(&options, args.n_operands ? args.operands[0] : NULL, &err);
    if (rc < 0) fprintf(stderr, "bench-gemm: %s\n", err.text);
    config_args_fini(&args);
    config_fini(&table, &options);
    return rc < 0;
}
