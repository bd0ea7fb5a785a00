// A small convolutional classifier: 3x3 convolution, relu, 2x2 max pooling, a strided grouped
// convolution, tanh, mean over space, linear layer, cross-entropy.
module @cnn {
  func.func @main(%x: tensor<2x8x8x1xf64> {pcp.role = "batch"}, %k1: tensor<3x3x1x4xf64>, %b1: tensor<4xf64>, %k2: tensor<2x2x2x6xf64>, %w: tensor<6x3xf64>, %labels: tensor<2xi32>) -> tensor<f64> {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %low = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %c1 = stablehlo.convolution(%x, %k1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x1xf64>, tensor<3x3x1x4xf64>) -> tensor<2x8x8x4xf64>
    %b = stablehlo.broadcast_in_dim %b1, dims = [3] : (tensor<4xf64>) -> tensor<2x8x8x4xf64>
    %a1 = stablehlo.add %c1, %b : tensor<2x8x8x4xf64>
    %z1 = stablehlo.constant dense<0.0> : tensor<2x8x8x4xf64>
    %r1 = stablehlo.maximum %a1, %z1 : tensor<2x8x8x4xf64>
    %p1 = "stablehlo.reduce_window"(%r1, %low) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%p: tensor<f64>, %q: tensor<f64>):
      %m = stablehlo.maximum %p, %q : tensor<f64>
      stablehlo.return %m : tensor<f64>
    }) : (tensor<2x8x8x4xf64>, tensor<f64>) -> tensor<2x4x4x4xf64>
    %c2 = stablehlo.convolution(%p1, %k2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[0, 0], [1, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x4x4x4xf64>, tensor<2x2x2x6xf64>) -> tensor<2x2x4x6xf64>
    %t2 = stablehlo.tanh %c2 : tensor<2x2x4x6xf64>
    %s = stablehlo.reduce(%t2 init: %zero) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x2x4x6xf64>, tensor<f64>) -> tensor<2x6xf64>
    %logits = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : (tensor<2x6xf64>, tensor<6x3xf64>) -> tensor<2x3xf64>
    %top = stablehlo.reduce(%logits init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xf64>, tensor<f64>) -> tensor<2xf64>
    %topb = stablehlo.broadcast_in_dim %top, dims = [0] : (tensor<2xf64>) -> tensor<2x3xf64>
    %centred = stablehlo.subtract %logits, %topb : tensor<2x3xf64>
    %e = stablehlo.exponential %centred : tensor<2x3xf64>
    %se = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf64>, tensor<f64>) -> tensor<2xf64>
    %lse = stablehlo.log %se : tensor<2xf64>
    %classes = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %lb = stablehlo.broadcast_in_dim %labels, dims = [0] : (tensor<2xi32>) -> tensor<2x3xi32>
    %hit = stablehlo.compare EQ, %classes, %lb, SIGNED : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
    %none = stablehlo.constant dense<0.0> : tensor<2x3xf64>
    %picked = stablehlo.select %hit, %centred, %none : tensor<2x3xi1>, tensor<2x3xf64>
    %score = stablehlo.reduce(%picked init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf64>, tensor<f64>) -> tensor<2xf64>
    %nll = stablehlo.subtract %lse, %score : tensor<2xf64>
    %loss = stablehlo.reduce(%nll init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    return %loss : tensor<f64>
  }
}
