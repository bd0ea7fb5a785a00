// Rows scattered into zeros and added are added where they belong; single elements, and rows that
// are read elsewhere as well, stay.
func.func @main(%x: tensor<5x3xf32>, %v: tensor<5xf32>, %i: tensor<4x1xi32>, %u: tensor<4x3xf32>, %e: tensor<4xf32>) -> (tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<5x3xf32>
  %none = stablehlo.constant dense<0.0> : tensor<5xf32>
  %s = "stablehlo.scatter"(%zero, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %y = stablehlo.add %x, %s : tensor<5x3xf32>
  %w = stablehlo.negate %u : tensor<4x3xf32>
  %t = "stablehlo.scatter"(%zero, %i, %w) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %z = stablehlo.add %t, %x : tensor<5x3xf32>
  %r = "stablehlo.scatter"(%none, %i, %e) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<5xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<5xf32>
  %q = stablehlo.add %v, %r : tensor<5xf32>
  return %y, %z, %t, %q : tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5xf32>
}
// -----
func.func @main(%x: tensor<5x3xf32>, %v: tensor<5xf32>, %i: tensor<4x1xi32>, %u: tensor<4x3xf32>, %e: tensor<4xf32>) -> (tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<5x3xf32>
  %none = stablehlo.constant dense<0.0> : tensor<5xf32>
  %y = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %w = stablehlo.negate %u : tensor<4x3xf32>
  %t = "stablehlo.scatter"(%zero, %i, %w) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %z = stablehlo.add %t, %x : tensor<5x3xf32>
  %r = "stablehlo.scatter"(%none, %i, %e) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<5xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<5xf32>
  %q = stablehlo.add %v, %r : tensor<5xf32>
  return %y, %z, %t, %q : tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5xf32>
}
