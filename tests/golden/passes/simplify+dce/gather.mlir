// Rows 0 to 3 of a table in order are a slice; rows in another order are not.
module {
  func.func @main(%t: tensor<8x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    %1 = "stablehlo.gather"(%t, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<8x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
    %2 = stablehlo.reverse %0, dims = [0] : tensor<4xi64>
    %3 = "stablehlo.gather"(%t, %2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<8x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
    return %1, %3 : tensor<4x3xf32>, tensor<4x3xf32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<8x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    %1 = stablehlo.slice %arg0 [0:4, 0:3] : (tensor<8x3xf32>) -> tensor<4x3xf32>
    %2 = stablehlo.reverse %0, dims = [0] : tensor<4xi64>
    %3 = "stablehlo.gather"(%arg0, %2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<8x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
    return %1, %3 : tensor<4x3xf32>, tensor<4x3xf32>
  }
}
