/* A module says which weights have adapters; the checkpoint has their values. */
#include "ckpt/adapters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

struct adapters {
    VEC(adapter_t) list;
    safetensor_t merged;
    float *values; /* of merged */
};

static int refuse(const char *weight, const char *what, err_t *err)
{
    return err_set(err, ERR_CORRUPT, "the adapter of \"%s\" %s", weight, what);
}

static bool is_matrix(const safetensor_t *t)
{
    return t && t->dtype == DT_F32 && t->rank == 2;
}

static const safetensor_t *find(const safetensors_t *params, const char *weight, const char *part)
{
    char *name = mem_printf("%s%s", weight, part);
    const safetensor_t *found = safetensors_find(params, name);
    free(name);
    return found;
}

/* `name`: of the argument that has the attribute, "W.lora_A". */
static int add(adapters_t *self, const char *name, const char *text, const safetensors_t *params,
               err_t *err)
{
    adapter_t x = {0};
    int used = 0;
    if (!str_ends(name, ADAPTER_A)) return refuse(name, "is not called W" ADAPTER_A, err);
    char *weight = mem_printf("%.*s", (int)(strlen(name) - strlen(ADAPTER_A)), name);
    x.weight = weight;
    x.a = find(params, weight, ADAPTER_A);
    x.b = find(params, weight, ADAPTER_B);
    int status = 0;
    if (sscanf(text, "%d %lf%n", &x.in, &x.scale, &used) != 2 || text[used] || x.in < 0 || x.in > 1)
        status = refuse(weight, "is not described by its dimension and scale", err);
    else if (!is_matrix(x.a) || !is_matrix(x.b) || x.a->dims[0] != x.b->dims[1])
        status = refuse(weight, "lacks one of its parts, or their shapes do not fit", err);
    if (status == 0)
        VEC_PUSH(&self->list, x);
    else
        free(weight);
    return status;
}

adapters_t *adapters_new(const ir_module_t *module, const safetensors_t *params, err_t *err)
{
    adapters_t *self = mem_calloc(1, sizeof *self);
    err_t none = {0};
    const ir_fn_t *entry = ir_module_entry(module, &none);
    int status = 0;
    for (int i = 0; entry && status == 0 && i < entry->body->n_arg; i++) {
        const char *text = attr_text(&entry->param_attrs[i], ADAPTER_ATTR, NULL);
        if (text)
            status = add(self, attr_text(&entry->param_attrs[i], "pcp.name", ""), text, params,
                         err);
    }
    if (status < 0) adapters_destroy(&self);
    return self;
}

void adapters_destroy(adapters_t **self_p)
{
    adapters_t *self = *self_p;
    *self_p = NULL;
    if (!self) return;
    for (size_t i = 0; i < self->list.n; i++) free((char *)(uintptr_t)self->list.at[i].weight);
    VEC_FREE(&self->list);
    free(self->values);
    free(self);
}

int adapters_count(const adapters_t *self)
{
    return self ? (int)self->list.n : 0;
}

const adapter_t *adapters_at(const adapters_t *self, int i)
{
    return &self->list.at[i];
}

bool adapters_has(const adapters_t *self, const char *name)
{
    for (int i = 0; i < adapters_count(self); i++) {
        const char *weight = self->list.at[i].weight;
        size_t n = strlen(weight);
        if (strncmp(name, weight, n) == 0 &&
            (strcmp(name + n, ADAPTER_A) == 0 || strcmp(name + n, ADAPTER_B) == 0))
            return true;
    }
    return false;
}

/* values[i, j] += scale * sum_r B[o, r] A[r, k], where (o, k) is (i, j), or (j, i) when `in` is 0. */
static void merge(const adapter_t *x, float *values)
{
    int64_t rank = x->a->dims[0], in = x->a->dims[1], out = x->b->dims[0];
    const float *a = x->a->data, *b = x->b->data;
    float *row = mem_calloc((size_t)in + 1, sizeof *row);
    for (int64_t o = 0; o < out; o++) {
        memset(row, 0, (size_t)in * sizeof *row);
        for (int64_t r = 0; r < rank; r++)
            for (int64_t k = 0; k < in; k++) row[k] += b[o * rank + r] * a[r * in + k];
        for (int64_t k = 0; k < in; k++)
            values[x->in == 0 ? k * out + o : o * in + k] += (float)x->scale * row[k];
    }
    free(row);
}

const safetensor_t *adapters_apply(adapters_t *self, const safetensor_t *tensor, err_t *err)
{
    const adapter_t *x = NULL;
    for (int i = 0; i < adapters_count(self) && !x; i++)
        if (strcmp(self->list.at[i].weight, tensor->name) == 0) x = &self->list.at[i];
    if (!x) return tensor;
    bool fits = is_matrix(tensor) && tensor->dims[x->in] == x->a->dims[1] &&
                tensor->dims[!x->in] == x->b->dims[0];
    if (!fits) {
        refuse(tensor->name, "has another shape than the weight", err);
        return NULL;
    }
    if (tensor->n_bytes == 0) return tensor; /* whatever it says of its other dimension */
    free(self->values);
    self->values = mem_calloc(tensor->n_bytes / sizeof(float) + 1, sizeof(float));
    memcpy(self->values, tensor->data, tensor->n_bytes);
    merge(x, self->values);
    self->merged = *tensor;
    self->merged.data = self->values;
    return &self->merged;
}
