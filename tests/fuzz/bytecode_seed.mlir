// Many kinds of attributes, types and regions in a few lines. The seeds of the fuzz target `bytecode` are
// this text in several versions: build/bin/write-bytecode tests/fuzz/bytecode_seed.mlir FILE CONTAINER VHLO
module @seed attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<1x4x4x2xf32> {jax.arg_info = "x"} loc("x"), %k: tensor<3x3x2x2xf32>, %n: tensor<i32>) -> (tensor<f32> {jax.result_info = ""}) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %b = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x2xf32>, tensor<3x3x2x2xf32>) -> tensor<1x4x4x2xf32>
    %s = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<1x4x4x2xf32>, tensor<f32>) -> tensor<f32>
    %w:2 = stablehlo.while(%i = %n, %a = %s) : tensor<i32>, tensor<f32> cond {
      %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %d = func.call @f(%a) : (tensor<f32>) -> tensor<f32>
      stablehlo.return %i, %d : tensor<i32>, tensor<f32>
    }
    return %w#1 : tensor<f32>
  }
  func.func private @f(%x: tensor<f32>) -> tensor<f32> {
    %y = stablehlo.exponential %x : tensor<f32>
    return %y : tensor<f32>
  }
}
