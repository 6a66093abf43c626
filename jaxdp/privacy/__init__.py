"""Everything that a guarantee rests on: noise, sampling, clipping, sums, accounting,
certificates."""
