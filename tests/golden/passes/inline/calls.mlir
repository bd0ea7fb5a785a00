// Calls of calls, two results, a composite; the private functions go.
module {
  func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0:2 = call @both(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %1 = stablehlo.composite "m.twice" %0#1 {decomposition = @twice} : (tensor<4xf32>) -> tensor<4xf32>
    return %0#0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  func.func private @both(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.negate %x : tensor<4xf32>
    %1 = func.call @twice(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1, %x : tensor<4xf32>, tensor<4xf32>
  }
  func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.negate %arg0 : tensor<4xf32>
    %1 = stablehlo.add %0, %0 : tensor<4xf32>
    %2 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
    return %1, %2 : tensor<4xf32>, tensor<4xf32>
  }
}
