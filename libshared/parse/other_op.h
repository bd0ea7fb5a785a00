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
/* The results of d are these values: as they are, or behind an op that passes them on, so that they
 * come one after another. */
int other_row(parser_t *p, draft_t *d, ir_region_t *into, const vals_t *values, ir_val_t *first);

/* --- custom_call.c --- */
/* Custom calls that stand for ops become these, those that only call back are left out, those that
 * need somebody to answer are refused. Other targets are left alone. */
int form_named_call(parser_t *p, draft_t *d);

/* --- sharding_op.c: ops of the sdy dialect, for one device --- */
int form_sharding(parser_t *p, draft_t *d);    /* op %0 <@m, [{"x"}, {}]> : T */
int form_propagation(parser_t *p, draft_t *d); /* op %0 allowed_direction=NONE : T */
int form_group(parser_t *p, draft_t *d);       /* op %0 group_id=0 : T */
int form_named(parser_t *p, draft_t *d);       /* named_computation<"f">(%0) (%a: T) {..} : fn */
int form_manual(parser_t *p, draft_t *d);      /* manual_computation(%0) .. (%a: T) {..} : fn */
int finish_same(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);
int finish_sharding(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);
int finish_nothing(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);
int finish_spliced(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);
/* How many devices a mesh has: the text from `<` on, axes as in `["x"=2, "y"=4]`. */
int64_t sharding_mesh_size(const char *at, const char *end);
/* Always -1: the text is one device's part of a program for several. */
int sharding_refuse_part(parser_t *p, const char *at);

/* --- einsum.c --- */
int form_einsum(parser_t *p, draft_t *d); /* einsum %a, %b, config = "ab,bc->ac" : fn */
int finish_einsum(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);

/* --- ragged_dot.c --- */
int finish_ragged_dot(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);

#endif
