/* What VHLO's ops have: the writer's own table (bytecode_write.c). */
#ifndef TESTS_BYTECODE_ROWS_H
#define TESTS_BYTECODE_ROWS_H

/* attrs: sorted by name, each NAME:KIND or NAME:KIND=DEFAULT, with the kinds
 *   l  a list of i64: a tensor of rank 1     p  pairs of i64: a tensor [n, 2]
 *   r  a list of booleans: a tensor          g  numbers in a tensor of rank 2, one row
 *   i  an i64    j  an i32    f  an f32      b  a boolean       d  a tensor
 *   s  a string  y  a function's name        Y  an array of them
 *   D  a dictionary                          A  an array, empty
 *   P  an array of precisions                x  no type         a  the default accuracy
 *   cN the word of the enumeration N         h  a channel's number
 * A default of a list is one number for all its dimensions. */
typedef struct {
    const char *op, *vhlo;
    int from, to; /* versions that have it, as bytecode_write_t.vhlo */
    const char *attrs;
} bytecode_row_t;

enum { ALWAYS = 9, FOREVER = 9999 };

#define CONV_ATTRS                                                                           \
    "batch_group_count:i feature_group_count:i input_batch_dimension:i "                     \
    "input_feature_dimension:i input_spatial_dimensions:l kernel_input_feature_dimension:i " \
    "kernel_output_feature_dimension:i kernel_spatial_dimensions:l lhs_dilation:l=1 "        \
    "output_batch_dimension:i output_feature_dimension:i output_spatial_dimensions:l "       \
    "padding:p=0 precision_config:P rhs_dilation:l=1 window_reversal:r=0 window_strides:l=1"

#define ACCURATE(name, since)                                              \
    {"stablehlo." name, name "_v1", ALWAYS, since - 1, ""},                \
    {                                                                      \
        "stablehlo." name, name "_v2", since, FOREVER, "result_accuracy:a" \
    }
#define PLAIN(name)                                        \
    {                                                      \
        "stablehlo." name, name "_v1", ALWAYS, FOREVER, "" \
    }
#define ROW(name, attrs)                                      \
    {                                                         \
        "stablehlo." name, name "_v1", ALWAYS, FOREVER, attrs \
    }

