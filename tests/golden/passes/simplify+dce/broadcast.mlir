// Identity, chain, no repetition (reshape, with a transpose when dims change order), keep-dims reshape.
module {
  func.func @main(%x: tensor<2x3xf32>, %v: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<5x2x3xf32>, tensor<1x2x3xf32>, tensor<3x2xf32>, tensor<2x3x4xf32>) {
    %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<5x2x3xf32>
    %3 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
    %4 = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %5 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
    return %0, %2, %3, %4, %6 : tensor<2x3xf32>, tensor<5x2x3xf32>, tensor<1x2x3xf32>, tensor<3x2xf32>, tensor<2x3x4xf32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<5x2x3xf32>, tensor<1x2x3xf32>, tensor<3x2xf32>, tensor<2x3x4xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<3xf32>) -> tensor<5x2x3xf32>
    %1 = stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
    %2 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %3 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x4xf32>
    return %arg0, %0, %1, %2, %3 : tensor<2x3xf32>, tensor<5x2x3xf32>, tensor<1x2x3xf32>, tensor<3x2xf32>, tensor<2x3x4xf32>
  }
}
