// A mixture of four experts, of which each row takes two by chlo.top_k. The second result is the balance of the router alone.
module @jit_loss_fn attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x6x8xf32> loc("params['experts']['w_in']"), %arg1: tensor<4x8x6xf32> loc("params['experts']['w_out']"), %arg2: tensor<6x3xf32> loc("params['out']['kernel']"), %arg3: tensor<6x4xf32> loc("params['router']['kernel']"), %arg4: tensor<16x6xf32> loc("x"), %arg5: tensor<16xi32> loc("labels")) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<f32> {jax.result_info = "result[1]['balance']"}) {
    // the two likeliest experts of each row, and their shares
    %0 = stablehlo.dot_general %arg4, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x6xf32>, tensor<6x4xf32>) -> tensor<16x4xf32>
    %cst = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<16x4xf32>, tensor<f32>) -> tensor<16xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<16xf32>) -> tensor<16x4xf32>
    %3 = stablehlo.subtract %0, %2 : tensor<16x4xf32>
    %4 = stablehlo.exponential %3 : tensor<16x4xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.reduce(%4 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<16x4xf32>, tensor<f32>) -> tensor<16xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<16xf32>) -> tensor<16x4xf32>
    %7 = stablehlo.divide %4, %6 : tensor<16x4xf32>
    %8, %9 = chlo.top_k(%7, k = 2) : tensor<16x4xf32> -> (tensor<16x2xf32>, tensor<16x2xi32>)
    %10 = stablehlo.reduce(%8 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<16x2xf32>, tensor<f32>) -> tensor<16xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<16xf32>) -> tensor<16x2xf32>
    %12 = stablehlo.divide %8, %11 : tensor<16x2xf32>
    %13 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<16x2xi32>) -> tensor<16x2x4xi32>
    %14 = stablehlo.iota dim = 2 : tensor<16x2x4xi32>
    %15 = stablehlo.compare  EQ, %13, %14,  SIGNED : (tensor<16x2x4xi32>, tensor<16x2x4xi32>) -> tensor<16x2x4xi1>
    %16 = stablehlo.convert %15 : (tensor<16x2x4xi1>) -> tensor<16x2x4xf32>
    %17 = stablehlo.dot_general %12, %16, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x2xf32>, tensor<16x2x4xf32>) -> tensor<16x4xf32>
    // all experts compute, the router weighs
    %18 = stablehlo.dot_general %arg4, %arg0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x6xf32>, tensor<4x6x8xf32>) -> tensor<16x4x8xf32>
    %19 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x4x8xf32>
    %20 = stablehlo.maximum %18, %19 : tensor<16x4x8xf32>
    %21 = stablehlo.dot_general %20, %arg1, batching_dims = [1] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x4x8xf32>, tensor<4x8x6xf32>) -> tensor<4x16x6xf32>
    %22 = stablehlo.dot_general %17, %21, batching_dims = [0] x [1], contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x4xf32>, tensor<4x16x6xf32>) -> tensor<16x6xf32>
    %23 = stablehlo.add %arg4, %22 : tensor<16x6xf32>
    %24 = stablehlo.dot_general %23, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x6xf32>, tensor<6x3xf32>) -> tensor<16x3xf32>
    %25 = stablehlo.reduce(%24 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<16x3xf32>, tensor<f32>) -> tensor<16xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0] : (tensor<16xf32>) -> tensor<16x3xf32>
    %27 = stablehlo.subtract %24, %26 : tensor<16x3xf32>
    %28 = stablehlo.exponential %27 : tensor<16x3xf32>
    %29 = stablehlo.reduce(%28 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<16x3xf32>, tensor<f32>) -> tensor<16xf32>
    %30 = stablehlo.log %29 : tensor<16xf32>
    %31 = stablehlo.broadcast_in_dim %30, dims = [0] : (tensor<16xf32>) -> tensor<16x3xf32>
    %32 = stablehlo.subtract %27, %31 : tensor<16x3xf32>
    %33 = stablehlo.broadcast_in_dim %arg5, dims = [0] : (tensor<16xi32>) -> tensor<16x3xi32>
    %34 = stablehlo.iota dim = 1 : tensor<16x3xi32>
    %35 = stablehlo.compare  EQ, %33, %34,  SIGNED : (tensor<16x3xi32>, tensor<16x3xi32>) -> tensor<16x3xi1>
    %36 = stablehlo.convert %35 : (tensor<16x3xi1>) -> tensor<16x3xf32>
    %37 = stablehlo.multiply %32, %36 : tensor<16x3xf32>
    %38 = stablehlo.reduce(%37 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x3xf32>, tensor<f32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<16.000000e+00> : tensor<f32>
    %39 = stablehlo.divide %38, %cst_2 : tensor<f32>
    %40 = stablehlo.negate %39 : tensor<f32>
    // balance: how often an expert comes first, times its mean share
    %41 = stablehlo.slice %16 [0:16, 0:1, 0:4] : (tensor<16x2x4xf32>) -> tensor<16x1x4xf32>
    %42 = stablehlo.reshape %41 : (tensor<16x1x4xf32>) -> tensor<16x4xf32>
    %43 = stablehlo.reduce(%42 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<16x4xf32>, tensor<f32>) -> tensor<4xf32>
    %44 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %45 = stablehlo.divide %43, %44 : tensor<4xf32>
    %46 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<16x4xf32>, tensor<f32>) -> tensor<4xf32>
    %47 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %48 = stablehlo.divide %46, %47 : tensor<4xf32>
    %49 = stablehlo.multiply %45, %48 : tensor<4xf32>
    %50 = stablehlo.reduce(%49 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %cst_3 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %51 = stablehlo.multiply %50, %cst_3 : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.000000e-02> : tensor<f32>
    %52 = stablehlo.multiply %cst_4, %51 : tensor<f32>
    %53 = stablehlo.add %40, %52 : tensor<f32>
    return %53, %51 : tensor<f32>, tensor<f32>
  }
}
