// What only dead ops read goes, in regions too; what a live region needs from outside stays; a custom
// call with a side effect stays.
module {
  func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.negate %x : tensor<f32>
    %1 = stablehlo.abs %x : tensor<f32>
    %2 = stablehlo.add %1, %1 : tensor<f32>
    %3 = "stablehlo.if"(%p) ({
      %4 = stablehlo.multiply %0, %0 : tensor<f32>
      %5 = stablehlo.multiply %2, %2 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }, {
      stablehlo.return %x : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    %6 = "stablehlo.if"(%p) ({
      stablehlo.return %2 : tensor<f32>
    }, {
      stablehlo.return %x : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    %7 = stablehlo.sine %x : tensor<f32>
    %8 = stablehlo.custom_call @log(%7) {has_side_effect = true} : (tensor<f32>) -> tensor<f32>
    return %3 : tensor<f32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.negate %arg1 : tensor<f32>
    %1 = "stablehlo.if"(%arg0) ({
      %2 = stablehlo.multiply %0, %0 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }, {
      stablehlo.return %arg1 : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    %3 = stablehlo.sine %arg1 : tensor<f32>
    %4 = stablehlo.custom_call @log(%3) {has_side_effect = true} : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}
