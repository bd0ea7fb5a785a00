// Rows 0, 1 belong to group 0, none to group 1, row 2 to group 2, row 3 to none.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %w = stablehlo.constant dense<[[[1.0], [1.0]], [[0x7FC00000], [0x7F800000]], [[10.0], [-1.0]]]> : tensor<3x2x1xf32>
  %s = stablehlo.constant dense<[2, 0, 1]> : tensor<3xi32>
  %0 = "chlo.ragged_dot"(%x, %w, %s) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x2xf32>, tensor<3x2x1xf32>, tensor<3xi32>) -> tensor<4x1xf32>
  check.expect_eq_const %0, dense<[[3.0], [7.0], [44.0], [0.0]]> : tensor<4x1xf32>
  %y = stablehlo.constant dense<[[1.0], [1.0], [2.0], [0x7FC00000]]> : tensor<4x1xf32>
  %1 = "chlo.ragged_dot"(%x, %y, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0]>}> : (tensor<4x2xf32>, tensor<4x1xf32>, tensor<3xi32>) -> tensor<3x2x1xf32>
  check.expect_eq_const %1, dense<[[[4.0], [6.0]], [[0.0], [0.0]], [[10.0], [12.0]]]> : tensor<3x2x1xf32>
  return
}
