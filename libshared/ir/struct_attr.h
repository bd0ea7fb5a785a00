/* StableHLO's struct attributes, which ops hold flattened: gather's dimension_numbers =
 * #stablehlo.gather<offset_dims = [1], ..> is the attributes offset_dims, ... (ir/attr.h). */
#ifndef IR_STRUCT_ATTR_H
#define IR_STRUCT_ATTR_H

#include <stdbool.h>

#include "ir/ir.h"

enum { STRUCT_MAX_MEMBERS = 9 };

typedef struct {
    op_code_t op;
    const char *holder;                         /* the attribute's name on the op */
    const char *mnemonic;                       /* with # */
    const char *member[STRUCT_MAX_MEMBERS + 1]; /* NULL-terminated */
} struct_attr_t;

extern const struct_attr_t struct_attrs[]; /* ends with a row whose holder is NULL */

const struct_attr_t *struct_attr_of_op(op_code_t op); /* NULL: none */
bool struct_attr_has(const struct_attr_t *self, const char *member);
/* One number (index_vector_dim, input_batch_dimension), not a list. */
bool struct_attr_is_scalar(const char *member);

#endif
