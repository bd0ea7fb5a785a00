// Regions: which branch, how often, in which order; names inside and values from outside.
func.func @main() {
  // case: an index outside chooses the last branch
  %i = stablehlo.constant dense<[-1, 0, 1, 2, 3, 2147483647, -2147483648]> : tensor<7xi32>
  %a = stablehlo.constant dense<10> : tensor<i64>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %y = stablehlo.constant dense<0> : tensor<7xi64>
  %0:2 = stablehlo.while(%k = %n, %r = %y) : tensor<i32>, tensor<7xi64> cond {
    %seven = stablehlo.constant dense<7> : tensor<i32>
    %1 = stablehlo.compare LT, %k, %seven : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.dynamic_slice %i, %k, sizes = [1] : (tensor<7xi32>, tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
    %3 = "stablehlo.case"(%2) ({
      stablehlo.return %a : tensor<i64>
    }, {
      %4 = stablehlo.add %a, %a : tensor<i64>
      stablehlo.return %4 : tensor<i64>
    }, {
      %4 = stablehlo.negate %a : tensor<i64>
      stablehlo.return %4 : tensor<i64>
    }) : (tensor<i32>) -> tensor<i64>
    %5 = stablehlo.reshape %3 : (tensor<i64>) -> tensor<1xi64>
    %6 = stablehlo.dynamic_update_slice %r, %5, %k : (tensor<7xi64>, tensor<1xi64>, tensor<i32>) -> tensor<7xi64>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %7 = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %7, %6 : tensor<i32>, tensor<7xi64>
  }
  check.expect_eq_const %0#1, dense<[-10, 10, 20, -10, -10, -10, -10]> : tensor<7xi64>
  return
}
// -----
func.func @main() {
  // while: no trip at all; and the two values change places at each trip
  %f = stablehlo.constant dense<false> : tensor<i1>
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %0:2 = stablehlo.while(%x = %a, %y = %b) : tensor<2xi32>, tensor<2xi32> cond {
    stablehlo.return %f : tensor<i1>
  } do {
    stablehlo.return %y, %x : tensor<2xi32>, tensor<2xi32>
  }
  check.expect_eq_const %0#0, dense<[1, 2]> : tensor<2xi32>
  %n = stablehlo.constant dense<0> : tensor<ui8>
  %1:3 = stablehlo.while(%k = %n, %x = %a, %y = %b) : tensor<ui8>, tensor<2xi32>, tensor<2xi32> cond {
    %end = stablehlo.constant dense<255> : tensor<ui8>
    %2 = stablehlo.compare NE, %k, %end : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<ui8>
    %2 = stablehlo.add %k, %one : tensor<ui8>
    stablehlo.return %2, %y, %x : tensor<ui8>, tensor<2xi32>, tensor<2xi32>
  }
  check.expect_eq_const %1#0, dense<255> : tensor<ui8>
  check.expect_eq_const %1#1, dense<[3, 4]> : tensor<2xi32>
  check.expect_eq_const %1#2, dense<[1, 2]> : tensor<2xi32>
  return
}
// -----
func.func @main() {
  // while in while: 1 + 2 + 3 + 4 by an inner loop of as many trips, which reads the outer's carry
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %0:2 = stablehlo.while(%i = %one, %s = %zero) : tensor<i32>, tensor<i32> cond {
    %1 = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1:2 = stablehlo.while(%j = %zero, %t = %s) : tensor<i32>, tensor<i32> cond {
      %2 = stablehlo.compare LT, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.add %j, %one : tensor<i32>
      %3 = stablehlo.add %t, %one : tensor<i32>
      stablehlo.return %2, %3 : tensor<i32>, tensor<i32>
    }
    %4 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %4, %1#1 : tensor<i32>, tensor<i32>
  }
  check.expect_eq_const %0#1, dense<10> : tensor<i32>
  return
}
// -----
func.func @main() {
  // if: without results, with two, one branch taken inside the other's
  %t = stablehlo.constant dense<true> : tensor<i1>
  %x = stablehlo.constant dense<[1.5, -2.0]> : tensor<2xf32>
  %0:2 = "stablehlo.if"(%t) ({
    %1 = stablehlo.not %t : tensor<i1>
    %2 = "stablehlo.if"(%1) ({
      stablehlo.return %x : tensor<2xf32>
    }, {
      %3 = stablehlo.abs %x : tensor<2xf32>
      stablehlo.return %3 : tensor<2xf32>
    }) : (tensor<i1>) -> tensor<2xf32>
    stablehlo.return %2, %t : tensor<2xf32>, tensor<i1>
  }, {
    stablehlo.return %x, %t : tensor<2xf32>, tensor<i1>
  }) : (tensor<i1>) -> (tensor<2xf32>, tensor<i1>)
  check.expect_eq_const %0#0, dense<[1.5, 2.0]> : tensor<2xf32>
  "stablehlo.if"(%t) ({
    stablehlo.return
  }, {
    stablehlo.return
  }) : (tensor<i1>) -> ()
  return
}
// -----
func.func @main() {
  // sort: stable, several operands, descending, along a middle dimension
  %k = stablehlo.constant dense<[3, 1, 2, 1, 3, 2, 1]> : tensor<7xi32>
  %v = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6]> : tensor<7xui8>
  %0:2 = "stablehlo.sort"(%k, %v) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<ui8>, %d: tensor<ui8>):
    %1 = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<7xi32>, tensor<7xui8>) -> (tensor<7xi32>, tensor<7xui8>)
  check.expect_eq_const %0#0, dense<[3, 3, 2, 2, 1, 1, 1]> : tensor<7xi32>
  check.expect_eq_const %0#1, dense<[0, 4, 2, 5, 1, 3, 6]> : tensor<7xui8>
  // two keys: first ascending, then the other descending
  %2:2 = "stablehlo.sort"(%k, %v) <{dimension = -1 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<ui8>, %d: tensor<ui8>):
    %3 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.compare EQ, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.compare GT, %c, %d : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    %6 = stablehlo.and %4, %5 : tensor<i1>
    %7 = stablehlo.or %3, %6 : tensor<i1>
    stablehlo.return %7 : tensor<i1>
  }) : (tensor<7xi32>, tensor<7xui8>) -> (tensor<7xi32>, tensor<7xui8>)
  check.expect_eq_const %2#0, dense<[1, 1, 1, 2, 2, 3, 3]> : tensor<7xi32>
  check.expect_eq_const %2#1, dense<[6, 3, 1, 5, 2, 4, 0]> : tensor<7xui8>
  %m = stablehlo.constant dense<[[[3, 0], [1, 5], [2, 4]], [[-1, 9], [-1, 8], [-2, 7]]]> : tensor<2x3x2xi16>
  %8 = "stablehlo.sort"(%m) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<i16>, %b: tensor<i16>):
    %9 = stablehlo.compare LT, %a, %b : (tensor<i16>, tensor<i16>) -> tensor<i1>
    stablehlo.return %9 : tensor<i1>
  }) : (tensor<2x3x2xi16>) -> tensor<2x3x2xi16>
  check.expect_eq_const %8, dense<[[[1, 0], [2, 4], [3, 5]], [[-2, 7], [-1, 8], [-1, 9]]]> : tensor<2x3x2xi16>
  return
}
// -----
func.func @main() {
  // sort by the total order: NaN of both signs at the ends, zeros apart
  %x = stablehlo.constant dense<[0x7FC00000, 0.0, 0x7F800000, -0.0, -1.0, 0xFFC00000, 1.0e-45, 0xFF800000]> : tensor<8xf32>
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = stablehlo.bitcast_convert %0 : (tensor<8xf32>) -> tensor<8xui32>
  check.expect_eq_const %2, dense<[0xFFC00000, 0xFF800000, 0xBF800000, 0x80000000, 0, 1, 0x7F800000, 0x7FC00000]> : tensor<8xui32>
  // top_k: equal elements in their order, NaN first
  %v, %i = chlo.top_k(%x, k = 3) : tensor<8xf32> -> (tensor<3xf32>, tensor<3xi32>)
  check.expect_eq_const %i, dense<[0, 2, 6]> : tensor<3xi32>
  return
}
// -----
func.func @main() {
  // reduce: several operands (the place of the maximum, the first of equals), dimensions in any order
  %x = stablehlo.constant dense<[[1, 7, 7], [9, -2, 9]]> : tensor<2x3xi32>
  %j = stablehlo.iota dim = 1 : tensor<2x3xi64>
  %lo = stablehlo.constant dense<-2147483648> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i64>
  %0:2 = stablehlo.reduce(%x init: %lo), (%j init: %z) across dimensions = [1] : (tensor<2x3xi32>, tensor<2x3xi64>, tensor<i32>, tensor<i64>) -> (tensor<2xi32>, tensor<2xi64>)
    reducer(%a: tensor<i32>, %b: tensor<i32>) (%c: tensor<i64>, %d: tensor<i64>) {
    %1 = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = stablehlo.compare EQ, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = stablehlo.compare LT, %c, %d : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %4 = stablehlo.and %2, %3 : tensor<i1>
    %5 = stablehlo.or %1, %4 : tensor<i1>
    %6 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<i32>
    %7 = stablehlo.select %5, %c, %d : tensor<i1>, tensor<i64>
    stablehlo.return %6, %7 : tensor<i32>, tensor<i64>
  }
  check.expect_eq_const %0#0, dense<[7, 9]> : tensor<2xi32>
  check.expect_eq_const %0#1, dense<[1, 0]> : tensor<2xi64>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %8 = stablehlo.reduce(%x init: %one) applies stablehlo.add across dimensions = [1, 0] : (tensor<2x3xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %8, dense<32> : tensor<i32>
  %9 = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x3xi32>
  check.expect_eq_const %9, dense<[[1, 7, 7], [9, -2, 9]]> : tensor<2x3xi32>
  %e = stablehlo.constant dense<> : tensor<0x3xi32>
  %10 = stablehlo.reduce(%e init: %one) applies stablehlo.add across dimensions = [0] : (tensor<0x3xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %10, dense<[1, 1, 1]> : tensor<3xi32>
  return
}
// -----
func.func @main() {
  // map: a region that reads its own index-free neighbours only; rank 0 as well
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %y = stablehlo.constant dense<[[10, 20], [30, 40]]> : tensor<2x2xi64>
  %0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i64>):
    %1 = stablehlo.convert %a : (tensor<i32>) -> tensor<i64>
    %2 = stablehlo.multiply %1, %b : tensor<i64>
    stablehlo.return %2 : tensor<i64>
  }) : (tensor<2x2xi32>, tensor<2x2xi64>) -> tensor<2x2xi64>
  check.expect_eq_const %0, dense<[[10, 40], [90, 160]]> : tensor<2x2xi64>
  %s = stablehlo.constant dense<5> : tensor<i32>
  %3 = "stablehlo.map"(%s) <{dimensions = array<i64>}> ({
  ^bb0(%a: tensor<i32>):
    %1 = stablehlo.negate %a : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %3, dense<-5> : tensor<i32>
  return
}
// -----
func.func @main() {
  // calls: forwards and backwards in the text, twice the same, several results
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0:2 = call @swap_add(%x, %x) : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  %1:2 = func.call @swap_add(%0#0, %0#1) : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %1#0, dense<[3, 6]> : tensor<2xi32>
  check.expect_eq_const %1#1, dense<[2, 4]> : tensor<2xi32>
  %2 = stablehlo.composite "n.f" %x {decomposition = @twice} : (tensor<2xi32>) -> tensor<2xi32>
  check.expect_eq_const %2, dense<[2, 4]> : tensor<2xi32>
  return
}
func.func private @swap_add(%a: tensor<2xi32>, %b: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = stablehlo.add %a, %b : tensor<2xi32>
  return %0, %a : tensor<2xi32>, tensor<2xi32>
}
func.func private @twice(%a: tensor<2xi32>) -> tensor<2xi32> {
  %0:2 = call @swap_add(%a, %a) : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  return %0#0 : tensor<2xi32>
}
// -----
func.func @main() {
  // while: a constant of several elements is carried, and rotates with another
  %a = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xi32>
  %b = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %x = %a, %y = %b) : tensor<i32>, tensor<4xi32>, tensor<4xi32> cond {
    %five = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.add %x, %y : tensor<4xi32>
    stablehlo.return %1, %y, %2 : tensor<i32>, tensor<4xi32>, tensor<4xi32>
  }
  check.expect_eq_const %0#1, dense<[124, 190, 158, 138]> : tensor<4xi32>
  return
}
