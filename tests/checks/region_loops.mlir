// sort: a table looked up; two operands, ties keep their order
func.func @main() {
  %x = stablehlo.constant dense<[[2, 0], [1, 2], [0, 1], [2, 2], [1, 0]]> : tensor<5x2xi32>
  %t = stablehlo.constant dense<[30, 10, 20]> : tensor<3xi32>
  %i = stablehlo.iota dim = 0 : tensor<5x2xi8>
  %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i8>, %d: tensor<i8>):
    %1 = stablehlo.dynamic_slice %t, %a, sizes = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.dynamic_slice %t, %b, sizes = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>
    %3 = stablehlo.compare LT, %1, %2 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %4 = stablehlo.reshape %3 : (tensor<1xi1>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  }) : (tensor<5x2xi32>, tensor<5x2xi8>) -> (tensor<5x2xi32>, tensor<5x2xi8>)
  check.expect_eq_const %0#0, dense<[[1, 1], [1, 2], [2, 2], [2, 0], [0, 0]]> : tensor<5x2xi32>
  check.expect_eq_const %0#1, dense<[[1, 2], [4, 1], [0, 3], [3, 0], [2, 4]]> : tensor<5x2xi8>
  %5 = stablehlo.slice %x [0:1, 0:2] : (tensor<5x2xi32>) -> tensor<1x2xi32>
  %6 = "stablehlo.sort"(%5) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.dynamic_slice %t, %a, sizes = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
    %3 = stablehlo.compare LT, %2, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) : (tensor<1x2xi32>) -> tensor<1x2xi32>
  check.expect_eq_const %6, dense<[[2, 0]]> : tensor<1x2xi32>
  return
}
// -----
// sort: a loop in a branch (remainders by subtraction); one line of each dimension
func.func @main() {
  %x = stablehlo.constant dense<[[5, 3, 7, 1, 4, 6], [8, 2, 2, 9, 0, 12]]> : tensor<2x6xi32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %big = stablehlo.compare GE, %a, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %m = "stablehlo.if"(%big) ({
      %v = stablehlo.while(%k = %a) : tensor<i32> cond {
        %2 = stablehlo.compare GE, %k, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        %2 = stablehlo.subtract %k, %three : tensor<i32>
        stablehlo.return %2 : tensor<i32>
      }
      stablehlo.return %v : tensor<i32>
    }, {
      stablehlo.return %a : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>
    %n = stablehlo.remainder %b, %three : tensor<i32>
    %3 = stablehlo.compare LT, %m, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) : (tensor<2x6xi32>) -> tensor<2x6xi32>
  check.expect_eq_const %0, dense<[[3, 6, 7, 1, 4, 5], [9, 0, 12, 8, 2, 2]]> : tensor<2x6xi32>
  return
}
// -----
// sort: by how many elements of a table are less
func.func @main() {
  %x = stablehlo.constant dense<[15, 35, 5, 25]> : tensor<4xi32>
  %t = stablehlo.constant dense<[30, 10, 20]> : tensor<3xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %2 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %3 = stablehlo.compare LT, %t, %1 : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %4 = stablehlo.compare LT, %t, %2 : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %5 = stablehlo.convert %3 : (tensor<3xi1>) -> tensor<3xi32>
    %6 = stablehlo.convert %4 : (tensor<3xi1>) -> tensor<3xi32>
    %7 = stablehlo.reduce(%5 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
    %8 = stablehlo.reduce(%6 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
    %9 = stablehlo.compare GT, %7, %8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %9 : tensor<i1>
  }) : (tensor<4xi32>) -> tensor<4xi32>
  check.expect_eq_const %0, dense<[35, 25, 15, 5]> : tensor<4xi32>
  return
}
// -----
// scatter: a table looked up; the order of updates matters, those outside are dropped
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %i = stablehlo.constant dense<[[1], [-1], [1], [4], [3]]> : tensor<5x1xi32>
  %u = stablehlo.constant dense<[0, 1, 2, 0, 1]> : tensor<5xi32>
  %t = stablehlo.constant dense<[30, 10, 20]> : tensor<3xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.dynamic_slice %t, %b, sizes = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
    %3 = stablehlo.add %a, %a : tensor<i32>
    %4 = stablehlo.add %3, %2 : tensor<i32>
    stablehlo.return %4 : tensor<i32>
  }) : (tensor<4xi32>, tensor<5x1xi32>, tensor<5xi32>) -> tensor<4xi32>
  check.expect_eq_const %0, dense<[1, 88, 3, 18]> : tensor<4xi32>
  return
}
// -----
// scatter: windows that are partly outside, an index beyond all signed numbers
func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi32>
  %i = stablehlo.constant dense<[[0, 2], [1, 3], [18446744073709551615, 0]]> : tensor<3x2xui64>
  %u = stablehlo.constant dense<[[[0], [1]], [[2], [0]], [[1], [1]]]> : tensor<3x2x1xi32>
  %t = stablehlo.constant dense<[30, 10, 20]> : tensor<3xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.dynamic_slice %t, %b, sizes = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
    %3 = stablehlo.add %a, %a : tensor<i32>
    %4 = stablehlo.add %3, %2 : tensor<i32>
    stablehlo.return %4 : tensor<i32>
  }) : (tensor<2x4xi32>, tensor<3x2xui64>, tensor<3x2x1xi32>) -> tensor<2x4xi32>
  check.expect_eq_const %0, dense<[[0, 1, 34, 3], [4, 5, 22, 34]]> : tensor<2x4xi32>
  return
}
// -----
// scatter: two inputs and a loop, which would not end for the update that is dropped
func.func @main() {
  %x = stablehlo.constant dense<[1, 5]> : tensor<2xi64>
  %y = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %i = stablehlo.constant dense<[0, 7]> : tensor<2xi32>
  %u = stablehlo.constant dense<[4, 3]> : tensor<2xi64>
  %v = stablehlo.constant dense<[0.5, 9.0]> : tensor<2xf32>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i64>, %c: tensor<f32>, %b: tensor<i64>, %d: tensor<f32>):
    %1:2 = stablehlo.while(%k = %a, %s = %c) : tensor<i64>, tensor<f32> cond {
      %2 = stablehlo.compare NE, %k, %b : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.add %k, %one : tensor<i64>
      %3 = stablehlo.add %s, %d : tensor<f32>
      stablehlo.return %2, %3 : tensor<i64>, tensor<f32>
    }
    stablehlo.return %1#0, %1#1 : tensor<i64>, tensor<f32>
  }) : (tensor<2xi64>, tensor<2xf32>, tensor<2xi32>, tensor<2xi64>, tensor<2xf32>) -> (tensor<2xi64>, tensor<2xf32>)
  check.expect_eq_const %0#0, dense<[4, 5]> : tensor<2xi64>
  check.expect_eq_const %0#1, dense<[2.5, 2.0]> : tensor<2xf32>
  return
}
// -----
// scatter: numbers drawn from a state, the same for every update
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xui32>
  %i = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>
  %u = stablehlo.constant dense<[10, 20]> : tensor<2xui32>
  %s = stablehlo.constant dense<[7, 11]> : tensor<2xui64>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<ui32>, %b: tensor<ui32>):
    %1, %2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<1xui32>)
    %3 = stablehlo.reshape %2 : (tensor<1xui32>) -> tensor<ui32>
    %4 = stablehlo.add %b, %3 : tensor<ui32>
    stablehlo.return %4 : tensor<ui32>
  }) : (tensor<3xui32>, tensor<2x1xi32>, tensor<2xui32>) -> tensor<3xui32>
  %5, %6 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<1xui32>)
  %7 = stablehlo.constant dense<[20, 2, 10]> : tensor<3xui32>
  %8 = stablehlo.constant dense<[1, 0, 1]> : tensor<3xui32>
  %9 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<1xui32>) -> tensor<3xui32>
  %10 = stablehlo.multiply %8, %9 : tensor<3xui32>
  %11 = stablehlo.add %7, %10 : tensor<3xui32>
  %12 = stablehlo.subtract %0, %11 : tensor<3xui32>
  check.expect_eq_const %12, dense<0> : tensor<3xui32>
  return
}
// -----
// reduce_window: a table looked up; padding and the gaps of a dilated operand count as the first value
func.func @main() {
  %x = stablehlo.constant dense<[0, 1, 2, 1]> : tensor<4xi32>
  %t = stablehlo.constant dense<[30, 10, 20]> : tensor<3xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.dynamic_slice %t, %b, sizes = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
    %3 = stablehlo.add %a, %a : tensor<i32>
    %4 = stablehlo.add %3, %2 : tensor<i32>
    stablehlo.return %4 : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %0, dense<[90, 70, 40, 50]> : tensor<4xi32>
  %y = stablehlo.constant dense<[0, 1, 2]> : tensor<3xi32>
  %5 = "stablehlo.reduce_window"(%y, %z) <{window_dimensions = array<i64: 2>, base_dilations = array<i64: 2>, window_dilations = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.dynamic_slice %t, %b, sizes = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
    %3 = stablehlo.add %a, %a : tensor<i32>
    %4 = stablehlo.add %3, %2 : tensor<i32>
    stablehlo.return %4 : tensor<i32>
  }) : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %5, dense<[70, 90, 40]> : tensor<3xi32>
  return
}
// -----
// reduce_window: two operands and a loop, windows of two dimensions; an operand without elements
func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2], [2, 0, 1]]> : tensor<2x3xi32>
  %y = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %0:2 = "stablehlo.reduce_window"(%x, %y, %z, %f) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<i32>, %c: tensor<f32>, %b: tensor<i32>, %d: tensor<f32>):
    %1:2 = stablehlo.while(%k = %z, %s = %c) : tensor<i32>, tensor<f32> cond {
      %2 = stablehlo.compare LT, %k, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.add %k, %one : tensor<i32>
      %3 = stablehlo.add %s, %d : tensor<f32>
      stablehlo.return %2, %3 : tensor<i32>, tensor<f32>
    }
    %4 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %4, %1#1 : tensor<i32>, tensor<f32>
  }) : (tensor<2x3xi32>, tensor<2x3xf32>, tensor<i32>, tensor<f32>) -> (tensor<1x2xi32>, tensor<1x2xf32>)
  check.expect_eq_const %0#0, dense<[[3, 4]]> : tensor<1x2xi32>
  check.expect_eq_const %0#1, dense<[[10.0, 14.0]]> : tensor<1x2xf32>
  %e = stablehlo.constant dense<> : tensor<0xi32>
  %5 = "stablehlo.reduce_window"(%e, %one) <{window_dimensions = array<i64: 2>, padding = dense<[[2, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.while(%k = %a) : tensor<i32> cond {
      %2 = stablehlo.compare LT, %k, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.add %k, %one : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }
    %3 = stablehlo.add %1, %b : tensor<i32>
    stablehlo.return %3 : tensor<i32>
  }) : (tensor<0xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %5, dense<[3, 3]> : tensor<2xi32>
  return
}
// -----
// select_and_scatter: tables looked up in both regions; the first window lies in padding
func.func @main() {
  %x = stablehlo.constant dense<[0, 1, 2, 1]> : tensor<4xi32>
  %s = stablehlo.constant dense<[2, 1, 0, 2, 0]> : tensor<5xi32>
  %t = stablehlo.constant dense<[30, 10, 20]> : tensor<3xi32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %one) <{window_dimensions = array<i64: 2>, padding = dense<[[2, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.dynamic_slice %t, %a, sizes = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.dynamic_slice %t, %b, sizes = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>
    %3 = stablehlo.compare GE, %1, %2 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %4 = stablehlo.reshape %3 : (tensor<1xi1>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.dynamic_slice %t, %b, sizes = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
    %3 = stablehlo.add %a, %a : tensor<i32>
    %4 = stablehlo.add %3, %2 : tensor<i32>
    stablehlo.return %4 : tensor<i32>
  }) : (tensor<4xi32>, tensor<5xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %0, dense<[54, 1, 74, 1]> : tensor<4xi32>
  return
}
// -----
// reduce: an op that others define, looked up in its result
func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2], [2, 2, 1]]> : tensor<2x3xi32>
  %t = stablehlo.constant dense<[10, 30, 20]> : tensor<3xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %z) across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
  reducer(%a: tensor<i32>, %b: tensor<i32>) {
    %1 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %2 = stablehlo.multiply %t, %1 : tensor<3xi32>
    %v, %i = chlo.top_k(%2, k = 1) : tensor<3xi32> -> (tensor<1xi32>, tensor<1xi32>)
    %3 = stablehlo.reshape %v : (tensor<1xi32>) -> tensor<i32>
    %4 = stablehlo.add %a, %3 : tensor<i32>
    stablehlo.return %4 : tensor<i32>
  }
  check.expect_eq_const %0, dense<[90, 150]> : tensor<2xi32>
  return
}
// -----
// sort: complex numbers along, and an order that is none (equal ones before each other): merged as by sort.c
func.func @main() {
  %x = stablehlo.constant dense<[0, 1, 2, 1, 0, 2, 2, 1, 0]> : tensor<9xi32>
  %c = stablehlo.constant dense<[(0.0,1.0),(1.0,1.0),(2.0,1.0),(3.0,1.0),(4.0,1.0),(5.0,1.0),(6.0,1.0),(7.0,1.0),(8.0,1.0)]> : tensor<9xcomplex<f32>>
  %t = stablehlo.constant dense<[30, 10, 20]> : tensor<3xi32>
  %i = stablehlo.iota dim = 0 : tensor<9xi32>
  %0:3 = "stablehlo.sort"(%x, %i, %c) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %e: tensor<i32>, %f: tensor<i32>, %g: tensor<complex<f32>>, %h: tensor<complex<f32>>):
    %1 = stablehlo.dynamic_slice %t, %a, sizes = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.dynamic_slice %t, %b, sizes = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>
    %3 = stablehlo.compare GE, %1, %2 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %4 = stablehlo.reshape %3 : (tensor<1xi1>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  }) : (tensor<9xi32>, tensor<9xi32>, tensor<9xcomplex<f32>>) -> (tensor<9xi32>, tensor<9xi32>, tensor<9xcomplex<f32>>)
  check.expect_eq_const %0#1, dense<[8,4,0,6,5,2,7,3,1]> : tensor<9xi32>
  check.expect_eq_const %0#2, dense<[(8.0,1.0),(4.0,1.0),(0.0,1.0),(6.0,1.0),(5.0,1.0),(2.0,1.0),(7.0,1.0),(3.0,1.0),(1.0,1.0)]> : tensor<9xcomplex<f32>>
  return
}
// -----
// select_and_scatter of complex numbers with look-ups
func.func @main() {
  %x = stablehlo.constant dense<[(0.0,1.0),(1.0,2.0),(2.0,1.0)]> : tensor<3xcomplex<f32>>
  %s = stablehlo.constant dense<[(1.0,1.0),(2.0,5.0)]> : tensor<2xcomplex<f32>>
  %t = stablehlo.constant dense<[3.0, 1.0, 2.0]> : tensor<3xf32>
  %z = stablehlo.constant dense<(1.0,0.0)> : tensor<complex<f32>>
  %k0 = stablehlo.constant dense<1> : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %z) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %r = stablehlo.imag %a : (tensor<complex<f32>>) -> tensor<f32>
    %q = stablehlo.imag %b : (tensor<complex<f32>>) -> tensor<f32>
    %i = stablehlo.convert %r : (tensor<f32>) -> tensor<i32>
    %1 = stablehlo.dynamic_slice %t, %i, sizes = [1] : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>
    %2 = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>
    %4 = stablehlo.compare GE, %2, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  }, {
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %1 = stablehlo.dynamic_slice %t, %k0, sizes = [1] : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>
    %2 = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>
    %3 = stablehlo.complex %2, %2 : tensor<complex<f32>>
    %5 = stablehlo.multiply %a, %b : tensor<complex<f32>>
    %4 = stablehlo.add %5, %3 : tensor<complex<f32>>
    stablehlo.return %4 : tensor<complex<f32>>
  }) : (tensor<3xcomplex<f32>>, tensor<2xcomplex<f32>>, tensor<complex<f32>>) -> tensor<3xcomplex<f32>>
  check.expect_eq_const %0, dense<[(1.0,0.0),(-5.0,15.0),(1.0,0.0)]> : tensor<3xcomplex<f32>>
  return
}
