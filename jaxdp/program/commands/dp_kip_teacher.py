"""Distil a private labelled image set from a private teacher: spend the budget once, then for free.

jaxdp run teacher                                  # bundled digits
jaxdp run teacher --dataset=cifar10 --ipc=10 --eps=10
jaxdp run teacher --dataset=mnist --ipc=50 --teacher=runs/a/teacher.npz
"""

from collections.abc import Sequence

from jaxdp.methods.teacher.settings import Settings
from jaxdp.program import command_line
from jaxdp.program.run_flags import TeacherFlags

KINDS = command_line.define(TeacherFlags, Settings)


def main(argv: Sequence[str]) -> None:
    """Run the driver; bad input ends it with one line and exit code 2."""
    del argv
    command_line.run("teacher", TeacherFlags, Settings)
