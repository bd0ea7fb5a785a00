// fft, cholesky and triangular_solve where hands can check them.
func.func @main() {
  // fft of odd length, and back; rfft of two dimensions by the sums
  %x = stablehlo.constant dense<[(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]> : tensor<3xcomplex<f64>>
  %0 = stablehlo.fft %x, type = FFT, length = [3] : (tensor<3xcomplex<f64>>) -> tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %0, dense<[(6.0, 0.0), (-1.5, 0.8660254037844386), (-1.5, -0.8660254037844386)]> : tensor<3xcomplex<f64>>
  %1 = stablehlo.fft %0, type = IFFT, length = [3] : (tensor<3xcomplex<f64>>) -> tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %1, dense<[(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]> : tensor<3xcomplex<f64>>
  %r = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf64>
  %2 = stablehlo.fft %r, type = RFFT, length = [2, 3] : (tensor<2x3xf64>) -> tensor<2x2xcomplex<f64>>
  check.expect_almost_eq_const %2, dense<[[(21.0, 0.0), (-3.0, 1.7320508075688772)], [(-9.0, 0.0), (0.0, 0.0)]]> : tensor<2x2xcomplex<f64>>
  %3 = stablehlo.fft %2, type = IRFFT, length = [2, 3] : (tensor<2x2xcomplex<f64>>) -> tensor<2x3xf64>
  check.expect_almost_eq_const %3, dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf64>
  return
}
// -----
func.func @main() {
  // the other triangle is not read; transposed, unit diagonal, from the right
  %a = stablehlo.constant dense<[[[4.0, 99.0], [2.0, 5.0]], [[9.0, -7.0], [3.0, 2.0]]]> : tensor<2x2x2xf64>
  %0 = stablehlo.cholesky %a, lower = true : tensor<2x2x2xf64>
  %l = stablehlo.slice %0 [0:2, 0:2, 0:1] : (tensor<2x2x2xf64>) -> tensor<2x2x1xf64>
  check.expect_almost_eq_const %l, dense<[[[2.0], [1.0]], [[3.0], [1.0]]]> : tensor<2x2x1xf64>
  %t = stablehlo.constant dense<[[2.0, 0x7FF8000000000000], [3.0, 4.0]]> : tensor<2x2xf64>
  %b = stablehlo.constant dense<[[2.0], [11.0]]> : tensor<2x1xf64>
  %1 = "stablehlo.triangular_solve"(%t, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x2xf64>, tensor<2x1xf64>) -> tensor<2x1xf64>
  check.expect_almost_eq_const %1, dense<[[1.0], [2.0]]> : tensor<2x1xf64>
  %2 = "stablehlo.triangular_solve"(%t, %b) <{left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x2xf64>, tensor<2x1xf64>) -> tensor<2x1xf64>
  check.expect_almost_eq_const %2, dense<[[2.0], [5.0]]> : tensor<2x1xf64>
  %3 = "stablehlo.triangular_solve"(%t, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<2x2xf64>, tensor<2x1xf64>) -> tensor<2x1xf64>
  check.expect_almost_eq_const %3, dense<[[-3.125], [2.75]]> : tensor<2x1xf64>
  %c = stablehlo.constant dense<[[8.0, 8.0]]> : tensor<1x2xf64>
  %4 = "stablehlo.triangular_solve"(%t, %c) <{left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x2xf64>, tensor<1x2xf64>) -> tensor<1x2xf64>
  check.expect_almost_eq_const %4, dense<[[1.0, 2.0]]> : tensor<1x2xf64>
  return
}
