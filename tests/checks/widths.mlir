// Integer ops at the ends of the ranges of every width, by the formulas of the specification:
// division by zero gives all ones (-1), the smallest number wraps, shifts count without sign.
func.func @main() {
  %a = stablehlo.constant dense<[-2, -2, -2, -2, -1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1, 1]> : tensor<16xi2>
  %b = stablehlo.constant dense<[-2, -1, 0, 1, -2, -1, 0, 1, -2, -1, 0, 1, -2, -1, 0, 1]> : tensor<16xi2>
  %0 = stablehlo.add %a, %b : tensor<16xi2>
  check.expect_eq_const %0, dense<[0, 1, -2, -1, 1, -2, -1, 0, -2, -1, 0, 1, -1, 0, 1, -2]> : tensor<16xi2>
  %1 = stablehlo.subtract %a, %b : tensor<16xi2>
  check.expect_eq_const %1, dense<[0, -1, -2, 1, 1, 0, -1, -2, -2, 1, 0, -1, -1, -2, 1, 0]> : tensor<16xi2>
  %2 = stablehlo.multiply %a, %b : tensor<16xi2>
  check.expect_eq_const %2, dense<[0, -2, 0, -2, -2, 1, 0, -1, 0, 0, 0, 0, -2, -1, 0, 1]> : tensor<16xi2>
  %3 = stablehlo.divide %a, %b : tensor<16xi2>
  check.expect_eq_const %3, dense<[1, -2, -1, -2, 0, 1, -1, -1, 0, 0, -1, 0, 0, -1, -1, 1]> : tensor<16xi2>
  %4 = stablehlo.remainder %a, %b : tensor<16xi2>
  check.expect_eq_const %4, dense<[0, 0, -2, 0, -1, 0, -1, 0, 0, 0, 0, 0, 1, 0, 1, 0]> : tensor<16xi2>
  %5 = stablehlo.power %a, %b : tensor<16xi2>
  check.expect_eq_const %5, dense<[0, 0, 1, -2, 1, -1, 1, -1, 0, 0, 1, 0, 1, 1, 1, 1]> : tensor<16xi2>
  %6 = stablehlo.maximum %a, %b : tensor<16xi2>
  check.expect_eq_const %6, dense<[-2, -1, 0, 1, -1, -1, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1]> : tensor<16xi2>
  %7 = stablehlo.minimum %a, %b : tensor<16xi2>
  check.expect_eq_const %7, dense<[-2, -2, -2, -2, -2, -1, -1, -1, -2, -1, 0, 0, -2, -1, 0, 1]> : tensor<16xi2>
  %8 = stablehlo.and %a, %b : tensor<16xi2>
  check.expect_eq_const %8, dense<[-2, -2, 0, 0, -2, -1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1]> : tensor<16xi2>
  %9 = stablehlo.or %a, %b : tensor<16xi2>
  check.expect_eq_const %9, dense<[-2, -1, -2, -1, -1, -1, -1, -1, -2, -1, 0, 1, -1, -1, 1, 1]> : tensor<16xi2>
  %10 = stablehlo.xor %a, %b : tensor<16xi2>
  check.expect_eq_const %10, dense<[0, 1, -2, -1, 1, 0, -1, -2, -2, -1, 0, 1, -1, -2, 1, 0]> : tensor<16xi2>
  %11 = stablehlo.shift_left %a, %b : tensor<16xi2>
  check.expect_eq_const %11, dense<[0, 0, -2, 0, 0, 0, -1, -2, 0, 0, 0, 0, 0, 0, 1, -2]> : tensor<16xi2>
  %12 = stablehlo.shift_right_logical %a, %b : tensor<16xi2>
  check.expect_eq_const %12, dense<[0, 0, -2, 1, 0, 0, -1, 1, 0, 0, 0, 0, 0, 0, 1, 0]> : tensor<16xi2>
  %13 = stablehlo.shift_right_arithmetic %a, %b : tensor<16xi2>
  check.expect_eq_const %13, dense<[-1, -1, -2, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 1, 0]> : tensor<16xi2>
  %14 = stablehlo.not %a : tensor<16xi2>
  check.expect_eq_const %14, dense<[1, 1, 1, 1, 0, 0, 0, 0, -1, -1, -1, -1, -2, -2, -2, -2]> : tensor<16xi2>
  %15 = stablehlo.popcnt %a : tensor<16xi2>
  check.expect_eq_const %15, dense<[1, 1, 1, 1, -2, -2, -2, -2, 0, 0, 0, 0, 1, 1, 1, 1]> : tensor<16xi2>
  %16 = stablehlo.count_leading_zeros %a : tensor<16xi2>
  check.expect_eq_const %16, dense<[0, 0, 0, 0, 0, 0, 0, 0, -2, -2, -2, -2, 1, 1, 1, 1]> : tensor<16xi2>
  %17 = stablehlo.negate %a : tensor<16xi2>
  check.expect_eq_const %17, dense<[-2, -2, -2, -2, 1, 1, 1, 1, 0, 0, 0, 0, -1, -1, -1, -1]> : tensor<16xi2>
  %18 = stablehlo.abs %a : tensor<16xi2>
  check.expect_eq_const %18, dense<[-2, -2, -2, -2, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]> : tensor<16xi2>
  %19 = stablehlo.sign %a : tensor<16xi2>
  check.expect_eq_const %19, dense<[-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1, 1]> : tensor<16xi2>
  %20 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<16xi2>, tensor<16xi2>) -> tensor<16xi1>
  check.expect_eq_const %20, dense<[false, true, true, true, false, false, true, true, false, false, false, true, false, false, false, false]> : tensor<16xi1>
  %21 = stablehlo.compare GE, %a, %b, SIGNED : (tensor<16xi2>, tensor<16xi2>) -> tensor<16xi1>
  check.expect_eq_const %21, dense<[true, false, false, false, true, true, false, false, true, true, true, false, true, true, true, true]> : tensor<16xi1>
  %22 = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<16xi2>, tensor<16xi2>) -> tensor<16xi1>
  check.expect_eq_const %22, dense<[true, false, false, false, false, true, false, false, false, false, true, false, false, false, false, true]> : tensor<16xi1>
  %23 = stablehlo.compare NE, %a, %b, SIGNED : (tensor<16xi2>, tensor<16xi2>) -> tensor<16xi1>
  check.expect_eq_const %23, dense<[false, true, true, true, true, false, true, true, true, true, false, true, true, true, true, false]> : tensor<16xi1>
  %24 = stablehlo.compare GT, %a, %b, SIGNED : (tensor<16xi2>, tensor<16xi2>) -> tensor<16xi1>
  check.expect_eq_const %24, dense<[false, false, false, false, true, false, false, false, true, true, false, false, true, true, true, false]> : tensor<16xi1>
  %25 = stablehlo.compare LE, %a, %b, SIGNED : (tensor<16xi2>, tensor<16xi2>) -> tensor<16xi1>
  check.expect_eq_const %25, dense<[true, true, true, true, false, true, true, true, false, false, true, true, false, false, false, true]> : tensor<16xi1>
  %26 = stablehlo.convert %a : (tensor<16xi2>) -> tensor<16xi2>
  check.expect_eq_const %26, dense<[-2, -2, -2, -2, -1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1, 1]> : tensor<16xi2>
  %27 = stablehlo.convert %a : (tensor<16xi2>) -> tensor<16xui4>
  check.expect_eq_const %27, dense<[14, 14, 14, 14, 15, 15, 15, 15, 0, 0, 0, 0, 1, 1, 1, 1]> : tensor<16xui4>
  %28 = stablehlo.convert %a : (tensor<16xi2>) -> tensor<16xi8>
  check.expect_eq_const %28, dense<[-2, -2, -2, -2, -1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1, 1]> : tensor<16xi8>
  %29 = stablehlo.convert %a : (tensor<16xi2>) -> tensor<16xui8>
  check.expect_eq_const %29, dense<[254, 254, 254, 254, 255, 255, 255, 255, 0, 0, 0, 0, 1, 1, 1, 1]> : tensor<16xui8>
  %30 = stablehlo.convert %a : (tensor<16xi2>) -> tensor<16xi16>
  check.expect_eq_const %30, dense<[-2, -2, -2, -2, -1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1, 1]> : tensor<16xi16>
  %31 = stablehlo.convert %a : (tensor<16xi2>) -> tensor<16xui32>
  check.expect_eq_const %31, dense<[4294967294, 4294967294, 4294967294, 4294967294, 4294967295, 4294967295, 4294967295, 4294967295, 0, 0, 0, 0, 1, 1, 1, 1]> : tensor<16xui32>
  %32 = stablehlo.convert %a : (tensor<16xi2>) -> tensor<16xi64>
  check.expect_eq_const %32, dense<[-2, -2, -2, -2, -1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1, 1]> : tensor<16xi64>
  %33 = stablehlo.convert %a : (tensor<16xi2>) -> tensor<16xui64>
  check.expect_eq_const %33, dense<[18446744073709551614, 18446744073709551614, 18446744073709551614, 18446744073709551614, 18446744073709551615, 18446744073709551615, 18446744073709551615, 18446744073709551615, 0, 0, 0, 0, 1, 1, 1, 1]> : tensor<16xui64>
  %34 = stablehlo.convert %a : (tensor<16xi2>) -> tensor<16xi1>
  check.expect_eq_const %34, dense<[true, true, true, true, true, true, true, true, false, false, false, false, true, true, true, true]> : tensor<16xi1>
  %35 = stablehlo.convert %a : (tensor<16xi2>) -> tensor<16xf32>
  check.expect_eq_const %35, dense<[-2.0, -2.0, -2.0, -2.0, -1.0, -1.0, -1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]> : tensor<16xf32>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]> : tensor<16xui2>
  %b = stablehlo.constant dense<[0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]> : tensor<16xui2>
  %0 = stablehlo.add %a, %b : tensor<16xui2>
  check.expect_eq_const %0, dense<[0, 1, 2, 3, 1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2]> : tensor<16xui2>
  %1 = stablehlo.subtract %a, %b : tensor<16xui2>
  check.expect_eq_const %1, dense<[0, 3, 2, 1, 1, 0, 3, 2, 2, 1, 0, 3, 3, 2, 1, 0]> : tensor<16xui2>
  %2 = stablehlo.multiply %a, %b : tensor<16xui2>
  check.expect_eq_const %2, dense<[0, 0, 0, 0, 0, 1, 2, 3, 0, 2, 0, 2, 0, 3, 2, 1]> : tensor<16xui2>
  %3 = stablehlo.divide %a, %b : tensor<16xui2>
  check.expect_eq_const %3, dense<[3, 0, 0, 0, 3, 1, 0, 0, 3, 2, 1, 0, 3, 3, 1, 1]> : tensor<16xui2>
  %4 = stablehlo.remainder %a, %b : tensor<16xui2>
  check.expect_eq_const %4, dense<[0, 0, 0, 0, 1, 0, 1, 1, 2, 0, 0, 2, 3, 0, 1, 0]> : tensor<16xui2>
  %5 = stablehlo.power %a, %b : tensor<16xui2>
  check.expect_eq_const %5, dense<[1, 0, 0, 0, 1, 1, 1, 1, 1, 2, 0, 0, 1, 3, 1, 3]> : tensor<16xui2>
  %6 = stablehlo.maximum %a, %b : tensor<16xui2>
  check.expect_eq_const %6, dense<[0, 1, 2, 3, 1, 1, 2, 3, 2, 2, 2, 3, 3, 3, 3, 3]> : tensor<16xui2>
  %7 = stablehlo.minimum %a, %b : tensor<16xui2>
  check.expect_eq_const %7, dense<[0, 0, 0, 0, 0, 1, 1, 1, 0, 1, 2, 2, 0, 1, 2, 3]> : tensor<16xui2>
  %8 = stablehlo.and %a, %b : tensor<16xui2>
  check.expect_eq_const %8, dense<[0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0, 1, 2, 3]> : tensor<16xui2>
  %9 = stablehlo.or %a, %b : tensor<16xui2>
  check.expect_eq_const %9, dense<[0, 1, 2, 3, 1, 1, 3, 3, 2, 3, 2, 3, 3, 3, 3, 3]> : tensor<16xui2>
  %10 = stablehlo.xor %a, %b : tensor<16xui2>
  check.expect_eq_const %10, dense<[0, 1, 2, 3, 1, 0, 3, 2, 2, 3, 0, 1, 3, 2, 1, 0]> : tensor<16xui2>
  %11 = stablehlo.shift_left %a, %b : tensor<16xui2>
  check.expect_eq_const %11, dense<[0, 0, 0, 0, 1, 2, 0, 0, 2, 0, 0, 0, 3, 2, 0, 0]> : tensor<16xui2>
  %12 = stablehlo.shift_right_logical %a, %b : tensor<16xui2>
  check.expect_eq_const %12, dense<[0, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0, 3, 1, 0, 0]> : tensor<16xui2>
  %13 = stablehlo.shift_right_arithmetic %a, %b : tensor<16xui2>
  check.expect_eq_const %13, dense<[0, 0, 0, 0, 1, 0, 0, 0, 2, 3, 3, 3, 3, 3, 3, 3]> : tensor<16xui2>
  %14 = stablehlo.not %a : tensor<16xui2>
  check.expect_eq_const %14, dense<[3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0]> : tensor<16xui2>
  %15 = stablehlo.popcnt %a : tensor<16xui2>
  check.expect_eq_const %15, dense<[0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2]> : tensor<16xui2>
  %16 = stablehlo.count_leading_zeros %a : tensor<16xui2>
  check.expect_eq_const %16, dense<[2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]> : tensor<16xui2>
  %17 = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<16xui2>, tensor<16xui2>) -> tensor<16xi1>
  check.expect_eq_const %17, dense<[false, true, true, true, false, false, true, true, false, false, false, true, false, false, false, false]> : tensor<16xi1>
  %18 = stablehlo.compare GE, %a, %b, UNSIGNED : (tensor<16xui2>, tensor<16xui2>) -> tensor<16xi1>
  check.expect_eq_const %18, dense<[true, false, false, false, true, true, false, false, true, true, true, false, true, true, true, true]> : tensor<16xi1>
  %19 = stablehlo.compare EQ, %a, %b, UNSIGNED : (tensor<16xui2>, tensor<16xui2>) -> tensor<16xi1>
  check.expect_eq_const %19, dense<[true, false, false, false, false, true, false, false, false, false, true, false, false, false, false, true]> : tensor<16xi1>
  %20 = stablehlo.compare NE, %a, %b, UNSIGNED : (tensor<16xui2>, tensor<16xui2>) -> tensor<16xi1>
  check.expect_eq_const %20, dense<[false, true, true, true, true, false, true, true, true, true, false, true, true, true, true, false]> : tensor<16xi1>
  %21 = stablehlo.compare GT, %a, %b, UNSIGNED : (tensor<16xui2>, tensor<16xui2>) -> tensor<16xi1>
  check.expect_eq_const %21, dense<[false, false, false, false, true, false, false, false, true, true, false, false, true, true, true, false]> : tensor<16xi1>
  %22 = stablehlo.compare LE, %a, %b, UNSIGNED : (tensor<16xui2>, tensor<16xui2>) -> tensor<16xi1>
  check.expect_eq_const %22, dense<[true, true, true, true, false, true, true, true, false, false, true, true, false, false, false, true]> : tensor<16xi1>
  %23 = stablehlo.convert %a : (tensor<16xui2>) -> tensor<16xi2>
  check.expect_eq_const %23, dense<[0, 0, 0, 0, 1, 1, 1, 1, -2, -2, -2, -2, -1, -1, -1, -1]> : tensor<16xi2>
  %24 = stablehlo.convert %a : (tensor<16xui2>) -> tensor<16xui4>
  check.expect_eq_const %24, dense<[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]> : tensor<16xui4>
  %25 = stablehlo.convert %a : (tensor<16xui2>) -> tensor<16xi8>
  check.expect_eq_const %25, dense<[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]> : tensor<16xi8>
  %26 = stablehlo.convert %a : (tensor<16xui2>) -> tensor<16xui8>
  check.expect_eq_const %26, dense<[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]> : tensor<16xui8>
  %27 = stablehlo.convert %a : (tensor<16xui2>) -> tensor<16xi16>
  check.expect_eq_const %27, dense<[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]> : tensor<16xi16>
  %28 = stablehlo.convert %a : (tensor<16xui2>) -> tensor<16xui32>
  check.expect_eq_const %28, dense<[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]> : tensor<16xui32>
  %29 = stablehlo.convert %a : (tensor<16xui2>) -> tensor<16xi64>
  check.expect_eq_const %29, dense<[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]> : tensor<16xi64>
  %30 = stablehlo.convert %a : (tensor<16xui2>) -> tensor<16xui64>
  check.expect_eq_const %30, dense<[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]> : tensor<16xui64>
  %31 = stablehlo.convert %a : (tensor<16xui2>) -> tensor<16xi1>
  check.expect_eq_const %31, dense<[false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true]> : tensor<16xi1>
  %32 = stablehlo.convert %a : (tensor<16xui2>) -> tensor<16xf32>
  check.expect_eq_const %32, dense<[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0]> : tensor<16xf32>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-1, 0, -8, 0, 7, 6, 7, -8, 1, 2, 4, -6, 3, 7, -8, -8, -2, -8, -1, -1, 2, -8, 7, 0]> : tensor<24xi4>
  %b = stablehlo.constant dense<[1, 7, -7, -2, 1, -8, -8, -8, -1, -4, -7, -5, -7, 4, 3, 4, 3, -1, -8, -3, -1, 0, 0, 0]> : tensor<24xi4>
  %0 = stablehlo.add %a, %b : tensor<24xi4>
  check.expect_eq_const %0, dense<[0, 7, 1, -2, -8, -2, -1, 0, 0, -2, -3, 5, -4, -5, -5, -4, 1, 7, 7, -4, 1, -8, 7, 0]> : tensor<24xi4>
  %1 = stablehlo.subtract %a, %b : tensor<24xi4>
  check.expect_eq_const %1, dense<[-2, -7, -1, 2, 6, -2, -1, 0, 2, 6, -5, -1, -6, 3, 5, 4, -5, -7, 7, 2, 3, -8, 7, 0]> : tensor<24xi4>
  %2 = stablehlo.multiply %a, %b : tensor<24xi4>
  check.expect_eq_const %2, dense<[-1, 0, -8, 0, 7, 0, -8, 0, -1, -8, 4, -2, -5, -4, -8, 0, -6, -8, -8, 3, -2, 0, 0, 0]> : tensor<24xi4>
  %3 = stablehlo.divide %a, %b : tensor<24xi4>
  check.expect_eq_const %3, dense<[-1, 0, 1, 0, 7, 0, 0, 1, -1, 0, 0, 1, 0, 1, -2, -2, 0, -8, 0, 0, -2, -1, -1, -1]> : tensor<24xi4>
  %4 = stablehlo.remainder %a, %b : tensor<24xi4>
  check.expect_eq_const %4, dense<[0, 0, -1, 0, 0, 6, 7, 0, 0, 2, 4, -1, 3, 3, -2, 0, -2, 0, -1, -1, 0, -8, 7, 0]> : tensor<24xi4>
  %5 = stablehlo.power %a, %b : tensor<24xi4>
  check.expect_eq_const %5, dense<[-1, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, -8, 0, 1, -1, 0, 1, 1, 1]> : tensor<24xi4>
  %6 = stablehlo.maximum %a, %b : tensor<24xi4>
  check.expect_eq_const %6, dense<[1, 7, -7, 0, 7, 6, 7, -8, 1, 2, 4, -5, 3, 7, 3, 4, 3, -1, -1, -1, 2, 0, 7, 0]> : tensor<24xi4>
  %7 = stablehlo.minimum %a, %b : tensor<24xi4>
  check.expect_eq_const %7, dense<[-1, 0, -8, -2, 1, -8, -8, -8, -1, -4, -7, -6, -7, 4, -8, -8, -2, -8, -8, -3, -1, -8, 0, 0]> : tensor<24xi4>
  %8 = stablehlo.and %a, %b : tensor<24xi4>
  check.expect_eq_const %8, dense<[1, 0, -8, 0, 1, 0, 0, -8, 1, 0, 0, -6, 1, 4, 0, 0, 2, -8, -8, -3, 2, 0, 0, 0]> : tensor<24xi4>
  %9 = stablehlo.or %a, %b : tensor<24xi4>
  check.expect_eq_const %9, dense<[-1, 7, -7, -2, 7, -2, -1, -8, -1, -2, -3, -5, -5, 7, -5, -4, -1, -1, -1, -1, -1, -8, 7, 0]> : tensor<24xi4>
  %10 = stablehlo.xor %a, %b : tensor<24xi4>
  check.expect_eq_const %10, dense<[-2, 7, 1, -2, 6, -2, -1, 0, -2, -2, -3, 1, -6, 3, -5, -4, -3, 7, 7, 2, -3, -8, 7, 0]> : tensor<24xi4>
  %11 = stablehlo.shift_left %a, %b : tensor<24xi4>
  check.expect_eq_const %11, dense<[-2, 0, 0, 0, -2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -8, 7, 0]> : tensor<24xi4>
  %12 = stablehlo.shift_right_logical %a, %b : tensor<24xi4>
  check.expect_eq_const %12, dense<[7, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, -8, 7, 0]> : tensor<24xi4>
  %13 = stablehlo.shift_right_arithmetic %a, %b : tensor<24xi4>
  check.expect_eq_const %13, dense<[-1, 0, -1, 0, 3, 0, 0, -1, 0, 0, 0, -1, 0, 0, -1, -1, -1, -1, -1, -1, 0, -8, 7, 0]> : tensor<24xi4>
  %14 = stablehlo.not %a : tensor<24xi4>
  check.expect_eq_const %14, dense<[0, -1, 7, -1, -8, -7, -8, 7, -2, -3, -5, 5, -4, -8, 7, 7, 1, 7, 0, 0, -3, 7, -8, -1]> : tensor<24xi4>
  %15 = stablehlo.popcnt %a : tensor<24xi4>
  check.expect_eq_const %15, dense<[4, 0, 1, 0, 3, 2, 3, 1, 1, 1, 1, 2, 2, 3, 1, 1, 3, 1, 4, 4, 1, 1, 3, 0]> : tensor<24xi4>
  %16 = stablehlo.count_leading_zeros %a : tensor<24xi4>
  check.expect_eq_const %16, dense<[0, 4, 0, 4, 1, 1, 1, 0, 3, 2, 1, 0, 2, 1, 0, 0, 0, 0, 0, 0, 2, 0, 1, 4]> : tensor<24xi4>
  %17 = stablehlo.negate %a : tensor<24xi4>
  check.expect_eq_const %17, dense<[1, 0, -8, 0, -7, -6, -7, -8, -1, -2, -4, 6, -3, -7, -8, -8, 2, -8, 1, 1, -2, -8, -7, 0]> : tensor<24xi4>
  %18 = stablehlo.abs %a : tensor<24xi4>
  check.expect_eq_const %18, dense<[1, 0, -8, 0, 7, 6, 7, -8, 1, 2, 4, 6, 3, 7, -8, -8, 2, -8, 1, 1, 2, -8, 7, 0]> : tensor<24xi4>
  %19 = stablehlo.sign %a : tensor<24xi4>
  check.expect_eq_const %19, dense<[-1, 0, -1, 0, 1, 1, 1, -1, 1, 1, 1, -1, 1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, 0]> : tensor<24xi4>
  %20 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<24xi4>, tensor<24xi4>) -> tensor<24xi1>
  check.expect_eq_const %20, dense<[true, true, true, false, false, false, false, false, false, false, false, true, false, false, true, true, true, true, false, false, false, true, false, false]> : tensor<24xi1>
  %21 = stablehlo.compare GE, %a, %b, SIGNED : (tensor<24xi4>, tensor<24xi4>) -> tensor<24xi1>
  check.expect_eq_const %21, dense<[false, false, false, true, true, true, true, true, true, true, true, false, true, true, false, false, false, false, true, true, true, false, true, true]> : tensor<24xi1>
  %22 = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<24xi4>, tensor<24xi4>) -> tensor<24xi1>
  check.expect_eq_const %22, dense<[false, false, false, false, false, false, false, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true]> : tensor<24xi1>
  %23 = stablehlo.compare NE, %a, %b, SIGNED : (tensor<24xi4>, tensor<24xi4>) -> tensor<24xi1>
  check.expect_eq_const %23, dense<[true, true, true, true, true, true, true, false, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false]> : tensor<24xi1>
  %24 = stablehlo.compare GT, %a, %b, SIGNED : (tensor<24xi4>, tensor<24xi4>) -> tensor<24xi1>
  check.expect_eq_const %24, dense<[false, false, false, true, true, true, true, false, true, true, true, false, true, true, false, false, false, false, true, true, true, false, true, false]> : tensor<24xi1>
  %25 = stablehlo.compare LE, %a, %b, SIGNED : (tensor<24xi4>, tensor<24xi4>) -> tensor<24xi1>
  check.expect_eq_const %25, dense<[true, true, true, false, false, false, false, true, false, false, false, true, false, false, true, true, true, true, false, false, false, true, false, true]> : tensor<24xi1>
  %26 = stablehlo.convert %a : (tensor<24xi4>) -> tensor<24xi2>
  check.expect_eq_const %26, dense<[-1, 0, 0, 0, -1, -2, -1, 0, 1, -2, 0, -2, -1, -1, 0, 0, -2, 0, -1, -1, -2, 0, -1, 0]> : tensor<24xi2>
  %27 = stablehlo.convert %a : (tensor<24xi4>) -> tensor<24xui4>
  check.expect_eq_const %27, dense<[15, 0, 8, 0, 7, 6, 7, 8, 1, 2, 4, 10, 3, 7, 8, 8, 14, 8, 15, 15, 2, 8, 7, 0]> : tensor<24xui4>
  %28 = stablehlo.convert %a : (tensor<24xi4>) -> tensor<24xi8>
  check.expect_eq_const %28, dense<[-1, 0, -8, 0, 7, 6, 7, -8, 1, 2, 4, -6, 3, 7, -8, -8, -2, -8, -1, -1, 2, -8, 7, 0]> : tensor<24xi8>
  %29 = stablehlo.convert %a : (tensor<24xi4>) -> tensor<24xui8>
  check.expect_eq_const %29, dense<[255, 0, 248, 0, 7, 6, 7, 248, 1, 2, 4, 250, 3, 7, 248, 248, 254, 248, 255, 255, 2, 248, 7, 0]> : tensor<24xui8>
  %30 = stablehlo.convert %a : (tensor<24xi4>) -> tensor<24xi16>
  check.expect_eq_const %30, dense<[-1, 0, -8, 0, 7, 6, 7, -8, 1, 2, 4, -6, 3, 7, -8, -8, -2, -8, -1, -1, 2, -8, 7, 0]> : tensor<24xi16>
  %31 = stablehlo.convert %a : (tensor<24xi4>) -> tensor<24xui32>
  check.expect_eq_const %31, dense<[4294967295, 0, 4294967288, 0, 7, 6, 7, 4294967288, 1, 2, 4, 4294967290, 3, 7, 4294967288, 4294967288, 4294967294, 4294967288, 4294967295, 4294967295, 2, 4294967288, 7, 0]> : tensor<24xui32>
  %32 = stablehlo.convert %a : (tensor<24xi4>) -> tensor<24xi64>
  check.expect_eq_const %32, dense<[-1, 0, -8, 0, 7, 6, 7, -8, 1, 2, 4, -6, 3, 7, -8, -8, -2, -8, -1, -1, 2, -8, 7, 0]> : tensor<24xi64>
  %33 = stablehlo.convert %a : (tensor<24xi4>) -> tensor<24xui64>
  check.expect_eq_const %33, dense<[18446744073709551615, 0, 18446744073709551608, 0, 7, 6, 7, 18446744073709551608, 1, 2, 4, 18446744073709551610, 3, 7, 18446744073709551608, 18446744073709551608, 18446744073709551614, 18446744073709551608, 18446744073709551615, 18446744073709551615, 2, 18446744073709551608, 7, 0]> : tensor<24xui64>
  %34 = stablehlo.convert %a : (tensor<24xi4>) -> tensor<24xi1>
  check.expect_eq_const %34, dense<[true, false, true, false, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false]> : tensor<24xi1>
  %35 = stablehlo.convert %a : (tensor<24xi4>) -> tensor<24xf32>
  check.expect_eq_const %35, dense<[-1.0, 0.0, -8.0, 0.0, 7.0, 6.0, 7.0, -8.0, 1.0, 2.0, 4.0, -6.0, 3.0, 7.0, -8.0, -8.0, -2.0, -8.0, -1.0, -1.0, 2.0, -8.0, 7.0, 0.0]> : tensor<24xf32>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[14, 5, 1, 1, 5, 14, 1, 14, 0, 15, 2, 8, 2, 15, 0, 0, 9, 15, 0, 15, 0]> : tensor<21xui4>
  %b = stablehlo.constant dense<[0, 0, 1, 14, 14, 15, 0, 1, 15, 14, 2, 15, 1, 4, 3, 4, 3, 2, 0, 0, 0]> : tensor<21xui4>
  %0 = stablehlo.add %a, %b : tensor<21xui4>
  check.expect_eq_const %0, dense<[14, 5, 2, 15, 3, 13, 1, 15, 15, 13, 4, 7, 3, 3, 3, 4, 12, 1, 0, 15, 0]> : tensor<21xui4>
  %1 = stablehlo.subtract %a, %b : tensor<21xui4>
  check.expect_eq_const %1, dense<[14, 5, 0, 3, 7, 15, 1, 13, 1, 1, 0, 9, 1, 11, 13, 12, 6, 13, 0, 15, 0]> : tensor<21xui4>
  %2 = stablehlo.multiply %a, %b : tensor<21xui4>
  check.expect_eq_const %2, dense<[0, 0, 1, 14, 6, 2, 0, 14, 0, 2, 4, 8, 2, 12, 0, 0, 11, 14, 0, 0, 0]> : tensor<21xui4>
  %3 = stablehlo.divide %a, %b : tensor<21xui4>
  check.expect_eq_const %3, dense<[15, 15, 1, 0, 0, 0, 15, 14, 0, 1, 1, 0, 2, 3, 0, 0, 3, 7, 15, 15, 15]> : tensor<21xui4>
  %4 = stablehlo.remainder %a, %b : tensor<21xui4>
  check.expect_eq_const %4, dense<[14, 5, 0, 1, 5, 14, 1, 0, 0, 1, 0, 8, 0, 3, 0, 0, 0, 1, 0, 15, 0]> : tensor<21xui4>
  %5 = stablehlo.power %a, %b : tensor<21xui4>
  check.expect_eq_const %5, dense<[1, 1, 1, 1, 9, 0, 1, 14, 0, 1, 4, 0, 2, 1, 0, 0, 9, 1, 1, 1, 1]> : tensor<21xui4>
  %6 = stablehlo.maximum %a, %b : tensor<21xui4>
  check.expect_eq_const %6, dense<[14, 5, 1, 14, 14, 15, 1, 14, 15, 15, 2, 15, 2, 15, 3, 4, 9, 15, 0, 15, 0]> : tensor<21xui4>
  %7 = stablehlo.minimum %a, %b : tensor<21xui4>
  check.expect_eq_const %7, dense<[0, 0, 1, 1, 5, 14, 0, 1, 0, 14, 2, 8, 1, 4, 0, 0, 3, 2, 0, 0, 0]> : tensor<21xui4>
  %8 = stablehlo.and %a, %b : tensor<21xui4>
  check.expect_eq_const %8, dense<[0, 0, 1, 0, 4, 14, 0, 0, 0, 14, 2, 8, 0, 4, 0, 0, 1, 2, 0, 0, 0]> : tensor<21xui4>
  %9 = stablehlo.or %a, %b : tensor<21xui4>
  check.expect_eq_const %9, dense<[14, 5, 1, 15, 15, 15, 1, 15, 15, 15, 2, 15, 3, 15, 3, 4, 11, 15, 0, 15, 0]> : tensor<21xui4>
  %10 = stablehlo.xor %a, %b : tensor<21xui4>
  check.expect_eq_const %10, dense<[14, 5, 0, 15, 11, 1, 1, 15, 15, 1, 0, 7, 3, 11, 3, 4, 10, 13, 0, 15, 0]> : tensor<21xui4>
  %11 = stablehlo.shift_left %a, %b : tensor<21xui4>
  check.expect_eq_const %11, dense<[14, 5, 2, 0, 0, 0, 1, 12, 0, 0, 8, 0, 4, 0, 0, 0, 8, 12, 0, 15, 0]> : tensor<21xui4>
  %12 = stablehlo.shift_right_logical %a, %b : tensor<21xui4>
  check.expect_eq_const %12, dense<[14, 5, 0, 0, 0, 0, 1, 7, 0, 0, 0, 0, 1, 0, 0, 0, 1, 3, 0, 15, 0]> : tensor<21xui4>
  %13 = stablehlo.shift_right_arithmetic %a, %b : tensor<21xui4>
  check.expect_eq_const %13, dense<[14, 5, 0, 0, 0, 15, 1, 15, 0, 15, 0, 15, 1, 15, 0, 0, 15, 15, 0, 15, 0]> : tensor<21xui4>
  %14 = stablehlo.not %a : tensor<21xui4>
  check.expect_eq_const %14, dense<[1, 10, 14, 14, 10, 1, 14, 1, 15, 0, 13, 7, 13, 0, 15, 15, 6, 0, 15, 0, 15]> : tensor<21xui4>
  %15 = stablehlo.popcnt %a : tensor<21xui4>
  check.expect_eq_const %15, dense<[3, 2, 1, 1, 2, 3, 1, 3, 0, 4, 1, 1, 1, 4, 0, 0, 2, 4, 0, 4, 0]> : tensor<21xui4>
  %16 = stablehlo.count_leading_zeros %a : tensor<21xui4>
  check.expect_eq_const %16, dense<[0, 1, 3, 3, 1, 0, 3, 0, 4, 0, 2, 0, 2, 0, 4, 4, 0, 0, 4, 0, 4]> : tensor<21xui4>
  %17 = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<21xui4>, tensor<21xui4>) -> tensor<21xi1>
  check.expect_eq_const %17, dense<[false, false, false, true, true, true, false, false, true, false, false, true, false, false, true, true, false, false, false, false, false]> : tensor<21xi1>
  %18 = stablehlo.compare GE, %a, %b, UNSIGNED : (tensor<21xui4>, tensor<21xui4>) -> tensor<21xi1>
  check.expect_eq_const %18, dense<[true, true, true, false, false, false, true, true, false, true, true, false, true, true, false, false, true, true, true, true, true]> : tensor<21xi1>
  %19 = stablehlo.compare EQ, %a, %b, UNSIGNED : (tensor<21xui4>, tensor<21xui4>) -> tensor<21xi1>
  check.expect_eq_const %19, dense<[false, false, true, false, false, false, false, false, false, false, true, false, false, false, false, false, false, false, true, false, true]> : tensor<21xi1>
  %20 = stablehlo.compare NE, %a, %b, UNSIGNED : (tensor<21xui4>, tensor<21xui4>) -> tensor<21xi1>
  check.expect_eq_const %20, dense<[true, true, false, true, true, true, true, true, true, true, false, true, true, true, true, true, true, true, false, true, false]> : tensor<21xi1>
  %21 = stablehlo.compare GT, %a, %b, UNSIGNED : (tensor<21xui4>, tensor<21xui4>) -> tensor<21xi1>
  check.expect_eq_const %21, dense<[true, true, false, false, false, false, true, true, false, true, false, false, true, true, false, false, true, true, false, true, false]> : tensor<21xi1>
  %22 = stablehlo.compare LE, %a, %b, UNSIGNED : (tensor<21xui4>, tensor<21xui4>) -> tensor<21xi1>
  check.expect_eq_const %22, dense<[false, false, true, true, true, true, false, false, true, false, true, true, false, false, true, true, false, false, true, false, true]> : tensor<21xi1>
  %23 = stablehlo.convert %a : (tensor<21xui4>) -> tensor<21xi2>
  check.expect_eq_const %23, dense<[-2, 1, 1, 1, 1, -2, 1, -2, 0, -1, -2, 0, -2, -1, 0, 0, 1, -1, 0, -1, 0]> : tensor<21xi2>
  %24 = stablehlo.convert %a : (tensor<21xui4>) -> tensor<21xui4>
  check.expect_eq_const %24, dense<[14, 5, 1, 1, 5, 14, 1, 14, 0, 15, 2, 8, 2, 15, 0, 0, 9, 15, 0, 15, 0]> : tensor<21xui4>
  %25 = stablehlo.convert %a : (tensor<21xui4>) -> tensor<21xi8>
  check.expect_eq_const %25, dense<[14, 5, 1, 1, 5, 14, 1, 14, 0, 15, 2, 8, 2, 15, 0, 0, 9, 15, 0, 15, 0]> : tensor<21xi8>
  %26 = stablehlo.convert %a : (tensor<21xui4>) -> tensor<21xui8>
  check.expect_eq_const %26, dense<[14, 5, 1, 1, 5, 14, 1, 14, 0, 15, 2, 8, 2, 15, 0, 0, 9, 15, 0, 15, 0]> : tensor<21xui8>
  %27 = stablehlo.convert %a : (tensor<21xui4>) -> tensor<21xi16>
  check.expect_eq_const %27, dense<[14, 5, 1, 1, 5, 14, 1, 14, 0, 15, 2, 8, 2, 15, 0, 0, 9, 15, 0, 15, 0]> : tensor<21xi16>
  %28 = stablehlo.convert %a : (tensor<21xui4>) -> tensor<21xui32>
  check.expect_eq_const %28, dense<[14, 5, 1, 1, 5, 14, 1, 14, 0, 15, 2, 8, 2, 15, 0, 0, 9, 15, 0, 15, 0]> : tensor<21xui32>
  %29 = stablehlo.convert %a : (tensor<21xui4>) -> tensor<21xi64>
  check.expect_eq_const %29, dense<[14, 5, 1, 1, 5, 14, 1, 14, 0, 15, 2, 8, 2, 15, 0, 0, 9, 15, 0, 15, 0]> : tensor<21xi64>
  %30 = stablehlo.convert %a : (tensor<21xui4>) -> tensor<21xui64>
  check.expect_eq_const %30, dense<[14, 5, 1, 1, 5, 14, 1, 14, 0, 15, 2, 8, 2, 15, 0, 0, 9, 15, 0, 15, 0]> : tensor<21xui64>
  %31 = stablehlo.convert %a : (tensor<21xui4>) -> tensor<21xi1>
  check.expect_eq_const %31, dense<[true, true, true, true, true, true, true, true, false, true, true, true, true, true, false, false, true, true, false, true, false]> : tensor<21xi1>
  %32 = stablehlo.convert %a : (tensor<21xui4>) -> tensor<21xf32>
  check.expect_eq_const %32, dense<[14.0, 5.0, 1.0, 1.0, 5.0, 14.0, 1.0, 14.0, 0.0, 15.0, 2.0, 8.0, 2.0, 15.0, 0.0, 0.0, 9.0, 15.0, 0.0, 15.0, 0.0]> : tensor<21xf32>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-1, -128, -2, 127, 126, -2, 126, 1, -127, -43, 77, -58, 14, 127, -128, -128, 55, -128, -1, -1, 2, -128, 127, 0]> : tensor<24xi8>
  %b = stablehlo.constant dense<[-128, 1, 127, 0, 42, -2, 126, 126, -128, 101, 14, 92, 84, 8, 7, 8, 3, -1, -128, -3, -1, 0, 0, 0]> : tensor<24xi8>
  %0 = stablehlo.add %a, %b : tensor<24xi8>
  check.expect_eq_const %0, dense<[127, -127, 125, 127, -88, -4, -4, 127, 1, 58, 91, 34, 98, -121, -121, -120, 58, 127, 127, -4, 1, -128, 127, 0]> : tensor<24xi8>
  %1 = stablehlo.subtract %a, %b : tensor<24xi8>
  check.expect_eq_const %1, dense<[127, 127, 127, 127, 84, 0, 0, -125, 1, 112, 63, 106, -70, 119, 121, 120, 52, -127, 127, 2, 3, -128, 127, 0]> : tensor<24xi8>
  %2 = stablehlo.multiply %a, %b : tensor<24xi8>
  check.expect_eq_const %2, dense<[-128, -128, 2, 0, -84, 4, 4, 126, -128, 9, 54, 40, -104, -8, -128, 0, -91, -128, -128, 3, -2, 0, 0, 0]> : tensor<24xi8>
  %3 = stablehlo.divide %a, %b : tensor<24xi8>
  check.expect_eq_const %3, dense<[0, -128, 0, -1, 3, 1, 1, 0, 0, 0, 5, 0, 0, 15, -18, -16, 18, -128, 0, 0, -2, -1, -1, -1]> : tensor<24xi8>
  %4 = stablehlo.remainder %a, %b : tensor<24xi8>
  check.expect_eq_const %4, dense<[-1, 0, -2, 127, 0, 0, 0, 1, -127, -43, 7, -58, 14, 7, -2, 0, 1, 0, -1, -1, 0, -128, 127, 0]> : tensor<24xi8>
  %5 = stablehlo.power %a, %b : tensor<24xi8>
  check.expect_eq_const %5, dense<[1, -128, 0, 1, 0, 0, 0, 1, 0, -59, 89, 0, 0, 1, 0, 0, -25, 0, 1, -1, 0, 1, 1, 1]> : tensor<24xi8>
  %6 = stablehlo.maximum %a, %b : tensor<24xi8>
  check.expect_eq_const %6, dense<[-1, 1, 127, 127, 126, -2, 126, 126, -127, 101, 77, 92, 84, 127, 7, 8, 55, -1, -1, -1, 2, 0, 127, 0]> : tensor<24xi8>
  %7 = stablehlo.minimum %a, %b : tensor<24xi8>
  check.expect_eq_const %7, dense<[-128, -128, -2, 0, 42, -2, 126, 1, -128, -43, 14, -58, 14, 8, -128, -128, 3, -128, -128, -3, -1, -128, 0, 0]> : tensor<24xi8>
  %8 = stablehlo.and %a, %b : tensor<24xi8>
  check.expect_eq_const %8, dense<[-128, 0, 126, 0, 42, -2, 126, 0, -128, 69, 12, 68, 4, 8, 0, 0, 3, -128, -128, -3, 2, 0, 0, 0]> : tensor<24xi8>
  %9 = stablehlo.or %a, %b : tensor<24xi8>
  check.expect_eq_const %9, dense<[-1, -127, -1, 127, 126, -2, 126, 127, -127, -11, 79, -34, 94, 127, -121, -120, 55, -1, -1, -1, -1, -128, 127, 0]> : tensor<24xi8>
  %10 = stablehlo.xor %a, %b : tensor<24xi8>
  check.expect_eq_const %10, dense<[127, -127, -127, 127, 84, 0, 0, 127, 1, -80, 67, -102, 90, 119, -121, -120, 52, 127, 127, 2, -3, -128, 127, 0]> : tensor<24xi8>
  %11 = stablehlo.shift_left %a, %b : tensor<24xi8>
  check.expect_eq_const %11, dense<[0, 0, 0, 127, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -72, 0, 0, 0, 0, -128, 127, 0]> : tensor<24xi8>
  %12 = stablehlo.shift_right_logical %a, %b : tensor<24xi8>
  check.expect_eq_const %12, dense<[0, 64, 0, 127, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, -128, 127, 0]> : tensor<24xi8>
  %13 = stablehlo.shift_right_arithmetic %a, %b : tensor<24xi8>
  check.expect_eq_const %13, dense<[-1, -64, -1, 127, 0, -1, 0, 0, -1, -1, 0, -1, 0, 0, -1, -1, 6, -1, -1, -1, 0, -128, 127, 0]> : tensor<24xi8>
  %14 = stablehlo.not %a : tensor<24xi8>
  check.expect_eq_const %14, dense<[0, 127, 1, -128, -127, 1, -127, -2, 126, 42, -78, 57, -15, -128, 127, 127, -56, 127, 0, 0, -3, 127, -128, -1]> : tensor<24xi8>
  %15 = stablehlo.popcnt %a : tensor<24xi8>
  check.expect_eq_const %15, dense<[8, 1, 7, 7, 6, 7, 6, 1, 2, 5, 4, 4, 3, 7, 1, 1, 5, 1, 8, 8, 1, 1, 7, 0]> : tensor<24xi8>
  %16 = stablehlo.count_leading_zeros %a : tensor<24xi8>
  check.expect_eq_const %16, dense<[0, 0, 0, 1, 1, 0, 1, 7, 0, 0, 1, 0, 4, 1, 0, 0, 2, 0, 0, 0, 6, 0, 1, 8]> : tensor<24xi8>
  %17 = stablehlo.negate %a : tensor<24xi8>
  check.expect_eq_const %17, dense<[1, -128, 2, -127, -126, 2, -126, -1, 127, 43, -77, 58, -14, -127, -128, -128, -55, -128, 1, 1, -2, -128, -127, 0]> : tensor<24xi8>
  %18 = stablehlo.abs %a : tensor<24xi8>
  check.expect_eq_const %18, dense<[1, -128, 2, 127, 126, 2, 126, 1, 127, 43, 77, 58, 14, 127, -128, -128, 55, -128, 1, 1, 2, -128, 127, 0]> : tensor<24xi8>
  %19 = stablehlo.sign %a : tensor<24xi8>
  check.expect_eq_const %19, dense<[-1, -1, -1, 1, 1, -1, 1, 1, -1, -1, 1, -1, 1, 1, -1, -1, 1, -1, -1, -1, 1, -1, 1, 0]> : tensor<24xi8>
  %20 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<24xi8>, tensor<24xi8>) -> tensor<24xi1>
  check.expect_eq_const %20, dense<[false, true, true, false, false, false, false, true, false, true, false, true, true, false, true, true, false, true, false, false, false, true, false, false]> : tensor<24xi1>
  %21 = stablehlo.compare GE, %a, %b, SIGNED : (tensor<24xi8>, tensor<24xi8>) -> tensor<24xi1>
  check.expect_eq_const %21, dense<[true, false, false, true, true, true, true, false, true, false, true, false, false, true, false, false, true, false, true, true, true, false, true, true]> : tensor<24xi1>
  %22 = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<24xi8>, tensor<24xi8>) -> tensor<24xi1>
  check.expect_eq_const %22, dense<[false, false, false, false, false, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true]> : tensor<24xi1>
  %23 = stablehlo.compare NE, %a, %b, SIGNED : (tensor<24xi8>, tensor<24xi8>) -> tensor<24xi1>
  check.expect_eq_const %23, dense<[true, true, true, true, true, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false]> : tensor<24xi1>
  %24 = stablehlo.compare GT, %a, %b, SIGNED : (tensor<24xi8>, tensor<24xi8>) -> tensor<24xi1>
  check.expect_eq_const %24, dense<[true, false, false, true, true, false, false, false, true, false, true, false, false, true, false, false, true, false, true, true, true, false, true, false]> : tensor<24xi1>
  %25 = stablehlo.compare LE, %a, %b, SIGNED : (tensor<24xi8>, tensor<24xi8>) -> tensor<24xi1>
  check.expect_eq_const %25, dense<[false, true, true, false, false, true, true, true, false, true, false, true, true, false, true, true, false, true, false, false, false, true, false, true]> : tensor<24xi1>
  %26 = stablehlo.convert %a : (tensor<24xi8>) -> tensor<24xi2>
  check.expect_eq_const %26, dense<[-1, 0, -2, -1, -2, -2, -2, 1, 1, 1, 1, -2, -2, -1, 0, 0, -1, 0, -1, -1, -2, 0, -1, 0]> : tensor<24xi2>
  %27 = stablehlo.convert %a : (tensor<24xi8>) -> tensor<24xui4>
  check.expect_eq_const %27, dense<[15, 0, 14, 15, 14, 14, 14, 1, 1, 5, 13, 6, 14, 15, 0, 0, 7, 0, 15, 15, 2, 0, 15, 0]> : tensor<24xui4>
  %28 = stablehlo.convert %a : (tensor<24xi8>) -> tensor<24xi8>
  check.expect_eq_const %28, dense<[-1, -128, -2, 127, 126, -2, 126, 1, -127, -43, 77, -58, 14, 127, -128, -128, 55, -128, -1, -1, 2, -128, 127, 0]> : tensor<24xi8>
  %29 = stablehlo.convert %a : (tensor<24xi8>) -> tensor<24xui8>
  check.expect_eq_const %29, dense<[255, 128, 254, 127, 126, 254, 126, 1, 129, 213, 77, 198, 14, 127, 128, 128, 55, 128, 255, 255, 2, 128, 127, 0]> : tensor<24xui8>
  %30 = stablehlo.convert %a : (tensor<24xi8>) -> tensor<24xi16>
  check.expect_eq_const %30, dense<[-1, -128, -2, 127, 126, -2, 126, 1, -127, -43, 77, -58, 14, 127, -128, -128, 55, -128, -1, -1, 2, -128, 127, 0]> : tensor<24xi16>
  %31 = stablehlo.convert %a : (tensor<24xi8>) -> tensor<24xui32>
  check.expect_eq_const %31, dense<[4294967295, 4294967168, 4294967294, 127, 126, 4294967294, 126, 1, 4294967169, 4294967253, 77, 4294967238, 14, 127, 4294967168, 4294967168, 55, 4294967168, 4294967295, 4294967295, 2, 4294967168, 127, 0]> : tensor<24xui32>
  %32 = stablehlo.convert %a : (tensor<24xi8>) -> tensor<24xi64>
  check.expect_eq_const %32, dense<[-1, -128, -2, 127, 126, -2, 126, 1, -127, -43, 77, -58, 14, 127, -128, -128, 55, -128, -1, -1, 2, -128, 127, 0]> : tensor<24xi64>
  %33 = stablehlo.convert %a : (tensor<24xi8>) -> tensor<24xui64>
  check.expect_eq_const %33, dense<[18446744073709551615, 18446744073709551488, 18446744073709551614, 127, 126, 18446744073709551614, 126, 1, 18446744073709551489, 18446744073709551573, 77, 18446744073709551558, 14, 127, 18446744073709551488, 18446744073709551488, 55, 18446744073709551488, 18446744073709551615, 18446744073709551615, 2, 18446744073709551488, 127, 0]> : tensor<24xui64>
  %34 = stablehlo.convert %a : (tensor<24xi8>) -> tensor<24xi1>
  check.expect_eq_const %34, dense<[true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false]> : tensor<24xi1>
  %35 = stablehlo.convert %a : (tensor<24xi8>) -> tensor<24xf32>
  check.expect_eq_const %35, dense<[-1.0, -128.0, -2.0, 127.0, 126.0, -2.0, 126.0, 1.0, -127.0, -43.0, 77.0, -58.0, 14.0, 127.0, -128.0, -128.0, 55.0, -128.0, -1.0, -1.0, 2.0, -128.0, 127.0, 0.0]> : tensor<24xf32>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[85, 0, 255, 0, 0, 254, 0, 255, 85, 245, 11, 185, 13, 255, 0, 0, 46, 255, 0, 255, 0]> : tensor<21xui8>
  %b = stablehlo.constant dense<[85, 1, 0, 0, 85, 254, 255, 254, 255, 82, 105, 75, 152, 8, 7, 8, 3, 2, 0, 0, 0]> : tensor<21xui8>
  %0 = stablehlo.add %a, %b : tensor<21xui8>
  check.expect_eq_const %0, dense<[170, 1, 255, 0, 85, 252, 255, 253, 84, 71, 116, 4, 165, 7, 7, 8, 49, 1, 0, 255, 0]> : tensor<21xui8>
  %1 = stablehlo.subtract %a, %b : tensor<21xui8>
  check.expect_eq_const %1, dense<[0, 255, 255, 0, 171, 0, 1, 1, 86, 163, 162, 110, 117, 247, 249, 248, 43, 253, 0, 255, 0]> : tensor<21xui8>
  %2 = stablehlo.multiply %a, %b : tensor<21xui8>
  check.expect_eq_const %2, dense<[57, 0, 0, 0, 0, 4, 0, 2, 171, 122, 131, 51, 184, 248, 0, 0, 138, 254, 0, 0, 0]> : tensor<21xui8>
  %3 = stablehlo.divide %a, %b : tensor<21xui8>
  check.expect_eq_const %3, dense<[1, 0, 255, 255, 0, 1, 0, 1, 0, 2, 0, 2, 0, 31, 0, 0, 15, 127, 255, 255, 255]> : tensor<21xui8>
  %4 = stablehlo.remainder %a, %b : tensor<21xui8>
  check.expect_eq_const %4, dense<[0, 0, 255, 0, 0, 0, 0, 1, 85, 81, 11, 35, 13, 7, 0, 0, 1, 1, 0, 255, 0]> : tensor<21xui8>
  %5 = stablehlo.power %a, %b : tensor<21xui8>
  check.expect_eq_const %5, dense<[133, 0, 1, 1, 0, 0, 0, 1, 253, 57, 171, 169, 97, 1, 0, 0, 56, 1, 1, 1, 1]> : tensor<21xui8>
  %6 = stablehlo.maximum %a, %b : tensor<21xui8>
  check.expect_eq_const %6, dense<[85, 1, 255, 0, 85, 254, 255, 255, 255, 245, 105, 185, 152, 255, 7, 8, 46, 255, 0, 255, 0]> : tensor<21xui8>
  %7 = stablehlo.minimum %a, %b : tensor<21xui8>
  check.expect_eq_const %7, dense<[85, 0, 0, 0, 0, 254, 0, 254, 85, 82, 11, 75, 13, 8, 0, 0, 3, 2, 0, 0, 0]> : tensor<21xui8>
  %8 = stablehlo.and %a, %b : tensor<21xui8>
  check.expect_eq_const %8, dense<[85, 0, 0, 0, 0, 254, 0, 254, 85, 80, 9, 9, 8, 8, 0, 0, 2, 2, 0, 0, 0]> : tensor<21xui8>
  %9 = stablehlo.or %a, %b : tensor<21xui8>
  check.expect_eq_const %9, dense<[85, 1, 255, 0, 85, 254, 255, 255, 255, 247, 107, 251, 157, 255, 7, 8, 47, 255, 0, 255, 0]> : tensor<21xui8>
  %10 = stablehlo.xor %a, %b : tensor<21xui8>
  check.expect_eq_const %10, dense<[0, 1, 255, 0, 85, 0, 255, 1, 170, 167, 98, 242, 149, 247, 7, 8, 45, 253, 0, 255, 0]> : tensor<21xui8>
  %11 = stablehlo.shift_left %a, %b : tensor<21xui8>
  check.expect_eq_const %11, dense<[0, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 112, 252, 0, 255, 0]> : tensor<21xui8>
  %12 = stablehlo.shift_right_logical %a, %b : tensor<21xui8>
  check.expect_eq_const %12, dense<[0, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 63, 0, 255, 0]> : tensor<21xui8>
  %13 = stablehlo.shift_right_arithmetic %a, %b : tensor<21xui8>
  check.expect_eq_const %13, dense<[0, 0, 255, 0, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 0, 5, 255, 0, 255, 0]> : tensor<21xui8>
  %14 = stablehlo.not %a : tensor<21xui8>
  check.expect_eq_const %14, dense<[170, 255, 0, 255, 255, 1, 255, 0, 170, 10, 244, 70, 242, 0, 255, 255, 209, 0, 255, 0, 255]> : tensor<21xui8>
  %15 = stablehlo.popcnt %a : tensor<21xui8>
  check.expect_eq_const %15, dense<[4, 0, 8, 0, 0, 7, 0, 8, 4, 6, 3, 5, 3, 8, 0, 0, 4, 8, 0, 8, 0]> : tensor<21xui8>
  %16 = stablehlo.count_leading_zeros %a : tensor<21xui8>
  check.expect_eq_const %16, dense<[1, 8, 0, 8, 8, 0, 8, 0, 1, 0, 4, 0, 4, 0, 8, 8, 2, 0, 8, 0, 8]> : tensor<21xui8>
  %17 = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<21xui8>, tensor<21xui8>) -> tensor<21xi1>
  check.expect_eq_const %17, dense<[false, true, false, false, true, false, true, false, true, false, true, false, true, false, true, true, false, false, false, false, false]> : tensor<21xi1>
  %18 = stablehlo.compare GE, %a, %b, UNSIGNED : (tensor<21xui8>, tensor<21xui8>) -> tensor<21xi1>
  check.expect_eq_const %18, dense<[true, false, true, true, false, true, false, true, false, true, false, true, false, true, false, false, true, true, true, true, true]> : tensor<21xi1>
  %19 = stablehlo.compare EQ, %a, %b, UNSIGNED : (tensor<21xui8>, tensor<21xui8>) -> tensor<21xi1>
  check.expect_eq_const %19, dense<[true, false, false, true, false, true, false, false, false, false, false, false, false, false, false, false, false, false, true, false, true]> : tensor<21xi1>
  %20 = stablehlo.compare NE, %a, %b, UNSIGNED : (tensor<21xui8>, tensor<21xui8>) -> tensor<21xi1>
  check.expect_eq_const %20, dense<[false, true, true, false, true, false, true, true, true, true, true, true, true, true, true, true, true, true, false, true, false]> : tensor<21xi1>
  %21 = stablehlo.compare GT, %a, %b, UNSIGNED : (tensor<21xui8>, tensor<21xui8>) -> tensor<21xi1>
  check.expect_eq_const %21, dense<[false, false, true, false, false, false, false, true, false, true, false, true, false, true, false, false, true, true, false, true, false]> : tensor<21xi1>
  %22 = stablehlo.compare LE, %a, %b, UNSIGNED : (tensor<21xui8>, tensor<21xui8>) -> tensor<21xi1>
  check.expect_eq_const %22, dense<[true, true, false, true, true, true, true, false, true, false, true, false, true, false, true, true, false, false, true, false, true]> : tensor<21xi1>
  %23 = stablehlo.convert %a : (tensor<21xui8>) -> tensor<21xi2>
  check.expect_eq_const %23, dense<[1, 0, -1, 0, 0, -2, 0, -1, 1, 1, -1, 1, 1, -1, 0, 0, -2, -1, 0, -1, 0]> : tensor<21xi2>
  %24 = stablehlo.convert %a : (tensor<21xui8>) -> tensor<21xui4>
  check.expect_eq_const %24, dense<[5, 0, 15, 0, 0, 14, 0, 15, 5, 5, 11, 9, 13, 15, 0, 0, 14, 15, 0, 15, 0]> : tensor<21xui4>
  %25 = stablehlo.convert %a : (tensor<21xui8>) -> tensor<21xi8>
  check.expect_eq_const %25, dense<[85, 0, -1, 0, 0, -2, 0, -1, 85, -11, 11, -71, 13, -1, 0, 0, 46, -1, 0, -1, 0]> : tensor<21xi8>
  %26 = stablehlo.convert %a : (tensor<21xui8>) -> tensor<21xui8>
  check.expect_eq_const %26, dense<[85, 0, 255, 0, 0, 254, 0, 255, 85, 245, 11, 185, 13, 255, 0, 0, 46, 255, 0, 255, 0]> : tensor<21xui8>
  %27 = stablehlo.convert %a : (tensor<21xui8>) -> tensor<21xi16>
  check.expect_eq_const %27, dense<[85, 0, 255, 0, 0, 254, 0, 255, 85, 245, 11, 185, 13, 255, 0, 0, 46, 255, 0, 255, 0]> : tensor<21xi16>
  %28 = stablehlo.convert %a : (tensor<21xui8>) -> tensor<21xui32>
  check.expect_eq_const %28, dense<[85, 0, 255, 0, 0, 254, 0, 255, 85, 245, 11, 185, 13, 255, 0, 0, 46, 255, 0, 255, 0]> : tensor<21xui32>
  %29 = stablehlo.convert %a : (tensor<21xui8>) -> tensor<21xi64>
  check.expect_eq_const %29, dense<[85, 0, 255, 0, 0, 254, 0, 255, 85, 245, 11, 185, 13, 255, 0, 0, 46, 255, 0, 255, 0]> : tensor<21xi64>
  %30 = stablehlo.convert %a : (tensor<21xui8>) -> tensor<21xui64>
  check.expect_eq_const %30, dense<[85, 0, 255, 0, 0, 254, 0, 255, 85, 245, 11, 185, 13, 255, 0, 0, 46, 255, 0, 255, 0]> : tensor<21xui64>
  %31 = stablehlo.convert %a : (tensor<21xui8>) -> tensor<21xi1>
  check.expect_eq_const %31, dense<[true, false, true, false, false, true, false, true, true, true, true, true, true, true, false, false, true, true, false, true, false]> : tensor<21xi1>
  %32 = stablehlo.convert %a : (tensor<21xui8>) -> tensor<21xf32>
  check.expect_eq_const %32, dense<[85.0, 0.0, 255.0, 0.0, 0.0, 254.0, 0.0, 255.0, 85.0, 245.0, 11.0, 185.0, 13.0, 255.0, 0.0, 0.0, 46.0, 255.0, 0.0, 255.0, 0.0]> : tensor<21xf32>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-32768, -32767, -32768, -32767, 32766, 32766, -2, -2, -32767, 29129, -7387, 25851, 15025, 32767, -32768, -32768, -3872, -32768, -1, -1, 2, -32768, 32767, 0]> : tensor<24xi16>
  %b = stablehlo.constant dense<[-1, 1, -2, -1, -32767, 10922, -1, 1, 32767, 1202, 12357, 13044, -22212, 16, 15, 16, 3, -1, -32768, -3, -1, 0, 0, 0]> : tensor<24xi16>
  %0 = stablehlo.add %a, %b : tensor<24xi16>
  check.expect_eq_const %0, dense<[32767, -32766, 32766, -32768, -1, -21848, -3, -1, 0, 30331, 4970, -26641, -7187, -32753, -32753, -32752, -3869, 32767, 32767, -4, 1, -32768, 32767, 0]> : tensor<24xi16>
  %1 = stablehlo.subtract %a, %b : tensor<24xi16>
  check.expect_eq_const %1, dense<[-32767, -32768, -32766, -32766, -3, 21844, -1, -3, 2, 27927, -19744, 12807, -28299, 32751, 32753, 32752, -3875, -32767, 32767, 2, 3, -32768, 32767, 0]> : tensor<24xi16>
  %2 = stablehlo.multiply %a, %b : tensor<24xi16>
  check.expect_eq_const %2, dense<[-32768, -32767, 0, 32767, 32766, -21844, 2, -2, -1, 16834, 10489, 17724, -25988, -16, -32768, 0, -11616, -32768, -32768, 3, -2, 0, 0, 0]> : tensor<24xi16>
  %3 = stablehlo.divide %a, %b : tensor<24xi16>
  check.expect_eq_const %3, dense<[-32768, -32767, 16384, 32767, 0, 3, 2, -2, -1, 24, 0, 1, 0, 2047, -2184, -2048, -1290, -32768, 0, 0, -2, -1, -1, -1]> : tensor<24xi16>
  %4 = stablehlo.remainder %a, %b : tensor<24xi16>
  check.expect_eq_const %4, dense<[0, 0, 0, 0, 32766, 0, 0, 0, 0, 281, -7387, 12807, 15025, 15, -8, 0, -2, 0, -1, -1, 0, -32768, 32767, 0]> : tensor<24xi16>
  %5 = stablehlo.power %a, %b : tensor<24xi16>
  check.expect_eq_const %5, dense<[0, -32767, 0, 0, 0, 0, 0, -2, -32767, -29871, 27861, 32433, 0, 1, 0, 0, -32768, 0, 1, -1, 0, 1, 1, 1]> : tensor<24xi16>
  %6 = stablehlo.maximum %a, %b : tensor<24xi16>
  check.expect_eq_const %6, dense<[-1, 1, -2, -1, 32766, 32766, -1, 1, 32767, 29129, 12357, 25851, 15025, 32767, 15, 16, 3, -1, -1, -1, 2, 0, 32767, 0]> : tensor<24xi16>
  %7 = stablehlo.minimum %a, %b : tensor<24xi16>
  check.expect_eq_const %7, dense<[-32768, -32767, -32768, -32767, -32767, 10922, -2, -2, -32767, 1202, -7387, 13044, -22212, 16, -32768, -32768, -3872, -32768, -32768, -3, -1, -32768, 0, 0]> : tensor<24xi16>
  %8 = stablehlo.and %a, %b : tensor<24xi16>
  check.expect_eq_const %8, dense<[-32768, 1, -32768, -32767, 0, 10922, -2, 0, 1, 128, 8197, 8432, 10288, 16, 0, 0, 0, -32768, -32768, -3, 2, 0, 0, 0]> : tensor<24xi16>
  %9 = stablehlo.or %a, %b : tensor<24xi16>
  check.expect_eq_const %9, dense<[-1, -32767, -2, -1, -1, 32766, -1, -1, -1, 30203, -3227, 30463, -17475, 32767, -32753, -32752, -3869, -1, -1, -1, -1, -32768, 32767, 0]> : tensor<24xi16>
  %10 = stablehlo.xor %a, %b : tensor<24xi16>
  check.expect_eq_const %10, dense<[32767, -32768, 32766, 32766, -1, 21844, 1, -1, -2, 30075, -11424, 22031, -27763, 32751, -32753, -32752, -3869, 32767, 32767, 2, -3, -32768, 32767, 0]> : tensor<24xi16>
  %11 = stablehlo.shift_left %a, %b : tensor<24xi16>
  check.expect_eq_const %11, dense<[0, 2, 0, 0, 0, 0, 0, -4, 0, 0, 0, 0, 0, 0, 0, 0, -30976, 0, 0, 0, 0, -32768, 32767, 0]> : tensor<24xi16>
  %12 = stablehlo.shift_right_logical %a, %b : tensor<24xi16>
  check.expect_eq_const %12, dense<[0, 16384, 0, 0, 0, 0, 0, 32767, 0, 0, 0, 0, 0, 0, 1, 0, 7708, 0, 0, 0, 0, -32768, 32767, 0]> : tensor<24xi16>
  %13 = stablehlo.shift_right_arithmetic %a, %b : tensor<24xi16>
  check.expect_eq_const %13, dense<[-1, -16384, -1, -1, 0, 0, -1, -1, -1, 0, -1, 0, 0, 0, -1, -1, -484, -1, -1, -1, 0, -32768, 32767, 0]> : tensor<24xi16>
  %14 = stablehlo.not %a : tensor<24xi16>
  check.expect_eq_const %14, dense<[32767, 32766, 32767, 32766, -32767, -32767, 1, 1, 32766, -29130, 7386, -25852, -15026, -32768, 32767, 32767, 3871, 32767, 0, 0, -3, 32767, -32768, -1]> : tensor<24xi16>
  %15 = stablehlo.popcnt %a : tensor<24xi16>
  check.expect_eq_const %15, dense<[1, 2, 1, 2, 14, 14, 15, 15, 2, 8, 8, 10, 8, 15, 1, 1, 7, 1, 16, 16, 1, 1, 15, 0]> : tensor<24xi16>
  %16 = stablehlo.count_leading_zeros %a : tensor<24xi16>
  check.expect_eq_const %16, dense<[0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 1, 2, 1, 0, 0, 0, 0, 0, 0, 14, 0, 1, 16]> : tensor<24xi16>
  %17 = stablehlo.negate %a : tensor<24xi16>
  check.expect_eq_const %17, dense<[-32768, 32767, -32768, 32767, -32766, -32766, 2, 2, 32767, -29129, 7387, -25851, -15025, -32767, -32768, -32768, 3872, -32768, 1, 1, -2, -32768, -32767, 0]> : tensor<24xi16>
  %18 = stablehlo.abs %a : tensor<24xi16>
  check.expect_eq_const %18, dense<[-32768, 32767, -32768, 32767, 32766, 32766, 2, 2, 32767, 29129, 7387, 25851, 15025, 32767, -32768, -32768, 3872, -32768, 1, 1, 2, -32768, 32767, 0]> : tensor<24xi16>
  %19 = stablehlo.sign %a : tensor<24xi16>
  check.expect_eq_const %19, dense<[-1, -1, -1, -1, 1, 1, -1, -1, -1, 1, -1, 1, 1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, 0]> : tensor<24xi16>
  %20 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<24xi16>, tensor<24xi16>) -> tensor<24xi1>
  check.expect_eq_const %20, dense<[true, true, true, true, false, false, true, true, true, false, true, false, false, false, true, true, true, true, false, false, false, true, false, false]> : tensor<24xi1>
  %21 = stablehlo.compare GE, %a, %b, SIGNED : (tensor<24xi16>, tensor<24xi16>) -> tensor<24xi1>
  check.expect_eq_const %21, dense<[false, false, false, false, true, true, false, false, false, true, false, true, true, true, false, false, false, false, true, true, true, false, true, true]> : tensor<24xi1>
  %22 = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<24xi16>, tensor<24xi16>) -> tensor<24xi1>
  check.expect_eq_const %22, dense<[false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true]> : tensor<24xi1>
  %23 = stablehlo.compare NE, %a, %b, SIGNED : (tensor<24xi16>, tensor<24xi16>) -> tensor<24xi1>
  check.expect_eq_const %23, dense<[true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false]> : tensor<24xi1>
  %24 = stablehlo.compare GT, %a, %b, SIGNED : (tensor<24xi16>, tensor<24xi16>) -> tensor<24xi1>
  check.expect_eq_const %24, dense<[false, false, false, false, true, true, false, false, false, true, false, true, true, true, false, false, false, false, true, true, true, false, true, false]> : tensor<24xi1>
  %25 = stablehlo.compare LE, %a, %b, SIGNED : (tensor<24xi16>, tensor<24xi16>) -> tensor<24xi1>
  check.expect_eq_const %25, dense<[true, true, true, true, false, false, true, true, true, false, true, false, false, false, true, true, true, true, false, false, false, true, false, true]> : tensor<24xi1>
  %26 = stablehlo.convert %a : (tensor<24xi16>) -> tensor<24xi2>
  check.expect_eq_const %26, dense<[0, 1, 0, 1, -2, -2, -2, -2, 1, 1, 1, -1, 1, -1, 0, 0, 0, 0, -1, -1, -2, 0, -1, 0]> : tensor<24xi2>
  %27 = stablehlo.convert %a : (tensor<24xi16>) -> tensor<24xui4>
  check.expect_eq_const %27, dense<[0, 1, 0, 1, 14, 14, 14, 14, 1, 9, 5, 11, 1, 15, 0, 0, 0, 0, 15, 15, 2, 0, 15, 0]> : tensor<24xui4>
  %28 = stablehlo.convert %a : (tensor<24xi16>) -> tensor<24xi8>
  check.expect_eq_const %28, dense<[0, 1, 0, 1, -2, -2, -2, -2, 1, -55, 37, -5, -79, -1, 0, 0, -32, 0, -1, -1, 2, 0, -1, 0]> : tensor<24xi8>
  %29 = stablehlo.convert %a : (tensor<24xi16>) -> tensor<24xui8>
  check.expect_eq_const %29, dense<[0, 1, 0, 1, 254, 254, 254, 254, 1, 201, 37, 251, 177, 255, 0, 0, 224, 0, 255, 255, 2, 0, 255, 0]> : tensor<24xui8>
  %30 = stablehlo.convert %a : (tensor<24xi16>) -> tensor<24xi16>
  check.expect_eq_const %30, dense<[-32768, -32767, -32768, -32767, 32766, 32766, -2, -2, -32767, 29129, -7387, 25851, 15025, 32767, -32768, -32768, -3872, -32768, -1, -1, 2, -32768, 32767, 0]> : tensor<24xi16>
  %31 = stablehlo.convert %a : (tensor<24xi16>) -> tensor<24xui32>
  check.expect_eq_const %31, dense<[4294934528, 4294934529, 4294934528, 4294934529, 32766, 32766, 4294967294, 4294967294, 4294934529, 29129, 4294959909, 25851, 15025, 32767, 4294934528, 4294934528, 4294963424, 4294934528, 4294967295, 4294967295, 2, 4294934528, 32767, 0]> : tensor<24xui32>
  %32 = stablehlo.convert %a : (tensor<24xi16>) -> tensor<24xi64>
  check.expect_eq_const %32, dense<[-32768, -32767, -32768, -32767, 32766, 32766, -2, -2, -32767, 29129, -7387, 25851, 15025, 32767, -32768, -32768, -3872, -32768, -1, -1, 2, -32768, 32767, 0]> : tensor<24xi64>
  %33 = stablehlo.convert %a : (tensor<24xi16>) -> tensor<24xui64>
  check.expect_eq_const %33, dense<[18446744073709518848, 18446744073709518849, 18446744073709518848, 18446744073709518849, 32766, 32766, 18446744073709551614, 18446744073709551614, 18446744073709518849, 29129, 18446744073709544229, 25851, 15025, 32767, 18446744073709518848, 18446744073709518848, 18446744073709547744, 18446744073709518848, 18446744073709551615, 18446744073709551615, 2, 18446744073709518848, 32767, 0]> : tensor<24xui64>
  %34 = stablehlo.convert %a : (tensor<24xi16>) -> tensor<24xi1>
  check.expect_eq_const %34, dense<[true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false]> : tensor<24xi1>
  %35 = stablehlo.convert %a : (tensor<24xi16>) -> tensor<24xf32>
  check.expect_eq_const %35, dense<[-32768.0, -32767.0, -32768.0, -32767.0, 32766.0, 32766.0, -2.0, -2.0, -32767.0, 29129.0, -7387.0, 25851.0, 15025.0, 32767.0, -32768.0, -32768.0, -3872.0, -32768.0, -1.0, -1.0, 2.0, -32768.0, 32767.0, 0.0]> : tensor<24xf32>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[21845, 1, 21845, 0, 21845, 1, 1, 21845, 65535, 57688, 515, 22589, 62061, 65535, 0, 0, 8094, 65535, 0, 65535, 0]> : tensor<21xui16>
  %b = stablehlo.constant dense<[1, 0, 65534, 21845, 65535, 65535, 1, 21845, 65535, 24000, 19634, 18554, 15772, 16, 15, 16, 3, 2, 0, 0, 0]> : tensor<21xui16>
  %0 = stablehlo.add %a, %b : tensor<21xui16>
  check.expect_eq_const %0, dense<[21846, 1, 21843, 21845, 21844, 0, 2, 43690, 65534, 16152, 20149, 41143, 12297, 15, 15, 16, 8097, 1, 0, 65535, 0]> : tensor<21xui16>
  %1 = stablehlo.subtract %a, %b : tensor<21xui16>
  check.expect_eq_const %1, dense<[21844, 1, 21847, 43691, 21846, 2, 0, 0, 0, 33688, 46417, 4035, 46289, 65519, 65521, 65520, 8091, 65533, 0, 65535, 0]> : tensor<21xui16>
  %2 = stablehlo.multiply %a, %b : tensor<21xui16>
  check.expect_eq_const %2, dense<[21845, 0, 21846, 0, 43691, 65535, 1, 36409, 1, 64000, 18966, 13586, 45932, 65520, 0, 0, 24282, 65534, 0, 0, 0]> : tensor<21xui16>
  %3 = stablehlo.divide %a, %b : tensor<21xui16>
  check.expect_eq_const %3, dense<[21845, 65535, 0, 0, 0, 0, 1, 1, 1, 2, 0, 1, 3, 4095, 0, 0, 2698, 32767, 65535, 65535, 65535]> : tensor<21xui16>
  %4 = stablehlo.remainder %a, %b : tensor<21xui16>
  check.expect_eq_const %4, dense<[0, 1, 21845, 0, 21845, 1, 0, 0, 0, 9688, 515, 4035, 14745, 15, 0, 0, 0, 1, 0, 65535, 0]> : tensor<21xui16>
  %5 = stablehlo.power %a, %b : tensor<21xui16>
  check.expect_eq_const %5, dense<[21845, 1, 9, 0, 65533, 1, 1, 3717, 65535, 0, 51657, 56297, 21617, 1, 0, 0, 9080, 1, 1, 1, 1]> : tensor<21xui16>
  %6 = stablehlo.maximum %a, %b : tensor<21xui16>
  check.expect_eq_const %6, dense<[21845, 1, 65534, 21845, 65535, 65535, 1, 21845, 65535, 57688, 19634, 22589, 62061, 65535, 15, 16, 8094, 65535, 0, 65535, 0]> : tensor<21xui16>
  %7 = stablehlo.minimum %a, %b : tensor<21xui16>
  check.expect_eq_const %7, dense<[1, 0, 21845, 0, 21845, 1, 1, 21845, 65535, 24000, 515, 18554, 15772, 16, 0, 0, 3, 2, 0, 0, 0]> : tensor<21xui16>
  %8 = stablehlo.and %a, %b : tensor<21xui16>
  check.expect_eq_const %8, dense<[1, 0, 21844, 0, 21845, 1, 1, 21845, 65535, 16704, 2, 18488, 12300, 16, 0, 0, 2, 2, 0, 0, 0]> : tensor<21xui16>
  %9 = stablehlo.or %a, %b : tensor<21xui16>
  check.expect_eq_const %9, dense<[21845, 1, 65535, 21845, 65535, 65535, 1, 21845, 65535, 64984, 20147, 22655, 65533, 65535, 15, 16, 8095, 65535, 0, 65535, 0]> : tensor<21xui16>
  %10 = stablehlo.xor %a, %b : tensor<21xui16>
  check.expect_eq_const %10, dense<[21844, 1, 43691, 21845, 43690, 65534, 0, 0, 0, 48280, 20145, 4167, 53233, 65519, 15, 16, 8093, 65533, 0, 65535, 0]> : tensor<21xui16>
  %11 = stablehlo.shift_left %a, %b : tensor<21xui16>
  check.expect_eq_const %11, dense<[43690, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64752, 65532, 0, 65535, 0]> : tensor<21xui16>
  %12 = stablehlo.shift_right_logical %a, %b : tensor<21xui16>
  check.expect_eq_const %12, dense<[10922, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1011, 16383, 0, 65535, 0]> : tensor<21xui16>
  %13 = stablehlo.shift_right_arithmetic %a, %b : tensor<21xui16>
  check.expect_eq_const %13, dense<[10922, 1, 0, 0, 0, 0, 0, 0, 65535, 65535, 0, 0, 65535, 65535, 0, 0, 1011, 65535, 0, 65535, 0]> : tensor<21xui16>
  %14 = stablehlo.not %a : tensor<21xui16>
  check.expect_eq_const %14, dense<[43690, 65534, 43690, 65535, 43690, 65534, 65534, 43690, 0, 7847, 65020, 42946, 3474, 0, 65535, 65535, 57441, 0, 65535, 0, 65535]> : tensor<21xui16>
  %15 = stablehlo.popcnt %a : tensor<21xui16>
  check.expect_eq_const %15, dense<[8, 1, 8, 0, 8, 1, 1, 8, 16, 7, 3, 8, 10, 16, 0, 0, 10, 16, 0, 16, 0]> : tensor<21xui16>
  %16 = stablehlo.count_leading_zeros %a : tensor<21xui16>
  check.expect_eq_const %16, dense<[1, 15, 1, 16, 1, 15, 15, 1, 0, 0, 6, 1, 0, 0, 16, 16, 3, 0, 16, 0, 16]> : tensor<21xui16>
  %17 = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<21xui16>, tensor<21xui16>) -> tensor<21xi1>
  check.expect_eq_const %17, dense<[false, false, true, true, true, true, false, false, false, false, true, false, false, false, true, true, false, false, false, false, false]> : tensor<21xi1>
  %18 = stablehlo.compare GE, %a, %b, UNSIGNED : (tensor<21xui16>, tensor<21xui16>) -> tensor<21xi1>
  check.expect_eq_const %18, dense<[true, true, false, false, false, false, true, true, true, true, false, true, true, true, false, false, true, true, true, true, true]> : tensor<21xi1>
  %19 = stablehlo.compare EQ, %a, %b, UNSIGNED : (tensor<21xui16>, tensor<21xui16>) -> tensor<21xi1>
  check.expect_eq_const %19, dense<[false, false, false, false, false, false, true, true, true, false, false, false, false, false, false, false, false, false, true, false, true]> : tensor<21xi1>
  %20 = stablehlo.compare NE, %a, %b, UNSIGNED : (tensor<21xui16>, tensor<21xui16>) -> tensor<21xi1>
  check.expect_eq_const %20, dense<[true, true, true, true, true, true, false, false, false, true, true, true, true, true, true, true, true, true, false, true, false]> : tensor<21xi1>
  %21 = stablehlo.compare GT, %a, %b, UNSIGNED : (tensor<21xui16>, tensor<21xui16>) -> tensor<21xi1>
  check.expect_eq_const %21, dense<[true, true, false, false, false, false, false, false, false, true, false, true, true, true, false, false, true, true, false, true, false]> : tensor<21xi1>
  %22 = stablehlo.compare LE, %a, %b, UNSIGNED : (tensor<21xui16>, tensor<21xui16>) -> tensor<21xi1>
  check.expect_eq_const %22, dense<[false, false, true, true, true, true, true, true, true, false, true, false, false, false, true, true, false, false, true, false, true]> : tensor<21xi1>
  %23 = stablehlo.convert %a : (tensor<21xui16>) -> tensor<21xi2>
  check.expect_eq_const %23, dense<[1, 1, 1, 0, 1, 1, 1, 1, -1, 0, -1, 1, 1, -1, 0, 0, -2, -1, 0, -1, 0]> : tensor<21xi2>
  %24 = stablehlo.convert %a : (tensor<21xui16>) -> tensor<21xui4>
  check.expect_eq_const %24, dense<[5, 1, 5, 0, 5, 1, 1, 5, 15, 8, 3, 13, 13, 15, 0, 0, 14, 15, 0, 15, 0]> : tensor<21xui4>
  %25 = stablehlo.convert %a : (tensor<21xui16>) -> tensor<21xi8>
  check.expect_eq_const %25, dense<[85, 1, 85, 0, 85, 1, 1, 85, -1, 88, 3, 61, 109, -1, 0, 0, -98, -1, 0, -1, 0]> : tensor<21xi8>
  %26 = stablehlo.convert %a : (tensor<21xui16>) -> tensor<21xui8>
  check.expect_eq_const %26, dense<[85, 1, 85, 0, 85, 1, 1, 85, 255, 88, 3, 61, 109, 255, 0, 0, 158, 255, 0, 255, 0]> : tensor<21xui8>
  %27 = stablehlo.convert %a : (tensor<21xui16>) -> tensor<21xi16>
  check.expect_eq_const %27, dense<[21845, 1, 21845, 0, 21845, 1, 1, 21845, -1, -7848, 515, 22589, -3475, -1, 0, 0, 8094, -1, 0, -1, 0]> : tensor<21xi16>
  %28 = stablehlo.convert %a : (tensor<21xui16>) -> tensor<21xui32>
  check.expect_eq_const %28, dense<[21845, 1, 21845, 0, 21845, 1, 1, 21845, 65535, 57688, 515, 22589, 62061, 65535, 0, 0, 8094, 65535, 0, 65535, 0]> : tensor<21xui32>
  %29 = stablehlo.convert %a : (tensor<21xui16>) -> tensor<21xi64>
  check.expect_eq_const %29, dense<[21845, 1, 21845, 0, 21845, 1, 1, 21845, 65535, 57688, 515, 22589, 62061, 65535, 0, 0, 8094, 65535, 0, 65535, 0]> : tensor<21xi64>
  %30 = stablehlo.convert %a : (tensor<21xui16>) -> tensor<21xui64>
  check.expect_eq_const %30, dense<[21845, 1, 21845, 0, 21845, 1, 1, 21845, 65535, 57688, 515, 22589, 62061, 65535, 0, 0, 8094, 65535, 0, 65535, 0]> : tensor<21xui64>
  %31 = stablehlo.convert %a : (tensor<21xui16>) -> tensor<21xi1>
  check.expect_eq_const %31, dense<[true, true, true, false, true, true, true, true, true, true, true, true, true, true, false, false, true, true, false, true, false]> : tensor<21xi1>
  %32 = stablehlo.convert %a : (tensor<21xui16>) -> tensor<21xf32>
  check.expect_eq_const %32, dense<[21845.0, 1.0, 21845.0, 0.0, 21845.0, 1.0, 1.0, 21845.0, 65535.0, 57688.0, 515.0, 22589.0, 62061.0, 65535.0, 0.0, 0.0, 8094.0, 65535.0, 0.0, 65535.0, 0.0]> : tensor<21xf32>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-2147483648, 2147483647, 0, 2147483646, -1, 0, 715827882, -2147483647, -2, 827773357, 1903817426, -1558495724, -248600909, 2147483647, -2147483648, -2147483648, -1833432339, -2147483648, -1, -1, 2, -2147483648, 2147483647, 0]> : tensor<24xi32>
  %b = stablehlo.constant dense<[-1, -2147483647, 0, -2147483647, 2147483646, 1, -2, -2147483648, 2147483646, 1896232910, 1460287953, -1625121328, -1113948039, 32, 31, 32, 3, -1, -2147483648, -3, -1, 0, 0, 0]> : tensor<24xi32>
  %0 = stablehlo.add %a, %b : tensor<24xi32>
  check.expect_eq_const %0, dense<[2147483647, 0, 0, -1, 2147483645, 1, 715827880, 1, 2147483644, -1570961029, -930861917, 1111350244, -1362548948, -2147483617, -2147483617, -2147483616, -1833432336, 2147483647, 2147483647, -4, 1, -2147483648, 2147483647, 0]> : tensor<24xi32>
  %1 = stablehlo.subtract %a, %b : tensor<24xi32>
  check.expect_eq_const %1, dense<[-2147483647, -2, 0, -3, -2147483647, -1, 715827884, 1, -2147483648, -1068459553, 443529473, 66625604, 865347130, 2147483615, 2147483617, 2147483616, -1833432342, -2147483647, 2147483647, 2, 3, -2147483648, 2147483647, 0]> : tensor<24xi32>
  %2 = stablehlo.multiply %a, %b : tensor<24xi32>
  check.expect_eq_const %2, dense<[-2147483648, -1, 0, 2147483646, -2147483646, 0, -1431655764, -2147483648, 4, -1577655242, -1512833166, -438520768, -1055634789, -32, -2147483648, 0, -1205329721, -2147483648, -2147483648, 3, -2, 0, 0, 0]> : tensor<24xi32>
  %3 = stablehlo.divide %a, %b : tensor<24xi32>
  check.expect_eq_const %3, dense<[-2147483648, -1, -1, 0, 0, 0, -357913941, 0, 0, 0, 1, 0, 0, 67108863, -69273666, -67108864, -611144113, -2147483648, 0, 0, -2, -1, -1, -1]> : tensor<24xi32>
  %4 = stablehlo.remainder %a, %b : tensor<24xi32>
  check.expect_eq_const %4, dense<[0, 0, 0, 2147483646, -1, 0, 0, -2147483647, -2, 827773357, 443529473, -1558495724, -248600909, 31, -2, 0, 0, 0, -1, -1, 0, -2147483648, 2147483647, 0]> : tensor<24xi32>
  %5 = stablehlo.power %a, %b : tensor<24xi32>
  check.expect_eq_const %5, dense<[0, 0, 1, 0, 1, 0, 0, 0, 0, -1045412711, 0, 0, 0, 1, 0, 0, 2024107573, 0, 1, -1, 0, 1, 1, 1]> : tensor<24xi32>
  %6 = stablehlo.maximum %a, %b : tensor<24xi32>
  check.expect_eq_const %6, dense<[-1, 2147483647, 0, 2147483646, 2147483646, 1, 715827882, -2147483647, 2147483646, 1896232910, 1903817426, -1558495724, -248600909, 2147483647, 31, 32, 3, -1, -1, -1, 2, 0, 2147483647, 0]> : tensor<24xi32>
  %7 = stablehlo.minimum %a, %b : tensor<24xi32>
  check.expect_eq_const %7, dense<[-2147483648, -2147483647, 0, -2147483647, -1, 0, -2, -2147483648, -2, 827773357, 1460287953, -1625121328, -1113948039, 32, -2147483648, -2147483648, -1833432339, -2147483648, -2147483648, -3, -1, -2147483648, 0, 0]> : tensor<24xi32>
  %8 = stablehlo.and %a, %b : tensor<24xi32>
  check.expect_eq_const %8, dense<[-2147483648, 1, 0, 0, 2147483646, 0, 715827882, -2147483648, 2147483646, 822481292, 1359491280, -2097013744, -1324711887, 32, 0, 0, 1, -2147483648, -2147483648, -3, 2, 0, 0, 0]> : tensor<24xi32>
  %9 = stablehlo.or %a, %b : tensor<24xi32>
  check.expect_eq_const %9, dense<[-1, -1, 0, -1, -1, 1, -2, -2147483647, -2, 1901524975, 2004614099, -1086603308, -37837061, 2147483647, -2147483617, -2147483616, -1833432337, -1, -1, -1, -1, -2147483648, 2147483647, 0]> : tensor<24xi32>
  %10 = stablehlo.xor %a, %b : tensor<24xi32>
  check.expect_eq_const %10, dense<[2147483647, -2, 0, -1, -2147483647, 1, -715827884, 1, -2147483648, 1079043683, 645122819, 1010410436, 1286874826, 2147483615, -2147483617, -2147483616, -1833432338, 2147483647, 2147483647, 2, -3, -2147483648, 2147483647, 0]> : tensor<24xi32>
  %11 = stablehlo.shift_left %a, %b : tensor<24xi32>
  check.expect_eq_const %11, dense<[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1782556824, 0, 0, 0, 0, -2147483648, 2147483647, 0]> : tensor<24xi32>
  %12 = stablehlo.shift_right_logical %a, %b : tensor<24xi32>
  check.expect_eq_const %12, dense<[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 307691869, 0, 0, 0, 0, -2147483648, 2147483647, 0]> : tensor<24xi32>
  %13 = stablehlo.shift_right_arithmetic %a, %b : tensor<24xi32>
  check.expect_eq_const %13, dense<[-1, 0, 0, 0, -1, 0, 0, -1, -1, 0, 0, -1, -1, 0, -1, -1, -229179043, -1, -1, -1, 0, -2147483648, 2147483647, 0]> : tensor<24xi32>
  %14 = stablehlo.not %a : tensor<24xi32>
  check.expect_eq_const %14, dense<[2147483647, -2147483648, -1, -2147483647, 0, -1, -715827883, 2147483646, 1, -827773358, -1903817427, 1558495723, 248600908, -2147483648, 2147483647, 2147483647, 1833432338, 2147483647, 0, 0, -3, 2147483647, -2147483648, -1]> : tensor<24xi32>
  %15 = stablehlo.popcnt %a : tensor<24xi32>
  check.expect_eq_const %15, dense<[1, 31, 0, 30, 32, 0, 15, 2, 31, 16, 18, 15, 18, 31, 1, 1, 15, 1, 32, 32, 1, 1, 31, 0]> : tensor<24xi32>
  %16 = stablehlo.count_leading_zeros %a : tensor<24xi32>
  check.expect_eq_const %16, dense<[0, 1, 32, 1, 0, 32, 2, 0, 0, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 30, 0, 1, 32]> : tensor<24xi32>
  %17 = stablehlo.negate %a : tensor<24xi32>
  check.expect_eq_const %17, dense<[-2147483648, -2147483647, 0, -2147483646, 1, 0, -715827882, 2147483647, 2, -827773357, -1903817426, 1558495724, 248600909, -2147483647, -2147483648, -2147483648, 1833432339, -2147483648, 1, 1, -2, -2147483648, -2147483647, 0]> : tensor<24xi32>
  %18 = stablehlo.abs %a : tensor<24xi32>
  check.expect_eq_const %18, dense<[-2147483648, 2147483647, 0, 2147483646, 1, 0, 715827882, 2147483647, 2, 827773357, 1903817426, 1558495724, 248600909, 2147483647, -2147483648, -2147483648, 1833432339, -2147483648, 1, 1, 2, -2147483648, 2147483647, 0]> : tensor<24xi32>
  %19 = stablehlo.sign %a : tensor<24xi32>
  check.expect_eq_const %19, dense<[-1, 1, 0, 1, -1, 0, 1, -1, -1, 1, 1, -1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, 0]> : tensor<24xi32>
  %20 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<24xi32>, tensor<24xi32>) -> tensor<24xi1>
  check.expect_eq_const %20, dense<[true, false, false, false, true, true, false, false, true, true, false, false, false, false, true, true, true, true, false, false, false, true, false, false]> : tensor<24xi1>
  %21 = stablehlo.compare GE, %a, %b, SIGNED : (tensor<24xi32>, tensor<24xi32>) -> tensor<24xi1>
  check.expect_eq_const %21, dense<[false, true, true, true, false, false, true, true, false, false, true, true, true, true, false, false, false, false, true, true, true, false, true, true]> : tensor<24xi1>
  %22 = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<24xi32>, tensor<24xi32>) -> tensor<24xi1>
  check.expect_eq_const %22, dense<[false, false, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true]> : tensor<24xi1>
  %23 = stablehlo.compare NE, %a, %b, SIGNED : (tensor<24xi32>, tensor<24xi32>) -> tensor<24xi1>
  check.expect_eq_const %23, dense<[true, true, false, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false]> : tensor<24xi1>
  %24 = stablehlo.compare GT, %a, %b, SIGNED : (tensor<24xi32>, tensor<24xi32>) -> tensor<24xi1>
  check.expect_eq_const %24, dense<[false, true, false, true, false, false, true, true, false, false, true, true, true, true, false, false, false, false, true, true, true, false, true, false]> : tensor<24xi1>
  %25 = stablehlo.compare LE, %a, %b, SIGNED : (tensor<24xi32>, tensor<24xi32>) -> tensor<24xi1>
  check.expect_eq_const %25, dense<[true, false, true, false, true, true, false, false, true, true, false, false, false, false, true, true, true, true, false, false, false, true, false, true]> : tensor<24xi1>
  %26 = stablehlo.convert %a : (tensor<24xi32>) -> tensor<24xi2>
  check.expect_eq_const %26, dense<[0, -1, 0, -2, -1, 0, -2, 1, -2, 1, -2, 0, -1, -1, 0, 0, 1, 0, -1, -1, -2, 0, -1, 0]> : tensor<24xi2>
  %27 = stablehlo.convert %a : (tensor<24xi32>) -> tensor<24xui4>
  check.expect_eq_const %27, dense<[0, 15, 0, 14, 15, 0, 10, 1, 14, 13, 2, 4, 3, 15, 0, 0, 13, 0, 15, 15, 2, 0, 15, 0]> : tensor<24xui4>
  %28 = stablehlo.convert %a : (tensor<24xi32>) -> tensor<24xi8>
  check.expect_eq_const %28, dense<[0, -1, 0, -2, -1, 0, -86, 1, -2, -83, -46, 20, -77, -1, 0, 0, -19, 0, -1, -1, 2, 0, -1, 0]> : tensor<24xi8>
  %29 = stablehlo.convert %a : (tensor<24xi32>) -> tensor<24xui8>
  check.expect_eq_const %29, dense<[0, 255, 0, 254, 255, 0, 170, 1, 254, 173, 210, 20, 179, 255, 0, 0, 237, 0, 255, 255, 2, 0, 255, 0]> : tensor<24xui8>
  %30 = stablehlo.convert %a : (tensor<24xi32>) -> tensor<24xi16>
  check.expect_eq_const %30, dense<[0, -1, 0, -2, -1, 0, -21846, 1, -2, -11859, -3374, 15892, -22861, -1, 0, 0, 2797, 0, -1, -1, 2, 0, -1, 0]> : tensor<24xi16>
  %31 = stablehlo.convert %a : (tensor<24xi32>) -> tensor<24xui32>
  check.expect_eq_const %31, dense<[2147483648, 2147483647, 0, 2147483646, 4294967295, 0, 715827882, 2147483649, 4294967294, 827773357, 1903817426, 2736471572, 4046366387, 2147483647, 2147483648, 2147483648, 2461534957, 2147483648, 4294967295, 4294967295, 2, 2147483648, 2147483647, 0]> : tensor<24xui32>
  %32 = stablehlo.convert %a : (tensor<24xi32>) -> tensor<24xi64>
  check.expect_eq_const %32, dense<[-2147483648, 2147483647, 0, 2147483646, -1, 0, 715827882, -2147483647, -2, 827773357, 1903817426, -1558495724, -248600909, 2147483647, -2147483648, -2147483648, -1833432339, -2147483648, -1, -1, 2, -2147483648, 2147483647, 0]> : tensor<24xi64>
  %33 = stablehlo.convert %a : (tensor<24xi32>) -> tensor<24xui64>
  check.expect_eq_const %33, dense<[18446744071562067968, 2147483647, 0, 2147483646, 18446744073709551615, 0, 715827882, 18446744071562067969, 18446744073709551614, 827773357, 1903817426, 18446744072151055892, 18446744073460950707, 2147483647, 18446744071562067968, 18446744071562067968, 18446744071876119277, 18446744071562067968, 18446744073709551615, 18446744073709551615, 2, 18446744071562067968, 2147483647, 0]> : tensor<24xui64>
  %34 = stablehlo.convert %a : (tensor<24xi32>) -> tensor<24xi1>
  check.expect_eq_const %34, dense<[true, true, false, true, true, false, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false]> : tensor<24xi1>
  %35 = stablehlo.convert %a : (tensor<24xi32>) -> tensor<24xf32>
  check.expect_eq_const %35, dense<[-2147483648.0, 2147483648.0, 0.0, 2147483648.0, -1.0, 0.0, 715827904.0, -2147483648.0, -2.0, 827773376.0, 1903817472.0, -1558495744.0, -248600912.0, 2147483648.0, -2147483648.0, -2147483648.0, -1833432320.0, -2147483648.0, -1.0, -1.0, 2.0, -2147483648.0, 2147483648.0, 0.0]> : tensor<24xf32>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 4294967295, 4294967295, 4294967294, 0, 1, 4294967294, 0, 4294967294, 49591106, 2670196012, 4029220145, 1124831725, 4294967295, 0, 0, 4003969892, 4294967295, 0, 4294967295, 0]> : tensor<21xui32>
  %b = stablehlo.constant dense<[1431655765, 1, 4294967295, 1431655765, 1, 1431655765, 4294967295, 4294967294, 4294967294, 3931727770, 3047437007, 4162737373, 778016012, 32, 31, 32, 3, 2, 0, 0, 0]> : tensor<21xui32>
  %0 = stablehlo.add %a, %b : tensor<21xui32>
  check.expect_eq_const %0, dense<[1431655765, 0, 4294967294, 1431655763, 1, 1431655766, 4294967293, 4294967294, 4294967292, 3981318876, 1422665723, 3896990222, 1902847737, 31, 31, 32, 4003969895, 1, 0, 4294967295, 0]> : tensor<21xui32>
  %1 = stablehlo.subtract %a, %b : tensor<21xui32>
  check.expect_eq_const %1, dense<[2863311531, 4294967294, 0, 2863311529, 4294967295, 2863311532, 4294967295, 2, 0, 412830632, 3917726301, 4161450068, 346815713, 4294967263, 4294967265, 4294967264, 4003969889, 4294967293, 0, 4294967295, 0]> : tensor<21xui32>
  %2 = stablehlo.multiply %a, %b : tensor<21xui32>
  check.expect_eq_const %2, dense<[0, 4294967295, 1, 1431655766, 0, 1431655765, 2, 0, 4, 3779421108, 2875315860, 3705376589, 2641152028, 4294967264, 0, 0, 3421975084, 4294967294, 0, 0, 0]> : tensor<21xui32>
  %3 = stablehlo.divide %a, %b : tensor<21xui32>
  check.expect_eq_const %3, dense<[0, 4294967295, 1, 2, 0, 0, 0, 0, 1, 0, 0, 0, 1, 134217727, 0, 0, 1334656630, 2147483647, 4294967295, 4294967295, 4294967295]> : tensor<21xui32>
  %4 = stablehlo.remainder %a, %b : tensor<21xui32>
  check.expect_eq_const %4, dense<[0, 0, 0, 1431655764, 0, 1, 4294967294, 0, 0, 49591106, 2670196012, 4029220145, 346815713, 31, 0, 0, 2, 1, 0, 4294967295, 0]> : tensor<21xui32>
  %5 = stablehlo.power %a, %b : tensor<21xui32>
  check.expect_eq_const %5, dense<[0, 4294967295, 4294967295, 0, 0, 1, 0, 0, 0, 0, 0, 3492954225, 3224917553, 1, 0, 0, 910512704, 1, 1, 1, 1]> : tensor<21xui32>
  %6 = stablehlo.maximum %a, %b : tensor<21xui32>
  check.expect_eq_const %6, dense<[1431655765, 4294967295, 4294967295, 4294967294, 1, 1431655765, 4294967295, 4294967294, 4294967294, 3931727770, 3047437007, 4162737373, 1124831725, 4294967295, 31, 32, 4003969892, 4294967295, 0, 4294967295, 0]> : tensor<21xui32>
  %7 = stablehlo.minimum %a, %b : tensor<21xui32>
  check.expect_eq_const %7, dense<[0, 1, 4294967295, 1431655765, 0, 1, 4294967294, 0, 4294967294, 49591106, 2670196012, 4029220145, 778016012, 32, 0, 0, 3, 2, 0, 0, 0]> : tensor<21xui32>
  %8 = stablehlo.and %a, %b : tensor<21xui32>
  check.expect_eq_const %8, dense<[0, 1, 4294967295, 1431655764, 0, 1, 4294967294, 0, 4294967294, 38806274, 2502176780, 4027057169, 34312460, 32, 0, 0, 0, 2, 0, 0, 0]> : tensor<21xui32>
  %9 = stablehlo.or %a, %b : tensor<21xui32>
  check.expect_eq_const %9, dense<[1431655765, 4294967295, 4294967295, 4294967295, 1, 1431655765, 4294967295, 4294967294, 4294967294, 3942512602, 3215456239, 4164900349, 1868535277, 4294967295, 31, 32, 4003969895, 4294967295, 0, 4294967295, 0]> : tensor<21xui32>
  %10 = stablehlo.xor %a, %b : tensor<21xui32>
  check.expect_eq_const %10, dense<[1431655765, 4294967294, 0, 2863311531, 1, 1431655764, 1, 4294967294, 0, 3903706328, 713279459, 137843180, 1834222817, 4294967263, 31, 32, 4003969895, 4294967293, 0, 4294967295, 0]> : tensor<21xui32>
  %11 = stablehlo.shift_left %a, %b : tensor<21xui32>
  check.expect_eq_const %11, dense<[0, 4294967294, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1966988064, 4294967292, 0, 4294967295, 0]> : tensor<21xui32>
  %12 = stablehlo.shift_right_logical %a, %b : tensor<21xui32>
  check.expect_eq_const %12, dense<[0, 2147483647, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 500496236, 1073741823, 0, 4294967295, 0]> : tensor<21xui32>
  %13 = stablehlo.shift_right_arithmetic %a, %b : tensor<21xui32>
  check.expect_eq_const %13, dense<[0, 4294967295, 4294967295, 4294967295, 0, 0, 4294967295, 0, 4294967295, 0, 4294967295, 4294967295, 0, 4294967295, 0, 0, 4258592620, 4294967295, 0, 4294967295, 0]> : tensor<21xui32>
  %14 = stablehlo.not %a : tensor<21xui32>
  check.expect_eq_const %14, dense<[4294967295, 0, 0, 1, 4294967295, 4294967294, 1, 4294967295, 1, 4245376189, 1624771283, 265747150, 3170135570, 0, 4294967295, 4294967295, 290997403, 0, 4294967295, 0, 4294967295]> : tensor<21xui32>
  %15 = stablehlo.popcnt %a : tensor<21xui32>
  check.expect_eq_const %15, dense<[0, 32, 32, 31, 0, 1, 31, 0, 31, 13, 19, 12, 15, 32, 0, 0, 20, 32, 0, 32, 0]> : tensor<21xui32>
  %16 = stablehlo.count_leading_zeros %a : tensor<21xui32>
  check.expect_eq_const %16, dense<[32, 0, 0, 0, 32, 31, 0, 32, 0, 6, 0, 0, 1, 0, 32, 32, 0, 0, 32, 0, 32]> : tensor<21xui32>
  %17 = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<21xui32>, tensor<21xui32>) -> tensor<21xi1>
  check.expect_eq_const %17, dense<[true, false, false, false, true, true, true, true, false, true, true, true, false, false, true, true, false, false, false, false, false]> : tensor<21xi1>
  %18 = stablehlo.compare GE, %a, %b, UNSIGNED : (tensor<21xui32>, tensor<21xui32>) -> tensor<21xi1>
  check.expect_eq_const %18, dense<[false, true, true, true, false, false, false, false, true, false, false, false, true, true, false, false, true, true, true, true, true]> : tensor<21xi1>
  %19 = stablehlo.compare EQ, %a, %b, UNSIGNED : (tensor<21xui32>, tensor<21xui32>) -> tensor<21xi1>
  check.expect_eq_const %19, dense<[false, false, true, false, false, false, false, false, true, false, false, false, false, false, false, false, false, false, true, false, true]> : tensor<21xi1>
  %20 = stablehlo.compare NE, %a, %b, UNSIGNED : (tensor<21xui32>, tensor<21xui32>) -> tensor<21xi1>
  check.expect_eq_const %20, dense<[true, true, false, true, true, true, true, true, false, true, true, true, true, true, true, true, true, true, false, true, false]> : tensor<21xi1>
  %21 = stablehlo.compare GT, %a, %b, UNSIGNED : (tensor<21xui32>, tensor<21xui32>) -> tensor<21xi1>
  check.expect_eq_const %21, dense<[false, true, false, true, false, false, false, false, false, false, false, false, true, true, false, false, true, true, false, true, false]> : tensor<21xi1>
  %22 = stablehlo.compare LE, %a, %b, UNSIGNED : (tensor<21xui32>, tensor<21xui32>) -> tensor<21xi1>
  check.expect_eq_const %22, dense<[true, false, true, false, true, true, true, true, true, true, true, true, false, false, true, true, false, false, true, false, true]> : tensor<21xi1>
  %23 = stablehlo.convert %a : (tensor<21xui32>) -> tensor<21xi2>
  check.expect_eq_const %23, dense<[0, -1, -1, -2, 0, 1, -2, 0, -2, -2, 0, 1, 1, -1, 0, 0, 0, -1, 0, -1, 0]> : tensor<21xi2>
  %24 = stablehlo.convert %a : (tensor<21xui32>) -> tensor<21xui4>
  check.expect_eq_const %24, dense<[0, 15, 15, 14, 0, 1, 14, 0, 14, 2, 12, 1, 13, 15, 0, 0, 4, 15, 0, 15, 0]> : tensor<21xui4>
  %25 = stablehlo.convert %a : (tensor<21xui32>) -> tensor<21xi8>
  check.expect_eq_const %25, dense<[0, -1, -1, -2, 0, 1, -2, 0, -2, 66, 44, 49, -19, -1, 0, 0, 100, -1, 0, -1, 0]> : tensor<21xi8>
  %26 = stablehlo.convert %a : (tensor<21xui32>) -> tensor<21xui8>
  check.expect_eq_const %26, dense<[0, 255, 255, 254, 0, 1, 254, 0, 254, 66, 44, 49, 237, 255, 0, 0, 100, 255, 0, 255, 0]> : tensor<21xui8>
  %27 = stablehlo.convert %a : (tensor<21xui32>) -> tensor<21xi16>
  check.expect_eq_const %27, dense<[0, -1, -1, -2, 0, 1, -2, 0, -2, -19646, -2772, 1329, -28179, -1, 0, 0, -17564, -1, 0, -1, 0]> : tensor<21xi16>
  %28 = stablehlo.convert %a : (tensor<21xui32>) -> tensor<21xui32>
  check.expect_eq_const %28, dense<[0, 4294967295, 4294967295, 4294967294, 0, 1, 4294967294, 0, 4294967294, 49591106, 2670196012, 4029220145, 1124831725, 4294967295, 0, 0, 4003969892, 4294967295, 0, 4294967295, 0]> : tensor<21xui32>
  %29 = stablehlo.convert %a : (tensor<21xui32>) -> tensor<21xi64>
  check.expect_eq_const %29, dense<[0, 4294967295, 4294967295, 4294967294, 0, 1, 4294967294, 0, 4294967294, 49591106, 2670196012, 4029220145, 1124831725, 4294967295, 0, 0, 4003969892, 4294967295, 0, 4294967295, 0]> : tensor<21xi64>
  %30 = stablehlo.convert %a : (tensor<21xui32>) -> tensor<21xui64>
  check.expect_eq_const %30, dense<[0, 4294967295, 4294967295, 4294967294, 0, 1, 4294967294, 0, 4294967294, 49591106, 2670196012, 4029220145, 1124831725, 4294967295, 0, 0, 4003969892, 4294967295, 0, 4294967295, 0]> : tensor<21xui64>
  %31 = stablehlo.convert %a : (tensor<21xui32>) -> tensor<21xi1>
  check.expect_eq_const %31, dense<[false, true, true, true, false, true, true, false, true, true, true, true, true, true, false, false, true, true, false, true, false]> : tensor<21xi1>
  %32 = stablehlo.convert %a : (tensor<21xui32>) -> tensor<21xf32>
  check.expect_eq_const %32, dense<[0.0, 4294967296.0, 4294967296.0, 4294967296.0, 0.0, 1.0, 4294967296.0, 0.0, 4294967296.0, 49591104.0, 2670195968.0, 4029220096.0, 1124831744.0, 4294967296.0, 0.0, 0.0, 4003969792.0, 4294967296.0, 0.0, 4294967296.0, 0.0]> : tensor<21xf32>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-9223372036854775808, 3074457345618258602, -9223372036854775807, 3074457345618258602, -1, -9223372036854775808, 3074457345618258602, -9223372036854775808, 9223372036854775806, 7170728546009694762, -2901587446430639462, 9028538784309462237, -1277608368366773840, 9223372036854775807, -9223372036854775808, -9223372036854775808, -3817396968711006564, -9223372036854775808, -1, -1, 2, -9223372036854775808, 9223372036854775807, 0]> : tensor<24xi64>
  %b = stablehlo.constant dense<[9223372036854775807, 1, -2, -9223372036854775807, -9223372036854775807, -1, -9223372036854775808, 3074457345618258602, 0, 123334100355802286, 2508332071602456592, -8960411297800009089, 1822140099877193614, 64, 63, 64, 3, -1, -9223372036854775808, -3, -1, 0, 0, 0]> : tensor<24xi64>
  %0 = stablehlo.add %a, %b : tensor<24xi64>
  check.expect_eq_const %0, dense<[-1, 3074457345618258603, 9223372036854775807, -6148914691236517205, -9223372036854775808, 9223372036854775807, -6148914691236517206, -6148914691236517206, 9223372036854775806, 7294062646365497048, -393255374828182870, 68127486509453148, 544531731510419774, -9223372036854775745, -9223372036854775745, -9223372036854775744, -3817396968711006561, 9223372036854775807, 9223372036854775807, -4, 1, -9223372036854775808, 9223372036854775807, 0]> : tensor<24xi64>
  %1 = stablehlo.subtract %a, %b : tensor<24xi64>
  check.expect_eq_const %1, dense<[1, 3074457345618258601, -9223372036854775805, -6148914691236517207, 9223372036854775806, -9223372036854775807, -6148914691236517206, 6148914691236517206, 9223372036854775806, 7047394445653892476, -5409919518033096054, -457793991600080290, -3099748468243967454, 9223372036854775743, 9223372036854775745, 9223372036854775744, -3817396968711006567, -9223372036854775807, 9223372036854775807, 2, 3, -9223372036854775808, 9223372036854775807, 0]> : tensor<24xi64>
  %2 = stablehlo.multiply %a, %b : tensor<24xi64>
  check.expect_eq_const %2, dense<[-9223372036854775808, 3074457345618258602, -2, 3074457345618258602, 9223372036854775807, -9223372036854775808, 0, 0, 0, 4097396766240891020, 6153100128456636832, -7890339259841934429, -8273155520197488736, -64, -9223372036854775808, 0, 6994553167576531924, -9223372036854775808, -9223372036854775808, 3, -2, 0, 0, 0]> : tensor<24xi64>
  %3 = stablehlo.divide %a, %b : tensor<24xi64>
  check.expect_eq_const %3, dense<[-1, 3074457345618258602, 4611686018427387903, 0, 0, -9223372036854775808, 0, -3, -1, 58, -1, -1, 0, 144115188075855871, -146402730743726600, -144115188075855872, -1272465656237002188, -9223372036854775808, 0, 0, -2, -1, -1, -1]> : tensor<24xi64>
  %4 = stablehlo.remainder %a, %b : tensor<24xi64>
  check.expect_eq_const %4, dense<[-1, 0, -1, 3074457345618258602, -1, 0, 3074457345618258602, -2, 9223372036854775806, 17350725373162174, -393255374828182870, 68127486509453148, -1277608368366773840, 63, -8, 0, 0, 0, -1, -1, 0, -9223372036854775808, 9223372036854775807, 0]> : tensor<24xi64>
  %5 = stablehlo.power %a, %b : tensor<24xi64>
  check.expect_eq_const %5, dense<[0, 3074457345618258602, 0, 0, -1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 8491506120056114624, 0, 1, -1, 0, 1, 1, 1]> : tensor<24xi64>
  %6 = stablehlo.maximum %a, %b : tensor<24xi64>
  check.expect_eq_const %6, dense<[9223372036854775807, 3074457345618258602, -2, 3074457345618258602, -1, -1, 3074457345618258602, 3074457345618258602, 9223372036854775806, 7170728546009694762, 2508332071602456592, 9028538784309462237, 1822140099877193614, 9223372036854775807, 63, 64, 3, -1, -1, -1, 2, 0, 9223372036854775807, 0]> : tensor<24xi64>
  %7 = stablehlo.minimum %a, %b : tensor<24xi64>
  check.expect_eq_const %7, dense<[-9223372036854775808, 1, -9223372036854775807, -9223372036854775807, -9223372036854775807, -9223372036854775808, -9223372036854775808, -9223372036854775808, 0, 123334100355802286, -2901587446430639462, -8960411297800009089, -1277608368366773840, 64, -9223372036854775808, -9223372036854775808, -3817396968711006564, -9223372036854775808, -9223372036854775808, -3, -1, -9223372036854775808, 0, 0]> : tensor<24xi64>
  %8 = stablehlo.and %a, %b : tensor<24xi64>
  check.expect_eq_const %8, dense<[0, 0, -9223372036854775808, 0, -9223372036854775807, -9223372036854775808, 0, 0, 0, 108662074785153066, 183346391001892880, 72638274171715677, 594757468679864704, 64, 0, 0, 0, -9223372036854775808, -9223372036854775808, -3, 2, 0, 0, 0]> : tensor<24xi64>
  %9 = stablehlo.or %a, %b : tensor<24xi64>
  check.expect_eq_const %9, dense<[-1, 3074457345618258603, -1, -6148914691236517205, -1, -1, -6148914691236517206, -6148914691236517206, 9223372036854775806, 7185400571580343982, -576601765830075750, -4510787662262529, -50225737169444930, 9223372036854775807, -9223372036854775745, -9223372036854775744, -3817396968711006561, -1, -1, -1, -1, -9223372036854775808, 9223372036854775807, 0]> : tensor<24xi64>
  %10 = stablehlo.xor %a, %b : tensor<24xi64>
  check.expect_eq_const %10, dense<[-1, 3074457345618258603, 9223372036854775807, -6148914691236517205, 9223372036854775806, 9223372036854775807, -6148914691236517206, -6148914691236517206, 9223372036854775806, 7076738496795190916, -759948156831968630, -77149061833978206, -644983205849309634, 9223372036854775743, -9223372036854775745, -9223372036854775744, -3817396968711006561, 9223372036854775807, 9223372036854775807, 2, -3, -9223372036854775808, 9223372036854775807, 0]> : tensor<24xi64>
  %11 = stablehlo.shift_left %a, %b : tensor<24xi64>
  check.expect_eq_const %11, dense<[0, 6148914691236517204, 0, 0, 0, 0, 0, 0, 9223372036854775806, 0, 0, 0, 0, 0, 0, 0, 6354312397731050720, 0, 0, 0, 0, -9223372036854775808, 9223372036854775807, 0]> : tensor<24xi64>
  %12 = stablehlo.shift_right_logical %a, %b : tensor<24xi64>
  check.expect_eq_const %12, dense<[0, 1537228672809129301, 0, 0, 0, 0, 0, 0, 9223372036854775806, 0, 0, 0, 0, 0, 1, 0, 1828668388124818131, 0, 0, 0, 0, -9223372036854775808, 9223372036854775807, 0]> : tensor<24xi64>
  %13 = stablehlo.shift_right_arithmetic %a, %b : tensor<24xi64>
  check.expect_eq_const %13, dense<[-1, 1537228672809129301, -1, 0, -1, -1, 0, -1, 9223372036854775806, 0, -1, 0, -1, 0, -1, -1, -477174621088875821, -1, -1, -1, 0, -9223372036854775808, 9223372036854775807, 0]> : tensor<24xi64>
  %14 = stablehlo.not %a : tensor<24xi64>
  check.expect_eq_const %14, dense<[9223372036854775807, -3074457345618258603, 9223372036854775806, -3074457345618258603, 0, 9223372036854775807, -3074457345618258603, 9223372036854775807, -9223372036854775807, -7170728546009694763, 2901587446430639461, -9028538784309462238, 1277608368366773839, -9223372036854775808, 9223372036854775807, 9223372036854775807, 3817396968711006563, 9223372036854775807, 0, 0, -3, 9223372036854775807, -9223372036854775808, -1]> : tensor<24xi64>
  %15 = stablehlo.popcnt %a : tensor<24xi64>
  check.expect_eq_const %15, dense<[1, 31, 2, 31, 64, 1, 31, 1, 62, 30, 39, 32, 31, 63, 1, 1, 33, 1, 64, 64, 1, 1, 63, 0]> : tensor<24xi64>
  %16 = stablehlo.count_leading_zeros %a : tensor<24xi64>
  check.expect_eq_const %16, dense<[0, 2, 0, 2, 0, 0, 2, 0, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 62, 0, 1, 64]> : tensor<24xi64>
  %17 = stablehlo.negate %a : tensor<24xi64>
  check.expect_eq_const %17, dense<[-9223372036854775808, -3074457345618258602, 9223372036854775807, -3074457345618258602, 1, -9223372036854775808, -3074457345618258602, -9223372036854775808, -9223372036854775806, -7170728546009694762, 2901587446430639462, -9028538784309462237, 1277608368366773840, -9223372036854775807, -9223372036854775808, -9223372036854775808, 3817396968711006564, -9223372036854775808, 1, 1, -2, -9223372036854775808, -9223372036854775807, 0]> : tensor<24xi64>
  %18 = stablehlo.abs %a : tensor<24xi64>
  check.expect_eq_const %18, dense<[-9223372036854775808, 3074457345618258602, 9223372036854775807, 3074457345618258602, 1, -9223372036854775808, 3074457345618258602, -9223372036854775808, 9223372036854775806, 7170728546009694762, 2901587446430639462, 9028538784309462237, 1277608368366773840, 9223372036854775807, -9223372036854775808, -9223372036854775808, 3817396968711006564, -9223372036854775808, 1, 1, 2, -9223372036854775808, 9223372036854775807, 0]> : tensor<24xi64>
  %19 = stablehlo.sign %a : tensor<24xi64>
  check.expect_eq_const %19, dense<[-1, 1, -1, 1, -1, -1, 1, -1, 1, 1, -1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, 0]> : tensor<24xi64>
  %20 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<24xi64>, tensor<24xi64>) -> tensor<24xi1>
  check.expect_eq_const %20, dense<[true, false, true, false, false, true, false, true, false, false, true, false, true, false, true, true, true, true, false, false, false, true, false, false]> : tensor<24xi1>
  %21 = stablehlo.compare GE, %a, %b, SIGNED : (tensor<24xi64>, tensor<24xi64>) -> tensor<24xi1>
  check.expect_eq_const %21, dense<[false, true, false, true, true, false, true, false, true, true, false, true, false, true, false, false, false, false, true, true, true, false, true, true]> : tensor<24xi1>
  %22 = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<24xi64>, tensor<24xi64>) -> tensor<24xi1>
  check.expect_eq_const %22, dense<[false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true]> : tensor<24xi1>
  %23 = stablehlo.compare NE, %a, %b, SIGNED : (tensor<24xi64>, tensor<24xi64>) -> tensor<24xi1>
  check.expect_eq_const %23, dense<[true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false]> : tensor<24xi1>
  %24 = stablehlo.compare GT, %a, %b, SIGNED : (tensor<24xi64>, tensor<24xi64>) -> tensor<24xi1>
  check.expect_eq_const %24, dense<[false, true, false, true, true, false, true, false, true, true, false, true, false, true, false, false, false, false, true, true, true, false, true, false]> : tensor<24xi1>
  %25 = stablehlo.compare LE, %a, %b, SIGNED : (tensor<24xi64>, tensor<24xi64>) -> tensor<24xi1>
  check.expect_eq_const %25, dense<[true, false, true, false, false, true, false, true, false, false, true, false, true, false, true, true, true, true, false, false, false, true, false, true]> : tensor<24xi1>
  %26 = stablehlo.convert %a : (tensor<24xi64>) -> tensor<24xi2>
  check.expect_eq_const %26, dense<[0, -2, 1, -2, -1, 0, -2, 0, -2, -2, -2, 1, 0, -1, 0, 0, 0, 0, -1, -1, -2, 0, -1, 0]> : tensor<24xi2>
  %27 = stablehlo.convert %a : (tensor<24xi64>) -> tensor<24xui4>
  check.expect_eq_const %27, dense<[0, 10, 1, 10, 15, 0, 10, 0, 14, 10, 10, 13, 0, 15, 0, 0, 12, 0, 15, 15, 2, 0, 15, 0]> : tensor<24xui4>
  %28 = stablehlo.convert %a : (tensor<24xi64>) -> tensor<24xi8>
  check.expect_eq_const %28, dense<[0, -86, 1, -86, -1, 0, -86, 0, -2, 42, -102, -35, -80, -1, 0, 0, -100, 0, -1, -1, 2, 0, -1, 0]> : tensor<24xi8>
  %29 = stablehlo.convert %a : (tensor<24xi64>) -> tensor<24xui8>
  check.expect_eq_const %29, dense<[0, 170, 1, 170, 255, 0, 170, 0, 254, 42, 154, 221, 176, 255, 0, 0, 156, 0, 255, 255, 2, 0, 255, 0]> : tensor<24xui8>
  %30 = stablehlo.convert %a : (tensor<24xi64>) -> tensor<24xi16>
  check.expect_eq_const %30, dense<[0, -21846, 1, -21846, -1, 0, -21846, 0, -2, 16938, -9574, 17629, -26192, -1, 0, 0, -10596, 0, -1, -1, 2, 0, -1, 0]> : tensor<24xi16>
  %31 = stablehlo.convert %a : (tensor<24xi64>) -> tensor<24xui32>
  check.expect_eq_const %31, dense<[0, 2863311530, 1, 2863311530, 4294967295, 0, 2863311530, 0, 4294967294, 3584639530, 985979546, 1738163421, 1097767344, 4294967295, 0, 0, 2975061660, 0, 4294967295, 4294967295, 2, 0, 4294967295, 0]> : tensor<24xui32>
  %32 = stablehlo.convert %a : (tensor<24xi64>) -> tensor<24xi64>
  check.expect_eq_const %32, dense<[-9223372036854775808, 3074457345618258602, -9223372036854775807, 3074457345618258602, -1, -9223372036854775808, 3074457345618258602, -9223372036854775808, 9223372036854775806, 7170728546009694762, -2901587446430639462, 9028538784309462237, -1277608368366773840, 9223372036854775807, -9223372036854775808, -9223372036854775808, -3817396968711006564, -9223372036854775808, -1, -1, 2, -9223372036854775808, 9223372036854775807, 0]> : tensor<24xi64>
  %33 = stablehlo.convert %a : (tensor<24xi64>) -> tensor<24xui64>
  check.expect_eq_const %33, dense<[9223372036854775808, 3074457345618258602, 9223372036854775809, 3074457345618258602, 18446744073709551615, 9223372036854775808, 3074457345618258602, 9223372036854775808, 9223372036854775806, 7170728546009694762, 15545156627278912154, 9028538784309462237, 17169135705342777776, 9223372036854775807, 9223372036854775808, 9223372036854775808, 14629347104998545052, 9223372036854775808, 18446744073709551615, 18446744073709551615, 2, 9223372036854775808, 9223372036854775807, 0]> : tensor<24xui64>
  %34 = stablehlo.convert %a : (tensor<24xi64>) -> tensor<24xi1>
  check.expect_eq_const %34, dense<[true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, false]> : tensor<24xi1>
  %35 = stablehlo.convert %a : (tensor<24xi64>) -> tensor<24xf32>
  check.expect_eq_const %35, dense<[-9223372036854775808.0, 3074457437244227584.0, -9223372036854775808.0, 3074457437244227584.0, -1.0, -9223372036854775808.0, 3074457437244227584.0, -9223372036854775808.0, 9223372036854775808.0, 7170728413576036352.0, -2901587546200866816.0, 9028538576412868608.0, -1277608322219900928.0, 9223372036854775808.0, -9223372036854775808.0, -9223372036854775808.0, -3817396894376656896.0, -9223372036854775808.0, -1.0, -1.0, 2.0, -9223372036854775808.0, 9223372036854775808.0, 0.0]> : tensor<24xf32>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 18446744073709551615, 6148914691236517205, 6148914691236517205, 1, 18446744073709551615, 0, 18446744073709551615, 6148914691236517205, 9025887032158418575, 17999135611547678252, 3657807199591996764, 2461552197655647400, 18446744073709551615, 0, 0, 12768562833675392226, 18446744073709551615, 0, 18446744073709551615, 0]> : tensor<21xui64>
  %b = stablehlo.constant dense<[0, 18446744073709551614, 1, 0, 18446744073709551614, 18446744073709551615, 6148914691236517205, 0, 18446744073709551614, 15608410547011135410, 15597298639489428831, 2719512653759662304, 1118998149873003595, 64, 63, 64, 3, 2, 0, 0, 0]> : tensor<21xui64>
  %0 = stablehlo.add %a, %b : tensor<21xui64>
  check.expect_eq_const %0, dense<[1, 18446744073709551613, 6148914691236517206, 6148914691236517205, 18446744073709551615, 18446744073709551614, 6148914691236517205, 18446744073709551615, 6148914691236517203, 6187553505460002369, 15149690177327555467, 6377319853351659068, 3580550347528650995, 63, 63, 64, 12768562833675392229, 1, 0, 18446744073709551615, 0]> : tensor<21xui64>
  %1 = stablehlo.subtract %a, %b : tensor<21xui64>
  check.expect_eq_const %1, dense<[1, 1, 6148914691236517204, 6148914691236517205, 3, 0, 12297829382473034411, 18446744073709551615, 6148914691236517207, 11864220558856834781, 2401836972058249421, 938294545832334460, 1342554047782643805, 18446744073709551551, 18446744073709551553, 18446744073709551552, 12768562833675392223, 18446744073709551613, 0, 18446744073709551615, 0]> : tensor<21xui64>
  %2 = stablehlo.multiply %a, %b : tensor<21xui64>
  check.expect_eq_const %2, dense<[0, 2, 6148914691236517205, 0, 18446744073709551614, 1, 0, 0, 6148914691236517206, 10655400418270066798, 16497269222883137108, 6333404914391421056, 3825415738716925240, 18446744073709551552, 0, 0, 1412200353607073446, 18446744073709551614, 0, 0, 0]> : tensor<21xui64>
  %3 = stablehlo.divide %a, %b : tensor<21xui64>
  check.expect_eq_const %3, dense<[18446744073709551615, 1, 6148914691236517205, 18446744073709551615, 0, 1, 0, 18446744073709551615, 0, 0, 1, 1, 2, 288230376151711743, 0, 0, 4256187611225130742, 9223372036854775807, 18446744073709551615, 18446744073709551615, 18446744073709551615]> : tensor<21xui64>
  %4 = stablehlo.remainder %a, %b : tensor<21xui64>
  check.expect_eq_const %4, dense<[1, 1, 0, 6148914691236517205, 1, 0, 0, 18446744073709551615, 6148914691236517205, 9025887032158418575, 2401836972058249421, 938294545832334460, 223555897909640210, 63, 0, 0, 0, 1, 0, 18446744073709551615, 0]> : tensor<21xui64>
  %5 = stablehlo.power %a, %b : tensor<21xui64>
  check.expect_eq_const %5, dense<[1, 1, 6148914691236517205, 1, 1, 18446744073709551615, 0, 1, 9, 5914441870298331361, 0, 0, 0, 1, 0, 0, 10585150503338578568, 1, 1, 1, 1]> : tensor<21xui64>
  %6 = stablehlo.maximum %a, %b : tensor<21xui64>
  check.expect_eq_const %6, dense<[1, 18446744073709551615, 6148914691236517205, 6148914691236517205, 18446744073709551614, 18446744073709551615, 6148914691236517205, 18446744073709551615, 18446744073709551614, 15608410547011135410, 17999135611547678252, 3657807199591996764, 2461552197655647400, 18446744073709551615, 63, 64, 12768562833675392226, 18446744073709551615, 0, 18446744073709551615, 0]> : tensor<21xui64>
  %7 = stablehlo.minimum %a, %b : tensor<21xui64>
  check.expect_eq_const %7, dense<[0, 18446744073709551614, 1, 0, 1, 18446744073709551615, 0, 0, 6148914691236517205, 9025887032158418575, 15597298639489428831, 2719512653759662304, 1118998149873003595, 64, 0, 0, 3, 2, 0, 0, 0]> : tensor<21xui64>
  %8 = stablehlo.and %a, %b : tensor<21xui64>
  check.expect_eq_const %8, dense<[0, 18446744073709551614, 1, 0, 0, 18446744073709551615, 0, 0, 6148914691236517204, 6341108004087867010, 15582600366571742220, 2342193140662011968, 144450135686431752, 64, 0, 0, 2, 2, 0, 0, 0]> : tensor<21xui64>
  %9 = stablehlo.or %a, %b : tensor<21xui64>
  check.expect_eq_const %9, dense<[1, 18446744073709551615, 6148914691236517205, 6148914691236517205, 18446744073709551615, 18446744073709551615, 6148914691236517205, 18446744073709551615, 18446744073709551615, 18293189575081686975, 18013833884465364863, 4035126712689647100, 3436100211842219243, 18446744073709551615, 63, 64, 12768562833675392227, 18446744073709551615, 0, 18446744073709551615, 0]> : tensor<21xui64>
  %10 = stablehlo.xor %a, %b : tensor<21xui64>
  check.expect_eq_const %10, dense<[1, 1, 6148914691236517204, 6148914691236517205, 18446744073709551615, 0, 6148914691236517205, 18446744073709551615, 12297829382473034411, 11952081570993819965, 2431233517893622643, 1692933572027635132, 3291650076155787491, 18446744073709551551, 63, 64, 12768562833675392225, 18446744073709551613, 0, 18446744073709551615, 0]> : tensor<21xui64>
  %11 = stablehlo.shift_left %a, %b : tensor<21xui64>
  check.expect_eq_const %11, dense<[1, 0, 12297829382473034410, 6148914691236517205, 0, 0, 0, 18446744073709551615, 0, 0, 0, 0, 0, 0, 0, 0, 9914782300855379728, 18446744073709551612, 0, 18446744073709551615, 0]> : tensor<21xui64>
  %12 = stablehlo.shift_right_logical %a, %b : tensor<21xui64>
  check.expect_eq_const %12, dense<[1, 0, 3074457345618258602, 6148914691236517205, 0, 0, 0, 18446744073709551615, 0, 0, 0, 0, 0, 0, 0, 0, 1596070354209424028, 4611686018427387903, 0, 18446744073709551615, 0]> : tensor<21xui64>
  %13 = stablehlo.shift_right_arithmetic %a, %b : tensor<21xui64>
  check.expect_eq_const %13, dense<[1, 18446744073709551615, 3074457345618258602, 6148914691236517205, 0, 18446744073709551615, 0, 18446744073709551615, 0, 0, 18446744073709551615, 0, 0, 18446744073709551615, 0, 0, 17736971418705281692, 18446744073709551615, 0, 18446744073709551615, 0]> : tensor<21xui64>
  %14 = stablehlo.not %a : tensor<21xui64>
  check.expect_eq_const %14, dense<[18446744073709551614, 0, 12297829382473034410, 12297829382473034410, 18446744073709551614, 0, 18446744073709551615, 0, 12297829382473034410, 9420857041551133040, 447608462161873363, 14788936874117554851, 15985191876053904215, 0, 18446744073709551615, 18446744073709551615, 5678181240034159389, 0, 18446744073709551615, 0, 18446744073709551615]> : tensor<21xui64>
  %15 = stablehlo.popcnt %a : tensor<21xui64>
  check.expect_eq_const %15, dense<[1, 64, 32, 32, 1, 64, 0, 64, 32, 37, 35, 25, 25, 64, 0, 0, 30, 64, 0, 64, 0]> : tensor<21xui64>
  %16 = stablehlo.count_leading_zeros %a : tensor<21xui64>
  check.expect_eq_const %16, dense<[63, 0, 1, 1, 63, 0, 64, 0, 1, 1, 0, 2, 2, 0, 64, 64, 0, 0, 64, 0, 64]> : tensor<21xui64>
  %17 = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<21xui64>, tensor<21xui64>) -> tensor<21xi1>
  check.expect_eq_const %17, dense<[false, false, false, false, true, false, true, false, true, true, false, false, false, false, true, true, false, false, false, false, false]> : tensor<21xi1>
  %18 = stablehlo.compare GE, %a, %b, UNSIGNED : (tensor<21xui64>, tensor<21xui64>) -> tensor<21xi1>
  check.expect_eq_const %18, dense<[true, true, true, true, false, true, false, true, false, false, true, true, true, true, false, false, true, true, true, true, true]> : tensor<21xi1>
  %19 = stablehlo.compare EQ, %a, %b, UNSIGNED : (tensor<21xui64>, tensor<21xui64>) -> tensor<21xi1>
  check.expect_eq_const %19, dense<[false, false, false, false, false, true, false, false, false, false, false, false, false, false, false, false, false, false, true, false, true]> : tensor<21xi1>
  %20 = stablehlo.compare NE, %a, %b, UNSIGNED : (tensor<21xui64>, tensor<21xui64>) -> tensor<21xi1>
  check.expect_eq_const %20, dense<[true, true, true, true, true, false, true, true, true, true, true, true, true, true, true, true, true, true, false, true, false]> : tensor<21xi1>
  %21 = stablehlo.compare GT, %a, %b, UNSIGNED : (tensor<21xui64>, tensor<21xui64>) -> tensor<21xi1>
  check.expect_eq_const %21, dense<[true, true, true, true, false, false, false, true, false, false, true, true, true, true, false, false, true, true, false, true, false]> : tensor<21xi1>
  %22 = stablehlo.compare LE, %a, %b, UNSIGNED : (tensor<21xui64>, tensor<21xui64>) -> tensor<21xi1>
  check.expect_eq_const %22, dense<[false, false, false, false, true, true, true, false, true, true, false, false, false, false, true, true, false, false, true, false, true]> : tensor<21xi1>
  %23 = stablehlo.convert %a : (tensor<21xui64>) -> tensor<21xi2>
  check.expect_eq_const %23, dense<[1, -1, 1, 1, 1, -1, 0, -1, 1, -1, 0, 0, 0, -1, 0, 0, -2, -1, 0, -1, 0]> : tensor<21xi2>
  %24 = stablehlo.convert %a : (tensor<21xui64>) -> tensor<21xui4>
  check.expect_eq_const %24, dense<[1, 15, 5, 5, 1, 15, 0, 15, 5, 15, 12, 12, 8, 15, 0, 0, 2, 15, 0, 15, 0]> : tensor<21xui4>
  %25 = stablehlo.convert %a : (tensor<21xui64>) -> tensor<21xi8>
  check.expect_eq_const %25, dense<[1, -1, 85, 85, 1, -1, 0, -1, 85, -113, 44, 92, -88, -1, 0, 0, -30, -1, 0, -1, 0]> : tensor<21xi8>
  %26 = stablehlo.convert %a : (tensor<21xui64>) -> tensor<21xui8>
  check.expect_eq_const %26, dense<[1, 255, 85, 85, 1, 255, 0, 255, 85, 143, 44, 92, 168, 255, 0, 0, 226, 255, 0, 255, 0]> : tensor<21xui8>
  %27 = stablehlo.convert %a : (tensor<21xui64>) -> tensor<21xi16>
  check.expect_eq_const %27, dense<[1, -1, 21845, 21845, 1, -1, 0, -1, 21845, 30351, -2516, 7516, -11096, -1, 0, 0, 5346, -1, 0, -1, 0]> : tensor<21xi16>
  %28 = stablehlo.convert %a : (tensor<21xui64>) -> tensor<21xui32>
  check.expect_eq_const %28, dense<[1, 4294967295, 1431655765, 1431655765, 1, 4294967295, 0, 4294967295, 1431655765, 1050375823, 2791437868, 2760645980, 2438517928, 4294967295, 0, 0, 427431138, 4294967295, 0, 4294967295, 0]> : tensor<21xui32>
  %29 = stablehlo.convert %a : (tensor<21xui64>) -> tensor<21xi64>
  check.expect_eq_const %29, dense<[1, -1, 6148914691236517205, 6148914691236517205, 1, -1, 0, -1, 6148914691236517205, 9025887032158418575, -447608462161873364, 3657807199591996764, 2461552197655647400, -1, 0, 0, -5678181240034159390, -1, 0, -1, 0]> : tensor<21xi64>
  %30 = stablehlo.convert %a : (tensor<21xui64>) -> tensor<21xui64>
  check.expect_eq_const %30, dense<[1, 18446744073709551615, 6148914691236517205, 6148914691236517205, 1, 18446744073709551615, 0, 18446744073709551615, 6148914691236517205, 9025887032158418575, 17999135611547678252, 3657807199591996764, 2461552197655647400, 18446744073709551615, 0, 0, 12768562833675392226, 18446744073709551615, 0, 18446744073709551615, 0]> : tensor<21xui64>
  %31 = stablehlo.convert %a : (tensor<21xui64>) -> tensor<21xi1>
  check.expect_eq_const %31, dense<[true, true, true, true, true, true, false, true, true, true, true, true, true, true, false, false, true, true, false, true, false]> : tensor<21xi1>
  %32 = stablehlo.convert %a : (tensor<21xui64>) -> tensor<21xf32>
  check.expect_eq_const %32, dense<[1.0, 18446744073709551616.0, 6148914874488455168.0, 6148914874488455168.0, 1.0, 18446744073709551616.0, 0.0, 18446744073709551616.0, 6148914874488455168.0, 9025887104122486784.0, 17999135089065197568.0, 3657807179651481600.0, 2461552272526540800.0, 18446744073709551616.0, 0.0, 0.0, 12768562562665021440.0, 18446744073709551616.0, 0.0, 18446744073709551616.0, 0.0]> : tensor<21xf32>
  return
}
