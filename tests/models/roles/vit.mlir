// A vision transformer of one block: patches by a convolution, a class token, attention of two heads.
module @jit_loss_fn attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x1x8xf32> loc("params['cls']"), %arg1: tensor<8xf32> loc("params['embedding']['bias']"), %arg2: tensor<4x4x1x8xf32> loc("params['embedding']['kernel']"), %arg3: tensor<8xf32> loc("params['block_0']['LayerNorm_0']['bias']"), %arg4: tensor<8xf32> {pcp.init = "ones"} loc("params['block_0']['LayerNorm_0']['scale']"), %arg5: tensor<8xf32> loc("params['block_0']['LayerNorm_1']['bias']"), %arg6: tensor<8xf32> {pcp.init = "ones"} loc("params['block_0']['LayerNorm_1']['scale']"), %arg7: tensor<3x2x4xf32> loc("params['block_0']['attention']['qkv']['bias']"), %arg8: tensor<8x3x2x4xf32> loc("params['block_0']['attention']['qkv']['kernel']"), %arg9: tensor<8xf32> loc("params['block_0']['attention']['out']['bias']"), %arg10: tensor<2x4x8xf32> loc("params['block_0']['attention']['out']['kernel']"), %arg11: tensor<16xf32> loc("params['block_0']['mlp']['Dense_0']['bias']"), %arg12: tensor<8x16xf32> loc("params['block_0']['mlp']['Dense_0']['kernel']"), %arg13: tensor<8xf32> loc("params['block_0']['mlp']['Dense_1']['bias']"), %arg14: tensor<16x8xf32> loc("params['block_0']['mlp']['Dense_1']['kernel']"), %arg15: tensor<3xf32> loc("params['head']['bias']"), %arg16: tensor<8x3xf32> loc("params['head']['kernel']"), %arg17: tensor<1x5x8xf32> loc("params['pos_embedding']"), %arg18: tensor<8x8x8x1xf32> loc("batch['image']"), %arg19: tensor<8xi32> loc("batch['label']")) -> (tensor<f32> {jax.result_info = ""}) {
    // patches of 4 x 4, a class token before them, learned positions
    %0 = stablehlo.convolution(%arg18, %arg2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [4, 4], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<8x8x8x1xf32>, tensor<4x4x1x8xf32>) -> tensor<8x2x2x8xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [3] : (tensor<8xf32>) -> tensor<8x2x2x8xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x2x2x8xf32>
    %3 = stablehlo.reshape %2 : (tensor<8x2x2x8xf32>) -> tensor<8x4x8xf32>
    %4 = stablehlo.reshape %arg0 : (tensor<1x1x8xf32>) -> tensor<1x8xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<1x8xf32>) -> tensor<8x1x8xf32>
    %6 = stablehlo.concatenate %5, %3, dim = 1 : (tensor<8x1x8xf32>, tensor<8x4x8xf32>) -> tensor<8x5x8xf32>
    %7 = stablehlo.reshape %arg17 : (tensor<1x5x8xf32>) -> tensor<5x8xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2] : (tensor<5x8xf32>) -> tensor<8x5x8xf32>
    %9 = stablehlo.add %6, %8 : tensor<8x5x8xf32>
    // attention of all tokens
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<8x5x8xf32>, tensor<f32>) -> tensor<8x5xf32>
    %cst_1 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x5xf32>
    %12 = stablehlo.divide %10, %11 : tensor<8x5xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<8x5xf32>) -> tensor<8x5x8xf32>
    %14 = stablehlo.subtract %9, %13 : tensor<8x5x8xf32>
    %15 = stablehlo.multiply %14, %14 : tensor<8x5x8xf32>
    %16 = stablehlo.reduce(%15 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<8x5x8xf32>, tensor<f32>) -> tensor<8x5xf32>
    %17 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x5xf32>
    %18 = stablehlo.divide %16, %17 : tensor<8x5xf32>
    %cst_2 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8x5xf32>
    %20 = stablehlo.add %18, %19 : tensor<8x5xf32>
    %21 = stablehlo.rsqrt %20 : tensor<8x5xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1] : (tensor<8x5xf32>) -> tensor<8x5x8xf32>
    %23 = stablehlo.multiply %14, %22 : tensor<8x5x8xf32>
    %24 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<8xf32>) -> tensor<8x5x8xf32>
    %25 = stablehlo.multiply %23, %24 : tensor<8x5x8xf32>
    %26 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<8xf32>) -> tensor<8x5x8xf32>
    %27 = stablehlo.add %25, %26 : tensor<8x5x8xf32>
    %28 = stablehlo.dot_general %27, %arg8, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x5x8xf32>, tensor<8x3x2x4xf32>) -> tensor<8x5x3x2x4xf32>
    %29 = stablehlo.broadcast_in_dim %arg7, dims = [2, 3, 4] : (tensor<3x2x4xf32>) -> tensor<8x5x3x2x4xf32>
    %30 = stablehlo.add %28, %29 : tensor<8x5x3x2x4xf32>
    %31 = stablehlo.slice %30 [0:8, 0:5, 0:1, 0:2, 0:4] : (tensor<8x5x3x2x4xf32>) -> tensor<8x5x1x2x4xf32>
    %32 = stablehlo.reshape %31 : (tensor<8x5x1x2x4xf32>) -> tensor<8x5x2x4xf32>
    %33 = stablehlo.transpose %32, dims = [0, 2, 1, 3] : (tensor<8x5x2x4xf32>) -> tensor<8x2x5x4xf32>
    %34 = stablehlo.slice %30 [0:8, 0:5, 1:2, 0:2, 0:4] : (tensor<8x5x3x2x4xf32>) -> tensor<8x5x1x2x4xf32>
    %35 = stablehlo.reshape %34 : (tensor<8x5x1x2x4xf32>) -> tensor<8x5x2x4xf32>
    %36 = stablehlo.transpose %35, dims = [0, 2, 1, 3] : (tensor<8x5x2x4xf32>) -> tensor<8x2x5x4xf32>
    %37 = stablehlo.slice %30 [0:8, 0:5, 2:3, 0:2, 0:4] : (tensor<8x5x3x2x4xf32>) -> tensor<8x5x1x2x4xf32>
    %38 = stablehlo.reshape %37 : (tensor<8x5x1x2x4xf32>) -> tensor<8x5x2x4xf32>
    %39 = stablehlo.transpose %38, dims = [0, 2, 1, 3] : (tensor<8x5x2x4xf32>) -> tensor<8x2x5x4xf32>
    %cst_3 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %40 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x2x5x4xf32>
    %41 = stablehlo.multiply %33, %40 : tensor<8x2x5x4xf32>
    %42 = stablehlo.dot_general %41, %36, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<8x2x5x4xf32>, tensor<8x2x5x4xf32>) -> tensor<8x2x5x5xf32>
    %cst_4 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %43 = stablehlo.reduce(%42 init: %cst_4) applies stablehlo.maximum across dimensions = [3] : (tensor<8x2x5x5xf32>, tensor<f32>) -> tensor<8x2x5xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 2] : (tensor<8x2x5xf32>) -> tensor<8x2x5x5xf32>
    %45 = stablehlo.subtract %42, %44 : tensor<8x2x5x5xf32>
    %46 = stablehlo.exponential %45 : tensor<8x2x5x5xf32>
    %47 = stablehlo.reduce(%46 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<8x2x5x5xf32>, tensor<f32>) -> tensor<8x2x5xf32>
    %48 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2] : (tensor<8x2x5xf32>) -> tensor<8x2x5x5xf32>
    %49 = stablehlo.divide %46, %48 : tensor<8x2x5x5xf32>
    %50 = stablehlo.dot_general %49, %39, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x2x5x5xf32>, tensor<8x2x5x4xf32>) -> tensor<8x2x5x4xf32>
    %51 = stablehlo.transpose %50, dims = [0, 2, 1, 3] : (tensor<8x2x5x4xf32>) -> tensor<8x5x2x4xf32>
    %52 = stablehlo.dot_general %51, %arg10, contracting_dims = [2, 3] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x5x2x4xf32>, tensor<2x4x8xf32>) -> tensor<8x5x8xf32>
    %53 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<8xf32>) -> tensor<8x5x8xf32>
    %54 = stablehlo.add %52, %53 : tensor<8x5x8xf32>
    %55 = stablehlo.add %9, %54 : tensor<8x5x8xf32>
    // two dense layers
    %56 = stablehlo.reduce(%55 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<8x5x8xf32>, tensor<f32>) -> tensor<8x5xf32>
    %57 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x5xf32>
    %58 = stablehlo.divide %56, %57 : tensor<8x5xf32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1] : (tensor<8x5xf32>) -> tensor<8x5x8xf32>
    %60 = stablehlo.subtract %55, %59 : tensor<8x5x8xf32>
    %61 = stablehlo.multiply %60, %60 : tensor<8x5x8xf32>
    %62 = stablehlo.reduce(%61 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<8x5x8xf32>, tensor<f32>) -> tensor<8x5xf32>
    %63 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x5xf32>
    %64 = stablehlo.divide %62, %63 : tensor<8x5xf32>
    %65 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8x5xf32>
    %66 = stablehlo.add %64, %65 : tensor<8x5xf32>
    %67 = stablehlo.rsqrt %66 : tensor<8x5xf32>
    %68 = stablehlo.broadcast_in_dim %67, dims = [0, 1] : (tensor<8x5xf32>) -> tensor<8x5x8xf32>
    %69 = stablehlo.multiply %60, %68 : tensor<8x5x8xf32>
    %70 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<8xf32>) -> tensor<8x5x8xf32>
    %71 = stablehlo.multiply %69, %70 : tensor<8x5x8xf32>
    %72 = stablehlo.broadcast_in_dim %arg5, dims = [2] : (tensor<8xf32>) -> tensor<8x5x8xf32>
    %73 = stablehlo.add %71, %72 : tensor<8x5x8xf32>
    %74 = stablehlo.dot_general %73, %arg12, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x5x8xf32>, tensor<8x16xf32>) -> tensor<8x5x16xf32>
    %75 = stablehlo.broadcast_in_dim %arg11, dims = [2] : (tensor<16xf32>) -> tensor<8x5x16xf32>
    %76 = stablehlo.add %74, %75 : tensor<8x5x16xf32>
    %77 = stablehlo.multiply %76, %76 : tensor<8x5x16xf32>
    %78 = stablehlo.multiply %77, %76 : tensor<8x5x16xf32>
    %cst_5 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %79 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<8x5x16xf32>
    %80 = stablehlo.multiply %79, %78 : tensor<8x5x16xf32>
    %81 = stablehlo.add %76, %80 : tensor<8x5x16xf32>
    %cst_6 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %82 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<8x5x16xf32>
    %83 = stablehlo.multiply %82, %81 : tensor<8x5x16xf32>
    %84 = stablehlo.tanh %83 : tensor<8x5x16xf32>
    %85 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x5x16xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %86 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<8x5x16xf32>
    %87 = stablehlo.add %86, %84 : tensor<8x5x16xf32>
    %88 = stablehlo.multiply %85, %87 : tensor<8x5x16xf32>
    %89 = stablehlo.multiply %76, %88 : tensor<8x5x16xf32>
    %90 = stablehlo.dot_general %89, %arg14, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x5x16xf32>, tensor<16x8xf32>) -> tensor<8x5x8xf32>
    %91 = stablehlo.broadcast_in_dim %arg13, dims = [2] : (tensor<8xf32>) -> tensor<8x5x8xf32>
    %92 = stablehlo.add %90, %91 : tensor<8x5x8xf32>
    %93 = stablehlo.add %55, %92 : tensor<8x5x8xf32>
    %94 = stablehlo.slice %93 [0:8, 0:1, 0:8] : (tensor<8x5x8xf32>) -> tensor<8x1x8xf32>
    %95 = stablehlo.reshape %94 : (tensor<8x1x8xf32>) -> tensor<8x8xf32>
    %96 = stablehlo.dot_general %95, %arg16, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x8xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %97 = stablehlo.broadcast_in_dim %arg15, dims = [1] : (tensor<3xf32>) -> tensor<8x3xf32>
    %98 = stablehlo.add %96, %97 : tensor<8x3xf32>
    %99 = stablehlo.reduce(%98 init: %cst_4) applies stablehlo.maximum across dimensions = [1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8xf32>
    %100 = stablehlo.broadcast_in_dim %99, dims = [0] : (tensor<8xf32>) -> tensor<8x3xf32>
    %101 = stablehlo.subtract %98, %100 : tensor<8x3xf32>
    %102 = stablehlo.exponential %101 : tensor<8x3xf32>
    %103 = stablehlo.reduce(%102 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8xf32>
    %104 = stablehlo.log %103 : tensor<8xf32>
    %105 = stablehlo.broadcast_in_dim %104, dims = [0] : (tensor<8xf32>) -> tensor<8x3xf32>
    %106 = stablehlo.subtract %101, %105 : tensor<8x3xf32>
    %107 = stablehlo.broadcast_in_dim %arg19, dims = [0] : (tensor<8xi32>) -> tensor<8x3xi32>
    %108 = stablehlo.iota dim = 1 : tensor<8x3xi32>
    %109 = stablehlo.compare  EQ, %107, %108,  SIGNED : (tensor<8x3xi32>, tensor<8x3xi32>) -> tensor<8x3xi1>
    %110 = stablehlo.convert %109 : (tensor<8x3xi1>) -> tensor<8x3xf32>
    %111 = stablehlo.multiply %106, %110 : tensor<8x3xf32>
    %112 = stablehlo.reduce(%111 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<f32>
    %113 = stablehlo.divide %112, %cst_1 : tensor<f32>
    %114 = stablehlo.negate %113 : tensor<f32>
    return %114 : tensor<f32>
  }
}
