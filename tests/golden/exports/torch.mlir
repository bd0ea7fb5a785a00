// IrToHlo: arguments in XLA's order, tuple gone
// want: plan
module @IrToHlo.12 attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [], mhlo.is_dynamic = false, mhlo.use_auto_spmd_partitioning = false} {
  func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8x16xf32>, %arg2: tensor<4x16xf32>) -> tensor<f32> {
    %0 = stablehlo.transpose %arg1, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[16,8]{0,1}"} : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %1 = stablehlo.dot_general %arg2, %0, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %3 = stablehlo.add %1, %2 : tensor<4x8xf32>
    %4 = stablehlo.multiply %3, %3 : tensor<4x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.reduce(%4 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %5 : tensor<f32>
  }
}
// -----
// mark_tensor
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = stablehlo.custom_call @mark_tensor(%x) {backend_config = "{\22name\22: \22attn\22, \22pos\22: 0, \22id\22: \221\22, \22is_input\22: true}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %r = stablehlo.tanh %0 : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// tt.mark_argument
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = stablehlo.custom_call @tt.mark_argument(%x) {api_version = 0 : i32, mhlo.frontend_attributes = {ttcore.argument_type = "parameter", ttir.name = "l__self___w"}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %r = stablehlo.tanh %0 : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// TopK without a comparator
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %v, %i = stablehlo.custom_call @TopK(%x) {called_computations = []} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    %r = stablehlo.negate %v : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// TopK of the smallest
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %v, %i = stablehlo.custom_call @TopK(%x) {called_computations = [@top_k_lt_f32_comparator]} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    %r = stablehlo.negate %v : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// TopK by an order that no name tells
// want: refused @TopK by @compare
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %v, %i = stablehlo.custom_call @TopK(%x) {called_computations = [@compare]} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    %r = stablehlo.negate %v : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// mhlo.topk of the smallest
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %v:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 8 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    %r = stablehlo.negate %v#0 : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// an index table of a clamp and a gather
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %c = stablehlo.constant dense<[3, 0, 1, 2]> : tensor<4xi64>
    %0 = stablehlo.reshape %c : (tensor<4xi64>) -> tensor<4x1xi64>
    %1 = stablehlo.convert %0 : (tensor<4x1xi64>) -> tensor<4x1xui32>
    %r = "stablehlo.gather"(%x, %1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<4x1xui32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a kernel of Pallas
// want: ir
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %r = stablehlo.custom_call @tpu_custom_call(%x) {backend_config = "{}", kernel_name = "flash"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// more than twelve dimensions
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<2x2x2x2x2x1x1x1x1x1x1x1x1xf32>
    %1 = stablehlo.tanh %0 : tensor<2x2x2x2x2x1x1x1x1x1x1x1x1xf32>
    %r = stablehlo.reshape %1 : (tensor<2x2x2x2x2x1x1x1x1x1x1x1x1xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// batch norm as one op, and what it returns beside
// want: plan
module @IrToHlo.9 attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [], mhlo.is_dynamic = false, mhlo.use_auto_spmd_partitioning = false} {
  func.func @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = stablehlo.constant dense<1.000000e+00> : tensor<8xf32>
    %1 = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
    %r, %mean, %var = "stablehlo.batch_norm_training"(%x, %0, %1) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a max pool of one dimension, its window padded by the smallest number
// want: plan
module @IrToHlo.9 attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [], mhlo.is_dynamic = false, mhlo.use_auto_spmd_partitioning = false} {
  func.func @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %r = "stablehlo.reduce_window"(%x, %0) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %3 = stablehlo.maximum %arg2, %arg3 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) {padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 1>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
