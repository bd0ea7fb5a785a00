// Texts of exporters that are read as other ops.
// The smallest, by the same order as the largest: stable, and all bits of integers.
func.func @main() {
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 1.0], [-0.0, 0.0, -4.0, 5.0]]> : tensor<2x4xf32>
  %v, %i = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 3 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<2x4xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  check.expect_eq_const %v, dense<[[1.0, 1.0, 2.0], [-4.0, -0.0, 0.0]]> : tensor<2x3xf32>
  check.expect_eq_const %i, dense<[[1, 3, 2], [2, 0, 1]]> : tensor<2x3xi32>
  %n = stablehlo.constant dense<[-2147483648, 7, -1, 2147483647]> : tensor<4xi32>
  %w, %j = stablehlo.custom_call @TopK(%n) {called_computations = [@top_k_lt_s32]} : (tensor<4xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %w, dense<[-2147483648, -1]> : tensor<2xi32>
  check.expect_eq_const %j, dense<[0, 2]> : tensor<2xi32>
  %u, %k = stablehlo.custom_call @TopK(%n) {called_computations = [@top_k_gt_s32]} : (tensor<4xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %u, dense<[2147483647, 7]> : tensor<2xi32>
  check.expect_eq_const %k, dense<[3, 1]> : tensor<2xi32>
  return
}
// -----
// LAPACK by jaxlib's names.
func.func @main() {
  %a = stablehlo.constant dense<[[4.0, 2.0], [2.0, 5.0]]> : tensor<2x2xf32>
  %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
  check.expect_eq_const %0#0, dense<[[2.0, 0.0], [1.0, 2.0]]> : tensor<2x2xf32>
  check.expect_eq_const %0#1, dense<0> : tensor<i32>
  %1:2 = stablehlo.custom_call @cusolver_potrf_ffi(%a) {mhlo.backend_config = {uplo = 85 : ui8}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
  check.expect_eq_const %1#0, dense<[[2.0, 1.0], [0.0, 2.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[2.0, 4.0], [7.0, 2.0]]> : tensor<2x2xf32>
  %2 = stablehlo.custom_call @lapack_strsm_ffi(%0#0, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %2, dense<[[1.0, 2.0], [3.0, 0.0]]> : tensor<2x2xf32>
  %3 = stablehlo.custom_call @lapack_strsm_ffi(%0#0, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %3, dense<[[1.0, 1.5], [3.5, -0.75]]> : tensor<2x2xf32>
  return
}
// -----
// A named computation is its ops where it stands; its names are its own.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0:2 = sdy.named_computation<"f">(%x, %x) (%a: tensor<2xi32>, %x: tensor<2xi32>) {
    %1 = stablehlo.add %a, %x : tensor<2xi32>
    sdy.return %x, %1 : tensor<2xi32>, tensor<2xi32>
  } : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %0#0, dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %0#1, dense<[2, 4]> : tensor<2xi32>
  %1 = mhlo.add %0#1, %x : tensor<2xi32>
  check.expect_eq_const %1, dense<[3, 6]> : tensor<2xi32>
  %2 = stablehlo.constant dense<-1> : tensor<2xi32>
  %3 = stablehlo.compare LT, %2, %x, UNSIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  check.expect_eq_const %3, dense<true> : tensor<2xi1>
  return
}
