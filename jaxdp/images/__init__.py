"""Images as arrays: views and smoothing."""
