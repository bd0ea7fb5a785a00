// Sums and largest elements of long rows, which groups of threads share, of integers: every order of folding gives the same.
func.func @groups() {
  %i = stablehlo.iota dim = 0 : tensor<33x700xi32>
  %j = stablehlo.iota dim = 1 : tensor<33x700xi32>
  %three = stablehlo.constant dense<3> : tensor<33x700xi32>
  %eleven = stablehlo.constant dense<11> : tensor<33x700xi32>
  %i3 = stablehlo.multiply %i, %three : tensor<33x700xi32>
  %s = stablehlo.add %i3, %j : tensor<33x700xi32>
  %x = stablehlo.remainder %s, %eleven : tensor<33x700xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<33x700xi32>, tensor<i32>) -> tensor<33xi32>
  %most = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<33x700xi32>, tensor<i32>) -> tensor<33xi32>
  %ten = stablehlo.constant dense<10> : tensor<33xi32>
  check.expect_eq %most, %ten : tensor<33xi32>

  %xf = stablehlo.convert %x : (tensor<33x700xi32>) -> tensor<33x700xf32>
  %zerof = stablehlo.constant dense<0.0> : tensor<f32>
  %sumf = stablehlo.reduce(%xf init: %zerof) applies stablehlo.add across dimensions = [1] : (tensor<33x700xf32>, tensor<f32>) -> tensor<33xf32>
  %same = stablehlo.convert %sum : (tensor<33xi32>) -> tensor<33xf32>
  check.expect_eq %sumf, %same : tensor<33xf32>

  %xd = stablehlo.convert %x : (tensor<33x700xi32>) -> tensor<33x700xf64>
  %zerod = stablehlo.constant dense<0.0> : tensor<f64>
  %sumd = stablehlo.reduce(%xd init: %zerod) applies stablehlo.add across dimensions = [1] : (tensor<33x700xf64>, tensor<f64>) -> tensor<33xf64>
  %samed = stablehlo.convert %sum : (tensor<33xi32>) -> tensor<33xf64>
  check.expect_eq %sumd, %samed : tensor<33xf64>

  %again = stablehlo.reduce(%j init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<33x700xi32>, tensor<i32>) -> tensor<33xi32>
  %wanted = stablehlo.constant dense<244650> : tensor<33xi32>
  check.expect_eq %again, %wanted : tensor<33xi32>
  // So many updates that several parts of the operand look at all of them, each taking its own.
  %n = stablehlo.iota dim = 0 : tensor<5000x1xi32>
  %fifty = stablehlo.constant dense<50> : tensor<5000x1xi32>
  %at = stablehlo.remainder %n, %fifty : tensor<5000x1xi32>
  %ones = stablehlo.constant dense<1.0> : tensor<5000x3xf32>
  %none = stablehlo.constant dense<0.0> : tensor<50x3xf32>
  %counts = "stablehlo.scatter"(%none, %at, %ones) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<50x3xf32>, tensor<5000x1xi32>, tensor<5000x3xf32>) -> tensor<50x3xf32>
  %hundred = stablehlo.constant dense<100.0> : tensor<50x3xf32>
  check.expect_eq %counts, %hundred : tensor<50x3xf32>
  // Rows of more columns than a warp has threads, whose updates a warp looks for: it finds more than it has room for, and some
  // go nowhere.
  %m = stablehlo.iota dim = 0 : tensor<4098x1xi32>
  %six = stablehlo.constant dense<6> : tensor<4098x1xi32>
  %there = stablehlo.remainder %m, %six : tensor<4098x1xi32>
  %columns = stablehlo.iota dim = 1 : tensor<4098x40xf32>
  %halves = stablehlo.constant dense<0.5> : tensor<5x40xf32>
  %sums = "stablehlo.scatter"(%halves, %there, %columns) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<5x40xf32>, tensor<4098x1xi32>, tensor<4098x40xf32>) -> tensor<5x40xf32>
  %column = stablehlo.iota dim = 1 : tensor<5x40xf32>
  %each = stablehlo.constant dense<683.0> : tensor<5x40xf32>
  %products = stablehlo.multiply %column, %each : tensor<5x40xf32>
  %expected = stablehlo.add %products, %halves : tensor<5x40xf32>
  check.expect_eq %sums, %expected : tensor<5x40xf32>

  // Sums over rows by slices: of few rows and columns, and of chunks of many.
  %few = stablehlo.iota dim = 0 : tensor<300x45xf32>
  %over_few = stablehlo.reduce(%few init: %zerof) applies stablehlo.add across dimensions = [0] : (tensor<300x45xf32>, tensor<f32>) -> tensor<45xf32>
  %of_few = stablehlo.constant dense<44850.0> : tensor<45xf32>
  check.expect_eq %over_few, %of_few : tensor<45xf32>
  %many = stablehlo.iota dim = 0 : tensor<4096x96xi32>
  %seven = stablehlo.constant dense<7> : tensor<4096x96xi32>
  %rest = stablehlo.remainder %many, %seven : tensor<4096x96xi32>
  %over_many = stablehlo.reduce(%rest init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096x96xi32>, tensor<i32>) -> tensor<96xi32>
  %of_many = stablehlo.constant dense<12285> : tensor<96xi32>
  check.expect_eq %over_many, %of_many : tensor<96xi32>
  %least = stablehlo.constant dense<2147483647> : tensor<i32>
  %smallest = stablehlo.reduce(%rest init: %least) applies stablehlo.minimum across dimensions = [0] : (tensor<4096x96xi32>, tensor<i32>) -> tensor<96xi32>
  %zeros = stablehlo.constant dense<0> : tensor<96xi32>
  check.expect_eq %smallest, %zeros : tensor<96xi32>
  // Sums over rows whose columns come from two values, a loop for the columns of each.
  %side_row = stablehlo.iota dim = 0 : tensor<10x1xf32>
  %side_twice = stablehlo.add %side_row, %side_row : tensor<10x1xf32>
  %side_rows = stablehlo.iota dim = 0 : tensor<10x5xf32>
  %side_columns = stablehlo.iota dim = 1 : tensor<10x5xf32>
  %side_slope = stablehlo.add %side_rows, %side_columns : tensor<10x5xf32>
  %sides = stablehlo.concatenate %side_twice, %side_slope, dim = 1 : (tensor<10x1xf32>, tensor<10x5xf32>) -> tensor<10x6xf32>
  %side_sums = stablehlo.reduce(%sides init: %zerof) applies stablehlo.add across dimensions = [0] : (tensor<10x6xf32>, tensor<f32>) -> tensor<6xf32>
  %side_want = stablehlo.constant dense<[90.0, 45.0, 55.0, 65.0, 75.0, 85.0]> : tensor<6xf32>
  check.expect_eq %side_sums, %side_want : tensor<6xf32>
  return
}
