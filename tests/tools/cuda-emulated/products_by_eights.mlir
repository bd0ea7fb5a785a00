// Products of bf16 whose operands are copied by eights (prelude_product_cuda.cuh), of integers, so that every order of adding
// gives the same: either operand lying either way, and entries with strides. Against the same sums as loops.
func.func @products() {
  %ar = stablehlo.iota dim = 0 : tensor<1544x168xi32>
  %ak = stablehlo.iota dim = 1 : tensor<1544x168xi32>
  %ap = stablehlo.constant dense<7> : tensor<1544x168xi32>
  %aq = stablehlo.constant dense<5> : tensor<1544x168xi32>
  %a2 = stablehlo.constant dense<2> : tensor<1544x168xi32>
  %am = stablehlo.multiply %ar, %ap : tensor<1544x168xi32>
  %as = stablehlo.add %am, %ak : tensor<1544x168xi32>
  %at = stablehlo.remainder %as, %aq : tensor<1544x168xi32>
  %ai = stablehlo.subtract %at, %a2 : tensor<1544x168xi32>
  %a = stablehlo.convert %ai : (tensor<1544x168xi32>) -> tensor<1544x168xbf16>
  %br = stablehlo.iota dim = 0 : tensor<776x168xi32>
  %bk = stablehlo.iota dim = 1 : tensor<776x168xi32>
  %bp = stablehlo.constant dense<3> : tensor<776x168xi32>
  %bq = stablehlo.constant dense<7> : tensor<776x168xi32>
  %b2 = stablehlo.constant dense<2> : tensor<776x168xi32>
  %bm = stablehlo.multiply %br, %bp : tensor<776x168xi32>
  %bs = stablehlo.add %bm, %bk : tensor<776x168xi32>
  %bt = stablehlo.remainder %bs, %bq : tensor<776x168xi32>
  %bi = stablehlo.subtract %bt, %b2 : tensor<776x168xi32>
  %b = stablehlo.convert %bi : (tensor<776x168xi32>) -> tensor<776x168xbf16>
  %ur = stablehlo.iota dim = 1 : tensor<168x1544xi32>
  %uk = stablehlo.iota dim = 0 : tensor<168x1544xi32>
  %up = stablehlo.constant dense<7> : tensor<168x1544xi32>
  %uq = stablehlo.constant dense<5> : tensor<168x1544xi32>
  %u2 = stablehlo.constant dense<2> : tensor<168x1544xi32>
  %um = stablehlo.multiply %ur, %up : tensor<168x1544xi32>
  %us = stablehlo.add %um, %uk : tensor<168x1544xi32>
  %ut = stablehlo.remainder %us, %uq : tensor<168x1544xi32>
  %ui = stablehlo.subtract %ut, %u2 : tensor<168x1544xi32>
  %u = stablehlo.convert %ui : (tensor<168x1544xi32>) -> tensor<168x1544xbf16>
  %vr = stablehlo.iota dim = 1 : tensor<168x776xi32>
  %vk = stablehlo.iota dim = 0 : tensor<168x776xi32>
  %vp = stablehlo.constant dense<3> : tensor<168x776xi32>
  %vq = stablehlo.constant dense<7> : tensor<168x776xi32>
  %v2 = stablehlo.constant dense<2> : tensor<168x776xi32>
  %vm = stablehlo.multiply %vr, %vp : tensor<168x776xi32>
  %vs = stablehlo.add %vm, %vk : tensor<168x776xi32>
  %vt = stablehlo.remainder %vs, %vq : tensor<168x776xi32>
  %vi = stablehlo.subtract %vt, %v2 : tensor<168x776xi32>
  %v = stablehlo.convert %vi : (tensor<168x776xi32>) -> tensor<168x776xbf16>
  %z = stablehlo.dot_general %ai, %bi, contracting_dims = [1] x [1] : (tensor<1544x168xi32>, tensor<776x168xi32>) -> tensor<1544x776xi32>
  %w = stablehlo.convert %z : (tensor<1544x776xi32>) -> tensor<1544x776xf32>
  %ynt = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<1544x168xbf16>, tensor<776x168xbf16>) -> tensor<1544x776xf32>
  check.expect_eq %ynt, %w : tensor<1544x776xf32>
  %ynn = stablehlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<1544x168xbf16>, tensor<168x776xbf16>) -> tensor<1544x776xf32>
  check.expect_eq %ynn, %w : tensor<1544x776xf32>
  %ytn = stablehlo.dot_general %u, %v, contracting_dims = [0] x [0] : (tensor<168x1544xbf16>, tensor<168x776xbf16>) -> tensor<1544x776xf32>
  check.expect_eq %ytn, %w : tensor<1544x776xf32>
  %ytt = stablehlo.dot_general %u, %b, contracting_dims = [0] x [1] : (tensor<168x1544xbf16>, tensor<776x168xbf16>) -> tensor<1544x776xf32>
  check.expect_eq %ytt, %w : tensor<1544x776xf32>
  %xf = stablehlo.iota dim = 0 : tensor<51840xi32>
  %xr = stablehlo.reshape %xf : (tensor<51840xi32>) -> tensor<5x72x3x48xi32>
  %xk = stablehlo.iota dim = 3 : tensor<5x72x3x48xi32>
  %xp = stablehlo.constant dense<7> : tensor<5x72x3x48xi32>
  %xq = stablehlo.constant dense<5> : tensor<5x72x3x48xi32>
  %x2 = stablehlo.constant dense<2> : tensor<5x72x3x48xi32>
  %xm = stablehlo.multiply %xr, %xp : tensor<5x72x3x48xi32>
  %xs = stablehlo.add %xm, %xk : tensor<5x72x3x48xi32>
  %xt = stablehlo.remainder %xs, %xq : tensor<5x72x3x48xi32>
  %xi = stablehlo.subtract %xt, %x2 : tensor<5x72x3x48xi32>
  %x = stablehlo.convert %xi : (tensor<5x72x3x48xi32>) -> tensor<5x72x3x48xbf16>
  %yf = stablehlo.iota dim = 0 : tensor<51840xi32>
  %yr = stablehlo.reshape %yf : (tensor<51840xi32>) -> tensor<5x72x3x48xi32>
  %yk = stablehlo.iota dim = 3 : tensor<5x72x3x48xi32>
  %yp = stablehlo.constant dense<3> : tensor<5x72x3x48xi32>
  %yq = stablehlo.constant dense<7> : tensor<5x72x3x48xi32>
  %y2 = stablehlo.constant dense<2> : tensor<5x72x3x48xi32>
  %ym = stablehlo.multiply %yr, %yp : tensor<5x72x3x48xi32>
  %ys = stablehlo.add %ym, %yk : tensor<5x72x3x48xi32>
  %yt = stablehlo.remainder %ys, %yq : tensor<5x72x3x48xi32>
  %yi = stablehlo.subtract %yt, %y2 : tensor<5x72x3x48xi32>
  %y = stablehlo.convert %yi : (tensor<5x72x3x48xi32>) -> tensor<5x72x3x48xbf16>
  %xh = stablehlo.slice %x [0:5, 0:72, 0:3, 24:48] : (tensor<5x72x3x48xbf16>) -> tensor<5x72x3x24xbf16>
  %xih = stablehlo.slice %xi [0:5, 0:72, 0:3, 24:48] : (tensor<5x72x3x48xi32>) -> tensor<5x72x3x24xi32>
  %yh = stablehlo.slice %y [0:5, 0:72, 0:3, 24:48] : (tensor<5x72x3x48xbf16>) -> tensor<5x72x3x24xbf16>
  %yih = stablehlo.slice %yi [0:5, 0:72, 0:3, 24:48] : (tensor<5x72x3x48xi32>) -> tensor<5x72x3x24xi32>
  %entries_i = stablehlo.dot_general %xih, %yih, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<5x72x3x24xi32>, tensor<5x72x3x24xi32>) -> tensor<5x3x72x72xi32>
  %entries_f = stablehlo.convert %entries_i : (tensor<5x3x72x72xi32>) -> tensor<5x3x72x72xf32>
  %entries = stablehlo.dot_general %xh, %yh, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<5x72x3x24xbf16>, tensor<5x72x3x24xbf16>) -> tensor<5x3x72x72xf32>
  check.expect_eq %entries, %entries_f : tensor<5x3x72x72xf32>
  return
}
