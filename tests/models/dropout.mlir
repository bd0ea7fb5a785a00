// Two linear layers with gelu and dropout: the mask of the first from rng_bit_generator with its state
// among the inputs, that of the second from rng; kept values are divided by the rate.
module @dropout {
  func.func @main(%x: tensor<4x5xf64>, %w1: tensor<5x8xf64>, %b1: tensor<8xf64>, %w2: tensor<8x3xf64>, %state: tensor<2xui64>) -> tensor<f64> {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %one = stablehlo.constant dense<1.0> : tensor<f64>
    %half = stablehlo.constant dense<0.5> : tensor<4x8xf64>
    %root = stablehlo.constant dense<0.70710678118654757> : tensor<4x8xf64>
    %ones = stablehlo.constant dense<1.0> : tensor<4x8xf64>
    %a = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<4x5xf64>, tensor<5x8xf64>) -> tensor<4x8xf64>
    %bb = stablehlo.broadcast_in_dim %b1, dims = [1] : (tensor<8xf64>) -> tensor<4x8xf64>
    %h = stablehlo.add %a, %bb : tensor<4x8xf64>
    %s = stablehlo.multiply %h, %root : tensor<4x8xf64>
    %erf = chlo.erf %s : tensor<4x8xf64> -> tensor<4x8xf64>
    %e1 = stablehlo.add %erf, %ones : tensor<4x8xf64>
    %hh = stablehlo.multiply %h, %half : tensor<4x8xf64>
    %gelu = stablehlo.multiply %hh, %e1 : tensor<4x8xf64>
    %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x8xui32>)
    %limit = stablehlo.constant dense<3221225472> : tensor<4x8xui32>
    %keep = stablehlo.compare LT, %bits, %limit, UNSIGNED : (tensor<4x8xui32>, tensor<4x8xui32>) -> tensor<4x8xi1>
    %rate = stablehlo.constant dense<0.75> : tensor<4x8xf64>
    %none = stablehlo.constant dense<0.0> : tensor<4x8xf64>
    %scaled = stablehlo.divide %gelu, %rate : tensor<4x8xf64>
    %dropped = stablehlo.select %keep, %scaled, %none : tensor<4x8xi1>, tensor<4x8xf64>
    %y = stablehlo.dot_general %dropped, %w2, contracting_dims = [1] x [0] : (tensor<4x8xf64>, tensor<8x3xf64>) -> tensor<4x3xf64>
    %shape = stablehlo.constant dense<[4, 3]> : tensor<2xi64>
    %u = stablehlo.rng %zero, %one, %shape, distribution = UNIFORM : (tensor<f64>, tensor<f64>, tensor<2xi64>) -> tensor<4x3xf64>
    %half2 = stablehlo.constant dense<0.5> : tensor<4x3xf64>
    %none2 = stablehlo.constant dense<0.0> : tensor<4x3xf64>
    %keep2 = stablehlo.compare LT, %u, %half2, FLOAT : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xi1>
    %y2 = stablehlo.divide %y, %half2 : tensor<4x3xf64>
    %z = stablehlo.select %keep2, %y2, %none2 : tensor<4x3xi1>, tensor<4x3xf64>
    %sq = stablehlo.multiply %z, %z : tensor<4x3xf64>
    %loss = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf64>, tensor<f64>) -> tensor<f64>
    return %loss : tensor<f64>
  }
}
