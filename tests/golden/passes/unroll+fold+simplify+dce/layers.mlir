// A loop over three layers, which takes a layer's weights from those side by side and stacks up what it makes, one behind
// another; a loop without products stays, and so does one whose end nobody knows.
module {
  func.func @main(%w: tensor<3x4x4xf32>, %x: tensor<2x4xf32>, %n: tensor<i32>) -> (tensor<2x4xf32>, tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %none = stablehlo.constant dense<0.0> : tensor<3x2x4xf32>
    %0:4 = stablehlo.while(%i = %zero, %h = %x, %ys = %none, %ws = %w) : tensor<i32>, tensor<2x4xf32>, tensor<3x2x4xf32>, tensor<3x4x4xf32>
    cond {
      %go = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %s = stablehlo.dynamic_slice %ws, %i, %zero, %zero, sizes = [1, 4, 4] : (tensor<3x4x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x4xf32>
      %m = stablehlo.reshape %s : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
      %y = stablehlo.dot_general %h, %m, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %r = stablehlo.reshape %y : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
      %u = stablehlo.dynamic_update_slice %ys, %r, %i, %zero, %zero : (tensor<3x2x4xf32>, tensor<1x2x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x2x4xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %y, %u, %ws : tensor<i32>, tensor<2x4xf32>, tensor<3x2x4xf32>, tensor<3x4x4xf32>
    }
    %1:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<2x4xf32>
    cond {
      %go = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %y = stablehlo.tanh %h : tensor<2x4xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %y : tensor<i32>, tensor<2x4xf32>
    }
    %2:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<2x4xf32>
    cond {
      %go = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %s = stablehlo.slice %w [0:1, 0:4, 0:4] : (tensor<3x4x4xf32>) -> tensor<1x4x4xf32>
      %m = stablehlo.reshape %s : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
      %y = stablehlo.dot_general %h, %m, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %y : tensor<i32>, tensor<2x4xf32>
    }
    return %0#1, %0#2, %1#1, %2#1 : tensor<2x4xf32>, tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<3x4x4xf32>, %arg1: tensor<2x4xf32>, %arg2: tensor<i32>) -> (tensor<2x4xf32>, tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.constant dense<3> : tensor<i32>
    %3 = stablehlo.slice %arg0 [0:1, 0:4, 0:4] : (tensor<3x4x4xf32>) -> tensor<1x4x4xf32>
    %4 = stablehlo.reshape %3 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
    %5 = stablehlo.dot_general %arg1, %4, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %6 = stablehlo.reshape %5 : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
    %7 = stablehlo.slice %arg0 [1:2, 0:4, 0:4] : (tensor<3x4x4xf32>) -> tensor<1x4x4xf32>
    %8 = stablehlo.reshape %7 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
    %9 = stablehlo.dot_general %5, %8, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %10 = stablehlo.reshape %9 : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
    %11 = stablehlo.slice %arg0 [2:3, 0:4, 0:4] : (tensor<3x4x4xf32>) -> tensor<1x4x4xf32>
    %12 = stablehlo.reshape %11 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
    %13 = stablehlo.dot_general %9, %12, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %14 = stablehlo.reshape %13 : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
    %15 = stablehlo.concatenate %6, %10, %14, dim = 0 : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<3x2x4xf32>
    %16:2 = stablehlo.while(%arg3 = %0, %arg4 = %arg1) : tensor<i32>, tensor<2x4xf32> cond {
      %17 = stablehlo.compare LT, %arg3, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %17 : tensor<i1>
    } do {
      %18 = stablehlo.tanh %arg4 : tensor<2x4xf32>
      %19 = stablehlo.add %arg3, %1 : tensor<i32>
      stablehlo.return %19, %18 : tensor<i32>, tensor<2x4xf32>
    }
    %20:2 = stablehlo.while(%arg5 = %0, %arg6 = %arg1) : tensor<i32>, tensor<2x4xf32> cond {
      %21 = stablehlo.compare LT, %arg5, %arg2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %21 : tensor<i1>
    } do {
      %22 = stablehlo.slice %arg0 [0:1, 0:4, 0:4] : (tensor<3x4x4xf32>) -> tensor<1x4x4xf32>
      %23 = stablehlo.reshape %22 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
      %24 = stablehlo.dot_general %arg6, %23, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %25 = stablehlo.add %arg5, %1 : tensor<i32>
      stablehlo.return %25, %24 : tensor<i32>, tensor<2x4xf32>
    }
    return %13, %15, %16#1, %20#1 : tensor<2x4xf32>, tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  }
}
