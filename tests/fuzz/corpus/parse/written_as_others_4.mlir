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
