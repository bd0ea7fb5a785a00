// Slices, pads, concatenations and reverses that do nothing or come in chains; the gradient of three
// slices, a sum of padded parts, is their concatenation; rows 0, 1, .. of a table are a slice of it.
module {
  func.func @main(%x: tensor<2x12xf32>, %a: tensor<2x4xf32>, %b: tensor<2x4xf32>, %c: tensor<2x4xf32>) -> (tensor<2x12xf32>, tensor<1x3xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x12xf32>, tensor<2x12xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.slice %x [0:2, 0:12] : (tensor<2x12xf32>) -> tensor<2x12xf32>
    %1 = stablehlo.slice %x [0:2, 1:11:2] : (tensor<2x12xf32>) -> tensor<2x5xf32>
    %2 = stablehlo.slice %1 [1:2, 0:5:2] : (tensor<2x5xf32>) -> tensor<1x3xf32>
    %3 = stablehlo.pad %a, %zero, low = [0, 0], high = [0, 0], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %4 = stablehlo.concatenate %a, dim = 1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %5 = stablehlo.reverse %b, dims = [1] : tensor<2x4xf32>
    %6 = stablehlo.reverse %5, dims = [1] : tensor<2x4xf32>
    %7 = stablehlo.pad %a, %zero, low = [0, 8], high = [0, 0], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x12xf32>
    %8 = stablehlo.pad %b, %zero, low = [0, 4], high = [0, 4], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x12xf32>
    %9 = stablehlo.pad %c, %zero, low = [0, 0], high = [0, 8], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x12xf32>
    %10 = stablehlo.add %7, %8 : tensor<2x12xf32>
    %11 = stablehlo.add %10, %9 : tensor<2x12xf32>
    %12 = stablehlo.add %7, %9 : tensor<2x12xf32>
    return %0, %2, %3, %4, %6, %11, %12 : tensor<2x12xf32>, tensor<1x3xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x12xf32>, tensor<2x12xf32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<2x12xf32>, %arg1: tensor<2x4xf32>, %arg2: tensor<2x4xf32>, %arg3: tensor<2x4xf32>) -> (tensor<2x12xf32>, tensor<1x3xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x12xf32>, tensor<2x12xf32>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.slice %arg0 [1:2, 1:10:4] : (tensor<2x12xf32>) -> tensor<1x3xf32>
    %2 = stablehlo.pad %arg1, %0, low = [0, 8], high = [0, 0], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x12xf32>
    %3 = stablehlo.pad %arg3, %0, low = [0, 0], high = [0, 8], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x12xf32>
    %4 = stablehlo.concatenate %arg2, %arg1, dim = 1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
    %5 = stablehlo.concatenate %arg3, %4, dim = 1 : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<2x12xf32>
    %6 = stablehlo.pad %5, %0, low = [0, 0], high = [0, 0], interior = [0, 0] : (tensor<2x12xf32>, tensor<f32>) -> tensor<2x12xf32>
    %7 = stablehlo.add %2, %3 : tensor<2x12xf32>
    return %arg0, %1, %arg1, %arg1, %arg2, %6, %7 : tensor<2x12xf32>, tensor<1x3xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x12xf32>, tensor<2x12xf32>
  }
}
