/* Every op, one line each: OP(x) declares OP_x and expects `const op_def_t op_x` in the family's
 * file under ops/. Ops of other dialects carry their dialect in the name: chlo_erf,
 * check_expect_eq. Includers define OP(x) first and undefine it after. No include guard, on
 * purpose. */
/* clang-format off */

/* ops/literal.c */
OP(constant)
OP(iota)
/* ops/elementwise.c: unary, float */
OP(exponential)
OP(exponential_minus_one) OP(log) OP(log_plus_one) OP(logistic) OP(tanh) OP(sqrt) OP(rsqrt) OP(cbrt)
    OP(sine) OP(cosine) OP(tan) OP(ceil) OP(floor) OP(round_nearest_afz) OP(round_nearest_even)
        OP(is_finite)
    /* ops/elementwise.c: unary, any number */
    OP(abs) OP(negate) OP(sign)
    /* ops/binary.c */
    OP(add) OP(subtract) OP(multiply) OP(divide) OP(remainder) OP(maximum) OP(minimum) OP(power)
        OP(atan2)
    /* ops/bits.c: logical and bitwise, counts, shifts, bit casts */
    OP(and) OP(or) OP(xor) OP(not ) OP(popcnt) OP(count_leading_zeros) OP(shift_left)
        OP(shift_right_arithmetic) OP(shift_right_logical) OP(bitcast_convert)
    /* ops/compare.c */
    OP(compare) OP(select) OP(clamp)
    /* ops/convert.c */
    OP(convert) OP(reduce_precision)
    /* ops/chlo.c */
    OP(chlo_erf) OP(chlo_erfc) OP(chlo_erf_inv) OP(chlo_lgamma) OP(chlo_digamma) OP(chlo_square)
        OP(chlo_tan) OP(chlo_sinh) OP(chlo_cosh) OP(chlo_asin) OP(chlo_acos) OP(chlo_atan)
            OP(chlo_asinh) OP(chlo_acosh) OP(chlo_atanh) OP(chlo_next_after) OP(chlo_top_k)
    /* ops/chlo_expand.c */
    OP(chlo_bessel_i1e) OP(chlo_zeta) OP(chlo_polygamma) OP(chlo_is_inf) OP(chlo_is_pos_inf)
        OP(chlo_is_neg_inf) OP(chlo_constant_like) OP(replica_id) OP(partition_id)
            OP(chlo_broadcast_add) OP(chlo_broadcast_subtract) OP(chlo_broadcast_multiply)
                OP(chlo_broadcast_divide) OP(chlo_broadcast_remainder) OP(chlo_broadcast_maximum)
                    OP(chlo_broadcast_minimum) OP(chlo_broadcast_power) OP(chlo_broadcast_atan2)
                        OP(chlo_broadcast_and) OP(chlo_broadcast_or) OP(chlo_broadcast_xor)
                            OP(chlo_broadcast_shift_left) OP(chlo_broadcast_shift_right_arithmetic)
                                OP(chlo_broadcast_shift_right_logical) OP(chlo_broadcast_compare)
    OP(chlo_broadcast_complex) OP(chlo_broadcast_next_after) OP(chlo_broadcast_zeta)
        OP(chlo_broadcast_polygamma) OP(chlo_mulhi)
    /* ops/collective.c */
    OP(all_reduce) OP(reduce_scatter) OP(all_gather) OP(all_to_all) OP(collective_permute)
        OP(collective_broadcast)
    /* ops/complex.c */
    OP(complex) OP(real) OP(imag) OP(chlo_conj)
    /* ops/fft.c, ops/linalg.c */
    OP(fft) OP(cholesky) OP(triangular_solve)
    /* ops/complex_parts.c: the parts of complex functions, in plans */
    OP(pcp_cabs)
    OP(pcp_cexp_real) OP(pcp_cexp_imag)
    OP(pcp_cexpm1_real) OP(pcp_cexpm1_imag)
    OP(pcp_clog_real) OP(pcp_clog_imag)
    OP(pcp_clog1p_real) OP(pcp_clog1p_imag)
    OP(pcp_clogistic_real) OP(pcp_clogistic_imag)
    OP(pcp_csqrt_real) OP(pcp_csqrt_imag)
    OP(pcp_crsqrt_real) OP(pcp_crsqrt_imag)
    OP(pcp_ccbrt_real) OP(pcp_ccbrt_imag)
    OP(pcp_csign_real) OP(pcp_csign_imag)
    OP(pcp_csin_real) OP(pcp_csin_imag)
    OP(pcp_ccos_real) OP(pcp_ccos_imag)
    OP(pcp_ctan_real) OP(pcp_ctan_imag)
    OP(pcp_csinh_real) OP(pcp_csinh_imag)
    OP(pcp_ccosh_real) OP(pcp_ccosh_imag)
    OP(pcp_ctanh_real) OP(pcp_ctanh_imag)
    OP(pcp_casin_real) OP(pcp_casin_imag)
    OP(pcp_cacos_real) OP(pcp_cacos_imag)
    OP(pcp_catan_real) OP(pcp_catan_imag)
    OP(pcp_casinh_real) OP(pcp_casinh_imag)
    OP(pcp_cacosh_real) OP(pcp_cacosh_imag)
    OP(pcp_catanh_real) OP(pcp_catanh_imag)
    OP(pcp_cmul_real) OP(pcp_cmul_imag)
    OP(pcp_cdiv_real) OP(pcp_cdiv_imag)
    OP(pcp_cpow_real) OP(pcp_cpow_imag)
    OP(pcp_catan2_real) OP(pcp_catan2_imag)
    /* ops/norm.c */
    OP(batch_norm_inference) OP(batch_norm_training) OP(batch_norm_grad)
    /* ops/shape.c */
    OP(reshape) OP(transpose) OP(broadcast_in_dim) OP(reverse) OP(concatenate) OP(slice) OP(pad)
    /* ops/dynamic.c: operands that give indices or (static) result shapes */
    OP(dynamic_slice) OP(dynamic_update_slice) OP(dynamic_iota) OP(dynamic_broadcast_in_dim)
        OP(dynamic_reshape) OP(get_dimension_size)
    /* ops/dot.c, ops/convolution.c */
    OP(dot_general) OP(convolution)
    /* ops/reduce.c, ops/window.c */
    OP(reduce) OP(reduce_window) OP(select_and_scatter)
    /* ops/gather.c, ops/scatter.c, ops/sort.c */
    OP(gather) OP(scatter) OP(sort)
    /* ops/control.c */
    OP(while) OP(if) OP(case) OP(map) OP(call) OP(composite) OP(custom_call)
        OP(optimization_barrier)
    /* ops/fused.c: groups that plans have kernels for */
    OP(pcp_fused)
    /* ops/quantize.c */
    OP(pcp_quantize) OP(pcp_dequantize)
    /* ops/draw_rule.c, ops/random.c */
    OP(rng) OP(rng_bit_generator)
    /* ops/check_expect.c: the checks of StableHLO's own test files */
    OP(check_expect_eq) OP(check_expect_eq_const) OP(check_expect_almost_eq)
        OP(check_expect_almost_eq_const) OP(check_expect_close)
