// reduce_window and select_and_scatter with every attribute, by the definition of their windows.
func.func @main() {
  // add of i32: window [3], strides [1], base dilation [1], window dilation [2], padding [2] [2]
  %x = stablehlo.constant dense<[0, 3, 1, 3, 3]> : tensor<5xi32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 2>, padding = dense<[[2, 2]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<5xi32>, tensor<i32>) -> tensor<5xi32>
  check.expect_eq_const %0, dense<[1, 6, 4, 6, 4]> : tensor<5xi32>
  return
}
// -----
func.func @main() {
  // maximum of i8: window [2], strides [2], base dilation [3], window dilation [1], padding [1] [0]
  %x = stablehlo.constant dense<[0, 0, 1, 3]> : tensor<4xi8>
  %i = stablehlo.constant dense<-128> : tensor<i8>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, base_dilations = array<i64: 3>, window_dilations = array<i64: 1>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %1 = stablehlo.maximum %a, %b : tensor<i8>
    stablehlo.return %1 : tensor<i8>
  }) : (tensor<4xi8>, tensor<i8>) -> tensor<5xi8>
  check.expect_eq_const %0, dense<[0, -128, 0, 1, -128]> : tensor<5xi8>
  return
}
// -----
func.func @main() {
  // add of i16: window [2, 2], strides [1, 2], base dilation [2, 1], window dilation [1, 2], padding [1, 0] [0, 1]
  %x = stablehlo.constant dense<[[1, -2, -2, 3], [1, 0, 2, 1], [3, -2, -3, 0]]> : tensor<3x4xi16>
  %i = stablehlo.constant dense<0> : tensor<i16>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 2, 1>, window_dilations = array<i64: 1, 2>, padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i16>, %b: tensor<i16>):
    %1 = stablehlo.add %a, %b : tensor<i16>
    stablehlo.return %1 : tensor<i16>
  }) : (tensor<3x4xi16>, tensor<i16>) -> tensor<5x2xi16>
  check.expect_eq_const %0, dense<[[-1, -2], [-1, -2], [3, 2], [3, 2], [0, -3]]> : tensor<5x2xi16>
  return
}
// -----
func.func @main() {
  // minimum of i8: window [2, 3], strides [2, 1], base dilation [1, 1], window dilation [1, 1], padding [-1, 1] [0, -2]
  %x = stablehlo.constant dense<[[-1, -2, -3, 1], [3, 2, 2, -3], [1, 0, 0, 2]]> : tensor<3x4xi8>
  %i = stablehlo.constant dense<127> : tensor<i8>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 1>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[-1, 0], [1, -2]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %1 = stablehlo.minimum %a, %b : tensor<i8>
    stablehlo.return %1 : tensor<i8>
  }) : (tensor<3x4xi8>, tensor<i8>) -> tensor<1x1xi8>
  check.expect_eq_const %0, dense<[[0]]> : tensor<1x1xi8>
  return
}
// -----
func.func @main() {
  // maximum of ui8: window [2, 2, 1], strides [1, 1, 1], base dilation [1, 2, 1], window dilation [2, 1, 1], padding [1, 0, 1] [2, 1, 0]
  %x = stablehlo.constant dense<[[[1, 0], [0, 0], [0, 1]], [[1, 0], [3, 2], [3, 1]]]> : tensor<2x3x2xui8>
  %i = stablehlo.constant dense<0> : tensor<ui8>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2, 1>, window_strides = array<i64: 1, 1, 1>, base_dilations = array<i64: 1, 2, 1>, window_dilations = array<i64: 2, 1, 1>, padding = dense<[[1, 2], [0, 1], [1, 0]]> : tensor<3x2xi64>}> ({
  ^bb0(%a: tensor<ui8>, %b: tensor<ui8>):
    %1 = stablehlo.maximum %a, %b : tensor<ui8>
    stablehlo.return %1 : tensor<ui8>
  }) : (tensor<2x3x2xui8>, tensor<ui8>) -> tensor<3x5x3xui8>
  check.expect_eq_const %0, dense<[[[0, 1, 0], [0, 3, 2], [0, 3, 2], [0, 3, 1], [0, 3, 1]], [[0, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 1]], [[0, 1, 0], [0, 3, 2], [0, 3, 2], [0, 3, 1], [0, 3, 1]]]> : tensor<3x5x3xui8>
  return
}
// -----
func.func @main() {
  // add of i64: window [6], strides [1], base dilation [1], window dilation [1], padding [5] [0]
  %x = stablehlo.constant dense<[1, -2, 2, -1, 0, -3]> : tensor<6xi64>
  %i = stablehlo.constant dense<0> : tensor<i64>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 6>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<[[5, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %1 = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %1 : tensor<i64>
  }) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi64>
  check.expect_eq_const %0, dense<[1, -1, 1, 0, 0, -3]> : tensor<6xi64>
  return
}
// -----
func.func @main() {
  // multiply of i8: window [3], strides [1], base dilation [1], window dilation [1], padding [1] [1]
  %x = stablehlo.constant dense<[2, -3, 0, 2]> : tensor<4xi8>
  %i = stablehlo.constant dense<1> : tensor<i8>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %1 = stablehlo.multiply %a, %b : tensor<i8>
    stablehlo.return %1 : tensor<i8>
  }) : (tensor<4xi8>, tensor<i8>) -> tensor<4xi8>
  check.expect_eq_const %0, dense<[-6, 0, 0, 0]> : tensor<4xi8>
  return
}
// -----
func.func @main() {
  // add of i32: window [5], strides [1], base dilation [1], window dilation [1], padding [0] [0]
  %x = stablehlo.constant dense<[-1, 0]> : tensor<2xi32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 5>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<2xi32>, tensor<i32>) -> tensor<0xi32>
  check.expect_eq_const %0, dense<> : tensor<0xi32>
  return
}
// -----
func.func @main() {
  // add of i32: window [1, 2], strides [1, 1], base dilation [1, 1], window dilation [1, 1], padding [0, 0] [0, 0]
  %x = stablehlo.constant dense<> : tensor<0x2xi32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 1>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<0x2xi32>, tensor<i32>) -> tensor<0x1xi32>
  check.expect_eq_const %0, dense<> : tensor<0x1xi32>
  return
}
// -----
func.func @main() {
  // add of i32: window [2], strides [1], base dilation [1], window dilation [1], padding [1] [1]
  %x = stablehlo.constant dense<[1, 3, -3]> : tensor<3xi32>
  %i = stablehlo.constant dense<10> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<3xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %0, dense<[21, 14, 10, 17]> : tensor<4xi32>
  return
}
// -----
func.func @main() {
  // ties go by GE: window [3], strides [1], padding [0] [0]
  %x = stablehlo.constant dense<[2, 1, 1, 0, 2, 1]> : tensor<6xi32>
  %s = stablehlo.constant dense<[1, 2, 2, 7]> : tensor<4xi32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.compare GE, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<6xi32>, tensor<4xi32>, tensor<i32>) -> tensor<6xi32>
  check.expect_eq_const %0, dense<[1, 2, 0, 0, 9, 0]> : tensor<6xi32>
  return
}
// -----
func.func @main() {
  // ties go by GT: window [3], strides [2], padding [1] [1]
  %x = stablehlo.constant dense<[0, 1, 1, 0, 0, 2]> : tensor<6xi32>
  %s = stablehlo.constant dense<[1, 4, 4]> : tensor<3xi32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<6xi32>, tensor<3xi32>, tensor<i32>) -> tensor<6xi32>
  check.expect_eq_const %0, dense<[0, 1, 4, 0, 0, 4]> : tensor<6xi32>
  return
}
// -----
func.func @main() {
  // ties go by GE: window [2, 3], strides [1, 2], padding [1, 0] [0, 1]
  %x = stablehlo.constant dense<[[0, 1, 1, 2, 1], [1, 0, 2, 2, 0], [2, 1, 1, 0, 1], [1, 0, 1, 0, 0]]> : tensor<4x5xi16>
  %s = stablehlo.constant dense<[[4, 2], [1, 1], [8, 8], [3, 9]]> : tensor<4x2xi16>
  %i = stablehlo.constant dense<3> : tensor<i16>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>, padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i16>, %b: tensor<i16>):
    %1 = stablehlo.compare GE, %a, %b, SIGNED : (tensor<i16>, tensor<i16>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<i16>, %b: tensor<i16>):
    %1 = stablehlo.add %a, %b : tensor<i16>
    stablehlo.return %1 : tensor<i16>
  }) : (tensor<4x5xi16>, tensor<4x2xi16>, tensor<i16>) -> tensor<4x5xi16>
  check.expect_eq_const %0, dense<[[3, 7, 3, 6, 3], [3, 3, 20, 3, 3], [6, 3, 12, 3, 3], [3, 3, 3, 3, 3]]> : tensor<4x5xi16>
  return
}
// -----
func.func @main() {
  // ties go by LE: window [2, 2], strides [2, 2], padding [0, 0] [0, 0]
  %x = stablehlo.constant dense<[[0, 1, 2, 0], [2, 0, 1, 2], [1, 0, 1, 1], [0, 0, 1, 2]]> : tensor<4x4xi8>
  %s = stablehlo.constant dense<[[5, 1], [4, 3]]> : tensor<2x2xi8>
  %i = stablehlo.constant dense<0> : tensor<i8>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %1 = stablehlo.compare LE, %a, %b, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %1 = stablehlo.add %a, %b : tensor<i8>
    stablehlo.return %1 : tensor<i8>
  }) : (tensor<4x4xi8>, tensor<2x2xi8>, tensor<i8>) -> tensor<4x4xi8>
  check.expect_eq_const %0, dense<[[5, 0, 0, 1], [0, 0, 0, 0], [0, 4, 3, 0], [0, 0, 0, 0]]> : tensor<4x4xi8>
  return
}
