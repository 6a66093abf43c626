"""A local page in the place of commands: a thin layer over the functions that these call."""
