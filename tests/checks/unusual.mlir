// Legal and rare: spellings, padding below zero, dilations, batching dimensions, types that regions
// widen, tensors without elements. Values by hand.
// reduce_window dilated, negative padding
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  // base dilation 2: 1 0 2 0 3 0 4 0 5 (9), pad -1, 1 -> 0 2 0 3 0 4 0 5 0 (9); window 2 dilation 3 (span 4), stride 2: starts 0 2 4 : (0+3) (0+4) (0+5)
  %0 = "stablehlo.reduce_window"(%x, %z) <{base_dilations = array<i64: 2>, padding = dense<[[-1, 1]]> : tensor<1x2xi64>, window_dilations = array<i64: 3>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<5xf32>, tensor<f32>) -> tensor<3xf32>
  check.expect_eq_const %0, dense<[3.0, 4.0, 5.0]> : tensor<3xf32>
  return
}
// -----
// gather with operand batching dims
func.func @main() {
  %x = stablehlo.constant dense<[[[1,2,3],[4,5,6]],[[7,8,9],[10,11,12]]]> : tensor<2x2x3xi32>
  %i = stablehlo.constant dense<[[[1],[0]],[[0],[5]]]> : tensor<2x2x1xi64>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 2>}> : (tensor<2x2x3xi32>, tensor<2x2x1xi64>) -> tensor<2x2x2xi32>
  check.expect_eq_const %0, dense<[[[4,5],[1,2]],[[7,8],[10,11]]]> : tensor<2x2x2xi32>
  return
}
// -----
// scatter with batching dims, add
func.func @main() {
  %x = stablehlo.constant dense<[[1.,2.,3.],[4.,5.,6.]]> : tensor<2x3xf32>
  %i = stablehlo.constant dense<[[[1],[1]],[[0],[3]]]> : tensor<2x2x1xi32>
  %u = stablehlo.constant dense<[[10.,20.],[30.,40.]]> : tensor<2x2xf32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<2x2x1xi32>, tensor<2x2xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %0, dense<[[1.,32.,3.],[34.,5.,6.]]> : tensor<2x3xf32>
  return
}
// -----
// scatter of two inputs
func.func @main() {
  %x = stablehlo.constant dense<[1,2,3]> : tensor<3xi32>
  %y = stablehlo.constant dense<[1.,2.,3.]> : tensor<3xf32>
  %i = stablehlo.constant dense<[[2],[0],[2]]> : tensor<3x1xi32>
  %u = stablehlo.constant dense<[5,6,7]> : tensor<3xi32>
  %v = stablehlo.constant dense<[0.5,1.5,2.5]> : tensor<3xf32>
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<f32>):
    %1 = stablehlo.maximum %a, %c : tensor<i32>
    %2 = stablehlo.add %b, %d : tensor<f32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<f32>
  }) : (tensor<3xi32>, tensor<3xf32>, tensor<3x1xi32>, tensor<3xi32>, tensor<3xf32>) -> (tensor<3xi32>, tensor<3xf32>)
  check.expect_eq_const %0#0, dense<[6,2,7]> : tensor<3xi32>
  check.expect_eq_const %0#1, dense<[2.5,2.0,6.0]> : tensor<3xf32>
  return
}
// -----
// sort: three operands, stable, dimension -1, descending with ties
func.func @main() {
  %k = stablehlo.constant dense<[[2,1,2,1],[3,3,1,1]]> : tensor<2x4xi32>
  %v = stablehlo.constant dense<[[0,1,2,3],[4,5,6,7]]> : tensor<2x4xi64>
  %w = stablehlo.constant dense<[[true,false,true,false],[true,true,false,false]]> : tensor<2x4xi1>
  %0:3 = "stablehlo.sort"(%k, %v, %w) <{dimension = -1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i64>, %d: tensor<i64>, %e: tensor<i1>, %f: tensor<i1>):
    %1 = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<2x4xi32>, tensor<2x4xi64>, tensor<2x4xi1>) -> (tensor<2x4xi32>, tensor<2x4xi64>, tensor<2x4xi1>)
  check.expect_eq_const %0#0, dense<[[2,2,1,1],[3,3,1,1]]> : tensor<2x4xi32>
  check.expect_eq_const %0#1, dense<[[0,2,1,3],[4,5,6,7]]> : tensor<2x4xi64>
  check.expect_eq_const %0#2, dense<[[true,true,false,false],[true,true,false,false]]> : tensor<2x4xi1>
  return
}
// -----
// dot_general with precision and algorithm, pretty
func.func @main() {
  %a = stablehlo.constant dense<[[1.,2.],[3.,4.]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[1.,0.],[0.,2.]]> : tensor<2x2xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %0, dense<[[1.,4.],[3.,8.]]> : tensor<2x2xf32>
  %1 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false>}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %1, dense<[[1.,4.],[3.,8.]]> : tensor<2x2xf32>
  return
}
// -----
// convolution batch groups + window reversal + negative pads
func.func @main() {
  %x = stablehlo.constant dense<[[[1.],[2.],[3.],[4.]],[[5.],[6.],[7.],[8.]]]> : tensor<2x4x1xf32>
  %k = stablehlo.constant dense<[[[1.,10.]],[[2.,20.]]]> : tensor<2x1x2xf32>
  // reversed kernel per out channel: o0: [2,1]; o1: [20,10]; pad -1,0 -> inputs 2 3 4 ; 6 7 8; outputs: b0/o0: 2*2+3, 3*2+4 = 7, 10; b1/o1: 20*6+70 = 190, 140+80=220
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[-1, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [true]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x4x1xf32>, tensor<2x1x2xf32>) -> tensor<1x2x2xf32>
  check.expect_eq_const %0, dense<[[[7.,190.],[10.,220.]]]> : tensor<1x2x2xf32>
  return
}
// -----
// triangular solve all kinds, identities by product
func.func @main() {
  %a = stablehlo.constant dense<[[2.,9.],[3.,4.]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[2.],[11.]]> : tensor<2x1xf32>
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  check.expect_eq_const %0, dense<[[1.],[2.]]> : tensor<2x1xf32>
  %1 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  check.expect_eq_const %1, dense<[[-31.],[11.]]> : tensor<2x1xf32>
  %c = stablehlo.reshape %b : (tensor<2x1xf32>) -> tensor<1x2xf32>
  %2 = "stablehlo.triangular_solve"(%a, %c) <{left_side = false, lower = false, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>}> : (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  // x * A^T = c, A upper [[2,9],[0,4]], A^T = [[2,0],[9,4]]: x1*4 = 11, x0*2 + 9 x1 = 2
  check.expect_eq_const %2, dense<[[-11.375, 2.75]]> : tensor<1x2xf32>
  return
}
// -----
// cholesky upper, complex
func.func @main() {
  %a = stablehlo.constant dense<[[4.,2.],[7.,5.]]> : tensor<2x2xf64>
  %0 = stablehlo.cholesky %a, lower = false : tensor<2x2xf64>
  %1 = "stablehlo.cholesky"(%a) : (tensor<2x2xf64>) -> tensor<2x2xf64>
  %s = stablehlo.slice %0 [1:2, 1:2] : (tensor<2x2xf64>) -> tensor<1x1xf64>
  check.expect_eq_const %s, dense<2.0> : tensor<1x1xf64>
  return
}
// -----
// reduce_precision generic, map two operands, clamp scalar bounds
func.func @main() {
  %a = stablehlo.constant dense<[1.2345678, -0.0, 1.0e-30]> : tensor<3xf32>
  %0 = "stablehlo.reduce_precision"(%a) <{exponent_bits = 5 : i32, mantissa_bits = 2 : i32}> : (tensor<3xf32>) -> tensor<3xf32>
  check.expect_eq_const %0, dense<[1.25, -0.0, 0.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<[2., 3., 4.]> : tensor<3xf32>
  %1 = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %2 = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  check.expect_eq_const %1, dense<[2., 3., 4.]> : tensor<3xf32>
  return
}
// -----
// composites, nested calls, optimization_barrier multi
func.func private @impl(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = stablehlo.add %x, %y : tensor<2xf32>
  return %0, %x : tensor<2xf32>, tensor<2xf32>
}
func.func @main() {
  %x = stablehlo.constant dense<[1., 2.]> : tensor<2xf32>
  %0:2 = stablehlo.composite "my.thing" %x, %x {composite_attributes = {n = 3 : i64, name = "q", list = [1, 2], t = dense<1> : tensor<2xi64>}, decomposition = @impl, version = 2 : i32} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  %1:2 = stablehlo.optimization_barrier %0#0, %0#1 : tensor<2xf32>, tensor<2xf32>
  check.expect_eq_const %1#0, dense<[2., 4.]> : tensor<2xf32>
  %2:2 = "stablehlo.composite"(%x, %x) <{name = "my.thing", composite_attributes = {}, decomposition = @impl}> : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  check.expect_eq_const %2#1, dense<[1., 2.]> : tensor<2xf32>
  %3 = "stablehlo.optimization_barrier"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  stablehlo.optimization_barrier ()
  return
}
// -----
// tokens, after_all, tuples
func.func @main() {
  %t = stablehlo.create_token : !stablehlo.token
  %u = stablehlo.after_all %t, %t : !stablehlo.token
  %v = stablehlo.after_all : !stablehlo.token
  %x = stablehlo.constant dense<1> : tensor<i32>
  %tu = stablehlo.tuple %x, %u : tuple<tensor<i32>, !stablehlo.token>
  %y = stablehlo.get_tuple_element %tu[0] : (tuple<tensor<i32>, !stablehlo.token>) -> tensor<i32>
  %e = stablehlo.tuple : tuple<>
  check.expect_eq_const %y, dense<1> : tensor<i32>
  return
}
// -----
// zero-size everywhere
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %z = stablehlo.constant dense<1.5> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
  check.expect_eq_const %0, dense<1.5> : tensor<3xf32>
  %1 = stablehlo.reduce(%x init: %z) applies stablehlo.multiply across dimensions = [1] : (tensor<0x3xf32>, tensor<f32>) -> tensor<0xf32>
  %2 = stablehlo.pad %x, %z, low = [1, -1], high = [1, 0], interior = [2, 0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<2x2xf32>
  check.expect_eq_const %2, dense<1.5> : tensor<2x2xf32>
  %3 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %5 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %5 : tensor<i1>
  }) : (tensor<0x3xf32>) -> tensor<0x3xf32>
  %w = stablehlo.constant dense<> : tensor<3x0xf32>
  %6 = stablehlo.dot_general %w, %x, contracting_dims = [1] x [0] : (tensor<3x0xf32>, tensor<0x3xf32>) -> tensor<3x3xf32>
  check.expect_eq_const %6, dense<0.0> : tensor<3x3xf32>
  %7 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<0x3xf32>, tensor<0x3xf32>) -> tensor<0x3xf32>
  %8 = stablehlo.iota dim = 0 : tensor<0xi32>
  %9 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 2>, padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %5 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }) : (tensor<0x3xf32>, tensor<f32>) -> tensor<1x2xf32>
  check.expect_eq_const %9, dense<4.5> : tensor<1x2xf32>
  return
}
// -----
// case with no branch but one; if without results; while with many carries
func.func @main() {
  %i = stablehlo.constant dense<7> : tensor<i32>
  %x = stablehlo.constant dense<7> : tensor<i32>
  %0 = "stablehlo.case"(%i) ({ stablehlo.return %x : tensor<i32> }) : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %0, dense<7> : tensor<i32>
  %p = stablehlo.constant dense<true> : tensor<i1>
  "stablehlo.if"(%p) ({ stablehlo.return }, { stablehlo.return }) : (tensor<i1>) -> ()
  "stablehlo.case"(%i) ({ "stablehlo.return"() : () -> () }) : (tensor<i32>) -> ()
  return
}
// -----
// collectives, generic with channel handle
func.func @main() {
  %x = stablehlo.constant dense<[1., 2.]> : tensor<2xf32>
  %y = stablehlo.constant dense<[3]> : tensor<1xi32>
  %0:2 = "stablehlo.all_reduce"(%x, %x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  check.expect_eq_const %0#1, dense<[1., 2.]> : tensor<2xf32>
  %2:2 = "stablehlo.all_gather"(%x, %x) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  %3 = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %3, dense<[1., 2.]> : tensor<2xf32>
  %4 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<> : tensor<0x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>}> : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %4, dense<0.> : tensor<2xf32>
  %5 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  %6 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %7 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %7 : tensor<f32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %6, dense<[1., 2.]> : tensor<2xf32>
  %8 = stablehlo.replica_id : tensor<ui32>
  %9 = "stablehlo.partition_id"() : () -> tensor<ui32>
  check.expect_eq_const %9, dense<0> : tensor<ui32>
  return
}
// -----
// rng_bit_generator algorithms, states
func.func @main() {
  %s = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui32>)
  %2, %3 = "stablehlo.rng_bit_generator"(%s) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui32>)
  check.expect_eq_const %2, dense<[1, 4]> : tensor<2xui64>
  %q = stablehlo.constant dense<[1, 2, 3]> : tensor<3xui64>
  %4:2 = stablehlo.rng_bit_generator %q, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui64>)
  %5:2 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui8>)
  %6:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<0xi16>)
  return
}
// -----
// dynamic_slice at rank 0 and with unsigned indices, out of bounds
func.func @main() {
  %x = stablehlo.constant dense<5> : tensor<i8>
  %0 = stablehlo.dynamic_slice %x, sizes = [] : (tensor<i8>) -> tensor<i8>
  check.expect_eq_const %0, dense<5> : tensor<i8>
  %1 = stablehlo.dynamic_update_slice %x, %0 : (tensor<i8>, tensor<i8>) -> tensor<i8>
  check.expect_eq_const %1, dense<5> : tensor<i8>
  %v = stablehlo.constant dense<[1,2,3]> : tensor<3xi4>
  %big = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  %2 = "stablehlo.dynamic_slice"(%v, %big) <{slice_sizes = array<i64: 2>}> : (tensor<3xi4>, tensor<ui64>) -> tensor<2xi4>
  check.expect_eq_const %2, dense<[2,3]> : tensor<2xi4>
  return
}
// -----
// variadic reduce across two dims with shared region, different types; rank-0 operand reduce over nothing
func.func @main() {
  %x = stablehlo.constant dense<[[1., 5., 2.], [7., 0., 7.]]> : tensor<2x3xf32>
  %i = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %c = stablehlo.constant dense<-1> : tensor<i32>
  %0:2 = stablehlo.reduce(%x init: %z), (%i init: %c) across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%d: tensor<i32>, %e: tensor<i32>) {
    %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f32>
    %3 = stablehlo.select %1, %d, %e : tensor<i1>, tensor<i32>
    stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
  }
  check.expect_eq_const %0#0, dense<[5., 7.]> : tensor<2xf32>
  check.expect_eq_const %0#1, dense<[1, 0]> : tensor<2xi32>
  %k = stablehlo.constant dense<4.> : tensor<f32>
  %4 = stablehlo.reduce(%k init: %z) applies stablehlo.maximum across dimensions = [] : (tensor<f32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %4, dense<4.> : tensor<f32>
  return
}
// -----
// select_and_scatter with negative padding; overlapping
func.func @main() {
  %x = stablehlo.constant dense<[9., 1., 3., 2., 3.]> : tensor<5xf32>
  %s = stablehlo.constant dense<[10., 20.]> : tensor<2xf32>
  %z = stablehlo.constant dense<1.> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %z) <{padding = dense<[[-1, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<5xf32>, tensor<2xf32>, tensor<f32>) -> tensor<5xf32>
  check.expect_eq_const %0, dense<[1., 1., 11., 1., 21.]> : tensor<5xf32>
  return
}
// -----
// bitcast between widths both ways, to bool? complex?
func.func @main() {
  %x = stablehlo.constant dense<[0x3F800000, 0x40000000]> : tensor<2xf32>
  %0 = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2x4xui8>
  check.expect_eq_const %0, dense<[[0,0,128,63],[0,0,0,64]]> : tensor<2x4xui8>
  %1 = stablehlo.bitcast_convert %0 : (tensor<2x4xui8>) -> tensor<2xi32>
  check.expect_eq_const %1, dense<[1065353216, 1073741824]> : tensor<2xi32>
  %2 = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<f64>
  %3 = stablehlo.bitcast_convert %2 : (tensor<f64>) -> tensor<16xi4>
  %4 = stablehlo.bitcast_convert %3 : (tensor<16xi4>) -> tensor<f64>
  check.expect_eq %4, %2 : tensor<f64>
  return
}
// -----
// chlo pretty spellings
func.func @main() {
  %x = stablehlo.constant dense<[0.5, -0.5]> : tensor<2xf32>
  %0 = chlo.asin %x : tensor<2xf32> -> tensor<2xf32>
  %1 = chlo.sinh %x : tensor<2xf32> -> tensor<2xf32>
  %2 = chlo.atanh %x : tensor<2xf32> -> tensor<2xf32>
  check.expect_almost_eq_const %0, dense<[0.523599, -0.523599]> : tensor<2xf32>
  check.expect_almost_eq_const %2, dense<[0.549306, -0.549306]> : tensor<2xf32>
  %4 = stablehlo.constant dense<true> : tensor<i1>
  return
}
// -----
// chlo
func.func @main() {
  %x = stablehlo.constant dense<[0.5, -0.5]> : tensor<2xf32>
  %p = stablehlo.constant dense<true> : tensor<i1>
  %s = stablehlo.constant dense<2.0> : tensor<f32>
  %3 = chlo.broadcast_select %p, %x, %s : (tensor<i1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %3, dense<[0.5, -0.5]> : tensor<2xf32>
  %4 = chlo.broadcast_add %x, %s {broadcast_dimensions = array<i64>} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %4, dense<[2.5, 1.5]> : tensor<2xf32>
  %5 = chlo.broadcast_compare %x, %s {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2xf32>, tensor<f32>) -> tensor<2xi1>
  check.expect_eq_const %5, dense<true> : tensor<2xi1>
  %6 = "chlo.constant_like"(%x) <{value = 3.0 : f32}> : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %6, dense<3.0> : tensor<2xf32>
  %7 = "chlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
  check.expect_eq_const %7, dense<4> : tensor<i32>
  %8 = chlo.constant dense<4> : tensor<i32>
  %9, %10 = "chlo.top_k"(%x) <{k = 1 : i64}> : (tensor<2xf32>) -> (tensor<1xf32>, tensor<1xi32>)
  check.expect_eq_const %10, dense<0> : tensor<1xi32>
  %11 = chlo.is_inf %x : tensor<2xf32> -> tensor<2xi1>
  %12 = chlo.is_neg_inf %x : tensor<2xf32> -> tensor<2xi1>
  %13 = chlo.is_pos_inf %x : tensor<2xf32> -> tensor<2xi1>
  check.expect_eq_const %13, dense<false> : tensor<2xi1>
  %14 = chlo.polygamma %s, %s : tensor<f32>, tensor<f32> -> tensor<f32>
  check.expect_almost_eq_const %14, dense<-0.4041138> : tensor<f32>
  %15 = chlo.zeta %s, %s : tensor<f32>, tensor<f32> -> tensor<f32>
  check.expect_almost_eq_const %15, dense<0.644934> : tensor<f32>
  %16 = chlo.bessel_i1e %s : tensor<f32> -> tensor<f32>
  check.expect_almost_eq_const %16, dense<0.2152692> : tensor<f32>
  %17 = chlo.digamma %s : tensor<f32> -> tensor<f32>
  check.expect_almost_eq_const %17, dense<0.4227843> : tensor<f32>

  %19 = stablehlo.constant dense<(1.0, 2.0)> : tensor<complex<f32>>
  return
}
// -----
// ragged dot
func.func @main() {
  %a = stablehlo.constant dense<[[1.,2.],[3.,4.],[5.,6.]]> : tensor<3x2xf32>
  %b = stablehlo.constant dense<[[[1.],[0.]],[[0.],[1.]]]> : tensor<2x2x1xf32>
  %g = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %0 = "chlo.ragged_dot"(%a, %b, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>, precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>]}> : (tensor<3x2xf32>, tensor<2x2x1xf32>, tensor<2xi64>) -> tensor<3x1xf32>
  check.expect_eq_const %0, dense<[[1.],[4.],[6.]]> : tensor<3x1xf32>
  return
}
// -----
// complex compare, select, pad, reverse, dot, convolution, reduce
func.func @main() {
  %a = stablehlo.constant dense<[(1.,2.),(3.,-1.)]> : tensor<2xcomplex<f32>>
  %b = stablehlo.constant dense<[(1.,2.),(3.,1.)]> : tensor<2xcomplex<f32>>
  %0 = stablehlo.compare EQ, %a, %b : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
  check.expect_eq_const %0, dense<[true, false]> : tensor<2xi1>
  %1 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<complex<f32>>
  check.expect_eq_const %1, dense<(7.,4.)> : tensor<complex<f32>>
  %2 = stablehlo.abs %a : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  check.expect_almost_eq_const %2, dense<[2.236068, 3.162278]> : tensor<2xf32>
  %3 = stablehlo.reverse %a, dims = [0] : tensor<2xcomplex<f32>>
  check.expect_eq_const %3, dense<[(3.,-1.),(1.,2.)]> : tensor<2xcomplex<f32>>
  %4 = stablehlo.multiply %a, %b : tensor<2xcomplex<f32>>
  check.expect_eq_const %4, dense<[(-3.,4.),(10.,0.)]> : tensor<2xcomplex<f32>>
  %5 = stablehlo.divide %4, %b : tensor<2xcomplex<f32>>
  check.expect_almost_eq %5, %a : tensor<2xcomplex<f32>>
  %6 = stablehlo.sqrt %a : tensor<2xcomplex<f32>>
  %7 = stablehlo.multiply %6, %6 : tensor<2xcomplex<f32>>
  check.expect_almost_eq %7, %a : tensor<2xcomplex<f32>>
  %8 = stablehlo.convert %b : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f64>>
  %9 = stablehlo.convert %2 : (tensor<2xf32>) -> tensor<2xcomplex<f64>>
  %10 = stablehlo.is_finite %2 : (tensor<2xf32>) -> tensor<2xi1>
  return
}
// -----
// rank-0 transposes, broadcast, concatenation one operand, reverse []
func.func @main() {
  %x = stablehlo.constant dense<2.5> : tensor<f64>
  %0 = stablehlo.transpose %x, dims = [] : (tensor<f64>) -> tensor<f64>
  %1 = stablehlo.reverse %0, dims = [] : tensor<f64>
  %2 = stablehlo.slice %1 [] : (tensor<f64>) -> tensor<f64>
  %3 = stablehlo.pad %2, %x, low = [], high = [], interior = [] : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f64>) -> tensor<0x2xf64>
  %5 = stablehlo.dot_general %x, %x, contracting_dims = [] x [] : (tensor<f64>, tensor<f64>) -> tensor<f64>
  check.expect_eq_const %5, dense<6.25> : tensor<f64>
  %7 = stablehlo.reshape %5 : (tensor<f64>) -> tensor<1x1xf64>
  %6 = "stablehlo.convolution"(%7, %7) <{dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64}> : (tensor<1x1xf64>, tensor<1x1xf64>) -> tensor<1x1xf64>
  return
}
// -----
// sub-byte dense hex and i1 forms
func.func @main() {
  %0 = stablehlo.constant dense<"0x01020304"> : tensor<4xi4>
  check.expect_eq_const %0, dense<[1, 2, 3, 4]> : tensor<4xi4>
  %1 = stablehlo.constant dense<"0x0D"> : tensor<5xi1>
  check.expect_eq_const %1, dense<[true, false, true, true, false]> : tensor<5xi1>
  %2 = stablehlo.constant dense<0x7F80> : tensor<bf16>
  %3 = stablehlo.constant dense<0xFF> : tensor<f8E5M2>
  %4 = stablehlo.constant dense<0xFF> : tensor<i32>
  check.expect_eq_const %4, dense<255> : tensor<i32>
  %5 = stablehlo.constant dense<-0x10> : tensor<i32>
  return
}
// -----
// compare totalorder, on narrow floats
func.func @main() {
  %a = stablehlo.constant dense<[0.0, -0.0, 0x7E00, 0xFE00, 1.0]> : tensor<5xf16>
  %b = stablehlo.constant dense<[-0.0, 0.0, 0x7C00, 0xFC00, 0x7E00]> : tensor<5xf16>
  %0 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<5xf16>, tensor<5xf16>) -> tensor<5xi1>
  check.expect_eq_const %0, dense<[true, false, true, false, false]> : tensor<5xi1>
  %1 = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>, compare_type = #stablehlo<comparison_type TOTALORDER>}> : (tensor<5xf16>, tensor<5xf16>) -> tensor<5xi1>
  check.expect_eq_const %1, dense<false> : tensor<5xi1>
  %2 = stablehlo.compare EQ, %a, %b : (tensor<5xf16>, tensor<5xf16>) -> tensor<5xi1>
  check.expect_eq_const %2, dense<[true, true, false, false, false]> : tensor<5xi1>
  return
}
// -----
// convolution generic: all spellings, dilated in both, negative padding, feature groups, 2-d, layouts
func.func @main() {
  %x = stablehlo.iota dim = 1 : tensor<1x5x2xi32>
  %k = stablehlo.constant dense<[[[1, 2]], [[3, 4]]]> : tensor<2x1x2xi32>
  %0 = "stablehlo.convolution"(%x, %k) <{window_strides = array<i64: 2>, padding = dense<[[-1, 2]]> : tensor<1x2xi64>, lhs_dilation = array<i64: 2>, rhs_dilation = array<i64: 3>, window_reversal = array<i1: false>, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 2 : i64, batch_group_count = 1 : i64}> : (tensor<1x5x2xi32>, tensor<2x1x2xi32>) -> tensor<1x4x2xi32>
  // dilated: 0 _ 1 _ 2 _ 3 _ 4 (9), pad -1, 2 -> _ 1 _ 2 _ 3 _ 4 _ _ (10); span 4, stride 2: starts 0 2 4 6: x[s], x[s+3]: (0,2) (0,3) (0,4) (0,0)
  check.expect_eq_const %0, dense<[[[6, 8], [9, 12], [12, 16], [0, 0]]]> : tensor<1x4x2xi32>
  return
}
// -----
// pad with large negative beyond, interior with negative
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi16>
  %v = stablehlo.constant dense<-7> : tensor<i16>
  %0 = stablehlo.pad %x, %v, low = [-3], high = [-2], interior = [1] : (tensor<4xi16>, tensor<i16>) -> tensor<2xi16>
  check.expect_eq_const %0, dense<[-7, 3]> : tensor<2xi16>
  %1 = "stablehlo.pad"(%x, %v) <{edge_padding_low = array<i64: -6>, edge_padding_high = array<i64: 4>, interior_padding = array<i64: 0>}> : (tensor<4xi16>, tensor<i16>) -> tensor<2xi16>
  check.expect_eq_const %1, dense<-7> : tensor<2xi16>
  return
}
// -----
// deep nesting: while in case in while in if, capturing across
func.func @main() {
  %p = stablehlo.constant dense<true> : tensor<i1>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r = "stablehlo.if"(%p) ({
    %0:2 = stablehlo.while(%i = %z, %acc = %z) : tensor<i32>, tensor<i32> attributes {mhlo.frontend_attributes = {a = "b"}}
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %1 = "stablehlo.case"(%i) ({
        stablehlo.return %acc : tensor<i32>
      }, {
        %2:2 = "stablehlo.while"(%i, %acc) ({
        ^bb0(%a: tensor<i32>, %b: tensor<i32>):
          %c = stablehlo.compare LT, %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        }, {
        ^bb0(%a: tensor<i32>, %b: tensor<i32>):
          %d = stablehlo.add %a, %one : tensor<i32>
          %e = stablehlo.add %b, %n : tensor<i32>
          stablehlo.return %d, %e : tensor<i32>, tensor<i32>
        }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
        stablehlo.return %2#1 : tensor<i32>
      }, {
        %3 = stablehlo.multiply %acc, %acc : tensor<i32>
        stablehlo.return %3 : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %1 : tensor<i32>, tensor<i32>
    }
    stablehlo.return %0#1 : tensor<i32>
  }, {
    stablehlo.return %z : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
  check.expect_eq_const %r, dense<36> : tensor<i32>
  return
}
// -----
// reduce_window multi-input; i64 attr dense; argmax pooling
func.func @main() {
  %x = stablehlo.constant dense<[3., 1., 4., 1., 5.]> : tensor<5xf32>
  %i = stablehlo.iota dim = 0 : tensor<5xi32>
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = "stablehlo.reduce_window"(%x, %i, %z, %c) ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %d: tensor<f32>, %e: tensor<i32>):
    %1 = stablehlo.compare GE, %a, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %a, %d : tensor<i1>, tensor<f32>
    %3 = stablehlo.select %1, %b, %e : tensor<i1>, tensor<i32>
    stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
  }) {window_dimensions = dense<2> : tensor<1xi64>, window_strides = dense<1> : tensor<1xi64>, base_dilations = dense<1> : tensor<1xi64>, window_dilations = dense<2> : tensor<1xi64>, padding = dense<0> : tensor<1x2xi64>} : (tensor<5xf32>, tensor<5xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
  check.expect_eq_const %0#0, dense<[4., 1., 5.]> : tensor<3xf32>
  check.expect_eq_const %0#1, dense<[2, 1, 4]> : tensor<3xi32>
  return
}
// -----
// scatter windows partly outside; scalar index; rank-0 operand scatter
func.func @main() {
  %x = stablehlo.constant dense<5> : tensor<i32>
  %i = stablehlo.constant dense<> : tensor<0xi32>
  %u = stablehlo.constant dense<3> : tensor<i32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<i32>, tensor<0xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %0, dense<8> : tensor<i32>
  %2 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<>, slice_sizes = array<i64>}> : (tensor<i32>, tensor<0xi32>) -> tensor<i32>
  check.expect_eq_const %2, dense<5> : tensor<i32>
  return
}
// -----
// reduce with region of different element type (accumulate f32 of bf16)
func.func @main() {
  %x = stablehlo.constant dense<[256., 1., 1., 1.]> : tensor<4xbf16>
  %z = stablehlo.constant dense<0.> : tensor<f32>
  %zb = stablehlo.constant dense<0.> : tensor<bf16>
  %0 = "stablehlo.reduce"(%x, %zb) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xbf16>, tensor<bf16>) -> tensor<f32>
  check.expect_eq_const %0, dense<259.0> : tensor<f32>
  return
}
// -----
// dynamic forms with constants
func.func @main() {
  %x = stablehlo.constant dense<[1., 2., 3.]> : tensor<3xf32>
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] {known_expanding_dimensions = array<i64>, known_nonexpanding_dimensions = array<i64: 0>} : (tensor<3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  check.expect_eq_const %0, dense<[[1., 2., 3.], [1., 2., 3.]]> : tensor<2x3xf32>
  %d = stablehlo.get_dimension_size %0, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
  check.expect_eq_const %d, dense<3> : tensor<i32>
  %r = stablehlo.constant dense<[6]> : tensor<1xi64>
  %1 = stablehlo.dynamic_reshape %0, %r : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<6xf32>
  check.expect_eq_const %1, dense<[1., 2., 3., 1., 2., 3.]> : tensor<6xf32>
  %2 = stablehlo.set_dimension_size %x, %d, dim = 0 : (tensor<3xf32>, tensor<i32>) -> tensor<3xf32>
  %z = stablehlo.constant dense<0.> : tensor<f32>
  %lo = stablehlo.constant dense<[1]> : tensor<1xi64>
  %3 = stablehlo.dynamic_pad %x, %z, %lo, %lo, %lo : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<7xf32>
  check.expect_eq_const %3, dense<[0., 1., 0., 2., 0., 3., 0.]> : tensor<7xf32>
  return
}
// -----
// float edge: max/min with NaN and signed zero, sign, round, remainder, atan2, power
func.func @main() {
  %a = stablehlo.constant dense<[0x7FC00000, 0.0, -0.0, -7.5, 0xFF800000]> : tensor<5xf32>
  %b = stablehlo.constant dense<[1.0, -0.0, 0.0, 2.0, 0.0]> : tensor<5xf32>
  %0 = stablehlo.maximum %a, %b : tensor<5xf32>
  check.expect_almost_eq_const %0, dense<[0x7FC00000, 0.0, 0.0, 2.0, 0.0]> : tensor<5xf32>
  %1 = stablehlo.bitcast_convert %0 : (tensor<5xf32>) -> tensor<5xui32>
  %2 = stablehlo.slice %1 [1:3] : (tensor<5xui32>) -> tensor<2xui32>
  check.expect_eq_const %2, dense<0> : tensor<2xui32>
  %3 = stablehlo.remainder %a, %b : tensor<5xf32>
  check.expect_almost_eq_const %3, dense<[0x7FC00000, 0x7FC00000, 0x7FC00000, -1.5, 0x7FC00000]> : tensor<5xf32>
  %4 = stablehlo.round_nearest_even %a : tensor<5xf32>
  check.expect_almost_eq_const %4, dense<[0x7FC00000, 0.0, 0.0, -8.0, 0xFF800000]> : tensor<5xf32>
  %5 = stablehlo.round_nearest_afz %a : tensor<5xf32>
  check.expect_almost_eq_const %5, dense<[0x7FC00000, 0.0, 0.0, -8.0, 0xFF800000]> : tensor<5xf32>
  %6 = stablehlo.atan2 %b, %a : tensor<5xf32>
  check.expect_almost_eq_const %6, dense<[0x7FC00000, -0.0, 3.14159265, 2.8809023, 3.14159265]> : tensor<5xf32>
  %7 = stablehlo.power %a, %b : tensor<5xf32>
  check.expect_almost_eq_const %7, dense<[0x7FC00000, 1.0, 1.0, 56.25, 1.0]> : tensor<5xf32>
  %8 = stablehlo.power %b, %a : tensor<5xf32>
  check.expect_almost_eq_const %8, dense<[1.0, 1.0, 1.0, 0.00552427, 0x7F800000]> : tensor<5xf32>
  return
}
// -----
// convert float to int saturating/nan? complex to real; bool; f8
func.func @main() {
  %a = stablehlo.constant dense<[0.9, -0.9, 2.5, -1.0]> : tensor<4xf32>
  %0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %0, dense<[0, 0, 2, -1]> : tensor<4xi32>
  %1 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %1, dense<true> : tensor<4xi1>
  %2 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  %3 = stablehlo.convert %2 : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
  check.expect_eq_const %3, dense<[0.875, -0.875, 2.5, -1.0]> : tensor<4xf32>
  %4 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %5 = stablehlo.imag %4 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  check.expect_eq_const %5, dense<0.0> : tensor<4xf32>
  %6 = stablehlo.real %a : tensor<4xf32>
  %7 = stablehlo.imag %a : tensor<4xf32>
  check.expect_eq_const %7, dense<0.0> : tensor<4xf32>
  return
}
// -----
// dot_general i8 x i8 -> i32, mixed, many batch dims out of order
func.func @main() {
  %a = stablehlo.constant dense<[[100, 100], [-128, 127]]> : tensor<2x2xi8>
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[20000, -100], [-100, 32513]]> : tensor<2x2xi32>
  %1 = stablehlo.iota dim = 0 : tensor<2x3x4xf32>
  %2 = stablehlo.iota dim = 2 : tensor<4x2x3xf32>
  %3 = stablehlo.dot_general %1, %2, batching_dims = [1, 0] x [2, 1], contracting_dims = [2] x [0] : (tensor<2x3x4xf32>, tensor<4x2x3xf32>) -> tensor<3x2xf32>
  check.expect_eq_const %3, dense<[[0., 0.], [0., 4.], [0., 8.]]> : tensor<3x2xf32>
  return
}
// -----
// functions of several results, unused, generic func; called with generic call; private decls not used
module {
  "func.func"() <{function_type = (tensor<i32>) -> (tensor<i32>, tensor<i32>), sym_name = "f", sym_visibility = "private"}> ({
  ^bb0(%a: tensor<i32>):
    "func.return"(%a, %a) : (tensor<i32>, tensor<i32>) -> ()
  }) : () -> ()
  func.func private @unused(tensor<4xf32>) -> tensor<f32>
  func.func @main() {
    %c = stablehlo.constant dense<3> : tensor<i32>
    %0:2 = "func.call"(%c) <{callee = @f}> {mhlo.frontend_attributes = {x = "y"}} : (tensor<i32>) -> (tensor<i32>, tensor<i32>)
    check.expect_eq_const %0#1, dense<3> : tensor<i32>
    %1:2 = call @f(%0#0) : (tensor<i32>) -> (tensor<i32>, tensor<i32>)
    return
  }
}
// -----
// sharding dialect
module @jit attributes {mhlo.num_partitions = 1 : i32} {
  sdy.mesh @mesh = <["x"=1]>
  sdy.mesh @empty_mesh = <[]>
  sdy.mesh @d = <[], device_ids=[0]>
  func.func @main() {
    %c = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} dense<1.> : tensor<2x2xf32>
    %0 = sdy.sharding_constraint %c <@mesh, [{"x", ?}, {?}], replicated={"x"}> : tensor<2x2xf32>
    %1 = stablehlo.add %0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}p0, {"x":(1)2}]>]>} : tensor<2x2xf32>
    check.expect_eq_const %1, dense<2.> : tensor<2x2xf32>
    sdy.sharding_group %1 group_id=0 : tensor<2x2xf32>
    %2 = sdy.propagation_barrier %1 allowed_direction=NONE : tensor<2x2xf32>

    return
  }
}
// -----
// result_accuracy attr; pretty unary with attr-dict
func.func @main() {
  %c = stablehlo.constant dense<0.> : tensor<2xf32>
  %0 = stablehlo.exponential %c {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>
  check.expect_eq_const %0, dense<1.> : tensor<2xf32>
  %1 = "stablehlo.tanh"(%c) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}> : (tensor<2xf32>) -> tensor<2xf32>
  %2 = stablehlo.add %c, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[[1.,2.,3.],[4.,5.,6.]]> : tensor<2x3xf16>
  %z = stablehlo.constant dense<0.> : tensor<f16>
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }) : (tensor<2x3xf16>, tensor<f16>) -> tensor<2x2xf64>
  check.expect_eq_const %0, dense<[[3., 5.], [9., 11.]]> : tensor<2x2xf64>
  %i = stablehlo.constant dense<[[1]]> : tensor<1x1xi32>
  %u = stablehlo.constant dense<[[10., 20., 30.]]> : tensor<1x3xf16>
  %2 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x3xf16>, tensor<1x1xi32>, tensor<1x3xf16>) -> tensor<2x3xf32>
  check.expect_eq_const %2, dense<[[1., 2., 3.], [14., 25., 36.]]> : tensor<2x3xf32>
  %s = stablehlo.constant dense<[[2049.], [1.]]> : tensor<2x1xf16>
  %3 = "stablehlo.select_and_scatter"(%x, %s, %z) <{window_dimensions = array<i64: 1, 3>}> ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %c = stablehlo.constant dense<2.> : tensor<f16>
    %d = stablehlo.remainder %a, %c : tensor<f16>
    %e = stablehlo.compare GT, %d, %a : (tensor<f16>, tensor<f16>) -> tensor<i1>
    %1 = stablehlo.compare GE, %a, %b : (tensor<f16>, tensor<f16>) -> tensor<i1>
    %f = stablehlo.or %e, %1 : tensor<i1>
    stablehlo.return %f : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x3xf16>, tensor<2x1xf16>, tensor<f16>) -> tensor<2x3xf32>
  check.expect_eq_const %3, dense<[[0., 0., 2048.], [0., 0., 1.]]> : tensor<2x3xf32>
  %4 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x3xf16>) -> tensor<2x3xf32>
  return
}
// -----
// scatter where the indices have no entries but updates are many: every update goes to the window at 0
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %i = stablehlo.constant dense<> : tensor<2x0xi32>
  %u = stablehlo.constant dense<[[10, 20], [30, 40]]> : tensor<2x2xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<3xi32>, tensor<2x0xi32>, tensor<2x2xi32>) -> tensor<3xi32>
  check.expect_eq_const %0, dense<[41, 62, 3]> : tensor<3xi32>
  %4 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.multiply %a, %b : tensor<i32>
    %2 = stablehlo.add %1, %b : tensor<i32>
    stablehlo.return %2 : tensor<i32>
  }) : (tensor<3xi32>, tensor<2x0xi32>, tensor<2x2xi32>) -> tensor<3xi32>
  check.expect_eq_const %4, dense<[630, 2440, 3]> : tensor<3xi32>
  %7 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], index_vector_dim = 1>, slice_sizes = array<i64: 2>}> : (tensor<3xi32>, tensor<2x0xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %7, dense<[[1, 2], [1, 2]]> : tensor<2x2xi32>
  return
}
// -----
// chlo on complex, half, f64
func.func @main() {
  %c = stablehlo.constant dense<(0.3, 0.4)> : tensor<complex<f64>>
  %0 = chlo.asin %c : tensor<complex<f64>> -> tensor<complex<f64>>
  %1 = stablehlo.sine %0 : tensor<complex<f64>>
  check.expect_almost_eq %1, %c : tensor<complex<f64>>
  %2 = chlo.acos %c : tensor<complex<f64>> -> tensor<complex<f64>>
  %3 = stablehlo.cosine %2 : tensor<complex<f64>>
  check.expect_almost_eq %3, %c : tensor<complex<f64>>
  %4 = chlo.atan %c : tensor<complex<f64>> -> tensor<complex<f64>>
  %5 = stablehlo.tan %4 : tensor<complex<f64>>
  check.expect_almost_eq %5, %c : tensor<complex<f64>>
  %6 = chlo.acosh %c : tensor<complex<f64>> -> tensor<complex<f64>>
  %7 = chlo.cosh %6 : tensor<complex<f64>> -> tensor<complex<f64>>
  check.expect_almost_eq %7, %c : tensor<complex<f64>>
  %8 = chlo.asinh %c : tensor<complex<f64>> -> tensor<complex<f64>>
  %9 = chlo.sinh %8 : tensor<complex<f64>> -> tensor<complex<f64>>
  check.expect_almost_eq %9, %c : tensor<complex<f64>>
  %10 = chlo.atanh %c : tensor<complex<f64>> -> tensor<complex<f64>>
  %11 = stablehlo.tanh %10 : tensor<complex<f64>>
  check.expect_almost_eq %11, %c : tensor<complex<f64>>
  %12 = chlo.square %c : tensor<complex<f64>> -> tensor<complex<f64>>
  check.expect_almost_eq_const %12, dense<(-0.07, 0.24)> : tensor<complex<f64>>
  %13 = chlo.tan %c : tensor<complex<f64>> -> tensor<complex<f64>>
  %i = stablehlo.constant dense<[-3, 100]> : tensor<2xi8>
  %14 = chlo.square %i : tensor<2xi8> -> tensor<2xi8>
  check.expect_eq_const %14, dense<[9, 16]> : tensor<2xi8>
  %15 = chlo.mulhi %i, %i : tensor<2xi8>, tensor<2xi8> -> tensor<2xi8>
  check.expect_eq_const %15, dense<[0, 39]> : tensor<2xi8>
  %h = stablehlo.constant dense<[0.5, -0.5]> : tensor<2xbf16>
  %16 = chlo.erf_inv %h : tensor<2xbf16> -> tensor<2xbf16>
  %17 = chlo.erf %16 : tensor<2xbf16> -> tensor<2xbf16>
  check.expect_almost_eq_const %17, dense<[0.5, -0.5]> : tensor<2xbf16>, tolerance = 0.01
  %18 = chlo.lgamma %h : tensor<2xbf16> -> tensor<2xbf16>
  %19 = chlo.bessel_i1e %h : tensor<2xbf16> -> tensor<2xbf16>
  %20 = chlo.next_after %h, %16 : tensor<2xbf16>, tensor<2xbf16> -> tensor<2xbf16>
  %21 = "chlo.broadcast_polygamma"(%h, %h) : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
  %m = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %v = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %22 = chlo.broadcast_subtract %m, %v {broadcast_dimensions = array<i64: 1>} : (tensor<2x2xi32>, tensor<2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %22, dense<[[-9, -18], [-7, -16]]> : tensor<2x2xi32>
  %23 = chlo.broadcast_shift_left %v, %m : (tensor<2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %23, dense<[[20, 80], [80, 320]]> : tensor<2x2xi32>
  %f = stablehlo.constant dense<1.0> : tensor<1x2xf32>
  %g = stablehlo.constant dense<2.0> : tensor<3x1xf32>
  %24 = chlo.broadcast_complex %f, %g : (tensor<1x2xf32>, tensor<3x1xf32>) -> tensor<3x2xcomplex<f32>>
  check.expect_eq_const %24, dense<(1.0, 2.0)> : tensor<3x2xcomplex<f32>>
  %25 = chlo.broadcast_zeta %g, %f : (tensor<3x1xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  check.expect_almost_eq_const %25, dense<1.644934> : tensor<3x2xf32>
  %26 = chlo.broadcast_next_after %f, %g : (tensor<1x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %s = stablehlo.constant dense<[6]> : tensor<1xi32>
  %27 = chlo.dynamic_reshape %25, %s : (tensor<3x2xf32>, tensor<1xi32>) -> tensor<6xf32>
  %28 = "chlo.conj"(%24) : (tensor<3x2xcomplex<f32>>) -> tensor<3x2xcomplex<f32>>
  %29 = chlo.is_inf %f : tensor<1x2xf32> -> tensor<1x2xi1>
  %30 = chlo.broadcast_atan2 %f, %g : (tensor<1x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  check.expect_almost_eq_const %30, dense<0.4636476> : tensor<3x2xf32>
  %31 = chlo.broadcast_remainder %v, %v : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  return
}
// -----
// scan-like cumulative ops by reduce_window with window over everything, pads both
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi8>
  %z = stablehlo.constant dense<0> : tensor<i8>
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %1 = stablehlo.add %a, %b : tensor<i8>
    stablehlo.return %1 : tensor<i8>
  }) : (tensor<4xi8>, tensor<i8>) -> tensor<4xi8>
  check.expect_eq_const %0, dense<[1, 3, 6, 10]> : tensor<4xi8>
  %2 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 4>, padding = dense<[[0, 3]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %1 = stablehlo.subtract %a, %b : tensor<i8>
    stablehlo.return %1 : tensor<i8>
  }) : (tensor<4xi8>, tensor<i8>) -> tensor<4xi8>
  check.expect_eq_const %2, dense<[-10, -9, -7, -4]> : tensor<4xi8>
  return
}
// -----
// dot_general with mixed types: f8 x f8 -> f32, bf16 x bf16 -> f32, i4 x i4 -> i32, ui8
func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.0], [-0.5, 448.0]]> : tensor<2x2xf8E4M3FN>
  %b = stablehlo.constant dense<[[2.0, 1.0], [4.0, 8.0]]> : tensor<2x2xf8E5M2>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xf8E4M3FN>, tensor<2x2xf8E5M2>) -> tensor<2x2xf32>
  check.expect_eq_const %0, dense<[[10.0, 17.0], [1791.0, 3583.5]]> : tensor<2x2xf32>
  %c = stablehlo.constant dense<[7, -8, 3]> : tensor<3xi4>
  %1 = stablehlo.dot_general %c, %c, contracting_dims = [0] x [0] : (tensor<3xi4>, tensor<3xi4>) -> tensor<i32>
  check.expect_eq_const %1, dense<122> : tensor<i32>
  %2 = stablehlo.dot_general %c, %c, contracting_dims = [0] x [0] : (tensor<3xi4>, tensor<3xi4>) -> tensor<i4>
  check.expect_eq_const %2, dense<-6> : tensor<i4>
  return
}
// -----
// while that carries nothing of a tensor but a bool; if over tuples of many; case of 0-d i32 from computation
func.func @main() {
  %t = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.while(%p = %t) : tensor<i1> cond {
    stablehlo.return %p : tensor<i1>
  } do {
    %1 = stablehlo.not %p : tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }
  check.expect_eq_const %0, dense<false> : tensor<i1>
  return
}
// -----
// sort with a comparator over captured values and a nested select; descending ui8; dimension 0 of rank 3
func.func @main() {
  %x = stablehlo.constant dense<[[[3]], [[255]], [[0]]]> : tensor<3x1x1xui8>
  %m = stablehlo.constant dense<128> : tensor<ui8>
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<ui8>, %b: tensor<ui8>):
    %1 = stablehlo.add %a, %m : tensor<ui8>
    %2 = stablehlo.add %b, %m : tensor<ui8>
    %3 = stablehlo.compare LT, %1, %2, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) : (tensor<3x1x1xui8>) -> tensor<3x1x1xui8>
  check.expect_eq_const %0, dense<[[[255]], [[0]], [[3]]]> : tensor<3x1x1xui8>
  return
}
// -----
// iota in every type; complex iota; clz/popcnt of i1? real of complex const splat
func.func @main() {
  %0 = stablehlo.iota dim = 0 : tensor<3xcomplex<f32>>
  check.expect_eq_const %0, dense<[(0.0, 0.0), (1.0, 0.0), (2.0, 0.0)]> : tensor<3xcomplex<f32>>
  %1 = stablehlo.iota dim = 1 : tensor<2x3xui4>
  check.expect_eq_const %1, dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xui4>
  %2 = stablehlo.iota dim = 0 : tensor<5xi2>
  check.expect_eq_const %2, dense<[0, 1, -2, -1, 0]> : tensor<5xi2>
  %3 = stablehlo.iota dim = 0 : tensor<4xf8E5M2>
  %4 = stablehlo.convert %3 : (tensor<4xf8E5M2>) -> tensor<4xi32>
  check.expect_eq_const %4, dense<[0, 1, 2, 3]> : tensor<4xi32>
  %5 = stablehlo.popcnt %1 : tensor<2x3xui4>
  check.expect_eq_const %5, dense<[[0, 1, 1], [0, 1, 1]]> : tensor<2x3xui4>
  %6 = stablehlo.count_leading_zeros %1 : tensor<2x3xui4>
  check.expect_eq_const %6, dense<[[4, 3, 2], [4, 3, 2]]> : tensor<2x3xui4>
  return
}
// -----
// reduce: a region that looks a table up, and one that loops
func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2], [2, 2, 1]]> : tensor<2x3xi32>
  %t = stablehlo.constant dense<[30, 10, 20]> : tensor<3xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %z) across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
  reducer(%a: tensor<i32>, %b: tensor<i32>) {
    %1 = stablehlo.dynamic_slice %t, %b, sizes = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
    %3 = stablehlo.add %a, %2 : tensor<i32>
    stablehlo.return %3 : tensor<i32>
  }
  check.expect_eq_const %0, dense<[60, 50]> : tensor<2xi32>
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2], [2, 2, 1]]> : tensor<2x3xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %one) across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
  reducer(%a: tensor<i32>, %b: tensor<i32>) {
    %1:2 = stablehlo.while(%k = %z, %v = %a) : tensor<i32>, tensor<i32> cond {
      %2 = stablehlo.compare LT, %k, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.add %v, %v : tensor<i32>
      %3 = stablehlo.add %k, %one : tensor<i32>
      stablehlo.return %3, %2 : tensor<i32>, tensor<i32>
    }
    stablehlo.return %1#1 : tensor<i32>
  }
  check.expect_eq_const %0, dense<[8, 32]> : tensor<2xi32>
  return
}
