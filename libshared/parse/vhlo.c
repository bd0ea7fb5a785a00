/* VHLO's ops, types and enumerations as tables: names of ops with their properties in the order of
 * the bytecode (sorted), and codes. Nothing that VHLO once defined changes: a change is a new
 * version of the op or a new code. */
#include <string.h>

#include "parse/bytecode.h"

#define GATHER "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims "
#define SCATTER_END "scatter_dims_to_operand_dims unique_indices update_window_dims"
#define CONV_HEAD                                                                      \
    "batch_group_count feature_group_count input_batch_dimension "                     \
    "input_feature_dimension input_spatial_dimensions kernel_input_feature_dimension " \
    "kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation "          \
    "output_batch_dimension output_feature_dimension output_spatial_dimensions "
#define CONV_END "precision_config rhs_dilation window_reversal window_strides"
#define CUSTOM_CALL                                                    \
    "api_version backend_config call_target_name called_computations " \
    "has_side_effect operand_layouts output_operand_aliases result_layouts"
#define COMPOSITE "composite_attributes decomposition name version"
#define DOT_DIMENSIONS                                                     \
    "lhs_batching_dimensions lhs_contracting_dimensions precision_config " \
    "rhs_batching_dimensions rhs_contracting_dimensions"
#define ACCURACY "result_accuracy"

