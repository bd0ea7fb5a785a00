/* Templates in a subset of Jinja, as models' files have them to turn a chat into text.
 *
 * Known: text, {{ }}, {# #}, for (else, if, loop, break, continue), if, set (also as a block, of several
 * names, of a namespace's member), macro, generation; all operators but **; calls, members, slices; the
 * filters, tests, methods and functions of docs/serving.md. White space is
 * that of trim_blocks and lstrip_blocks, as chat templates are made for. Anything else is refused by its
 * name and line: what is rendered is what Jinja would have rendered.
 *
 * A template is text nobody vouches for: rendering takes bounded steps, memory and depth. Pure
 * functions; a template may be rendered by several threads at a time. */
#ifndef SERVE_JINJA_H
#define SERVE_JINJA_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

typedef struct jinja jinja_t;

enum {
    JINJA_SOURCE_BYTES = 1 << 20, /* of a template */
    JINJA_OUTPUT_BYTES = 16 << 20,
    JINJA_VALUE_BYTES = 64 << 20, /* all values that a rendering makes */
    JINJA_STEPS = 4 << 20,        /* things done: nodes, items and every 64 bytes of texts */
    JINJA_DEPTH = 200, /* of expressions, statements, calls and values within each other */
};

/* ERR_PARSE: not Jinja; ERR_UNSUPPORTED: Jinja that is not known here; both name the line. */
jinja_t *jinja_parse(const char *text, size_t n, err_t *err);
void jinja_destroy(jinja_t **self_p);

/* Append what it makes of an object's members, which are its variables. now_s: for strftime_now, in
 * UTC. ERR_ARG: raise_exception's words; ERR_TYPE: an operation on values that have it not;
 * ERR_UNSUPPORTED; ERR_MEMORY: a bound. */
int jinja_render(const jinja_t *self, const json_t *variables, int64_t now_s, str_t *out,
                 err_t *err);

#endif
