// pad, convolution and dot_general with every attribute, by their definitions; dimensions in any order.
func.func @main() {
  // pad [3] low [-2] high [1] interior [2]
  %x = stablehlo.constant dense<[3, 9, -6]> : tensor<3xi32>
  %v = stablehlo.constant dense<99> : tensor<i32>
  %0 = stablehlo.pad %x, %v, low = [-2], high = [1], interior = [2] : (tensor<3xi32>, tensor<i32>) -> tensor<6xi32>
  check.expect_eq_const %0, dense<[99, 9, 99, 99, -6, 99]> : tensor<6xi32>
  return
}
// -----
func.func @main() {
  // pad [4, 3] low [-1, 2] high [-2, -1] interior [0, 3]
  %x = stablehlo.constant dense<[[-8, -5, -3], [5, -1, -9], [1, 0, 3], [-7, -7, -7]]> : tensor<4x3xi8>
  %v = stablehlo.constant dense<99> : tensor<i8>
  %0 = stablehlo.pad %x, %v, low = [-1, 2], high = [-2, -1], interior = [0, 3] : (tensor<4x3xi8>, tensor<i8>) -> tensor<1x10xi8>
  check.expect_eq_const %0, dense<[[99, 99, 5, 99, 99, 99, -1, 99, 99, 99]]> : tensor<1x10xi8>
  return
}
// -----
func.func @main() {
  // pad [2, 2] low [-3, 0] high [4, -1] interior [1, 1]
  %x = stablehlo.constant dense<[[3, 9], [3, 0]]> : tensor<2x2xui8>
  %v = stablehlo.constant dense<99> : tensor<ui8>
  %0 = stablehlo.pad %x, %v, low = [-3, 0], high = [4, -1], interior = [1, 1] : (tensor<2x2xui8>, tensor<ui8>) -> tensor<4x2xui8>
  check.expect_eq_const %0, dense<[[99, 99], [99, 99], [99, 99], [99, 99]]> : tensor<4x2xui8>
  return
}
// -----
func.func @main() {
  // pad [3] low [-1] high [-2] interior [0]
  %x = stablehlo.constant dense<[2, 2, 5]> : tensor<3xi64>
  %v = stablehlo.constant dense<99> : tensor<i64>
  %0 = stablehlo.pad %x, %v, low = [-1], high = [-2], interior = [0] : (tensor<3xi64>, tensor<i64>) -> tensor<0xi64>
  check.expect_eq_const %0, dense<> : tensor<0xi64>
  return
}
// -----
func.func @main() {
  // pad [0] low [2] high [1] interior [3]
  %x = stablehlo.constant dense<> : tensor<0xi32>
  %v = stablehlo.constant dense<99> : tensor<i32>
  %0 = stablehlo.pad %x, %v, low = [2], high = [1], interior = [3] : (tensor<0xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %0, dense<[99, 99, 99]> : tensor<3xi32>
  return
}
// -----
func.func @main() {
  // pad [1, 0, 2] low [0, 1, -1] high [1, 0, 0] interior [5, 0, 1]
  %x = stablehlo.constant dense<> : tensor<1x0x2xi16>
  %v = stablehlo.constant dense<99> : tensor<i16>
  %0 = stablehlo.pad %x, %v, low = [0, 1, -1], high = [1, 0, 0], interior = [5, 0, 1] : (tensor<1x0x2xi16>, tensor<i16>) -> tensor<2x1x2xi16>
  check.expect_eq_const %0, dense<[[[99, 99]], [[99, 99]]]> : tensor<2x1x2xi16>
  return
}
// -----
func.func @main() {
  // 1 feature groups, 1 batch groups
  %x = stablehlo.constant dense<[[[-2], [3], [-2], [2], [-2]]]> : tensor<1x5x1xi32>
  %k = stablehlo.constant dense<[[[-2]], [[0]], [[-1]]]> : tensor<3x1x1xi32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[1, 1]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x1xi32>, tensor<3x1x1xi32>) -> tensor<1x5x1xi32>
  check.expect_eq_const %0, dense<[[[-3], [6], [-8], [6], [-4]]]> : tensor<1x5x1xi32>
  return
}
// -----
func.func @main() {
  // 1 feature groups, 1 batch groups
  %x = stablehlo.constant dense<[[[-1], [-1]], [[-2], [4]], [[-1], [2]], [[3], [-3]], [[2], [-4]]]> : tensor<5x2x1xi32>
  %k = stablehlo.constant dense<[[[-3, 2], [-3, 0], [-4, 2]], [[4, 3], [0, 0], [-1, 4]]]> : tensor<2x3x2xi32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [0, f, b]x[i, o, 0]->[f, b, 0], window = {stride = [2], pad = [[2, -1]], lhs_dilate = [2], rhs_dilate = [3], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<5x2x1xi32>, tensor<2x3x2xi32>) -> tensor<3x1x4xi32>
  check.expect_eq_const %0, dense<[[[0, -5, 8, 4]], [[0, 0, 0, 0]], [[0, -6, 12, 6]]]> : tensor<3x1x4xi32>
  return
}
// -----
func.func @main() {
  // 2 feature groups, 1 batch groups
  %x = stablehlo.constant dense<[[[0, -3], [-1, 1], [-1, -2], [-4, 3]], [[-3, 1], [0, 4], [2, -2], [3, -4]], [[-1, -4], [-4, 3], [-4, 1], [-2, 0]], [[0, -4], [1, -4], [4, -3], [-2, 3]]]> : tensor<4x4x2xi16>
  %k = stablehlo.constant dense<[[[-3, 0, 1, -2], [1, -4, -2, 1], [2, -4, 3, -4]], [[-3, -3, 3, 4], [1, -3, 3, -3], [2, 2, -4, -3]]]> : tensor<2x3x4xi16>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [0, f, b]x[i, 0, o]->[b, f, 0], window = {stride = [1], pad = [[0, 2]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<4x4x2xi16>, tensor<2x3x4xi16>) -> tensor<2x4x4xi16>
  check.expect_eq_const %0, dense<[[[-10, 6, 16, -3], [11, 18, 9, -3], [-12, 33, -24, -2], [1, 0, 10, -16]], [[9, -32, -5, 24], [3, 3, 19, 12], [2, -37, 16, 6], [22, -8, -14, 18]]]> : tensor<2x4x4xi16>
  return
}
// -----
func.func @main() {
  // 1 feature groups, 2 batch groups
  %x = stablehlo.constant dense<[[[1, -3, 3, 0], [2, 4, -4, -4]], [[3, 4, -1, 1], [3, -4, -3, 0]], [[3, 0, 3, -2], [4, -3, 3, -1]]]> : tensor<3x2x4xi32>
  %k = stablehlo.constant dense<[[[4, 0], [3, -1]], [[-2, -1], [-1, 2]], [[1, 2], [1, -1]], [[3, -1], [2, 1]]]> : tensor<4x2x2xi32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [0, f, b]x[o, i, 0]->[f, b, 0], window = {stride = [1], pad = [[1, 0]], lhs_dilate = [2], rhs_dilate = [1], reverse = [true]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<3x2x4xi32>, tensor<4x2x2xi32>) -> tensor<4x2x5xi32>
  check.expect_eq_const %0, dense<[[[10, -2, 21, -3, 24], [0, -4, 4, 4, -9]], [[-4, 3, -9, 3, -10], [2, 11, -4, -12, 3]], [[-1, 10, -4, 1, 6], [-4, 4, 1, 2, -3]], [[1, -7, -9, -2, 15], [-8, -4, 3, -1, -8]]]> : tensor<4x2x5xi32>
  return
}
// -----
func.func @main() {
  // 3 feature groups, 1 batch groups
  %x = stablehlo.constant dense<[[[[-3, 1, 2], [0, 3, 3], [-2, 1, -1]], [[-3, -3, -4], [3, -4, 0], [3, 0, -1]], [[0, -4, -2], [-1, 0, -4], [2, 1, -3]], [[2, 0, 3], [4, -4, -3], [3, -2, 4]]]]> : tensor<1x4x3x3xi8>
  %k = stablehlo.constant dense<[[[[1, -1], [-3, 3], [-1, 0]], [[-2, 4], [-4, -4], [3, -2]]]]> : tensor<1x2x3x2xi8>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 1, f, 0]x[i, 0, o, 1]->[f, 1, 0, b], window = {stride = [1, 2], pad = [[1, 0], [-1, 2]], lhs_dilate = [1, 2], rhs_dilate = [2, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x4x3x3xi8>, tensor<1x2x3x2xi8>) -> tensor<3x4x2x1xi8>
  check.expect_eq_const %0, dense<[[[[6], [5]], [[8], [4]], [[0], [-4]], [[0], [0]]], [[[16], [-9]], [[0], [19]], [[16], [0]], [[0], [0]]], [[[0], [-6]], [[3], [-11]], [[-6], [9]], [[0], [0]]]]> : tensor<3x4x2x1xi8>
  return
}
// -----
func.func @main() {
  // 2 feature groups, 1 batch groups
  %x = stablehlo.constant dense<[[[[-2, 0], [3, 4]], [[4, 4], [4, -3]], [[-3, 2], [-3, 0]]], [[[3, 1], [-1, 0]], [[1, -4], [3, 3]], [[-1, 3], [-1, -4]]], [[[-4, -4], [2, 1]], [[1, 1], [-1, 4]], [[2, -1], [-3, -3]]]]> : tensor<3x3x2x2xi32>
  %k = stablehlo.constant dense<[[[[2], [-4]], [[3], [-2]]], [[[-2], [4]], [[4], [4]]], [[[1], [-2]], [[3], [3]]]]> : tensor<3x2x2x1xi32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [1, 0, f, b]x[1, 0, o, i]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[0, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<3x3x2x2xi32>, tensor<3x2x2x1xi32>) -> tensor<2x2x2x3xi32>
  check.expect_eq_const %0, dense<[[[[-6, 1, -7], [-15, -7, 5]], [[19, -6, -6], [-15, -7, -10]]], [[[-9, 9, -23], [17, 15, 5]], [[-2, 11, 8], [-12, -25, -4]]]]> : tensor<2x2x2x3xi32>
  return
}
// -----
func.func @main() {
  // 1 feature groups, 2 batch groups
  %x = stablehlo.constant dense<[[[[-1, 3], [0, -1], [-2, 2]], [[4, 4], [4, -3], [0, 4]]]]> : tensor<1x2x3x2xi64>
  %k = stablehlo.constant dense<[[[[-4, -4]], [[2, 4]]]]> : tensor<1x2x1x2xi64>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [f, 0, 1, b]x[i, o, 1, 0]->[1, f, b, 0], window = {stride = [1, 1], pad = [[1, 1], [0, 0]], lhs_dilate = [2, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<1x2x3x2xi64>, tensor<1x2x1x2xi64>) -> tensor<3x2x1x4xi64>
  check.expect_eq_const %0, dense<[[[[4, 4, -16, -16]], [[12, 6, 16, 8]]], [[[0, 0, -16, -16]], [[-4, -2, -12, -6]]], [[[8, 8, 0, 0]], [[8, 4, 16, 8]]]]> : tensor<3x2x1x4xi64>
  return
}
// -----
func.func @main() {
  // 1 feature groups, 1 batch groups
  %x = stablehlo.constant dense<[[[[[2, 2], [-2, 1]], [[0, -1], [2, 3]], [[3, 3], [4, 1]]]], [[[[-3, -1], [-4, -4]], [[2, -4], [-1, -2]], [[0, -2], [-1, -4]]]]]> : tensor<2x1x3x2x2xi32>
  %k = stablehlo.constant dense<[[[[[0], [1]]], [[[3], [-3]]]], [[[[1], [-1]]], [[[3], [-3]]]]]> : tensor<2x2x1x2x1xi32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [0, b, 2, 1, f]x[2, 1, 0, i, o]->[f, b, 1, 0, 2], window = {stride = [1, 1, 1], pad = [[0, 0], [1, 0], [0, 1]], lhs_dilate = [1, 1, 1], rhs_dilate = [1, 1, 2], reverse = [false, true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x1x3x2x2xi32>, tensor<2x2x1x2x1xi32>) -> tensor<1x1x2x2x2xi32>
  check.expect_eq_const %0, dense<[[[[[2, -1], [1, -4]], [[4, 6], [-1, 16]]]]]> : tensor<1x1x2x2x2xi32>
  return
}
// -----
func.func @main() {
  // 1 feature groups, 1 batch groups
  %x = stablehlo.constant dense<[[4, -1, 4], [-1, 4, -2]]> : tensor<2x3xi32>
  %k = stablehlo.constant dense<[[-1, 1], [-2, 1], [1, -1]]> : tensor<3x2xi32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f]x[i, o]->[b, f], window = {stride = [], pad = [], lhs_dilate = [], rhs_dilate = [], reverse = []} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[2, -1], [-9, 5]]> : tensor<2x2xi32>
  return
}
// -----
func.func @main() {
  // 1 feature groups, 1 batch groups
  %x = stablehlo.constant dense<[[[-1], [-1], [-3]]]> : tensor<1x3x1xi32>
  %k = stablehlo.constant dense<[[[-2]], [[-1]], [[-2]], [[-3]], [[0]]]> : tensor<5x1x1xi32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x1xi32>, tensor<5x1x1xi32>) -> tensor<1x0x1xi32>
  check.expect_eq_const %0, dense<> : tensor<1x0x1xi32>
  return
}
// -----
func.func @main() {
  // 3 feature groups, 1 batch groups
  %x = stablehlo.constant dense<[[[3, 0, 3, 3, 4, 1], [1, 3, 0, 0, 1, 4]]]> : tensor<1x2x6xui8>
  %k = stablehlo.constant dense<[[[2], [2], [0], [4], [2], [4]], [[1], [0], [3], [0], [0], [0]]]> : tensor<2x6x1xui8>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[i, o, 0]->[0, f, b], window = {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x2x6xui8>, tensor<2x6x1xui8>) -> tensor<2x6x1xui8>
  check.expect_eq_const %0, dense<[[[6], [6], [9], [12], [8], [16]], [[5], [2], [0], [0], [2], [4]]]> : tensor<2x6x1xui8>
  return
}
// -----
func.func @main() {
  // dot_general: 1 batch, 1 contracting, 1 and 1 free
  %a = stablehlo.constant dense<[[[-3]], [[5]]]> : tensor<2x1x1xi32>
  %b = stablehlo.constant dense<[[[2, -4]], [[-4, 0]]]> : tensor<2x1x2xi32>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (tensor<2x1x1xi32>, tensor<2x1x2xi32>) -> tensor<1x1x2xi32>
  check.expect_eq_const %0, dense<[[[-26, 12]]]> : tensor<1x1x2xi32>
  return
}
// -----
func.func @main() {
  // dot_general: 2 batch, 1 contracting, 1 and 1 free
  %a = stablehlo.constant dense<[[[[-2, -3, 1], [2, 0, 0]], [[1, -2, 4], [-3, -4, 3]]], [[[-5, 0, -4], [5, 1, 4]], [[4, -2, 3], [4, 0, -1]]], [[[-1, -4, -3], [1, -3, 0]], [[3, 0, 1], [-3, 1, -2]]]]> : tensor<3x2x2x3xi16>
  %b = stablehlo.constant dense<[[[[-3, -4], [0, -1], [2, -4]], [[-5, 0], [5, 4], [-5, -2]]], [[[-1, 5], [-1, 0], [-2, 5]], [[1, 4], [-3, 3], [-4, 1]]]]> : tensor<2x2x3x2xi16>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [2, 1] x [3, 0], contracting_dims = [0] x [2] : (tensor<3x2x2x3xi16>, tensor<2x2x3x2xi16>) -> tensor<2x2x3x2xi16>
  check.expect_eq_const %0, dense<[[[[4, -10], [1, 35], [-9, -10]], [[-11, -23], [4, 4], [-9, -9]]], [[[-17, 18], [11, 10], [-4, 16]], [[-30, -3], [-15, -15], [5, 7]]]]> : tensor<2x2x3x2xi16>
  return
}
// -----
func.func @main() {
  // dot_general: 0 batch, 2 contracting, 1 and 1 free
  %a = stablehlo.constant dense<[[[-2, -1], [2, 1]], [[3, -5], [-2, 5]]]> : tensor<2x2x2xi8>
  %b = stablehlo.constant dense<[[[1, -5, -4], [-1, -1, -1]], [[0, 3, 3], [3, 1, 3]]]> : tensor<2x2x3xi8>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0, 2] x [0, 1] : (tensor<2x2x2xi8>, tensor<2x2x3xi8>) -> tensor<2x3xi8>
  check.expect_eq_const %0, dense<[[-16, 15, 3], [16, -12, 0]]> : tensor<2x3xi8>
  return
}
// -----
func.func @main() {
  // dot_general: 2 batch, 2 contracting, 0 and 1 free
  %a = stablehlo.constant dense<[[[[1, 2], [1, -1]], [[3, 1], [4, -1]]], [[[0, 3], [-1, 2]], [[5, -1], [3, -1]]], [[[5, -1], [-5, -5]], [[-2, 4], [-5, 5]]]]> : tensor<3x2x2x2xi64>
  %b = stablehlo.constant dense<[[[[[-3, 1], [5, 1]], [[-5, 0], [1, -5]]], [[[4, 0], [-4, -2]], [[1, 2], [-1, -2]]], [[[-5, 3], [-4, 2]], [[-3, -2], [4, -4]]]], [[[[-5, 4], [1, 2]], [[-4, -2], [-5, 0]]], [[[3, -3], [-4, 0]], [[2, -3], [5, 1]]], [[[2, 4], [-1, 5]], [[4, 5], [1, 0]]]]]> : tensor<2x3x2x2x2xi64>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [3, 0] x [4, 1], contracting_dims = [1, 2] x [2, 3] : (tensor<3x2x2x2xi64>, tensor<2x3x2x2x2xi64>) -> tensor<2x3x2xi64>
  check.expect_eq_const %0, dense<[[[-9, -36], [6, 29], [-19, 2]], [[6, 4], [-4, -7], [-41, -9]]]> : tensor<2x3x2xi64>
  return
}
// -----
func.func @main() {
  // dot_general: 1 batch, 0 contracting, 1 and 2 free
  %a = stablehlo.constant dense<[[4, 4, 2]]> : tensor<1x3xui8>
  %b = stablehlo.constant dense<[[[2, 2]], [[4, 5]], [[5, 4]]]> : tensor<3x1x2xui8>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [1] x [0], contracting_dims = [] x [] : (tensor<1x3xui8>, tensor<3x1x2xui8>) -> tensor<3x1x1x2xui8>
  check.expect_eq_const %0, dense<[[[[8, 8]]], [[[16, 20]]], [[[10, 8]]]]> : tensor<3x1x1x2xui8>
  return
}
// -----
func.func @main() {
  // dot_general: 0 batch, 0 contracting, 0 and 2 free
  %a = stablehlo.constant dense<5> : tensor<i32>
  %b = stablehlo.constant dense<[[-1, -2, -2], [-2, 3, 5], [-2, 5, -5]]> : tensor<3x3xi32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<i32>, tensor<3x3xi32>) -> tensor<3x3xi32>
  check.expect_eq_const %0, dense<[[-5, -10, -10], [-10, 15, 25], [-10, 25, -25]]> : tensor<3x3xi32>
  return
}
// -----
func.func @main() {
  // dot_general: 1 batch, 2 contracting, 2 and 0 free
  %a = stablehlo.constant dense<[[[[[3, -1], [-4, -4], [5, -3]], [[3, -2], [5, 0], [2, 2]]], [[[0, -2], [0, 0], [2, -3]], [[-4, -4], [2, 4], [-2, 2]]]], [[[[1, -1], [1, -3], [0, -3]], [[5, 4], [0, -1], [3, -3]]], [[[1, 5], [0, 4], [-4, 2]], [[0, -4], [3, -4], [1, 4]]]]]> : tensor<2x2x2x3x2xi32>
  %b = stablehlo.constant dense<[[[4, 2, 5], [2, -1, -5]], [[-4, -1, -2], [5, 4, -4]]]> : tensor<2x2x3xi32>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [3] x [2], contracting_dims = [0, 2] x [0, 1] : (tensor<2x2x2x3x2xi32>, tensor<2x2x3xi32>) -> tensor<3x2x2xi32>
  check.expect_eq_const %0, dense<[[[39, 16], [-12, -56]], [[-14, -9], [10, -24]], [[3, -7], [24, -45]]]> : tensor<3x2x2xi32>
  return
}
// -----
func.func @main() {
  // dot_general: 0 batch, 3 contracting, 1 and 1 free
  %a = stablehlo.constant dense<[[[[2, 4, 4]], [[5, -1, 2]], [[3, -1, 2]]], [[[0, -2, 1]], [[3, -2, -4]], [[0, 0, -5]]], [[[0, 5, 1]], [[4, 1, -2]], [[4, 0, 1]]]]> : tensor<3x3x1x3xi32>
  %b = stablehlo.constant dense<[[[[3, -3, 4], [4, -3, -3], [-4, 2, -1]], [[-5, -2, 3], [-5, 3, -3], [4, -1, -5]], [[5, 1, -4], [4, 3, -1], [3, -4, 0]]]]> : tensor<1x3x3x3xi32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [3, 1, 0] x [3, 1, 2] : (tensor<3x3x1x3xi32>, tensor<1x3x3x3xi32>) -> tensor<1x1xi32>
  check.expect_eq_const %0, dense<[[44]]> : tensor<1x1xi32>
  return
}
