// Operands without elements whose results have some.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.constant dense<> : tensor<3x0xf32>
  %i = stablehlo.constant dense<5.0> : tensor<f32>
  %0 = stablehlo.dot_general %y, %x, contracting_dims = [1] x [0] : (tensor<3x0xf32>, tensor<0x3xf32>) -> tensor<3x3xf32>
  check.expect_eq_const %0, dense<0.0> : tensor<3x3xf32>
  %1 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
  check.expect_eq_const %1, dense<5.0> : tensor<3xf32>
  %2 = stablehlo.reduce(%x init: %i) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<0x3xf32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %2, dense<5.0> : tensor<f32>
  %3 = stablehlo.pad %x, %i, low = [1, 0], high = [1, -1], interior = [3, 0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<2x2xf32>
  check.expect_eq_const %3, dense<5.0> : tensor<2x2xf32>
  %c = stablehlo.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %4 = stablehlo.concatenate %x, %c, %x, dim = 0 : (tensor<0x3xf32>, tensor<1x3xf32>, tensor<0x3xf32>) -> tensor<1x3xf32>
  check.expect_eq_const %4, dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %5 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<0x3xf32>) -> tensor<0x3xf32>
  %6 = stablehlo.transpose %5, dims = [1, 0] : (tensor<0x3xf32>) -> tensor<3x0xf32>
  check.expect_eq %6, %y : tensor<3x0xf32>
  %idx = stablehlo.constant dense<> : tensor<0x1xi32>
  %7 = "stablehlo.gather"(%c, %idx) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<1x3xf32>, tensor<0x1xi32>) -> tensor<0x3xf32>
  check.expect_eq %7, %x : tensor<0x3xf32>
  %8 = "stablehlo.scatter"(%c, %idx, %x) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1x3xf32>, tensor<0x1xi32>, tensor<0x3xf32>) -> tensor<1x3xf32>
  check.expect_eq %8, %c : tensor<1x3xf32>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0xf32>
  %i = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2>, padding = dense<[[2, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<0xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %0, dense<6.0> : tensor<2xf32>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %e = stablehlo.constant dense<> : tensor<0xf32>
  %i = stablehlo.constant dense<7.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %e, %i) <{window_dimensions = array<i64: 3>, padding = dense<[[0, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2xf32>, tensor<0xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %0, dense<7.0> : tensor<2xf32>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %e = stablehlo.constant dense<> : tensor<0xf32>
  %i = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %e, %i : (tensor<2xf32>, tensor<0xf32>, tensor<i32>) -> tensor<2xf32>
  check.expect_eq %0, %x : tensor<2xf32>
  %1 = stablehlo.dynamic_slice %x, %i, sizes = [0] : (tensor<2xf32>, tensor<i32>) -> tensor<0xf32>
  check.expect_eq %1, %e : tensor<0xf32>
  return
}
// -----
func.func @main() {
  %k = stablehlo.constant dense<> : tensor<1x0x2xf32>
  %w = stablehlo.constant dense<1.0> : tensor<1x2x1xf32>
  %9 = stablehlo.convolution(%k, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x0x2xf32>, tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
  check.expect_eq_const %9, dense<0.0> : tensor<1x2x1xf32>
  return
}
// -----
func.func @main() {
  %e = stablehlo.constant dense<> : tensor<0xf32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %o = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %z, %x = %e) : tensor<i32>, tensor<0xf32> cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %o : tensor<i32>
    %y = stablehlo.add %x, %x : tensor<0xf32>
    stablehlo.return %j, %y : tensor<i32>, tensor<0xf32>
  }
  check.expect_eq_const %r#0, dense<3> : tensor<i32>
  check.expect_eq %r#1, %e : tensor<0xf32>
  %i2 = stablehlo.constant dense<[0.0, 0.0]> : tensor<2xf32>
  %i0 = stablehlo.constant dense<-1> : tensor<i32>
  %e2 = stablehlo.constant dense<> : tensor<2x0xf32>
  %e3 = stablehlo.constant dense<> : tensor<2x0xi32>
  %f0 = stablehlo.constant dense<0.5> : tensor<f32>
  %q:2 = stablehlo.reduce(%e2 init: %f0), (%e3 init: %i0) across dimensions = [1] : (tensor<2x0xf32>, tensor<2x0xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
      stablehlo.return %a, %b : tensor<f32>, tensor<i32>
    }
  check.expect_eq_const %q#0, dense<0.5> : tensor<2xf32>
  check.expect_eq_const %q#1, dense<-1> : tensor<2xi32>
  return
}
// -----
func.func @main() {
  %e = stablehlo.constant dense<> : tensor<3x0xf32>
  %v, %i = chlo.top_k(%e, k = 0) : tensor<3x0xf32> -> (tensor<3x0xf32>, tensor<3x0xi32>)
  check.expect_eq %v, %e : tensor<3x0xf32>
  %b = stablehlo.bitcast_convert %e : (tensor<3x0xf32>) -> tensor<3x0x4xi8>
  %d = stablehlo.get_dimension_size %b, dim = 1 : (tensor<3x0x4xi8>) -> tensor<i32>
  check.expect_eq_const %d, dense<0> : tensor<i32>
  %s = stablehlo.reverse %e, dims = [1] : tensor<3x0xf32>
  %bb = stablehlo.broadcast_in_dim %s, dims = [0, 2] : (tensor<3x0xf32>) -> tensor<3x5x0xf32>
  %cc = stablehlo.exponential %bb : tensor<3x5x0xf32>
  %t = "stablehlo.map"(%cc, %cc) ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %s1 = stablehlo.add %a, %c : tensor<f32>
    stablehlo.return %s1 : tensor<f32>
  }) {dimensions = array<i64: 0, 1, 2>} : (tensor<3x5x0xf32>, tensor<3x5x0xf32>) -> tensor<3x5x0xf32>
  check.expect_eq %t, %cc : tensor<3x5x0xf32>
  return
}
