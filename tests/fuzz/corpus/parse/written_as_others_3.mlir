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
