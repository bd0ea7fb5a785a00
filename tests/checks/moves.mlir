// Starts outside of the operand in every index type, bits cast between widths, several types sorted at
// once, products and windows of integers.
func.func @main() {
  %a = stablehlo.constant dense<[[100, -128], [127, 3]]> : tensor<2x2xi8>
  %b = stablehlo.constant dense<[[2, 1], [-1, 2]]> : tensor<2x2xi8>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi8>
  check.expect_eq_const %0, dense<[[72, 100], [-5, -123]]> : tensor<2x2xi8>
  %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>
  check.expect_eq_const %1, dense<[[328, -156], [251, 133]]> : tensor<2x2xi32>
  %2 = "stablehlo.dot"(%a, %b) : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi64>
  check.expect_eq_const %2, dense<[[328, -156], [251, 133]]> : tensor<2x2xi64>
  return
}
// -----
func.func @main() {
  %f = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %0 = stablehlo.bitcast_convert %f : (tensor<2xf32>) -> tensor<2x4xui8>
  check.expect_eq_const %0, dense<[[0, 0, 128, 63], [0, 0, 0, 192]]> : tensor<2x4xui8>
  %1 = stablehlo.bitcast_convert %0 : (tensor<2x4xui8>) -> tensor<2xf32>
  check.expect_eq %1, %f : tensor<2xf32>
  %2 = stablehlo.bitcast_convert %0 : (tensor<2x4xui8>) -> tensor<2x4x2xui4>
  %3 = stablehlo.bitcast_convert %2 : (tensor<2x4x2xui4>) -> tensor<2x4xi8>
  check.expect_eq_const %3, dense<[[0, 0, -128, 63], [0, 0, 0, -64]]> : tensor<2x4xi8>
  return
}
// -----
func.func @main() {
  %k = stablehlo.constant dense<[[3, 1, 2, 1], [0, 5, 5, -1]]> : tensor<2x4xi16>
  %v = stablehlo.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf16>
  %0:2 = "stablehlo.sort"(%k, %v) <{dimension = -1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i16>, %b: tensor<i16>, %c: tensor<f16>, %d: tensor<f16>):
    %p = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i16>, tensor<i16>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<2x4xi16>, tensor<2x4xf16>) -> (tensor<2x4xi16>, tensor<2x4xf16>)
  check.expect_eq_const %0#0, dense<[[3, 2, 1, 1], [5, 5, 0, -1]]> : tensor<2x4xi16>
  check.expect_eq_const %0#1, dense<[[1.0, 3.0, 2.0, 4.0], [6.0, 7.0, 5.0, 8.0]]> : tensor<2x4xf16>
  %1 = "stablehlo.sort"(%k) ({
  ^bb0(%a: tensor<i16>, %b: tensor<i16>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i16>, tensor<i16>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<2x4xi16>) -> tensor<2x4xi16>
  check.expect_eq_const %1, dense<[[0, 1, 2, -1], [3, 5, 5, 1]]> : tensor<2x4xi16>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xui8>
  %i8 = stablehlo.constant dense<-5> : tensor<i8>
  %u8 = stablehlo.constant dense<200> : tensor<ui8>
  %0 = stablehlo.dynamic_slice %x, %i8, %i8, sizes = [1, 2] : (tensor<2x3xui8>, tensor<i8>, tensor<i8>) -> tensor<1x2xui8>
  check.expect_eq_const %0, dense<[[1, 2]]> : tensor<1x2xui8>
  %1 = stablehlo.dynamic_slice %x, %u8, %u8, sizes = [1, 2] : (tensor<2x3xui8>, tensor<ui8>, tensor<ui8>) -> tensor<1x2xui8>
  check.expect_eq_const %1, dense<[[5, 6]]> : tensor<1x2xui8>
  %u = stablehlo.constant dense<[[9], [8]]> : tensor<2x1xui8>
  %2 = stablehlo.dynamic_update_slice %x, %u, %u8, %u8 : (tensor<2x3xui8>, tensor<2x1xui8>, tensor<ui8>, tensor<ui8>) -> tensor<2x3xui8>
  check.expect_eq_const %2, dense<[[1, 2, 9], [4, 5, 8]]> : tensor<2x3xui8>
  %u64 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  %3 = stablehlo.dynamic_slice %x, %u64, %u64, sizes = [1, 2] : (tensor<2x3xui8>, tensor<ui64>, tensor<ui64>) -> tensor<1x2xui8>
  check.expect_eq_const %3, dense<[[5, 6]]> : tensor<1x2xui8>
  %r = stablehlo.constant dense<[[18446744073709551615], [1]]> : tensor<2x1xui64>
  %4 = "stablehlo.gather"(%x, %r) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<2x3xui8>, tensor<2x1xui64>) -> tensor<2x3xui8>
  check.expect_eq_const %4, dense<[[4, 5, 6], [4, 5, 6]]> : tensor<2x3xui8>
  %up = stablehlo.constant dense<[[10, 10, 10], [1, 1, 1]]> : tensor<2x3xui8>
  %5 = "stablehlo.scatter"(%x, %r, %up) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<ui8>, %b: tensor<ui8>):
    %s = stablehlo.add %a, %b : tensor<ui8>
    stablehlo.return %s : tensor<ui8>
  }) : (tensor<2x3xui8>, tensor<2x1xui64>, tensor<2x3xui8>) -> tensor<2x3xui8>
  check.expect_eq_const %5, dense<[[1, 2, 3], [5, 6, 7]]> : tensor<2x3xui8>
  return
}
// -----
func.func @main() {
  %x = stablehlo.iota dim = 0 : tensor<6xui32>
  %w = stablehlo.constant dense<[[[1]], [[2]]]> : tensor<2x1x1xui32>
  %xr = stablehlo.reshape %x : (tensor<6xui32>) -> tensor<1x6x1xui32>
  %0 = stablehlo.convolution(%xr, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 0]], lhs_dilate = [1], rhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]} : (tensor<1x6x1xui32>, tensor<2x1x1xui32>) -> tensor<1x3x1xui32>
  check.expect_eq_const %0, dense<[[[1], [5], [11]]]> : tensor<1x3x1xui32>
  return
}
// -----
func.func @main() {
  %0 = stablehlo.iota dim = 0 : tensor<300xui8>
  %1 = stablehlo.slice %0 [254:300:3] : (tensor<300xui8>) -> tensor<16xui8>
  check.expect_eq_const %1, dense<[254, 1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34, 37, 40, 43]> : tensor<16xui8>
  %3 = stablehlo.iota dim = 1 : tensor<2x3xbf16>
  check.expect_eq_const %3, dense<[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]> : tensor<2x3xbf16>
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %4 = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi32>) -> tensor<2x3xi64>
  check.expect_eq_const %4, dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xi64>
  return
}
