/* Tables of measured choices: name and place, reading, what is absent, writing. */
#include "tools/tuning.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "codegen/c/product.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "runtime/device.h"
#include "runtime/pool.h"
#include "tools/tuning_measure.h"

static int threads_of(const tuning_t *self)
{
    return self->threads > 0 ? self->threads : pool_cores();
}

/* The generator's version is what it generates: the text of a few kernels, small and large ones. */
static uint64_t kernel_version(const char *target)
{
    str_t text = {0};
    helpers_t helpers = {0};
    for (int i = 0; i < 4; i++) {
        int64_t n = i < 2 ? 100 : 1000;
        product_t p = {.step = {.dtype = DT_F32,
                                .batch = 1,
                                .inner = 1,
                                .m = n,
                                .n = n,
                                .k = n,
                                .lda = n,
                                .ldb = n,
                                .ldc = n,
                                .trans_b = i % 2 > 0}};
        if (tiles_cut(&p.tiles, &p.step, target_caps(target))) product_render(&p, &helpers, &text);
    }
    helpers_print(&helpers, &text);
    uint64_t hash = hash_fast(str_text(&text), text.n);
    helpers_fini(&helpers);
    str_fini(&text);
    return hash;
}

/* What the table is of, as the comment at its head and as the name of its file. */
static char *title(const tuning_t *self)
{
    device_info_t info;
    device_cpu.info(0, &info);
    return mem_printf("# %s\n# %s, %d threads, kernels %016llx\n", info.text, self->target,
                      threads_of(self), (unsigned long long)kernel_version(self->target));
}

static char *directory(const tuning_t *self, err_t *err)
{
    char *dir = self->dir ? mem_strdup(self->dir) : file_cache_dir();
    if (!dir)
        err_set(err, ERR_ARG,
                "no place for measured tables: neither XDG_CACHE_HOME nor HOME is set");
    return dir;
}

char *tuning_path(const tuning_t *self, err_t *err)
{
    char *dir = directory(self, err), *text = dir ? title(self) : NULL, *path = NULL;
    if (text) {
        uint64_t hash = hash_fast(text, strlen(text));
        path = mem_printf("%s/tune-%016llx.txt", dir, (unsigned long long)hash);
    }
    free(text);
    free(dir);
    return path;
}

static tune_t *load(const char *path, err_t *err)
{
    if (!file_exists(path)) return tune_new();
    size_t n;
    char *text = file_read(path, &n, err);
    tune_t *table = text ? tune_parse(text, err) : NULL;
    if (!table) err_prefix(err, "%s: ", path);
    free(text);
    return table;
}

static int save(const tuning_t *self, const tune_t *table, const char *path, err_t *err)
{
    char *head = title(self), *dir = directory(self, err);
    str_t text = {0};
    int status = dir ? file_make_dirs(dir, err) : -1;
    str_add(&text, head);
    tune_print(table, &text);
    if (status == 0) status = file_write_atomic(path, str_text(&text), text.n, err);
    str_fini(&text);
    free(head);
    free(dir);
    return status;
}

/* The first of each kind that the table lacks: product[] in front, their number. */
static int list_absent(const tune_t *table, const plan_gemm_step_t *all, int n,
                       plan_gemm_step_t *absent)
{
    tile_choice_t choice;
    tune_t *seen = tune_new();
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (all[i].m < 1 || all[i].n < 1 || all[i].k < 1) continue; /* nothing to choose */
        if (tune_find(table, &all[i], &choice) || tune_find(seen, &all[i], &choice)) continue;
        tune_set(seen, &all[i], &(tile_choice_t){0});
        absent[count++] = all[i];
    }
    tune_destroy(&seen);
    return count;
}

tune_t *tuning_of_products(const tuning_t *self, const plan_gemm_step_t *product, int n,
                           int *n_measured, err_t *err)
{
    if (target_runs_here(self->target, err) < 0) return NULL;
    char *path = tuning_path(self, err);
    tune_t *table = path ? load(path, err) : NULL;
    plan_gemm_step_t *absent = mem_calloc((size_t)n + 1, sizeof *absent);
    int n_absent = table ? list_absent(table, product, n, absent) : 0;
    if (n_absent > 0 &&
        (tuning_measure(table, absent, n_absent, self->target, threads_of(self), err) < 0 ||
         save(self, table, path, err) < 0))
        tune_destroy(&table);
    if (n_measured) *n_measured = n_absent;
    free(absent);
    free(path);
    return table;
}

tune_t *tuning_of_text(const tuning_t *self, const char *text, size_t n_text, const char *file_name,
                       const train_spec_t *spec, int *n_measured, err_t *err)
{
    int n = 0;
    plan_gemm_step_t *product = compile_products(text, n_text, file_name, spec, self->target, &n,
                                                 err);
    tune_t *table = product ? tuning_of_products(self, product, n, n_measured, err) : NULL;
    free(product);
    return table;
}
