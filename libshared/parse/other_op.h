/* Ops that are written as others while the text is read, so that nothing behind the parser knows
 * of them: dynamic forms whose operands are constants, older ops, custom calls that stand for ops.
 * Each has the type of text_op_t.finish. Private to parse/. */
#ifndef PARSE_OTHER_OP_H
#define PARSE_OTHER_OP_H

#include "parse/parser.h"

/* Run `build` with the builder at the end of `into`: *first is what it returns, which has the type
 * written in d. An error of the builder, or another type, is one at the op's name. Operands and
 * results are plain tensors. */
int other_build(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first,
                ir_val_t (*build)(parser_t *p, const draft_t *d));
/* -1 with an error at the op's name, which the text begins with. */
int other_fail(parser_t *p, const draft_t *d, err_code_t code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* --- static_op.c --- */
int finish_dynamic_pad(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);
int finish_real_dynamic_slice(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);
int finish_dynamic_gather(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);
int finish_dynamic_conv(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);
int finish_set_dimension_size(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);
int finish_chlo_dynamic_reshape(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);

/* --- other_op.c --- */
int form_broadcast(parser_t *p, draft_t *d); /* broadcast %x, sizes = [..] : fn */
int finish_broadcast(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);
int finish_broadcast_select(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);
int finish_torch_index_select(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);
/* custom_call @mhlo.erf and its like, as XLA exports CHLO's ops: d becomes the op itself. Other
 * targets are left alone. */
int form_named_call(parser_t *p, draft_t *d);

/* --- einsum.c --- */
int form_einsum(parser_t *p, draft_t *d); /* einsum %a, %b, config = "ab,bc->ac" : fn */
int finish_einsum(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);

/* --- ragged_dot.c --- */
int finish_ragged_dot(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);

#endif
