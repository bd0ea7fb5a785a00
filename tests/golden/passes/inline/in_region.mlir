// A call inside a branch is replaced inside the branch; public functions stay.
module {
  func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.if"(%p) ({
      %1 = func.call @f(%x) : (tensor<f32>) -> tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }, {
      stablehlo.return %x : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @f(%x: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.abs %x : tensor<f32>
    return %0 : tensor<f32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.if"(%arg0) ({
      %1 = stablehlo.abs %arg1 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }, {
      stablehlo.return %arg1 : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func public @f(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.abs %arg0 : tensor<f32>
    return %0 : tensor<f32>
  }
}
