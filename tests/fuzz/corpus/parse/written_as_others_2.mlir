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
