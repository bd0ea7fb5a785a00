// i1 and the integers of two and four bits: sums that wrap inside of fused expressions, counts and
// shifts within an element's own width.
func.func @main() {
  %a = stablehlo.constant dense<[7, -8, 3, -1]> : tensor<4xi4>
  %b = stablehlo.constant dense<[1, -1, 5, 2]> : tensor<4xi4>
  %0 = stablehlo.add %a, %b : tensor<4xi4>
  check.expect_eq_const %0, dense<[-8, 7, -8, 1]> : tensor<4xi4>
  %1 = stablehlo.multiply %a, %b : tensor<4xi4>
  check.expect_eq_const %1, dense<[7, -8, -1, -2]> : tensor<4xi4>
  %2 = stablehlo.popcnt %a : tensor<4xi4>
  check.expect_eq_const %2, dense<[3, 1, 2, 4]> : tensor<4xi4>
  %3 = stablehlo.count_leading_zeros %a : tensor<4xi4>
  check.expect_eq_const %3, dense<[1, 0, 2, 0]> : tensor<4xi4>
  %4 = stablehlo.convert %a : (tensor<4xi4>) -> tensor<4xui4>
  check.expect_eq_const %4, dense<[7, 8, 3, 15]> : tensor<4xui4>
  %5 = stablehlo.negate %a : tensor<4xi4>
  check.expect_eq_const %5, dense<[-7, -8, -3, 1]> : tensor<4xi4>
  %6 = stablehlo.bitcast_convert %a : (tensor<4xi4>) -> tensor<4xui4>
  check.expect_eq_const %6, dense<[7, 8, 3, 15]> : tensor<4xui4>
  %7 = stablehlo.not %4 : tensor<4xui4>
  check.expect_eq_const %7, dense<[8, 7, 12, 0]> : tensor<4xui4>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, -8, 3]> : tensor<3xi4>
  %b = stablehlo.constant dense<[1, -1, 5]> : tensor<3xi4>
  %z = stablehlo.constant dense<0> : tensor<3xi4>
  %0 = stablehlo.add %a, %b : tensor<3xi4>
  %1 = stablehlo.compare LT, %0, %z : (tensor<3xi4>, tensor<3xi4>) -> tensor<3xi1>
  check.expect_eq_const %1, dense<[true, false, true]> : tensor<3xi1>
  %2 = stablehlo.convert %0 : (tensor<3xi4>) -> tensor<3xi32>
  check.expect_eq_const %2, dense<[-8, 7, -8]> : tensor<3xi32>
  %3 = stablehlo.maximum %0, %a : tensor<3xi4>
  check.expect_eq_const %3, dense<[7, 7, 3]> : tensor<3xi4>
  %4 = stablehlo.divide %0, %a : tensor<3xi4>
  check.expect_eq_const %4, dense<[-1, 0, -2]> : tensor<3xi4>
  %5 = stablehlo.multiply %a, %a : tensor<3xi4>
  %6 = stablehlo.abs %5 : tensor<3xi4>
  check.expect_eq_const %6, dense<[1, 0, 7]> : tensor<3xi4>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[3, -2, 1, 0]> : tensor<4xi4>
  %o = stablehlo.constant dense<1> : tensor<4xi4>
  %0 = stablehlo.shift_right_logical %a, %o : tensor<4xi4>
  check.expect_eq_const %0, dense<[1, 7, 0, 0]> : tensor<4xi4>
  %u = stablehlo.constant dense<[15, 8, 7, 1]> : tensor<4xui4>
  %p = stablehlo.constant dense<[1, 2, 3, 15]> : tensor<4xui4>
  %1 = stablehlo.shift_right_arithmetic %u, %p : tensor<4xui4>
  check.expect_eq_const %1, dense<[15, 14, 0, 0]> : tensor<4xui4>
  %2 = stablehlo.shift_left %u, %p : tensor<4xui4>
  check.expect_eq_const %2, dense<[14, 0, 8, 0]> : tensor<4xui4>
  %m = stablehlo.constant dense<[-1, 5, 4, 3]> : tensor<4xi4>
  %3 = stablehlo.shift_left %a, %m : tensor<4xi4>
  check.expect_eq_const %3, dense<[0, 0, 0, 0]> : tensor<4xi4>
  %4 = stablehlo.count_leading_zeros %u : tensor<4xui4>
  check.expect_eq_const %4, dense<[0, 0, 1, 3]> : tensor<4xui4>
  %w = stablehlo.constant dense<[1, -2, 0, -1]> : tensor<4xi2>
  %5 = stablehlo.popcnt %w : tensor<4xi2>
  check.expect_eq_const %5, dense<[1, 1, 0, -2]> : tensor<4xi2>
  %6 = stablehlo.subtract %u, %p : tensor<4xui4>
  %7 = stablehlo.convert %6 : (tensor<4xui4>) -> tensor<4xi8>
  check.expect_eq_const %7, dense<[14, 6, 4, 2]> : tensor<4xi8>
  %8 = stablehlo.not %6 : tensor<4xui4>
  %9 = stablehlo.convert %8 : (tensor<4xui4>) -> tensor<4xi8>
  check.expect_eq_const %9, dense<[1, 9, 11, 13]> : tensor<4xi8>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[true, false, true, true]> : tensor<4xi1>
  %y = stablehlo.constant dense<[true, true, false, true]> : tensor<4xi1>
  %0 = stablehlo.add %x, %y : tensor<4xi1>
  check.expect_eq_const %0, dense<[true, true, true, true]> : tensor<4xi1>
  %1 = stablehlo.multiply %x, %y : tensor<4xi1>
  check.expect_eq_const %1, dense<[true, false, false, true]> : tensor<4xi1>
  %2 = stablehlo.maximum %x, %y : tensor<4xi1>
  check.expect_eq_const %2, dense<[true, true, true, true]> : tensor<4xi1>
  %3 = stablehlo.compare LT, %y, %x, UNSIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  check.expect_eq_const %3, dense<[false, false, true, false]> : tensor<4xi1>
  %i = stablehlo.constant dense<true> : tensor<i1>
  %4 = stablehlo.reduce(%x init: %i) applies stablehlo.and across dimensions = [0] : (tensor<4xi1>, tensor<i1>) -> tensor<i1>
  check.expect_eq_const %4, dense<false> : tensor<i1>
  %5 = stablehlo.reduce(%x init: %i) applies stablehlo.xor across dimensions = [0] : (tensor<4xi1>, tensor<i1>) -> tensor<i1>
  check.expect_eq_const %5, dense<false> : tensor<i1>
  %6 = stablehlo.reduce(%x init: %i) applies stablehlo.minimum across dimensions = [0] : (tensor<4xi1>, tensor<i1>) -> tensor<i1>
  check.expect_eq_const %6, dense<false> : tensor<i1>
  %7 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<4xi1>, tensor<4xi1>) -> tensor<i1>
  check.expect_eq_const %7, dense<true> : tensor<i1>
  %8 = stablehlo.convert %x : (tensor<4xi1>) -> tensor<4xbf16>
  check.expect_eq_const %8, dense<[1.0, 0.0, 1.0, 1.0]> : tensor<4xbf16>
  return
}
