// a mesh of one device
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=1, "y"=1]>
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %r = sdy.sharding_constraint %x <@mesh, [{"x"}, {}]> : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a mesh spelled with its dialect, and device ids
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = #sdy.mesh<["x"=1], device_ids=[0]>
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %r = sdy.sharding_constraint %x <@mesh, [{"x"}, {?}]> : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a mesh in the generic form
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=1]>, sym_name = "mesh"}> : () -> ()
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %r = "sdy.sharding_constraint"(%x) <{sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a mesh behind an alias
// want: plan
#m = #sdy.mesh<["x"=8]>
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = #m
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %r = sdy.sharding_constraint %x <@mesh, [{"x"}, {}]> : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a whole program for eight devices, shardings left out
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<f32> {
    %0 = sdy.sharding_constraint %x <@mesh, [{"x"}, {"y"}]> : tensor<4x8xf32>
    %1 = sdy.reshard %0 <@mesh, [{}, {}]> : tensor<4x8xf32>
    %r = stablehlo.tanh %1 : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// manual_computation on one device
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=1, "y"=1]>
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%arg1: tensor<4x8xf32>) {
    %x = stablehlo.tanh %arg1 : tensor<4x8xf32>
    sdy.return %x : tensor<4x8xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// manual_computation on eight devices
// want: refused one device's part of a program for 8
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<2x8xf32>) {
    %2 = stablehlo.tanh %arg1 : tensor<2x8xf32>
    sdy.return %2 : tensor<2x8xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a named computation with two results
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0:2 = sdy.named_computation<"layer"> (%x, %x) (%arg1: tensor<4x8xf32>, %arg2: tensor<4x8xf32>) {
    %2 = stablehlo.tanh %arg1 : tensor<4x8xf32>
    %3 = stablehlo.negate %arg2 : tensor<4x8xf32>
    sdy.return %3, %2 : tensor<4x8xf32>, tensor<4x8xf32>
    } : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    %r = stablehlo.subtract %0#0, %0#1 : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// sdy.constant, barrier and group
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %c = sdy.constant dense<2.000000e+00> : tensor<4x8xf32>
    %0 = sdy.propagation_barrier %c allowed_direction=NONE : tensor<4x8xf32>
    sdy.sharding_group %x group_id=3 : tensor<4x8xf32>
    %r = stablehlo.multiply %x, %0 : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a collective of sdy
// want: refused more than one device
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %r = sdy.all_gather [{}, {"y"}] %x out_sharding=<@mesh, [{}, {}]> : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// shardings as custom calls
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = stablehlo.custom_call @Sharding(%x) {backend_config = "", mhlo.sharding = "{devices=[8,1]<=[8]}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %r = stablehlo.tanh %0 : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// full shape to shard shape on eight devices
// want: refused one device's part of a program for 8
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %1 = stablehlo.tanh %0 : tensor<4x1xf32>
    %r = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "{devices=[1,8]<=[8]}"} : (tensor<4x1xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// full shape to shard shape on one device
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.tanh %0 : tensor<4x8xf32>
    %r = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "{replicated}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// an optimization barrier with its attributes in front
// want: plan
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=1, "y"=1]>
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %r = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} %x : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
