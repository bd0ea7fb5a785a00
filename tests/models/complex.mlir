// Complex numbers, transforms and linear algebra; expected values by hand.
func.func @main() {
  %a = stablehlo.constant dense<[(1.0, 2.0), (-3.0, 0.5), (0.0, -1.0)]> : tensor<3xcomplex<f32>>
  %b = stablehlo.constant dense<(2.0, -1.0)> : tensor<3xcomplex<f32>>
  %p = stablehlo.multiply %a, %b : tensor<3xcomplex<f32>>
  check.expect_eq_const %p, dense<[(4.0, 3.0), (-5.5, 4.0), (-1.0, -2.0)]> : tensor<3xcomplex<f32>>
  %q = stablehlo.divide %p, %b : tensor<3xcomplex<f32>>
  check.expect_close %q, %a, max_ulp_difference = 1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  %re = stablehlo.real %a : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %im = stablehlo.imag %a : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %z = stablehlo.complex %re, %im : tensor<3xcomplex<f32>>
  check.expect_eq %z, %a : tensor<3xcomplex<f32>>
  %y = "chlo.broadcast_complex"(%re, %im) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xcomplex<f32>>
  check.expect_eq %y, %a : tensor<3xcomplex<f32>>
  %c = chlo.conj %a : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>
  %m = stablehlo.multiply %a, %c : tensor<3xcomplex<f32>>
  check.expect_eq_const %m, dense<[(5.0, 0.0), (9.25, 0.0), (1.0, 0.0)]> : tensor<3xcomplex<f32>>

  // sqrt(-4) = 2i, log(-1) = pi i, |3 + 4i| = 5, e^(pi i) = -1
  %four = stablehlo.constant dense<(-4.0, 0.0)> : tensor<complex<f64>>
  %root = stablehlo.sqrt %four : tensor<complex<f64>>
  check.expect_eq_const %root, dense<(0.0, 2.0)> : tensor<complex<f64>>
  %minus = stablehlo.constant dense<(-1.0, 0.0)> : tensor<complex<f64>>
  %pi = stablehlo.constant dense<(0.0, 3.141592653589793)> : tensor<complex<f64>>
  %log = stablehlo.log %minus : tensor<complex<f64>>
  check.expect_close %log, %pi, max_ulp_difference = 1 : tensor<complex<f64>>, tensor<complex<f64>>
  %turn = stablehlo.exponential %pi : tensor<complex<f64>>
  check.expect_almost_eq_const %turn, dense<(-1.0, 0.0)> : tensor<complex<f64>>, tolerance = 1.0e-15
  %side = stablehlo.constant dense<(3.0, -4.0)> : tensor<complex<f64>>
  %length = stablehlo.abs %side : (tensor<complex<f64>>) -> tensor<f64>
  check.expect_eq_const %length, dense<5.0> : tensor<f64>

  // the transform of (1, 2, 3, 4)
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %h = stablehlo.fft %x, type = RFFT, length = [4] : (tensor<4xf32>) -> tensor<3xcomplex<f32>>
  check.expect_almost_eq_const %h, dense<[(10.0, 0.0), (-2.0, 2.0), (-2.0, 0.0)]> : tensor<3xcomplex<f32>>, tolerance = 1.0e-6
  %back = stablehlo.fft %h, type = IRFFT, length = [4] : (tensor<3xcomplex<f32>>) -> tensor<4xf32>
  check.expect_almost_eq %back, %x, tolerance = 1.0e-6 : tensor<4xf32>
  %w = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>
  %f = stablehlo.fft %w, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  check.expect_almost_eq_const %f, dense<[(10.0, 10.0), (-4.0, 0.0), (-2.0, -2.0), (0.0, -4.0)]> : tensor<4xcomplex<f32>>, tolerance = 1.0e-6

  // [[4, 2i], [-2i, 5]] = L L^H with L = [[2, 0], [-i, 2]], and L x = (2, -i)
  %k = stablehlo.constant dense<[[(4.0, 0.0), (9.0, 9.0)], [(0.0, -2.0), (5.0, 0.0)]]> : tensor<2x2xcomplex<f64>>
  %l = stablehlo.cholesky %k, lower = true : tensor<2x2xcomplex<f64>>
  check.expect_eq_const %l, dense<[[(2.0, 0.0), (0.0, 0.0)], [(0.0, -1.0), (2.0, 0.0)]]> : tensor<2x2xcomplex<f64>>
  %r = stablehlo.constant dense<[[(2.0, 0.0)], [(0.0, -1.0)]]> : tensor<2x1xcomplex<f64>>
  %s = "stablehlo.triangular_solve"(%l, %r) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x2xcomplex<f64>>, tensor<2x1xcomplex<f64>>) -> tensor<2x1xcomplex<f64>>
  check.expect_eq_const %s, dense<[[(1.0, 0.0)], [(0.0, 0.0)]]> : tensor<2x1xcomplex<f64>>

  // 2^63 times 6 is 3 2^64; -1 times 1 is 2^64 - 1 less 2^64
  %i = stablehlo.constant dense<[9223372036854775808, 18446744073709551615]> : tensor<2xui64>
  %j = stablehlo.constant dense<[6, 18446744073709551615]> : tensor<2xui64>
  %u = chlo.mulhi %i, %j : tensor<2xui64>, tensor<2xui64> -> tensor<2xui64>
  check.expect_eq_const %u, dense<[3, 18446744073709551614]> : tensor<2xui64>
  %n = stablehlo.constant dense<[-1, -9223372036854775808]> : tensor<2xi64>
  %o = stablehlo.constant dense<[1, -9223372036854775808]> : tensor<2xi64>
  %v = chlo.mulhi %n, %o : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
  check.expect_eq_const %v, dense<[-1, 4611686018427387904]> : tensor<2xi64>
  %d = stablehlo.constant dense<[-100, 100]> : tensor<2xi8>
  %e = chlo.mulhi %d, %d : tensor<2xi8>, tensor<2xi8> -> tensor<2xi8>
  check.expect_eq_const %e, dense<39> : tensor<2xi8>
  return
}
