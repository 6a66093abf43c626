"""Distil a private labelled image set from a private teacher: spend the budget once, then for free.

python -m experiments.dp_kip_teacher                                  # bundled digits
python -m experiments.dp_kip_teacher --dataset=cifar10 --ipc=10 --eps=10
python -m experiments.dp_kip_teacher --dataset=mnist --ipc=50 --teacher=runs/a/teacher.npz
"""

from collections.abc import Sequence

from absl import app

from experiments import command_line
from experiments.run_flags import TeacherFlags
from jaxdp.methods.teacher.settings import Settings

command_line.define(TeacherFlags, Settings)


def main(argv: Sequence[str]) -> None:
    """Run the driver; bad input ends it with one line and exit code 2."""
    del argv
    command_line.run("teacher", TeacherFlags, Settings)


if __name__ == "__main__":
    app.run(main, flags_parser=command_line.parse)
