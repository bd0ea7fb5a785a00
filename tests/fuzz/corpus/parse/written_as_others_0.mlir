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
