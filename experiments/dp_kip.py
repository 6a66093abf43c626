"""Distil a private labelled image set into a few images per class with DP-KIP.

python -m experiments.dp_kip                                  # bundled digits, a minute
python -m experiments.dp_kip --dataset=cifar10 --ipc=10 --eps=10
python -m experiments.dp_kip --dataset=mnist --eps=inf        # plain KIP, not private
"""

from collections.abc import Sequence

from absl import app

from experiments import command_line
from experiments.run_flags import KipFlags
from jaxdp.methods.dp_kip.settings import Settings

command_line.define(KipFlags, Settings)


def main(argv: Sequence[str]) -> None:
    """Run the driver; bad input ends it with one line and exit code 2."""
    del argv
    command_line.run("dp_kip", KipFlags, Settings)


if __name__ == "__main__":
    app.run(main, flags_parser=command_line.parse)
