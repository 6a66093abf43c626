"""Generate a synthetic labelled dataset from a privatised mean embedding (DP-NTK and its kin).

jaxdp run dp_ntk                                   # bundled digits
jaxdp run dp_ntk --dataset=mnist --eps=1
jaxdp run dp_ntk --dataset=mnist --eps=1 --features=scatter
jaxdp run dp_ntk --dataset=mnist --embedding=runs/mnist_entk_eps1/embedding.npz
"""

from collections.abc import Sequence

from absl import flags

from jaxdp.methods.dp_ntk.settings import Settings
from jaxdp.methods.labelled.settings import Settings as LabelledSettings
from jaxdp.methods.settings import rules
from jaxdp.program import command_line
from jaxdp.program.run_flags import GenerateFlags

KINDS = command_line.define(GenerateFlags, LabelledSettings)


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
