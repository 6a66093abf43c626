"""A run whose method is chosen by what is public about its data."""

import shlex
import sys
from typing import Any, NamedTuple

from jaxdp.methods.dp_kip.settings import Settings as KipSettings
from jaxdp.methods.labelled.settings import Settings as LabelledSettings
from jaxdp.methods.settings import rules
from jaxdp.methods.teacher.settings import Settings as TeacherSettings
from jaxdp.program import command_line, several_processes
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import GenerateFlags, KipFlags, RunFlags, TeacherFlags

METHODS = {
    "teacher": (TeacherFlags, TeacherSettings),
    "dp_kip": (KipFlags, KipSettings),
    "dp_ntk": (GenerateFlags, LabelledSettings),
}
"""By the names that `jaxdp run` has for them."""


class _Chosen(NamedTuple):
    method: str
    flags: dict[str, str]
    why: str


def define(own: type) -> tuple[type, ...]:
    """Make the flags of a command and of all methods; return those classes that its help shows."""
    command_line.define(own, *(kind for kinds in METHODS.values() for kind in kinds))
    return own, *METHODS["teacher"]


def run(asked: str | None) -> None:
    """Run the method that suits the data which flags name.

    Args:
        asked: the method that was asked for.

    Raises:
        InputError: a flag is none of that method.
    """
    several_processes.join(command_line.settings_of(RunFlags))
    from jaxdp.program.data.load import dataset_for  # import jax: not before flags are checked
    from jaxdp.program.runs import driver

    seed = command_line.settings_of(TeacherSettings).seed
    data = dataset_for(command_line.settings_of(RunFlags), seed=seed)
    chosen = _choice(data, asked)
    flags_class, settings_class = METHODS[chosen.method]
    _require_fit(chosen.method)
    parsers = {name: command_line.FLAGS[name].parser for name in chosen.flags}
    added = {n: v for n, v in chosen.flags.items() if not command_line.is_given(n)}
    for name, value in added.items():
        command_line.put(name, parsers[name].parse(value))
    words = " ".join(f"--{name}={shlex.quote(value)}" for name, value in added.items())
    said = f"chosen: jaxdp run {chosen.method} {words}".rstrip()
    print(f"{said}\n  why: {chosen.why}", file=sys.stderr)
    settings: Any = command_line.settings_of(settings_class)
    name = "labelled" if getattr(settings, "labels", None) == "teacher" else chosen.method
    if name == "dp_ntk":
        from jaxdp.methods.labelled.settings import generation_settings

        settings = generation_settings(settings)
    driver.run(name, settings, command_line.settings_of(flags_class), data)


def _choice(data: Any, asked: str | None) -> _Chosen:
    """Return the method, the flags that it gets unless others are given, and the reason."""
    from jaxdp.program.runs import commands, estimates, recommendation

    facts = estimates.facts_of(data.spec, num_test=len(data.x_test))
    epsilon = command_line.settings_of(TeacherSettings).eps
    schema = data.spec.schema is not None
    for choice in recommendation.choices(facts, epsilon, source="", schema=schema):
        method, flags = commands.parsed(choice.command)
        method = "dp_ntk" if method == "labelled" else method
        if asked in (None, method):
            flags.pop("eps", None)
            why = choice.why if asked is None else "You asked for it."
            return _Chosen(method, flags, f"{why} Expected: {choice.expected}")
    assert asked is not None
    return _Chosen(asked, {}, "You asked for it.")


def _require_fit(method: str) -> None:
    """Raise an `InputError` where a flag is given that a method does not have."""
    own = {name for kind in METHODS[method] for name in rules(kind)}
    for other, kinds in METHODS.items():
        for name in (name for kind in kinds for name in rules(kind)):
            if name not in own and command_line.is_given(name):
                raise InputError(
                    f"--{name}={command_line.FLAGS[name].value}: is for --method={other}, and "
                    f"these data get {method}; give --method={other} or leave it out"
                )
