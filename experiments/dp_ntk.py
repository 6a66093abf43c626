"""Generate a synthetic labelled dataset from a privatised mean embedding (DP-NTK and its kin).

python -m experiments.dp_ntk                                   # bundled digits
python -m experiments.dp_ntk --dataset=mnist --eps=1
python -m experiments.dp_ntk --dataset=mnist --eps=1 --features=scatter
python -m experiments.dp_ntk --dataset=mnist --embedding=runs/mnist_entk_eps1/embedding.npz
"""

from collections.abc import Sequence

from absl import app

from experiments import command_line
from experiments.run_flags import GenerateFlags
from jaxdp.methods.dp_ntk.settings import Settings

command_line.define(GenerateFlags, Settings)


def main(argv: Sequence[str]) -> None:
    """Run the driver; bad input ends it with one line and exit code 2."""
    del argv
    command_line.run("dp_ntk", GenerateFlags, Settings)


if __name__ == "__main__":
    app.run(main, flags_parser=command_line.parse)
