"""The commands of `jaxdp` as scripts, such as `python -m experiments.dp_kip`."""
