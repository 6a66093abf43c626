"""Where a verdict changes: numbers that certificates and settings compare with."""

STRONG, MEDIUM, MOST = 1.0, 10.0, 50.0
"""Largest epsilon of a strong and of a medium guarantee, and of one that needs no allowance."""

LEAST_DELTA = 1e-10
"""The least delta that the arithmetic supports.

* Accountants: the sums of privacy loss distributions have rounding errors of 1e-15 and leave out
  tails of 1e-15. Against the exact profile of Gaussians, at 50 digits, deltas were right to 0.02 %
  at 1e-10 and off by a half at 1e-12 (10,000 steps).
* Noise: a draw ends at 8.2 standard deviations, the sum of two at 11.6. One number that moves by
  mu standard deviations misses 3e-17 of delta up to epsilon 10, and 5e-13 at epsilon 20. Many
  numbers, N in all releases together, miss `7e-16 mu sqrt(N)`: 5e-13 for an embedding of 6 million
  at epsilon 1.
"""
