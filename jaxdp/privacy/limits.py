"""Where a verdict changes: numbers that certificates and settings compare with."""

STRONG, MEDIUM, MOST = 1.0, 10.0, 50.0
"""Largest epsilon of a strong and of a medium guarantee, and of one that needs no allowance."""

LEAST_DELTA = 1e-10
"""The least delta that the arithmetic supports.

* Accountants: the sums of privacy loss distributions have rounding errors of 1e-15 and leave out
  tails of 1e-15. Against the exact profile of Gaussians, at 50 digits, deltas were right to 0.02 %
  at 1e-10 and off by a half at 1e-12 (10,000 steps).
* Noise: a draw ends at c = 8.16 standard deviations above, and at 8.29 below. So a sum z of two,
  over sqrt(2), has the density of a normal number times 1 - r(z), where r(z) = 2 Phi(z - sqrt(2)
  c) or so is the probability that one of two draws of this sum lies beyond c. The privacy loss of
  a number that moves by mu differs from the ideal one by log((1 - r(z)) / (1 - r(z - mu))). One
  number adds 5e-17 to delta up to epsilon 10, 7e-13 at epsilon 20 and 1e-6 at 50, by quadrature.
  Where N numbers move by little each, the mean difference of a loss bounds what is added: sqrt(2)
  phi(c) = 2e-15 times the sum of the moves, which is at most `2e-15 mu sqrt(N)` (Cauchy &
  Schwarz): 1.4e-12 for an embedding of 6 million at epsilon 1, 2e-11 at epsilon 20.
"""
