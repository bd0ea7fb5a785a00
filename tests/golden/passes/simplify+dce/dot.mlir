// Transposes around a contraction become its dimension numbers; one whose free dimensions change order
// stays.
module {
  func.func @main(%a: tensor<5x4xf32>, %w: tensor<3x4xf32>, %q: tensor<2x6x4xf32>, %k: tensor<2x5x7x4xf32>) -> (tensor<5x3xf32>, tensor<3x5xf32>, tensor<2x6x5x7xf32>, tensor<2x6x7x5xf32>) {
    %0 = stablehlo.transpose %w, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
    %1 = stablehlo.dot_general %a, %0, contracting_dims = [1] x [0] : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
    %2 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [1] : (tensor<5x4xf32>, tensor<3x4xf32>) -> tensor<5x3xf32>
    %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<5x3xf32>) -> tensor<3x5xf32>
    %4 = stablehlo.transpose %k, dims = [0, 3, 1, 2] : (tensor<2x5x7x4xf32>) -> tensor<2x4x5x7xf32>
    %5 = stablehlo.dot_general %q, %4, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x6x4xf32>, tensor<2x4x5x7xf32>) -> tensor<2x6x5x7xf32>
    %6 = stablehlo.transpose %k, dims = [0, 3, 2, 1] : (tensor<2x5x7x4xf32>) -> tensor<2x4x7x5xf32>
    %7 = stablehlo.dot_general %q, %6, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x6x4xf32>, tensor<2x4x7x5xf32>) -> tensor<2x6x7x5xf32>
    return %1, %3, %5, %7 : tensor<5x3xf32>, tensor<3x5xf32>, tensor<2x6x5x7xf32>, tensor<2x6x7x5xf32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<5x4xf32>, %arg1: tensor<3x4xf32>, %arg2: tensor<2x6x4xf32>, %arg3: tensor<2x5x7x4xf32>) -> (tensor<5x3xf32>, tensor<3x5xf32>, tensor<2x6x5x7xf32>, tensor<2x6x7x5xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1] : (tensor<5x4xf32>, tensor<3x4xf32>) -> tensor<5x3xf32>
    %1 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [1] : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
    %2 = stablehlo.dot_general %arg2, %arg3, batching_dims = [0] x [0], contracting_dims = [2] x [3] : (tensor<2x6x4xf32>, tensor<2x5x7x4xf32>) -> tensor<2x6x5x7xf32>
    %3 = stablehlo.transpose %arg3, dims = [0, 3, 2, 1] : (tensor<2x5x7x4xf32>) -> tensor<2x4x7x5xf32>
    %4 = stablehlo.dot_general %arg2, %3, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x6x4xf32>, tensor<2x4x7x5xf32>) -> tensor<2x6x7x5xf32>
    return %0, %1, %2, %4 : tensor<5x3xf32>, tensor<3x5xf32>, tensor<2x6x5x7xf32>, tensor<2x6x7x5xf32>
  }
}
