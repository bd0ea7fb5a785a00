// A regression by two layers with dropout; floats all through. A penalty grows with the step; a step counter is a state. The
// text names its arguments, but for the data.
func.func @main(%w1: tensor<6x8xf32>, %b1: tensor<8xf32>, %w2: tensor<8x2xf32>, %count: tensor<i32>, %inputs: tensor<16x6xf32>, %targets: tensor<16x2xf32>, %dropout_key: tensor<2xui32>, %step: tensor<i32>) -> (tensor<f32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ninf = stablehlo.constant dense<-1.0e30> : tensor<f32>
  %0 = stablehlo.dot_general %inputs, %w1, contracting_dims = [1] x [0] : (tensor<16x6xf32>, tensor<6x8xf32>) -> tensor<16x8xf32>
  %1 = stablehlo.broadcast_in_dim %b1, dims = [1] : (tensor<8xf32>) -> tensor<16x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<16x8xf32>
  %h = stablehlo.tanh %2 : tensor<16x8xf32>
  // dropout of a quarter, from the key
  %dk0 = stablehlo.bitcast_convert %dropout_key : (tensor<2xui32>) -> tensor<ui64>
  %dk1 = stablehlo.reshape %dk0 : (tensor<ui64>) -> tensor<1xui64>
  %dk2 = stablehlo.concatenate %dk1, %dk1, dim = 0 : (tensor<1xui64>, tensor<1xui64>) -> tensor<2xui64>
  %dst, %dbits = stablehlo.rng_bit_generator %dk2, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<16x8xui32>)
  %dmost = stablehlo.constant dense<3221225472> : tensor<16x8xui32>
  %dkeep = stablehlo.compare LT, %dbits, %dmost, UNSIGNED : (tensor<16x8xui32>, tensor<16x8xui32>) -> tensor<16x8xi1>
  %dup = stablehlo.constant dense<1.33333337> : tensor<16x8xf32>
  %dnone = stablehlo.constant dense<0.0> : tensor<16x8xf32>
  %dx = stablehlo.multiply %h, %dup : tensor<16x8xf32>
  %h2 = stablehlo.select %dkeep, %dx, %dnone : tensor<16x8xi1>, tensor<16x8xf32>
  %y = stablehlo.dot_general %h2, %w2, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x2xf32>) -> tensor<16x2xf32>
  %d = stablehlo.subtract %y, %targets : tensor<16x2xf32>
  %dd = stablehlo.multiply %d, %d : tensor<16x2xf32>
  %sum = stablehlo.reduce(%dd init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x2xf32>, tensor<f32>) -> tensor<f32>
  %ww = stablehlo.multiply %w2, %w2 : tensor<8x2xf32>
  %pen = stablehlo.reduce(%ww init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x2xf32>, tensor<f32>) -> tensor<f32>
  %s = stablehlo.convert %step : (tensor<i32>) -> tensor<f32>
  %c = stablehlo.constant dense<1.0e-3> : tensor<f32>
  %sc = stablehlo.multiply %s, %c : tensor<f32>
  %pen1 = stablehlo.multiply %pen, %sc : tensor<f32>
  %n = stablehlo.constant dense<0.03125> : tensor<f32>
  %mean = stablehlo.multiply %sum, %n : tensor<f32>
  %loss = stablehlo.add %mean, %pen1 : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %next = stablehlo.add %count, %one : tensor<i32>
  return %loss, %next : tensor<f32>, tensor<i32>
}
