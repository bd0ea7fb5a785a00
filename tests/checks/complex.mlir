// Complex numbers where hands can check them: branch cuts by the sign of zero, quotients, powers.
func.func @main() {
  %a = stablehlo.constant dense<[(1.0, 2.0), (3.0, -4.0), (0.0, 1.0), (-1.0, 0.0)]> : tensor<4xcomplex<f64>>
  %b = stablehlo.constant dense<[(3.0, -1.0), (3.0, 4.0), (0.0, 2.0), (2.0, 0.0)]> : tensor<4xcomplex<f64>>
  %0 = stablehlo.add %a, %b : tensor<4xcomplex<f64>>
  check.expect_eq_const %0, dense<[(4.0, 1.0), (6.0, 0.0), (0.0, 3.0), (1.0, 0.0)]> : tensor<4xcomplex<f64>>
  %1 = stablehlo.multiply %a, %b : tensor<4xcomplex<f64>>
  check.expect_eq_const %1, dense<[(5.0, 5.0), (25.0, 0.0), (-2.0, 0.0), (-2.0, 0.0)]> : tensor<4xcomplex<f64>>
  %2 = stablehlo.divide %1, %b : tensor<4xcomplex<f64>>
  check.expect_almost_eq_const %2, dense<[(1.0, 2.0), (3.0, -4.0), (0.0, 1.0), (-1.0, 0.0)]> : tensor<4xcomplex<f64>>
  %3 = stablehlo.abs %b : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  check.expect_almost_eq_const %3, dense<[3.1622776601683795, 5.0, 2.0, 2.0]> : tensor<4xf64>
  %4 = stablehlo.negate %a : tensor<4xcomplex<f64>>
  check.expect_eq_const %4, dense<[(-1.0, -2.0), (-3.0, 4.0), (0.0, -1.0), (1.0, 0.0)]> : tensor<4xcomplex<f64>>
  %5 = stablehlo.sign %b : tensor<4xcomplex<f64>>
  check.expect_almost_eq_const %5, dense<[(0.9486832980505138, -0.31622776601683794), (0.6, 0.8), (0.0, 1.0), (1.0, 0.0)]> : tensor<4xcomplex<f64>>
  %6 = stablehlo.compare EQ, %a, %2 : (tensor<4xcomplex<f64>>, tensor<4xcomplex<f64>>) -> tensor<4xi1>
  %7 = stablehlo.compare NE, %a, %b : (tensor<4xcomplex<f64>>, tensor<4xcomplex<f64>>) -> tensor<4xi1>
  check.expect_eq_const %7, dense<true> : tensor<4xi1>
  %8 = chlo.conj %a : tensor<4xcomplex<f64>> -> tensor<4xcomplex<f64>>
  check.expect_eq_const %8, dense<[(1.0, -2.0), (3.0, 4.0), (0.0, -1.0), (-1.0, 0.0)]> : tensor<4xcomplex<f64>>
  return
}
// -----
func.func @main() {
  // the sign of a zero imaginary part chooses the side of the cut along the negative axis
  %x = stablehlo.constant dense<[(-1.0, 0.0), (-1.0, -0.0), (-4.0, 0.0), (0.0, 2.0), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
  %0 = stablehlo.sqrt %x : tensor<5xcomplex<f64>>
  check.expect_almost_eq_const %0, dense<[(0.0, 1.0), (0.0, -1.0), (0.0, 2.0), (1.0, 1.0), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
  %1 = stablehlo.log %x : tensor<5xcomplex<f64>>
  check.expect_almost_eq_const %1, dense<[(0.0, 3.141592653589793), (0.0, -3.141592653589793), (1.3862943611198906, 3.141592653589793), (0.6931471805599453, 1.5707963267948966), (0.0, 0.0)]> : tensor<5xcomplex<f64>>
  %2 = stablehlo.exponential %1 : tensor<5xcomplex<f64>>
  check.expect_almost_eq_const %2, dense<[(-1.0, 0.0), (-1.0, 0.0), (-4.0, 0.0), (0.0, 2.0), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
  %3 = stablehlo.rsqrt %x : tensor<5xcomplex<f64>>
  check.expect_almost_eq_const %3, dense<[(0.0, -1.0), (0.0, 1.0), (0.0, -0.5), (0.5, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
  %p = stablehlo.constant dense<[(2.0, 0.0), (0.0, 0.0), (0.5, 0.0), (2.0, 0.0), (3.0, 4.0)]> : tensor<5xcomplex<f64>>
  %4 = stablehlo.power %x, %p : tensor<5xcomplex<f64>>
  check.expect_almost_eq_const %4, dense<[(1.0, 0.0), (1.0, 0.0), (0.0, 2.0), (-4.0, 0.0), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
  return
}
// -----
func.func @main() {
  // sizes whose squares overflow or vanish
  %x = stablehlo.constant dense<[(3.0e30, 4.0e30), (3.0e-30, -4.0e-30), (0.0, 0.0), (0x7F800000, 0.0), (0.0, 0xFF800000)]> : tensor<5xcomplex<f32>>
  %0 = stablehlo.abs %x : (tensor<5xcomplex<f32>>) -> tensor<5xf32>
  %e = stablehlo.constant dense<[5.0e30, 5.0e-30, 0.0, 0x7F800000, 0x7F800000]> : tensor<5xf32>
  check.expect_close %0, %e, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %y = stablehlo.slice %x [0:2] : (tensor<5xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %1 = stablehlo.divide %y, %y : tensor<2xcomplex<f32>>
  check.expect_almost_eq_const %1, dense<(1.0, 0.0)> : tensor<2xcomplex<f32>>
  %2 = stablehlo.sign %y : tensor<2xcomplex<f32>>
  check.expect_almost_eq_const %2, dense<[(0.6, 0.8), (0.6, -0.8)]> : tensor<2xcomplex<f32>>
  %3 = stablehlo.is_finite %0 : (tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %3, dense<[true, true, true, false, false]> : tensor<5xi1>
  return
}
// -----
func.func @main() {
  // parts, conversions, moves, and products by their sums
  %x = stablehlo.constant dense<[[(1.0, 1.0), (2.0, 0.0)], [(0.0, -1.0), (3.0, 2.0)]]> : tensor<2x2xcomplex<f32>>
  %0 = stablehlo.real %x : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  check.expect_eq_const %0, dense<[[1.0, 2.0], [0.0, 3.0]]> : tensor<2x2xf32>
  %1 = stablehlo.imag %x : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  check.expect_eq_const %1, dense<[[1.0, 0.0], [-1.0, 2.0]]> : tensor<2x2xf32>
  %2 = stablehlo.complex %1, %0 : tensor<2x2xcomplex<f32>>
  check.expect_eq_const %2, dense<[[(1.0, 1.0), (0.0, 2.0)], [(-1.0, 0.0), (2.0, 3.0)]]> : tensor<2x2xcomplex<f32>>
  %3 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  check.expect_eq_const %3, dense<[[(0.0, 0.0), (8.0, 6.0)], [(3.0, -4.0), (5.0, 10.0)]]> : tensor<2x2xcomplex<f32>>
  %4 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  check.expect_eq_const %4, dense<[[(1.0, 1.0), (0.0, -1.0)], [(2.0, 0.0), (3.0, 2.0)]]> : tensor<2x2xcomplex<f32>>
  %z = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %5 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2x2xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %5, dense<[(1.0, 0.0), (5.0, 2.0)]> : tensor<2xcomplex<f32>>
  %o = stablehlo.constant dense<(1.0, 0.0)> : tensor<complex<f32>>
  %6 = stablehlo.reduce(%x init: %o) applies stablehlo.multiply across dimensions = [0, 1] : (tensor<2x2xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  check.expect_eq_const %6, dense<(10.0, -2.0)> : tensor<complex<f32>>
  %i = stablehlo.constant dense<[1, -2]> : tensor<2xi32>
  %7 = stablehlo.convert %i : (tensor<2xi32>) -> tensor<2xcomplex<f64>>
  check.expect_eq_const %7, dense<[(1.0, 0.0), (-2.0, 0.0)]> : tensor<2xcomplex<f64>>
  %8 = stablehlo.convert %x : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f64>>
  check.expect_eq_const %8, dense<[[(1.0, 1.0), (2.0, 0.0)], [(0.0, -1.0), (3.0, 2.0)]]> : tensor<2x2xcomplex<f64>>
  return
}
