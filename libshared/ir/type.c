/* Static ranked tensor types. */
#include "ir/type.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

ir_type_t ir_type(dtype_t dtype, int rank, const int64_t *dim)
{
    ir_type_t type = {.dtype = dtype, .rank = rank};
    for (int i = 0; i < rank; i++) type.dim[i] = dim[i];
    return type;
}

ir_type_t ir_type_scalar(dtype_t dtype)
{
    return (ir_type_t){.dtype = dtype};
}

ir_type_t ir_type_with(ir_type_t shape, dtype_t dtype)
{
    shape.dtype = dtype;
    return shape;
}

bool ir_shape_equal(const ir_type_t *a, const ir_type_t *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim[0] * (size_t)a->rank) == 0;
}

bool ir_type_equal(const ir_type_t *a, const ir_type_t *b)
{
    return a->dtype == b->dtype && ir_shape_equal(a, b);
}

int64_t ir_type_count(const ir_type_t *type)
{
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++) count *= type->dim[i];
    return count;
}

int64_t ir_type_bytes(const ir_type_t *type)
{
    return ir_type_count(type) * (int64_t)dtype_bytes(type->dtype);
}

int ir_type_check(const ir_type_t *type, err_t *err)
{
    char text[IR_TYPE_TEXT];
    bool wide = dtype_is_complex(type->dtype);
    int64_t bytes = wide ? 16 : 8;
    for (int i = 0; i < type->rank; i++) {
        if (type->dim[i] < 0)
            return err_set(err, ERR_SHAPE, "%s: dimension %d is negative", ir_type_text(type, text),
                           i);
        if (!i64_mul(bytes, type->dim[i] ? type->dim[i] : 1, &bytes))
            return err_set(err, ERR_SHAPE, "%s: more elements than 2^%d", ir_type_text(type, text),
                           wide ? 59 : 60);
    }
    return 0;
}

void ir_type_strides(const ir_type_t *type, int64_t stride[IR_MAX_RANK])
{
    int64_t step = 1;
    for (int i = type->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= type->dim[i];
    }
}

const char *ir_type_text(const ir_type_t *type, char buf[IR_TYPE_TEXT])
{
    int n = snprintf(buf, IR_TYPE_TEXT, "tensor<");
    for (int i = 0; i < type->rank; i++)
        n += snprintf(buf + n, IR_TYPE_TEXT - (size_t)n, "%lldx", (long long)type->dim[i]);
    snprintf(buf + n, IR_TYPE_TEXT - (size_t)n, "%s>", dtype_name(type->dtype));
    return buf;
}
