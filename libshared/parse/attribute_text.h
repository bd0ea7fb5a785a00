/* Attributes as text, for builders. Thread-safe: no state outlives a call. */
#ifndef PARSE_ATTRIBUTE_TEXT_H
#define PARSE_ATTRIBUTE_TEXT_H

#include "base/err.h"
#include "ir/ir.h"

/* `name = value, name = value` as MLIR writes it between the braces of a dictionary, added to attrs in the module's
 * arena. ERR_PARSE, ERR_UNSUPPORTED: line and column of the text, which messages call `what`. */
int parse_attribute_text(const char *text, const char *what, ir_module_t *module, ir_attrs_t *attrs,
                         err_t *err);

#endif