static const vhlo_op_t ops[] = {
    {"abs_v1", ""},
    {"add_v1", ""},
    {"after_all_v1", ""},
    {"all_gather_v1", "all_gather_dim channel_id replica_groups use_global_device_ids"},
    {"all_gather_v2", "all_gather_dim channel_id replica_groups use_global_device_ids"},
    {"all_reduce_v1", "channel_id replica_groups use_global_device_ids"},
    {"all_reduce_v2", "channel_id replica_groups use_global_device_ids"},
    {"all_to_all_v1", "channel_id concat_dimension replica_groups split_count split_dimension"},
    {"all_to_all_v2", "channel_id concat_dimension replica_groups split_count split_dimension"},
    {"and_v1", ""},
    {"async_done_v1", ""},
    {"async_start_v1", ""},
    {"atan2_v1", ""},
    {"batch_norm_grad_v1", "epsilon feature_index"},
    {"batch_norm_inference_v1", "epsilon feature_index"},
    {"batch_norm_training_v1", "epsilon feature_index"},
    {"bitcast_convert_v1", ""},
    {"broadcast_in_dim_v1", "broadcast_dimensions"},
    {"broadcast_v1", "broadcast_sizes"},
    {"call_v1", "callee"},
    {"case_v1", ""},
    {"cbrt_v1", ""},
    {"cbrt_v2", ACCURACY},
    {"ceil_v1", ""},
    {"cholesky_v1", "lower"},
    {"clamp_v1", ""},
    {"collective_broadcast_v1", "channel_id replica_groups"},
    {"collective_broadcast_v2", "channel_id has_dynamic_root replica_groups"},
    {"collective_permute_v1", "channel_id source_target_pairs"},
    {"collective_reduce_v1", "channel_id has_dynamic_root replica_groups use_global_device_ids"},
    {"compare_v1", "compare_type comparison_direction"},
    {"complex_v1", ""},
    {"composite_v1", COMPOSITE},
    {"composite_v2", COMPOSITE},
    {"compute_reshape_shape_v1", ""},
    {"concatenate_v1", "dimension"},
    {"constant_v1", "value"},
    {"convert_v1", ""},
    {"convolution_v1", CONV_HEAD "padding " CONV_END},
    {"cosine_v1", ""},
    {"cosine_v2", ACCURACY},
    {"count_leading_zeros_v1", ""},
    {"create_token_v1", ""},
    {"cross-replica-sum_v1", "replica_groups"},
    {"cstr_reshapable_v1", ""},
    {"custom_call_v1", CUSTOM_CALL},
    {"custom_call_v2", CUSTOM_CALL " result_tilings"},
    {"divide_v1", ""},
    {"dot_general_v1", DOT_DIMENSIONS},
    {"dot_general_v2",
     "accumulation_type allow_imprecise_accumulation lhs_batching_dimensions lhs_component_count "
     "lhs_contracting_dimensions lhs_precision_type num_primitive_operations precision_config "
     "rhs_batching_dimensions rhs_component_count rhs_contracting_dimensions rhs_precision_type"},
    {"dot_v1", "precision_config"},
    {"dynamic_broadcast_in_dim_v1",
     "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions"},
    {"dynamic_conv_v1", CONV_HEAD "padding " CONV_END},
    {"dynamic_conv_v2", CONV_HEAD CONV_END},
    {"dynamic_gather_v1", GATHER "start_index_map"},
    {"dynamic_gather_v2",
     GATHER "operand_batching_dims start_index_map start_indices_batching_dims"},
    {"dynamic_iota_v1", "iota_dimension"},
    {"dynamic_pad_v1", ""},
    {"dynamic_reshape_v1", ""},
    {"dynamic_slice_v1", "slice_sizes"},
    {"dynamic_update_slice_v1", ""},
    {"einsum_v1", "einsum_config"},
    {"exponential_minus_one_v1", ""},
    {"exponential_minus_one_v2", ACCURACY},
    {"exponential_v1", ""},
    {"exponential_v2", ACCURACY},
    {"fft_v1", "fft_length fft_type"},
    {"floor_v1", ""},
    {"func_v1", "arg_attrs function_type res_attrs sym_name sym_visibility"},
    {"gather_v1", GATHER "slice_sizes start_index_map"},
    {"gather_v2",
     GATHER "operand_batching_dims slice_sizes start_index_map start_indices_batching_dims"},
    {"get_dimension_size_v1", "dimension"},
    {"get_tuple_element_v1", "index"},
    {"if_v1", ""},
    {"imag_v1", ""},
    {"infeed_v1", "infeed_config layout"},
    {"iota_v1", "iota_dimension"},
    {"is_finite_v1", ""},
    {"log_plus_one_v1", ""},
    {"log_plus_one_v2", ACCURACY},
    {"log_v1", ""},
    {"log_v2", ACCURACY},
    {"logistic_v1", ""},
    {"logistic_v2", ACCURACY},
    {"map_v1", "dimensions"},
    {"maximum_v1", ""},
    {"minimum_v1", ""},
    {"multiply_v1", ""},
    {"negate_v1", ""},
    {"not_v1", ""},
    {"optimization_barrier_v1", ""},
    {"or_v1", ""},
    {"outfeed_v1", "outfeed_config"},
    {"pad_v1", "edge_padding_high edge_padding_low interior_padding"},
    {"partition_id_v1", ""},
    {"popcnt_v1", ""},
    {"power_v1", ""},
    {"real_dynamic_slice_v1", ""},
    {"real_v1", ""},
    {"recv_v1", "channel_id channel_type is_host_transfer"},
    {"recv_v2", "channel_id channel_type is_host_transfer source_target_pairs"},
    {"reduce_precision_v1", "exponent_bits mantissa_bits"},
    {"reduce_scatter_v1", "channel_id replica_groups scatter_dimension use_global_device_ids"},
    {"reduce_v1", "dimensions"},
    {"reduce_window_v1",
     "base_dilations padding window_dilations window_dimensions window_strides"},
    {"remainder_v1", ""},
    {"replica_id_v1", ""},
    {"reshape_v1", ""},
    {"return_v1", ""},
    {"reverse_v1", "dimensions"},
    {"rng_bit_generator_v1", "rng_algorithm"},
    {"rng_v1", "rng_distribution"},
    {"round_nearest_afz_v1", ""},
    {"round_nearest_even_v1", ""},
    {"rsqrt_v1", ""},
    {"rsqrt_v2", ACCURACY},
    {"scatter_v1", "index_vector_dim indices_are_sorted inserted_window_dims " SCATTER_END},
    {"scatter_v2", "index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims "
                   "scatter_dims_to_operand_dims scatter_indices_batching_dims unique_indices "
                   "update_window_dims"},
    {"select_and_scatter_v1", "padding window_dimensions window_strides"},
    {"select_v1", ""},
    {"send_v1", "channel_id channel_type is_host_transfer"},
    {"send_v2", "channel_id channel_type is_host_transfer source_target_pairs"},
    {"set_dimension_size_v1", "dimension"},
    {"shift_left_v1", ""},
    {"shift_right_arithmetic_v1", ""},
    {"shift_right_logical_v1", ""},
    {"sign_v1", ""},
    {"sine_v1", ""},
    {"sine_v2", ACCURACY},
    {"slice_v1", "limit_indices start_indices strides"},
    {"sort_v1", "dimension is_stable"},
    {"sqrt_v1", ""},
    {"sqrt_v2", ACCURACY},
    {"subtract_v1", ""},
    {"tan_v1", ""},
    {"tan_v2", ACCURACY},
    {"tanh_v1", ""},
    {"tanh_v2", ACCURACY},
    {"torch_index_select_v1", "batch_dims dim"},
    {"transpose_v1", "permutation"},
    {"triangular_solve_v1", "left_side lower transpose_a unit_diagonal"},
    {"tuple_v1", ""},
    {"unary_einsum_v1", "einsum_config"},
    {"uniform_dequantize_v1", ""},
    {"uniform_quantize_v1", ""},
    {"while_v1", ""},
    {"xor_v1", ""},
};

