"""The flag `--evaluate`, which all drivers have that make a set."""

from absl import flags

from experiments.evaluation import registry

flags.DEFINE_string("evaluate", None, registry.help_text())
