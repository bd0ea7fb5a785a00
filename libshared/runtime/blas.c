/* Loading OpenBLAS. It reads its environment when it is loaded and never again. */
#include "runtime/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char library_name[] = "libopenblas.so.0";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *library; /* stays for the life of the process, as its buffers do */
static blas_t loaded;

/* The name OpenBLAS has for kernels that need no more than the target offers; NULL: its own choice.
 */
static const char *core_of(const char *target)
{
    static const struct {
        const char *target, *core;
    } cores[] = {
        {"cpu:x86-64", "Prescott"},         {"cpu:x86-64-v2", "Nehalem"},
        {"cpu:x86-64-v3", "Haswell"},       {"cpu:x86-64-v4", "SkylakeX"},
        {"cpu:x86-64-v4-2m", "SkylakeX"},   {"cpu:x86-64-v4-vnni", "SkylakeX"},
        {"cpu:x86-64-v4-bf16", "SkylakeX"}, {"cpu:x86-64-v4-bf16-wide", "SkylakeX"},
        {"cpu:x86-64-v4-amx", "SkylakeX"},  {"cpu:aarch64", "ARMV8"},
    };
    for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++) {
        if (strcmp(cores[i].target, target) == 0) return cores[i].core;
    }
    return NULL;
}

static void *load(const char *target)
{
    static const char threads[] = "OPENBLAS_NUM_THREADS", core_type[] = "OPENBLAS_CORETYPE";
    const char *core = getenv(core_type) ? NULL : core_of(target), *had = getenv(threads);
    char *before = had ? strdup(had) : NULL;
    if (core) setenv(core_type, core, 1);
    setenv(threads, "1", 1);
    void *handle = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (core) unsetenv(core_type);
    if (before)
        setenv(threads, before, 1);
    else
        unsetenv(threads);
    free(before);
    return handle;
}

/* C has no cast from data to code. */
static int find(void *function, const char *name, err_t *err)
{
    void *address = dlsym(library, name);
    if (!address) return err_set(err, ERR_IO, "%s has no %s", library_name, name);
    memcpy(function, &address, sizeof address);
    return 0;
}

int blas_open(const char *target, err_t *err)
{
    int rc = 0;
    pthread_mutex_lock(&lock);
    if (!library) library = load(target);
    if (!library)
        rc = err_set(err, ERR_IO, "matrix products need %s (package libopenblas0): %s",
                     library_name, dlerror());
    else if (!loaded.dgemm && (find(&loaded.sgemm, "cblas_sgemm", err) < 0 ||
                               find(&loaded.dgemm, "cblas_dgemm", err) < 0))
        rc = -1;
    pthread_mutex_unlock(&lock);
    return rc;
}

const blas_t *blas(void)
{
    return &loaded;
}
