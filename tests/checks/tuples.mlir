// Tuples and tokens: in functions, calls, regions, both forms of the ops. Nothing of them is left once read.
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<7> : tensor<i32>
  %t = stablehlo.tuple %a, %b {mhlo.note = "x"} : tuple<tensor<2xf32>, tensor<i32>>
  %0 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<2xf32>
  %1 = "stablehlo.get_tuple_element"(%t) <{index = 1 : i32}> : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<i32>
  check.expect_eq %0, %a : tensor<2xf32>
  check.expect_eq_const %1, dense<7> : tensor<i32>
  %n = "stablehlo.tuple"(%t, %b, %a) : (tuple<tensor<2xf32>, tensor<i32>>, tensor<i32>, tensor<2xf32>) -> tuple<tuple<tensor<2xf32>, tensor<i32>>, tensor<i32>, tensor<2xf32>>
  %2 = stablehlo.get_tuple_element %n[0] : (tuple<tuple<tensor<2xf32>, tensor<i32>>, tensor<i32>, tensor<2xf32>>) -> tuple<tensor<2xf32>, tensor<i32>>
  %3:2 = call @swap(%2, %b) : (tuple<tensor<2xf32>, tensor<i32>>, tensor<i32>) -> (tensor<i32>, tuple<tensor<i32>, tensor<2xf32>>)
  %4 = stablehlo.get_tuple_element %3#1[1] : (tuple<tensor<i32>, tensor<2xf32>>) -> tensor<2xf32>
  check.expect_eq_const %4, dense<[2.0, 4.0]> : tensor<2xf32>
  check.expect_eq_const %3#0, dense<14> : tensor<i32>
  %e = stablehlo.tuple : tuple<>
  %5 = stablehlo.custom_call @Sharding(%4) {has_side_effect = false} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq %5, %4 : tensor<2xf32>
  return
}
func.func private @swap(%t: tuple<tensor<2xf32>, tensor<i32>> {jax.arg_info = "t"}, %c: tensor<i32>) -> (tensor<i32>, tuple<tensor<i32>, tensor<2xf32>> {jax.result_info = "r"}) {
  %0 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<2xf32>
  %1 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<i32>
  %2 = stablehlo.add %0, %0 : tensor<2xf32>
  %3 = stablehlo.add %1, %c : tensor<i32>
  %4 = stablehlo.tuple %1, %2 : tuple<tensor<i32>, tensor<2xf32>>
  return %3, %4 : tensor<i32>, tuple<tensor<i32>, tensor<2xf32>>
}
// -----
// While, if, case and barriers carry tuples and tokens.
!pair = tuple<tensor<i64>, !stablehlo.token, tensor<f64>>
func.func @main() {
  %i = stablehlo.constant dense<0> : tensor<i64>
  %x = stablehlo.constant dense<1.0> : tensor<f64>
  %k0 = stablehlo.create_token : !stablehlo.token
  %k1 = "stablehlo.create_token"() : () -> !stablehlo.token
  %k = stablehlo.after_all %k0, %k1 : !stablehlo.token
  %kk = "stablehlo.after_all"() : () -> !stablehlo.token
  %t = stablehlo.tuple %i, %k, %x : !pair
  %w:2 = stablehlo.while(%s = %t, %q = %kk) : !pair, !stablehlo.token
   cond {
    %n = stablehlo.constant dense<5> : tensor<i64>
    %c = stablehlo.get_tuple_element %s[0] : (!pair) -> tensor<i64>
    %p = stablehlo.compare LT, %c, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
   } do {
    %one = stablehlo.constant dense<1> : tensor<i64>
    %c = stablehlo.get_tuple_element %s[0] : (!pair) -> tensor<i64>
    %y = stablehlo.get_tuple_element %s[2] : (!pair) -> tensor<f64>
    %d = stablehlo.add %c, %one : tensor<i64>
    %z = stablehlo.add %y, %y : tensor<f64>
    %r = stablehlo.tuple %d, %q, %z : !pair
    stablehlo.return %r, %q : !pair, !stablehlo.token
   }
  %0 = stablehlo.get_tuple_element %w#0[2] : (!pair) -> tensor<f64>
  check.expect_eq_const %0, dense<32.0> : tensor<f64>
  %b:2 = stablehlo.optimization_barrier %w#0, %w#1 : !pair, !stablehlo.token
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %1:2 = "stablehlo.case"(%zero) ({
    stablehlo.return %b#0, %x : !pair, tensor<f64>
  }, {
    stablehlo.return %t, %x : !pair, tensor<f64>
  }) : (tensor<i32>) -> (!pair, tensor<f64>)
  %2 = stablehlo.get_tuple_element %1#0[0] : (!pair) -> tensor<i64>
  check.expect_eq_const %2, dense<5> : tensor<i64>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %3 = "stablehlo.if"(%true) ({
    stablehlo.return %t : !pair
  }, {
    stablehlo.return %b#0 : !pair
  }) : (tensor<i1>) -> !pair
  %4 = stablehlo.get_tuple_element %3[2] : (!pair) -> tensor<f64>
  check.expect_eq %4, %x : tensor<f64>
  return
}
