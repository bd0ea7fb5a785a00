!q = !quant.uniform<i8:f32, 0.5:2>
func.func @main(%a: tensor<2x!q>, %b: tensor<2xi1>) -> tensor<2x!q> {
  %0 = "stablehlo.add"(%a, %b) : (tensor<2x!q>, tensor<2xi1>) -> tensor<2x!q>
  return %0 : tensor<2x!q>
}
