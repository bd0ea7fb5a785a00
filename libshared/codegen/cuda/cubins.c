/* Plan code for CUDA and HIP, little-endian, each part padded to 4 bytes: magic, version, kernels, modules; of
 * each kernel: module, arguments, threads, block, blocks, and its name with a 0 behind it (bytes,
 * then these); of each module: its bytes, then these with a 0 behind them. */
#include "codegen/cuda/cubins.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum {
    MAGIC = 0x43504350, /* "PCPC" */
    VERSION = 1,
    HEAD = 4,       /* words */
    OF_KERNEL = 6,  /* words before the name */
    MAX_NAME = 256, /* with its 0 */
};

/* --- Writing ---------------------------------------------------------------------------------- */

static void add_words(str_t *out, int n, const uint32_t *word)
{
    str_addn(out, (const char *)word, (size_t)n * sizeof *word);
}

/* With a 0 behind them, padded. */
static void add_bytes(str_t *out, const void *bytes, size_t n)
{
    static const char zeros[4] = {0};
    str_addn(out, bytes, n);
    str_addn(out, zeros, 4 - n % 4);
}

/* The renderer's lines "// kernel NAME" and "// threads 1, block 256, blocks 0, arguments 3". Returns
 * how many kernels the source has; -1. */
static int add_kernels(str_t *out, const char *source, uint32_t module, err_t *err)
{
    int n = 0;
    for (const char *at = source; (at = strstr(at, "\n// kernel ")); at++) {
        uint32_t threads, block, blocks, n_arg;
        char name[MAX_NAME] = "";
        if (sscanf(at,
                   "\n// kernel %255s\n// threads %" SCNu32 ", block %" SCNu32 ", blocks %" SCNu32
                   ", arguments %" SCNu32,
                   name, &threads, &block, &blocks, &n_arg) != 5)
            return err_set(err, ERR_STATE, "a kernel that does not say how it is launched: %s",
                           name);
        const uint32_t word[OF_KERNEL] = {module, n_arg,  threads,
                                          block,  blocks, (uint32_t)strlen(name)};
        add_words(out, OF_KERNEL, word);
        add_bytes(out, name, strlen(name));
        n++;
    }
    return n;
}

uint8_t *cubins_compile(cubins_run_fn *run, const char *arch, int n, const char *const *source,
                        size_t *n_bytes, err_t *err)
{
    str_t kernels = {0}, all = {0};
    uint8_t **module = mem_calloc((size_t)n + 1, sizeof *module), *bytes = NULL;
    size_t *size = mem_calloc((size_t)n + 1, sizeof *size);
    int status = run(arch, n, source, module, size, err), n_kernel = 0;
    for (int i = 0; status == 0 && i < n; i++) {
        int more = add_kernels(&kernels, source[i], (uint32_t)i, err);
        status = more < 0 ? -1 : 0;
        n_kernel += more;
    }
    if (status == 0) {
        const uint32_t head[HEAD] = {MAGIC, VERSION, (uint32_t)n_kernel, (uint32_t)n};
        add_words(&all, HEAD, head);
        str_addn(&all, kernels.at, kernels.n);
        for (int i = 0; i < n; i++) {
            const uint32_t word = (uint32_t)size[i];
            add_words(&all, 1, &word);
            add_bytes(&all, module[i], size[i]);
        }
        *n_bytes = all.n;
        bytes = mem_calloc(1, all.n);
        memcpy(bytes, all.at, all.n);
    }
    for (int i = 0; i < n; i++) free(module[i]);
    free(module);
    free(size);
    str_fini(&kernels);
    str_fini(&all);
    return bytes;
}

/* --- Reading ---------------------------------------------------------------------------------- */

typedef struct {
    uint8_t *at;
    size_t left;
    bool short_of; /* somebody wanted more than there is */
} reader_t;

