// Equal ops merge, also with operands swapped where the op commutes; other attributes, types or operand
// order, random numbers and barriers keep them apart.
module {
  func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %s: tensor<2xui64>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xi1>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %c = stablehlo.constant dense<1.0> : tensor<4xf32>
    %c_0 = stablehlo.constant dense<1.0> : tensor<4xf32>
    %0 = stablehlo.add %x, %c : tensor<4xf32>
    %1 = stablehlo.add %c_0, %x : tensor<4xf32>
    %2 = stablehlo.subtract %0, %y : tensor<4xf32>
    %3 = stablehlo.subtract %y, %1 : tensor<4xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<4xf32>
    %5 = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %6 = stablehlo.compare GT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %7 = stablehlo.optimization_barrier %x : tensor<4xf32>
    %8 = stablehlo.optimization_barrier %x : tensor<4xf32>
    %9 = stablehlo.tanh %7 : tensor<4xf32>
    %10 = stablehlo.tanh %8 : tensor<4xf32>
    %11 = stablehlo.tanh %8 : tensor<4xf32>
    return %4, %5, %6, %9, %10, %11 : tensor<4xf32>, tensor<4xi1>, tensor<4xi1>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<2xui64>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xi1>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<4xf32>
    %2 = stablehlo.subtract %1, %arg1 : tensor<4xf32>
    %3 = stablehlo.subtract %arg1, %1 : tensor<4xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<4xf32>
    %5 = stablehlo.compare LT, %arg0, %arg1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %6 = stablehlo.compare GT, %arg0, %arg1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %7 = stablehlo.optimization_barrier %arg0 : tensor<4xf32>
    %8 = stablehlo.optimization_barrier %arg0 : tensor<4xf32>
    %9 = stablehlo.tanh %7 : tensor<4xf32>
    %10 = stablehlo.tanh %8 : tensor<4xf32>
    return %4, %5, %6, %9, %10, %10 : tensor<4xf32>, tensor<4xi1>, tensor<4xi1>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
