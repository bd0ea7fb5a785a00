// A classifier whose batch is open, as jax.export writes it: shapes are computed where they are needed, from sizes that private functions are
// handed over.
module @jit_f attributes {jax.uses_shape_polymorphism = true} {
  func.func public @main(%x: tensor<?x8xf32> loc("x"), %w: tensor<8x4xf32> loc("params['w']"), %y: tensor<?xi32> loc("labels")) -> tensor<f32> {
    %c = stablehlo.constant dense<true> : tensor<i1>
    %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x8xf32>) -> tensor<i32>
    stablehlo.custom_call @shape_assertion(%c, %0) {api_version = 2 : i32, error_message = "got {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %1 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %i1 = stablehlo.constant dense<1> : tensor<i32>
    %i3 = stablehlo.constant dense<3> : tensor<i32>
    %s:2 = stablehlo.while(%i = %i0, %a = %1) : tensor<i32>, tensor<?x4xf32>
    cond {
      %go = stablehlo.compare LT, %i, %i3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.add %i, %i1 : tensor<i32>
      %wave = stablehlo.sine %a : tensor<?x4xf32>
      stablehlo.return %next, %wave : tensor<i32>, tensor<?x4xf32>
    }
    %2 = call @relu(%0, %s#1) : (tensor<i32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %ninf) applies stablehlo.maximum across dimensions = [1] : (tensor<?x4xf32>, tensor<f32>) -> tensor<?xf32>
    %4 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
    %c4 = stablehlo.constant dense<4> : tensor<1xi32>
    %5 = stablehlo.concatenate %4, %c4, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %6 = stablehlo.dynamic_broadcast_in_dim %3, %5, dims = [0] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x4xf32>
    %7 = stablehlo.subtract %2, %6 : tensor<?x4xf32>
    %8 = stablehlo.exponential %7 : tensor<?x4xf32>
    %9 = stablehlo.reduce(%8 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<?x4xf32>, tensor<f32>) -> tensor<?xf32>
    %10 = stablehlo.log %9 : tensor<?xf32>
    %11 = stablehlo.dynamic_iota %5, dim = 1 : (tensor<2xi32>) -> tensor<?x4xi32>
    %12 = stablehlo.dynamic_broadcast_in_dim %y, %5, dims = [0] : (tensor<?xi32>, tensor<2xi32>) -> tensor<?x4xi32>
    %13 = stablehlo.compare EQ, %11, %12, SIGNED : (tensor<?x4xi32>, tensor<?x4xi32>) -> tensor<?x4xi1>
    %14 = stablehlo.convert %13 : (tensor<?x4xi1>) -> tensor<?x4xf32>
    %15 = stablehlo.multiply %14, %7 : tensor<?x4xf32>
    %16 = stablehlo.reduce(%15 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<?x4xf32>, tensor<f32>) -> tensor<?xf32>
    %17 = stablehlo.subtract %10, %16 : tensor<?xf32>
    %18 = stablehlo.reduce(%17 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
    %19 = stablehlo.convert %0 : (tensor<i32>) -> tensor<f32>
    %20 = stablehlo.divide %18, %19 : tensor<f32>
    return %20 : tensor<f32>
  }
  func.func private @relu(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %0 = call @above(%arg0, %arg1) : (tensor<i32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    return %0 : tensor<?x4xf32>
  }
  func.func private @above(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.get_dimension_size %arg1, dim = 1 : (tensor<?x4xf32>) -> tensor<i32>
    %1 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %c = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.concatenate %1, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %3 = stablehlo.dynamic_broadcast_in_dim %cst, %2, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
    %4 = stablehlo.maximum %arg1, %3 : tensor<?x4xf32>
    return %4 : tensor<?x4xf32>
  }
}
