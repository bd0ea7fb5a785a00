// Collectives of a program of one process: each is its operand, or zeros where nobody sends.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, -2.0], [3.5, 0.0]]> : tensor<2x2xf32>
  %h = stablehlo.constant dense<[1.0, 2.5]> : tensor<2xf16>
  %0 = "stablehlo.all_reduce"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<0> : tensor<1x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq %0, %x : tensor<2x2xf32>
  %1:2 = "stablehlo.all_reduce"(%h, %h) <{replica_groups = dense<> : tensor<0x0xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2xf16>, tensor<2xf16>) -> (tensor<2xf32>, tensor<2xf32>)
  check.expect_eq_const %1#0, dense<[1.0, 2.5]> : tensor<2xf32>
  check.expect_eq %1#0, %1#1 : tensor<2xf32>
  %2 = "stablehlo.reduce_scatter"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension = 1 : i64, replica_groups = dense<[[0, -1]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq %2, %x : tensor<2x2xf32>
  %3 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq %3, %x : tensor<2x2xf32>
  %4:2 = "stablehlo.all_gather"(%x, %h) {all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2x2xf32>, tensor<2xf16>) -> (tensor<2x2xf32>, tensor<2xf16>)
  check.expect_eq %4#1, %h : tensor<2xf16>
  %5 = "stablehlo.all_to_all"(%x) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq %5, %x : tensor<2x2xf32>
  %6 = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq %6, %x : tensor<2x2xf32>
  %7 = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<> : tensor<0x2xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %7, dense<0.0> : tensor<2x2xf32>
  %8 = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq %8, %x : tensor<2x2xf32>
  %9 = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<-1> : tensor<1x1xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %9, dense<0.0> : tensor<2x2xf32>
  return
}
