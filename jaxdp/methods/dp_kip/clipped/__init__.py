"""Exact sums of clipped gradients of the KIP loss, without per-example gradients."""
