// all ops of the older dialect
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = mhlo.tanh %x : tensor<4x8xf32>
    %1 = mhlo.constant dense<2.0> : tensor<4x8xf32>
    %r = mhlo.multiply %0, %1 : tensor<4x8xf32>
    %zero = mhlo.constant dense<0.000000e+00> : tensor<f32>
    %square = mhlo.multiply %r, %r : tensor<4x8xf32>
    %loss = mhlo.reduce(%square init: %zero) applies mhlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// erf and its like are CHLO's
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = mhlo.erf %x : tensor<4x8xf32>
    %1 = mhlo.tan %0 : tensor<4x8xf32>
    %r = mhlo.copy %1 : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// regions end with mhlo.return, structs are #mhlo
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %c = mhlo.constant dense<[[3], [0], [1], [2]]> : tensor<4x1xi64>
    %0 = "mhlo.gather"(%x, %c) {dimension_numbers = #mhlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = dense<[1, 8]> : tensor<2xi64>} : (tensor<4x8xf32>, tensor<4x1xi64>) -> tensor<4x8xf32>
    %r = "mhlo.map"(%0) ({
    ^bb0(%a: tensor<f32>):
    %1 = mhlo.sine %a : tensor<f32>
    mhlo.return %1 : tensor<f32>
    }) {dimensions = dense<[0, 1]> : tensor<2xi64>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// an enum of the older dialect
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %c = mhlo.constant dense<0.5> : tensor<4x8xf32>
    %0 = "mhlo.compare"(%x, %c) {compare_type = #mhlo<comparison_type FLOAT>, comparison_direction = #mhlo<comparison_direction LT>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    %r = "mhlo.select"(%0, %x, %c) : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a reduce that applies one
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %c = mhlo.constant dense<0.0> : tensor<f32>
    %0 = mhlo.reduce(%x init: %c) applies mhlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %r = "mhlo.broadcast_in_dim"(%0) {broadcast_dimensions = dense<0> : tensor<1xi64>} : (tensor<4xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// an op that only a compiler writes
// want: refused op 'mhlo.fusion' is not supported
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %r = "mhlo.fusion"(%x) ({
    ^bb0(%a: tensor<4x8xf32>):
    %1 = mhlo.tanh %a : tensor<4x8xf32>
    mhlo.return %1 : tensor<4x8xf32>
    }) {fusion_kind = #mhlo<fusion_kind kLoop>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
