/* batch_norm_inference, batch_norm_training, batch_norm_grad, by the specification's formulas; f16
 * and bf16 are computed in f32 and rounded once. */
#include "ops/expand.h"

typedef struct {
    ir_fn_t *fn;
    ir_type_t shape; /* of the operand, in the type computed in */
    int64_t feature, gone[IR_MAX_RANK];
    int n_gone;
    double epsilon, count; /* elements per feature */
} norm_t;

static int infer_norm(const ir_fn_t *fn, const ir_op_t *op, int n_feature, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0);
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    int64_t feature = attr_int(&op->attrs, "feature_index", -1);
    if (infer_class(fn, op, 0, CLASS_FLOAT, err) < 0) return -1;
    if (feature < 0 || feature >= x->rank)
        return err_set(err, ERR_SHAPE, "%s: feature_index %lld is outside %s", op_name(op),
                       (long long)feature, ir_type_text(x, a));
    ir_type_t want = ir_type(x->dtype, 1, &x->dim[feature]);
    for (int i = 1; i <= n_feature; i++)
        if (!ir_type_equal(op_in_type(fn, op, i), &want))
            return err_set(err, ERR_SHAPE, "%s: operand %d is %s, expected %s", op_name(op), i,
                           ir_type_text(op_in_type(fn, op, i), a), ir_type_text(&want, b));
    return 0;
}

/* The first result is like the operand, two more like its features. */
static int infer_results(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0);
    ir_type_t one = ir_type(x->dtype, 1, &x->dim[attr_int(&op->attrs, "feature_index", 0)]);
    if (infer_result(op, 0, out, x, err) < 0) return -1;
    for (int i = 1; i < op->n_out; i++)
        if (infer_result(op, i, out, &one, err) < 0) return -1;
    return 0;
}

static norm_t norm_of(ir_fn_t *fn, const ir_op_t *op, ir_val_t x)
{
    const ir_attr_t *epsilon = attr_find(&op->attrs, "epsilon");
    norm_t s = {.fn = fn, .shape = *ir_type_of(fn, x), .count = 1};
    s.feature = attr_int(&op->attrs, "feature_index", 0);
    s.epsilon = epsilon && epsilon->kind == ATTR_FLOAT ? epsilon->f : 0;
    if (dtype_is_narrow(s.shape.dtype)) s.shape.dtype = DT_F32;
    for (int d = 0; d < s.shape.rank; d++) {
        if (d == s.feature) continue;
        s.gone[s.n_gone++] = d;
        s.count *= (double)s.shape.dim[d];
    }
    return s;
}

static ir_val_t wide(const norm_t *s, ir_val_t x)
{
    return ir_convert(s->fn, x, s->shape.dtype);
}

static ir_val_t spread(const norm_t *s, ir_val_t x)
{
    return ir_broadcast(s->fn, x, &s->shape, &s->feature);
}

static ir_val_t sum(const norm_t *s, ir_val_t x)
{
    return ir_reduce(s->fn, OP_add, x, s->gone, s->n_gone);
}

static ir_val_t scaled(const norm_t *s, ir_val_t x, double by)
{
    return ir_op2(s->fn, OP_multiply, x, ir_scalar_like(s->fn, x, by));
}

static ir_val_t centered(const norm_t *s, ir_val_t x, ir_val_t mean)
{
    return ir_op2(s->fn, OP_subtract, x, spread(s, mean));
}

/* sqrt(variance + epsilon), per feature */
static ir_val_t deviation(const norm_t *s, ir_val_t variance)
{
    ir_val_t more = ir_op2(s->fn, OP_add, variance, ir_scalar_like(s->fn, variance, s->epsilon));
    return ir_op1(s->fn, OP_sqrt, more);
}

/* (x - mean) / deviation scale + offset */
static ir_val_t normalized(const norm_t *s, ir_val_t x, ir_val_t scale, ir_val_t offset,
                           ir_val_t mean, ir_val_t variance)
{
    ir_val_t z = ir_op2(s->fn, OP_divide, centered(s, x, mean), spread(s, deviation(s, variance)));
    z = ir_op2(s->fn, OP_multiply, spread(s, scale), z);
    return ir_op2(s->fn, OP_add, z, spread(s, offset));
}

