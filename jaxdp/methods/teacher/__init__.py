"""The private teacher: a linear classifier by DP-SGD, and distillation from it for free."""
