// Products large enough for the largest tiles of a device, of integers, so that every order of adding gives the same: against
// the same sums as loops.
func.func @large() {
  %i = stablehlo.iota dim = 0 : tensor<1410x36xi32>
  %k = stablehlo.iota dim = 1 : tensor<1410x36xi32>
  %seven = stablehlo.constant dense<7> : tensor<1410x36xi32>
  %three = stablehlo.constant dense<3> : tensor<1410x36xi32>
  %five = stablehlo.constant dense<5> : tensor<1410x36xi32>
  %two = stablehlo.constant dense<2> : tensor<1410x36xi32>
  %i7 = stablehlo.multiply %i, %seven : tensor<1410x36xi32>
  %k3 = stablehlo.multiply %k, %three : tensor<1410x36xi32>
  %s = stablehlo.add %i7, %k3 : tensor<1410x36xi32>
  %m = stablehlo.remainder %s, %five : tensor<1410x36xi32>
  %c = stablehlo.subtract %m, %two : tensor<1410x36xi32>
  %a = stablehlo.convert %c : (tensor<1410x36xi32>) -> tensor<1410x36xf32>
  %i2 = stablehlo.multiply %i, %three : tensor<1410x36xi32>
  %s2 = stablehlo.add %i2, %k : tensor<1410x36xi32>
  %m2 = stablehlo.remainder %s2, %seven : tensor<1410x36xi32>
  %c2 = stablehlo.subtract %m2, %two : tensor<1410x36xi32>
  %b = stablehlo.convert %c2 : (tensor<1410x36xi32>) -> tensor<1410x36xf32>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<1410x36xf32>, tensor<1410x36xf32>) -> tensor<1410x1410xf32>
  %z = stablehlo.dot_general %c, %c2, contracting_dims = [1] x [1] : (tensor<1410x36xi32>, tensor<1410x36xi32>) -> tensor<1410x1410xi32>
  %w = stablehlo.convert %z : (tensor<1410x1410xi32>) -> tensor<1410x1410xf32>
  check.expect_eq %y, %w : tensor<1410x1410xf32>
  %at = stablehlo.transpose %a, dims = [1, 0] : (tensor<1410x36xf32>) -> tensor<36x1410xf32>
  %bt = stablehlo.transpose %b, dims = [1, 0] : (tensor<1410x36xf32>) -> tensor<36x1410xf32>
  %yt = stablehlo.dot_general %at, %bt, contracting_dims = [0] x [0] : (tensor<36x1410xf32>, tensor<36x1410xf32>) -> tensor<1410x1410xf32>
  check.expect_eq %yt, %w : tensor<1410x1410xf32>
  %ah = stablehlo.convert %a : (tensor<1410x36xf32>) -> tensor<1410x36xbf16>
  %bh = stablehlo.convert %b : (tensor<1410x36xf32>) -> tensor<1410x36xbf16>
  %yh = stablehlo.dot_general %ah, %bh, contracting_dims = [1] x [1] : (tensor<1410x36xbf16>, tensor<1410x36xbf16>) -> tensor<1410x1410xf32>
  check.expect_eq %yh, %w : tensor<1410x1410xf32>
  %yl = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<1410x36xf32>, tensor<1410x36xf32>) -> tensor<36x36xf32>
  %ylh = stablehlo.dot_general %ah, %bh, contracting_dims = [0] x [0] : (tensor<1410x36xbf16>, tensor<1410x36xbf16>) -> tensor<36x36xf32>
  %zl = stablehlo.dot_general %c, %c2, contracting_dims = [0] x [0] : (tensor<1410x36xi32>, tensor<1410x36xi32>) -> tensor<36x36xi32>
  %wl = stablehlo.convert %zl : (tensor<36x36xi32>) -> tensor<36x36xf32>
  check.expect_eq %yl, %wl : tensor<36x36xf32>
  check.expect_eq %ylh, %wl : tensor<36x36xf32>
  return
}
