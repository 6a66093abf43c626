"""DP-KIP: kernel inducing points by DP-SGD."""
