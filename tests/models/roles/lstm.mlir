// An LSTM over five steps, scanned in a loop, the data with time first; nothing but the labels tells data from weights. A table of
// position weights is frozen.
func.func @main(%arg0: tensor<3x16xf32>, %arg1: tensor<4x16xf32>, %arg2: tensor<16xf32>, %arg3: tensor<4x3xf32>, %rope_cos: tensor<5x3xf32> {pcp.init = "uniform(0.5,1)"}, %arg5: tensor<5x8x3xf32>, %labels: tensor<8xi32>) -> (tensor<8x3xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ninf = stablehlo.constant dense<-1.0e30> : tensor<f32>
  %t0 = stablehlo.constant dense<0> : tensor<i32>
  %t1 = stablehlo.constant dense<1> : tensor<i32>
  %t5 = stablehlo.constant dense<5> : tensor<i32>
  %h0 = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %pos = stablehlo.broadcast_in_dim %rope_cos, dims = [0, 2] : (tensor<5x3xf32>) -> tensor<5x8x3xf32>
  %xs = stablehlo.multiply %arg5, %pos : tensor<5x8x3xf32>
  %r:3 = stablehlo.while(%t = %t0, %h = %h0, %c = %h0) : tensor<i32>, tensor<8x4xf32>, tensor<8x4xf32>
  cond {
    %go = stablehlo.compare LT, %t, %t5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %x0 = stablehlo.dynamic_slice %xs, %t, %t0, %t0, sizes = [1, 8, 3] : (tensor<5x8x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x3xf32>
    %x = stablehlo.reshape %x0 : (tensor<1x8x3xf32>) -> tensor<8x3xf32>
    %z0 = stablehlo.dot_general %x, %arg0, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3x16xf32>) -> tensor<8x16xf32>
    %z1 = stablehlo.dot_general %h, %arg1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %zb = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>
    %za = stablehlo.add %z0, %z1 : tensor<8x16xf32>
    %z2 = stablehlo.add %za, %zb : tensor<8x16xf32>
    %gi = stablehlo.slice %z2 [0:8, 0:4] : (tensor<8x16xf32>) -> tensor<8x4xf32>
    %ai = stablehlo.logistic %gi : tensor<8x4xf32>
    %gf = stablehlo.slice %z2 [0:8, 4:8] : (tensor<8x16xf32>) -> tensor<8x4xf32>
    %af = stablehlo.logistic %gf : tensor<8x4xf32>
    %go = stablehlo.slice %z2 [0:8, 8:12] : (tensor<8x16xf32>) -> tensor<8x4xf32>
    %ao = stablehlo.logistic %go : tensor<8x4xf32>
    %gu = stablehlo.slice %z2 [0:8, 12:16] : (tensor<8x16xf32>) -> tensor<8x4xf32>
    %au = stablehlo.tanh %gu : tensor<8x4xf32>
    %cf = stablehlo.multiply %c, %af : tensor<8x4xf32>
    %cu = stablehlo.multiply %ai, %au : tensor<8x4xf32>
    %c1 = stablehlo.add %cf, %cu : tensor<8x4xf32>
    %ct = stablehlo.tanh %c1 : tensor<8x4xf32>
    %h1 = stablehlo.multiply %ao, %ct : tensor<8x4xf32>
    %tn = stablehlo.add %t, %t1 : tensor<i32>
    stablehlo.return %tn, %h1, %c1 : tensor<i32>, tensor<8x4xf32>, tensor<8x4xf32>
  }
  %logits = stablehlo.dot_general %r#1, %arg3, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
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
  return %logits, %loss : tensor<8x3xf32>, tensor<f32>
}
