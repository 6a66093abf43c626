"""Generate a synthetic labelled dataset from a privatised mean embedding (DP-NTK and its kin).

python -m experiments.dp_ntk                                   # bundled digits
python -m experiments.dp_ntk --dataset=mnist --eps=1
python -m experiments.dp_ntk --dataset=mnist --eps=1 --features=scatter
python -m experiments.dp_ntk --dataset=mnist --embedding=runs/mnist_entk_eps1/embedding.npz
"""

from collections.abc import Sequence

from absl import app, flags

from experiments import command_line
from experiments.run_flags import GenerateFlags
from jaxdp.methods.dp_ntk.settings import Settings
from jaxdp.methods.labelled.settings import Settings as LabelledSettings
from jaxdp.methods.settings import rules

command_line.define(GenerateFlags, LabelledSettings)


def main(argv: Sequence[str]) -> None:
    """Run the driver; bad input ends it with one line and exit code 2."""
    del argv
    if flags.FLAGS.labels == "teacher":
        command_line.run("labelled", GenerateFlags, LabelledSettings)
        return
    for name in sorted(rules(LabelledSettings).keys() - rules(Settings).keys() - {"labels"}):
        if flags.FLAGS[name].value is not None:
            command_line.fail(f"--{name}={flags.FLAGS[name].value}: is for --labels=teacher")
    command_line.run("dp_ntk", GenerateFlags, Settings)


if __name__ == "__main__":
    app.run(main, flags_parser=command_line.parse)
