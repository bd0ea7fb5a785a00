// A map of element-wise ops is those ops on tensors; a value from around it is broadcast.
module {
  func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %s: tensor<f32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.constant dense<2.0> : tensor<f32>
      %1 = stablehlo.multiply %a, %c : tensor<f32>
      %2 = stablehlo.add %1, %b : tensor<f32>
      %3 = stablehlo.maximum %2, %s : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<f32>) -> tensor<2x3xf32> {
    %0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %2 = stablehlo.multiply %arg0, %1 : tensor<2x3xf32>
    %3 = stablehlo.add %2, %arg1 : tensor<2x3xf32>
    %4 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %5 = stablehlo.maximum %3, %4 : tensor<2x3xf32>
    return %5 : tensor<2x3xf32>
  }
}
