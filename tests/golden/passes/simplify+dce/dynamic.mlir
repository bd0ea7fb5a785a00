// Dynamic forms whose shape operand is a constant become static.
module {
  func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xi32>, tensor<4x2x3xf32>, tensor<6xf32>, tensor<i32>) {
    %c = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
    %0 = stablehlo.dynamic_iota %c, dim = 1 : (tensor<2xi64>) -> tensor<2x3xi32>
    %c_0 = stablehlo.constant dense<[4, 2, 3]> : tensor<3xi64>
    %1 = stablehlo.dynamic_broadcast_in_dim %x, %c_0, dims = [1, 2] : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<4x2x3xf32>
    %c_1 = stablehlo.constant dense<6> : tensor<1xi64>
    %2 = stablehlo.dynamic_reshape %x, %c_1 : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<6xf32>
    %3 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
    return %0, %1, %2, %3 : tensor<2x3xi32>, tensor<4x2x3xf32>, tensor<6xf32>, tensor<i32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xi32>, tensor<4x2x3xf32>, tensor<6xf32>, tensor<i32>) {
    %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
    %2 = stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<6xf32>
    %3 = stablehlo.constant dense<3> : tensor<i32>
    return %0, %1, %2, %3 : tensor<2x3xi32>, tensor<4x2x3xf32>, tensor<6xf32>, tensor<i32>
  }
}
