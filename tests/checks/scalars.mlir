// Rank 0 and empty tensors through ops that have dimension lists.
func.func @main() {
  %s = stablehlo.constant dense<7> : tensor<i32>
  %0 = stablehlo.reshape %s : (tensor<i32>) -> tensor<1x1x1xi32>
  %1 = stablehlo.reshape %0 : (tensor<1x1x1xi32>) -> tensor<i32>
  check.expect_eq_const %1, dense<7> : tensor<i32>
  %2 = stablehlo.transpose %s, dims = [] : (tensor<i32>) -> tensor<i32>
  %3 = stablehlo.reverse %2, dims = [] : tensor<i32>
  %4 = stablehlo.slice %3 [] : (tensor<i32>) -> tensor<i32>
  %5 = stablehlo.pad %4, %s, low = [], high = [], interior = [] : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %6 = stablehlo.dynamic_slice %5, sizes = [] : (tensor<i32>) -> tensor<i32>
  %7 = stablehlo.dynamic_update_slice %6, %s : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %8 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<i32>) -> tensor<i32>
  %9 = stablehlo.reduce(%8 init: %s) applies stablehlo.add across dimensions = [] : (tensor<i32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %8, dense<7> : tensor<i32>
  %10 = stablehlo.dot_general %s, %s, contracting_dims = [] x [] : (tensor<i32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %10, dense<49> : tensor<i32>
  return
}
// -----
func.func @main() {
  %z = stablehlo.constant dense<> : tensor<2x0xi32>
  %i = stablehlo.constant dense<5> : tensor<i32>
  %0 = stablehlo.dot_general %z, %z, contracting_dims = [1] x [1] : (tensor<2x0xi32>, tensor<2x0xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %0, dense<0> : tensor<2x2xi32>
  %1 = stablehlo.reduce(%z init: %i) applies stablehlo.maximum across dimensions = [1] : (tensor<2x0xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %1, dense<5> : tensor<2xi32>
  %2 = stablehlo.pad %z, %i, low = [0, 1], high = [1, 1], interior = [1, 2] : (tensor<2x0xi32>, tensor<i32>) -> tensor<4x2xi32>
  check.expect_eq_const %2, dense<5> : tensor<4x2xi32>
  return
}
// -----
func.func @main() {
  %z = stablehlo.constant dense<> : tensor<2x0xi32>
  %a = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %0 = stablehlo.concatenate %z, %a, %z, dim = 1 : (tensor<2x0xi32>, tensor<2x1xi32>, tensor<2x0xi32>) -> tensor<2x1xi32>
  check.expect_eq_const %0, dense<[[1], [2]]> : tensor<2x1xi32>
  %1 = stablehlo.reshape %z : (tensor<2x0xi32>) -> tensor<0x5xi32>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<0x5xi32>) -> tensor<5x0xi32>
  %3 = stablehlo.slice %2 [1:5:2, 0:0] : (tensor<5x0xi32>) -> tensor<2x0xi32>
  check.expect_eq %3, %z : tensor<2x0xi32>
  %4 = stablehlo.iota dim = 0 : tensor<0xf32>
  %5 = stablehlo.constant dense<> : tensor<0xf32>
  check.expect_eq %4, %5 : tensor<0xf32>
  return
}
// -----
func.func @main() {
  // dimensions of one spread, in any order of the dimension numbers
  %a = stablehlo.constant dense<[[1], [2], [3]]> : tensor<3x1xi8>
  %0 = stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<3x1xi8>) -> tensor<2x2x3xi8>
  check.expect_eq_const %0, dense<[[[1, 2, 3], [1, 2, 3]], [[1, 2, 3], [1, 2, 3]]]> : tensor<2x2x3xi8>
  %b = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1, 0] : (tensor<2x2xi8>) -> tensor<2x2xi8>
  check.expect_eq_const %1, dense<[[1, 3], [2, 4]]> : tensor<2x2xi8>
  return
}
