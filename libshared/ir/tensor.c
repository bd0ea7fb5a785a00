/* Dense host tensors: typed loads and stores by element index. */
#include "ir/tensor.h"

#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/mem.h"
#include "base/small_float.h"

static size_t data_bytes(const ir_type_t *type, bool splat)
{
    int64_t n = splat ? 1 : ir_type_count(type);
    return (size_t)n * dtype_bytes(type->dtype);
}

/* Room for all elements, and for one when there are none: a splat may come to stand there. */
static size_t room_bytes(const ir_type_t *type)
{
    size_t n = data_bytes(type, false);
    return n ? n : dtype_bytes(type->dtype);
}

tensor_t tensor_new(const ir_type_t *type)
{
    return (tensor_t){.type = *type, .data = mem_calloc(room_bytes(type), 1)};
}

void tensor_fini(tensor_t *self)
{
    free(self->data);
    self->data = NULL;
}

tensor_t tensor_in(arena_t *arena, const ir_type_t *type)
{
    return (tensor_t){.type = *type, .data = arena_alloc(arena, room_bytes(type))};
}

static tensor_t splat_in(arena_t *arena, const ir_type_t *type)
{
    return (tensor_t){
        .type = *type, .splat = true, .data = arena_alloc(arena, data_bytes(type, true))};
}

tensor_t tensor_splat_f64(arena_t *arena, const ir_type_t *type, double value)
{
    tensor_t t = splat_in(arena, type);
    tensor_set_f64(&t, 0, value);
    return t;
}

tensor_t tensor_splat_i64(arena_t *arena, const ir_type_t *type, int64_t value)
{
    tensor_t t = splat_in(arena, type);
    tensor_set_i64(&t, 0, value);
    return t;
}

/* --- Floats of a byte and less --- */

static double small_value(dtype_t dtype, uint8_t code)
{
    const dtype_format_t *f = dtype_format(dtype);
    return pcp_small_float_value(code, f->exp_bits, f->man_bits, f->bias, f->kind);
}

static uint8_t small_code(dtype_t dtype, double value)
{
    const dtype_format_t *f = dtype_format(dtype);
    return (uint8_t)pcp_small_float_code(value, f->exp_bits, f->man_bits, f->bias, f->kind);
}

/* --- Elements --- */

double tensor_get_f64(const tensor_t *self, int64_t i)
{
    if (self->splat) i = 0;
    switch (self->type.dtype) {
    case DT_F32: return ((const float *)self->data)[i];
    case DT_F64: return ((const double *)self->data)[i];
    case DT_F16: return half_from_f16(((const uint16_t *)self->data)[i]);
    case DT_BF16: return half_from_bf16(((const uint16_t *)self->data)[i]);
    case DT_UI64: return (double)((const uint64_t *)self->data)[i];
    case DT_C64: return ((const float *)self->data)[2 * i];
    case DT_C128: return ((const double *)self->data)[2 * i];
    default: break;
    }
    if (dtype_is_small(self->type.dtype))
        return small_value(self->type.dtype, ((const uint8_t *)self->data)[i]);
    return (double)tensor_get_i64(self, i);
}

double tensor_get_imag(const tensor_t *self, int64_t i)
{
    if (self->splat) i = 0;
    switch (self->type.dtype) {
    case DT_C64: return ((const float *)self->data)[2 * i + 1];
    case DT_C128: return ((const double *)self->data)[2 * i + 1];
    default: return 0;
    }
}

int64_t tensor_get_i64(const tensor_t *self, int64_t i)
{
    if (self->splat) i = 0;
    switch (self->type.dtype) {
    case DT_I1:
    case DT_UI2:
    case DT_UI4:
    case DT_UI8: return ((const uint8_t *)self->data)[i];
    case DT_I2:
    case DT_I4:
    case DT_I8: return ((const int8_t *)self->data)[i];
    case DT_I16: return ((const int16_t *)self->data)[i];
    case DT_UI16: return ((const uint16_t *)self->data)[i];
    case DT_I32: return ((const int32_t *)self->data)[i];
    case DT_UI32: return ((const uint32_t *)self->data)[i];
    case DT_I64:
    case DT_UI64: return ((const int64_t *)self->data)[i];
    default: return (int64_t)tensor_get_f64(self, i);
    }
}

void tensor_set_f64(tensor_t *self, int64_t i, double value)
{
    switch (self->type.dtype) {
    case DT_F32: ((float *)self->data)[i] = (float)value; break;
    case DT_F64: ((double *)self->data)[i] = value; break;
    case DT_F16: ((uint16_t *)self->data)[i] = half_to_f16(value); break;
    case DT_BF16: ((uint16_t *)self->data)[i] = half_to_bf16(value); break;
    case DT_UI64:
        ((uint64_t *)self->data)[i] = value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
        break;
    case DT_C64:
    case DT_C128: tensor_set_complex(self, i, value, 0); break;
    default:
        if (dtype_is_small(self->type.dtype))
            ((uint8_t *)self->data)[i] = small_code(self->type.dtype, value);
        else
            tensor_set_i64(self, i, (int64_t)value);
    }
}

void tensor_set_complex(tensor_t *self, int64_t i, double re, double im)
{
    if (self->type.dtype == DT_C64) {
        float *at = (float *)self->data + 2 * i;
        at[0] = (float)re, at[1] = (float)im;
    } else {
        double *at = (double *)self->data + 2 * i;
        at[0] = re, at[1] = im;
    }
}

/* Keep the low `bits` bits; sign-extend for signed types. */
static int64_t wrap_small(int64_t value, int bits, bool is_signed)
{
    uint64_t low = (uint64_t)value & ((1u << bits) - 1);
    bool negative = is_signed && (low >> (bits - 1) & 1);
    return negative ? (int64_t)low - (1 << bits) : (int64_t)low;
}

void tensor_set_i64(tensor_t *self, int64_t i, int64_t value)
{
    switch (self->type.dtype) {
    case DT_I1: ((uint8_t *)self->data)[i] = value != 0; break;
    case DT_I2:
    case DT_I4:
        ((int8_t *)self->data)[i] = (int8_t)wrap_small(value, dtype_bits(self->type.dtype), true);
        break;
    case DT_UI2:
    case DT_UI4:
        ((uint8_t *)self->data)[i] = (uint8_t)wrap_small(value, dtype_bits(self->type.dtype),
                                                         false);
        break;
    case DT_I8:
    case DT_UI8: ((uint8_t *)self->data)[i] = (uint8_t)value; break;
    case DT_I16:
    case DT_UI16: ((uint16_t *)self->data)[i] = (uint16_t)value; break;
    case DT_I32:
    case DT_UI32: ((uint32_t *)self->data)[i] = (uint32_t)value; break;
    case DT_I64:
    case DT_UI64: ((int64_t *)self->data)[i] = value; break;
    default: tensor_set_f64(self, i, (double)value);
    }
}

int64_t tensor_data_bytes(const tensor_t *self)
{
    return (int64_t)data_bytes(&self->type, self->splat);
}

bool tensor_equal(const tensor_t *a, const tensor_t *b)
{
    if (!ir_type_equal(&a->type, &b->type)) return false;
    if (a->splat == b->splat) return memcmp(a->data, b->data, (size_t)tensor_data_bytes(a)) == 0;
    const tensor_t *one = a->splat ? a : b, *all = a->splat ? b : a;
    size_t width = dtype_bytes(a->type.dtype);
    int64_t n = ir_type_count(&a->type);
    for (int64_t i = 0; i < n; i++)
        if (memcmp(one->data, (const char *)all->data + (size_t)i * width, width) != 0)
            return false;
    return true;
}
