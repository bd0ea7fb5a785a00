// Ops that others define: normalisation with the values of the specification's examples, CHLO functions
// with values of series summed in fifty digits, broadcasts, what one device's program sees of others.
func.func @main() {
  %x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [1.0, 2.0]]]> : tensor<2x2x2xf64>
  %one = stablehlo.constant dense<1.0> : tensor<2xf64>
  %mean = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf64>
  %g = stablehlo.constant dense<0.1> : tensor<2x2x2xf64>
  %0 = "stablehlo.batch_norm_inference"(%x, %one, %one, %mean, %one) <{epsilon = 0.0 : f32, feature_index = 2 : i64}> : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2x2x2xf64>
  check.expect_eq_const %0, dense<[[[0.0, 0.0], [2.0, 2.0]], [[2.0, 2.0], [0.0, 0.0]]]> : tensor<2x2x2xf64>
  %1:3 = "stablehlo.batch_norm_training"(%x, %one, %one) {epsilon = 0.0 : f32, feature_index = 2 : i64} : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_eq %1#0, %0 : tensor<2x2x2xf64>
  check.expect_eq %1#1, %mean : tensor<2xf64>
  check.expect_eq %1#2, %one : tensor<2xf64>
  %2:3 = "stablehlo.batch_norm_grad"(%x, %one, %mean, %one, %g) <{epsilon = 0.0 : f32, feature_index = 2 : i64}> : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2x2x2xf64>) -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_almost_eq_const %2#0, dense<0.0> : tensor<2x2x2xf64>
  check.expect_almost_eq_const %2#1, dense<0.0> : tensor<2xf64>
  check.expect_almost_eq_const %2#2, dense<0.4> : tensor<2xf64>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[0.0, 0.5, -2.0, 3.0, 8.0, 10.0, 100.0, 0x7FF0000000000000, 0x7FF8000000000000]> : tensor<9xf64>
  %0 = chlo.bessel_i1e %x : tensor<9xf64> -> tensor<9xf64>
  %e0 = stablehlo.constant dense<[0.0, 0.15642080318487173, -0.21526928924893768, 0.19682671329730103, 0.13414249329269812, 0.12126268138445555, 0.03974415302513, 0.0, 0x7FF8000000000000]> : tensor<9xf64>
  check.expect_almost_eq %0, %e0, tolerance = 1.0e-14 : tensor<9xf64>
  %s = stablehlo.constant dense<[2.0, 3.0, 4.0, 1.0, 0.5, 2.0, 2.5, 30.0]> : tensor<8xf64>
  %q = stablehlo.constant dense<[1.0, 1.0, 0.5, 2.0, 1.0, -1.0, -0.5, 1.0]> : tensor<8xf64>
  %1 = chlo.zeta %s, %q : tensor<8xf64>, tensor<8xf64> -> tensor<8xf64>
  %e1 = stablehlo.constant dense<[1.6449340668482264, 1.2020569031595942, 16.234848505667072, 0x7FF0000000000000, 0x7FF8000000000000, 0x7FF0000000000000, 0x7FF8000000000000, 1.0000000009313274]> : tensor<8xf64>
  check.expect_almost_eq %1, %e1, tolerance = 1.0e-13 : tensor<8xf64>
  %n = stablehlo.constant dense<[1.0, 2.0, 0.0, -1.0, 1.5, 1.0]> : tensor<6xf64>
  %p = stablehlo.constant dense<[1.0, 1.0, 1.0, 1.0, 1.0, 2.0]> : tensor<6xf64>
  %2 = chlo.polygamma %n, %p : tensor<6xf64>, tensor<6xf64> -> tensor<6xf64>
  %e2 = stablehlo.constant dense<[1.6449340668482264, -2.4041138063191885, -0.5772156649015329, 0x7FF8000000000000, 0x7FF8000000000000, 0.6449340668482264]> : tensor<6xf64>
  check.expect_almost_eq %2, %e2, tolerance = 1.0e-13 : tensor<6xf64>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 1.0]> : tensor<4xf32>
  %0 = chlo.is_inf %x : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %0, dense<[true, true, false, false]> : tensor<4xi1>
  %1 = chlo.is_pos_inf %x : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %1, dense<[true, false, false, false]> : tensor<4xi1>
  %2 = chlo.is_neg_inf %x : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %2, dense<[false, true, false, false]> : tensor<4xi1>
  %3 = "chlo.constant_like"(%x) {value = 2.5 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  check.expect_eq_const %3, dense<2.5> : tensor<4xf32>
  %4 = stablehlo.imag %3 : (tensor<4xf32>) -> tensor<4xf32>
  check.expect_eq_const %4, dense<0.0> : tensor<4xf32>
  %5 = stablehlo.real %3 : tensor<4xf32>
  check.expect_eq %5, %3 : tensor<4xf32>
  %6 = stablehlo.replica_id : tensor<ui32>
  %7 = stablehlo.partition_id : tensor<ui32>
  check.expect_eq_const %6, dense<0> : tensor<ui32>
  check.expect_eq %6, %7 : tensor<ui32>
  %m = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %r = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
  %c = stablehlo.constant dense<[[100], [200]]> : tensor<2x1xi32>
  %k = stablehlo.constant dense<[7, 9]> : tensor<2xi32>
  %8 = chlo.broadcast_add %m, %r : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %8, dense<[[11, 22, 33], [14, 25, 36]]> : tensor<2x3xi32>
  %9 = chlo.broadcast_subtract %c, %r : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %9, dense<[[90, 80, 70], [190, 180, 170]]> : tensor<2x3xi32>
  %10 = "chlo.broadcast_multiply"(%k, %m) {broadcast_dimensions = array<i64: 0>} : (tensor<2xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %10, dense<[[7, 14, 21], [36, 45, 54]]> : tensor<2x3xi32>
  %11 = "chlo.broadcast_compare"(%m, %r) {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi1>
  check.expect_eq_const %11, dense<true> : tensor<2x3xi1>
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 0x7F800000, 2.0]> : tensor<3xf32>
  %0 = "stablehlo.map"(%a) ({
  ^bb0(%x: tensor<f32>):
    %s = chlo.is_inf %x : tensor<f32> -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) {dimensions = array<i64: 0>} : (tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %0, dense<[false, true, false]> : tensor<3xi1>
  return
}
