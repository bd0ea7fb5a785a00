// NaN, infinities, signed zeros and subnormals.
func.func @main() {
  %f = stablehlo.constant dense<[0x7FC00000, 0x7F800000, -1.5, 300.5, 0.5, -0.5, 1.5, 2.5, 8388609.0, -2.5]> : tensor<10xf32>
  %e = stablehlo.constant dense<[0x7FC00000, 0x7F800000, -2.0, 300.0, 0.0, -0.0, 2.0, 2.0, 8388609.0, -2.0]> : tensor<10xf32>
  %a = stablehlo.constant dense<[0x7FC00000, 0x7F800000, -2.0, 301.0, 1.0, -1.0, 2.0, 3.0, 8388609.0, -3.0]> : tensor<10xf32>
  %0 = stablehlo.round_nearest_even %f : tensor<10xf32>
  check.expect_close %0, %e, max_ulp_difference = 0 : tensor<10xf32>, tensor<10xf32>
  %1 = stablehlo.round_nearest_afz %f : tensor<10xf32>
  check.expect_close %1, %a, max_ulp_difference = 0 : tensor<10xf32>, tensor<10xf32>
  %b = stablehlo.bitcast_convert %0 : (tensor<10xf32>) -> tensor<10xi32>
  %bs = stablehlo.slice %b [5:6] : (tensor<10xi32>) -> tensor<1xi32>
  check.expect_eq_const %bs, dense<-2147483648> : tensor<1xi32>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x7FC00000, 1.0, -0.0, 0.0, 0x7F800000]> : tensor<5xf32>
  %b = stablehlo.constant dense<[1.0, 0x7FC00000, 0.0, -0.0, 1.0]> : tensor<5xf32>
  %0 = stablehlo.maximum %a, %b : tensor<5xf32>
  %1 = stablehlo.minimum %a, %b : tensor<5xf32>
  %2 = stablehlo.bitcast_convert %0 : (tensor<5xf32>) -> tensor<5xi32>
  %3 = stablehlo.bitcast_convert %1 : (tensor<5xf32>) -> tensor<5xi32>
  check.expect_eq_const %2, dense<[2143289344, 2143289344, 0, 0, 2139095040]> : tensor<5xi32>
  check.expect_eq_const %3, dense<[2143289344, 2143289344, -2147483648, -2147483648, 1065353216]> : tensor<5xi32>
  %4 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %4, dense<[false, true, true, false, false]> : tensor<5xi1>
  %5 = stablehlo.compare NE, %a, %b : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %5, dense<[true, true, false, false, true]> : tensor<5xi1>
  %lo = stablehlo.constant dense<2.0> : tensor<f32>
  %hi = stablehlo.constant dense<1.0> : tensor<f32>
  %6 = stablehlo.clamp %lo, %a, %hi : (tensor<f32>, tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
  %7 = stablehlo.bitcast_convert %6 : (tensor<5xf32>) -> tensor<5xi32>
  check.expect_eq_const %7, dense<[2143289344, 1065353216, 1065353216, 1065353216, 1065353216]> : tensor<5xi32>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[0.0, -0.0, -1.0, 0x7FF0000000000000, 4.0, 0xFFF0000000000000, 0x7FF8000000000000, 5.0e-324]> : tensor<8xf64>
  %0 = stablehlo.sqrt %x : tensor<8xf64>
  %e0 = stablehlo.constant dense<[0.0, -0.0, 0x7FF8000000000000, 0x7FF0000000000000, 2.0, 0x7FF8000000000000, 0x7FF8000000000000, 2.2227587494850775e-162]> : tensor<8xf64>
  check.expect_close %0, %e0, max_ulp_difference = 0 : tensor<8xf64>, tensor<8xf64>
  %1 = stablehlo.rsqrt %x : tensor<8xf64>
  %e1 = stablehlo.constant dense<[0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0.0, 0.5, 0x7FF8000000000000, 0x7FF8000000000000, 4.49891379454319638e161]> : tensor<8xf64>
  check.expect_close %1, %e1, max_ulp_difference = 1 : tensor<8xf64>, tensor<8xf64>
  %2 = stablehlo.log %x : tensor<8xf64>
  %e2 = stablehlo.constant dense<[0xFFF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0x7FF0000000000000, 1.3862943611198906, 0x7FF8000000000000, 0x7FF8000000000000, -744.44007192138126]> : tensor<8xf64>
  check.expect_close %2, %e2, max_ulp_difference = 1 : tensor<8xf64>, tensor<8xf64>
  %3 = stablehlo.cbrt %x : tensor<8xf64>
  %e3 = stablehlo.constant dense<[0.0, -0.0, -1.0, 0x7FF0000000000000, 1.5874010519681994, 0xFFF0000000000000, 0x7FF8000000000000, 1.7031839360032603e-108]> : tensor<8xf64>
  check.expect_close %3, %e3, max_ulp_difference = 1 : tensor<8xf64>, tensor<8xf64>
  %4 = stablehlo.logistic %x : tensor<8xf64>
  %e4 = stablehlo.constant dense<[0.5, 0.5, 0.2689414213699951, 1.0, 0.98201379003790845, 0.0, 0x7FF8000000000000, 0.5]> : tensor<8xf64>
  check.expect_close %4, %e4, max_ulp_difference = 1 : tensor<8xf64>, tensor<8xf64>
  %5 = stablehlo.tanh %x : tensor<8xf64>
  %e5 = stablehlo.constant dense<[0.0, -0.0, -0.76159415595576485, 1.0, 0.99932929973906703, -1.0, 0x7FF8000000000000, 5.0e-324]> : tensor<8xf64>
  check.expect_close %5, %e5, max_ulp_difference = 1 : tensor<8xf64>, tensor<8xf64>
  %6 = stablehlo.is_finite %x : (tensor<8xf64>) -> tensor<8xi1>
  check.expect_eq_const %6, dense<[true, true, true, false, true, false, false, true]> : tensor<8xi1>
  %7 = stablehlo.sign %x : tensor<8xf64>
  %e7 = stablehlo.constant dense<[0.0, -0.0, -1.0, 1.0, 1.0, -1.0, 0x7FF8000000000000, 1.0]> : tensor<8xf64>
  check.expect_close %7, %e7, max_ulp_difference = 0 : tensor<8xf64>, tensor<8xf64>
  %8 = stablehlo.exponential_minus_one %x : tensor<8xf64>
  %e8 = stablehlo.constant dense<[0.0, -0.0, -0.63212055882855767, 0x7FF0000000000000, 53.598150033144236, -1.0, 0x7FF8000000000000, 5.0e-324]> : tensor<8xf64>
  check.expect_close %8, %e8, max_ulp_difference = 1 : tensor<8xf64>, tensor<8xf64>
  %9 = stablehlo.log_plus_one %x : tensor<8xf64>
  %e9 = stablehlo.constant dense<[0.0, -0.0, 0xFFF0000000000000, 0x7FF0000000000000, 1.6094379124341003, 0x7FF8000000000000, 0x7FF8000000000000, 5.0e-324]> : tensor<8xf64>
  check.expect_close %9, %e9, max_ulp_difference = 1 : tensor<8xf64>, tensor<8xf64>
  %10 = chlo.digamma %x : tensor<8xf64> -> tensor<8xf64>
  %11 = chlo.lgamma %x : tensor<8xf64> -> tensor<8xf64>
  %e11 = stablehlo.constant dense<[0x7FF0000000000000, 0x7FF0000000000000, 0x7FF0000000000000, 0x7FF0000000000000, 1.791759469228055, 0x7FF0000000000000, 0x7FF8000000000000, 744.44007192138126]> : tensor<8xf64>
  check.expect_close %11, %e11, max_ulp_difference = 1 : tensor<8xf64>, tensor<8xf64>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[0.0, -0.0, -1.0, 0x7F800000, 4.0, 0xFF800000, 0x7FC00000, 1.0e-45, 88.8, -88.8, -103.5, 1.0e-30]> : tensor<12xf32>
  %d = stablehlo.convert %x : (tensor<12xf32>) -> tensor<12xf64>
  %0 = stablehlo.sqrt %x : tensor<12xf32>
  %1 = stablehlo.sqrt %d : tensor<12xf64>
  %2 = stablehlo.convert %1 : (tensor<12xf64>) -> tensor<12xf32>
  check.expect_close %0, %2, max_ulp_difference = 1 : tensor<12xf32>, tensor<12xf32>
  %3 = stablehlo.exponential %x : tensor<12xf32>
  %4 = stablehlo.exponential %d : tensor<12xf64>
  %5 = stablehlo.convert %4 : (tensor<12xf64>) -> tensor<12xf32>
  check.expect_close %3, %5, max_ulp_difference = 2 : tensor<12xf32>, tensor<12xf32>
  %6 = stablehlo.log %x : tensor<12xf32>
  %7 = stablehlo.log %d : tensor<12xf64>
  %8 = stablehlo.convert %7 : (tensor<12xf64>) -> tensor<12xf32>
  check.expect_close %6, %8, max_ulp_difference = 2 : tensor<12xf32>, tensor<12xf32>
  %9 = stablehlo.logistic %x : tensor<12xf32>
  %10 = stablehlo.logistic %d : tensor<12xf64>
  %11 = stablehlo.convert %10 : (tensor<12xf64>) -> tensor<12xf32>
  check.expect_close %9, %11, max_ulp_difference = 3 : tensor<12xf32>, tensor<12xf32>
  %12 = stablehlo.tanh %x : tensor<12xf32>
  %13 = stablehlo.tanh %d : tensor<12xf64>
  %14 = stablehlo.convert %13 : (tensor<12xf64>) -> tensor<12xf32>
  check.expect_close %12, %14, max_ulp_difference = 3 : tensor<12xf32>, tensor<12xf32>
  %15 = stablehlo.log_plus_one %x : tensor<12xf32>
  %16 = stablehlo.log_plus_one %d : tensor<12xf64>
  %17 = stablehlo.convert %16 : (tensor<12xf64>) -> tensor<12xf32>
  check.expect_close %15, %17, max_ulp_difference = 3 : tensor<12xf32>, tensor<12xf32>
  %18 = stablehlo.exponential_minus_one %x : tensor<12xf32>
  %19 = stablehlo.exponential_minus_one %d : tensor<12xf64>
  %20 = stablehlo.convert %19 : (tensor<12xf64>) -> tensor<12xf32>
  check.expect_close %18, %20, max_ulp_difference = 3 : tensor<12xf32>, tensor<12xf32>
  %21 = stablehlo.cbrt %x : tensor<12xf32>
  %22 = stablehlo.cbrt %d : tensor<12xf64>
  %23 = stablehlo.convert %22 : (tensor<12xf64>) -> tensor<12xf32>
  check.expect_close %21, %23, max_ulp_difference = 2 : tensor<12xf32>, tensor<12xf32>
  %24 = stablehlo.rsqrt %x : tensor<12xf32>
  %25 = stablehlo.rsqrt %d : tensor<12xf64>
  %26 = stablehlo.convert %25 : (tensor<12xf64>) -> tensor<12xf32>
  check.expect_close %24, %26, max_ulp_difference = 2 : tensor<12xf32>, tensor<12xf32>
  %27 = chlo.erf_inv %x : tensor<12xf32> -> tensor<12xf32>
  %28 = chlo.erf_inv %d : tensor<12xf64> -> tensor<12xf64>
  %29 = stablehlo.convert %28 : (tensor<12xf64>) -> tensor<12xf32>
  check.expect_close %27, %29, max_ulp_difference = 6 : tensor<12xf32>, tensor<12xf32>
  %30 = chlo.erfc %x : tensor<12xf32> -> tensor<12xf32>
  %31 = chlo.erfc %d : tensor<12xf64> -> tensor<12xf64>
  %32 = stablehlo.convert %31 : (tensor<12xf64>) -> tensor<12xf32>
  check.expect_close %30, %32, max_ulp_difference = 6 : tensor<12xf32>, tensor<12xf32>
  %33 = chlo.digamma %x : tensor<12xf32> -> tensor<12xf32>
  %34 = chlo.digamma %d : tensor<12xf64> -> tensor<12xf64>
  %35 = stablehlo.convert %34 : (tensor<12xf64>) -> tensor<12xf32>
  check.expect_close %33, %35, max_ulp_difference = 6 : tensor<12xf32>, tensor<12xf32>
  %36 = chlo.lgamma %x : tensor<12xf32> -> tensor<12xf32>
  %37 = chlo.lgamma %d : tensor<12xf64> -> tensor<12xf64>
  %38 = stablehlo.convert %37 : (tensor<12xf64>) -> tensor<12xf32>
  check.expect_close %36, %38, max_ulp_difference = 6 : tensor<12xf32>, tensor<12xf32>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0.0, -0.0, 2.0, -8.0, 0.0, -2.0, 1.0, 0x7FC00000, 0x7F800000, -1.0, 0.5]> : tensor<11xf32>
  %b = stablehlo.constant dense<[0.0, -1.0, -1.0, 0.333333333, -0.5, 3.0, 0x7FC00000, 0.0, -1.0, 0x7F800000, 0x7F800000]> : tensor<11xf32>
  %0 = stablehlo.power %a, %b : tensor<11xf32>
  %e0 = stablehlo.constant dense<[1.0, 0xFF800000, 0.5, 0x7FC00000, 0x7F800000, -8.0, 1.0, 1.0, 0.0, 1.0, 0.0]> : tensor<11xf32>
  check.expect_close %0, %e0, max_ulp_difference = 1 : tensor<11xf32>, tensor<11xf32>
  %1 = stablehlo.atan2 %a, %b : tensor<11xf32>
  %e1 = stablehlo.constant dense<[0.0, -3.14159274, 2.03444386, -1.5291537, 3.14159274, -0.588002622, 0x7FC00000, 0x7FC00000, 1.57079637, -0.0, 0.0]> : tensor<11xf32>
  check.expect_close %1, %e1, max_ulp_difference = 2 : tensor<11xf32>, tensor<11xf32>
  %2 = stablehlo.remainder %a, %b : tensor<11xf32>
  %e2 = stablehlo.constant dense<[0x7FC00000, -0.0, 0.0, -8.0e-9, 0.0, -2.0, 0x7FC00000, 0x7FC00000, 0x7FC00000, -1.0, 0.5]> : tensor<11xf32>
  %3 = stablehlo.divide %a, %b : tensor<11xf32>
  %4 = chlo.next_after %a, %b : tensor<11xf32>, tensor<11xf32> -> tensor<11xf32>
  %e4 = stablehlo.constant dense<[0.0, -1.401298e-45, 1.99999988, -7.99999952, -1.401298e-45, -1.99999988, 0x7FC00000, 0x7FC00000, 3.40282347e38, -0.99999994, 0.50000006]> : tensor<11xf32>
  check.expect_close %4, %e4, max_ulp_difference = 0 : tensor<11xf32>, tensor<11xf32>
  return
}
// -----
func.func @main() {
  %f = stablehlo.constant dense<[1.0e10, 65520.0, 65519.0, 1.0e-8, 3.0e-8, -1.0e-40]> : tensor<6xf32>
  %0 = stablehlo.convert %f : (tensor<6xf32>) -> tensor<6xf16>
  check.expect_eq_const %0, dense<[0x7C00, 0x7C00, 65504.0, 0.0, 0x0001, -0.0]> : tensor<6xf16>
  %1 = stablehlo.convert %f : (tensor<6xf32>) -> tensor<6xbf16>
  %2 = stablehlo.convert %1 : (tensor<6xbf16>) -> tensor<6xf64>
  check.expect_almost_eq_const %2, dense<[9999220736.0, 65536.0, 65536.0, 1.000444e-08, 3.0035153e-08, -9.1835e-41]> : tensor<6xf64>
  %3 = stablehlo.reduce_precision %f, format = e5m2 : tensor<6xf32>
  check.expect_eq_const %3, dense<[0x7F800000, 0x7F800000, 0x7F800000, 0.0, 0.0, -0.0]> : tensor<6xf32>
  %4 = stablehlo.reduce_precision %f, format = e8m0 : tensor<6xf32>
  %i = stablehlo.constant dense<[16777217, 33554435, 9223372036854775807]> : tensor<3xi64>
  %5 = stablehlo.convert %i : (tensor<3xi64>) -> tensor<3xf32>
  check.expect_eq_const %5, dense<[16777216.0, 33554436.0, 9223372036854775808.0]> : tensor<3xf32>
  %u = stablehlo.constant dense<[18446744073709551615, 9223372036854775809]> : tensor<2xui64>
  %6 = stablehlo.convert %u : (tensor<2xui64>) -> tensor<2xf32>
  check.expect_eq_const %6, dense<[18446744073709551616.0, 9223372036854775808.0]> : tensor<2xf32>
  %7 = stablehlo.convert %u : (tensor<2xui64>) -> tensor<2xi16>
  check.expect_eq_const %7, dense<[-1, 1]> : tensor<2xi16>
  return
}
