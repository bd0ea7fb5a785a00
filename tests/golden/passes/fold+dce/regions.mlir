// Small reductions, windows, sorts and scatters of constants run once, constants that their regions read
// from around included; what reads anything else stays, and so does what would run long.
module {
  func.func @main(%x: tensor<i32>) -> (tensor<2xi32>, tensor<3xi32>, tensor<4xi32>, tensor<4xi32>, tensor<i32>, tensor<i32>) {
    %m = stablehlo.constant dense<[[1, 2, 3], [4, 5, 7]]> : tensor<2x3xi32>
    %v = stablehlo.constant dense<[3, 1, 4, 2]> : tensor<4xi32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %ten = stablehlo.constant dense<10> : tensor<i32>
    %0 = stablehlo.reduce(%m init: %ten) applies stablehlo.add across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
    %1 = "stablehlo.reduce_window"(%v, %zero) <{window_dimensions = array<i64: 2>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.maximum %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<4xi32>, tensor<i32>) -> tensor<3xi32>
    %2 = "stablehlo.sort"(%v) <{dimension = 0 : i64}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %p = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }) : (tensor<4xi32>) -> tensor<4xi32>
    %at = stablehlo.constant dense<[[1], [3]]> : tensor<2x1xi64>
    %u = stablehlo.constant dense<[5, 6]> : tensor<2xi32>
    %3 = "stablehlo.scatter"(%v, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.multiply %b, %ten : tensor<i32>
      %t = stablehlo.add %a, %s : tensor<i32>
      stablehlo.return %t : tensor<i32>
    }) : (tensor<4xi32>, tensor<2x1xi64>, tensor<2xi32>) -> tensor<4xi32>
    %4 = stablehlo.reduce(%v init: %x) applies stablehlo.add across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
    %big = stablehlo.constant dense<1> : tensor<5000xi32>
    %5 = stablehlo.reduce(%big init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5000xi32>, tensor<i32>) -> tensor<i32>
    return %0, %1, %2, %3, %4, %5 : tensor<2xi32>, tensor<3xi32>, tensor<4xi32>, tensor<4xi32>, tensor<i32>, tensor<i32>
  }
}
// -----
module {
  func.func @main(%x: tensor<i32>) -> (tensor<2xi32>, tensor<3xi32>, tensor<4xi32>, tensor<4xi32>, tensor<i32>, tensor<i32>) {
    %v = stablehlo.constant dense<[3, 1, 4, 2]> : tensor<4xi32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.constant dense<[16, 26]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[3, 4, 4]> : tensor<3xi32>
    %2 = stablehlo.constant dense<[4, 3, 2, 1]> : tensor<4xi32>
    %3 = stablehlo.constant dense<[3, 51, 4, 62]> : tensor<4xi32>
    %4 = stablehlo.reduce(%v init: %x) applies stablehlo.add across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
    %big = stablehlo.constant dense<1> : tensor<5000xi32>
    %5 = stablehlo.reduce(%big init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5000xi32>, tensor<i32>) -> tensor<i32>
    return %0, %1, %2, %3, %4, %5 : tensor<2xi32>, tensor<3xi32>, tensor<4xi32>, tensor<4xi32>, tensor<i32>, tensor<i32>
  }
}
