// Dynamic slices at constant places (a place beyond the end is moved inside) are slices; rows that are written one
// after another, as by a loop that is unrolled, are a concatenation, of which slices take the parts.
module {
  func.func @main(%x: tensor<4x6xf32>, %a: tensor<1x6xf32>, %b: tensor<2x6xf32>, %i: tensor<i32>) -> (tensor<2x3xf32>, tensor<4x6xf32>, tensor<1x6xf32>, tensor<3x6xf32>, tensor<2x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x3xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %far = stablehlo.constant dense<9> : tensor<i32>
    %0 = stablehlo.dynamic_slice %x, %far, %one, sizes = [2, 3] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    %1 = stablehlo.dynamic_update_slice %x, %a, %zero, %zero : (tensor<4x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
    %2 = stablehlo.dynamic_update_slice %1, %b, %one, %zero : (tensor<4x6xf32>, tensor<2x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
    %3 = stablehlo.dynamic_slice %2, %zero, %zero, sizes = [1, 6] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
    %4 = stablehlo.slice %2 [0:3, 0:6] : (tensor<4x6xf32>) -> tensor<3x6xf32>
    %5 = stablehlo.slice %2 [2:4, 0:6] : (tensor<4x6xf32>) -> tensor<2x6xf32>
    %6 = stablehlo.dynamic_update_slice %x, %2, %far, %far : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
    %7 = stablehlo.dynamic_update_slice %x, %a, %i, %zero : (tensor<4x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
    %8 = stablehlo.slice %2 [0:4:2, 0:3] : (tensor<4x6xf32>) -> tensor<2x3xf32>
    return %0, %2, %3, %4, %5, %6, %7, %8 : tensor<2x3xf32>, tensor<4x6xf32>, tensor<1x6xf32>, tensor<3x6xf32>, tensor<2x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x3xf32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<4x6xf32>, %arg1: tensor<1x6xf32>, %arg2: tensor<2x6xf32>, %arg3: tensor<i32>) -> (tensor<2x3xf32>, tensor<4x6xf32>, tensor<1x6xf32>, tensor<3x6xf32>, tensor<2x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x3xf32>) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.slice %arg0 [2:4, 1:4] : (tensor<4x6xf32>) -> tensor<2x3xf32>
    %2 = stablehlo.slice %arg0 [1:4, 0:6] : (tensor<4x6xf32>) -> tensor<3x6xf32>
    %3 = stablehlo.slice %2 [2:3, 0:6] : (tensor<3x6xf32>) -> tensor<1x6xf32>
    %4 = stablehlo.concatenate %arg1, %arg2, %3, dim = 0 : (tensor<1x6xf32>, tensor<2x6xf32>, tensor<1x6xf32>) -> tensor<4x6xf32>
    %5 = stablehlo.slice %4 [0:1, 0:6] : (tensor<4x6xf32>) -> tensor<1x6xf32>
    %6 = stablehlo.concatenate %arg1, %arg2, dim = 0 : (tensor<1x6xf32>, tensor<2x6xf32>) -> tensor<3x6xf32>
    %7 = stablehlo.slice %arg2 [1:2, 0:6] : (tensor<2x6xf32>) -> tensor<1x6xf32>
    %8 = stablehlo.concatenate %7, %3, dim = 0 : (tensor<1x6xf32>, tensor<1x6xf32>) -> tensor<2x6xf32>
    %9 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg3, %0 : (tensor<4x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
    %10 = stablehlo.slice %4 [0:4:2, 0:3] : (tensor<4x6xf32>) -> tensor<2x3xf32>
    return %1, %4, %5, %6, %8, %4, %9, %10 : tensor<2x3xf32>, tensor<4x6xf32>, tensor<1x6xf32>, tensor<3x6xf32>, tensor<2x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x3xf32>
  }
}
