// Quantised tensors: values by hand from the specification's formulas. Scales are powers of two, so that
// floats are exact; halves round to even.
func.func @main() {
  %x = stablehlo.constant dense<[4.0, 15.0, -0.25, 0.75, -100.0, 100.0]> : tensor<6xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<6xf32>) -> tensor<6x!quant.uniform<i8:f32, 0.5:-30>>
  // 8 - 30, 30 - 30, -0.5 - 30 = -30.5 -> -30, 1.5 - 30 = -28.5 -> -28, -230 -> -128, 170 -> 127
  %b = stablehlo.bitcast_convert %q : (tensor<6x!quant.uniform<i8:f32, 0.5:-30>>) -> tensor<6xi8>
  check.expect_eq_const %b, dense<[-22, 0, -30, -28, -128, 127]> : tensor<6xi8>
  %d = stablehlo.uniform_dequantize %q : (tensor<6x!quant.uniform<i8:f32, 0.5:-30>>) -> tensor<6xf32>
  check.expect_eq_const %d, dense<[4.0, 15.0, 0.0, 1.0, -49.0, 78.5]> : tensor<6xf32>
  // bounds narrower than the storage type, u8, another scale
  %n = "stablehlo.uniform_quantize"(%x) : (tensor<6xf32>) -> tensor<6x!quant.uniform<u8<1:200>:f32, 1.0:64>>
  %nb = stablehlo.bitcast_convert %n : (tensor<6x!quant.uniform<u8<1:200>:f32, 1.0:64>>) -> tensor<6xui8>
  check.expect_eq_const %nb, dense<[68, 79, 64, 65, 1, 164]> : tensor<6xui8>
  // one quantisation to another
  %r = stablehlo.uniform_quantize %q : (tensor<6x!quant.uniform<i8:f32, 0.5:-30>>) -> tensor<6x!quant.uniform<i16:f32, 0.25>>
  check.expect_eq_const %r, dense<[16, 60, 0, 4, -196, 314]> : tensor<6x!quant.uniform<i16:f32, 0.25>>
  %c = stablehlo.constant() {value = dense<[-22, 0, -30, -28, -128, 127]> : tensor<6xi8>} : () -> tensor<6x!quant.uniform<i8:f32, 0.5:-30>>
  check.expect_eq %c, %q : tensor<6x!quant.uniform<i8:f32, 0.5:-30>>
  check.expect_almost_eq %c, %q : tensor<6x!quant.uniform<i8:f32, 0.5:-30>>
  return
}
// -----
// Ops on the floats behind, result types of their own; ops that move what is stored.
!q = !quant.uniform<i8:f32, 0.5:2>
!r = !quant.uniform<i8:f32, 1.0:-3>
func.func @main() {
  %a = stablehlo.constant dense<[[2, 4, 127], [0, -128, 3]]> : tensor<2x3x!q>
  %b = stablehlo.constant dense<[[3, 3, 127], [1, -100, 0]]> : tensor<2x3x!q>
  // reals of a: 0, 1, 62.5; -1, -65, 0.5   of b: 0.5, 0.5, 62.5; -0.5, -51, -1
  %0 = stablehlo.add %a, %b : tensor<2x3x!q>
  check.expect_eq_const %0, dense<[[3, 5, 127], [-1, -128, 1]]> : tensor<2x3x!q>
  %1 = stablehlo.add %a, %b : (tensor<2x3x!q>, tensor<2x3x!q>) -> tensor<2x3x!r>
  // 0.5 - 3 = -2.5 -> -2; 1.5 - 3 = -1.5 -> -2; 125 - 3; -1.5 - 3 = -4.5 -> -4; -116 - 3; -0.5 - 3 = -3.5 -> -4
  check.expect_eq_const %1, dense<[[-2, -2, 122], [-4, -119, -4]]> : tensor<2x3x!r>
  %2 = stablehlo.multiply %a, %b : tensor<2x3x!q>
  // 0, 0.5, 3906.25; 0.5, 3315, -0.5
  check.expect_eq_const %2, dense<[[2, 3, 127], [3, 127, 1]]> : tensor<2x3x!q>
  %3 = stablehlo.compare LT, %a, %b : (tensor<2x3x!q>, tensor<2x3x!q>) -> tensor<2x3xi1>
  check.expect_eq_const %3, dense<[[true, false, false], [true, true, false]]> : tensor<2x3xi1>
  %4 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3x!q>) -> tensor<3x2x!q>
  check.expect_eq_const %4, dense<[[2, 0], [4, -128], [127, 3]]> : tensor<3x2x!q>
  %5 = stablehlo.reshape %4 : (tensor<3x2x!q>) -> tensor<6x!q>
  check.expect_eq_const %5, dense<[2, 0, 4, -128, 127, 3]> : tensor<6x!q>
  %6 = stablehlo.select %3, %a, %b : tensor<2x3xi1>, tensor<2x3x!q>
  check.expect_eq_const %6, dense<[[2, 3, 127], [0, -128, 0]]> : tensor<2x3x!q>
  %7 = stablehlo.abs %a : tensor<2x3x!q>
  check.expect_eq_const %7, dense<[[2, 4, 127], [4, 127, 3]]> : tensor<2x3x!q>
  %8 = stablehlo.is_finite %a : (tensor<2x3x!q>) -> tensor<2x3xi1>
  check.expect_eq_const %8, dense<true> : tensor<2x3xi1>
  %9 = stablehlo.iota dim = 1 : tensor<2x3x!q>
  check.expect_eq_const %9, dense<[[2, 4, 6], [2, 4, 6]]> : tensor<2x3x!q>
  %10 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<> : tensor<0x2xi64>} : (tensor<2x3x!q>) -> tensor<2x3x!q>
  check.expect_eq_const %10, dense<2> : tensor<2x3x!q>
  return
}
// -----
// Regions over quantised elements; calls and loops.
!q = !quant.uniform<i8:f32, 0.5:2>
func.func @main() {
  %a = stablehlo.constant dense<[[2, 4, 127], [0, -128, 3]]> : tensor<2x3x!q>
  %z = stablehlo.constant dense<2> : tensor<!q>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3x!q>, tensor<!q>) -> tensor<2x!q>
  check.expect_eq_const %0, dense<[127, 3]> : tensor<2x!q>
  %1 = stablehlo.reduce(%a init: %z) across dimensions = [0] : (tensor<2x3x!q>, tensor<!q>) -> tensor<3x!q>
   reducer(%x: tensor<!q>, %y: tensor<!q>) {
    %s = stablehlo.add %x, %y : tensor<!q>
    stablehlo.return %s : tensor<!q>
   }
  check.expect_eq_const %1, dense<[0, -126, 127]> : tensor<3x!q>
  %2 = "stablehlo.sort"(%a) ({
  ^bb0(%x: tensor<!q>, %y: tensor<!q>):
    %p = stablehlo.compare LT, %x, %y : (tensor<!q>, tensor<!q>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x3x!q>) -> tensor<2x3x!q>
  check.expect_eq_const %2, dense<[[2, 4, 127], [-128, 0, 3]]> : tensor<2x3x!q>
  %3 = call @twice(%a) : (tensor<2x3x!q>) -> tensor<2x3x!q>
  check.expect_eq_const %3, dense<[[2, 6, 127], [-2, -128, 4]]> : tensor<2x3x!q>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %w:2 = stablehlo.while(%n = %i, %v = %a) : tensor<i32>, tensor<2x3x!q>
   cond {
    %k = stablehlo.constant dense<2> : tensor<i32>
    %p = stablehlo.compare LT, %n, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
   } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %m = stablehlo.add %n, %one : tensor<i32>
    %u = func.call @twice(%v) : (tensor<2x3x!q>) -> tensor<2x3x!q>
    stablehlo.return %m, %u : tensor<i32>, tensor<2x3x!q>
   }
  check.expect_eq_const %w#1, dense<[[2, 10, 127], [-6, -128, 6]]> : tensor<2x3x!q>
  %t = stablehlo.tuple %a, %z : tuple<tensor<2x3x!q>, tensor<!q>>
  %4 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2x3x!q>, tensor<!q>>) -> tensor<!q>
  %5 = stablehlo.pad %a, %4, low = [0, 1], high = [0, 0], interior = [0, 0] : (tensor<2x3x!q>, tensor<!q>) -> tensor<2x4x!q>
  check.expect_eq_const %5, dense<[[2, 2, 4, 127], [2, 0, -128, 3]]> : tensor<2x4x!q>
  return
}
func.func private @twice(%x: tensor<2x3x!q>) -> tensor<2x3x!q> {
  %0 = stablehlo.add %x, %x : tensor<2x3x!q>
  return %0 : tensor<2x3x!q>
}
// -----
// Scales along an axis; products, the left operand quantised or not.
!w = !quant.uniform<i8<-127:127>:f32:1, {0.5, 2.0}>
!x = !quant.uniform<i8:f32, 1.0:-1>
!y = !quant.uniform<i32:f32:1, {0.5:0, 2.0:0}>
func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2], [-1, -2, -3]]> : tensor<2x3x!x>
  %w = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2x!w>
  // x: 1 2 3; 0 -1 -2   w: 0.5 4; 1.5 8; 2.5 12
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3x!x>, tensor<3x2x!w>) -> tensor<2x2x!y>
  // 11 56; -6.5 -32
  check.expect_eq_const %0, dense<[[22, 28], [-13, -16]]> : tensor<2x2x!y>
  %f = stablehlo.uniform_dequantize %x : (tensor<2x3x!x>) -> tensor<2x3xf32>
  check.expect_eq_const %f, dense<[[1.0, 2.0, 3.0], [0.0, -1.0, -2.0]]> : tensor<2x3xf32>
  %1 = stablehlo.dot_general %f, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x2x!w>) -> tensor<2x2xf32>
  check.expect_eq_const %1, dense<[[11.0, 56.0], [-6.5, -32.0]]> : tensor<2x2xf32>
  %2 = stablehlo.transpose %w, dims = [1, 0] : (tensor<3x2x!w>) -> tensor<2x3x!quant.uniform<i8<-127:127>:f32:0, {0.5, 2.0}>>
  %3 = stablehlo.uniform_dequantize %2 : (tensor<2x3x!quant.uniform<i8<-127:127>:f32:0, {0.5, 2.0}>>) -> tensor<2x3xf32>
  check.expect_eq_const %3, dense<[[0.5, 1.5, 2.5], [4.0, 8.0, 12.0]]> : tensor<2x3xf32>
  %4 = stablehlo.reshape %w : (tensor<3x2x!w>) -> tensor<3x1x2x!quant.uniform<i8<-127:127>:f32:2, {0.5, 2.0}>>
  %5 = stablehlo.uniform_dequantize %4 : (tensor<3x1x2x!quant.uniform<i8<-127:127>:f32:2, {0.5, 2.0}>>) -> tensor<3x1x2xf32>
  check.expect_eq_const %5, dense<[[[0.5, 4.0]], [[1.5, 8.0]], [[2.5, 12.0]]]> : tensor<3x1x2xf32>
  %6 = stablehlo.add %w, %w : tensor<3x2x!w>
  check.expect_eq_const %6, dense<[[2, 4], [6, 8], [10, 12]]> : tensor<3x2x!w>
  %7 = stablehlo.uniform_quantize %5 : (tensor<3x1x2xf32>) -> tensor<3x1x2x!quant.uniform<i4:f32:0, {1.0:1, 0.5, 4.0:-8}>>
  // 1.5 -> 2, 5; 3, 16 -> 7; -7.375 -> -7, -5
  check.expect_eq_const %7, dense<[[[2, 5]], [[3, 7]], [[-7, -5]]]> : tensor<3x1x2x!quant.uniform<i4:f32:0, {1.0:1, 0.5, 4.0:-8}>>
  %i = stablehlo.constant dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf32>
  %k = stablehlo.constant dense<[[[1, 1]], [[2, -1]]]> : tensor<2x1x2x!quant.uniform<i8:f32:2, {0.5, 2.0}>>
  %8 = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x1xf32>, tensor<2x1x2x!quant.uniform<i8:f32:2, {0.5, 2.0}>>) -> tensor<1x3x2xf32>
  check.expect_eq_const %8, dense<[[[2.5, -2.0], [4.0, -2.0], [5.5, -2.0]]]> : tensor<1x3x2xf32>
  return
}
// -----
// Other ops with regions on quantised elements: map, reduce_window, scatter.
!q = !quant.uniform<i8:f32, 0.5:2>
func.func @main() {
  %a = stablehlo.constant dense<[2, 4, 6]> : tensor<3x!q>
  %0 = "stablehlo.map"(%a, %a) ({
  ^bb0(%x: tensor<!q>, %y: tensor<!q>):
    %s = stablehlo.add %x, %y : tensor<!q>
    stablehlo.return %s : tensor<!q>
  }) {dimensions = array<i64: 0>} : (tensor<3x!q>, tensor<3x!q>) -> tensor<3x!q>
  check.expect_eq_const %0, dense<[2, 6, 10]> : tensor<3x!q>
  return
}
// -----
!q = !quant.uniform<i8:f32, 0.5:2>
func.func @main() {
  %a = stablehlo.constant dense<[[2, 4, 6, 127], [0, 1, 2, 3]]> : tensor<2x4x!q>
  %z = stablehlo.constant dense<2> : tensor<!q>
  %0 = "stablehlo.reduce_window"(%a, %z) ({
  ^bb0(%x: tensor<!q>, %y: tensor<!q>):
    %s = stablehlo.add %x, %y : tensor<!q>
    stablehlo.return %s : tensor<!q>
  }) {window_dimensions = array<i64: 1, 2>} : (tensor<2x4x!q>, tensor<!q>) -> tensor<2x3x!q>
  check.expect_eq_const %0, dense<[[4, 8, 127], [-1, 1, 3]]> : tensor<2x3x!q>
  %i = stablehlo.constant dense<[[1], [0]]> : tensor<2x1xi32>
  %u = stablehlo.constant dense<[4, 6]> : tensor<2x!q>
  %b = stablehlo.constant dense<[2, 4, 6]> : tensor<3x!q>
  %1 = "stablehlo.scatter"(%b, %i, %u) ({
  ^bb0(%x: tensor<!q>, %y: tensor<!q>):
    %s = stablehlo.add %x, %y : tensor<!q>
    stablehlo.return %s : tensor<!q>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<3x!q>, tensor<2x1xi32>, tensor<2x!q>) -> tensor<3x!q>
  check.expect_eq_const %1, dense<[6, 6, 6]> : tensor<3x!q>
  return
}
