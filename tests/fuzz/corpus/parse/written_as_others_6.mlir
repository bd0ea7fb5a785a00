func.func @main() {
  %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>
  %k = stablehlo.constant dense<[[[1.0]], [[10.0]]]> : tensor<2x1x1xf32>
  %pad = stablehlo.constant dense<[[1, 0]]> : tensor<1x2xi32>
  %0 = stablehlo.dynamic_conv(%x, %k, %pad) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x1xf32>, tensor<2x1x1xf32>, tensor<1x2xi32>) -> tensor<1x2x1xf32>
  check.expect_eq_const %0, dense<[[[10.0], [32.0]]]> : tensor<1x2x1xf32>
  %1 = "stablehlo.dynamic_conv"(%x, %k, %pad) <{dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64}> : (tensor<1x3x1xf32>, tensor<2x1x1xf32>, tensor<1x2xi32>) -> tensor<1x3x1xf32>
  check.expect_eq_const %1, dense<[[[10.0], [21.0], [32.0]]]> : tensor<1x3x1xf32>
  return
}
