"""Kernels, and kernel ridge regression with them."""

from jaxdp.kernels.base import (
    LINEAR,
    DotProduct,
    Kernel,
    fc_nngp,
    fc_ntk,
    from_dot_product,
    from_features,
    from_neural_tangents,
    inner_products,
    linear,
    relu_covariance,
    relu_derivative_covariance,
    squared_norms,
    unit_scale,
)

__all__ = [
    "LINEAR",
    "DotProduct",
    "Kernel",
    "fc_nngp",
    "fc_ntk",
    "from_dot_product",
    "from_features",
    "from_neural_tangents",
    "inner_products",
    "linear",
    "relu_covariance",
    "relu_derivative_covariance",
    "squared_norms",
    "unit_scale",
]
