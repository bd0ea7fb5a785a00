// Chains whose first step is exact collapse; f32 -> bf16 -> f32 and i32 -> ui32 -> i64 must not.
module {
  func.func @main(%x: tensor<4xf32>, %h: tensor<4xbf16>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<4xf32>, tensor<4xi64>, tensor<4xf32>, tensor<4xbf16>) {
    %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf64>
    %2 = stablehlo.convert %1 : (tensor<4xf64>) -> tensor<4xf32>
    %3 = stablehlo.convert %h : (tensor<4xbf16>) -> tensor<4xf32>
    %4 = stablehlo.convert %3 : (tensor<4xf32>) -> tensor<4xf64>
    %5 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xbf16>
    %6 = stablehlo.convert %5 : (tensor<4xbf16>) -> tensor<4xf32>
    %7 = stablehlo.convert %i : (tensor<4xi32>) -> tensor<4xui32>
    %8 = stablehlo.convert %7 : (tensor<4xui32>) -> tensor<4xi64>
    %9 = stablehlo.convert %i : (tensor<4xi32>) -> tensor<4xf64>
    %10 = stablehlo.convert %9 : (tensor<4xf64>) -> tensor<4xf32>
    %11 = stablehlo.convert %3 : (tensor<4xf32>) -> tensor<4xbf16>
    return %0, %2, %4, %6, %8, %10, %11 : tensor<4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<4xf32>, tensor<4xi64>, tensor<4xf32>, tensor<4xbf16>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xbf16>, %arg2: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<4xf32>, tensor<4xi64>, tensor<4xf32>, tensor<4xbf16>) {
    %0 = stablehlo.convert %arg1 : (tensor<4xbf16>) -> tensor<4xf64>
    %1 = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xbf16>
    %2 = stablehlo.convert %1 : (tensor<4xbf16>) -> tensor<4xf32>
    %3 = stablehlo.convert %arg2 : (tensor<4xi32>) -> tensor<4xui32>
    %4 = stablehlo.convert %3 : (tensor<4xui32>) -> tensor<4xi64>
    %5 = stablehlo.convert %arg2 : (tensor<4xi32>) -> tensor<4xf32>
    return %arg0, %arg0, %0, %2, %4, %5, %arg1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<4xf32>, tensor<4xi64>, tensor<4xf32>, tensor<4xbf16>
  }
}
