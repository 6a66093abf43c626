"""Generate a synthetic labelled dataset from a privatised mean embedding (DP-NTK and its kin).

jaxdp run dp_ntk                                   # bundled digits
jaxdp run dp_ntk --dataset=mnist --eps=1
jaxdp run dp_ntk --dataset=mnist --eps=1 --features=scatter
jaxdp run dp_ntk --dataset=mnist --embedding=runs/mnist_entk_eps1/embedding.npz
"""

from collections.abc import Sequence

from jaxdp.methods.dp_ntk.labels.settings import Settings
from jaxdp.program import command_line
from jaxdp.program.run_flags import GenerateFlags

KINDS = command_line.define(GenerateFlags, Settings)


def main(argv: Sequence[str]) -> None:
    """Run the driver; bad input ends it with one line and exit code 2."""
    del argv
    command_line.run("dp_ntk", GenerateFlags, Settings)