static int infer_inference(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    return infer_norm(fn, op, 4, err) < 0 ? -1 : infer_results(fn, op, out, err);
}

static void expand_inference(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types,
                             const ir_val_t *in, ir_val_t *out)
{
    norm_t s = norm_of(fn, op, in[0]);
    ir_val_t x[5];
    for (int i = 0; i < 5; i++) x[i] = wide(&s, in[i]);
    out[0] = ir_convert(fn, normalized(&s, x[0], x[1], x[2], x[3], x[4]), types[0].dtype);
}

static int infer_training(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    return infer_norm(fn, op, 2, err) < 0 ? -1 : infer_results(fn, op, out, err);
}

static void expand_training(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types,
                            const ir_val_t *in, ir_val_t *out)
{
    norm_t s = norm_of(fn, op, in[0]);
    ir_val_t x = wide(&s, in[0]), mean = scaled(&s, sum(&s, x), 1 / s.count);
    ir_val_t apart = centered(&s, x, mean);
    ir_val_t variance = scaled(&s, sum(&s, ir_op2(fn, OP_multiply, apart, apart)), 1 / s.count);
    ir_val_t y = normalized(&s, x, wide(&s, in[1]), wide(&s, in[2]), mean, variance);
    out[0] = ir_convert(fn, y, types[0].dtype);
    out[1] = ir_convert(fn, mean, types[1].dtype);
    out[2] = ir_convert(fn, variance, types[2].dtype);
}

static int infer_norm_grad(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (infer_norm(fn, op, 3, err) < 0 || infer_same_type(fn, op, 0, 4, err) < 0) return -1;
    return infer_results(fn, op, out, err);
}

/* dx = scale / deviation / n (n g - sum g - (x - mean) sum(g (x - mean)) / (variance + epsilon)) */
static void expand_norm_grad(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types,
                             const ir_val_t *in, ir_val_t *out)
{
    norm_t s = norm_of(fn, op, in[0]);
    ir_val_t scale = wide(&s, in[1]), g = wide(&s, in[4]), dev = deviation(&s, wide(&s, in[3]));
    ir_val_t apart = centered(&s, wide(&s, in[0]), wide(&s, in[2]));
    ir_val_t both = sum(&s, ir_op2(fn, OP_multiply, g, apart)), all = sum(&s, g);
    ir_val_t slope = ir_op2(fn, OP_divide, both, ir_op2(fn, OP_multiply, dev, dev));
    ir_val_t dx = ir_op2(fn, OP_subtract, scaled(&s, g, s.count), spread(&s, all));
    dx = ir_op2(fn, OP_subtract, dx, ir_op2(fn, OP_multiply, apart, spread(&s, slope)));
    ir_val_t factor = scaled(&s, ir_op2(fn, OP_divide, scale, dev), 1 / s.count);
    out[0] = ir_convert(fn, ir_op2(fn, OP_multiply, spread(&s, factor), dx), types[0].dtype);
    out[1] = ir_convert(fn, ir_op2(fn, OP_divide, both, dev), types[1].dtype);
    out[2] = ir_convert(fn, all, types[2].dtype);
}

#define NORM(id, N_IN, N_OUT, INFER, EXPAND)                                  \
    const op_def_t op_batch_norm_##id = {.name = "stablehlo.batch_norm_" #id, \
                                         .kind = K_OTHER,                     \
                                         .n_in = N_IN,                        \
                                         .n_out = N_OUT,                      \
                                         .infer = INFER,                      \
                                         .expand = EXPAND,                    \
                                         .eval = eval_expanded,               \
                                         .vjp = vjp_expanded};
NORM(inference, 5, 1, infer_inference, expand_inference)
NORM(training, 3, 3, infer_training, expand_training)
NORM(grad, 5, 3, infer_norm_grad, expand_norm_grad)
