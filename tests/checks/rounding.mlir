// Remainders, powers, rounding, conversions and comparisons of floats, where hands can check them.
func.func @main() {
  // the sign of a remainder is the dividend's, also of a zero
  %a = stablehlo.constant dense<[5.5, -5.5, 5.5, -5.5, 4.0, -4.0, 1.0, 0x7F800000, 1.0, 0.0]> : tensor<10xf32>
  %b = stablehlo.constant dense<[3.0, 3.0, -3.0, -3.0, 2.0, 2.0, 0.0, 2.0, 0x7F800000, -1.0]> : tensor<10xf32>
  %0 = stablehlo.remainder %a, %b : tensor<10xf32>
  %e = stablehlo.constant dense<[2.5, -2.5, 2.5, -2.5, 0.0, -0.0, 0x7FC00000, 0x7FC00000, 1.0, 0.0]> : tensor<10xf32>
  check.expect_close %0, %e, max_ulp_difference = 0 : tensor<10xf32>, tensor<10xf32>
  %1 = stablehlo.divide %e, %0 : tensor<10xf32>
  %one = stablehlo.constant dense<1.0> : tensor<10xf32>
  %2 = stablehlo.divide %one, %0 : tensor<10xf32>
  %3 = stablehlo.slice %2 [4:6] : (tensor<10xf32>) -> tensor<2xf32>
  check.expect_eq_const %3, dense<[0x7F800000, 0xFF800000]> : tensor<2xf32>
  return
}
// -----
func.func @main() {
  // powers: of one, to zero, of zero, of negative numbers, to infinities
  %x = stablehlo.constant dense<[1.0, 0x7FF8000000000000, 0.0, -0.0, -2.0, -2.0, -8.0, 0.5, 2.0, -1.0, 0.0, 0xFFF0000000000000, 2.0]> : tensor<13xf64>
  %p = stablehlo.constant dense<[0x7FF8000000000000, 0.0, -1.0, -3.0, 3.0, 2.0, 0.5, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF0000000000000, 0.0, 3.0, -2.0]> : tensor<13xf64>
  %0 = stablehlo.power %x, %p : tensor<13xf64>
  %e = stablehlo.constant dense<[1.0, 1.0, 0x7FF0000000000000, 0xFFF0000000000000, -8.0, 4.0, 0x7FF8000000000000, 0.0, 0.0, 1.0, 1.0, 0xFFF0000000000000, 0.25]> : tensor<13xf64>
  check.expect_close %0, %e, max_ulp_difference = 0 : tensor<13xf64>, tensor<13xf64>
  return
}
// -----
func.func @main() {
  // atan2: the quadrant by both signs, zeros included
  %y = stablehlo.constant dense<[0.0, 0.0, -0.0, -0.0, 1.0, -1.0, 1.0, -1.0, 0x7F800000, 0xFF800000, 1.0]> : tensor<11xf32>
  %x = stablehlo.constant dense<[1.0, -1.0, 1.0, -1.0, 0.0, 0.0, -1.0, -1.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<11xf32>
  %0 = stablehlo.atan2 %y, %x : tensor<11xf32>
  %e = stablehlo.constant dense<[0.0, 3.1415927, -0.0, -3.1415927, 1.5707964, -1.5707964, 2.3561945, -2.3561945, 0.78539816, -2.3561945, 0x7FC00000]> : tensor<11xf32>
  check.expect_close %0, %e, max_ulp_difference = 1 : tensor<11xf32>, tensor<11xf32>
  return
}
// -----
func.func @main() {
  // halves: to even, and away from zero; the largest number below a half goes down both ways
  %x = stablehlo.constant dense<[-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 0x3EFFFFFF, 0xBEFFFFFF, 4194304.5, 4194305.5]> : tensor<12xf32>
  %0 = stablehlo.round_nearest_even %x : tensor<12xf32>
  check.expect_eq_const %0, dense<[-4.0, -2.0, -2.0, -0.0, 0.0, 2.0, 2.0, 4.0, 0.0, 0.0, 4194304.0, 4194306.0]> : tensor<12xf32>
  %1 = stablehlo.round_nearest_afz %x : tensor<12xf32>
  check.expect_eq_const %1, dense<[-4.0, -3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 4194305.0, 4194306.0]> : tensor<12xf32>
  %2 = stablehlo.floor %x : tensor<12xf32>
  check.expect_eq_const %2, dense<[-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 0.0, -1.0, 4194304.0, 4194305.0]> : tensor<12xf32>
  %3 = stablehlo.ceil %x : tensor<12xf32>
  check.expect_eq_const %3, dense<[-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 1.0, 0.0, 4194305.0, 4194306.0]> : tensor<12xf32>
  %h = stablehlo.constant dense<[-2.5, -0.5, 0.5, 1.5, 2.5, 1000.5]> : tensor<6xf16>
  %4 = stablehlo.round_nearest_even %h : tensor<6xf16>
  check.expect_eq_const %4, dense<[-2.0, 0.0, 0.0, 2.0, 2.0, 1000.0]> : tensor<6xf16>
  %5 = stablehlo.round_nearest_afz %h : tensor<6xf16>
  check.expect_eq_const %5, dense<[-3.0, -1.0, 1.0, 2.0, 3.0, 1001.0]> : tensor<6xf16>
  return
}
// -----
func.func @main() {
  // floats to integers: towards zero, ends of the range kept, NaN is 0; to i1: not zero
  %x = stablehlo.constant dense<[1.9, -1.9, 300.0, -300.0, 1.0e20, -1.0e20, 0x7FC00000, 0x7F800000, 0xFF800000, -0.5]> : tensor<10xf32>
  %0 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xi8>
  check.expect_eq_const %0, dense<[1, -1, 127, -128, 127, -128, 0, 127, -128, 0]> : tensor<10xi8>
  %1 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xui8>
  check.expect_eq_const %1, dense<[1, 0, 255, 0, 255, 0, 0, 255, 0, 0]> : tensor<10xui8>
  %2 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xi32>
  check.expect_eq_const %2, dense<[1, -1, 300, -300, 2147483647, -2147483648, 0, 2147483647, -2147483648, 0]> : tensor<10xi32>
  %3 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xui32>
  check.expect_eq_const %3, dense<[1, 0, 300, 0, 4294967295, 0, 0, 4294967295, 0, 0]> : tensor<10xui32>
  %4 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xi64>
  check.expect_eq_const %4, dense<[1, -1, 300, -300, 9223372036854775807, -9223372036854775808, 0, 9223372036854775807, -9223372036854775808, 0]> : tensor<10xi64>
  %5 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xui64>
  check.expect_eq_const %5, dense<[1, 0, 300, 0, 18446744073709551615, 0, 0, 18446744073709551615, 0, 0]> : tensor<10xui64>
  %6 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xi1>
  check.expect_eq_const %6, dense<true> : tensor<10xi1>
  %z = stablehlo.constant dense<[0.0, -0.0, 5.0e-324]> : tensor<3xf64>
  %7 = stablehlo.convert %z : (tensor<3xf64>) -> tensor<3xi1>
  check.expect_eq_const %7, dense<[false, false, true]> : tensor<3xi1>
  %8 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xi4>
  check.expect_eq_const %8, dense<[1, -1, 7, -8, 7, -8, 0, 7, -8, 0]> : tensor<10xi4>
  %9 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xi16>
  check.expect_eq_const %9, dense<[1, -1, 300, -300, 32767, -32768, 0, 32767, -32768, 0]> : tensor<10xi16>
  return
}
// -----
func.func @main() {
  // one rounding, to nearest even: f64 to bf16 not by way of f32, integers not by way of f32
  %x = stablehlo.constant dense<[1.00390625, 1.01171875, 1.0039062500000002, 3.3895314e38, 3.4e38, 1.0e-46, -1.0e300]> : tensor<7xf64>
  %0 = stablehlo.convert %x : (tensor<7xf64>) -> tensor<7xbf16>
  check.expect_eq_const %0, dense<[1.0, 1.015625, 1.0078125, 0x7F7F, 0x7F80, 0.0, 0xFF80]> : tensor<7xbf16>
  %h = stablehlo.constant dense<[65519.0, 65520.0, 1.00048828125, 1.0004882812500002, 5.9604644775390625e-08, 2.98023223876953125e-08, 2.9802322387695316e-08]> : tensor<7xf64>
  %1 = stablehlo.convert %h : (tensor<7xf64>) -> tensor<7xf16>
  check.expect_eq_const %1, dense<[65504.0, 0x7C00, 1.0, 1.0009765625, 5.9604644775390625e-08, 0.0, 5.9604644775390625e-08]> : tensor<7xf16>
  %i = stablehlo.constant dense<[2049, 2051, 65519, 65520, -2049]> : tensor<5xi32>
  %2 = stablehlo.convert %i : (tensor<5xi32>) -> tensor<5xf16>
  check.expect_eq_const %2, dense<[2048.0, 2052.0, 65504.0, 0x7C00, -2048.0]> : tensor<5xf16>
  %l = stablehlo.constant dense<[16777217, 16777219, 9007199254740993, 72057598332895233]> : tensor<4xi64>
  %3 = stablehlo.convert %l : (tensor<4xi64>) -> tensor<4xf32>
  check.expect_eq_const %3, dense<[16777216.0, 16777220.0, 9007199254740992.0, 72057602627862528.0]> : tensor<4xf32>
  %4 = stablehlo.convert %l : (tensor<4xi64>) -> tensor<4xf64>
  check.expect_eq_const %4, dense<[16777217.0, 16777219.0, 9007199254740992.0, 72057598332895232.0]> : tensor<4xf64>
  %u = stablehlo.constant dense<[18446744073709551615, 9223372036854775808, 18446744073709549567]> : tensor<3xui64>
  %5 = stablehlo.convert %u : (tensor<3xui64>) -> tensor<3xf64>
  check.expect_eq_const %5, dense<[18446744073709551616.0, 9223372036854775808.0, 18446744073709549568.0]> : tensor<3xf64>
  %6 = stablehlo.convert %u : (tensor<3xui64>) -> tensor<3xf32>
  check.expect_eq_const %6, dense<[18446744073709551616.0, 9223372036854775808.0, 18446744073709551616.0]> : tensor<3xf32>
  return
}
// -----
func.func @main() {
  // IEEE's total order against the usual one
  %a = stablehlo.constant dense<[0xFFC00000, 0xFF800000, -1.0, -0.0, 0.0, 1.0, 0x7F800000, 0x7FC00000]> : tensor<8xf32>
  %b = stablehlo.reverse %a, dims = [0] : tensor<8xf32>
  %0 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  check.expect_eq_const %0, dense<[true, true, true, true, false, false, false, false]> : tensor<8xi1>
  %1 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  check.expect_eq_const %1, dense<[false, true, true, false, false, false, false, false]> : tensor<8xi1>
  %2 = stablehlo.compare EQ, %a, %a, TOTALORDER : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  check.expect_eq_const %2, dense<true> : tensor<8xi1>
  %3 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  check.expect_eq_const %3, dense<[true, false, false, false, false, false, false, true]> : tensor<8xi1>
  %4 = stablehlo.compare GE, %b, %a, TOTALORDER : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  check.expect_eq_const %4, dense<[true, true, true, true, false, false, false, false]> : tensor<8xi1>
  %h = stablehlo.convert %a : (tensor<8xf32>) -> tensor<8xbf16>
  %5 = stablehlo.reverse %h, dims = [0] : tensor<8xbf16>
  %6 = stablehlo.compare LT, %h, %5, TOTALORDER : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xi1>
  check.expect_eq_const %6, dense<[true, true, true, true, false, false, false, false]> : tensor<8xi1>
  return
}
// -----
func.func @main() {
  // NaN passes minimum, maximum, clamp (also as a bound) and reductions
  %x = stablehlo.constant dense<[0x7FC0, 1.0, -3.0, 9.0]> : tensor<4xbf16>
  %lo = stablehlo.constant dense<[0.0, 0x7FC0, -1.0, -1.0]> : tensor<4xbf16>
  %hi = stablehlo.constant dense<[2.0, 2.0, 2.0, 0x7FC0]> : tensor<4xbf16>
  %0 = stablehlo.clamp %lo, %x, %hi : tensor<4xbf16>
  %1 = stablehlo.compare EQ, %0, %0 : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xi1>
  check.expect_eq_const %1, dense<[false, false, true, false]> : tensor<4xi1>
  %s = stablehlo.slice %0 [2:3] : (tensor<4xbf16>) -> tensor<1xbf16>
  check.expect_eq_const %s, dense<-1.0> : tensor<1xbf16>
  %ninf = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %2 = stablehlo.reduce(%x init: %ninf) applies stablehlo.maximum across dimensions = [0] : (tensor<4xbf16>, tensor<bf16>) -> tensor<bf16>
  %3 = stablehlo.compare NE, %2, %2 : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
  check.expect_eq_const %3, dense<true> : tensor<i1>
  %pinf = stablehlo.constant dense<0x7F80> : tensor<bf16>
  %4 = stablehlo.reduce(%x init: %pinf) applies stablehlo.minimum across dimensions = [0] : (tensor<4xbf16>, tensor<bf16>) -> tensor<bf16>
  %5 = stablehlo.compare NE, %4, %4 : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
  check.expect_eq_const %5, dense<true> : tensor<i1>
  return
}
// -----
func.func @main() {
  // reduce_precision: mantissa to even, exponent to infinity or (signed) zero; NaN stays NaN, but
  // for infinity where there is no mantissa
  %x = stablehlo.constant dense<[1.125, 1.375, 1.25, -1.124, 61440.0, 57344.0, 5.0e-6, -1.0e-30, 0x7FC00000, 0xFF800000]> : tensor<10xf32>
  %0 = stablehlo.reduce_precision %x, format = e5m2 : tensor<10xf32>
  %e = stablehlo.constant dense<[1.0, 1.5, 1.25, -1.0, 0x7F800000, 57344.0, 0.0, -0.0, 0x7FC00000, 0xFF800000]> : tensor<10xf32>
  check.expect_close %0, %e, max_ulp_difference = 0 : tensor<10xf32>, tensor<10xf32>
  %1 = stablehlo.reduce_precision %x, format = e8m23 : tensor<10xf32>
  check.expect_close %1, %x, max_ulp_difference = 0 : tensor<10xf32>, tensor<10xf32>
  %2 = stablehlo.reduce_precision %x, format = e8m0 : tensor<10xf32>
  %f = stablehlo.constant dense<[1.0, 1.0, 1.0, -1.0, 65536.0, 65536.0, 3.814697265625e-06, -7.888609052210118e-31, 0x7F800000, 0xFF800000]> : tensor<10xf32>
  %3 = stablehlo.constant dense<[0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 1.0, 3.0, -65536.0]> : tensor<6xf32>
  %4 = stablehlo.reduce_precision %3, format = e5m0 : tensor<6xf32>
  check.expect_eq_const %4, dense<[0x7F800000, 0xFF800000, 0x7F800000, 1.0, 4.0, 0xFF800000]> : tensor<6xf32>
  check.expect_close %2, %f, max_ulp_difference = 0 : tensor<10xf32>, tensor<10xf32>
  return
}
// -----
func.func @main() {
  // bits: little-endian, and back
  %x = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %0 = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2x4xui8>
  check.expect_eq_const %0, dense<[[0, 0, 128, 63], [0, 0, 0, 192]]> : tensor<2x4xui8>
  %1 = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2x2xbf16>
  check.expect_eq_const %1, dense<[[0.0, 1.0], [0.0, -2.0]]> : tensor<2x2xbf16>
  %2 = stablehlo.bitcast_convert %0 : (tensor<2x4xui8>) -> tensor<2xi32>
  check.expect_eq_const %2, dense<[1065353216, -1073741824]> : tensor<2xi32>
  %3 = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<ui64>
  check.expect_eq_const %3, dense<13835058056347516928> : tensor<ui64>
  %n = stablehlo.constant dense<[18, -1]> : tensor<2xi8>
  %4 = stablehlo.bitcast_convert %n : (tensor<2xi8>) -> tensor<2x2xui4>
  check.expect_eq_const %4, dense<[[2, 1], [15, 15]]> : tensor<2x2xui4>
  return
}
// -----
func.func @main() {
  // 257 * 2^40 is half way between two bf16 numbers; one more is not, nor is one more of 2^63 + 2^55
  %l = stablehlo.constant dense<[282574488338432, 282574488338433, 282574488338431, -282574488338433]> : tensor<4xi64>
  %0 = stablehlo.convert %l : (tensor<4xi64>) -> tensor<4xbf16>
  check.expect_eq_const %0, dense<[281474976710656.0, 283673999966208.0, 281474976710656.0, -283673999966208.0]> : tensor<4xbf16>
  %u = stablehlo.constant dense<[9259400833873739776, 9259400833873739777]> : tensor<2xui64>
  %1 = stablehlo.convert %u : (tensor<2xui64>) -> tensor<2xbf16>
  check.expect_eq_const %1, dense<[9223372036854775808.0, 9295429630892703744.0]> : tensor<2xbf16>
  %n = stablehlo.constant dense<[4629700416936869889, -4629700416936869889, -4629700416936869888, 4629700416936869887]> : tensor<4xi64>
  %10 = stablehlo.convert %n : (tensor<4xi64>) -> tensor<4xbf16>
  check.expect_eq_const %10, dense<[4647714815446351872.0, -4647714815446351872.0, -4611686018427387904.0, 4611686018427387904.0]> : tensor<4xbf16>
  %i = stablehlo.constant dense<[16842752, 16842753]> : tensor<2xi32>
  %2 = stablehlo.convert %i : (tensor<2xi32>) -> tensor<2xbf16>
  check.expect_eq_const %2, dense<[16777216.0, 16908288.0]> : tensor<2xbf16>
  %d = stablehlo.constant dense<[9223372036854774784.0, 9223372036854775808.0, -9223372036854775808.0, -9223372036854777856.0]> : tensor<4xf64>
  %3 = stablehlo.convert %d : (tensor<4xf64>) -> tensor<4xi64>
  check.expect_eq_const %3, dense<[9223372036854774784, 9223372036854775807, -9223372036854775808, -9223372036854775808]> : tensor<4xi64>
  %4 = stablehlo.convert %d : (tensor<4xf64>) -> tensor<4xui64>
  check.expect_eq_const %4, dense<[9223372036854774784, 9223372036854775808, 0, 0]> : tensor<4xui64>
  %h = stablehlo.constant dense<[127.5, 128.0, -128.9, -129.0, 0x7C00, 0xFC00, 0.5, 15.9]> : tensor<8xf16>
  %5 = stablehlo.convert %h : (tensor<8xf16>) -> tensor<8xi8>
  check.expect_eq_const %5, dense<[127, 127, -128, -128, 127, -128, 0, 15]> : tensor<8xi8>
  %6 = stablehlo.convert %h : (tensor<8xf16>) -> tensor<8xui4>
  check.expect_eq_const %6, dense<[15, 15, 0, 0, 15, 0, 0, 15]> : tensor<8xui4>
  %7 = stablehlo.convert %h : (tensor<8xf16>) -> tensor<8xbf16>
  check.expect_eq_const %7, dense<[127.5, 128.0, -129.0, -129.0, 0x7F80, 0xFF80, 0.5, 15.875]> : tensor<8xbf16>
  %b = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %8 = stablehlo.convert %b : (tensor<2xi1>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %8, dense<[(1.0, 0.0), (0.0, 0.0)]> : tensor<2xcomplex<f32>>
  %9 = stablehlo.convert %b : (tensor<2xi1>) -> tensor<2xi2>
  check.expect_eq_const %9, dense<[1, 0]> : tensor<2xi2>
  return
}
