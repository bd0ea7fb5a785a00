// Gradients of what is legal and rare. Each section is a scalar function of f64 tensors, drawn from
// [0.2, 1.4]; the test (tests/unit/gradients_test.c) compares with differences, twice.
// Windows: both dilations, padding below zero, and a sum that starts from an argument.
func.func @main(%x: tensor<5x2xf64>, %i: tensor<f64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%x, %i) <{base_dilations = array<i64: 2, 1>, padding = dense<[[-1, 1], [2, -1]]> : tensor<2x2xi64>, window_dilations = array<i64: 3, 2>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }) : (tensor<5x2xf64>, tensor<f64>) -> tensor<3x1xf64>
  %2 = stablehlo.sine %0 : tensor<3x1xf64>
  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x1xf64>, tensor<f64>) -> tensor<f64>
  return %3 : tensor<f64>
}
// -----
// The largest of dilated windows, and the product of each.
func.func @main(%x: tensor<6xf64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %o = stablehlo.constant dense<1.0> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%x, %z) <{padding = dense<[[1, -1]]> : tensor<1x2xi64>, window_dilations = array<i64: 2>, window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.maximum %a, %b : tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }) : (tensor<6xf64>, tensor<f64>) -> tensor<4xf64>
  %2 = "stablehlo.reduce_window"(%x, %o) <{padding = dense<[[1, -1]]> : tensor<1x2xi64>, window_dilations = array<i64: 2>, window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.multiply %a, %b : tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }) : (tensor<6xf64>, tensor<f64>) -> tensor<4xf64>
  %3 = stablehlo.multiply %0, %2 : tensor<4xf64>
  %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
  return %4 : tensor<f64>
}
// -----
// gather and scatter with batching dimensions; indices outside are moved inside or dropped.
func.func @main(%x: tensor<2x4x3xf64>, %u: tensor<2x2xf64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %i = stablehlo.constant dense<[[[1], [-3]], [[0], [5]]]> : tensor<2x2x1xi64>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 2>}> : (tensor<2x4x3xf64>, tensor<2x2x1xi64>) -> tensor<2x2x2xf64>
  %s = stablehlo.slice %x [0:2, 0:4, 1:2] : (tensor<2x4x3xf64>) -> tensor<2x4x1xf64>
  %r = stablehlo.reshape %s : (tensor<2x4x1xf64>) -> tensor<2x4xf64>
  %1 = "stablehlo.scatter"(%r, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %2 = stablehlo.multiply %a, %b : tensor<f64>
    stablehlo.return %2 : tensor<f64>
  }) {unique_indices = true} : (tensor<2x4xf64>, tensor<2x2x1xi64>, tensor<2x2xf64>) -> tensor<2x4xf64>
  %3 = stablehlo.multiply %0, %0 : tensor<2x2x2xf64>
  %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x2x2xf64>, tensor<f64>) -> tensor<f64>
  %5 = stablehlo.sine %1 : tensor<2x4xf64>
  %6 = stablehlo.reduce(%5 init: %4) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4xf64>, tensor<f64>) -> tensor<f64>
  return %6 : tensor<f64>
}
// -----
// scatter into and gather from a scalar; indices without entries.
func.func @main(%x: tensor<f64>, %u: tensor<3xf64>) -> tensor<f64> {
  %i = stablehlo.constant dense<> : tensor<3x0xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }) : (tensor<f64>, tensor<3x0xi32>, tensor<3xf64>) -> tensor<f64>
  %2 = "stablehlo.gather"(%0, %i) <{dimension_numbers = #stablehlo.gather<index_vector_dim = 1>, slice_sizes = array<i64>}> : (tensor<f64>, tensor<3x0xi32>) -> tensor<3xf64>
  %3 = stablehlo.dot_general %2, %u, contracting_dims = [0] x [0] : (tensor<3xf64>, tensor<3xf64>) -> tensor<f64>
  return %3 : tensor<f64>
}
// -----
// sort of three operands by a product of two, and back by a gather of the largest.
func.func @main(%x: tensor<2x4xf64>, %y: tensor<2x4xf64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %i = stablehlo.iota dim = 1 : tensor<2x4xf64>
  %0:3 = "stablehlo.sort"(%x, %y, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>, %c: tensor<f64>, %d: tensor<f64>, %e: tensor<f64>, %f: tensor<f64>):
    %1 = stablehlo.multiply %a, %c : tensor<f64>
    %2 = stablehlo.multiply %b, %d : tensor<f64>
    %3 = stablehlo.compare GT, %1, %2 : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) : (tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>) -> (tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>)
  %4 = stablehlo.divide %0#0, %0#1 : tensor<2x4xf64>
  %5 = stablehlo.iota dim = 1 : tensor<2x4xf64>
  %6 = stablehlo.multiply %4, %5 : tensor<2x4xf64>
  %7 = stablehlo.reduce(%6 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4xf64>, tensor<f64>) -> tensor<f64>
  return %7 : tensor<f64>
}
// -----
// dot_general: batch dimensions out of order, two contractions, free dimensions between them.
func.func @main(%x: tensor<2x2x3x2xf64>, %y: tensor<3x2x2x2xf64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.dot_general %x, %y, batching_dims = [3] x [1], contracting_dims = [2, 0] x [0, 3], precision = [HIGHEST, HIGHEST] : (tensor<2x2x3x2xf64>, tensor<3x2x2x2xf64>) -> tensor<2x2x2xf64>
  %1 = stablehlo.sine %0 : tensor<2x2x2xf64>
  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x2x2xf64>, tensor<f64>) -> tensor<f64>
  return %2 : tensor<f64>
}
// -----
// convolution: batch groups, a reversed kernel, both dilations, padding below zero.
func.func @main(%x: tensor<2x5x1xf64>, %k: tensor<2x1x4xf64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[-1, 2]], lhs_dilate = [2], rhs_dilate = [3], reverse = [true]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x5x1xf64>, tensor<2x1x4xf64>) -> tensor<1x4x4xf64>
  %1 = stablehlo.sine %0 : tensor<1x4x4xf64>
  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x4x4xf64>, tensor<f64>) -> tensor<f64>
  return %2 : tensor<f64>
}
// -----
// fft: all four kinds, one inside of the other.
func.func @main(%x: tensor<2x5xf64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.fft %x, type = RFFT, length = [5] : (tensor<2x5xf64>) -> tensor<2x3xcomplex<f64>>
  %1 = stablehlo.multiply %0, %0 : tensor<2x3xcomplex<f64>>
  %2 = stablehlo.fft %1, type = FFT, length = [2, 3] : (tensor<2x3xcomplex<f64>>) -> tensor<2x3xcomplex<f64>>
  %3 = stablehlo.multiply %2, %0 : tensor<2x3xcomplex<f64>>
  %4 = stablehlo.fft %3, type = IFFT, length = [3] : (tensor<2x3xcomplex<f64>>) -> tensor<2x3xcomplex<f64>>
  %5 = stablehlo.fft %4, type = IRFFT, length = [4] : (tensor<2x3xcomplex<f64>>) -> tensor<2x4xf64>
  %6 = stablehlo.multiply %5, %5 : tensor<2x4xf64>
  %7 = stablehlo.reduce(%6 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4xf64>, tensor<f64>) -> tensor<f64>
  return %7 : tensor<f64>
}
// -----
// triangular_solve from both sides, plain, transposed and adjoint, with and without a diagonal.
func.func @main(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = false, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x2xf64>) -> tensor<2x3xf64>
  %2 = "stablehlo.triangular_solve"(%a, %1) <{left_side = false, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose ADJOINT>}> : (tensor<3x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  %3 = "stablehlo.triangular_solve"(%a, %2) <{left_side = false, lower = false, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  %4 = stablehlo.sine %3 : tensor<2x3xf64>
  %5 = stablehlo.reduce(%4 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3xf64>, tensor<f64>) -> tensor<f64>
  return %5 : tensor<f64>
}
// -----
// A case whose index is outside, an if around a while, six carries of which some change places.
func.func @main(%x: tensor<2xf64>, %y: tensor<2xf64>, %s: tensor<f64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %k = stablehlo.constant dense<-4> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %c = "stablehlo.case"(%k) ({
    stablehlo.return %x : tensor<2xf64>
  }, {
    %0 = stablehlo.multiply %x, %y : tensor<2xf64>
    stablehlo.return %0 : tensor<2xf64>
  }) : (tensor<i32>) -> tensor<2xf64>
  %p = stablehlo.compare GT, %s, %z : (tensor<f64>, tensor<f64>) -> tensor<i1>
  %r:2 = "stablehlo.if"(%p) ({
    %w:6 = stablehlo.while(%i = %i0, %a = %x, %b = %y, %d = %c, %t = %s, %f = %z) : tensor<i32>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<f64>, tensor<f64> cond {
      %0 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>
    } do {
      %0 = stablehlo.add %i, %one : tensor<i32>
      %1 = stablehlo.sine %a : tensor<2xf64>
      %2 = stablehlo.multiply %1, %d : tensor<2xf64>
      %3 = stablehlo.dot_general %b, %y, contracting_dims = [0] x [0] : (tensor<2xf64>, tensor<2xf64>) -> tensor<f64>
      %4 = stablehlo.tanh %3 : tensor<f64>
      %5 = stablehlo.multiply %4, %t : tensor<f64>
      %6 = stablehlo.add %5, %f : tensor<f64>
      stablehlo.return %0, %b, %d, %2, %4, %6 : tensor<i32>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<f64>, tensor<f64>
    }
    stablehlo.return %w#3, %w#5 : tensor<2xf64>, tensor<f64>
  }, {
    stablehlo.return %x, %s : tensor<2xf64>, tensor<f64>
  }) : (tensor<i1>) -> (tensor<2xf64>, tensor<f64>)
  %5 = stablehlo.reduce(%r#0 init: %r#1) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
  return %5 : tensor<f64>
}
// -----
// select_and_scatter of both operands, windows that leave out elements.
func.func @main(%x: tensor<6xf64>, %s: tensor<2xf64>, %i: tensor<f64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{padding = dense<[[-1, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 3>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.compare LE, %a, %b : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }) : (tensor<6xf64>, tensor<2xf64>, tensor<f64>) -> tensor<6xf64>
  %2 = stablehlo.multiply %0, %x : tensor<6xf64>
  %3 = stablehlo.multiply %2, %0 : tensor<6xf64>
  %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<6xf64>, tensor<f64>) -> tensor<f64>
  return %4 : tensor<f64>
}
// -----
// pad below zero and between, its value an argument; slices with steps; dynamic ones outside.
func.func @main(%x: tensor<4x3xf64>, %v: tensor<f64>, %u: tensor<2x2xf64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %i = stablehlo.constant dense<7> : tensor<ui8>
  %j = stablehlo.constant dense<-7> : tensor<i8>
  %0 = stablehlo.pad %x, %v, low = [-2, 1], high = [-1, -2], interior = [1, 2] : (tensor<4x3xf64>, tensor<f64>) -> tensor<4x6xf64>
  %1 = stablehlo.slice %0 [1:4:2, 0:6:3] : (tensor<4x6xf64>) -> tensor<2x2xf64>
  %2 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<4x3xf64>, tensor<2x2xf64>, tensor<ui8>, tensor<ui8>) -> tensor<4x3xf64>
  %3 = stablehlo.dynamic_slice %2, %j, %j, sizes = [2, 2] : (tensor<4x3xf64>, tensor<i8>, tensor<i8>) -> tensor<2x2xf64>
  %4 = stablehlo.multiply %1, %3 : tensor<2x2xf64>
  %5 = stablehlo.reduce(%4 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf64>, tensor<f64>) -> tensor<f64>
  %6 = stablehlo.multiply %2, %2 : tensor<4x3xf64>
  %7 = stablehlo.reduce(%6 init: %5) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf64>, tensor<f64>) -> tensor<f64>
  return %7 : tensor<f64>
}
// -----
// Complex numbers through every map that takes them.
func.func @main(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.complex %x, %y : tensor<3xcomplex<f64>>
  %1 = stablehlo.sqrt %0 : tensor<3xcomplex<f64>>
  %2 = stablehlo.log_plus_one %1 : tensor<3xcomplex<f64>>
  %3 = stablehlo.tanh %2 : tensor<3xcomplex<f64>>
  %4 = stablehlo.power %3, %1 : tensor<3xcomplex<f64>>
  %5 = stablehlo.rsqrt %4 : tensor<3xcomplex<f64>>
  %6 = stablehlo.divide %0, %5 : tensor<3xcomplex<f64>>
  %7 = stablehlo.exponential_minus_one %6 : tensor<3xcomplex<f64>>
  %8 = stablehlo.cosine %7 : tensor<3xcomplex<f64>>
  %9 = stablehlo.logistic %8 : tensor<3xcomplex<f64>>
  %10 = chlo.conj %9 : tensor<3xcomplex<f64>> -> tensor<3xcomplex<f64>>
  %11 = stablehlo.subtract %10, %8 : tensor<3xcomplex<f64>>
  %12 = stablehlo.abs %11 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  %13 = stablehlo.imag %9 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  %14 = stablehlo.add %12, %13 : tensor<3xf64>
  %15 = stablehlo.reduce(%14 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
  return %15 : tensor<f64>
}
// -----
// Reductions: a product, a region of its own (a b + a + b), the largest with its place.
func.func @main(%x: tensor<3x4xf64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 1 : tensor<3x4xi32>
  %0 = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [0] : (tensor<3x4xf64>, tensor<f64>) -> tensor<4xf64>
  %1 = stablehlo.reduce(%x init: %z) across dimensions = [0] : (tensor<3x4xf64>, tensor<f64>) -> tensor<4xf64>
  reducer(%a: tensor<f64>, %b: tensor<f64>) {
    %2 = stablehlo.multiply %a, %b : tensor<f64>
    %3 = stablehlo.add %2, %a : tensor<f64>
    %4 = stablehlo.add %3, %b : tensor<f64>
    stablehlo.return %4 : tensor<f64>
  }
  %5:2 = stablehlo.reduce(%x init: %z), (%i init: %c) across dimensions = [1] : (tensor<3x4xf64>, tensor<3x4xi32>, tensor<f64>, tensor<i32>) -> (tensor<3xf64>, tensor<3xi32>)
  reducer(%a: tensor<f64>, %b: tensor<f64>) (%d: tensor<i32>, %e: tensor<i32>) {
    %6 = stablehlo.compare GE, %a, %b : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %7 = stablehlo.select %6, %a, %b : tensor<i1>, tensor<f64>
    %8 = stablehlo.select %6, %d, %e : tensor<i1>, tensor<i32>
    stablehlo.return %7, %8 : tensor<f64>, tensor<i32>
  }
  %9 = stablehlo.dot_general %0, %1, contracting_dims = [0] x [0] : (tensor<4xf64>, tensor<4xf64>) -> tensor<f64>
  %10 = stablehlo.multiply %5#0, %5#0 : tensor<3xf64>
  %11 = stablehlo.reduce(%10 init: %9) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
  return %11 : tensor<f64>
}
// -----
// Maps of chlo, top_k, a barrier, empty tensors on the way.
func.func @main(%x: tensor<4xf64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %t = stablehlo.tanh %x : tensor<4xf64>
  %a = chlo.erf_inv %t : tensor<4xf64> -> tensor<4xf64>
  %h = chlo.asinh %x : tensor<4xf64> -> tensor<4xf64>
  %b = chlo.lgamma %h : tensor<4xf64> -> tensor<4xf64>
  %1:2 = stablehlo.optimization_barrier %a, %b : tensor<4xf64>, tensor<4xf64>
  %2, %i = chlo.top_k(%1#0, k = 2) : tensor<4xf64> -> (tensor<2xf64>, tensor<2xi32>)
  %e = stablehlo.slice %1#1 [2:2] : (tensor<4xf64>) -> tensor<0xf64>
  %3 = stablehlo.concatenate %2, %e, %1#1, dim = 0 : (tensor<2xf64>, tensor<0xf64>, tensor<4xf64>) -> tensor<6xf64>
  %4 = chlo.digamma %3 : tensor<6xf64> -> tensor<6xf64>
  %5 = chlo.square %4 : tensor<6xf64> -> tensor<6xf64>
  %6 = stablehlo.reduce(%5 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<6xf64>, tensor<f64>) -> tensor<f64>
  %7 = stablehlo.reduce(%e init: %6) applies stablehlo.add across dimensions = [0] : (tensor<0xf64>, tensor<f64>) -> tensor<f64>
  return %7 : tensor<f64>
}
// -----
// Regions that accumulate in a wider type than their operands have.
func.func @main(%x: tensor<4xf64>, %u: tensor<2xf64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %i = stablehlo.constant dense<[[3], [3]]> : tensor<2x1xi8>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %f = stablehlo.constant dense<[1.0, 0.5, 0.25, 2.0]> : tensor<4xf32>
  %0 = "stablehlo.scatter"(%f, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }) : (tensor<4xf32>, tensor<2x1xi8>, tensor<2xf64>) -> tensor<4xf64>
  %2 = stablehlo.multiply %0, %x : tensor<4xf64>
  %3 = "stablehlo.reduce"(%2, %one) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.multiply %a, %b : tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }) : (tensor<4xf64>, tensor<f32>) -> tensor<f64>
  return %3 : tensor<f64>
}
// -----
// A scatter whose region gives a value from around it, where two updates meet and one falls outside.
func.func @main(%x: tensor<6x2xf64>, %s: tensor<f64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %i = stablehlo.constant dense<[[1], [4], [1], [9]]> : tensor<4x1xi64>
  %u = stablehlo.constant dense<0.0> : tensor<4x2xf64>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    stablehlo.return %s : tensor<f64>
  }) : (tensor<6x2xf64>, tensor<4x1xi64>, tensor<4x2xf64>) -> tensor<6x2xf64>
  %1 = stablehlo.sine %0 : tensor<6x2xf64>
  %2 = stablehlo.multiply %1, %0 : tensor<6x2xf64>
  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x2xf64>, tensor<f64>) -> tensor<f64>
  return %3 : tensor<f64>
}