const vhlo_op_t *vhlo_op_find(span_t name)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (span_is(name, ops[i].name)) return &ops[i];
    return NULL;
}

const char *vhlo_op_at(size_t i, const char **attrs)
{
    if (i >= sizeof ops / sizeof *ops) return NULL;
    *attrs = ops[i].attrs;
    return ops[i].name;
}

/* --- attributes that StableHLO has otherwise --- */

value_kind_t vhlo_value_kind(span_t attr)
{
    static const struct {
        const char *name;
        value_kind_t kind;
    } kinds[] = {
        {"callee", VALUE_SYMBOL},
        {"decomposition", VALUE_SYMBOL},
        {"called_computations", VALUE_SYMBOLS},
        {"channel_id", VALUE_CHANNEL},
        {"use_global_device_ids", VALUE_UNIT},
        {"lhs_precision_type", VALUE_ALGORITHM},
        {"rhs_precision_type", VALUE_ALGORITHM},
        {"accumulation_type", VALUE_ALGORITHM},
        {"lhs_component_count", VALUE_ALGORITHM},
        {"rhs_component_count", VALUE_ALGORITHM},
        {"num_primitive_operations", VALUE_ALGORITHM},
        {"allow_imprecise_accumulation", VALUE_ALGORITHM},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (span_is(attr, kinds[i].name)) return kinds[i].kind;
    return VALUE_PLAIN;
}

/* Hex that repeats `unit`, as dense literals of equal elements have it. */
static bool repeats(const char *text, const char *unit)
{
    static const char open[] = "dense<\"0x";
    if (strncmp(text, open, sizeof open - 1) != 0) return false;
    text += sizeof open - 1;
    while (strncmp(text, unit, strlen(unit)) == 0) text += strlen(unit);
    return *text == '"';
}

static bool is_no_window(span_t attr, const char *text)
{
    static const char *const dilations[] = {"lhs_dilation", "rhs_dilation", "base_dilations",
                                            "window_dilations"};
    for (size_t i = 0; i < sizeof dilations / sizeof *dilations; i++)
        if (span_is(attr, dilations[i])) return repeats(text, "0100000000000000");
    return span_is(attr, "window_reversal") && repeats(text, "00");
}

bool vhlo_is_absent(span_t attr, const char *text)
{
    static const struct {
        const char *name, *text;
    } absent[] = {
        {"compare_type", "#stablehlo<comparison_type NOTYPE>"},
        {"api_version", "#stablehlo<api_version API_VERSION_ORIGINAL>"},
        {"backend_config", "\"\""},
        {"called_computations", "[]"},
        {"has_side_effect", "false"},
        {"operand_layouts", "[]"},
        {"result_layouts", "[]"},
        {"output_operand_aliases", "[]"},
        {"result_tilings", "[]"},
        {"has_dynamic_root", "false"},
        {"composite_attributes", "{}"},
        {"known_expanding_dimensions", "dense<> : tensor<0xi64>"},
        {"known_nonexpanding_dimensions", "dense<> : tensor<0xi64>"},
        {"precision_config", "[]"},
        {"sym_visibility", "\"\""},
        {"result_accuracy",
         "#stablehlo.result_accuracy<atol = 0.000000e+00, rtol = 0.000000e+00, ulps = 0, mode = "
         "#stablehlo<result_accuracy_mode DEFAULT>>"},
    };
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (span_is(attr, absent[i].name)) return strcmp(text, absent[i].text) == 0;
    return is_no_window(attr, text);
}

/* --- enumerations --- */

typedef struct {
    uint64_t code; /* of the attribute */
    const char *name;
    const char *word[8];
} enumeration_t;

static const enumeration_t enumerations[] = {
    {3, "comparison_direction", {"EQ", "NE", "GE", "GT", "LE", "LT"}},
    {4, "comparison_type", {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED", "WEAKORDER"}},
    {5,
     "api_version",
     {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
      "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"}},
    {7, "fft_type", {"FFT", "IFFT", "RFFT", "IRFFT"}},
    {11, "precision", {"DEFAULT", "HIGH", "HIGHEST"}},
    {12, "rng_algorithm", {"DEFAULT", "THREE_FRY", "PHILOX"}},
    {13, "rng_distribution", {NULL, "UNIFORM", "NORMAL"}},
    {16, "transpose", {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
    {19, "result_accuracy_mode", {"DEFAULT", "HIGHEST", "TOLERANCE"}},
};

const char *vhlo_word(uint64_t code, uint64_t value, const char **name)
{
    *name = "word";
    for (size_t i = 0; i < sizeof enumerations / sizeof *enumerations; i++) {
        const enumeration_t *e = &enumerations[i];
        if (e->code != code) continue;
        *name = e->name;
        return value < sizeof e->word / sizeof *e->word ? e->word[value] : NULL;
    }
    return NULL;
}

/* --- types without parameters --- */

/* Their words in StableHLO; bits of those that numbers in attributes have. */
static const struct {
    const char *word;
    uint8_t int_bits, float_bits;
} types[] = {
    [0] = {"i1", 1, 0},
    [2] = {"bf16", 0, 16},
    [3] = {"f16", 0, 16},
    [4] = {"f32", 0, 32},
    [5] = {"f64", 0, 64},
    [6] = {"f8E4M3FN", 0, 8},
    [7] = {"f8E5M2", 0, 8},
    [9] = {"index", 64, 0},
    [10] = {"i4", 4, 0},
    [11] = {"i8", 8, 0},
    [12] = {"i16", 16, 0},
    [13] = {"i32", 32, 0},
    [14] = {"i64", 64, 0},
    [15] = {"ui4", 4, 0},
    [16] = {"ui8", 8, 0},
    [17] = {"ui16", 16, 0},
    [18] = {"ui32", 32, 0},
    [19] = {"ui64", 64, 0},
    [22] = {"!stablehlo.token", 0, 0},
    [26] = {"!shape.witness", 0, 0},
    [27] = {"f8E4M3FNUZ", 0, 8},
    [28] = {"f8E5M2FNUZ", 0, 8},
    [29] = {"f8E4M3B11FNUZ", 0, 8},
    [31] = {"i2", 2, 0},
    [32] = {"ui2", 2, 0},
    [33] = {"none", 0, 0},
    [34] = {"tf32", 0, 0},
    [35] = {"f8E4M3", 0, 8},
    [36] = {"f8E3M4", 0, 8},
    [37] = {"f4E2M1FN", 0, 4},
    [38] = {"f6E2M3FN", 0, 6},
    [39] = {"f6E3M2FN", 0, 6},
    [40] = {"f8E8M0FNU", 0, 8},
};

enum { N_TYPES = sizeof types / sizeof *types };

const char *vhlo_plain_type(uint64_t code)
{
    return code < N_TYPES ? types[code].word : NULL;
}

int vhlo_integer_bits(uint64_t code)
{
    return code < N_TYPES ? types[code].int_bits : 0;
}

int vhlo_float_bits(uint64_t code)
{
    return code < N_TYPES ? types[code].float_bits : 0;
}
