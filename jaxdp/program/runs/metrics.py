"""The metrics of a run that goes on: as they were stored, where they still make sense."""

from typing import Any

from jaxdp.program.errors import InputError
from jaxdp.program.evaluation import registry
from jaxdp.program.runs.folder import RunFolder

_NAME = "metrics.json"
# What judges have found, which a run that goes on without them keeps.
_BY_JUDGES = ("evaluation", "accuracy", "frechet", "frechet_inception_distance")


def resumed(
    folder: RunFolder, first: dict[str, Any], *, point: str | None = None
) -> dict[str, Any]:
    """Return the stored metrics of an interrupted run in the place of those of a first step.

    Args:
        folder: of the run.
        first: metrics of a run that starts.
        point: name of what the points of `history` tell beside their step.

    Raises:
        InputError: the file holds something else than a run writes.
    """
    stored = folder.read_json(_NAME) or {}
    for name, value in stored.items():
        if name in first and not _is_like(value, first[name], point):
            raise InputError(
                f"--out_dir={folder.path}: {_NAME} holds {name} = {str(value)[:40]}, which no run "
                "writes; remove that file, which holds measurements alone, and give --resume"
            )
    judged = (name for name in _BY_JUDGES if _is_judged(name, stored.get(name)))
    return first | {name: stored[name] for name in (*judged, *first) if name in stored}


def _is_judged(name: str, found: Any) -> bool:
    """Whether a stored value can be told as what judges found; it is left out otherwise."""
    try:
        return bool(registry.as_lines({name: found}))
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def _is_like(value: Any, example: Any, point: str | None) -> bool:
    """Whether a stored value can take the place of a first one."""
    if isinstance(example, list):
        return isinstance(value, list) and all(_is_point(each, point) for each in value)
    if isinstance(example, (bool, str)):
        return isinstance(value, type(example))
    return (value is None and example is None) or _is_number(value)


def _is_point(value: Any, name: str | None) -> bool:
    if not isinstance(value, dict) or set(value) != {"step", name}:
        return False
    return all(map(_is_number, value.values()))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
