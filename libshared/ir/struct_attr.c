/* The table of struct attributes. */
#include "ir/struct_attr.h"

#include <string.h>

#include "base/str.h"

const struct_attr_t struct_attrs[] = {
    {OP_gather,
     "dimension_numbers",
     "#stablehlo.gather",
     {"offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims",
      "start_index_map", "index_vector_dim"}},
    {OP_scatter,
     "scatter_dimension_numbers",
     "#stablehlo.scatter",
     {"update_window_dims", "inserted_window_dims", "input_batching_dims",
      "scatter_indices_batching_dims", "scatter_dims_to_operand_dims", "index_vector_dim"}},
    {OP_dot_general,
     "dot_dimension_numbers",
     "#stablehlo.dot",
     {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
      "rhs_contracting_dimensions"}},
    {OP_convolution,
     "dimension_numbers",
     "#stablehlo.conv",
     {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions",
      "kernel_input_feature_dimension", "kernel_output_feature_dimension",
      "kernel_spatial_dimensions", "output_batch_dimension", "output_feature_dimension",
      "output_spatial_dimensions"}},
    {OP_invalid, /* gone once the text is read */
     "ragged_dot_dimension_numbers",
     "#chlo.ragged_dot",
     {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
      "rhs_contracting_dimensions", "lhs_ragged_dimensions", "rhs_group_dimensions"}},
    {OP_invalid, NULL, NULL, {NULL}},
};

const struct_attr_t *struct_attr_of_op(op_code_t op)
{
    for (const struct_attr_t *s = struct_attrs; s->holder; s++)
        if (s->op == op) return s;
    return NULL;
}

bool struct_attr_has(const struct_attr_t *self, const char *member)
{
    for (const char *const *m = self->member; *m; m++)
        if (strcmp(*m, member) == 0) return true;
    return false;
}

bool struct_attr_is_scalar(const char *member)
{
    return str_ends(member, "_dimension") || strcmp(member, "index_vector_dim") == 0;
}
