"""Distil a private labelled image set into a few images per class with DP-KIP.

jaxdp run dp_kip                                  # bundled digits, a minute
jaxdp run dp_kip --dataset=cifar10 --ipc=10 --eps=10
jaxdp run dp_kip --dataset=mnist --eps=inf        # plain KIP, not private
"""

from collections.abc import Sequence

from jaxdp.methods.dp_kip.settings import Settings
from jaxdp.program import command_line
from jaxdp.program.run_flags import KipFlags

KINDS = command_line.define(KipFlags, Settings)


def main(argv: Sequence[str]) -> None:
    """Run the driver; bad input ends it with one line and exit code 2."""
    del argv
    command_line.run("dp_kip", KipFlags, Settings)
