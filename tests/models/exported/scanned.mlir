// A decoder of three layers whose matrices lie side by side, as a scan over layers is exported: a loop that counts, looks
// up its layer's matrices by a counter that may not be negative, and calls the layer.
module @scanned {
  func.func public @logits(%wte: tensor<29x16xf32>, %wpe: tensor<32x16xf32>, %wq: tensor<3x16x16xf32>, %wkv: tensor<3x16x16xf32>, %wo: tensor<3x16x16xf32>, %scale: tensor<3x16xf32>, %head: tensor<16x29xf32>, %tokens: tensor<1x24xi32>) -> tensor<1x24x29xf32> {
    %index = stablehlo.broadcast_in_dim %tokens, dims = [0, 1] : (tensor<1x24xi32>) -> tensor<1x24x1xi32>
    %e = "stablehlo.gather"(%wte, %index) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 16>}> : (tensor<29x16xf32>, tensor<1x24x1xi32>) -> tensor<1x24x16xf32>
    %places = stablehlo.iota dim = 0 : tensor<24x1xi32>
    %p = "stablehlo.gather"(%wpe, %places) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 16>}> : (tensor<32x16xf32>, tensor<24x1xi32>) -> tensor<24x16xf32>
    %pp = stablehlo.broadcast_in_dim %p, dims = [1, 2] : (tensor<24x16xf32>) -> tensor<1x24x16xf32>
    %x = stablehlo.add %e, %pp : tensor<1x24x16xf32>
    %start = stablehlo.constant dense<0> : tensor<i32>
    %loop:6 = stablehlo.while(%qs = %wq, %kvs = %wkv, %os = %wo, %gains = %scale, %at = %start, %in = %x) : tensor<3x16x16xf32>, tensor<3x16x16xf32>, tensor<3x16x16xf32>, tensor<3x16xf32>, tensor<i32>, tensor<1x24x16xf32>
    cond {
      %layers = stablehlo.constant dense<3> : tensor<i32>
      %more = stablehlo.compare LT, %at, %layers, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %none = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %all = stablehlo.constant dense<3> : tensor<i32>
      %below = stablehlo.compare LT, %at, %none, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %from_end = stablehlo.add %at, %all : tensor<i32>
      %layer = stablehlo.select %below, %from_end, %at : tensor<i1>, tensor<i32>
      %q1 = stablehlo.dynamic_slice %qs, %layer, %none, %none, sizes = [1, 16, 16] : (tensor<3x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
      %q2 = stablehlo.reshape %q1 : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
      %kv1 = stablehlo.dynamic_slice %kvs, %layer, %none, %none, sizes = [1, 16, 16] : (tensor<3x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
      %kv2 = stablehlo.reshape %kv1 : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
      %o1 = stablehlo.dynamic_slice %os, %layer, %none, %none, sizes = [1, 16, 16] : (tensor<3x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
      %o2 = stablehlo.reshape %o1 : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
      %g1 = stablehlo.dynamic_slice %gains, %layer, %none, sizes = [1, 16] : (tensor<3x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16xf32>
      %g2 = stablehlo.reshape %g1 : (tensor<1x16xf32>) -> tensor<16xf32>
      %out = func.call @layer(%in, %q2, %kv2, %o2, %g2) : (tensor<1x24x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<1x24x16xf32>
      %next = stablehlo.add %at, %one : tensor<i32>
      stablehlo.return %qs, %kvs, %os, %gains, %next, %out : tensor<3x16x16xf32>, tensor<3x16x16xf32>, tensor<3x16x16xf32>, tensor<3x16xf32>, tensor<i32>, tensor<1x24x16xf32>
    }
    %z = stablehlo.tanh %loop#5 : tensor<1x24x16xf32>
    %logits = stablehlo.dot_general %z, %head, contracting_dims = [2] x [0] : (tensor<1x24x16xf32>, tensor<16x29xf32>) -> tensor<1x24x29xf32>
    return %logits : tensor<1x24x29xf32>
  }
  func.func private @layer(%x: tensor<1x24x16xf32>, %wq: tensor<16x16xf32>, %wkv: tensor<16x16xf32>, %wo: tensor<16x16xf32>, %scale: tensor<16xf32>) -> tensor<1x24x16xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %square = stablehlo.multiply %x, %x : tensor<1x24x16xf32>
    %power = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x24x16xf32>, tensor<f32>) -> tensor<1x24xf32>
    %some = stablehlo.constant dense<1.0e-01> : tensor<1x24xf32>
    %more = stablehlo.add %power, %some : tensor<1x24xf32>
    %norm = stablehlo.rsqrt %more : tensor<1x24xf32>
    %norms = stablehlo.broadcast_in_dim %norm, dims = [0, 1] : (tensor<1x24xf32>) -> tensor<1x24x16xf32>
    %scales = stablehlo.broadcast_in_dim %scale, dims = [2] : (tensor<16xf32>) -> tensor<1x24x16xf32>
    %n0 = stablehlo.multiply %x, %norms : tensor<1x24x16xf32>
    %n = stablehlo.multiply %n0, %scales : tensor<1x24x16xf32>
    %q0 = stablehlo.dot_general %n, %wq, contracting_dims = [2] x [0] : (tensor<1x24x16xf32>, tensor<16x16xf32>) -> tensor<1x24x16xf32>
    %kv = stablehlo.dot_general %n, %wkv, contracting_dims = [2] x [0] : (tensor<1x24x16xf32>, tensor<16x16xf32>) -> tensor<1x24x16xf32>
    %q = stablehlo.reshape %q0 : (tensor<1x24x16xf32>) -> tensor<1x24x4x4xf32>
    %k0 = stablehlo.slice %kv [0:1, 0:24, 0:8] : (tensor<1x24x16xf32>) -> tensor<1x24x8xf32>
    %v0 = stablehlo.slice %kv [0:1, 0:24, 8:16] : (tensor<1x24x16xf32>) -> tensor<1x24x8xf32>
    %k1 = stablehlo.reshape %k0 : (tensor<1x24x8xf32>) -> tensor<1x24x2x4xf32>
    %v1 = stablehlo.reshape %v0 : (tensor<1x24x8xf32>) -> tensor<1x24x2x4xf32>
    %k2 = stablehlo.broadcast_in_dim %k1, dims = [0, 1, 2, 4] : (tensor<1x24x2x4xf32>) -> tensor<1x24x2x2x4xf32>
    %v2 = stablehlo.broadcast_in_dim %v1, dims = [0, 1, 2, 4] : (tensor<1x24x2x4xf32>) -> tensor<1x24x2x2x4xf32>
    %k = stablehlo.reshape %k2 : (tensor<1x24x2x2x4xf32>) -> tensor<1x24x4x4xf32>
    %v = stablehlo.reshape %v2 : (tensor<1x24x2x2x4xf32>) -> tensor<1x24x4x4xf32>
    %s0 = stablehlo.dot_general %k, %q, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<1x24x4x4xf32>, tensor<1x24x4x4xf32>) -> tensor<1x4x24x24xf32>
    %s1 = stablehlo.transpose %s0, dims = [0, 1, 3, 2] : (tensor<1x4x24x24xf32>) -> tensor<1x4x24x24xf32>
    %row = stablehlo.iota dim = 0 : tensor<24x24xi32>
    %col = stablehlo.iota dim = 1 : tensor<24x24xi32>
    %seen = stablehlo.compare GE, %row, %col, SIGNED : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi1>
    %none = stablehlo.constant dense<0.0> : tensor<24x24xf32>
    %far = stablehlo.constant dense<-1.0e+09> : tensor<24x24xf32>
    %bias = stablehlo.select %seen, %none, %far : tensor<24x24xi1>, tensor<24x24xf32>
    %mask = stablehlo.broadcast_in_dim %bias, dims = [2, 3] : (tensor<24x24xf32>) -> tensor<1x4x24x24xf32>
    %s = stablehlo.add %s1, %mask : tensor<1x4x24x24xf32>
    %most = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<1x4x24x24xf32>, tensor<f32>) -> tensor<1x4x24xf32>
    %most1 = stablehlo.broadcast_in_dim %most, dims = [0, 1, 2] : (tensor<1x4x24xf32>) -> tensor<1x4x24x24xf32>
    %d = stablehlo.subtract %s, %most1 : tensor<1x4x24x24xf32>
    %share = stablehlo.exponential %d : tensor<1x4x24x24xf32>
    %sum = stablehlo.reduce(%share init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<1x4x24x24xf32>, tensor<f32>) -> tensor<1x4x24xf32>
    %o0 = stablehlo.dot_general %share, %v, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<1x4x24x24xf32>, tensor<1x24x4x4xf32>) -> tensor<1x4x24x4xf32>
    %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<1x4x24xf32>) -> tensor<1x4x24x4xf32>
    %o1 = stablehlo.divide %o0, %sums : tensor<1x4x24x4xf32>
    %o2 = stablehlo.transpose %o1, dims = [0, 2, 1, 3] : (tensor<1x4x24x4xf32>) -> tensor<1x24x4x4xf32>
    %o3 = stablehlo.reshape %o2 : (tensor<1x24x4x4xf32>) -> tensor<24x16xf32>
    %o4 = stablehlo.dot_general %o3, %wo, contracting_dims = [1] x [0] : (tensor<24x16xf32>, tensor<16x16xf32>) -> tensor<24x16xf32>
    %o = stablehlo.reshape %o4 : (tensor<24x16xf32>) -> tensor<1x24x16xf32>
    %y = stablehlo.add %x, %o : tensor<1x24x16xf32>
    return %y : tensor<1x24x16xf32>
  }
}
