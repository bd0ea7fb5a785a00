/* What each value of a function from tokens to scores is made of: the proof that keys and values may be
 * kept. Every op is read once, in order. A value belongs to a token when entry t of its time axis depends on
 * the tokens up to t alone: ops that treat positions alike keep it so, and attention in which later
 * positions count for nothing. Everything else mixes positions, and its reason is kept.
 *
 * Where a product compares positions with positions, one side becomes that of the keys. Until the scores of
 * later positions are hidden and an exponential has made them zero, nothing may be summed over keys.
 * Internal to derive/. */
#ifndef DERIVE_TRACE_H
#define DERIVE_TRACE_H

#include "derive/layout.h"
#include "ir/build.h"

typedef enum {
    FROM_NOTHING, /* parameters and constants: the same for all tokens, though it may have positions */
    FROM_TOKENS,  /* belongs to a token */
    FROM_TARGETS, /* other data, or tokens shifted: what scores are held against */
    FROM_MIXED,   /* depends on other positions, or in ways that are not known */
} origin_t;

/* What the entries of later keys are, in a value that has an axis of keys. */
typedef enum { LATER_COUNT, LATER_LOW, LATER_ZERO } later_t;

typedef struct {
    origin_t origin;
    layout_t at; /* FROM_TOKENS */
    later_t later;
    ir_val_t product; /* has an axis of keys: the product that made it; else IR_NONE */
    int8_t keys;      /* of a product: which operand is kept, 0 or 1; -1: none */
} traced_t;

typedef struct {
    const ir_fn_t *fn;
    traced_t *value; /* [fn->n_value] */
    bool *turned;    /* [fn->n_value]: of this product the other operand has the keys */
    ir_val_t turn;   /* a product that might be turned, after which this would go on; IR_NONE */
    ir_val_t tokens;
    int64_t rows; /* of the tokens' type */
    err_t why;    /* the first reason why positions mix */
} trace_t;

/* Parameters: is_param[n_arg]. `tokens` is an argument [rows, length] or [length] of integers. */
void trace_run(trace_t *self, const ir_fn_t *fn, const bool *is_param, ir_val_t tokens);
void trace_fini(trace_t *self);

/* Between the files. An op's rule fills `out` and returns 0, or says why not. */
typedef int trace_fn(trace_t *self, const ir_op_t *op, traced_t *out);
trace_fn trace_map, trace_dot;
/* -1, with the reason where it is the first one. */
int trace_refuse(trace_t *self, const ir_op_t *op, const char *what);
const traced_t *trace_of(const trace_t *self, ir_val_t v);
bool trace_is_static(const trace_t *self, ir_val_t v);
/* Is v, which depends on no token, the same along dimension d? */
bool trace_is_same(const ir_fn_t *fn, ir_val_t v, int d);
/* The layout of a broadcast's operand from its result's. */
layout_t trace_behind_broadcast(const ir_fn_t *fn, const ir_op_t *op, const layout_t *at);

#endif
