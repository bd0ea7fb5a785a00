/* Text to modules and back; each fails the running test on an error. */
#ifndef TESTS_PARSE_HELP_H
#define TESTS_PARSE_HELP_H

#include "ir/ir.h"

ir_module_t *parse_help_module(const char *text); /* caller destroys */

/* The module's canonical text, which must read back as the same; caller frees. */
char *parse_help_canonical(const char *text);

/* Both texts are the same module. */
void parse_help_same(const char *a, const char *b);

#endif
