"""Make a synthetic table from noisy counts of its columns and of their pairs.

jaxdp run marginals --csv=patients.csv --schema=patients.json --eps=1
jaxdp run marginals --csv=patients.csv --schema=patients.json --counts=runs/patients/counts.npz
"""

from collections.abc import Sequence

from jaxdp.methods.marginals.settings import Settings
from jaxdp.program import command_line
from jaxdp.program.run_flags import CountFlags

KINDS = command_line.define(CountFlags, Settings)


def main(argv: Sequence[str]) -> None:
    """Run the driver; bad input ends it with one line and exit code 2."""
    del argv
    command_line.run("marginals", CountFlags, Settings)
