// The condition of a loop draws in a branch of its own and in a loop: how often is known when it has run.
func.func @main(%take: tensor<i1>, %which: tensor<i32>, %n: tensor<i64>) -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<i64>) {
  %a = stablehlo.constant dense<-1.0> : tensor<f32>
  %b = stablehlo.constant dense<1.0> : tensor<f32>
  %s = stablehlo.constant dense<5> : tensor<1xi64>
  %e = stablehlo.constant dense<> : tensor<0xi64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %first = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5xf32>
  %w:2 = stablehlo.while(%k = %zero, %x = %first) : tensor<i64>, tensor<5xf32> cond {
    %limit = "stablehlo.if"(%take) ({
      %d = stablehlo.rng %zero, %n, %e, distribution = UNIFORM : (tensor<i64>, tensor<i64>, tensor<0xi64>) -> tensor<i64>
      %f = stablehlo.rng %zero, %n, %e, distribution = UNIFORM : (tensor<i64>, tensor<i64>, tensor<0xi64>) -> tensor<i64>
      %g = stablehlo.maximum %d, %f : tensor<i64>
      stablehlo.return %g : tensor<i64>
    }, {
      %v:2 = stablehlo.while(%i = %zero, %y = %zero) : tensor<i64>, tensor<i64> cond {
        %m = stablehlo.compare LT, %i, %two : (tensor<i64>, tensor<i64>) -> tensor<i1>
        stablehlo.return %m : tensor<i1>
      } do {
        %d = stablehlo.rng %zero, %n, %e, distribution = UNIFORM : (tensor<i64>, tensor<i64>, tensor<0xi64>) -> tensor<i64>
        %j = stablehlo.add %i, %one : tensor<i64>
        stablehlo.return %j, %d : tensor<i64>, tensor<i64>
      }
      stablehlo.return %v#1 : tensor<i64>
    }) : (tensor<i1>) -> tensor<i64>
    %m = stablehlo.compare LT, %k, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %m : tensor<i1>
  } do {
    %y = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5xf32>
    %next = stablehlo.add %k, %one : tensor<i64>
    %sum = stablehlo.add %x, %y : tensor<5xf32>
    stablehlo.return %next, %sum : tensor<i64>, tensor<5xf32>
  }
  %last = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5xf32>
  return %first, %w#1, %last, %first, %w#0 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<i64>
}
