// A carry goes that only itself and other such carries are made of: %b and %c here, also from the inner loop, and what
// %b begins with. What the condition reads stays (%i), and what a kept carry reads (%d, by %a).
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %start = stablehlo.sine %x : tensor<4xf32>
    %0:5 = stablehlo.while(%i = %zero, %a = %x, %b = %start, %c = %x, %d = %x) : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.add %a, %d : tensor<4xf32>
      %3 = stablehlo.multiply %b, %c : tensor<4xf32>
      %4 = stablehlo.negate %d : tensor<4xf32>
      %5:3 = stablehlo.while(%j = %i, %e = %4, %f = %3) : tensor<i32>, tensor<4xf32>, tensor<4xf32> cond {
        %6 = stablehlo.compare LT, %j, %1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %6 : tensor<i1>
      } do {
        %6 = stablehlo.add %j, %one : tensor<i32>
        %7 = stablehlo.cosine %e : tensor<4xf32>
        %8 = stablehlo.add %f, %7 : tensor<4xf32>
        stablehlo.return %6, %7, %8 : tensor<i32>, tensor<4xf32>, tensor<4xf32>
      }
      stablehlo.return %1, %2, %5#2, %b, %5#1 : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    }
    return %0#1 : tensor<4xf32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1:3 = stablehlo.while(%arg1 = %0, %arg2 = %arg0, %arg3 = %arg0) : tensor<i32>, tensor<4xf32>, tensor<4xf32> cond {
      %2 = stablehlo.constant dense<3> : tensor<i32>
      %3 = stablehlo.compare LT, %arg1, %2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %4 = stablehlo.constant dense<1> : tensor<i32>
      %5 = stablehlo.add %arg1, %4 : tensor<i32>
      %6 = stablehlo.add %arg2, %arg3 : tensor<4xf32>
      %7 = stablehlo.negate %arg3 : tensor<4xf32>
      %8:2 = stablehlo.while(%arg4 = %arg1, %arg5 = %7) : tensor<i32>, tensor<4xf32> cond {
        %9 = stablehlo.compare LT, %arg4, %5 : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %9 : tensor<i1>
      } do {
        %10 = stablehlo.add %arg4, %4 : tensor<i32>
        %11 = stablehlo.cosine %arg5 : tensor<4xf32>
        stablehlo.return %10, %11 : tensor<i32>, tensor<4xf32>
      }
      stablehlo.return %5, %6, %8#1 : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    }
    return %1#1 : tensor<4xf32>
  }
}
