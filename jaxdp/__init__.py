"""Differentially private dataset distillation and generation, as pure jit-able functions."""

__version__ = "0.2.0"
