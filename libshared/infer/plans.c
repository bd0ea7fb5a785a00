/* The cache of plans around the compiler, and conversions of parameters. */
#include "infer/plans.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/half.h"
#include "base/log.h"
#include "base/mem.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "compile/plan_cache.h"

static char *directory(const char *dir)
{
    if (dir) return *dir ? mem_strdup(dir) : NULL;
    char *cache = file_cache_dir(), *plans = cache ? mem_printf("%s/plans", cache) : NULL;
    free(cache);
    return plans;
}

static char *path_of(const char *dir, const char *what)
{
    char version[HASH_HEX];
    const char *parts[] = {what, target_host()};
    if (plan_cache_version(version, NULL) < 0) return NULL;
    return plan_cache_path(dir, version, parts, sizeof parts / sizeof *parts);
}

static plan_t *read_plan(const char *path)
{
    size_t n = 0;
    uint8_t *bytes = plan_cache_read(path, &n);
    plan_t *plan = bytes ? plan_unpack(bytes, n, NULL) : NULL;
    free(bytes);
    return plan;
}

static void keep_plan(const plan_t *plan, const char *dir, const char *path)
{
    err_t err = {0};
    size_t n = 0;
    uint8_t *bytes = plan_pack(plan, &n, NULL);
    if (file_make_dirs(dir, &err) < 0 || file_write_atomic(path, bytes, n, &err) < 0)
        log_event(LOG_WARN, "cache_not_written", "error=\"%s\"", err.text);
    free(bytes);
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

plan_t *plans_get(const char *what, plans_make_fn *make, void *user, const char *dir,
                  bool *compiled, err_t *err)
{
    char *place = directory(dir), *path = place ? path_of(place, what) : NULL;
    plan_t *plan = path ? read_plan(path) : NULL;
    *compiled = plan == NULL;
    if (!plan) {
        plan = compile_plan(what, make, user, err);
        if (plan && path) keep_plan(plan, place, path);
    }
    free(path);
    free(place);
    return plan;
}

/* --- parameters --- */

static float number_at(const safetensor_t *x, int64_t i)
{
    if (x->dtype == DT_BF16) return half_from_bf16(((const uint16_t *)x->data)[i]);
    if (x->dtype == DT_F16) return half_from_f16(((const uint16_t *)x->data)[i]);
    return ((const float *)x->data)[i];
}

/* The numbers as `want` has them, returns, caller frees; NULL: no such conversion. */
static void *converted(const safetensor_t *x, const plan_tensor_t *want)
{
    bool from = x->dtype == DT_F32 || x->dtype == DT_BF16 || x->dtype == DT_F16;
    int64_t n = ir_type_count(&want->type);
    if (!from || (want->type.dtype != DT_F32 && want->type.dtype != DT_BF16)) return NULL;
    void *out = mem_calloc((size_t)want->n_bytes + 1, 1);
    for (int64_t i = 0; i < n; i++)
        if (want->type.dtype == DT_F32)
            ((float *)out)[i] = number_at(x, i);
        else
            ((uint16_t *)out)[i] = half_to_bf16(number_at(x, i));
    return out;
}

static int load_one(exec_t *exec, int tensor, const plan_tensor_t *want, const safetensor_t *have,
                    err_t *err)
{
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    ir_type_t type = ir_type(have->dtype, have->rank, have->dims);
    bool same = ir_type_equal(&type, &want->type);
    void *other = !same && ir_shape_equal(&type, &want->type) ? converted(have, want) : NULL;
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
        const safetensor_t *have = safetensors_find(params, want->name);
        if (!have) return err_set(err, ERR_CORRUPT, "has no parameter \"%s\"", want->name);
        have = adapters_apply(adapters, have, err);
        if (!have || load_one(exec, i, want, have, err) < 0) return -1;
    }
    return 0;
}
