// How exporters compute a static shape: all of it folds; dynamic_iota is left to simplify.
module {
  func.func @main() -> tensor<32xi64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<32> : tensor<i64>
    %0 = stablehlo.convert %c : (tensor<i64>) -> tensor<f64>
    %1 = stablehlo.convert %c_0 : (tensor<i64>) -> tensor<f64>
    %2 = stablehlo.divide %1, %0 : tensor<f64>
    %3 = stablehlo.ceil %2 : tensor<f64>
    %4 = stablehlo.convert %3 : (tensor<f64>) -> tensor<i64>
    %5 = stablehlo.reshape %4 : (tensor<i64>) -> tensor<1xi64>
    %6 = stablehlo.dynamic_iota %5, dim = 0 : (tensor<1xi64>) -> tensor<32xi64>
    return %6 : tensor<32xi64>
  }
}
// -----
module {
  func.func public @main() -> tensor<32xi64> {
    %0 = stablehlo.constant dense<32> : tensor<1xi64>
    %1 = stablehlo.dynamic_iota %0, dim = 0 : (tensor<1xi64>) -> tensor<32xi64>
    return %1 : tensor<32xi64>
  }
}
