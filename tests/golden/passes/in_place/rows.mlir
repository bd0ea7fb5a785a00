// Rows that a loop writes into its carry are scattered at the end of the body, where all readers of the old carry are
// through (%ys), rows that it adds to a carry, by zeros around them, too (%sum). What has another reader stays (%zs), and so
// does what is no row: a window of a dimension (%ws).
module {
  func.func @main(%x: tensor<64x16xf32>) -> (tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<64x16xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %zeros = stablehlo.constant dense<0.0> : tensor<16x64xf32>
    %0:5 = stablehlo.while(%i = %zero, %ys = %x, %sum = %zeros, %zs = %x, %ws = %x) : tensor<i32>, tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<64x16xf32> cond {
      %n = stablehlo.constant dense<64> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 16] : (tensor<64x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16xf32>
      %3 = stablehlo.dynamic_update_slice %ys, %2, %i, %zero : (tensor<64x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<64x16xf32>
      %4 = stablehlo.dynamic_slice %ys, %1, %zero, sizes = [1, 16] : (tensor<64x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16xf32>
      %5 = stablehlo.reshape %4 : (tensor<1x16xf32>) -> tensor<16x1xf32>
      %6 = stablehlo.dynamic_update_slice %zeros, %5, %zero, %i : (tensor<16x64xf32>, tensor<16x1xf32>, tensor<i32>, tensor<i32>) -> tensor<16x64xf32>
      %7 = stablehlo.add %6, %sum : tensor<16x64xf32>
      %8 = stablehlo.dynamic_update_slice %zs, %2, %i, %zero : (tensor<64x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<64x16xf32>
      %9 = stablehlo.slice %8 [0:2, 0:16] : (tensor<64x16xf32>) -> tensor<2x16xf32>
      %10 = stablehlo.dynamic_update_slice %ws, %9, %i, %zero : (tensor<64x16xf32>, tensor<2x16xf32>, tensor<i32>, tensor<i32>) -> tensor<64x16xf32>
      stablehlo.return %1, %3, %7, %8, %10 : tensor<i32>, tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<64x16xf32>
    }
    return %0#1, %0#2, %0#3, %0#4 : tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<64x16xf32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<64x16xf32>) -> (tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<64x16xf32>) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<0.000000e+00> : tensor<16x64xf32>
    %2:5 = stablehlo.while(%arg1 = %0, %arg2 = %arg0, %arg3 = %1, %arg4 = %arg0, %arg5 = %arg0) : tensor<i32>, tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<64x16xf32> cond {
      %3 = stablehlo.constant dense<64> : tensor<i32>
      %4 = stablehlo.compare LT, %arg1, %3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %5 = stablehlo.constant dense<1> : tensor<i32>
      %6 = stablehlo.add %arg1, %5 : tensor<i32>
      %7 = stablehlo.dynamic_slice %arg0, %arg1, %0, sizes = [1, 16] : (tensor<64x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16xf32>
      %8 = stablehlo.dynamic_slice %arg2, %6, %0, sizes = [1, 16] : (tensor<64x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16xf32>
      %9 = stablehlo.reshape %8 : (tensor<1x16xf32>) -> tensor<16x1xf32>
      %10 = stablehlo.dynamic_update_slice %arg4, %7, %arg1, %0 : (tensor<64x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<64x16xf32>
      %11 = stablehlo.slice %10 [0:2, 0:16] : (tensor<64x16xf32>) -> tensor<2x16xf32>
      %12 = stablehlo.dynamic_update_slice %arg5, %11, %arg1, %0 : (tensor<64x16xf32>, tensor<2x16xf32>, tensor<i32>, tensor<i32>) -> tensor<64x16xf32>
      %13 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
      %14 = stablehlo.concatenate %13, dim = 0 : (tensor<1xi32>) -> tensor<1xi32>
      %15 = stablehlo.constant dense<0> : tensor<1xi32>
      %16 = stablehlo.constant dense<63> : tensor<1xi32>
      %17 = stablehlo.broadcast_in_dim %16, dims = [0] : tensor<1xi32>
      %18 = stablehlo.clamp %15, %14, %17 : tensor<1xi32>
      %19 = stablehlo.reshape %7 : (tensor<1x16xf32>) -> tensor<16xf32>
      %20 = "stablehlo.scatter"(%arg2, %18, %19) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 0>, indices_are_sorted = true, unique_indices = true}> ({
      ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
        stablehlo.return %arg7 : tensor<f32>
      }) : (tensor<64x16xf32>, tensor<1xi32>, tensor<16xf32>) -> tensor<64x16xf32>
      %21 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
      %22 = stablehlo.concatenate %21, dim = 0 : (tensor<1xi32>) -> tensor<1xi32>
      %23 = stablehlo.constant dense<0> : tensor<1xi32>
      %24 = stablehlo.constant dense<63> : tensor<1xi32>
      %25 = stablehlo.broadcast_in_dim %24, dims = [0] : tensor<1xi32>
      %26 = stablehlo.clamp %23, %22, %25 : tensor<1xi32>
      %27 = stablehlo.reshape %9 : (tensor<16x1xf32>) -> tensor<16xf32>
      %28 = "stablehlo.scatter"(%arg3, %26, %27) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [1], index_vector_dim = 0>, indices_are_sorted = true, unique_indices = true}> ({
      ^bb0(%arg8: tensor<f32>, %arg9: tensor<f32>):
        %29 = stablehlo.add %arg8, %arg9 : tensor<f32>
        stablehlo.return %29 : tensor<f32>
      }) : (tensor<16x64xf32>, tensor<1xi32>, tensor<16xf32>) -> tensor<16x64xf32>
      stablehlo.return %6, %20, %28, %10, %12 : tensor<i32>, tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<64x16xf32>
    }
    return %2#1, %2#2, %2#3, %2#4 : tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<64x16xf32>
  }
}
