/* The table of backends, and targets by name. */
#include "codegen/backend.h"

#include <stdlib.h>
#include <string.h>

static const backend_t *const backends[] = {&backend_cpu, &backend_c, &backend_vulkan,
                                            &backend_cuda, &backend_hip};
enum { N_BACKEND = sizeof backends / sizeof *backends };

const target_t *target_row(int i)
{
    for (int b = 0; b < N_BACKEND; b++) {
        if (i < backends[b]->n_target) return i < 0 ? NULL : &backends[b]->targets[i];
        i -= backends[b]->n_target;
    }
    return NULL;
}

static const target_t *find(const char *name)
{
    const target_t *t;
    for (int i = 0; name && (t = target_row(i)); i++)
        if (strcmp(t->name, name) == 0) return t;
    return NULL;
}

const target_t *target_find(const char *name, err_t *err)
{
    const target_t *found = find(name), *t;
    if (found) return found;
    str_t known = {0};
    for (int i = 0; (t = target_row(i)); i++) str_addf(&known, "%s%s", i ? ", " : "", t->name);
    err_set(err, ERR_ARG, "unknown target \"%s\"; known: %s", name ? name : "(none)",
            str_text(&known));
    str_fini(&known);
    return NULL;
}

const backend_t *target_backend(const target_t *self)
{
    for (int b = 0; b < N_BACKEND; b++)
        if (self >= backends[b]->targets && self < backends[b]->targets + backends[b]->n_target)
            return backends[b];
    return NULL;
}

static const target_t *best_of(const backend_t *backend)
{
    return backend->best ? backend->best() : NULL;
}

const char *target_host(void)
{
    const char *wanted = getenv("PCP_TARGET");
    if (wanted && *wanted) return wanted;
    const target_t *best = NULL;
    for (int b = 0; !best && b < N_BACKEND; b++) best = best_of(backends[b]);
    return best->name; /* the portable one runs everywhere */
}

const target_t *target_best(const char *prefix)
{
    for (int b = 0; b < N_BACKEND; b++)
        if (strcmp(backends[b]->prefix, prefix) == 0) return best_of(backends[b]);
    return NULL;
}

int target_runs_here(const char *target, err_t *err)
{
    const target_t *t = target_find(target, err);
    if (!t) return -1;
    const backend_t *backend = target_backend(t);
    return backend->runs_here ? backend->runs_here(t, err) : 0;
}

caps_t target_caps(const char *target)
{
    const target_t *t = find(target);
    return t ? t->caps : CAPS_USUAL;
}