static const bytecode_row_t bytecode_rows[] = {
    PLAIN("abs"),
    PLAIN("add"),
    PLAIN("and"),
    PLAIN("atan2"),
    PLAIN("bitcast_convert"),
    PLAIN("case"),
    PLAIN("ceil"),
    PLAIN("clamp"),
    PLAIN("complex"),
    PLAIN("convert"),
    PLAIN("count_leading_zeros"),
    PLAIN("divide"),
    PLAIN("dynamic_reshape"),
    PLAIN("dynamic_update_slice"),
    PLAIN("floor"),
    PLAIN("if"),
    PLAIN("imag"),
    PLAIN("is_finite"),
    PLAIN("maximum"),
    PLAIN("minimum"),
    PLAIN("multiply"),
    PLAIN("negate"),
    PLAIN("not"),
    PLAIN("optimization_barrier"),
    PLAIN("or"),
    PLAIN("partition_id"),
    PLAIN("popcnt"),
    PLAIN("power"),
    PLAIN("real"),
    PLAIN("remainder"),
    PLAIN("replica_id"),
    PLAIN("reshape"),
    PLAIN("round_nearest_afz"),
    PLAIN("round_nearest_even"),
    PLAIN("select"),
    PLAIN("shift_left"),
    PLAIN("shift_right_arithmetic"),
    PLAIN("shift_right_logical"),
    PLAIN("sign"),
    PLAIN("subtract"),
    PLAIN("while"),
    PLAIN("xor"),
    ACCURATE("cbrt", 110),
    ACCURATE("cosine", 110),
    ACCURATE("exponential", 109),
    ACCURATE("exponential_minus_one", 110),
    ACCURATE("log", 110),
    ACCURATE("log_plus_one", 110),
    ACCURATE("logistic", 110),
    ACCURATE("rsqrt", 110),
    ACCURATE("sine", 110),
    ACCURATE("sqrt", 110),
    ACCURATE("tan", 110),
    ACCURATE("tanh", 110),
    ROW("batch_norm_grad", "epsilon:f feature_index:i"),
    ROW("batch_norm_inference", "epsilon:f feature_index:i"),
    ROW("batch_norm_training", "epsilon:f feature_index:i"),
    ROW("broadcast_in_dim", "broadcast_dimensions:l"),
    ROW("cholesky", "lower:b=false"),
    ROW("collective_permute", "channel_id:h source_target_pairs:g"),
    ROW("compare", "compare_type:c4=NOTYPE comparison_direction:c3"),
    ROW("concatenate", "dimension:i"),
    ROW("constant", "value:d"),
    ROW("convolution", CONV_ATTRS),
    ROW("dynamic_broadcast_in_dim",
        "broadcast_dimensions:l known_expanding_dimensions:l= known_nonexpanding_dimensions:l="),
    ROW("dynamic_iota", "iota_dimension:i"),
    ROW("dynamic_slice", "slice_sizes:l"),
    ROW("fft", "fft_length:l fft_type:c7"),
    ROW("get_dimension_size", "dimension:i"),
    ROW("iota", "iota_dimension:i"),
    ROW("map", "dimensions:l"),
    ROW("pad", "edge_padding_high:l edge_padding_low:l interior_padding:l"),
    ROW("reduce", "dimensions:l"),
    ROW("reduce_precision", "exponent_bits:j mantissa_bits:j"),
    ROW("reduce_window", "base_dilations:l=1 padding:p=0 window_dilations:l=1 window_dimensions:l "
                         "window_strides:l=1"),
    ROW("reverse", "dimensions:l"),
    ROW("rng", "rng_distribution:c13"),
    ROW("rng_bit_generator", "rng_algorithm:c12"),
    ROW("select_and_scatter", "padding:p=0 window_dimensions:l=1 window_strides:l=1"),
    ROW("slice", "limit_indices:l start_indices:l strides:l"),
    ROW("sort", "dimension:i=-1 is_stable:b=false"),
    ROW("transpose", "permutation:l"),
    ROW("triangular_solve", "left_side:b lower:b transpose_a:c16 unit_diagonal:b"),
    {"stablehlo.all_gather", "all_gather_v1", ALWAYS, 104,
     "all_gather_dim:i channel_id:h replica_groups:g use_global_device_ids:b=false"},
    {"stablehlo.all_gather", "all_gather_v2", 105, FOREVER,
     "all_gather_dim:i channel_id:h replica_groups:g use_global_device_ids:b=false"},
    {"stablehlo.all_reduce", "all_reduce_v1", ALWAYS, 104,
     "channel_id:h replica_groups:g use_global_device_ids:b=false"},
    {"stablehlo.all_reduce", "all_reduce_v2", 105, FOREVER,
     "channel_id:h replica_groups:g use_global_device_ids:b=false"},
    {"stablehlo.custom_call", "custom_call_v1", ALWAYS, 117,
     "api_version:c5=API_VERSION_ORIGINAL backend_config:s= call_target_name:s "
     "called_computations:Y has_side_effect:b=false operand_layouts:A output_operand_aliases:A "
     "result_layouts:A"},
    {"stablehlo.custom_call", "custom_call_v2", 118, FOREVER,
     "api_version:c5=API_VERSION_ORIGINAL backend_config:s= call_target_name:s "
     "called_computations:Y has_side_effect:b=false operand_layouts:A output_operand_aliases:A "
     "result_layouts:A result_tilings:A"},
    {"stablehlo.composite", "composite_v1", 19, 113,
     "composite_attributes:D decomposition:y name:s version:j=0"},
    {"stablehlo.composite", "composite_v2", 114, FOREVER,
     "composite_attributes:D decomposition:y name:s version:j=0"},
    {"stablehlo.dot_general", "dot_general_v1", ALWAYS, 105,
     "lhs_batching_dimensions:l lhs_contracting_dimensions:l precision_config:P "
     "rhs_batching_dimensions:l rhs_contracting_dimensions:l"},
    {"stablehlo.dot_general", "dot_general_v2", 106, FOREVER,
     "accumulation_type:x allow_imprecise_accumulation:b=false lhs_batching_dimensions:l "
     "lhs_component_count:i=1 lhs_contracting_dimensions:l lhs_precision_type:x "
     "num_primitive_operations:i=1 precision_config:P rhs_batching_dimensions:l "
     "rhs_component_count:i=1 rhs_contracting_dimensions:l rhs_precision_type:x"},
    {"stablehlo.gather", "gather_v1", ALWAYS, 100,
     "collapsed_slice_dims:l index_vector_dim:i indices_are_sorted:b=false offset_dims:l "
     "slice_sizes:l start_index_map:l"},
    {"stablehlo.gather", "gather_v2", 101, FOREVER,
     "collapsed_slice_dims:l index_vector_dim:i indices_are_sorted:b=false offset_dims:l "
     "operand_batching_dims:l= slice_sizes:l start_index_map:l start_indices_batching_dims:l="},
    {"stablehlo.scatter", "scatter_v1", ALWAYS, 100,
     "index_vector_dim:i indices_are_sorted:b=false inserted_window_dims:l "
     "scatter_dims_to_operand_dims:l unique_indices:b=false update_window_dims:l"},
    {"stablehlo.scatter", "scatter_v2", 101, FOREVER,
     "index_vector_dim:i indices_are_sorted:b=false input_batching_dims:l= inserted_window_dims:l "
     "scatter_dims_to_operand_dims:l scatter_indices_batching_dims:l= unique_indices:b=false "
     "update_window_dims:l"},
    {"func.call", "call_v1", ALWAYS, FOREVER, "callee:y"},
};

#endif
