"""Public feature maps: from rows to vectors whose means or kernels are used."""
