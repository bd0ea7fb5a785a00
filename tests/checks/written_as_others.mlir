// Ops that are read as others: older ones, dynamic forms with constant operands, custom calls.
func.func @main() {
  %x = stablehlo.constant dense<[0.5, 1.0]> : tensor<2xf32>
  %0 = stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_almost_eq_const %0, dense<[0.5204999, 0.8427008]> : tensor<2xf32>
  %y = stablehlo.constant dense<[[1.0, 5.0, 3.0], [9.0, 7.0, 9.0]]> : tensor<2x3xf32>
  %v, %i = stablehlo.custom_call @mhlo.topk(%y) {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  check.expect_eq_const %v, dense<[[5.0, 3.0], [9.0, 9.0]]> : tensor<2x2xf32>
  check.expect_eq_const %i, dense<[[1, 2], [0, 2]]> : tensor<2x2xi32>
  %1 = stablehlo.custom_call @mhlo.tan(%x) {mhlo.attributes = {}} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_almost_eq_const %1, dense<[0.5463025, 1.5574077]> : tensor<2xf32>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %b = stablehlo.constant dense<[[1, 0], [2, 1], [0, -1]]> : tensor<3x2xi32>
  %0 = stablehlo.einsum %a, %b, config = "ab,bc->ac" : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[5, -1], [14, -1]]> : tensor<2x2xi32>
  %1 = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab,bc->ca"}> : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %1, dense<[[5, 14], [-1, -1]]> : tensor<2x2xi32>
  // nothing shared: the outer product, c summed alone
  %2 = stablehlo.einsum %a, %b, config = "ab, dc -> dab" : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<3x2x3xi32>
  check.expect_eq_const %2, dense<[[[1, 2, 3], [4, 5, 6]], [[3, 6, 9], [12, 15, 18]], [[-1, -2, -3], [-4, -5, -6]]]> : tensor<3x2x3xi32>
  // shared and kept
  %3 = stablehlo.einsum %a, %a, config = "ab,ab->b" : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<3xi32>
  check.expect_eq_const %3, dense<[17, 29, 45]> : tensor<3xi32>
  %4 = stablehlo.einsum %a, %a, config = "ab,ab->ba" : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %4, dense<[[1, 16], [4, 25], [9, 36]]> : tensor<3x2xi32>
  // ellipses: of one on the left, of two (and one of them a one) on the right
  %c = stablehlo.constant dense<[[[10, 20]], [[1, 2]]]> : tensor<2x1x2xi32>
  %5 = stablehlo.einsum %b, %c, config = "...a,...a->...a" : (tensor<3x2xi32>, tensor<2x1x2xi32>) -> tensor<2x3x2xi32>
  check.expect_eq_const %5, dense<[[[10, 0], [20, 20], [0, -20]], [[1, 0], [2, 2], [0, -2]]]> : tensor<2x3x2xi32>
  %6 = stablehlo.einsum %b, %c, config = "...a,...a->..." : (tensor<3x2xi32>, tensor<2x1x2xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %6, dense<[[10, 40, -20], [1, 4, -2]]> : tensor<2x3xi32>
  return
}
// -----
func.func @main() {
  %m = stablehlo.constant dense<[[1.0, 2.0, 0x7FC00000], [4.0, 5.0, 6.0], [7.0, 0x7F800000, 9.0]]> : tensor<3x3xf32>
  %0 = stablehlo.unary_einsum %m, config = "ii->i" : (tensor<3x3xf32>) -> tensor<3xf32>
  check.expect_eq_const %0, dense<[1.0, 5.0, 9.0]> : tensor<3xf32>
  %1 = stablehlo.unary_einsum %m, config = "ii->" : (tensor<3x3xf32>) -> tensor<f32>
  check.expect_eq_const %1, dense<15.0> : tensor<f32>
  %n = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %2 = "stablehlo.unary_einsum"(%n) <{einsum_config = "ab->ba"}> : (tensor<2x3xi8>) -> tensor<3x2xi8>
  check.expect_eq_const %2, dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi8>
  %3 = stablehlo.unary_einsum %n, config = "ab->a" : (tensor<2x3xi8>) -> tensor<2xi8>
  check.expect_eq_const %3, dense<[6, 15]> : tensor<2xi8>
  %4 = stablehlo.unary_einsum %n, config = "...a->a..." : (tensor<2x3xi8>) -> tensor<3x2xi8>
  check.expect_eq_const %4, dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi8>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]]> : tensor<2x3x2xi32>
  %i = stablehlo.constant dense<[2, -1, 9]> : tensor<3xi32>
  %0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 1 : i64, batch_dims = 0 : i64}> : (tensor<2x3x2xi32>, tensor<3xi32>) -> tensor<2x3x2xi32>
  check.expect_eq_const %0, dense<[[[5, 6], [1, 2], [5, 6]], [[11, 12], [7, 8], [11, 12]]]> : tensor<2x3x2xi32>
  %j = stablehlo.constant dense<[[0, 2], [1, 1]]> : tensor<2x2xi64>
  %1 = "stablehlo.torch_index_select"(%x, %j) {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<2x3x2xi32>, tensor<2x2xi64>) -> tensor<2x2x2xi32>
  check.expect_eq_const %1, dense<[[[1, 2], [5, 6]], [[9, 10], [9, 10]]]> : tensor<2x2x2xi32>
  %2 = "stablehlo.torch_index_select"(%x, %j) {dim = -1 : i64, batch_dims = 0 : i64} : (tensor<2x3x2xi32>, tensor<2x2xi64>) -> tensor<2x3x2x2xi32>
  check.expect_eq_const %2, dense<[[[[1, 2], [2, 2]], [[3, 4], [4, 4]], [[5, 6], [6, 6]]], [[[7, 8], [8, 8]], [[9, 10], [10, 10]], [[11, 12], [12, 12]]]]> : tensor<2x3x2x2xi32>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %0 = stablehlo.broadcast %x, sizes = [2, 1] : (tensor<3xi32>) -> tensor<2x1x3xi32>
  check.expect_eq_const %0, dense<[[[1, 2, 3]], [[1, 2, 3]]]> : tensor<2x1x3xi32>
  %1 = "stablehlo.broadcast"(%x) {broadcast_sizes = dense<2> : tensor<1xi64>} : (tensor<3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %1, dense<[[1, 2, 3], [1, 2, 3]]> : tensor<2x3xi32>
  %p = stablehlo.constant dense<[[true], [false]]> : tensor<2x1xi1>
  %z = stablehlo.constant dense<-7> : tensor<i32>
  %2 = chlo.broadcast_select %p, %x, %z : (tensor<2x1xi1>, tensor<3xi32>, tensor<i32>) -> tensor<2x3xi32>
  check.expect_eq_const %2, dense<[[1, 2, 3], [-7, -7, -7]]> : tensor<2x3xi32>
  return
}
// -----
// Sizes that are constants, or follow from constants and static shapes.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %v = stablehlo.constant dense<0> : tensor<i32>
  %low = stablehlo.constant dense<[1, -1]> : tensor<2xi64>
  %none = stablehlo.constant dense<0> : tensor<2xi64>
  %in = stablehlo.constant dense<[0, 1]> : tensor<2xindex>
  %0 = stablehlo.dynamic_pad %x, %v, %low, %none, %in : (tensor<2x3xi32>, tensor<i32>, tensor<2xi64>, tensor<2xi64>, tensor<2xindex>) -> tensor<3x4xi32>
  check.expect_eq_const %0, dense<[[0, 0, 0, 0], [0, 2, 0, 3], [0, 5, 0, 6]]> : tensor<3x4xi32>
  %n = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xi32>) -> tensor<i32>
  %m = stablehlo.get_dimension_size %x, dim = 0 : (tensor<2x3xi32>) -> tensor<i32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %m1 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %limit = stablehlo.concatenate %m1, %n1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %start = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
  %stride = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.real_dynamic_slice %x, %start, %limit, %stride : (tensor<2x3xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<1x2xi32>
  check.expect_eq_const %1, dense<[[4, 6]]> : tensor<1x2xi32>
  %i = stablehlo.constant dense<[[1], [0]]> : tensor<2x1xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %sizes = stablehlo.concatenate %one, %n1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %2 = "stablehlo.dynamic_gather"(%x, %i, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<2x3xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %2, dense<[[4, 5, 6], [1, 2, 3]]> : tensor<2x3xi32>
  %3 = stablehlo.set_dimension_size %x, %n, dim = 1 : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x3xi32>
  check.expect_eq_const %3, dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %shape = stablehlo.multiply %limit, %stride : tensor<2xi32>
  %half = stablehlo.constant dense<[1, 1]> : tensor<2xi32>
  %flat = stablehlo.divide %shape, %half : tensor<2xi32>
  %4 = stablehlo.dynamic_reshape %x, %limit : (tensor<2x3xi32>, tensor<2xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %4, dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %six = stablehlo.constant dense<6> : tensor<1xi32>
  %5 = chlo.dynamic_reshape %x, %six : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<6xi32>
  check.expect_eq_const %5, dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>
  %k = stablehlo.constant dense<[[[1.0]], [[10.0]]]> : tensor<2x1x1xf32>
  %pad = stablehlo.constant dense<[[1, 0]]> : tensor<1x2xi32>
  %0 = stablehlo.dynamic_conv(%x, %k, %pad) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x1xf32>, tensor<2x1x1xf32>, tensor<1x2xi32>) -> tensor<1x2x1xf32>
  check.expect_eq_const %0, dense<[[[10.0], [32.0]]]> : tensor<1x2x1xf32>
  %1 = "stablehlo.dynamic_conv"(%x, %k, %pad) <{dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64}> : (tensor<1x3x1xf32>, tensor<2x1x1xf32>, tensor<1x2xi32>) -> tensor<1x3x1xf32>
  check.expect_eq_const %1, dense<[[[10.0], [21.0], [32.0]]]> : tensor<1x3x1xf32>
  return
}
// -----
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
