// The number of draws so far is a constant, a result of if, a carry of while; a bound that is no
// constant gets no gradient.
module {
  func.func @main(%x: tensor<3xf64>, %p: tensor<i1>, %b: tensor<f64>) -> tensor<3xf64> {
    %a = stablehlo.constant dense<0.0> : tensor<f64>
    %s = stablehlo.constant dense<3> : tensor<1xi64>
    %0 = "stablehlo.if"(%p) ({
      %1 = stablehlo.rng %a, %b, %s, distribution = NORMAL : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<3xf64>
      stablehlo.return %1 : tensor<3xf64>
    }, {
      stablehlo.return %x : tensor<3xf64>
    }) : (tensor<i1>) -> tensor<3xf64>
    %2 = stablehlo.while(%c = %0) : tensor<3xf64> cond {
      %e = stablehlo.constant dense<> : tensor<0xi64>
      %u = stablehlo.rng %a, %b, %e, distribution = UNIFORM : (tensor<f64>, tensor<f64>, tensor<0xi64>) -> tensor<f64>
      %m = stablehlo.compare LT, %a, %u : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %m : tensor<i1>
    } do {
      %n = stablehlo.negate %c : tensor<3xf64>
      stablehlo.return %n : tensor<3xf64>
    }
    return %2 : tensor<3xf64>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<3xf64>, %arg1: tensor<i1>, %arg2: tensor<f64>) -> tensor<3xf64> {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %1 = stablehlo.constant dense<3> : tensor<1xi64>
    %2 = stablehlo.custom_call @pcp.seed() : () -> tensor<ui64>
    %3 = stablehlo.constant dense<0> : tensor<ui64>
    %4:2 = "stablehlo.if"(%arg1) ({
      %5 = stablehlo.custom_call @pcp.stop_gradient(%arg2) : (tensor<f64>) -> tensor<f64>
      %6 = stablehlo.constant dense<32> : tensor<ui64>
      %7 = stablehlo.shift_left %3, %6 : tensor<ui64>
      %8 = stablehlo.reshape %2 : (tensor<ui64>) -> tensor<1xui64>
      %9 = stablehlo.reshape %7 : (tensor<ui64>) -> tensor<1xui64>
      %10 = stablehlo.concatenate %8, %9, dim = 0 : (tensor<1xui64>, tensor<1xui64>) -> tensor<2xui64>
      %11:2 = stablehlo.rng_bit_generator %10, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui64>)
      %12 = stablehlo.constant dense<12> : tensor<3xui64>
      %13 = stablehlo.shift_right_logical %11#1, %12 : tensor<3xui64>
      %14 = stablehlo.constant dense<1> : tensor<3xui64>
      %15 = stablehlo.shift_left %13, %14 : tensor<3xui64>
      %16 = stablehlo.constant dense<1> : tensor<3xui64>
      %17 = stablehlo.or %15, %16 : tensor<3xui64>
      %18 = stablehlo.convert %17 : (tensor<3xui64>) -> tensor<3xf64>
      %19 = stablehlo.constant dense<2.220446049250313e-16> : tensor<3xf64>
      %20 = stablehlo.multiply %18, %19 : tensor<3xf64>
      %21 = stablehlo.constant dense<1.000000e+00> : tensor<3xf64>
      %22 = stablehlo.subtract %20, %21 : tensor<3xf64>
      %23 = chlo.erf_inv %22 : tensor<3xf64> -> tensor<3xf64>
      %24 = stablehlo.constant dense<1.4142135623730951e+00> : tensor<3xf64>
      %25 = stablehlo.multiply %23, %24 : tensor<3xf64>
      %26 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f64>) -> tensor<3xf64>
      %27 = stablehlo.multiply %26, %25 : tensor<3xf64>
      %28 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f64>) -> tensor<3xf64>
      %29 = stablehlo.add %28, %27 : tensor<3xf64>
      %30 = stablehlo.constant dense<1> : tensor<ui64>
      %31 = stablehlo.add %3, %30 : tensor<ui64>
      stablehlo.return %29, %31 : tensor<3xf64>, tensor<ui64>
    }, {
      stablehlo.return %arg0, %3 : tensor<3xf64>, tensor<ui64>
    }) : (tensor<i1>) -> (tensor<3xf64>, tensor<ui64>)
    %32:2 = stablehlo.while(%arg3 = %4#0, %arg4 = %4#1) : tensor<3xf64>, tensor<ui64> cond {
      %33 = stablehlo.constant dense<> : tensor<0xi64>
      %34 = stablehlo.custom_call @pcp.stop_gradient(%arg2) : (tensor<f64>) -> tensor<f64>
      %35 = stablehlo.constant dense<32> : tensor<ui64>
      %36 = stablehlo.shift_left %arg4, %35 : tensor<ui64>
      %37 = stablehlo.reshape %2 : (tensor<ui64>) -> tensor<1xui64>
      %38 = stablehlo.reshape %36 : (tensor<ui64>) -> tensor<1xui64>
      %39 = stablehlo.concatenate %37, %38, dim = 0 : (tensor<1xui64>, tensor<1xui64>) -> tensor<2xui64>
      %40:2 = stablehlo.rng_bit_generator %39, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui64>)
      %41 = stablehlo.constant dense<11> : tensor<ui64>
      %42 = stablehlo.shift_right_logical %40#1, %41 : tensor<ui64>
      %43 = stablehlo.convert %42 : (tensor<ui64>) -> tensor<f64>
      %44 = stablehlo.constant dense<1.1102230246251565e-16> : tensor<f64>
      %45 = stablehlo.multiply %43, %44 : tensor<f64>
      %46 = stablehlo.subtract %34, %0 : tensor<f64>
      %47 = stablehlo.multiply %46, %45 : tensor<f64>
      %48 = stablehlo.add %0, %47 : tensor<f64>
      %49 = stablehlo.compare LT, %48, %34, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %50 = stablehlo.select %49, %48, %0 : tensor<i1>, tensor<f64>
      %51 = stablehlo.constant dense<1> : tensor<ui64>
      %52 = stablehlo.add %arg4, %51 : tensor<ui64>
      %53 = stablehlo.compare LT, %0, %50 : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %53 : tensor<i1>
    } do {
      %54 = stablehlo.constant dense<1> : tensor<ui64>
      %55 = stablehlo.add %arg4, %54 : tensor<ui64>
      %56 = stablehlo.negate %arg3 : tensor<3xf64>
      stablehlo.return %56, %55 : tensor<3xf64>, tensor<ui64>
    }
    %57 = stablehlo.constant dense<1> : tensor<ui64>
    %58 = stablehlo.add %32#1, %57 : tensor<ui64>
    return %32#0 : tensor<3xf64>
  }
}
