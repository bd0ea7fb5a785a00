/* Dynamic shapes that become static ones (--shape); private to parse/. */
#ifndef PARSE_REFINE_H
#define PARSE_REFINE_H

#include "parse/parser.h"

enum { REFINE_ANY = -1 }; /* the dimension written `?`; only with parse_options_t.shapes */

bool refine_is_open(const ir_type_t *type);
/* Is the type what is written, but for open dimensions? */
bool refine_fits(const ir_type_t *is, const ir_type_t *written);
/* -1 when a dimension is open. */
int refine_static(parser_t *p, const ir_type_t *type, const char *at);

/* An argument of a function, which is about to have the type. */
typedef struct {
    const char *at; /* in the text */
    const char *function;
    const char *spoken, *exported; /* %name without the sign, the exporter's name; or NULL */
    int number;
    bool is_private;
} refine_argument_t;
/* By the caller's rules; of functions that were called before, as they were called. */
int refine_argument(parser_t *p, const refine_argument_t *arg, ir_type_t *type);
/* ERR_ARG when a rule names no argument. */
int refine_check_used(parser_t *p);

/* Integers that a function's operand is known to be in one call of it; shapes in the function may
 * follow from them. */
typedef struct known_operand {
    const int64_t *value; /* NULL: not known */
    bool *asked;          /* something in the function followed from them */
} known_operand_t;
/* Of a call that is about to be made; NULL where no shapes are open. */
const known_operand_t *refine_operands(parser_t *p, const draft_t *d);
/* The argument's integers, of a private function, as the first call before has them; NULL: not
 * known. */
const int64_t *refine_known_argument(const parser_t *p, ir_val_t value);
/* ERR_UNSUPPORTED when what was asked for differs between calls. */
int refine_check_calls(parser_t *p);

/* Open results of an op that is about to be made. */
int refine_results(parser_t *p, draft_t *d);

/* static_op.c: `count` integers that a value is while the text is read; false: not known. */
bool static_known_ints(parser_t *p, ir_val_t value, int64_t count, int64_t *out);

#endif
