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
