// A private function that draws twice, called before, in and behind control flow. The condition of the
// loop draws as well; a draw that nobody reads still counts.
func.func private @pair() -> (tensor<5xf32>, tensor<5xf32>) {
%a = stablehlo.constant dense<0.1> : tensor<f32>
%b = stablehlo.constant dense<0.7> : tensor<f32>
%s = stablehlo.constant dense<5> : tensor<1xi64>
%0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5xf32>
%1 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5xf32>
return %0, %1 : tensor<5xf32>, tensor<5xf32>
}
func.func @main(%take: tensor<i1>, %which: tensor<i32>, %n: tensor<i64>) -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<i64>) {
%a = stablehlo.constant dense<-1.0> : tensor<f32>
%b = stablehlo.constant dense<1.0> : tensor<f32>
%s = stablehlo.constant dense<5> : tensor<1xi64>
%p:2 = call @pair() : () -> (tensor<5xf32>, tensor<5xf32>)
%i = "stablehlo.if"(%take) ({
%t = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5xf32>
  stablehlo.return %t : tensor<5xf32>
}, {
  %u:2 = func.call @pair() : () -> (tensor<5xf32>, tensor<5xf32>)
  stablehlo.return %u#1 : tensor<5xf32>
}) : (tensor<i1>) -> tensor<5xf32>
%c = "stablehlo.case"(%which) ({
  stablehlo.return %i : tensor<5xf32>
}, {
%v = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5xf32>
  stablehlo.return %v : tensor<5xf32>
}) : (tensor<i32>) -> tensor<5xf32>
%zero = stablehlo.constant dense<0> : tensor<i64>
%one = stablehlo.constant dense<1> : tensor<i64>
%w:2 = stablehlo.while(%k = %zero, %x = %c) : tensor<i64>, tensor<5xf32> cond {
  %lo = stablehlo.constant dense<0> : tensor<i64>
  %e = stablehlo.constant dense<> : tensor<0xi64>
  %d = stablehlo.rng %lo, %n, %e, distribution = UNIFORM : (tensor<i64>, tensor<i64>, tensor<0xi64>) -> tensor<i64>
  %m = stablehlo.compare LT, %k, %d : (tensor<i64>, tensor<i64>) -> tensor<i1>
  stablehlo.return %m : tensor<i1>
} do {
%y = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5xf32>
%dead = stablehlo.rng %a, %b, %s, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5xf32>
  %next = stablehlo.add %k, %one : tensor<i64>
  %sum = stablehlo.add %x, %y : tensor<5xf32>
  stablehlo.return %next, %sum : tensor<i64>, tensor<5xf32>
}
%last = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5xf32>
return %p#1, %c, %w#1, %last, %w#0 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<i64>
}
