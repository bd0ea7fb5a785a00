// result and argument attributes
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32> {jax.buffer_donor = true, mhlo.layout_mode = "default"} loc("params['w']")) -> (tensor<f32> {jax.result_info = "result", mhlo.layout_mode = "default"}) {
    %r = stablehlo.tanh %x : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a call of a private function, twice
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = call @relu(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %r = call @relu(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
  func.func private @relu(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
}
// -----
// a scan: while with a dynamic slice of what is scanned
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<4> : tensor<i32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
    %0:3 = stablehlo.while(%iterArg = %x, %iterArg_1 = %c, %iterArg_2 = %cst) : tensor<4x8xf32>, tensor<i32>, tensor<8xf32> attributes {mhlo.frontend_attributes = {}}
    cond {
    %1 = stablehlo.compare  LT, %iterArg_1, %c_0,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
    } do {
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_slice %iterArg, %iterArg_1, %c_3, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x8xf32>) -> tensor<8xf32>
    %3 = stablehlo.add %iterArg_2, %2 : tensor<8xf32>
    %4 = stablehlo.tanh %3 : tensor<8xf32>
    %c_4 = stablehlo.constant dense<1> : tensor<i32>
    %5 = stablehlo.add %iterArg_1, %c_4 : tensor<i32>
    stablehlo.return %iterArg, %5, %4 : tensor<4x8xf32>, tensor<i32>, tensor<8xf32>
    }
    %r = stablehlo.broadcast_in_dim %0#2, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// debug.print with a token
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %t = stablehlo.create_token : !stablehlo.token
    %0 = stablehlo.custom_call @xla_python_cpu_callback(%t, %x) {api_version = 2 : i32, backend_config = "94", has_side_effect = true} : (!stablehlo.token, tensor<4x8xf32>) -> !stablehlo.token
    %r = stablehlo.negate %x : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// debug.print through the foreign function interface
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = stablehlo.custom_call @xla_ffi_partitioned_python_cpu_callback(%x) {api_version = 4 : i32, has_side_effect = true, mhlo.backend_config = {index = 3 : ui64}} : (tensor<4x8xf32>) -> tuple<>
    %r = stablehlo.negate %x : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a pure_callback
// want: refused takes results from the process that exported the model
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %r = stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) {api_version = 4 : i32, mhlo.backend_config = {index = 0 : ui64}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// shape assertions of jax.export
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %c = stablehlo.constant dense<true> : tensor<i1>
    %c_0 = stablehlo.constant dense<4> : tensor<i32>
    stablehlo.custom_call @shape_assertion(%c, %c_0) {api_version = 2 : i32, error_message = "Input shapes do not match: got {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %r = stablehlo.negate %x : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a shape that is only known at run time
// want: refused static ones
module @jit_f attributes {jax.uses_shape_polymorphism = true} {
  func.func public @main(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
    %r = stablehlo.negate %x : tensor<?x8xf32>
    return %r : tensor<?x8xf32>
  }
}
// -----
// top_k of jax.lax
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %v, %i = chlo.top_k(%x, k = 8) : tensor<4x8xf32> -> (tensor<4x8xf32>, tensor<4x8xi32>)
    %r = stablehlo.negate %v : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a composite with its decomposition
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %r = stablehlo.composite "chlo.gelu" %x {composite_attributes = {approximate = "tanh"}, decomposition = @gelu} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
  func.func private @gelu(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.logistic %arg0 : tensor<4x8xf32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
}
// -----
// constants that were left out of the text
// want: refused elided
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %c = stablehlo.constant dense_resource<__elided__> : tensor<4x8xf32>
    %r = stablehlo.multiply %x, %c : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// an argument that is a PRNG key, and bits of it
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>, %key: tensor<2xui32>) -> tensor<f32> {
    %0 = stablehlo.reshape %key : (tensor<2xui32>) -> tensor<1x2xui32>
    %1 = stablehlo.bitcast_convert %0 : (tensor<1x2xui32>) -> tensor<1xui64>
    %2 = stablehlo.concatenate %1, %1, dim = 0 : (tensor<1xui64>, tensor<1xui64>) -> tensor<2xui64>
    %3, %bits = stablehlo.rng_bit_generator %2, algorithm =  DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x8xui32>)
    %c = stablehlo.constant dense<9> : tensor<ui32>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui32>) -> tensor<4x8xui32>
    %5 = stablehlo.shift_right_logical %bits, %4 : tensor<4x8xui32>
    %6 = stablehlo.convert %5 : (tensor<4x8xui32>) -> tensor<4x8xf32>
    %r = stablehlo.multiply %x, %6 : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// locations everywhere, aliases behind the module
// want: plan
#loc1 = loc("params['w']")
#loc2 = loc("step.py":12:8)
module @jit_step {
  func.func public @main(%arg0: tensor<4xf32> loc("params['w']")) -> (tensor<f32> {jax.result_info = ""}) {
    %0 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32> loc(#loc3)
    return %0 : tensor<f32> loc(#loc2)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc3 = loc("jit(step)/dot_general"(#loc2))
// -----
// cholesky by LAPACK
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %1:2 = stablehlo.custom_call @lapack_spotrf_ffi(%0) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.compare  EQ, %1#1, %c,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<4x4xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i1>) -> tensor<4x4xi1>
    %4 = stablehlo.select %3, %1#0, %nan : tensor<4x4xi1>, tensor<4x4xf32>
    %r = stablehlo.dot_general %4, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a triangular system by BLAS
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %a = stablehlo.constant dense<[[2.0, 0.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.0], [1.0, 1.0, 2.0, 0.0], [1.0, 1.0, 1.0, 2.0]]> : tensor<4x4xf32>
    %r = stablehlo.custom_call @lapack_strsm_ffi(%a, %x) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}} : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a routine of LAPACK that is no op
// want: ir
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %1:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%0) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<i32>)
    %r = stablehlo.dot_general %1#0, %x, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// cumsum: a window that reaches back to the beginning
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %r = "stablehlo.reduce_window"(%x, %cst) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [7, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 8>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// argmax: two values reduced at once, and a column looked up by it
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.iota dim = 1 : tensor<4x8xi32>
    %1:2 = stablehlo.reduce(%x init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
     reducer(%a: tensor<f32>, %c1: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>)  {
      %2 = stablehlo.compare  GT, %a, %c1,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.select %2, %a, %c1 : tensor<i1>, tensor<f32>
      %4 = stablehlo.select %2, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %3, %4 : tensor<f32>, tensor<i32>
    }
    %5 = stablehlo.broadcast_in_dim %1#1, dims = [0] : (tensor<4xi32>) -> tensor<4x8xi32>
    %6 = stablehlo.compare  EQ, %0, %5,  SIGNED : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
    %7 = stablehlo.convert %6 : (tensor<4x8xi1>) -> tensor<4x8xf32>
    %r = stablehlo.multiply %7, %x : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// jax.checkpoint: what is computed again stands behind a barrier
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = stablehlo.sine %x : tensor<4x8xf32>
    %1:2 = stablehlo.optimization_barrier %0, %x : tensor<4x8xf32>, tensor<4x8xf32>
    %r = func.call @checkpoint(%1#0, %1#1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
  func.func private @checkpoint(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.cosine %arg1 : tensor<4x8xf32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
}
