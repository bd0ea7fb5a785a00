// Neutral elements and signs. x * 0 stays for floats (NaN), not for integers; x / 3 stays, x / 4 does not.
module {
  func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
    %one = stablehlo.constant dense<1.0> : tensor<4xf32>
    %three = stablehlo.constant dense<3.0> : tensor<4xf32>
    %four = stablehlo.constant dense<4.0> : tensor<4xf32>
    %minus = stablehlo.constant dense<-1.0> : tensor<4xf32>
    %none = stablehlo.constant dense<0> : tensor<4xi32>
    %0 = stablehlo.add %zero, %x : tensor<4xf32>
    %1 = stablehlo.subtract %0, %zero : tensor<4xf32>
    %2 = stablehlo.multiply %1, %one : tensor<4xf32>
    %3 = stablehlo.divide %2, %one : tensor<4xf32>
    %4 = stablehlo.negate %3 : tensor<4xf32>
    %5 = stablehlo.negate %4 : tensor<4xf32>
    %6 = stablehlo.add %y, %4 : tensor<4xf32>
    %7 = stablehlo.subtract %y, %4 : tensor<4xf32>
    %8 = stablehlo.multiply %x, %zero : tensor<4xf32>
    %9 = stablehlo.divide %x, %three : tensor<4xf32>
    %10 = stablehlo.divide %x, %four : tensor<4xf32>
    %11 = stablehlo.multiply %minus, %x : tensor<4xf32>
    %12 = stablehlo.multiply %n, %none : tensor<4xi32>
    %13 = stablehlo.maximum %x, %x : tensor<4xf32>
    return %5, %6, %7, %8, %9, %10, %11, %12, %13 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
    %1 = stablehlo.constant dense<3.000000e+00> : tensor<4xf32>
    %2 = stablehlo.constant dense<0> : tensor<4xi32>
    %3 = stablehlo.subtract %arg1, %arg0 : tensor<4xf32>
    %4 = stablehlo.add %arg1, %arg0 : tensor<4xf32>
    %5 = stablehlo.multiply %arg0, %0 : tensor<4xf32>
    %6 = stablehlo.divide %arg0, %1 : tensor<4xf32>
    %7 = stablehlo.constant dense<2.500000e-01> : tensor<4xf32>
    %8 = stablehlo.multiply %arg0, %7 : tensor<4xf32>
    %9 = stablehlo.negate %arg0 : tensor<4xf32>
    return %arg0, %3, %4, %5, %6, %8, %9, %2, %arg0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>
  }
}
