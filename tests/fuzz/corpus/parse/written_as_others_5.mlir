// Sizes that are constants, or follow from constants and static shapes.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %v = stablehlo.constant dense<0> : tensor<i32>
  %low = stablehlo.constant dense<[1, -1]> : tensor<2xi64>
  %none = stablehlo.constant dense<0> : tensor<2xi64>
  %in = stablehlo.constant dense<[0, 1]> : tensor<2xindex>
  %0 = stablehlo.dynamic_pad %x, %v, %low, %none, %in : (tensor<2x3xi32>, tensor<i32>, tensor<2xi64>, tensor<2xi64>, tensor<2xindex>) -> tensor<3x4xi32>
  check.expect_eq_const %0, dense<[[0, 0, 0, 0], [0, 2, 0, 3], [0, 5, 0, 6]]> : tensor<3x4xi32>
  %n = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xi32>) -> tensor<i32>
  %m = stablehlo.get_dimension_size %x, dim = 0 : (tensor<2x3xi32>) -> tensor<i32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %m1 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %limit = stablehlo.concatenate %m1, %n1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %start = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
  %stride = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.real_dynamic_slice %x, %start, %limit, %stride : (tensor<2x3xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<1x2xi32>
  check.expect_eq_const %1, dense<[[4, 6]]> : tensor<1x2xi32>
  %i = stablehlo.constant dense<[[1], [0]]> : tensor<2x1xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %sizes = stablehlo.concatenate %one, %n1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %2 = "stablehlo.dynamic_gather"(%x, %i, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<2x3xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %2, dense<[[4, 5, 6], [1, 2, 3]]> : tensor<2x3xi32>
  %3 = stablehlo.set_dimension_size %x, %n, dim = 1 : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x3xi32>
  check.expect_eq_const %3, dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %shape = stablehlo.multiply %limit, %stride : tensor<2xi32>
  %half = stablehlo.constant dense<[1, 1]> : tensor<2xi32>
  %flat = stablehlo.divide %shape, %half : tensor<2xi32>
  %4 = stablehlo.dynamic_reshape %x, %limit : (tensor<2x3xi32>, tensor<2xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %4, dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %six = stablehlo.constant dense<6> : tensor<1xi32>
  %5 = chlo.dynamic_reshape %x, %six : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<6xi32>
  check.expect_eq_const %5, dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  return
}
