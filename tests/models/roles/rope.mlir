// Causal attention whose queries and keys are turned by their positions (rope); a gated MLP. The frequencies are frozen.
module @jit_loss_fn attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x8xf32> loc("params['attn']['k']['kernel']"), %arg1: tensor<8x8xf32> loc("params['attn']['o']['kernel']"), %arg2: tensor<8x8xf32> loc("params['attn']['q']['kernel']"), %arg3: tensor<8x8xf32> loc("params['attn']['v']['kernel']"), %arg4: tensor<5x8xf32> loc("params['embed']['embedding']"), %arg5: tensor<16x8xf32> loc("params['mlp']['down']['kernel']"), %arg6: tensor<8x16xf32> loc("params['mlp']['gate']['kernel']"), %arg7: tensor<8x16xf32> loc("params['mlp']['up']['kernel']"), %arg8: tensor<8xf32> {pcp.init = "ones"} loc("params['norm_attn']['scale']"), %arg9: tensor<8xf32> {pcp.init = "ones"} loc("params['norm_mlp']['scale']"), %arg10: tensor<2xf32> {pcp.init = "uniform(0.1,1)"} loc("inv_freq"), %arg11: tensor<4x6xi32> loc("batch['inputs']"), %arg12: tensor<4x6xi32> loc("batch['targets']")) -> (tensor<f32> {jax.result_info = ""}) {
    %0 = stablehlo.reshape %arg11 : (tensor<4x6xi32>) -> tensor<4x6x1xi32>
    %1 = "stablehlo.gather"(%arg4, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<5x8xf32>, tensor<4x6x1xi32>) -> tensor<4x6x8xf32>
    // angles: position times frequency
    %2 = stablehlo.iota dim = 0 : tensor<6xi32>
    %3 = stablehlo.convert %2 : (tensor<6xi32>) -> tensor<6xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<6xf32>) -> tensor<6x2xf32>
    %5 = stablehlo.broadcast_in_dim %arg10, dims = [1] : (tensor<2xf32>) -> tensor<6x2xf32>
    %6 = stablehlo.multiply %4, %5 : tensor<6x2xf32>
    %7 = stablehlo.concatenate %6, %6, dim = 1 : (tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<6x4xf32>
    %8 = stablehlo.cosine %7 : tensor<6x4xf32>
    %9 = stablehlo.sine %7 : tensor<6x4xf32>
    %10 = stablehlo.multiply %1, %1 : tensor<4x6x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x6x8xf32>, tensor<f32>) -> tensor<4x6xf32>
    %cst_1 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %13 = stablehlo.divide %11, %12 : tensor<4x6xf32>
    %cst_2 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %15 = stablehlo.add %13, %14 : tensor<4x6xf32>
    %16 = stablehlo.rsqrt %15 : tensor<4x6xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<4x6xf32>) -> tensor<4x6x8xf32>
    %18 = stablehlo.multiply %1, %17 : tensor<4x6x8xf32>
    %19 = stablehlo.broadcast_in_dim %arg8, dims = [2] : (tensor<8xf32>) -> tensor<4x6x8xf32>
    %20 = stablehlo.multiply %18, %19 : tensor<4x6x8xf32>
    %21 = stablehlo.dot_general %20, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x6x8xf32>, tensor<8x8xf32>) -> tensor<4x6x8xf32>
    %22 = stablehlo.reshape %21 : (tensor<4x6x8xf32>) -> tensor<4x6x2x4xf32>
    %23 = stablehlo.transpose %22, dims = [0, 2, 1, 3] : (tensor<4x6x2x4xf32>) -> tensor<4x2x6x4xf32>
    %24 = stablehlo.slice %23 [0:4, 0:2, 0:6, 0:2] : (tensor<4x2x6x4xf32>) -> tensor<4x2x6x2xf32>
    %25 = stablehlo.slice %23 [0:4, 0:2, 0:6, 2:4] : (tensor<4x2x6x4xf32>) -> tensor<4x2x6x2xf32>
    %26 = stablehlo.negate %25 : tensor<4x2x6x2xf32>
    %27 = stablehlo.concatenate %26, %24, dim = 3 : (tensor<4x2x6x2xf32>, tensor<4x2x6x2xf32>) -> tensor<4x2x6x4xf32>
    %28 = stablehlo.broadcast_in_dim %8, dims = [2, 3] : (tensor<6x4xf32>) -> tensor<4x2x6x4xf32>
    %29 = stablehlo.multiply %23, %28 : tensor<4x2x6x4xf32>
    %30 = stablehlo.broadcast_in_dim %9, dims = [2, 3] : (tensor<6x4xf32>) -> tensor<4x2x6x4xf32>
    %31 = stablehlo.multiply %27, %30 : tensor<4x2x6x4xf32>
    %32 = stablehlo.add %29, %31 : tensor<4x2x6x4xf32>
    %33 = stablehlo.dot_general %20, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x6x8xf32>, tensor<8x8xf32>) -> tensor<4x6x8xf32>
    %34 = stablehlo.reshape %33 : (tensor<4x6x8xf32>) -> tensor<4x6x2x4xf32>
    %35 = stablehlo.transpose %34, dims = [0, 2, 1, 3] : (tensor<4x6x2x4xf32>) -> tensor<4x2x6x4xf32>
    %36 = stablehlo.slice %35 [0:4, 0:2, 0:6, 0:2] : (tensor<4x2x6x4xf32>) -> tensor<4x2x6x2xf32>
    %37 = stablehlo.slice %35 [0:4, 0:2, 0:6, 2:4] : (tensor<4x2x6x4xf32>) -> tensor<4x2x6x2xf32>
    %38 = stablehlo.negate %37 : tensor<4x2x6x2xf32>
    %39 = stablehlo.concatenate %38, %36, dim = 3 : (tensor<4x2x6x2xf32>, tensor<4x2x6x2xf32>) -> tensor<4x2x6x4xf32>
    %40 = stablehlo.broadcast_in_dim %8, dims = [2, 3] : (tensor<6x4xf32>) -> tensor<4x2x6x4xf32>
    %41 = stablehlo.multiply %35, %40 : tensor<4x2x6x4xf32>
    %42 = stablehlo.broadcast_in_dim %9, dims = [2, 3] : (tensor<6x4xf32>) -> tensor<4x2x6x4xf32>
    %43 = stablehlo.multiply %39, %42 : tensor<4x2x6x4xf32>
    %44 = stablehlo.add %41, %43 : tensor<4x2x6x4xf32>
    %45 = stablehlo.dot_general %20, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x6x8xf32>, tensor<8x8xf32>) -> tensor<4x6x8xf32>
    %46 = stablehlo.reshape %45 : (tensor<4x6x8xf32>) -> tensor<4x6x2x4xf32>
    %47 = stablehlo.transpose %46, dims = [0, 2, 1, 3] : (tensor<4x6x2x4xf32>) -> tensor<4x2x6x4xf32>
    // attention to what went before
    %48 = stablehlo.dot_general %32, %44, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x2x6x4xf32>, tensor<4x2x6x4xf32>) -> tensor<4x2x6x6xf32>
    %cst_3 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x2x6x6xf32>
    %50 = stablehlo.multiply %48, %49 : tensor<4x2x6x6xf32>
    %51 = stablehlo.iota dim = 0 : tensor<6x6xi32>
    %52 = stablehlo.iota dim = 1 : tensor<6x6xi32>
    %53 = stablehlo.compare  GE, %51, %52,  SIGNED : (tensor<6x6xi32>, tensor<6x6xi32>) -> tensor<6x6xi1>
    %54 = stablehlo.broadcast_in_dim %53, dims = [2, 3] : (tensor<6x6xi1>) -> tensor<4x2x6x6xi1>
    %cst_4 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %55 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x2x6x6xf32>
    %56 = stablehlo.select %54, %50, %55 : tensor<4x2x6x6xi1>, tensor<4x2x6x6xf32>
    %cst_5 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %57 = stablehlo.reduce(%56 init: %cst_5) applies stablehlo.maximum across dimensions = [3] : (tensor<4x2x6x6xf32>, tensor<f32>) -> tensor<4x2x6xf32>
    %58 = stablehlo.broadcast_in_dim %57, dims = [0, 1, 2] : (tensor<4x2x6xf32>) -> tensor<4x2x6x6xf32>
    %59 = stablehlo.subtract %56, %58 : tensor<4x2x6x6xf32>
    %60 = stablehlo.exponential %59 : tensor<4x2x6x6xf32>
    %61 = stablehlo.reduce(%60 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<4x2x6x6xf32>, tensor<f32>) -> tensor<4x2x6xf32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [0, 1, 2] : (tensor<4x2x6xf32>) -> tensor<4x2x6x6xf32>
    %63 = stablehlo.divide %60, %62 : tensor<4x2x6x6xf32>
    %64 = stablehlo.dot_general %63, %47, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x2x6x6xf32>, tensor<4x2x6x4xf32>) -> tensor<4x2x6x4xf32>
    %65 = stablehlo.transpose %64, dims = [0, 2, 1, 3] : (tensor<4x2x6x4xf32>) -> tensor<4x6x2x4xf32>
    %66 = stablehlo.reshape %65 : (tensor<4x6x2x4xf32>) -> tensor<4x6x8xf32>
    %67 = stablehlo.dot_general %66, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x6x8xf32>, tensor<8x8xf32>) -> tensor<4x6x8xf32>
    %68 = stablehlo.add %1, %67 : tensor<4x6x8xf32>
    %69 = stablehlo.multiply %68, %68 : tensor<4x6x8xf32>
    %70 = stablehlo.reduce(%69 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x6x8xf32>, tensor<f32>) -> tensor<4x6xf32>
    %71 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %72 = stablehlo.divide %70, %71 : tensor<4x6xf32>
    %73 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %74 = stablehlo.add %72, %73 : tensor<4x6xf32>
    %75 = stablehlo.rsqrt %74 : tensor<4x6xf32>
    %76 = stablehlo.broadcast_in_dim %75, dims = [0, 1] : (tensor<4x6xf32>) -> tensor<4x6x8xf32>
    %77 = stablehlo.multiply %68, %76 : tensor<4x6x8xf32>
    %78 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<8xf32>) -> tensor<4x6x8xf32>
    %79 = stablehlo.multiply %77, %78 : tensor<4x6x8xf32>
    %80 = stablehlo.dot_general %79, %arg6, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x6x8xf32>, tensor<8x16xf32>) -> tensor<4x6x16xf32>
    %81 = stablehlo.logistic %80 : tensor<4x6x16xf32>
    %82 = stablehlo.multiply %80, %81 : tensor<4x6x16xf32>
    %83 = stablehlo.dot_general %79, %arg7, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x6x8xf32>, tensor<8x16xf32>) -> tensor<4x6x16xf32>
    %84 = stablehlo.multiply %82, %83 : tensor<4x6x16xf32>
    %85 = stablehlo.dot_general %84, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x6x16xf32>, tensor<16x8xf32>) -> tensor<4x6x8xf32>
    %86 = stablehlo.add %68, %85 : tensor<4x6x8xf32>
    // the embedding gives the logits, too
    %87 = stablehlo.dot_general %86, %arg4, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x6x8xf32>, tensor<5x8xf32>) -> tensor<4x6x5xf32>
    %88 = stablehlo.reduce(%87 init: %cst_5) applies stablehlo.maximum across dimensions = [2] : (tensor<4x6x5xf32>, tensor<f32>) -> tensor<4x6xf32>
    %89 = stablehlo.broadcast_in_dim %88, dims = [0, 1] : (tensor<4x6xf32>) -> tensor<4x6x5xf32>
    %90 = stablehlo.subtract %87, %89 : tensor<4x6x5xf32>
    %91 = stablehlo.exponential %90 : tensor<4x6x5xf32>
    %92 = stablehlo.reduce(%91 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x6x5xf32>, tensor<f32>) -> tensor<4x6xf32>
    %93 = stablehlo.log %92 : tensor<4x6xf32>
    %94 = stablehlo.broadcast_in_dim %93, dims = [0, 1] : (tensor<4x6xf32>) -> tensor<4x6x5xf32>
    %95 = stablehlo.subtract %90, %94 : tensor<4x6x5xf32>
    %96 = stablehlo.broadcast_in_dim %arg12, dims = [0, 1] : (tensor<4x6xi32>) -> tensor<4x6x5xi32>
    %97 = stablehlo.iota dim = 2 : tensor<4x6x5xi32>
    %98 = stablehlo.compare  EQ, %96, %97,  SIGNED : (tensor<4x6x5xi32>, tensor<4x6x5xi32>) -> tensor<4x6x5xi1>
    %99 = stablehlo.convert %98 : (tensor<4x6x5xi1>) -> tensor<4x6x5xf32>
    %100 = stablehlo.multiply %95, %99 : tensor<4x6x5xf32>
    %101 = stablehlo.reduce(%100 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x6x5xf32>, tensor<f32>) -> tensor<f32>
    %cst_6 = stablehlo.constant dense<24.000000e+00> : tensor<f32>
    %102 = stablehlo.divide %101, %cst_6 : tensor<f32>
    %103 = stablehlo.negate %102 : tensor<f32>
    return %103 : tensor<f32>
  }
}
