"""DP-NTK and its relatives: one noisy mean embedding, and a generator trained on it for free."""
