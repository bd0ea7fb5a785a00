// Known answers of ThreeFry-2x32-20 and Philox-4x32-10 (Salmon et al., 2011, kat_vectors).
func.func @main() {
  // key 0, counter 0; the counter goes on by one per pair of words
  %s = stablehlo.constant dense<0> : tensor<2xui64>
  %n, %v = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui32>)
  check.expect_eq_const %v, dense<[0x6b200159, 0x99ba4efe]> : tensor<2xui32>
  check.expect_eq_const %n, dense<[0, 1]> : tensor<2xui64>
  return
}
// -----
func.func @main() {
  %s = stablehlo.constant dense<0> : tensor<2xui64>
  %n, %v = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  check.expect_eq_const %v, dense<[0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]> : tensor<4xui32>
  check.expect_eq_const %n, dense<[0, 1]> : tensor<2xui64>
  return
}
// -----
func.func @main() {
  %s = stablehlo.constant dense<[0x0370734413198A2E, 0x85A308D3243F6A88]> : tensor<2xui64>
  %n, %v = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui32>)
  check.expect_eq_const %v, dense<[0xC4923A9C, 0x483DF7A0]> : tensor<2xui32>
  %w:2 = "stablehlo.rng_bit_generator"(%s) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<1xui64>)
  check.expect_eq_const %w#1, dense<[0x483DF7A0C4923A9C]> : tensor<1xui64>
  return
}
// -----
func.func @main() {
  %s = stablehlo.constant dense<[0x299F31D0A4093822, 0x85A308D3243F6A88, 0x0370734413198A2E]> : tensor<3xui64>
  %n, %v = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  check.expect_eq_const %v, dense<[0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]> : tensor<4xui32>
  // nothing drawn leaves the state as it is
  %m, %e = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<0xui32>)
  check.expect_eq %m, %s : tensor<3xui64>
  return
}