static uint32_t next(reader_t *r)
{
    uint32_t word = 0;
    if (r->left < sizeof word) {
        r->short_of = true;
        return 0;
    }
    memcpy(&word, r->at, sizeof word);
    r->at += sizeof word;
    r->left -= sizeof word;
    return word;
}

/* n bytes with a 0 behind them, padded; NULL: there are not so many, or no 0. */
static uint8_t *next_bytes(reader_t *r, size_t n)
{
    uint8_t *at = r->at;
    size_t all = n + 4 - n % 4;
    if (r->short_of || all > r->left || at[n] != 0) return NULL;
    r->at += all;
    r->left -= all;
    return at;
}

static int read_kernel(reader_t *r, cubin_kernel_t *k, uint32_t n_module, err_t *err)
{
    uint32_t n_name;
    k->module = next(r);
    k->n_arg = next(r);
    k->threads = next(r);
    k->block = next(r);
    k->blocks = next(r);
    n_name = next(r);
    if (r->short_of || k->module >= n_module || k->n_arg > CUBINS_MAX_ARGS || k->threads == 0 ||
        k->threads > (1u << 24) || k->block == 0 || k->block > CUBINS_MAX_BLOCK ||
        k->blocks > INT32_MAX || n_name >= MAX_NAME)
        return err_set(
            err, ERR_CORRUPT,
            "code of modules: a kernel of module %u with %u arguments, %u threads, blocks "
            "of %u",
            k->module, k->n_arg, k->threads, k->block);
    k->name = (const char *)next_bytes(r, n_name);
    if (!k->name || strlen(k->name) != n_name)
        return err_set(err, ERR_CORRUPT, "code of modules: a kernel without a name");
    return 0;
}

static int read_module(reader_t *r, cubin_module_t *m, err_t *err)
{
    m->n_bytes = next(r);
    m->bytes = next_bytes(r, m->n_bytes);
    if (!m->bytes || m->n_bytes < 4)
        return err_set(err, ERR_CORRUPT, "code of modules: a module of %zu bytes, %zu are left",
                       m->n_bytes, r->left);
    return 0;
}

int cubins_load(cubins_t *self, const uint8_t *bytes, size_t n_bytes, err_t *err)
{
    *self = (cubins_t){.copy = mem_calloc(1, n_bytes + 1)};
    memcpy(self->copy, bytes, n_bytes);
    reader_t r = {.at = self->copy, .left = n_bytes};
    uint32_t magic = next(&r), version = next(&r), n_kernel = next(&r), n_module = next(&r);
    if (r.short_of || magic != MAGIC || version != VERSION)
        return err_set(err, ERR_CORRUPT, "the code is none for CUDA or HIP of version %d", VERSION);
    if (n_kernel > r.left / (OF_KERNEL * 4) || n_module > r.left / 4)
        return err_set(err, ERR_CORRUPT, "code of modules: %u kernels, %u modules in %zu bytes",
                       n_kernel, n_module, n_bytes);
    self->kernel = mem_calloc((size_t)n_kernel + 1, sizeof *self->kernel);
    self->module = mem_calloc((size_t)n_module + 1, sizeof *self->module);
    self->n_kernel = (int)n_kernel;
    self->n_module = (int)n_module;
    for (uint32_t i = 0; i < n_kernel; i++)
        if (read_kernel(&r, &self->kernel[i], n_module, err) < 0) return -1;
    for (uint32_t i = 0; i < n_module; i++)
        if (read_module(&r, &self->module[i], err) < 0) return -1;
    return r.left == 0 ? 0
                       : err_set(err, ERR_CORRUPT, "code of modules: %zu bytes too many", r.left);
}

void cubins_fini(cubins_t *self)
{
    free(self->kernel);
    free(self->module);
    free(self->copy);
    *self = (cubins_t){0};
}

const cubin_kernel_t *cubins_find(const cubins_t *self, const char *name)
{
    for (int i = 0; i < self->n_kernel; i++)
        if (strcmp(self->kernel[i].name, name) == 0) return &self->kernel[i];
    return NULL;
}
