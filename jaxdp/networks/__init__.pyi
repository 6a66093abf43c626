from . import (
    classifiers,
    convolution,
    encoder,
    generators,
    gradients,
    linear_calls,
    tangent,
    upsampling,
)
from .classifiers import ConvNet, LeNet, ResNet18
from .generators import ConvCondGen, DenseGen, ResnetG, TabularGen
from .tangent import ColumnNetwork, Convolutional, FullyConnected1, FullyConnected2, OneLogit

__all__ = [
    "ColumnNetwork",
    "ConvCondGen",
    "ConvNet",
    "Convolutional",
    "DenseGen",
    "FullyConnected1",
    "FullyConnected2",
    "LeNet",
    "OneLogit",
    "ResNet18",
    "ResnetG",
    "TabularGen",
    "classifiers",
    "convolution",
    "encoder",
    "generators",
    "gradients",
    "linear_calls",
    "tangent",
    "upsampling",
]
