// constant with properties
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %c = stablehlo.constant() <{value = dense<2.000000e+00> : tensor<4x8xf32>}> : () -> tensor<4x8xf32>
    %r = stablehlo.multiply %x, %c : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// integers without a sign compared as unsigned
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %c = stablehlo.constant dense<1> : tensor<4x8xi32>
    %0 = stablehlo.convert %x : (tensor<4x8xf32>) -> tensor<4x8xi32>
    %1 = stablehlo.compare LT, %0, %c, UNSIGNED : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
    %2 = stablehlo.negate %x : tensor<4x8xf32>
    %r = stablehlo.select %1, %x, %2 : tensor<4x8xi1>, tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a scatter that writes a constant, at 2000 places
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %i = stablehlo.iota dim = 0 : tensor<2000x1xi32>
    %b = stablehlo.constant dense<0.0> : tensor<5000x8xf32>
    %u = stablehlo.constant dense<0.0> : tensor<2000x8xf32>
    %cc = stablehlo.constant dense<1.5> : tensor<f32>
    %y0 = stablehlo.concatenate %x, %b, dim = 0 : (tensor<4x8xf32>, tensor<5000x8xf32>) -> tensor<5004x8xf32>
    %y = "stablehlo.scatter"(%y0, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %bb: tensor<f32>):
    stablehlo.return %cc : tensor<f32>
    }) : (tensor<5004x8xf32>, tensor<2000x1xi32>, tensor<2000x8xf32>) -> tensor<5004x8xf32>
    %r = stablehlo.slice %y [2:6, 0:8] : (tensor<5004x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a module in the module
// want: plan
module @jit_f {
  module @inner attributes {transform.with_named_sequence} {
    func.func @g(%a: tensor<f32>) -> tensor<f32> {
      %0 = func.call @h(%a) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    func.func @h(%a: tensor<f32>) -> tensor<f32> {
      return %a : tensor<f32>
    }
  }
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %r = stablehlo.tanh %x : tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// the same name inside and outside of a nested module
// want: plan
module @jit_f {
  module @inner {
    func.func @h(%a: tensor<f32>) -> tensor<f32> {
      return %a : tensor<f32>
    }
  }
  func.func private @h(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
    return %a : tensor<4x8xf32>
  }
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %r = call @h(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// a function that only the nested module has
// want: refused function @h is not defined
module @jit_f {
  module @inner {
    func.func @h(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
      return %a : tensor<4x8xf32>
    }
  }
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %r = call @h(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// the generic form throughout
// want: plan
"builtin.module"() <{sym_name = "jit_f"}> ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<f32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.reduce"(%arg0, %0) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%2) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    "func.return"(%1) : (tensor<f32>) -> ()
  }) : () -> ()
}) : () -> ()
// -----
// half-precision exported with f32 sums
// want: plan
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>) -> tensor<f32> {
    %0 = stablehlo.convert %x : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %1 = stablehlo.dot_general %0, %0, contracting_dims = [0] x [0] : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<8x8xf32>
    %r = stablehlo.dot_general %x, %1, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %square = stablehlo.multiply %r, %r : tensor<4x8xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// -----
// an auxiliary result in front of the loss
// want: ir
module @jit_loss {
  func.func public @main(%w: tensor<4xf32>) -> (tensor<4xf32> {jax.result_info = "result[0]"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %w, %w, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    return %w, %0 : tensor<4xf32>, tensor<f32>
  }
}
