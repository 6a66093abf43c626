"""Whether what an earlier run released can be used again with the flags of this one."""

import dataclasses

from experiments.data.load import Dataset
from experiments.errors import InputError
from experiments.runs.synthetic_images import SyntheticImages
from experiments.runs.teacher_file import TeacherFile
from experiments.teacher_settings import MapConfig, TeacherSettings

BESIDE = "also_released_digests"
"""Where a certificate tells which released embeddings it has accounted for."""


def config_of(settings: TeacherSettings, reused: TeacherFile, data: Dataset) -> MapConfig:
    """Return how a stored teacher's features were made, which the flags must not contradict.

    Raises:
        InputError: they do, or the teacher is of other data, or lacks what `--match` asks for.
    """
    for field in dataclasses.fields(MapConfig):
        given, stored = getattr(settings, field.name), getattr(reused.map_config, field.name)
        if given is not None and given != stored:
            raise InputError(
                f"--{field.name}={given}: --teacher={settings.teacher} was made with {stored}; "
                "leave the flag out"
            )
    for what, here, there in (
        ("images of shape", list(data.shape), reused.example_shape),
        ("classes:", data.num_classes, reused.num_classes),
    ):
        if here != there:
            raise InputError(
                f"--teacher={settings.teacher}: was trained on {what} {there}, and "
                f"--dataset={settings.dataset} has {here}"
            )
    means = () if settings.synthetic is not None else ("embedding", "both")
    for what, matches, stored in (
        ("a teacher", ("teacher", "both"), reused.weights),
        ("class means", means, reused.means),
    ):
        if settings.match in matches and stored is None:
            raise InputError(
                f"--match={settings.match}: --teacher={settings.teacher} was released without "
                f"{what}; make one with --match={settings.match}"
            )
    return reused.map_config


def require_width(settings: TeacherSettings, stored: int, today: int) -> None:
    """Raise an `InputError` where stored class means are of other features than today's."""
    if stored != today:
        raise InputError(
            f"--teacher={settings.teacher}: holds means of {stored} features, and today's are "
            f"{today}: another version made it"
        )


def require_accounted(
    settings: TeacherSettings, reused: TeacherFile | None, synthetic: SyntheticImages
) -> None:
    """Raise an `InputError` where a stored certificate does not cover the images beside it.

    A teacher and images of which each has a certificate of its own have spent more together than
    either says.
    """
    if reused is None or synthetic.digest in reused.certificate.get(BESIDE, ()):
        return
    raise InputError(
        f"--synthetic={settings.synthetic}: was not accounted for when "
        f"--teacher={settings.teacher} was trained; train one beside it, without --teacher"
    )
