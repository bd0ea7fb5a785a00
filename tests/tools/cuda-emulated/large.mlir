// More elements than int can number: no device here has room for them.
func.func @large(%w: tensor<1024xf32>, %x: tensor<3000000x1024xf32>) -> tensor<f32> {
  %b = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<1024xf32>) -> tensor<3000000x1024xf32>
  %y = stablehlo.multiply %x, %b : tensor<3000000x1024xf32>
  %z = stablehlo.tanh %y : tensor<3000000x1024xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3000000x1024xf32>, tensor<f32>) -> tensor<f32>
  return %s : tensor<f32>
}
