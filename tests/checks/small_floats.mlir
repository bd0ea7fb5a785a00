// Floats of a byte and less: roundings, what is too large, zeros and NaN of each type; by hand from
// the definitions (OCP 8-bit floating point and microscaling formats, the FNUZ types of LLVM).
func.func @main() {
  %x = stablehlo.constant dense<[1.0, -2.5, 5.0, 17.0, 464.0, 465.0, 1.0e6, -0.0, 0xFF800000, 1.0e-9]> : tensor<10xf32>
  %0 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xf8E4M3FN>
  check.expect_almost_eq_const %0, dense<[1.0, -2.5, 5.0, 16.0, 448.0, 0x7F, 0x7F, -0.0, 0xFF, 0.0]> : tensor<10xf8E4M3FN>
  %b = stablehlo.bitcast_convert %0 : (tensor<10xf8E4M3FN>) -> tensor<10xui8>
  check.expect_eq_const %b, dense<[56, 194, 74, 88, 126, 127, 127, 128, 255, 0]> : tensor<10xui8>
  %1 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xf8E4M3>
  %c = stablehlo.bitcast_convert %1 : (tensor<10xf8E4M3>) -> tensor<10xui8>
  check.expect_eq_const %c, dense<[56, 194, 74, 88, 120, 120, 120, 128, 248, 0]> : tensor<10xui8>
  %2 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xf8E4M3FNUZ>
  %d = stablehlo.bitcast_convert %2 : (tensor<10xf8E4M3FNUZ>) -> tensor<10xui8>
  check.expect_eq_const %d, dense<[64, 202, 82, 96, 128, 128, 128, 0, 128, 0]> : tensor<10xui8>
  %3 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xf8E4M3B11FNUZ>
  %e = stablehlo.bitcast_convert %3 : (tensor<10xf8E4M3B11FNUZ>) -> tensor<10xui8>
  check.expect_eq_const %e, dense<[88, 226, 106, 120, 128, 128, 128, 0, 128, 0]> : tensor<10xui8>
  %4 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xf8E5M2>
  %f = stablehlo.bitcast_convert %4 : (tensor<10xf8E5M2>) -> tensor<10xui8>
  check.expect_eq_const %f, dense<[60, 193, 69, 76, 95, 95, 124, 128, 252, 0]> : tensor<10xui8>
  %5 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xf8E5M2FNUZ>
  %g = stablehlo.bitcast_convert %5 : (tensor<10xf8E5M2FNUZ>) -> tensor<10xui8>
  check.expect_eq_const %g, dense<[64, 197, 73, 80, 99, 99, 128, 0, 128, 0]> : tensor<10xui8>
  %6 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xf8E3M4>
  %h = stablehlo.bitcast_convert %6 : (tensor<10xf8E3M4>) -> tensor<10xui8>
  check.expect_eq_const %h, dense<[48, 196, 84, 112, 112, 112, 112, 128, 240, 0]> : tensor<10xui8>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[0.25, 0.26, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 7.0, -100.0, 0x7F800000, 0x7FC00000]> : tensor<12xf32>
  %0 = stablehlo.convert %x : (tensor<12xf32>) -> tensor<12xf4E2M1FN>
  check.expect_eq_const %0, dense<[0.0, 0.5, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 6.0, -6.0, 6.0, -0.0]> : tensor<12xf4E2M1FN>
  %b = stablehlo.bitcast_convert %0 : (tensor<12xf4E2M1FN>) -> tensor<12xui4>
  check.expect_eq_const %b, dense<[0, 1, 2, 2, 4, 4, 6, 6, 7, 15, 7, 8]> : tensor<12xui4>
  %p = stablehlo.reshape %0 : (tensor<12xf4E2M1FN>) -> tensor<6x2xf4E2M1FN>
  %q = stablehlo.bitcast_convert %p : (tensor<6x2xf4E2M1FN>) -> tensor<6xui8>
  check.expect_eq_const %q, dense<[16, 34, 68, 102, 247, 135]> : tensor<6xui8>
  %r = stablehlo.bitcast_convert %q : (tensor<6xui8>) -> tensor<6x2xf4E2M1FN>
  check.expect_eq %r, %p : tensor<6x2xf4E2M1FN>
  %1 = stablehlo.convert %x : (tensor<12xf32>) -> tensor<12xf6E2M3FN>
  check.expect_eq_const %1, dense<[0.25, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 7.0, -7.5, 7.5, -0.0]> : tensor<12xf6E2M3FN>
  %2 = stablehlo.convert %x : (tensor<12xf32>) -> tensor<12xf6E3M2FN>
  check.expect_eq_const %2, dense<[0.25, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 7.0, -28.0, 28.0, -0.0]> : tensor<12xf6E3M2FN>
  %t = stablehlo.bitcast_convert %1 : (tensor<12xf6E2M3FN>) -> tensor<12xf6E3M2FN>
  check.expect_eq_const %t, dense<[0.125, 0.125, 0.375, 0.75, 1.5, 3.0, 6.0, 12.0, 24.0, -28.0, 28.0, -0.0]> : tensor<12xf6E3M2FN>
  return
}
// -----
// Powers of two alone: no zero, no sign; halfway goes up, as IEEE 754 has it for one digit.
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 1.4, 1.5, 3.0, 0.0, -1.0, 0x7F800000, 1.7E+38, 3.0E+38, 1.0E-45]> : tensor<10xf32>
  %0 = stablehlo.convert %x : (tensor<10xf32>) -> tensor<10xf8E8M0FNU>
  %b = stablehlo.bitcast_convert %0 : (tensor<10xf8E8M0FNU>) -> tensor<10xui8>
  check.expect_eq_const %b, dense<[127, 127, 128, 129, 0, 255, 255, 254, 255, 0]> : tensor<10xui8>
  %s = stablehlo.constant dense<[4.0, 0.5]> : tensor<2xf8E8M0FNU>
  %1 = stablehlo.multiply %s, %s : tensor<2xf8E8M0FNU>
  check.expect_eq_const %1, dense<[16.0, 0.25]> : tensor<2xf8E8M0FNU>
  %2 = stablehlo.negate %s : tensor<2xf8E8M0FNU>
  %3 = stablehlo.is_finite %2 : (tensor<2xf8E8M0FNU>) -> tensor<2xi1>
  check.expect_eq_const %3, dense<false> : tensor<2xi1>
  %t = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %4 = stablehlo.convert %t : (tensor<2xi1>) -> tensor<2xf8E8M0FNU>
  check.expect_eq_const %4, dense<[1.0, 0.0]> : tensor<2xf8E8M0FNU>
  return
}
// -----
// Each op rounds; sums of reductions and products round once at the end.
func.func @main() {
  %x = stablehlo.constant dense<[[17.0, 1.0, 1.0], [16.0, -3.5, 240.0]]> : tensor<2x3xf8E4M3FN>
  %z = stablehlo.constant dense<0.0> : tensor<f8E4M3FN>
  %y = stablehlo.constant dense<1.0> : tensor<2x3xf8E4M3FN>
  %0 = stablehlo.add %x, %y : tensor<2x3xf8E4M3FN>
  check.expect_eq_const %0, dense<[[16.0, 2.0, 2.0], [16.0, -2.5, 240.0]]> : tensor<2x3xf8E4M3FN>
  %1 = stablehlo.add %0, %y : tensor<2x3xf8E4M3FN>
  check.expect_eq_const %1, dense<[[16.0, 3.0, 3.0], [16.0, -1.5, 240.0]]> : tensor<2x3xf8E4M3FN>
  %2 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf8E4M3FN>, tensor<f8E4M3FN>) -> tensor<2xf8E4M3FN>
  check.expect_eq_const %2, dense<[18.0, 256.0]> : tensor<2xf8E4M3FN>
  %l = stablehlo.constant dense<-448.0> : tensor<f8E4M3FN>
  %3 = stablehlo.reduce(%x init: %l) applies stablehlo.maximum across dimensions = [0] : (tensor<2x3xf8E4M3FN>, tensor<f8E4M3FN>) -> tensor<3xf8E4M3FN>
  check.expect_eq_const %3, dense<[16.0, 1.0, 240.0]> : tensor<3xf8E4M3FN>
  %4 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [1] : (tensor<2x3xf8E4M3FN>, tensor<2x3xf8E4M3FN>) -> tensor<2x2xf32>
  check.expect_eq_const %4, dense<[[18.0, 18.0], [252.5, 252.5]]> : tensor<2x2xf32>
  %5 = "stablehlo.sort"(%x) ({
    ^bb0(%a: tensor<f8E4M3FN>, %b: tensor<f8E4M3FN>):
      %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f8E4M3FN>, tensor<f8E4M3FN>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }) {dimension = 1 : i64} : (tensor<2x3xf8E4M3FN>) -> tensor<2x3xf8E4M3FN>
  check.expect_eq_const %5, dense<[[1.0, 1.0, 16.0], [-3.5, 16.0, 240.0]]> : tensor<2x3xf8E4M3FN>
  %6 = stablehlo.clamp %z, %x, %y : (tensor<f8E4M3FN>, tensor<2x3xf8E4M3FN>, tensor<2x3xf8E4M3FN>) -> tensor<2x3xf8E4M3FN>
  check.expect_eq_const %6, dense<[[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]]> : tensor<2x3xf8E4M3FN>
  %7 = stablehlo.reduce_precision %x, format = e4m1 : tensor<2x3xf8E4M3FN>
  check.expect_eq_const %7, dense<[[16.0, 1.0, 1.0], [16.0, -4.0, 256.0]]> : tensor<2x3xf8E4M3FN>
  %8 = stablehlo.compare LT, %x, %y : (tensor<2x3xf8E4M3FN>, tensor<2x3xf8E4M3FN>) -> tensor<2x3xi1>
  check.expect_eq_const %8, dense<[[false, false, false], [false, true, false]]> : tensor<2x3xi1>
  check.expect_close %0, %y, max_ulp_difference = 400 : tensor<2x3xf8E4M3FN>, tensor<2x3xf8E4M3FN>
  return
}
// -----
func.func @main() {
  %n = stablehlo.constant dense<[0x80, 0.0, -8.0, 0.00048828125]> : tensor<4xf8E4M3FNUZ>
  %0 = stablehlo.negate %n : tensor<4xf8E4M3FNUZ>
  %b = stablehlo.bitcast_convert %0 : (tensor<4xf8E4M3FNUZ>) -> tensor<4xui8>
  check.expect_eq_const %b, dense<[128, 0, 88, 0]> : tensor<4xui8>
  %1 = stablehlo.is_finite %n : (tensor<4xf8E4M3FNUZ>) -> tensor<4xi1>
  check.expect_eq_const %1, dense<[false, true, true, true]> : tensor<4xi1>
  %c = stablehlo.constant dense<[0.5, -0.5, 15.5, 1.0]> : tensor<4xf8E3M4>
  %2 = stablehlo.ceil %c : tensor<4xf8E3M4>
  check.expect_eq_const %2, dense<[1.0, -0.0, 0x70, 1.0]> : tensor<4xf8E3M4>
  %3 = stablehlo.constant dense<[0.015625, 0.0, -0.015625, 2.0]> : tensor<4xf8E3M4>
  %4 = stablehlo.constant dense<[-1.0, -1.0, 1.0, 15.5]> : tensor<4xf8E3M4>
  %5 = chlo.next_after %3, %4 : tensor<4xf8E3M4>, tensor<4xf8E3M4> -> tensor<4xf8E3M4>
  check.expect_eq_const %5, dense<[0.0, -0.015625, -0.0, 2.125]> : tensor<4xf8E3M4>
  %6 = stablehlo.constant dense<[-0.0009765625, 1.0]> : tensor<2xf8E4M3FNUZ>
  %7 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf8E4M3FNUZ>
  %8 = chlo.next_after %6, %7 : tensor<2xf8E4M3FNUZ>, tensor<2xf8E4M3FNUZ> -> tensor<2xf8E4M3FNUZ>
  check.expect_eq_const %8, dense<[0.0, 1.125]> : tensor<2xf8E4M3FNUZ>
  %h = stablehlo.constant dense<[1.0, 3.0, 0.0]> : tensor<3xbf16>
  %i = stablehlo.constant dense<[-1.0, 3.0, 1.0]> : tensor<3xbf16>
  %j = chlo.next_after %h, %i : tensor<3xbf16>, tensor<3xbf16> -> tensor<3xbf16>
  check.expect_eq_const %j, dense<[0.99609375, 3.0, 0x0001]> : tensor<3xbf16>
  return
}
