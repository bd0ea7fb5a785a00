// A convolution with batch norm, whose running mean and variance are states, and dropout. As flax writes it: the names of
// arguments stand in their locations, those of results in attributes.
module @jit_loss {
func.func public @main(%arg0: tensor<3x3x1x4xf32> loc("params['conv']['kernel']"), %arg1: tensor<4xf32> loc("params['bn']['scale']"), %arg2: tensor<4xf32> loc("params['bn']['bias']"), %arg3: tensor<4x3xf32> loc("params['dense']['kernel']"), %arg4: tensor<4xf32> loc("batch_stats['bn']['mean']"), %arg5: tensor<4xf32> {pcp.init = "ones"} loc("batch_stats['bn']['var']"), %images: tensor<8x6x6x1xf32>, %labels: tensor<8xi32>, %key: tensor<2xui32>) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<4xf32> {jax.result_info = "result[1]['bn']['mean']"}, tensor<4xf32> {jax.result_info = "result[1]['bn']['var']"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ninf = stablehlo.constant dense<-1.0e30> : tensor<f32>
  %c0 = stablehlo.convolution(%images, %arg0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x6x6x1xf32>, tensor<3x3x1x4xf32>) -> tensor<8x6x6x4xf32>
  %n = stablehlo.constant dense<288.0> : tensor<4xf32>
  %s0 = stablehlo.reduce(%c0 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<8x6x6x4xf32>, tensor<f32>) -> tensor<4xf32>
  %mean = stablehlo.divide %s0, %n : tensor<4xf32>
  %m = stablehlo.broadcast_in_dim %mean, dims = [3] : (tensor<4xf32>) -> tensor<8x6x6x4xf32>
  %d = stablehlo.subtract %c0, %m : tensor<8x6x6x4xf32>
  %dd = stablehlo.multiply %d, %d : tensor<8x6x6x4xf32>
  %s1 = stablehlo.reduce(%dd init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<8x6x6x4xf32>, tensor<f32>) -> tensor<4xf32>
  %var = stablehlo.divide %s1, %n : tensor<4xf32>
  %eps = stablehlo.constant dense<1.0e-3> : tensor<4xf32>
  %v0 = stablehlo.add %var, %eps : tensor<4xf32>
  %v1 = stablehlo.rsqrt %v0 : tensor<4xf32>
  %v2 = stablehlo.multiply %v1, %arg1 : tensor<4xf32>
  %v3 = stablehlo.broadcast_in_dim %v2, dims = [3] : (tensor<4xf32>) -> tensor<8x6x6x4xf32>
  %b0 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<4xf32>) -> tensor<8x6x6x4xf32>
  %y0 = stablehlo.multiply %d, %v3 : tensor<8x6x6x4xf32>
  %y1 = stablehlo.add %y0, %b0 : tensor<8x6x6x4xf32>
  %y2 = stablehlo.tanh %y1 : tensor<8x6x6x4xf32>
  %y3 = stablehlo.multiply %y2, %y1 : tensor<8x6x6x4xf32>
  %p0 = stablehlo.reduce(%y3 init: %zero) applies stablehlo.add across dimensions = [1, 2] : (tensor<8x6x6x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %p1 = stablehlo.constant dense<0.0277777780> : tensor<8x4xf32>
  %p2 = stablehlo.multiply %p0, %p1 : tensor<8x4xf32>
  // dropout of a quarter, from the key
  %dk0 = stablehlo.bitcast_convert %key : (tensor<2xui32>) -> tensor<ui64>
  %dk1 = stablehlo.reshape %dk0 : (tensor<ui64>) -> tensor<1xui64>
  %dk2 = stablehlo.concatenate %dk1, %dk1, dim = 0 : (tensor<1xui64>, tensor<1xui64>) -> tensor<2xui64>
  %dst, %dbits = stablehlo.rng_bit_generator %dk2, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x4xui32>)
  %dmost = stablehlo.constant dense<3221225472> : tensor<8x4xui32>
  %dkeep = stablehlo.compare LT, %dbits, %dmost, UNSIGNED : (tensor<8x4xui32>, tensor<8x4xui32>) -> tensor<8x4xi1>
  %dup = stablehlo.constant dense<1.33333337> : tensor<8x4xf32>
  %dnone = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %dx = stablehlo.multiply %p2, %dup : tensor<8x4xf32>
  %p3 = stablehlo.select %dkeep, %dx, %dnone : tensor<8x4xi1>, tensor<8x4xf32>
  %logits = stablehlo.dot_general %p3, %arg3, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  // mean cross-entropy of %logits under %labels
  %ce0 = stablehlo.reduce(%logits init: %ninf) applies stablehlo.maximum across dimensions = [1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8xf32>
  %ce1 = stablehlo.broadcast_in_dim %ce0, dims = [0] : (tensor<8xf32>) -> tensor<8x3xf32>
  %ce2 = stablehlo.subtract %logits, %ce1 : tensor<8x3xf32>
  %ce3 = stablehlo.exponential %ce2 : tensor<8x3xf32>
  %ce4 = stablehlo.reduce(%ce3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8xf32>
  %ce5 = stablehlo.log %ce4 : tensor<8xf32>
  %hot0 = stablehlo.iota dim = 1 : tensor<8x3xi32>
  %hot1 = stablehlo.broadcast_in_dim %labels, dims = [0] : (tensor<8xi32>) -> tensor<8x3xi32>
  %hot2 = stablehlo.compare EQ, %hot0, %hot1, SIGNED : (tensor<8x3xi32>, tensor<8x3xi32>) -> tensor<8x3xi1>
  %hot3 = stablehlo.convert %hot2 : (tensor<8x3xi1>) -> tensor<8x3xf32>
  %hot4 = stablehlo.multiply %hot3, %ce2 : tensor<8x3xf32>
  %hot5 = stablehlo.reduce(%hot4 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8xf32>
  %ce6 = stablehlo.subtract %ce5, %hot5 : tensor<8xf32>
  %ce7 = stablehlo.reduce(%ce6 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %eighth = stablehlo.constant dense<0.125> : tensor<f32>
  %loss = stablehlo.multiply %ce7, %eighth : tensor<f32>
  // running = 0.9 running + 0.1 new
  %keep = stablehlo.constant dense<0.9> : tensor<4xf32>
  %take = stablehlo.constant dense<0.1> : tensor<4xf32>
  %rm0 = stablehlo.multiply %arg4, %keep : tensor<4xf32>
  %rm1 = stablehlo.multiply %mean, %take : tensor<4xf32>
  %rm = stablehlo.add %rm0, %rm1 : tensor<4xf32>
  %rv0 = stablehlo.multiply %arg5, %keep : tensor<4xf32>
  %rv1 = stablehlo.multiply %var, %take : tensor<4xf32>
  %rv = stablehlo.add %rv0, %rv1 : tensor<4xf32>
  return %loss, %rm, %rv : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}
}
