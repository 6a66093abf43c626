"""The program on top of the library: data in, files out, no mathematics."""
