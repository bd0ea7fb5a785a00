// Integers wrap, also where a compiler of C++ takes it that they do not: what is larger by one is not always more.
func.func @wraps() {
  %i_known = stablehlo.iota dim = 0 : tensor<70xi32>
  %i = stablehlo.optimization_barrier %i_known : tensor<70xi32>
  %zero = stablehlo.constant dense<0> : tensor<70xi32>
  %one = stablehlo.constant dense<1> : tensor<70xi32>
  %three = stablehlo.constant dense<3> : tensor<70xi32>
  %most = stablehlo.constant dense<2147483647> : tensor<70xi32>
  %least = stablehlo.constant dense<-2147483648> : tensor<70xi32>
  %no = stablehlo.constant dense<false> : tensor<70xi1>

  %top = stablehlo.or %i, %most : tensor<70xi32>
  %over = stablehlo.add %top, %one : tensor<70xi32>
  %more = stablehlo.compare GT, %over, %top : (tensor<70xi32>, tensor<70xi32>) -> tensor<70xi1>
  check.expect_eq %more, %no : tensor<70xi1>
  check.expect_eq %over, %least : tensor<70xi32>

  %bottom = stablehlo.subtract %zero, %over : tensor<70xi32>
  %turned = stablehlo.negate %over : tensor<70xi32>
  check.expect_eq %bottom, %least : tensor<70xi32>
  check.expect_eq %turned, %least : tensor<70xi32>

  %thrice = stablehlo.multiply %top, %three : tensor<70xi32>
  %third = stablehlo.divide %thrice, %three : tensor<70xi32>
  %wanted = stablehlo.constant dense<715827881> : tensor<70xi32>
  check.expect_eq %third, %wanted : tensor<70xi32>

  %i64_known = stablehlo.iota dim = 0 : tensor<70xi64>
  %i64 = stablehlo.optimization_barrier %i64_known : tensor<70xi64>
  %one64 = stablehlo.constant dense<1> : tensor<70xi64>
  %most64 = stablehlo.constant dense<9223372036854775807> : tensor<70xi64>
  %least64 = stablehlo.constant dense<-9223372036854775808> : tensor<70xi64>
  %top64 = stablehlo.or %i64, %most64 : tensor<70xi64>
  %over64 = stablehlo.add %top64, %one64 : tensor<70xi64>
  %more64 = stablehlo.compare GT, %over64, %top64 : (tensor<70xi64>, tensor<70xi64>) -> tensor<70xi1>
  check.expect_eq %more64, %no : tensor<70xi1>
  check.expect_eq %over64, %least64 : tensor<70xi64>

  %short = stablehlo.convert %top : (tensor<70xi32>) -> tensor<70xui16>
  %square = stablehlo.multiply %short, %short : tensor<70xui16>
  %one16 = stablehlo.constant dense<1> : tensor<70xui16>
  check.expect_eq %square, %one16 : tensor<70xui16>

  // Shares of groups, folded.
  %j_known = stablehlo.iota dim = 1 : tensor<3x700xi32>
  %j = stablehlo.optimization_barrier %j_known : tensor<3x700xi32>
  %odd = stablehlo.constant dense<1000003> : tensor<3x700xi32>
  %x = stablehlo.or %j, %odd : tensor<3x700xi32>
  %unit = stablehlo.constant dense<1> : tensor<i32>
  %product = stablehlo.reduce(%x init: %unit) applies stablehlo.multiply across dimensions = [1] : (tensor<3x700xi32>, tensor<i32>) -> tensor<3xi32>
  %wide = stablehlo.convert %x : (tensor<3x700xi32>) -> tensor<3x700xui32>
  %unit32 = stablehlo.constant dense<1> : tensor<ui32>
  %same = stablehlo.reduce(%wide init: %unit32) applies stablehlo.multiply across dimensions = [1] : (tensor<3x700xui32>, tensor<ui32>) -> tensor<3xui32>
  %narrow = stablehlo.convert %same : (tensor<3xui32>) -> tensor<3xi32>
  check.expect_eq %product, %narrow : tensor<3xi32>
  return
}
