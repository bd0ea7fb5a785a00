// Identities and chains; a transpose that moves only dimensions of size 1 is a reshape.
module {
  func.func @main(%x: tensor<2x3x4xf32>, %s: tensor<f32>) -> (tensor<2x3x4xf32>, tensor<24xf32>, tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<3x1x4xf32>, tensor<6x4xf32>) {
    %0 = stablehlo.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
    %1 = stablehlo.reshape %0 : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
    %2 = stablehlo.reshape %0 : (tensor<6x4xf32>) -> tensor<24xf32>
    %3 = stablehlo.transpose %x, dims = [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    %4 = stablehlo.transpose %x, dims = [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
    %5 = stablehlo.transpose %4, dims = [1, 2, 0] : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
    %6 = stablehlo.slice %x [0:1, 0:3, 0:4] : (tensor<2x3x4xf32>) -> tensor<1x3x4xf32>
    %7 = stablehlo.transpose %6, dims = [1, 0, 2] : (tensor<1x3x4xf32>) -> tensor<3x1x4xf32>
    %8 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %9 = stablehlo.reshape %8 : (tensor<24xf32>) -> tensor<6x4xf32>
    return %1, %2, %3, %5, %7, %9 : tensor<2x3x4xf32>, tensor<24xf32>, tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<3x1x4xf32>, tensor<6x4xf32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<f32>) -> (tensor<2x3x4xf32>, tensor<24xf32>, tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<3x1x4xf32>, tensor<6x4xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x3x4xf32>) -> tensor<24xf32>
    %1 = stablehlo.transpose %arg0, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
    %2 = stablehlo.slice %arg0 [0:1, 0:3, 0:4] : (tensor<2x3x4xf32>) -> tensor<1x3x4xf32>
    %3 = stablehlo.reshape %2 : (tensor<1x3x4xf32>) -> tensor<3x1x4xf32>
    %4 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<6x4xf32>
    return %arg0, %0, %arg0, %1, %3, %4 : tensor<2x3x4xf32>, tensor<24xf32>, tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<3x1x4xf32>, tensor<6x4xf32>
  }
}
