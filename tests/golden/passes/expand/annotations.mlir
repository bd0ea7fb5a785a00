// Sharding annotations are their operand; pcp.stop_gradient and unknown targets stay.
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @Sharding(%x) {backend_config = ""} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.custom_call @pcp.stop_gradient(%0) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = stablehlo.custom_call @fused_thing(%1) : (tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @pcp.stop_gradient(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.custom_call @fused_thing(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
