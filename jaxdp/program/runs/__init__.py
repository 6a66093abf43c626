"""Runs: their folders, checkpoints, notes of what was released, and released files."""
