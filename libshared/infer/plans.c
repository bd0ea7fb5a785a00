/* The cache of plans around the compiler, and parameters into their tensors. */
#include "infer/plans.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "compile/plan_cache.h"
#include "infer/kept.h"

static char *directory(const char *dir)
{
    if (dir) return *dir ? mem_strdup(dir) : NULL;
    char *cache = file_cache_dir(), *plans = cache ? mem_printf("%s/plans", cache) : NULL;
    free(cache);
    return plans;
}

/* A directory of plans as this program sees it. */
typedef struct {
    char *dir, *path; /* NULL: nothing is kept; of the plan in question */
    uint64_t limit;
} kept_place_t;

static kept_place_t find_place(const plans_place_t *place, const char *what)
{
    kept_place_t self = {.dir = directory(place->dir), .limit = place->limit};
    const char *parts[] = {what, target_host()};
    char version[HASH_HEX];
    if (self.limit == 0) self.limit = PLAN_CACHE_BYTES;
    if (self.dir && plan_cache_version(version, NULL) == 0)
        self.path = plan_cache_path(self.dir, version, parts, sizeof parts / sizeof *parts);
    return self;
}

static plan_t *read_plan(const char *path)
{
    size_t n = 0;
    uint8_t *bytes = plan_cache_read(path, &n);
    plan_t *plan = bytes ? plan_unpack(bytes, n, NULL) : NULL;
    free(bytes);
    return plan;
}

/* Returns that it is in use, or -1. */
static int keep_plan(const plan_t *plan, const kept_place_t *to)
{
    err_t err = {0};
    size_t n = 0;
    uint8_t *bytes = plan_pack(plan, &n, NULL);
    bool kept = file_make_dirs(to->dir, &err) == 0 &&
                file_write_atomic(to->path, bytes, n, &err) == 0;
    free(bytes);
    if (!kept) {
        log_event(LOG_WARN, "cache_not_written", "error=\"%s\"", err.text);
        return -1;
    }
    int use = plan_cache_use(to->path);
    plan_cache_prune(to->dir, to->limit);
    return use;
}

static plan_t *compile_plan(const char *what, plans_make_fn *make, void *user, err_t *err)
{
    char hash[HASH_HEX];
    ir_module_t *module = make(user, err);
    hash_content(what, strlen(what), hash);
    plan_t *plan = module ? compile_module(module, hash, NULL, target_host(), err) : NULL;
    ir_module_destroy(&module);
    return plan;
}

/* Said before it is read: nobody removes it between the two. */
static plan_t *find_plan(const char *path, int *use)
{
    *use = plan_cache_use(path);
    plan_t *plan = read_plan(path);
    if (!plan && *use >= 0) close(*use);
    if (!plan) *use = -1;
    return plan;
}

void plans_done(plans_place_t *self)
{
    if (self->use >= 0) close(self->use);
    self->use = -1;
}

plan_t *plans_get(const char *what, plans_make_fn *make, void *user, plans_place_t *place,
                  bool *compiled, err_t *err)
{
    kept_place_t kept = find_place(place, what);
    place->use = -1;
    plan_t *plan = kept.path ? find_plan(kept.path, &place->use) : NULL;
    *compiled = plan == NULL;
    if (!plan) {
        plan = compile_plan(what, make, user, err);
        if (plan && kept.path) place->use = keep_plan(plan, &kept);
    }
    free(kept.path);
    free(kept.dir);
    return plan;
}

/* --- parameters --- */

static int load_one(exec_t *exec, int tensor, const plan_tensor_t *want, kept_form_t form,
                    const safetensor_t *have, err_t *err)
{
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    ir_type_t type = ir_type(have->dtype, have->rank, have->dims);
    bool same = !form.turned && !form.panels && !form.scales && ir_type_equal(&type, &want->type);
    void *other = same ? NULL : kept_make(want, form, have);
    if (!same && !other)
        return err_set(err, ERR_CORRUPT, "parameter \"%s\" is %s, the model wants %s", want->name,
                       ir_type_text(&type, a), ir_type_text(&want->type, b));
    int status = exec_write(exec, tensor, same ? have->data : other, (size_t)want->n_bytes, err);
    free(other);
    return status;
}

int plans_load(const plan_t *plan, exec_t *exec, const safetensors_t *params, adapters_t *adapters,
               err_t *err)
{
    for (int i = 0; i < plan->n_tensor; i++) {
        const plan_tensor_t *want = &plan->tensor[i];
        if (want->role != ROLE_PARAM) continue;
        kept_form_t form;
        const safetensor_t *have = kept_find(params, want->name, &form);
        if (!have) return err_set(err, ERR_CORRUPT, "has no parameter \"%s\"", want->name);
        have = adapters_apply(adapters, have, err);
        if (!have || load_one(exec, i, want, form, have, err) < 0) return -1;
    }
    return 0;
}
