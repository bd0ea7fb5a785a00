/* Tensors: counted, dense, in memory of their own, of the caller's, or of the tensor that a view was made of. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/mem.h"
#include "base/rng.h"
#include "runtime/device.h"

static pcp_tensor_t *tensor_of(const ir_type_t *type)
{
    pcp_tensor_t *self = api_alloc(sizeof *self);
    atomic_init(&self->holders, 1);
    self->value.type = *type;
    self->shown = api_type_out(type);
    return self;
}

static void own(pcp_tensor_t *self, void *data, size_t n_bytes)
{
    self->own = self->value.data = data;
    self->n_own = n_bytes;
    api_hold(n_bytes);
}

pcp_tensor_t *pcp_tensor_new(const pcp_type_t *type, pcp_error_t *error)
{
    err_t *err = api_err(error);
    ir_type_t in;
    char text[IR_TYPE_TEXT];
    if (api_type_in(type, &in, err) < 0) return NULL;
    size_t n = (size_t)ir_type_bytes(&in);
    void *data = n <= device_machine_bytes() ? calloc(n ? n : 1, 1) : NULL;
    if (!data) {
        err_set(err, ERR_MEMORY, "no memory for %s: %zu bytes", ir_type_text(&in, text), n);
        return NULL;
    }
    pcp_tensor_t *self = tensor_of(&in);
    own(self, data, n);
    return self;
}

pcp_tensor_t *api_tensor_take(tensor_t *value)
{
    pcp_tensor_t *self = tensor_of(&value->type);
    size_t n = (size_t)ir_type_bytes(&value->type), width = dtype_bytes(value->type.dtype);
    if (value->splat) {
        char *dense = mem_calloc(n ? n : 1, 1);
        for (size_t at = 0; at < n; at += width) memcpy(dense + at, value->data, width);
        tensor_fini(value);
        value->data = dense;
    }
    own(self, value->data, n);
    *value = (tensor_t){0};
    return self;
}

static int check_size(const ir_type_t *type, size_t n_bytes, err_t *err)
{
    char text[IR_TYPE_TEXT];
    size_t want = (size_t)ir_type_bytes(type);
    if (want == n_bytes) return 0;
    return err_set(err, ERR_SHAPE, "%zu bytes given; %s takes %zu", n_bytes,
                   ir_type_text(type, text), want);
}

pcp_tensor_t *pcp_tensor_from(const pcp_type_t *type, const void *bytes, size_t n_bytes,
                              pcp_error_t *error)
{
    err_t *err = api_err(error);
    ir_type_t in;
    if (api_type_in(type, &in, err) < 0 || check_size(&in, n_bytes, err) < 0) return NULL;
    pcp_tensor_t *self = pcp_tensor_new(type, error);
    if (self && n_bytes) memcpy(self->value.data, bytes, n_bytes);
    return self;
}

pcp_tensor_t *pcp_tensor_around(const pcp_type_t *type, void *bytes, size_t n_bytes,
                                void (*release)(void *user), void *user, pcp_error_t *error)
{
    err_t *err = api_err(error);
    ir_type_t in;
    if (api_type_in(type, &in, err) < 0 || check_size(&in, n_bytes, err) < 0) return NULL;
    pcp_tensor_t *self = tensor_of(&in);
    self->value.data = bytes;
    self->release = release;
    self->user = user;
    return self;
}

pcp_tensor_t *pcp_tensor_view(pcp_tensor_t *of, const pcp_type_t *type, int64_t first,
                              pcp_error_t *error)
{
    err_t *err = api_err(error);
    ir_type_t in;
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    if (api_type_in(type, &in, err) < 0) return NULL;
    int64_t have = ir_type_count(&of->value.type), want = ir_type_count(&in);
    if (in.dtype != of->value.type.dtype || first < 0 || first > have || want > have - first) {
        err_set(
            err, in.dtype != of->value.type.dtype ? ERR_TYPE : ERR_SHAPE,
            "%s from element %lld on is no view of %s: same element type, and not beyond its end",
            ir_type_text(&in, a), (long long)first, ir_type_text(&of->value.type, b));
        return NULL;
    }
    pcp_tensor_t *self = tensor_of(&in);
    self->of = pcp_tensor_retain(of);
    self->value.data = (char *)of->value.data + (size_t)first * dtype_bytes(in.dtype);
    return self;
}

pcp_tensor_t *pcp_tensor_retain(pcp_tensor_t *self)
{
    atomic_fetch_add(&self->holders, 1);
    return self;
}

void pcp_tensor_release(pcp_tensor_t **self_p)
{
    pcp_tensor_t *self = self_p ? *self_p : NULL;
    if (!self) return;
    *self_p = NULL;
    if (atomic_fetch_sub(&self->holders, 1) > 1) return;
    pcp_tensor_release(&self->of);
    if (self->release) self->release(self->user);
    free(self->own);
    api_let_go(self->n_own);
    api_free(self, sizeof *self);
}

const pcp_type_t *pcp_tensor_type(const pcp_tensor_t *self)
{
    return &self->shown;
}

void *pcp_tensor_data(pcp_tensor_t *self)
{
    return self->value.data;
}

const void *pcp_tensor_bytes(const pcp_tensor_t *self)
{
    return self->value.data;
}

size_t pcp_tensor_size(const pcp_tensor_t *self)
{
    return (size_t)ir_type_bytes(&self->value.type);
}

/* --- elements --- */

