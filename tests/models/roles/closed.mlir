// A network that was closed over its weights: they stand in the text as constants, one in a function that is called, and only
// one has a name. The table of positions, the mask and the scale are no weights.
module @jit_loss {
  func.func public @main(%arg0: tensor<16x6xf32> loc("inputs"), %arg1: tensor<16x2xf32> loc("targets")) -> (tensor<f32> {jax.result_info = ""}) {
    %cst = stablehlo.constant dense<[[-3.656e-01, 3.474e-01, 2.638e-01, -2.449e-01], [-4.565e-03, -5.051e-02, 1.516e-01, 2.887e-01], [-4.061e-01, -4.717e-01, 3.358e-01, -6.723e-02], [2.623e-01, -4.979e-01, -5.461e-02, 2.215e-01], [-2.712e-01, 4.453e-01, 4.014e-01, -4.694e-01], [-4.746e-01, 4.141e-02, 4.391e-01, -1.188e-01]]> : tensor<6x4xf32> loc(#loc2)
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00, 9.000000e+00, 1.000000e+01, 1.100000e+01, 1.200000e+01, 1.300000e+01, 1.400000e+01, 1.500000e+01]> : tensor<16xf32>
    %cst_2 = stablehlo.constant dense<[1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00]> : tensor<16xf32>
    %0 = stablehlo.dot_general %arg0, %cst, contracting_dims = [1] x [0] : (tensor<16x6xf32>, tensor<6x4xf32>) -> tensor<16x4xf32>
    %1 = stablehlo.concatenate %0, %0, dim = 1 : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x8xf32>
    %2 = stablehlo.tanh %1 : tensor<16x8xf32>
    %3 = call @head(%2) : (tensor<16x8xf32>) -> tensor<16x2xf32>
    %4 = stablehlo.multiply %cst_1, %cst_2 : tensor<16xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<16xf32>) -> tensor<16x2xf32>
    %6 = stablehlo.multiply %3, %5 : tensor<16x2xf32>
    %7 = stablehlo.subtract %6, %arg1 : tensor<16x2xf32>
    %8 = stablehlo.multiply %7, %7 : tensor<16x2xf32>
    %9 = stablehlo.reduce(%8 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x2xf32>, tensor<f32>) -> tensor<f32>
    return %9 : tensor<f32>
  }
  func.func private @head(%arg0: tensor<16x8xf32>) -> tensor<16x2xf32> {
    %cst = stablehlo.constant dense<[[-2.834e-01, -7.788e-02], [-4.710e-01, -2.783e-01], [-6.211e-02, -4.188e-03], [-2.669e-01, -2.691e-01], [-2.812e-01, -4.040e-02], [-2.102e-01, -4.785e-01], [3.376e-01, 5.645e-02], [1.423e-01, -3.141e-01]]> : tensor<8x2xf32> loc(#loc1)
    %0 = stablehlo.dot_general %arg0, %cst, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x2xf32>) -> tensor<16x2xf32>
    return %0 : tensor<16x2xf32>
  }
}
#loc1 = loc("model.py":12:4)
#loc2 = loc("dense/kernel"(#loc1))
