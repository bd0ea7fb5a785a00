/* cuBLAS by dlopen. It has matrices by columns: a row-major C = A B is its C' = B' A', and our buffers are the transposed
 * matrices as they lie. */
#include "runtime/cuda/cublas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Of cuBLAS' and CUDA's documented, stable ABIs. */
enum {
    BLAS_SUCCESS = 0,
    NOT_TRANSPOSED = 0,
    TRANSPOSED = 1,
    REAL_F32 = 0,
    REAL_BF16 = 14,
    COMPUTE_F32 = 68,
    ALGORITHM_ANY = -1,
    WORKSPACE_BYTES = 32 << 20, /* what cuBLAS recommends for sm_90, others want less */
};

typedef struct cublas_handle *handle_t;
typedef int64_t wide_t; /* long long of the ABI */

/* X(name, symbol, parameters); A, B and C as cuBLAS calls them. */
#define BLAS_FUNCTIONS(X)                                                                         \
    X(create, "cublasCreate_v2", (handle_t *))                                                    \
    X(destroy, "cublasDestroy_v2", (handle_t))                                                    \
    X(get_version, "cublasGetVersion_v2", (handle_t, int *))                                      \
    X(set_stream, "cublasSetStream_v2", (handle_t, cu_stream_t))                                  \
    X(set_workspace, "cublasSetWorkspace_v2", (handle_t, cu_address_t, size_t))                   \
    X(one, "cublasGemmEx",                                                                        \
      (handle_t, int trans_a, int trans_b, int m, int n, int k, const float *alpha,               \
       cu_address_t a, int type_a, int lda, cu_address_t b, int type_b, int ldb,                  \
       const float *beta, cu_address_t c, int type_c, int ldc, int compute, int algorithm))       \
    X(many, "cublasGemmStridedBatchedEx",                                                         \
      (handle_t, int trans_a, int trans_b, int m, int n, int k, const float *alpha,               \
       cu_address_t a, int type_a, int lda, wide_t stride_a, cu_address_t b, int type_b, int ldb, \
       wide_t stride_b, const float *beta, cu_address_t c, int type_c, int ldc, wide_t stride_c,  \
       int count, int compute, int algorithm))

struct cublas {
    const api_t *api;
    void *library;
    handle_t handle;
    cu_address_t workspace;
    char title[32];
#define X(name, symbol, parameters) int(*name) parameters;
    BLAS_FUNCTIONS(X)
#undef X
};

#define X(name, symbol, parameters) {offsetof(cublas_t, name), symbol},
static const struct {
    size_t at; /* in cublas_t */
    const char *symbol;
} functions[] = {BLAS_FUNCTIONS(X)};
#undef X

static int check(int result, const char *what, err_t *err)
{
    if (result == BLAS_SUCCESS) return 0;
    return err_set(err, ERR_DEVICE, "cuBLAS: %s: status %d", what, result);
}

/* --- The library ------------------------------------------------------------------------------ */

/* The name that the driver's variable has for it; NULL: any will do. */
static const char *named(const driver_t *driver)
{
    const char *name = driver->blas_variable ? getenv(driver->blas_variable) : NULL;
    return name && *name ? name : NULL;
}

static int find_functions(cublas_t *self, err_t *err)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *at = dlsym(self->library, functions[i].symbol);
        if (!at)
            return err_set(err, ERR_UNSUPPORTED, "cuBLAS has no %s: 11.0 or newer has",
                           functions[i].symbol);
        memcpy((char *)self + functions[i].at, &at, sizeof at);
    }
    return 0;
}

static int make_handle(cublas_t *self, cu_stream_t stream, err_t *err)
{
    int version = 0;
    if (check(self->create(&self->handle), "a handle", err) < 0 ||
        check(self->get_version(self->handle, &version), "its version", err) < 0 ||
        check(self->set_stream(self->handle, stream), "its stream", err) < 0)
        return -1;
    snprintf(self->title, sizeof self->title, "cuBLAS %d.%d.%d", version / 10000,
             version / 100 % 100, version % 100);
    cu_result_t result = self->api->memory_new(&self->workspace, WORKSPACE_BYTES);
    if (cuda_api_check(self->api, result, "memory for cuBLAS", err) < 0) return -1;
    return check(self->set_workspace(self->handle, self->workspace, WORKSPACE_BYTES),
                 "its workspace", err);
}

/* *out NULL and 0: there is no such library. Like the driver, it has threads and memory that would outlive it: what was loaded
 * stays. */
