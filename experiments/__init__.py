"""Command-line drivers: data in, files out, no mathematics."""
