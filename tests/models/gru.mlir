// A gated recurrent unit over five steps, as a scan is exported: `while` with dynamic_slice for the
// inputs and dynamic_update_slice for the outputs; the cell is a private function.
//   z = sigmoid([x h] Wz), r = sigmoid([x h] Wr), n = tanh([x (r h)] Wn), h' = (1 - z) n + z h
module @gru {
  func.func private @cell(%x: tensor<2x3xf64>, %h: tensor<2x4xf64>, %wz: tensor<7x4xf64>, %wr: tensor<7x4xf64>, %wn: tensor<7x4xf64>) -> tensor<2x4xf64> {
    %xh = stablehlo.concatenate %x, %h, dim = 1 : (tensor<2x3xf64>, tensor<2x4xf64>) -> tensor<2x7xf64>
    %az = stablehlo.dot_general %xh, %wz, contracting_dims = [1] x [0] : (tensor<2x7xf64>, tensor<7x4xf64>) -> tensor<2x4xf64>
    %z = stablehlo.logistic %az : tensor<2x4xf64>
    %ar = stablehlo.dot_general %xh, %wr, contracting_dims = [1] x [0] : (tensor<2x7xf64>, tensor<7x4xf64>) -> tensor<2x4xf64>
    %r = stablehlo.logistic %ar : tensor<2x4xf64>
    %rh = stablehlo.multiply %r, %h : tensor<2x4xf64>
    %xrh = stablehlo.concatenate %x, %rh, dim = 1 : (tensor<2x3xf64>, tensor<2x4xf64>) -> tensor<2x7xf64>
    %an = stablehlo.dot_general %xrh, %wn, contracting_dims = [1] x [0] : (tensor<2x7xf64>, tensor<7x4xf64>) -> tensor<2x4xf64>
    %n = stablehlo.tanh %an : tensor<2x4xf64>
    %one = stablehlo.constant dense<1.0> : tensor<2x4xf64>
    %nz = stablehlo.subtract %one, %z : tensor<2x4xf64>
    %new = stablehlo.multiply %nz, %n : tensor<2x4xf64>
    %old = stablehlo.multiply %z, %h : tensor<2x4xf64>
    %y = stablehlo.add %new, %old : tensor<2x4xf64>
    return %y : tensor<2x4xf64>
  }
  func.func @main(%xs: tensor<5x2x3xf64>, %h0: tensor<2x4xf64>, %wz: tensor<7x4xf64>, %wr: tensor<7x4xf64>, %wn: tensor<7x4xf64>, %out: tensor<4xf64>) -> tensor<f64> {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %five = stablehlo.constant dense<5> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %ys0 = stablehlo.constant dense<0.0> : tensor<5x2x4xf64>
    %r:3 = stablehlo.while(%i = %i0, %h = %h0, %ys = %ys0) : tensor<i32>, tensor<2x4xf64>, tensor<5x2x4xf64> cond {
      %go = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %x1 = stablehlo.dynamic_slice %xs, %i, %i0, %i0, sizes = [1, 2, 3] : (tensor<5x2x3xf64>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf64>
      %x = stablehlo.reshape %x1 : (tensor<1x2x3xf64>) -> tensor<2x3xf64>
      %y = func.call @cell(%x, %h, %wz, %wr, %wn) : (tensor<2x3xf64>, tensor<2x4xf64>, tensor<7x4xf64>, tensor<7x4xf64>, tensor<7x4xf64>) -> tensor<2x4xf64>
      %y1 = stablehlo.reshape %y : (tensor<2x4xf64>) -> tensor<1x2x4xf64>
      %ys1 = stablehlo.dynamic_update_slice %ys, %y1, %i, %i0, %i0 : (tensor<5x2x4xf64>, tensor<1x2x4xf64>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x4xf64>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %y, %ys1 : tensor<i32>, tensor<2x4xf64>, tensor<5x2x4xf64>
    }
    %scores = stablehlo.dot_general %r#2, %out, contracting_dims = [2] x [0] : (tensor<5x2x4xf64>, tensor<4xf64>) -> tensor<5x2xf64>
    %squares = stablehlo.multiply %scores, %scores : tensor<5x2xf64>
    %loss = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<5x2xf64>, tensor<f64>) -> tensor<f64>
    return %loss : tensor<f64>
  }
}
