"""Distil scikit-learn's digits at epsilon 3, in about a minute, and say where the report is.

jaxdp demo
jaxdp demo --eps=1 --out_dir=runs/mine

It needs no data and no network. `runs/demo` is replaced; another --out_dir is not.
"""

from collections.abc import Sequence

from jaxdp.methods.teacher.settings import Settings
from jaxdp.program import command_line
from jaxdp.program.run_flags import TeacherFlags

KINDS = command_line.define(TeacherFlags, Settings)
# Of few pixels and records: most of budget and loss are for images that look like digits.
_SETTINGS = {
    "ipc": 10,
    "eps": 3.0,
    "match": "both",
    "total_variation": 0.3,
    "distill_steps": 150,
}
# How budget and loss are shared, which they are with --match=both alone.
_SHARED = {"embedding_share": 0.7, "cosine_weight": 0.03}


def main(argv: Sequence[str]) -> None:
    """Run the teacher on digits; bad input ends it with one line and exit code 2."""
    del argv
    for settings in (_SETTINGS, _SHARED):
        if settings is _SHARED and command_line.FLAGS.match != "both":
            continue
        for name, value in settings.items():
            if not command_line.is_given(name):
                command_line.put(name, value)
    if not command_line.is_given("out_dir"):
        command_line.put("out_dir", "runs/demo")
        command_line.put("overwrite", not command_line.FLAGS.resume)
    command_line.run("teacher", TeacherFlags, Settings)
    print(f"Open {command_line.FLAGS.out_dir}/report.html in a browser.")
