/* Between the files of the expression graph; not for others. */
#ifndef PLAN_KX_NODE_H
#define PLAN_KX_NODE_H

#include "plan/kernel/kernel.h"

/* The node equal to n, added when new (in and coef are copied). */
kx_t kx_intern(kx_graph_t *self, const kx_node_t *n);
/* A constant's value as double. */
bool kx_is_number(const kx_graph_t *self, kx_t x, double *f);
/* An integer whose range is known (both ends far from overflow). */
bool kx_is_known(const kx_graph_t *self, kx_t x);
kx_t kx_ge0(kx_graph_t *self, kx_t a);
kx_t kx_not(kx_graph_t *self, kx_t p);

#endif
