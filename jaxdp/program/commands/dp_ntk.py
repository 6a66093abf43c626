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
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import GenerateFlags

KINDS = command_line.define(GenerateFlags, LabelledSettings)


def method() -> tuple[str, type]:
    """Return the method that the flags ask for, and its settings class.

    Raises:
        InputError: a flag is about a teacher, and there is none.
    """
    if flags.FLAGS.labels == "teacher":
        return "labelled", LabelledSettings
    for name in sorted(rules(LabelledSettings).keys() - rules(Settings).keys() - {"labels"}):
        if flags.FLAGS[name].value is not None:
            raise InputError(f"--{name}={flags.FLAGS[name].value}: is for --labels=teacher")
    return "dp_ntk", Settings


def main(argv: Sequence[str]) -> None:
    """Run the driver; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        name, settings = method()
    command_line.run(name, GenerateFlags, settings)
