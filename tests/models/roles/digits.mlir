// Digits: two convolutions with batch norm and max pooling, dropout, a dense layer. @main is the loss of a batch, with the next
// running statistics; @accuracy reads them instead. As flax writes it, names in locations.
module @jit_digits attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32> loc("params['BatchNorm_0']['bias']"), %arg1: tensor<8xf32> {pcp.init = "ones"} loc("params['BatchNorm_0']['scale']"), %arg2: tensor<16xf32> loc("params['BatchNorm_1']['bias']"), %arg3: tensor<16xf32> {pcp.init = "ones"} loc("params['BatchNorm_1']['scale']"), %arg4: tensor<3x3x1x8xf32> {pcp.init = "normal(0.4)"} loc("params['Conv_0']['kernel']"), %arg5: tensor<3x3x8x16xf32> {pcp.init = "normal(0.15)"} loc("params['Conv_1']['kernel']"), %arg6: tensor<10xf32> loc("params['Dense_0']['bias']"), %arg7: tensor<784x10xf32> {pcp.init = "normal(0.03)"} loc("params['Dense_0']['kernel']"), %arg8: tensor<8xf32> loc("batch_stats['BatchNorm_0']['mean']"), %arg9: tensor<8xf32> {pcp.init = "ones"} loc("batch_stats['BatchNorm_0']['var']"), %arg10: tensor<16xf32> loc("batch_stats['BatchNorm_1']['mean']"), %arg11: tensor<16xf32> {pcp.init = "ones"} loc("batch_stats['BatchNorm_1']['var']"), %arg12: tensor<32x28x28x1xf32> loc("images"), %arg13: tensor<32xi32> loc("labels"), %arg14: tensor<2xui32> loc("dropout_key")) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<8xf32> {jax.result_info = "result[1]['BatchNorm_0']['mean']"}, tensor<8xf32> {jax.result_info = "result[1]['BatchNorm_0']['var']"}, tensor<16xf32> {jax.result_info = "result[1]['BatchNorm_1']['mean']"}, tensor<16xf32> {jax.result_info = "result[1]['BatchNorm_1']['var']"}) {
    %0 = stablehlo.convolution(%arg12, %arg4) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<32x28x28x1xf32>, tensor<3x3x1x8xf32>) -> tensor<32x28x28x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<32x28x28x8xf32>, tensor<f32>) -> tensor<8xf32>
    %cst_1 = stablehlo.constant dense<25088.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %3 = stablehlo.divide %1, %2 : tensor<8xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [3] : (tensor<8xf32>) -> tensor<32x28x28x8xf32>
    %5 = stablehlo.subtract %0, %4 : tensor<32x28x28x8xf32>
    %6 = stablehlo.multiply %5, %5 : tensor<32x28x28x8xf32>
    %7 = stablehlo.reduce(%6 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<32x28x28x8xf32>, tensor<f32>) -> tensor<8xf32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %9 = stablehlo.divide %7, %8 : tensor<8xf32>
    %cst_2 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %11 = stablehlo.add %9, %10 : tensor<8xf32>
    %12 = stablehlo.rsqrt %11 : tensor<8xf32>
    %13 = stablehlo.multiply %12, %arg1 : tensor<8xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [3] : (tensor<8xf32>) -> tensor<32x28x28x8xf32>
    %15 = stablehlo.multiply %5, %14 : tensor<32x28x28x8xf32>
    %16 = stablehlo.broadcast_in_dim %arg0, dims = [3] : (tensor<8xf32>) -> tensor<32x28x28x8xf32>
    %17 = stablehlo.add %15, %16 : tensor<32x28x28x8xf32>
    %18 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x28x28x8xf32>
    %19 = stablehlo.maximum %17, %18 : tensor<32x28x28x8xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %20 = "stablehlo.reduce_window"(%19, %cst_3) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<32x28x28x8xf32>, tensor<f32>) -> tensor<32x14x14x8xf32>
    %21 = stablehlo.convolution(%20, %arg5) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<32x14x14x8xf32>, tensor<3x3x8x16xf32>) -> tensor<32x14x14x16xf32>
    %22 = stablehlo.reduce(%21 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<32x14x14x16xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_4 = stablehlo.constant dense<6272.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %24 = stablehlo.divide %22, %23 : tensor<16xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [3] : (tensor<16xf32>) -> tensor<32x14x14x16xf32>
    %26 = stablehlo.subtract %21, %25 : tensor<32x14x14x16xf32>
    %27 = stablehlo.multiply %26, %26 : tensor<32x14x14x16xf32>
    %28 = stablehlo.reduce(%27 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<32x14x14x16xf32>, tensor<f32>) -> tensor<16xf32>
    %29 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %30 = stablehlo.divide %28, %29 : tensor<16xf32>
    %31 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %32 = stablehlo.add %30, %31 : tensor<16xf32>
    %33 = stablehlo.rsqrt %32 : tensor<16xf32>
    %34 = stablehlo.multiply %33, %arg3 : tensor<16xf32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [3] : (tensor<16xf32>) -> tensor<32x14x14x16xf32>
    %36 = stablehlo.multiply %26, %35 : tensor<32x14x14x16xf32>
    %37 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<16xf32>) -> tensor<32x14x14x16xf32>
    %38 = stablehlo.add %36, %37 : tensor<32x14x14x16xf32>
    %39 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x14x14x16xf32>
    %40 = stablehlo.maximum %38, %39 : tensor<32x14x14x16xf32>
    %41 = "stablehlo.reduce_window"(%40, %cst_3) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<32x14x14x16xf32>, tensor<f32>) -> tensor<32x7x7x16xf32>
    %42 = stablehlo.reshape %41 : (tensor<32x7x7x16xf32>) -> tensor<32x784xf32>
    // dropout of a quarter
    %43 = stablehlo.bitcast_convert %arg14 : (tensor<2xui32>) -> tensor<ui64>
    %44 = stablehlo.reshape %43 : (tensor<ui64>) -> tensor<1xui64>
    %45 = stablehlo.concatenate %44, %44, dim = 0 : (tensor<1xui64>, tensor<1xui64>) -> tensor<2xui64>
    %46, %47 = stablehlo.rng_bit_generator %45, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<32x784xui32>)
    %c_5 = stablehlo.constant dense<3221225472> : tensor<ui32>
    %48 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<ui32>) -> tensor<32x784xui32>
    %49 = stablehlo.compare  LT, %47, %48,  UNSIGNED : (tensor<32x784xui32>, tensor<32x784xui32>) -> tensor<32x784xi1>
    %cst_6 = stablehlo.constant dense<7.500000e-01> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<32x784xf32>
    %51 = stablehlo.divide %42, %50 : tensor<32x784xf32>
    %52 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x784xf32>
    %53 = stablehlo.select %49, %51, %52 : tensor<32x784xi1>, tensor<32x784xf32>
    %54 = stablehlo.dot_general %53, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x784xf32>, tensor<784x10xf32>) -> tensor<32x10xf32>
    %55 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<10xf32>) -> tensor<32x10xf32>
    %56 = stablehlo.add %54, %55 : tensor<32x10xf32>
    %cst_7 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %57 = stablehlo.reduce(%56 init: %cst_7) applies stablehlo.maximum across dimensions = [1] : (tensor<32x10xf32>, tensor<f32>) -> tensor<32xf32>
    %58 = stablehlo.broadcast_in_dim %57, dims = [0] : (tensor<32xf32>) -> tensor<32x10xf32>
    %59 = stablehlo.subtract %56, %58 : tensor<32x10xf32>
    %60 = stablehlo.exponential %59 : tensor<32x10xf32>
    %61 = stablehlo.reduce(%60 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<32x10xf32>, tensor<f32>) -> tensor<32xf32>
    %62 = stablehlo.log %61 : tensor<32xf32>
    %63 = stablehlo.broadcast_in_dim %62, dims = [0] : (tensor<32xf32>) -> tensor<32x10xf32>
    %64 = stablehlo.subtract %59, %63 : tensor<32x10xf32>
    %65 = stablehlo.broadcast_in_dim %arg13, dims = [0] : (tensor<32xi32>) -> tensor<32x10xi32>
    %66 = stablehlo.iota dim = 1 : tensor<32x10xi32>
    %67 = stablehlo.compare  EQ, %65, %66,  SIGNED : (tensor<32x10xi32>, tensor<32x10xi32>) -> tensor<32x10xi1>
    %68 = stablehlo.convert %67 : (tensor<32x10xi1>) -> tensor<32x10xf32>
    %69 = stablehlo.multiply %64, %68 : tensor<32x10xf32>
    %70 = stablehlo.reduce(%69 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x10xf32>, tensor<f32>) -> tensor<f32>
    %cst_8 = stablehlo.constant dense<32.000000e+00> : tensor<f32>
    %71 = stablehlo.divide %70, %cst_8 : tensor<f32>
    %72 = stablehlo.negate %71 : tensor<f32>
    %cst_9 = stablehlo.constant dense<9.000000e-01> : tensor<f32>
    %73 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %74 = stablehlo.multiply %arg8, %73 : tensor<8xf32>
    %cst_10 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %75 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %76 = stablehlo.multiply %3, %75 : tensor<8xf32>
    %77 = stablehlo.add %74, %76 : tensor<8xf32>
    %78 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %79 = stablehlo.multiply %arg9, %78 : tensor<8xf32>
    %80 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %81 = stablehlo.multiply %9, %80 : tensor<8xf32>
    %82 = stablehlo.add %79, %81 : tensor<8xf32>
    %83 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %84 = stablehlo.multiply %arg10, %83 : tensor<16xf32>
    %85 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %86 = stablehlo.multiply %24, %85 : tensor<16xf32>
    %87 = stablehlo.add %84, %86 : tensor<16xf32>
    %88 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %89 = stablehlo.multiply %arg11, %88 : tensor<16xf32>
    %90 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %91 = stablehlo.multiply %30, %90 : tensor<16xf32>
    %92 = stablehlo.add %89, %91 : tensor<16xf32>
    return %72, %77, %82, %87, %92 : tensor<f32>, tensor<8xf32>, tensor<8xf32>, tensor<16xf32>, tensor<16xf32>
  }
  func.func public @accuracy(%arg0: tensor<8xf32> loc("params['BatchNorm_0']['bias']"), %arg1: tensor<8xf32> {pcp.init = "ones"} loc("params['BatchNorm_0']['scale']"), %arg2: tensor<16xf32> loc("params['BatchNorm_1']['bias']"), %arg3: tensor<16xf32> {pcp.init = "ones"} loc("params['BatchNorm_1']['scale']"), %arg4: tensor<3x3x1x8xf32> {pcp.init = "normal(0.4)"} loc("params['Conv_0']['kernel']"), %arg5: tensor<3x3x8x16xf32> {pcp.init = "normal(0.15)"} loc("params['Conv_1']['kernel']"), %arg6: tensor<10xf32> loc("params['Dense_0']['bias']"), %arg7: tensor<784x10xf32> {pcp.init = "normal(0.03)"} loc("params['Dense_0']['kernel']"), %arg8: tensor<8xf32> loc("batch_stats['BatchNorm_0']['mean']"), %arg9: tensor<8xf32> {pcp.init = "ones"} loc("batch_stats['BatchNorm_0']['var']"), %arg10: tensor<16xf32> loc("batch_stats['BatchNorm_1']['mean']"), %arg11: tensor<16xf32> {pcp.init = "ones"} loc("batch_stats['BatchNorm_1']['var']"), %arg12: tensor<100x28x28x1xf32> loc("images"), %arg13: tensor<100xi32> loc("labels")) -> (tensor<f32> {jax.result_info = ""}) {
    %0 = stablehlo.convolution(%arg12, %arg4) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<100x28x28x1xf32>, tensor<3x3x1x8xf32>) -> tensor<100x28x28x8xf32>
    %1 = stablehlo.broadcast_in_dim %arg8, dims = [3] : (tensor<8xf32>) -> tensor<100x28x28x8xf32>
    %2 = stablehlo.subtract %0, %1 : tensor<100x28x28x8xf32>
    %cst = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %4 = stablehlo.add %arg9, %3 : tensor<8xf32>
    %5 = stablehlo.rsqrt %4 : tensor<8xf32>
    %6 = stablehlo.multiply %5, %arg1 : tensor<8xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [3] : (tensor<8xf32>) -> tensor<100x28x28x8xf32>
    %8 = stablehlo.multiply %2, %7 : tensor<100x28x28x8xf32>
    %9 = stablehlo.broadcast_in_dim %arg0, dims = [3] : (tensor<8xf32>) -> tensor<100x28x28x8xf32>
    %10 = stablehlo.add %8, %9 : tensor<100x28x28x8xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<100x28x28x8xf32>
    %12 = stablehlo.maximum %10, %11 : tensor<100x28x28x8xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %13 = "stablehlo.reduce_window"(%12, %cst_2) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<100x28x28x8xf32>, tensor<f32>) -> tensor<100x14x14x8xf32>
    %14 = stablehlo.convolution(%13, %arg5) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<100x14x14x8xf32>, tensor<3x3x8x16xf32>) -> tensor<100x14x14x16xf32>
    %15 = stablehlo.broadcast_in_dim %arg10, dims = [3] : (tensor<16xf32>) -> tensor<100x14x14x16xf32>
    %16 = stablehlo.subtract %14, %15 : tensor<100x14x14x16xf32>
    %17 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %18 = stablehlo.add %arg11, %17 : tensor<16xf32>
    %19 = stablehlo.rsqrt %18 : tensor<16xf32>
    %20 = stablehlo.multiply %19, %arg3 : tensor<16xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [3] : (tensor<16xf32>) -> tensor<100x14x14x16xf32>
    %22 = stablehlo.multiply %16, %21 : tensor<100x14x14x16xf32>
    %23 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<16xf32>) -> tensor<100x14x14x16xf32>
    %24 = stablehlo.add %22, %23 : tensor<100x14x14x16xf32>
    %25 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<100x14x14x16xf32>
    %26 = stablehlo.maximum %24, %25 : tensor<100x14x14x16xf32>
    %27 = "stablehlo.reduce_window"(%26, %cst_2) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<100x14x14x16xf32>, tensor<f32>) -> tensor<100x7x7x16xf32>
    %28 = stablehlo.reshape %27 : (tensor<100x7x7x16xf32>) -> tensor<100x784xf32>
    %29 = stablehlo.dot_general %28, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<100x784xf32>, tensor<784x10xf32>) -> tensor<100x10xf32>
    %30 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<10xf32>) -> tensor<100x10xf32>
    %31 = stablehlo.add %29, %30 : tensor<100x10xf32>
    // right where no other class has as much; a part of it where several have
    %cst_3 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %32 = stablehlo.reduce(%31 init: %cst_3) applies stablehlo.maximum across dimensions = [1] : (tensor<100x10xf32>, tensor<f32>) -> tensor<100xf32>
    %33 = stablehlo.broadcast_in_dim %arg13, dims = [0] : (tensor<100xi32>) -> tensor<100x10xi32>
    %34 = stablehlo.iota dim = 1 : tensor<100x10xi32>
    %35 = stablehlo.compare  EQ, %33, %34,  SIGNED : (tensor<100x10xi32>, tensor<100x10xi32>) -> tensor<100x10xi1>
    %36 = stablehlo.convert %35 : (tensor<100x10xi1>) -> tensor<100x10xf32>
    %37 = stablehlo.multiply %31, %36 : tensor<100x10xf32>
    %38 = stablehlo.reduce(%37 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<100x10xf32>, tensor<f32>) -> tensor<100xf32>
    %39 = stablehlo.compare  GE, %38, %32,  FLOAT : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xi1>
    %40 = stablehlo.convert %39 : (tensor<100xi1>) -> tensor<100xf32>
    %41 = stablehlo.broadcast_in_dim %32, dims = [0] : (tensor<100xf32>) -> tensor<100x10xf32>
    %42 = stablehlo.compare  GE, %31, %41,  FLOAT : (tensor<100x10xf32>, tensor<100x10xf32>) -> tensor<100x10xi1>
    %43 = stablehlo.convert %42 : (tensor<100x10xi1>) -> tensor<100x10xf32>
    %44 = stablehlo.reduce(%43 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<100x10xf32>, tensor<f32>) -> tensor<100xf32>
    %45 = stablehlo.divide %40, %44 : tensor<100xf32>
    %46 = stablehlo.reduce(%45 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<100xf32>, tensor<f32>) -> tensor<f32>
    %cst_4 = stablehlo.constant dense<100.000000e+00> : tensor<f32>
    %47 = stablehlo.divide %46, %cst_4 : tensor<f32>
    return %47 : tensor<f32>
  }
}
