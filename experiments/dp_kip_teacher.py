"""Distil a private labelled image set from a private teacher: spend the budget once, then for free.

    python -m experiments.dp_kip_teacher                                  # bundled digits
    python -m experiments.dp_kip_teacher --dataset=cifar10 --ipc=10 --eps=10
    python -m experiments.dp_kip_teacher --dataset=mnist --ipc=50 --teacher=runs/a/teacher.npz

Only flags live here, so that --help answers at once; the run is in experiments/runs/teach.py.
"""

from collections.abc import Sequence

from absl import app, flags

from experiments import command_line, distill_flags

flags.adopt_module_key_flags(command_line)
flags.adopt_module_key_flags(distill_flags)
flags.DEFINE_string(
    "teacher",
    None,
    "Released teacher.npz of an earlier run to distil from: the private data are not used again.",
)
flags.DEFINE_string(
    "match",
    "teacher",
    "What the images are moved towards: teacher; embedding, private class means of scattering "
    "features, for images that train networks; or both.",
)
flags.DEFINE_string(
    "synthetic",
    None,
    "Folder of a finished run of experiments.dp_ntk: with --match=embedding or both, images start "
    "as representatives of what it generated and are matched with that, not with class means. "
    "What it released counts towards --eps.",
)
flags.DEFINE_float(
    "embedding_share", 0.5, "With --match=both: part of the budget that the class means get."
)
flags.DEFINE_float(
    "cosine_weight", None, "Weight of the teacher's cosine in the distillation (by --match)."
)
flags.DEFINE_float(
    "whiten",
    None,
    "Floor of the whitening of features on synthetic public images, relative to the mean "
    "eigenvalue; 0 for no whitening (default: by dataset).",
)
flags.DEFINE_bool(
    "mirror", None, "Use only features that mirror images share (default: for photographs)."
)
flags.DEFINE_float("label_smoothing", 0.0, "Part of a label that is spread over all classes.")
flags.DEFINE_integer("distill_steps", None, "Steps of the distillation, which are free.")
flags.DEFINE_float("distill_learning_rate", None, "First step size of Adam in the distillation.")
flags.DEFINE_bool("learn_labels", False, "Also learn the labels of the distilled images.")
flags.DEFINE_float("total_variation", 0.0, "Weight of a penalty on rough distilled images.")


def main(argv: Sequence[str]) -> None:
    """Run the driver; bad input ends it with one line and exit code 2."""
    del argv
    with command_line.one_line_errors():
        command_line.prepare()
        from experiments import teacher_settings
        from experiments.runs import teach  # import jax: not before flags are parsed

        command_line.run(teacher_settings.TeacherSettings, teach.run)


if __name__ == "__main__":
    app.run(main, flags_parser=command_line.parse)
