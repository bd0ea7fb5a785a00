// gather, scatter, dynamic_slice and dynamic_update_slice with starts in and out of bounds.
func.func @main() {
  // gather: starts outside are moved inside
  %x = stablehlo.constant dense<[89, -73, -19, -78]> : tensor<4xi32>
  %i = stablehlo.constant dense<[[-2], [0], [-1]]> : tensor<3x1xi32>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<4xi32>, tensor<3x1xi32>) -> tensor<3xi32>
  check.expect_eq_const %0, dense<[89, 89, 89]> : tensor<3xi32>
  return
}
// -----
func.func @main() {
  // gather: starts outside are moved inside
  %x = stablehlo.constant dense<[[91, 67, 9, -37], [83, -43, 26, 96], [34, -13, 96, 18]]> : tensor<3x4xi8>
  %i = stablehlo.constant dense<[4, 3]> : tensor<2xi64>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<3x4xi8>, tensor<2xi64>) -> tensor<2x4xi8>
  check.expect_eq_const %0, dense<[[34, -13, 96, 18], [34, -13, 96, 18]]> : tensor<2x4xi8>
  return
}
// -----
func.func @main() {
  // gather: starts outside are moved inside
  %x = stablehlo.constant dense<[[-13, -14, 73, -65], [27, 25, 38, 85], [-81, 82, 59, -88]]> : tensor<3x4xi16>
  %i = stablehlo.constant dense<[[4, 3], [-2, 4]]> : tensor<2x2xi8>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [1, 0], index_vector_dim = 0>, slice_sizes = array<i64: 2, 3>, indices_are_sorted = false}> : (tensor<3x4xi16>, tensor<2x2xi8>) -> tensor<2x2x3xi16>
  check.expect_eq_const %0, dense<[[[-14, 73, -65], [25, 38, 85]], [[25, 38, 85], [82, 59, -88]]]> : tensor<2x2x3xi16>
  return
}
// -----
func.func @main() {
  // gather: starts outside are moved inside
  %x = stablehlo.constant dense<[[[-77, 19, 39, 64], [-93, 35, -7, 82], [-97, -71, 8, 8]], [[-62, -37, 90, -58], [63, -3, 76, -57], [-17, -47, 0, 9]]]> : tensor<2x3x4xi32>
  %i = stablehlo.constant dense<[[4, 2], [2, 0], [3, 2], [5, 0]]> : tensor<4x2xui8>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 2], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [2, 0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3, 1>, indices_are_sorted = false}> : (tensor<2x3x4xi32>, tensor<4x2xui8>) -> tensor<4x3xi32>
  check.expect_eq_const %0, dense<[[-58, -57, 9], [39, -7, 8], [-58, -57, 9], [64, 82, 8]]> : tensor<4x3xi32>
  return
}
// -----
func.func @main() {
  // gather: starts outside are moved inside
  %x = stablehlo.constant dense<[[[-22, 66], [-60, 99], [-54, -84], [93, 18]], [[-95, 50], [24, -90], [-19, -72], [-49, -52]], [[-8, -44], [51, -39], [54, 84], [21, 53]]]> : tensor<3x4x2xi32>
  %i = stablehlo.constant dense<[[[1], [5]], [[0], [2]], [[4], [0]]]> : tensor<3x2x1xi16>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 2>, indices_are_sorted = false}> : (tensor<3x4x2xi32>, tensor<3x2x1xi16>) -> tensor<3x2x2xi32>
  check.expect_eq_const %0, dense<[[[-60, 99], [93, 18]], [[-95, 50], [-19, -72]], [[21, 53], [-8, -44]]]> : tensor<3x2x2xi32>
  return
}
// -----
func.func @main() {
  // gather: starts outside are moved inside
  %x = stablehlo.constant dense<[[[94, -20, 61, 41, 41], [23, -33, 25, 4, -12], [70, 41, 98, -76, 24]], [[-43, 3, -87, -44, -65], [-1, 36, 33, 99, -29], [-85, 69, -39, -97, 21]]]> : tensor<2x3x5xi64>
  %i = stablehlo.constant dense<[[[3, 5], [1, 4]], [[0, 4], [0, 3]], [[0, 2], [0, 2]]]> : tensor<3x2x2xi32>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [], operand_batching_dims = [0, 1], start_indices_batching_dims = [1, 0], start_index_map = [2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 2>, indices_are_sorted = false}> : (tensor<2x3x5xi64>, tensor<3x2x2xi32>) -> tensor<3x2x2x2xi64>
  check.expect_eq_const %0, dense<[[[[41, 41], [41, 41]], [[3, -44], [-87, -65]]], [[[23, 4], [-33, -12]], [[-1, 99], [36, -29]]], [[[70, 98], [41, -76]], [[-85, -39], [69, -97]]]]> : tensor<3x2x2x2xi64>
  return
}
// -----
func.func @main() {
  // gather: starts outside are moved inside
  %x = stablehlo.constant dense<[33, 37, -86, -61, 47]> : tensor<5xi32>
  %i = stablehlo.constant dense<[0]> : tensor<1xi64>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 0>, slice_sizes = array<i64: 3>, indices_are_sorted = false}> : (tensor<5xi32>, tensor<1xi64>) -> tensor<3xi32>
  check.expect_eq_const %0, dense<[33, 37, -86]> : tensor<3xi32>
  return
}
// -----
func.func @main() {
  // gather: starts outside are moved inside
  %x = stablehlo.constant dense<[[-99, -47, -61], [-67, -78, -9], [-30, 58, 84], [36, -75, 23]]> : tensor<4x3xi32>
  %i = stablehlo.constant dense<> : tensor<2x0xi32>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [], index_vector_dim = 1>, slice_sizes = array<i64: 2, 3>, indices_are_sorted = false}> : (tensor<4x3xi32>, tensor<2x0xi32>) -> tensor<2x2x3xi32>
  check.expect_eq_const %0, dense<[[[-99, -47, -61], [-67, -78, -9]], [[-99, -47, -61], [-67, -78, -9]]]> : tensor<2x2x3xi32>
  return
}
// -----
func.func @main() {
  // scatter add: elements outside are dropped, the others come in row-major order
  %x = stablehlo.constant dense<[9, -15, 17, 14]> : tensor<4xi32>
  %i = stablehlo.constant dense<[[3], [1], [-1], [0], [2], [0]]> : tensor<6x1xi32>
  %u = stablehlo.constant dense<[-7, 5, -3, -8, 8, 4]> : tensor<6xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<4xi32>, tensor<6x1xi32>, tensor<6xi32>) -> tensor<4xi32>
  check.expect_eq_const %0, dense<[5, -10, 25, 7]> : tensor<4xi32>
  return
}
// -----
func.func @main() {
  // scatter update: elements outside are dropped, the others come in row-major order
  %x = stablehlo.constant dense<[13, 11, -10, -1]> : tensor<4xi32>
  %i = stablehlo.constant dense<[[1], [1], [2], [-1], [3], [1]]> : tensor<6x1xi64>
  %u = stablehlo.constant dense<[5, -7, 2, -7, -5, -6]> : tensor<6xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<4xi32>, tensor<6x1xi64>, tensor<6xi32>) -> tensor<4xi32>
  check.expect_eq_const %0, dense<[13, -6, 2, -5]> : tensor<4xi32>
  return
}
// -----
func.func @main() {
  // scatter multiply: elements outside are dropped, the others come in row-major order
  %x = stablehlo.constant dense<[5, 9, -13, 8]> : tensor<4xi8>
  %i = stablehlo.constant dense<[0, 3, 3, 1, 2]> : tensor<5xui8>
  %u = stablehlo.constant dense<[9, -6, 5, -9, -3]> : tensor<5xi8>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %1 = stablehlo.multiply %a, %b : tensor<i8>
    stablehlo.return %1 : tensor<i8>
  }) : (tensor<4xi8>, tensor<5xui8>, tensor<5xi8>) -> tensor<4xi8>
  check.expect_eq_const %0, dense<[45, -81, 39, 16]> : tensor<4xi8>
  return
}
// -----
func.func @main() {
  // scatter maximum: elements outside are dropped, the others come in row-major order
  %x = stablehlo.constant dense<[[19, -11, -2, 20], [4, 14, -1, 1], [5, 15, -15, -4]]> : tensor<3x4xi16>
  %i = stablehlo.constant dense<[0, 0, 2]> : tensor<3xi8>
  %u = stablehlo.constant dense<[[-6, 1, 0, -1], [9, 6, 1, 5], [3, -7, -6, -5]]> : tensor<3x4xi16>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<i16>, %b: tensor<i16>):
    %1 = stablehlo.maximum %a, %b : tensor<i16>
    stablehlo.return %1 : tensor<i16>
  }) : (tensor<3x4xi16>, tensor<3xi8>, tensor<3x4xi16>) -> tensor<3x4xi16>
  check.expect_eq_const %0, dense<[[19, 6, 1, 20], [4, 14, -1, 1], [5, 15, -6, -4]]> : tensor<3x4xi16>
  return
}
// -----
func.func @main() {
  // scatter add: elements outside are dropped, the others come in row-major order
  %x = stablehlo.constant dense<[[19, -14, -12, 20], [-9, -9, -8, 5], [-18, 9, 17, -15]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<[[-1, 0], [-1, 0]]> : tensor<2x2xi32>
  %u = stablehlo.constant dense<[[[-6, 4], [4, -7]]]> : tensor<1x2x2xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 2], inserted_window_dims = [], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 0>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<3x4xi32>, tensor<2x2xi32>, tensor<1x2x2xi32>) -> tensor<3x4xi32>
  check.expect_eq_const %0, dense<[[23, -21, -12, 20], [-9, -9, -8, 5], [-18, 9, 17, -15]]> : tensor<3x4xi32>
  return
}
// -----
func.func @main() {
  // scatter minimum: elements outside are dropped, the others come in row-major order
  %x = stablehlo.constant dense<[[[1, 7], [12, -12], [-7, -11], [4, 10]], [[1, 6], [19, -20], [5, 19], [0, -5]]]> : tensor<2x4x2xi32>
  %i = stablehlo.constant dense<[[[4], [3], [3]], [[-1], [1], [1]]]> : tensor<2x3x1xi16>
  %u = stablehlo.constant dense<[[[-3, 1], [0, 5], [-6, 8]], [[3, -3], [7, 1], [0, -6]]]> : tensor<2x3x2xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.minimum %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<2x4x2xi32>, tensor<2x3x1xi16>, tensor<2x3x2xi32>) -> tensor<2x4x2xi32>
  check.expect_eq_const %0, dense<[[[1, 7], [12, -12], [-7, -11], [-6, 5]], [[1, 6], [0, -20], [5, 19], [0, -5]]]> : tensor<2x4x2xi32>
  return
}
// -----
func.func @main() {
  // scatter add: elements outside are dropped, the others come in row-major order
  %x = stablehlo.constant dense<[[19, -10, -4], [14, -1, 15], [-6, 2, 19], [12, 12, -11]]> : tensor<4x3xi32>
  %i = stablehlo.constant dense<> : tensor<0x1xi32>
  %u = stablehlo.constant dense<> : tensor<0x3xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<4x3xi32>, tensor<0x1xi32>, tensor<0x3xi32>) -> tensor<4x3xi32>
  check.expect_eq_const %0, dense<[[19, -10, -4], [14, -1, 15], [-6, 2, 19], [12, 12, -11]]> : tensor<4x3xi32>
  return
}
// -----
func.func @main() {
  // starts [-3] of boxes [2] in [4]
  %x = stablehlo.constant dense<[9, -3, 7, -3]> : tensor<4xi32>
  %u = stablehlo.constant dense<[86, 51]> : tensor<2xi32>
  %s0 = stablehlo.constant dense<-3> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %s0, sizes = [2] : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %0, dense<[9, -3]> : tensor<2xi32>
  %1 = stablehlo.dynamic_update_slice %x, %u, %s0 : (tensor<4xi32>, tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %1, dense<[86, 51, 7, -3]> : tensor<4xi32>
  return
}
// -----
func.func @main() {
  // starts [3] of boxes [2] in [4]
  %x = stablehlo.constant dense<[-3, -7, -5, -2]> : tensor<4xi8>
  %u = stablehlo.constant dense<[80, 86]> : tensor<2xi8>
  %s0 = stablehlo.constant dense<3> : tensor<i8>
  %0 = stablehlo.dynamic_slice %x, %s0, sizes = [2] : (tensor<4xi8>, tensor<i8>) -> tensor<2xi8>
  check.expect_eq_const %0, dense<[-5, -2]> : tensor<2xi8>
  %1 = stablehlo.dynamic_update_slice %x, %u, %s0 : (tensor<4xi8>, tensor<2xi8>, tensor<i8>) -> tensor<4xi8>
  check.expect_eq_const %1, dense<[-3, -7, 80, 86]> : tensor<4xi8>
  return
}
// -----
func.func @main() {
  // starts [2147483647, -2147483648] of boxes [2, 2] in [3, 4]
  %x = stablehlo.constant dense<[[4, 1, 1, -7], [2, -1, 5, -6], [5, -5, -2, 9]]> : tensor<3x4xi16>
  %u = stablehlo.constant dense<[[84, 84], [85, 54]]> : tensor<2x2xi16>
  %s0 = stablehlo.constant dense<2147483647> : tensor<i32>
  %s1 = stablehlo.constant dense<-2147483648> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %s0, %s1, sizes = [2, 2] : (tensor<3x4xi16>, tensor<i32>, tensor<i32>) -> tensor<2x2xi16>
  check.expect_eq_const %0, dense<[[2, -1], [5, -5]]> : tensor<2x2xi16>
  %1 = stablehlo.dynamic_update_slice %x, %u, %s0, %s1 : (tensor<3x4xi16>, tensor<2x2xi16>, tensor<i32>, tensor<i32>) -> tensor<3x4xi16>
  check.expect_eq_const %1, dense<[[4, 1, 1, -7], [84, 84, 5, -6], [85, 54, -2, 9]]> : tensor<3x4xi16>
  return
}
// -----
func.func @main() {
  // starts [18446744073709551615] of boxes [1] in [4]
  %x = stablehlo.constant dense<[8, -1, -4, 1]> : tensor<4xi32>
  %u = stablehlo.constant dense<[88]> : tensor<1xi32>
  %s0 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  %0 = stablehlo.dynamic_slice %x, %s0, sizes = [1] : (tensor<4xi32>, tensor<ui64>) -> tensor<1xi32>
  check.expect_eq_const %0, dense<[1]> : tensor<1xi32>
  %1 = stablehlo.dynamic_update_slice %x, %u, %s0 : (tensor<4xi32>, tensor<1xi32>, tensor<ui64>) -> tensor<4xi32>
  check.expect_eq_const %1, dense<[8, -1, -4, 88]> : tensor<4xi32>
  return
}
// -----
func.func @main() {
  // starts [5, 0] of boxes [0, 2] in [3, 2]
  %x = stablehlo.constant dense<[[-5, -6], [-9, 0], [2, -2]]> : tensor<3x2xi32>
  %u = stablehlo.constant dense<> : tensor<0x2xi32>
  %s0 = stablehlo.constant dense<5> : tensor<i64>
  %s1 = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.dynamic_slice %x, %s0, %s1, sizes = [0, 2] : (tensor<3x2xi32>, tensor<i64>, tensor<i64>) -> tensor<0x2xi32>
  check.expect_eq_const %0, dense<> : tensor<0x2xi32>
  %1 = stablehlo.dynamic_update_slice %x, %u, %s0, %s1 : (tensor<3x2xi32>, tensor<0x2xi32>, tensor<i64>, tensor<i64>) -> tensor<3x2xi32>
  check.expect_eq_const %1, dense<[[-5, -6], [-9, 0], [2, -2]]> : tensor<3x2xi32>
  return
}
// -----
func.func @main() {
  // starts [255] of boxes [2] in [300]
  %x = stablehlo.constant dense<[9, 2, -4, -4, 8, -7, 5, -8, 3, -4, -5, 0, 3, 9, -9, -4, -3, 4, 5, -8, -5, 7, 3, -6, 9, 3, -4, 1, 7, -5, -1, -2, 9, 1, -8, -8, -5, 3, 6, -6, 6, 2, 4, 9, 4, 0, 6, 5, 4, 4, -6, 9, -6, 7, 1, 7, 7, 4, 4, -9, 1, -8, 0, 4, 3, 1, 0, 9, -7, -2, -6, 5, -2, 7, 3, -8, 6, -6, 7, -2, 8, 0, 3, -2, -7, 2, 8, 4, 9, -4, -2, 4, 9, -6, -7, -6, 7, -5, -6, 8, 9, 5, -9, 0, -2, 0, -9, 1, -4, -7, 5, 5, 7, 3, -5, 2, 9, -2, -8, 0, -9, 5, 1, 0, 1, 6, -5, 6, -3, -3, 0, -8, -3, 1, 2, 6, -9, -4, 8, -3, 8, -2, -3, -8, -6, 0, 1, -1, 4, -5, 1, 5, 4, -7, -4, -2, 0, -6, -3, -1, -4, -2, 7, 0, -1, 2, 7, -6, 9, 7, -2, 0, -4, -2, -1, -5, -7, 5, -7, 5, 7, -7, 7, -8, -9, 9, 0, 8, -1, 4, 9, -7, -4, 0, -3, -2, -4, -1, 8, -9, -4, -5, -8, 5, 9, 3, -9, 6, -8, -4, -7, 8, 2, 1, 6, -8, 7, 0, 7, 7, 8, -4, -4, -6, 4, -2, 5, 8, -1, -2, -1, 6, 8, -2, 9, 6, -1, -8, -3, -8, 9, 5, -4, 1, -5, -9, 6, 4, 7, 5, -1, -9, -7, -6, -4, 9, 8, 9, -2, -5, -8, 0, 4, -8, 1, 7, -1, 9, 6, -7, 7, -4, 3, -1, -2, -4, 6, 5, -8, 1, 4, 5, 2, -3, -8, -5, 6, -5, -5, 5, 7, -8, -9, -2, 4, 7, -5, -7, 3, 8]> : tensor<300xi32>
  %u = stablehlo.constant dense<[69, 80]> : tensor<2xi32>
  %s0 = stablehlo.constant dense<255> : tensor<ui8>
  %0 = stablehlo.dynamic_slice %x, %s0, sizes = [2] : (tensor<300xi32>, tensor<ui8>) -> tensor<2xi32>
  check.expect_eq_const %0, dense<[9, 8]> : tensor<2xi32>
  %1 = stablehlo.dynamic_update_slice %x, %u, %s0 : (tensor<300xi32>, tensor<2xi32>, tensor<ui8>) -> tensor<300xi32>
  check.expect_eq_const %1, dense<[9, 2, -4, -4, 8, -7, 5, -8, 3, -4, -5, 0, 3, 9, -9, -4, -3, 4, 5, -8, -5, 7, 3, -6, 9, 3, -4, 1, 7, -5, -1, -2, 9, 1, -8, -8, -5, 3, 6, -6, 6, 2, 4, 9, 4, 0, 6, 5, 4, 4, -6, 9, -6, 7, 1, 7, 7, 4, 4, -9, 1, -8, 0, 4, 3, 1, 0, 9, -7, -2, -6, 5, -2, 7, 3, -8, 6, -6, 7, -2, 8, 0, 3, -2, -7, 2, 8, 4, 9, -4, -2, 4, 9, -6, -7, -6, 7, -5, -6, 8, 9, 5, -9, 0, -2, 0, -9, 1, -4, -7, 5, 5, 7, 3, -5, 2, 9, -2, -8, 0, -9, 5, 1, 0, 1, 6, -5, 6, -3, -3, 0, -8, -3, 1, 2, 6, -9, -4, 8, -3, 8, -2, -3, -8, -6, 0, 1, -1, 4, -5, 1, 5, 4, -7, -4, -2, 0, -6, -3, -1, -4, -2, 7, 0, -1, 2, 7, -6, 9, 7, -2, 0, -4, -2, -1, -5, -7, 5, -7, 5, 7, -7, 7, -8, -9, 9, 0, 8, -1, 4, 9, -7, -4, 0, -3, -2, -4, -1, 8, -9, -4, -5, -8, 5, 9, 3, -9, 6, -8, -4, -7, 8, 2, 1, 6, -8, 7, 0, 7, 7, 8, -4, -4, -6, 4, -2, 5, 8, -1, -2, -1, 6, 8, -2, 9, 6, -1, -8, -3, -8, 9, 5, -4, 1, -5, -9, 6, 4, 7, 5, -1, -9, -7, -6, -4, 69, 80, 9, -2, -5, -8, 0, 4, -8, 1, 7, -1, 9, 6, -7, 7, -4, 3, -1, -2, -4, 6, 5, -8, 1, 4, 5, 2, -3, -8, -5, 6, -5, -5, 5, 7, -8, -9, -2, 4, 7, -5, -7, 3, 8]> : tensor<300xi32>
  return
}