static int open_one(cublas_t **out, const char *name, const api_t *api, cu_stream_t stream,
                    err_t *err)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    *out = NULL;
    if (!library) return 0;
    cublas_t *self = mem_calloc(1, sizeof *self);
    self->api = api;
    self->library = library;
    if (find_functions(self, err) == 0 && make_handle(self, stream, err) == 0) {
        *out = self;
        return 0;
    }
    cublas_close(&self);
    return -1;
}

static int open_named(cublas_t **out, const char *name, const api_t *api, cu_stream_t stream,
                      err_t *err)
{
    const char *variable = api->driver->blas_variable;
    if (open_one(out, name, api, stream, err) < 0) return err_prefix(err, "%s: ", variable);
    return *out ? 0 : err_set(err, ERR_UNSUPPORTED, "%s: %s", variable, dlerror());
}

int cublas_open(cublas_t **out, const api_t *api, cu_stream_t stream, err_t *err)
{
    const char *name = named(api->driver);
    *out = NULL;
    if (name && strcmp(name, "none") == 0) return 0;
    if (name) return open_named(out, name, api, stream, err);
    /* One that happens to be there may be of no use with this driver: an older one then is. */
    for (int i = 0; !*out && api->driver->blas_library[i]; i++)
        if (open_one(out, api->driver->blas_library[i], api, stream, err) < 0) err_clear(err);
    return 0;
}

const char *cublas_title(const cublas_t *self)
{
    return self ? self->title : NULL;
}

void cublas_close(cublas_t **self_p)
{
    cublas_t *self = *self_p;
    if (!self) return;
    if (self->handle) self->destroy(self->handle);
    if (self->workspace) self->api->memory_free(self->workspace);
    dlclose(self->library);
    free(self);
    *self_p = NULL;
}

/* --- Products --------------------------------------------------------------------------------- */

bool cublas_takes(const cublas_t *self, const plan_gemm_step_t *s)
{
    if (!self || s->dtype != DT_F32 || s->woven) return false;
    const int64_t number[] = {s->m, s->n, s->k, s->lda, s->ldb, s->ldc, s->batch, s->inner};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (number[i] < 1 || number[i] > INT32_MAX) return false;
    return s->batch <= INT32_MAX / s->inner;
}

/* Where the entries of an operand lie: first, and from one to the next. */
typedef struct {
    cu_address_t at;
    int64_t stride;
} entries_t;

static int multiply(const cublas_t *self, const plan_gemm_step_t *s, int64_t count, entries_t a,
                    entries_t b, entries_t c, err_t *err)
{
    const float one = 1, beta = s->accumulate ? 1 : 0;
    const int type = s->bf16 ? REAL_BF16 : REAL_F32, m = (int)s->n, n = (int)s->m, k = (int)s->k,
              trans_a = s->trans_b ? TRANSPOSED : NOT_TRANSPOSED,
              trans_b = s->trans_a ? TRANSPOSED : NOT_TRANSPOSED, lda = (int)s->ldb,
              ldb = (int)s->lda, ldc = (int)s->ldc;
    int result = count == 1
                     ? self->one(self->handle, trans_a, trans_b, m, n, k, &one, b.at, type, lda,
                                 a.at, type, ldb, &beta, c.at, REAL_F32, ldc, COMPUTE_F32,
                                 ALGORITHM_ANY)
                     : self->many(self->handle, trans_a, trans_b, m, n, k, &one, b.at, type, lda,
                                  b.stride, a.at, type, ldb, a.stride, &beta, c.at, REAL_F32, ldc,
                                  c.stride, (int)count, COMPUTE_F32, ALGORITHM_ANY);
    return check(result, "a product", err);
}

int cublas_queue(const cublas_t *self, cu_address_t arena, const plan_gemm_step_t *s, err_t *err)
{
    /* One call for as many entries as have one stride: the inner ones, or, of one each, the outer. */
    bool flat = s->inner == 1;
    const uint64_t of_factor = s->bf16 ? 2 : 4, of_c = 4;
    int64_t calls = flat ? 1 : s->batch, count = flat ? s->batch : s->inner;
    for (int64_t o = 0; o < calls; o++) {
        const uint64_t from = (uint64_t)o;
        const entries_t a = {arena + (uint64_t)s->a + from * (uint64_t)s->stride_a * of_factor,
                             flat ? s->stride_a : s->inner_a},
                        b = {arena + (uint64_t)s->b + from * (uint64_t)s->stride_b * of_factor,
                             flat ? s->stride_b : s->inner_b},
                        c = {arena + (uint64_t)s->c + from * (uint64_t)s->stride_c * of_c,
                             flat ? s->stride_c : s->inner_c};
        if (multiply(self, s, count, a, b, c, err) < 0) return -1;
    }
    return 0;
}
