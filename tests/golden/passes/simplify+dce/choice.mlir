// Selects and branches on constants; boolean algebra.
module {
  func.func @main(%p: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<4xui8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xui8>, tensor<4xf32>, tensor<4xf32>) {
    %true = stablehlo.constant dense<true> : tensor<4xi1>
    %false = stablehlo.constant dense<false> : tensor<i1>
    %all = stablehlo.constant dense<255> : tensor<4xui8>
    %0 = stablehlo.select %true, %x, %y : tensor<4xi1>, tensor<4xf32>
    %1 = stablehlo.select %false, %x, %y : tensor<i1>, tensor<4xf32>
    %2 = stablehlo.select %p, %x, %x : tensor<4xi1>, tensor<4xf32>
    %3 = stablehlo.not %p : tensor<4xi1>
    %4 = stablehlo.select %3, %x, %y : tensor<4xi1>, tensor<4xf32>
    %5 = stablehlo.and %p, %true : tensor<4xi1>
    %6 = stablehlo.or %i, %all : tensor<4xui8>
    %7 = "stablehlo.if"(%false) ({
      stablehlo.return %x : tensor<4xf32>
    }, {
      %9 = stablehlo.add %x, %y : tensor<4xf32>
      stablehlo.return %9 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %c = stablehlo.constant dense<7> : tensor<i32>
    %8 = "stablehlo.case"(%c) ({
      stablehlo.return %x : tensor<4xf32>
    }, {
      stablehlo.return %y : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %0, %1, %2, %4, %5, %6, %7, %8 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xui8>, tensor<4xf32>, tensor<4xf32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<4xi1>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>, %arg3: tensor<4xui8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xui8>, tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.constant dense<255> : tensor<4xui8>
    %1 = stablehlo.select %arg0, %arg2, %arg1 : tensor<4xi1>, tensor<4xf32>
    %2 = stablehlo.add %arg1, %arg2 : tensor<4xf32>
    return %arg1, %arg2, %arg1, %1, %arg0, %0, %2, %arg2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xui8>, tensor<4xf32>, tensor<4xf32>
  }
}
