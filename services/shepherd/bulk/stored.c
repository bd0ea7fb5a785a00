/* Vectors read from the tensors of a file. */
#include "shepherd/bulk/stored.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

void stored_init(stored_t *self, const layout_t *layout)
{
    self->layout = layout;
    self->tensor = mem_calloc(layout->n + 1, sizeof *self->tensor);
}

void stored_fini(stored_t *self)
{
    free(self->tensor);
}

int stored_take(stored_t *self, size_t param, const safetensor_t *have, const char *path,
                err_t *err)
{
    const layout_tensor_t *want = &self->layout->tensor[param];
    if (!have)
        return err_set(err, ERR_ARG, "%s: has no tensor \"%s\", a parameter of the model", path,
                       want->name);
    bool same = have->rank == want->type.rank && have->dtype == DT_F32;
    for (int d = 0; same && d < have->rank; d++) same = have->dims[d] == want->type.dim[d];
    if (same) {
        self->tensor[param] = have;
        return 0;
    }
    ir_type_t type = {.dtype = have->dtype, .rank = have->rank};
    for (int d = 0; d < have->rank; d++) type.dim[d] = have->dims[d];
    char found[IR_TYPE_TEXT], needed[IR_TYPE_TEXT];
    ir_type_t f32 = ir_type_with(want->type, DT_F32);
    return err_set(err, ERR_SHAPE, "%s: \"%s\" is %s, the model needs %s", path, want->name,
                   ir_type_text(&type, found), ir_type_text(&f32, needed));
}

/* The last parameter that begins at `value` or before: the one with it, but for empty ones. */
static size_t param_of(const layout_t *layout, uint64_t value)
{
    size_t low = 0, high = layout->n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (layout->tensor[middle].begin <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Values [at, at + n). */
static void read_values(const stored_t *self, uint64_t at, float *into, size_t n)
{
    for (size_t i = param_of(self->layout, at); n > 0; i++) {
        const layout_tensor_t *param = &self->layout->tensor[i];
        uint64_t from = at - param->begin, left = param->count - from;
        size_t count = left < n ? (size_t)left : n;
        if (self->tensor[i]) {
            const float *values = (const float *)self->tensor[i]->data + from;
            memcpy(into, values, count * sizeof *into);
            file_pages_forget(values, count * sizeof *into);
        } else {
            memset(into, 0, count * sizeof *into);
        }
        at += count;
        into += count;
        n -= count;
    }
}

/* Chunks of vectors are whole values. */
static int read_vector(void *user, uint64_t at, void *into, size_t n, err_t *err)
{
    if (at % sizeof(float) || n % sizeof(float))
        return err_set(err, ERR_ARG, "bytes %llu + %zu are no values", (unsigned long long)at, n);
    read_values(user, at / sizeof(float), into, n / sizeof(float));
    return 0;
}

source_t stored_source(const stored_t *self)
{
    return (source_t){.n = self->layout->total * sizeof(float),
                      .read = read_vector,
                      .user = (void *)(uintptr_t)self};
}
