from . import base, convolutional, empirical, kip, krr, preprocess
from .base import (
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
from .convolutional import conv_ntk, conv_ntk_cost
from .empirical import entk, entk_features
from .kip import SupportSet, initial_support

__all__ = [
    "LINEAR",
    "DotProduct",
    "Kernel",
    "SupportSet",
    "base",
    "conv_ntk",
    "conv_ntk_cost",
    "convolutional",
    "empirical",
    "entk",
    "entk_features",
    "fc_nngp",
    "fc_ntk",
    "from_dot_product",
    "from_features",
    "from_neural_tangents",
    "initial_support",
    "inner_products",
    "kip",
    "krr",
    "linear",
    "preprocess",
    "relu_covariance",
    "relu_derivative_covariance",
    "squared_norms",
    "unit_scale",
]
