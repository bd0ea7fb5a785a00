// Constant exponents. bf16 keeps power 3, which multiplications would round twice.
module {
  func.func @main(%x: tensor<4xf32>, %h: tensor<4xbf16>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>, tensor<4xi32>) {
    %p0 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %p2 = stablehlo.constant dense<2.0> : tensor<4xf32>
    %p3 = stablehlo.constant dense<3.0> : tensor<4xf32>
    %pm1 = stablehlo.constant dense<-1.0> : tensor<4xf32>
    %ph = stablehlo.constant dense<0.5> : tensor<4xf32>
    %pmh = stablehlo.constant dense<-0.5> : tensor<4xf32>
    %pq = stablehlo.constant dense<0.25> : tensor<4xf32>
    %b3 = stablehlo.constant dense<3.0> : tensor<4xbf16>
    %n2 = stablehlo.constant dense<2> : tensor<4xi32>
    %0 = stablehlo.power %x, %p0 : tensor<4xf32>
    %1 = stablehlo.power %x, %p2 : tensor<4xf32>
    %2 = stablehlo.power %x, %p3 : tensor<4xf32>
    %3 = stablehlo.power %x, %pm1 : tensor<4xf32>
    %4 = stablehlo.power %x, %ph : tensor<4xf32>
    %5 = stablehlo.power %x, %pmh : tensor<4xf32>
    %6 = stablehlo.power %x, %pq : tensor<4xf32>
    %7 = stablehlo.power %h, %b3 : tensor<4xbf16>
    %8 = stablehlo.power %n, %n2 : tensor<4xi32>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>, tensor<4xi32>
  }
}
// -----
module {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xbf16>, %arg2: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>, tensor<4xi32>) {
    %0 = stablehlo.constant dense<2.500000e-01> : tensor<4xf32>
    %1 = stablehlo.constant dense<3.000000e+00> : tensor<4xbf16>
    %2 = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
    %3 = stablehlo.multiply %arg0, %arg0 : tensor<4xf32>
    %4 = stablehlo.multiply %arg0, %arg0 : tensor<4xf32>
    %5 = stablehlo.multiply %4, %arg0 : tensor<4xf32>
    %6 = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
    %7 = stablehlo.divide %6, %arg0 : tensor<4xf32>
    %8 = stablehlo.sqrt %arg0 : tensor<4xf32>
    %9 = stablehlo.rsqrt %arg0 : tensor<4xf32>
    %10 = stablehlo.power %arg0, %0 : tensor<4xf32>
    %11 = stablehlo.power %arg1, %1 : tensor<4xbf16>
    %12 = stablehlo.multiply %arg2, %arg2 : tensor<4xi32>
    return %2, %3, %5, %7, %8, %9, %10, %11, %12 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>, tensor<4xi32>
  }
}
