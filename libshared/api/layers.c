/* Groups of ops that models are made of, over the public builder alone. */
#include "api/api.h"

/* One value for each row, [..., 1] of x [..., n]. */
static pcp_value_t row_reduce(pcp_graph_t *self, const char *op, pcp_value_t x, pcp_type_t *type)
{
    *type = pcp_value_type(self, x);
    if (api_value(self, x, "a sum over rows") == IR_NONE) return (pcp_value_t){0};
    if (type->rank < 1) {
        api_fail(self, ERR_SHAPE, "a sum over rows of a scalar");
        return (pcp_value_t){0};
    }
    return pcp_reduce(self, op, x, 1, (int64_t[]){type->rank - 1});
}

/* Along a new last dimension, to x's shape. */
static pcp_value_t along_rows(pcp_graph_t *self, pcp_value_t row, const pcp_type_t *type)
{
    int64_t at[PCP_MAX_RANK];
    for (int i = 0; i < PCP_MAX_RANK; i++) at[i] = i;
    return pcp_broadcast(self, row, type->rank, type->dim, at);
}

/* x less the largest of its row, so that no exponential overflows. */
static pcp_value_t shifted(pcp_graph_t *self, pcp_value_t x, pcp_type_t *type)
{
    pcp_value_t most = row_reduce(self, "stablehlo.maximum", x, type);
    return pcp_subtract(self, x, along_rows(self, most, type));
}

pcp_value_t pcp_softmax(pcp_graph_t *self, pcp_value_t x)
{
    pcp_type_t type;
    pcp_value_t e = pcp_exponential(self, shifted(self, x, &type));
    return pcp_divide(self, e,
                      along_rows(self, row_reduce(self, "stablehlo.add", e, &type), &type));
}

pcp_value_t pcp_log_softmax(pcp_graph_t *self, pcp_value_t x)
{
    pcp_type_t type;
    pcp_value_t s = shifted(self, x, &type);
    pcp_value_t sum = row_reduce(self, "stablehlo.add", pcp_exponential(self, s), &type);
    return pcp_subtract(self, s, along_rows(self, pcp_log(self, sum), &type));
}

pcp_value_t pcp_normalize(pcp_graph_t *self, pcp_value_t x, double eps)
{
    pcp_type_t type;
    pcp_value_t sum = row_reduce(self, "stablehlo.add", x, &type);
    if (!api_building(self)) return (pcp_value_t){0};
    double share = 1.0 / (double)type.dim[type.rank - 1];
    pcp_value_t mean = pcp_scale(self, sum, share);
    pcp_value_t centred = pcp_subtract(self, x, along_rows(self, mean, &type));
    pcp_value_t square = pcp_multiply(self, centred, centred);
    pcp_value_t variance = pcp_scale(self, row_reduce(self, "stablehlo.add", square, &type), share);
    pcp_value_t rstd = pcp_rsqrt(self, pcp_add(self, variance, pcp_like(self, variance, eps)));
    return pcp_multiply(self, centred, along_rows(self, rstd, &type));
}

pcp_value_t pcp_gelu(pcp_graph_t *self, pcp_value_t x)
{
    pcp_value_t cube = pcp_multiply(self, pcp_multiply(self, x, x), x);
    pcp_value_t inner = pcp_add(self, x, pcp_scale(self, cube, 0.044715));
    pcp_value_t t = pcp_tanh(self, pcp_scale(self, inner, 0.7978845608028654));
    return pcp_multiply(self, pcp_scale(self, x, 0.5), pcp_add(self, t, pcp_like(self, t, 1)));
}

pcp_value_t pcp_cross_entropy(pcp_graph_t *self, pcp_value_t scores, pcp_value_t target)
{
    pcp_type_t index = pcp_value_type(self, target), type;
    pcp_value_t logs = pcp_log_softmax(self, scores);
    if (api_value(self, target, "pcp_cross_entropy") == IR_NONE) return (pcp_value_t){0};
    type = pcp_value_type(self, logs);
    pcp_type_t classes = pcp_type(index.dtype, type.rank, type.dim);
    pcp_value_t number = pcp_iota(self, &classes, type.rank - 1);
    pcp_value_t hit = pcp_compare(self, "EQ", number, along_rows(self, target, &classes));
    pcp_value_t picked = pcp_select(self, hit, logs, pcp_like(self, logs, 0));
    double rows = (double)pcp_type_count(&type) / (double)type.dim[type.rank - 1];
    return pcp_scale(self, pcp_reduce_all(self, "stablehlo.add", picked), -1 / rows);
}
