/* Renders kernels, merges equal ones and spreads them over a few units for the compiler. */
#include "codegen/codegen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "codegen/backend.h"

enum { KERNELS_PER_UNIT = 12, MAX_UNITS = 16 };

static int find_text(const codegen_t *self, const char *text)
{
    for (int i = 0; i < self->n_symbol; i++)
        if (strcmp(self->text[i], text) == 0) return i;
    return -1;
}

static void add_kernel(codegen_t *self, const backend_t *backend, int i, const kernel_t *kernel)
{
    str_t text = {0};
    backend->render(kernel, &self->helpers, &text);
    int at = find_text(self, str_text(&text));
    if (at < 0) {
        at = self->n_symbol++;
        self->text[at] = mem_strdup(str_text(&text));
        uint64_t hash = hash_fast(text.at, text.n);
        self->name[at] = mem_printf("k%d_%08" PRIx32, at, (uint32_t)(hash ^ hash >> 32));
    }
    self->symbol[i] = at;
    str_fini(&text);
}

static int check_kernel(const target_t *target, const backend_t *backend, const kernel_t *kernel,
                        err_t *err)
{
    const char *label = kernel->label ? kernel->label : "(no label)", *why = NULL;
    char room[96];
    if (!backend->supports(kernel->kind))
        return err_set(err, ERR_UNSUPPORTED, "target %s has no code for kernels of kind %s: %s",
                       target->name, kernel_kind_name(kernel->kind), label);
    if (backend->refuses) why = backend->refuses(target, kernel, room, sizeof room);
    return why ? err_set(err, ERR_UNSUPPORTED, "target %s has no %s: %s", target->name, why, label)
               : 0;
}

int codegen_init(codegen_t *self, const target_t *target, int n_kernel,
                 const kernel_t *const *kernels, err_t *err)
{
    const backend_t *backend = target_backend(target);
    size_t space = (size_t)n_kernel + 1;
    *self = (codegen_t){.target = target};
    for (int i = 0; i < n_kernel; i++)
        if (check_kernel(target, backend, kernels[i], err) < 0) return -1;
    self->name = mem_calloc(space, sizeof *self->name);
    self->text = mem_calloc(space, sizeof *self->text);
    self->symbol = mem_calloc(space, sizeof *self->symbol);
    for (int i = 0; i < n_kernel; i++) add_kernel(self, backend, i, kernels[i]);
    return 0;
}

void codegen_fini(codegen_t *self)
{
    for (int i = 0; i < self->n_symbol; i++) {
        free(self->name[i]);
        free(self->text[i]);
    }
    free(self->name);
    free(self->text);
    free(self->symbol);
    helpers_fini(&self->helpers);
    *self = (codegen_t){0};
}

static void print_symbol(const codegen_t *self, int i, str_t *out)
{
    const backend_t *backend = target_backend(self->target);
    if (backend->symbol) {
        backend->symbol(self->name[i], self->text[i], out);
        return;
    }
    str_addf(out, "void %s", self->name[i]);
    str_add(out, self->text[i]);
    str_add(out, "\n");
}

void codegen_print(const codegen_t *self, str_t *out)
{
    target_backend(self->target)->head(out, self->n_symbol, self->text);
    helpers_print(&self->helpers, out);
    for (int i = 0; i < self->n_symbol; i++) print_symbol(self, i, out);
}

uint8_t *codegen_compile(const codegen_t *self, size_t *n_bytes, err_t *err)
{
    const backend_t *backend = target_backend(self->target);
    *n_bytes = 0;
    if (self->n_symbol == 0) return mem_calloc(1, 1);
    int each = backend->per_source > 0 ? backend->per_source : KERNELS_PER_UNIT;
    int n_unit = (self->n_symbol + each - 1) / each;
    if (backend->per_source == 0 && n_unit > MAX_UNITS) n_unit = MAX_UNITS;
    str_t *units = mem_calloc((size_t)n_unit, sizeof *units);
    const char **text = mem_calloc((size_t)n_unit, sizeof *text);
    for (int u = 0; u < n_unit; u++) {
        char **own = mem_calloc((size_t)self->n_symbol, sizeof *own);
        int n_own = 0;
        for (int i = u; i < self->n_symbol; i += n_unit) own[n_own++] = self->text[i];
        backend->head(&units[u], n_own, own);
        free(own);
        helpers_print(&self->helpers, &units[u]);
    }
    for (int i = 0; i < self->n_symbol; i++) print_symbol(self, i, &units[i % n_unit]);
    for (int u = 0; u < n_unit; u++) text[u] = str_text(&units[u]);
    uint8_t *code = backend->compile(self->target, n_unit, text, n_bytes, err);
    if (!code)
        err_prefix(err, "target %s (%s names a compiler for it): ", self->target->name,
                   backend->compiler);
    for (int u = 0; u < n_unit; u++) str_fini(&units[u]);
    free(units);
    free(text);
    return code;
}
