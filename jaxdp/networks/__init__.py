"""Networks in flax, and their layers."""
