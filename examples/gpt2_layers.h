/* The layers of GPT-2 (Radford et al. 2019), from ops alone: gpt2.c puts them together. Values are [rows, width] of f32; parameters
 * are called WHERE.weight and WHERE.bias and begin as published models did. */
#ifndef EXAMPLES_GPT2_LAYERS_H
#define EXAMPLES_GPT2_LAYERS_H

#include <math.h>
#include <pcp/pcp.h>
#include <stdio.h>

/* A matrix [a, b] begins at random, a vector [a] of gains at one, others at zero. */
static pcp_value_t param(pcp_graph_t *g, const char *where, const char *what, int64_t a, int64_t b,
                         double deviation)
{
    char name[64], init[32] = "zeros";
    pcp_type_t type = pcp_type(PCP_F32, b ? 2 : 1, (int64_t[]){a, b});
    snprintf(name, sizeof name, "%s.%s", where, what);
    if (deviation > 0) snprintf(init, sizeof init, "normal(%.9g)", deviation);
    return pcp_param(g, name, &type, b == 0 && what[0] == 'w' ? "ones" : init);
}

/* x W + b, W [in, out] */
static pcp_value_t linear(pcp_graph_t *g, pcp_value_t x, const char *where, int64_t in, int64_t out,
                          double deviation)
{
    pcp_value_t y = pcp_matmul(g, x, param(g, where, "weight", in, out, deviation));
    return pcp_add(g, y, pcp_broadcast_like(g, param(g, where, "bias", out, 0, 0), y));
}

/* Layer normalisation with a gain and a bias. */
static pcp_value_t norm(pcp_graph_t *g, pcp_value_t x, const char *where)
{
    int64_t width = pcp_value_type(g, x).dim[1];
    pcp_value_t gain = param(g, where, "weight", width, 0, 0);
    pcp_value_t bias = param(g, where, "bias", width, 0, 0);
    pcp_value_t y = pcp_multiply(g, pcp_normalize(g, x, 1e-5), pcp_broadcast_like(g, gain, x));
    return pcp_add(g, y, pcp_broadcast_like(g, bias, x));
}

/* softmax(q k^T / sqrt(head), later tokens left out) v of qkv [batch time, 3 width]. */
static pcp_value_t attention(pcp_graph_t *g, pcp_value_t qkv, int64_t batch, int64_t time,
                             int64_t heads)
{
    int64_t rows = batch * time, width = pcp_value_type(g, qkv).dim[1] / 3, head = width / heads;
    const int64_t both[] = {0, 1}, swap[] = {0, 2, 1, 3}, along_head = 3, along_time = 2;
    pcp_value_t part[3]; /* q, k, v as [batch, heads, time, head] */
    for (int i = 0; i < 3; i++) {
        part[i] = pcp_slice(g, qkv, (int64_t[]){0, i * width}, (int64_t[]){rows, (i + 1) * width},
                            NULL);
        part[i] = pcp_reshape(g, part[i], 4, (int64_t[]){batch, time, heads, head});
        part[i] = pcp_transpose(g, part[i], swap);
    }
    pcp_value_t s = pcp_dot(g, part[0], part[1], 2, both, both, 1, &along_head, &along_head);
    pcp_type_t place = PCP_TYPE(PCP_I32, batch, heads, time, time);
    pcp_value_t seen = pcp_compare(g, "GE", pcp_iota(g, &place, 2), pcp_iota(g, &place, 3));
    s = pcp_scale(g, s, 1 / sqrt((double)head));
    s = pcp_softmax(g, pcp_select(g, seen, s, pcp_like(g, s, -1e9)));
    pcp_value_t y = pcp_dot(g, s, part[2], 2, both, both, 1, &along_head, &along_time);
    return pcp_reshape(g, pcp_transpose(g, y, swap), 2, (int64_t[]){rows, width});
}

#endif
