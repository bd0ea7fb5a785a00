// Four layers in a loop, as a scan over layers is exported: their weights lie side by side, each iteration looks up its layer's
// and stacks up the mean of what it made, which is a part of the loss.
//   h' = h + tanh(h w1 + b) w2, y = mean h'; loss = mean (h - target)^2 + mean y^2
module @layers {
  func.func public @main(%w1: tensor<4x16x32xf32>, %b: tensor<4x32xf32>, %w2: tensor<4x32x16xf32>, %x: tensor<8x16xf32>, %target: tensor<8x16xf32>) -> tensor<f32> {
    %start = stablehlo.constant dense<0> : tensor<i32>
    %none = stablehlo.constant dense<0.0> : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %loop:6 = stablehlo.while(%w1s = %w1, %bs = %b, %w2s = %w2, %i = %start, %h = %x, %ys = %none) : tensor<4x16x32xf32>, tensor<4x32xf32>, tensor<4x32x16xf32>, tensor<i32>, tensor<8x16xf32>, tensor<4x8xf32>
    cond {
      %layers = stablehlo.constant dense<4> : tensor<i32>
      %more = stablehlo.compare LT, %i, %layers, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %first = stablehlo.constant dense<0> : tensor<i32>
      %s1 = stablehlo.dynamic_slice %w1s, %i, %first, %first, sizes = [1, 16, 32] : (tensor<4x16x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>
      %m1 = stablehlo.reshape %s1 : (tensor<1x16x32xf32>) -> tensor<16x32xf32>
      %sb = stablehlo.dynamic_slice %bs, %i, %first, sizes = [1, 32] : (tensor<4x32xf32>, tensor<i32>, tensor<i32>) -> tensor<1x32xf32>
      %mb = stablehlo.reshape %sb : (tensor<1x32xf32>) -> tensor<32xf32>
      %s2 = stablehlo.dynamic_slice %w2s, %i, %first, %first, sizes = [1, 32, 16] : (tensor<4x32x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x16xf32>
      %m2 = stablehlo.reshape %s2 : (tensor<1x32x16xf32>) -> tensor<32x16xf32>
      %u = stablehlo.dot_general %h, %m1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
      %rows = stablehlo.broadcast_in_dim %mb, dims = [1] : (tensor<32xf32>) -> tensor<8x32xf32>
      %v = stablehlo.add %u, %rows : tensor<8x32xf32>
      %t = stablehlo.tanh %v : tensor<8x32xf32>
      %d = stablehlo.dot_general %t, %m2, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
      %next = stablehlo.add %h, %d : tensor<8x16xf32>
      %init = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%next init: %init) applies stablehlo.add across dimensions = [1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
      %n = stablehlo.constant dense<16.0> : tensor<8xf32>
      %mean = stablehlo.divide %sum, %n : tensor<8xf32>
      %y = stablehlo.reshape %mean : (tensor<8xf32>) -> tensor<1x8xf32>
      %stacked = stablehlo.dynamic_update_slice %ys, %y, %i, %first : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %w1s, %bs, %w2s, %j, %next, %stacked : tensor<4x16x32xf32>, tensor<4x32xf32>, tensor<4x32x16xf32>, tensor<i32>, tensor<8x16xf32>, tensor<4x8xf32>
    }
    %off = stablehlo.subtract %loop#4, %target : tensor<8x16xf32>
    %square = stablehlo.multiply %off, %off : tensor<8x16xf32>
    %e = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
    %n_e = stablehlo.constant dense<128.0> : tensor<f32>
    %mse = stablehlo.divide %e, %n_e : tensor<f32>
    %ysquare = stablehlo.multiply %loop#5, %loop#5 : tensor<4x8xf32>
    %ye = stablehlo.reduce(%ysquare init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    %n_y = stablehlo.constant dense<32.0> : tensor<f32>
    %penalty = stablehlo.divide %ye, %n_y : tensor<f32>
    %loss = stablehlo.add %mse, %penalty : tensor<f32>
    return %loss : tensor<f32>
  }
}
