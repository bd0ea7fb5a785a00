// A splat stays a splat through maps and views; small results are written out; a large one that is no
// splat is left to run time.
module {
  func.func @main() -> (tensor<512x512xf32>, tensor<3xi32>, tensor<512x3xi32>, tensor<i32>) {
    %0 = stablehlo.constant dense<2.0> : tensor<512xf32>
    %1 = stablehlo.constant dense<3.0> : tensor<512xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<512xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<512xf32>) -> tensor<512x512xf32>
    %4 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
    %5 = stablehlo.reverse %4, dims = [0] : tensor<3xi32>
    %6 = stablehlo.add %5, %4 : tensor<3xi32>
    %7 = stablehlo.broadcast_in_dim %5, dims = [1] : (tensor<3xi32>) -> tensor<512x3xi32>
    %8 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.reduce(%5 init: %8) applies stablehlo.add across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
    return %3, %6, %7, %9 : tensor<512x512xf32>, tensor<3xi32>, tensor<512x3xi32>, tensor<i32>
  }
}
// -----
module {
  func.func public @main() -> (tensor<512x512xf32>, tensor<3xi32>, tensor<512x3xi32>, tensor<i32>) {
    %0 = stablehlo.constant dense<6.000000e+00> : tensor<512x512xf32>
    %1 = stablehlo.constant dense<[3, 2, 1]> : tensor<3xi32>
    %2 = stablehlo.constant dense<4> : tensor<3xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<3xi32>) -> tensor<512x3xi32>
    %4 = stablehlo.constant dense<6> : tensor<i32>
    return %0, %2, %3, %4 : tensor<512x512xf32>, tensor<3xi32>, tensor<512x3xi32>, tensor<i32>
  }
}
