/* The model that the worker's tests train. */
#ifndef TESTS_WORKER_MODEL_H
#define TESTS_WORKER_MODEL_H

/* loss = sum over rows and columns of (w_j x_ij - y_ij)^2 */
static const char MODEL[] =
    "module {\n"
    "  func.func @main(%w: tensor<3xf32>, %x: tensor<2x3xi64>, %y: tensor<2x3xi64>)"
    " -> tensor<f32> {\n"
    "    %xf = stablehlo.convert %x : (tensor<2x3xi64>) -> tensor<2x3xf32>\n"
    "    %yf = stablehlo.convert %y : (tensor<2x3xi64>) -> tensor<2x3xf32>\n"
    "    %wb = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>\n"
    "    %p = stablehlo.multiply %wb, %xf : tensor<2x3xf32>\n"
    "    %d = stablehlo.subtract %p, %yf : tensor<2x3xf32>\n"
    "    %q = stablehlo.multiply %d, %d : tensor<2x3xf32>\n"
    "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "    %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1]"
    " : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>\n"
    "    return %s : tensor<f32>\n"
    "  }\n"
    "}\n";

#endif
