// Integers at the ends of their ranges, and what conversions make of floats beyond them.
func.func @main() {
  %x = stablehlo.constant dense<[-128, -1, 0, 1, 127]> : tensor<5xi8>
  %z = stablehlo.constant dense<[0, 0, 0, 0, 0]> : tensor<5xi8>
  %m = stablehlo.constant dense<-1> : tensor<5xi8>
  %0 = stablehlo.abs %x : tensor<5xi8>
  check.expect_eq_const %0, dense<[-128, 1, 0, 1, 127]> : tensor<5xi8>
  %1 = stablehlo.negate %x : tensor<5xi8>
  check.expect_eq_const %1, dense<[-128, 1, 0, -1, -127]> : tensor<5xi8>
  %2 = stablehlo.divide %x, %z : tensor<5xi8>
  check.expect_eq_const %2, dense<-1> : tensor<5xi8>
  %3 = stablehlo.divide %x, %m : tensor<5xi8>
  check.expect_eq_const %3, dense<[-128, 1, 0, -1, -127]> : tensor<5xi8>
  %4 = stablehlo.remainder %x, %z : tensor<5xi8>
  check.expect_eq_const %4, dense<[-128, -1, 0, 1, 127]> : tensor<5xi8>
  %5 = stablehlo.sign %x : tensor<5xi8>
  check.expect_eq_const %5, dense<[-1, -1, 0, 1, 1]> : tensor<5xi8>
  %s = stablehlo.constant dense<[0, 7, 8, 100, -1]> : tensor<5xi8>
  %6 = stablehlo.shift_left %x, %s : tensor<5xi8>
  check.expect_eq_const %6, dense<[-128, -128, 0, 0, 0]> : tensor<5xi8>
  %7 = stablehlo.shift_right_arithmetic %x, %s : tensor<5xi8>
  check.expect_eq_const %7, dense<[-128, -1, 0, 0, 0]> : tensor<5xi8>
  %8 = stablehlo.shift_right_logical %x, %s : tensor<5xi8>
  check.expect_eq_const %8, dense<[-128, 1, 0, 0, 0]> : tensor<5xi8>
  %9 = stablehlo.popcnt %x : tensor<5xi8>
  check.expect_eq_const %9, dense<[1, 8, 0, 1, 7]> : tensor<5xi8>
  %10 = stablehlo.count_leading_zeros %x : tensor<5xi8>
  check.expect_eq_const %10, dense<[0, 0, 8, 7, 1]> : tensor<5xi8>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[-2, -1, 0, 1, 2, 0]> : tensor<6xi32>
  %p = stablehlo.constant dense<[3, -3, 0, -5, -1, -1]> : tensor<6xi32>
  %0 = stablehlo.power %x, %p : tensor<6xi32>
  check.expect_eq_const %0, dense<[-8, -1, 1, 1, 0, 0]> : tensor<6xi32>
  %u = stablehlo.constant dense<[0, 1, 255, 128]> : tensor<4xui8>
  %v = stablehlo.constant dense<[0, 0, 2, 255]> : tensor<4xui8>
  %1 = stablehlo.divide %u, %v : tensor<4xui8>
  check.expect_eq_const %1, dense<[255, 255, 127, 0]> : tensor<4xui8>
  %2 = stablehlo.subtract %v, %u : tensor<4xui8>
  check.expect_eq_const %2, dense<[0, 255, 3, 127]> : tensor<4xui8>
  %3 = stablehlo.multiply %u, %u : tensor<4xui8>
  check.expect_eq_const %3, dense<[0, 1, 1, 0]> : tensor<4xui8>
  %4 = stablehlo.negate %u : tensor<4xui8>
  check.expect_eq_const %4, dense<[0, 255, 1, 128]> : tensor<4xui8>
  %5 = stablehlo.shift_right_arithmetic %u, %v : tensor<4xui8>
  check.expect_eq_const %5, dense<[0, 1, 255, 255]> : tensor<4xui8>
  return
}
// -----
func.func @main() {
  %f = stablehlo.constant dense<[0x7FC00000, 0x7F800000, 0xFF800000, -1.5, 300.7, 0.5, -0.5, 2147483648.0, 1.5, 2.5]> : tensor<10xf32>
  %0 = stablehlo.convert %f : (tensor<10xf32>) -> tensor<10xi8>
  check.expect_eq_const %0, dense<[0, 127, -128, -1, 127, 0, 0, 127, 1, 2]> : tensor<10xi8>
  %1 = stablehlo.convert %f : (tensor<10xf32>) -> tensor<10xui8>
  check.expect_eq_const %1, dense<[0, 255, 0, 0, 255, 0, 0, 255, 1, 2]> : tensor<10xui8>
  %2 = stablehlo.convert %f : (tensor<10xf32>) -> tensor<10xi32>
  check.expect_eq_const %2, dense<[0, 2147483647, -2147483648, -1, 300, 0, 0, 2147483647, 1, 2]> : tensor<10xi32>
  %3 = stablehlo.convert %f : (tensor<10xf32>) -> tensor<10xi64>
  check.expect_eq_const %3, dense<[0, 9223372036854775807, -9223372036854775808, -1, 300, 0, 0, 2147483648, 1, 2]> : tensor<10xi64>
  %4 = stablehlo.convert %f : (tensor<10xf32>) -> tensor<10xui64>
  check.expect_eq_const %4, dense<[0, 18446744073709551615, 0, 0, 300, 0, 0, 2147483648, 1, 2]> : tensor<10xui64>
  %5 = stablehlo.convert %f : (tensor<10xf32>) -> tensor<10xi1>
  check.expect_eq_const %5, dense<[true, true, true, true, true, true, true, true, true, true]> : tensor<10xi1>
  %6 = stablehlo.round_nearest_even %f : tensor<10xf32>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[127, -128, 3]> : tensor<3xi8>
  %b = stablehlo.constant dense<[1, -1, 127]> : tensor<3xi8>
  %z = stablehlo.constant dense<0> : tensor<3xi8>
  %0 = stablehlo.add %a, %b : tensor<3xi8>
  %1 = stablehlo.compare LT, %0, %z : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi1>
  check.expect_eq_const %1, dense<[true, false, true]> : tensor<3xi1>
  %2 = stablehlo.convert %0 : (tensor<3xi8>) -> tensor<3xi32>
  check.expect_eq_const %2, dense<[-128, 127, -126]> : tensor<3xi32>
  %u = stablehlo.convert %0 : (tensor<3xi8>) -> tensor<3xui8>
  %v = stablehlo.add %u, %u : tensor<3xui8>
  %3 = stablehlo.convert %v : (tensor<3xui8>) -> tensor<3xf32>
  check.expect_eq_const %3, dense<[0.0, 254.0, 4.0]> : tensor<3xf32>
  %n = stablehlo.not %u : tensor<3xui8>
  %4 = stablehlo.convert %n : (tensor<3xui8>) -> tensor<3xi16>
  check.expect_eq_const %4, dense<[127, 128, 125]> : tensor<3xi16>
  %s = stablehlo.subtract %u, %v : tensor<3xui8>
  %5 = stablehlo.divide %s, %u : tensor<3xui8>
  check.expect_eq_const %5, dense<[1, 1, 0]> : tensor<3xui8>
  return
}