static bool has(const pcp_tensor_t *self, int64_t i)
{
    return i >= 0 && i < ir_type_count(&self->value.type);
}

double pcp_tensor_get(const pcp_tensor_t *self, int64_t i)
{
    return has(self, i) ? tensor_get_f64(&self->value, i) : NAN;
}

/* An integer that the type holds, the nearest to `value`. */
static int64_t nearest(dtype_t dtype, double value)
{
    int bits = dtype_bits(dtype);
    bool is_signed = dtype_is_signed(dtype);
    double high = ldexp(1, bits - is_signed), low = is_signed ? -high : 0;
    if (isnan(value)) return 0;
    value = nearbyint(value);
    if (value < low) return (int64_t)low;
    if (value >= high) return (int64_t)(UINT64_MAX >> (64 - bits + is_signed));
    return value >= 0x1p63 ? (int64_t)(uint64_t)value : (int64_t)value;
}

static void set(pcp_tensor_t *self, int64_t i, double value)
{
    dtype_t dtype = self->value.type.dtype;
    if (dtype_is_inexact(dtype))
        tensor_set_f64(&self->value, i, value);
    else
        tensor_set_i64(&self->value, i, nearest(dtype, value));
}

void pcp_tensor_set(pcp_tensor_t *self, int64_t i, double value)
{
    if (has(self, i)) set(self, i, value);
}

double pcp_tensor_imag(const pcp_tensor_t *self, int64_t i)
{
    return has(self, i) ? tensor_get_imag(&self->value, i) : NAN;
}

void pcp_tensor_set_complex(pcp_tensor_t *self, int64_t i, double re, double im)
{
    if (!has(self, i)) return;
    if (dtype_is_complex(self->value.type.dtype))
        tensor_set_complex(&self->value, i, re, im);
    else
        set(self, i, re);
}

void pcp_tensor_fill(pcp_tensor_t *self, double value)
{
    int64_t n = ir_type_count(&self->value.type);
    for (int64_t i = 0; i < n; i++) set(self, i, value);
}

void pcp_tensor_uniform(pcp_tensor_t *self, uint64_t seed, double low, double high)
{
    int64_t n = ir_type_count(&self->value.type);
    for (int64_t i = 0; i < n; i++)
        set(self, i, low + (high - low) * rng_uniform(seed, (uint64_t)i));
}

void pcp_tensor_normal(pcp_tensor_t *self, uint64_t seed, double mean, double deviation)
{
    int64_t n = ir_type_count(&self->value.type);
    for (int64_t i = 0; i < n; i++) set(self, i, mean + deviation * rng_normal(seed, (uint64_t)i));
}
