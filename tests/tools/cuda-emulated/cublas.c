/* libcublas' place in tests without a GPU: the functions that runtime/cuda/cublas.c calls, for matrices in the emulated
 * driver's memory, which is the host's. The driver ($PCP_LIBCUDA) does or records the work, as it does with
 * launches. What cuBLAS would refuse is refused. $PCP_CUBLAS_TOLD names a file that gets a line for each product. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, NOT_INITIALIZED = 1, INVALID = 7, FAILED = 13 };
enum { F32 = 0, BF16 = 14, COMPUTE_F32 = 68, ANY = -1 };

typedef int call_t(void *stream, void (*call)(const void *), const void *what, size_t n);

static struct {
    call_t *call;
    void *stream, *workspace;
} handle;

typedef struct {
    bool trans_a, trans_b, bf16;
    int m, n, k, lda, ldb, ldc, count;
    float alpha, beta;
    const char *a, *b;
    float *c;
    int64_t stride_a, stride_b, stride_c;
} product_t;

/* Element (row, column) of a matrix by columns. */
static double element(const char *at, bool bf16, int64_t i)
{
    uint32_t bits;
    float value;
    if (!bf16) return ((const float *)(const void *)at)[i];
    bits = (uint32_t)((const uint16_t *)(const void *)at)[i] << 16;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static void multiply(const void *what)
{
    product_t p;
    memcpy(&p, what, sizeof p);
    for (int64_t e = 0; e < p.count; e++)
        for (int64_t j = 0; j < p.n; j++)
            for (int64_t i = 0; i < p.m; i++) {
                double sum = 0;
                for (int64_t d = 0; d < p.k; d++)
                    sum += element(p.a, p.bf16,
                                   e * p.stride_a + (p.trans_a ? i * p.lda + d : d * p.lda + i)) *
                           element(p.b, p.bf16,
                                   e * p.stride_b + (p.trans_b ? d * p.ldb + j : j * p.ldb + d));
                float *c = p.c + e * p.stride_c + j * p.ldc + i;
                *c = (float)((double)p.alpha * sum + (p.beta != 0 ? (double)(p.beta * *c) : 0));
            }
}

static bool fits(int ld, int rows)
{
    return ld >= (rows > 1 ? rows : 1);
}

static void tell(const product_t *p)
{
    const char *path = getenv("PCP_CUBLAS_TOLD");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%s %c%c %dx%dx%d x%d\n", p->bf16 ? "bf16" : "f32", p->trans_a ? 't' : 'n',
            p->trans_b ? 't' : 'n', p->m, p->n, p->k, p->count);
    fclose(file);
}

int cublasCreate_v2(void **out)
{
    const char *driver = getenv("PCP_LIBCUDA");
    void *library = driver ? dlopen(driver, RTLD_NOW | RTLD_NOLOAD) : NULL;
    void *at = library ? dlsym(library, "emulated_call") : NULL;
    memcpy(&handle.call, &at, sizeof at);
    *out = &handle;
    return handle.call ? OK : NOT_INITIALIZED;
}

int cublasDestroy_v2(void *self)
{
    return self == &handle ? OK : INVALID;
}

int cublasGetVersion_v2(void *self, int *version)
{
    *version = 120304;
    return self == &handle ? OK : INVALID;
}

int cublasSetStream_v2(void *self, void *stream)
{
    handle.stream = stream;
    return self == &handle && stream ? OK : INVALID;
}

int cublasSetWorkspace_v2(void *self, void *at, size_t n)
{
    handle.workspace = at;
    return self == &handle && at && (uintptr_t)at % 256 == 0 && n > 0 ? OK : INVALID;
}

int cublasGemmStridedBatchedEx(void *self, int trans_a, int trans_b, int m, int n, int k,
                               const float *alpha, const void *a, int type_a, int lda,
                               long long stride_a, const void *b, int type_b, int ldb,
                               long long stride_b, const float *beta, void *c, int type_c, int ldc,
                               long long stride_c, int count, int compute, int algorithm)
{
    product_t p = {.trans_a = trans_a == 1,
                   .trans_b = trans_b == 1,
                   .bf16 = type_a == BF16,
                   .m = m,
                   .n = n,
                   .k = k,
                   .lda = lda,
                   .ldb = ldb,
                   .ldc = ldc,
                   .count = count,
                   .alpha = *alpha,
                   .beta = *beta,
                   .a = a,
                   .b = b,
                   .c = c,
                   .stride_a = stride_a,
                   .stride_b = stride_b,
                   .stride_c = stride_c};
    if (self != &handle || !handle.workspace) return NOT_INITIALIZED;
    if (type_a != type_b || (type_a != F32 && type_a != BF16) || type_c != F32 ||
        compute != COMPUTE_F32 || algorithm != ANY || m < 1 || n < 1 || k < 1 || count < 1 ||
        !fits(lda, p.trans_a ? k : m) || !fits(ldb, p.trans_b ? n : k) || !fits(ldc, m))
        return INVALID;
    tell(&p);
    return handle.call(handle.stream, multiply, &p, sizeof p) == 0 ? OK : FAILED;
}

int cublasGemmEx(void *self, int trans_a, int trans_b, int m, int n, int k, const float *alpha,
                 const void *a, int type_a, int lda, const void *b, int type_b, int ldb,
                 const float *beta, void *c, int type_c, int ldc, int compute, int algorithm)
{
    return cublasGemmStridedBatchedEx(self, trans_a, trans_b, m, n, k, alpha, a, type_a, lda, 0, b,
                                      type_b, ldb, 0, beta, c, type_c, ldc, 0, 1, compute,
                                      algorithm);
}
