"""A run whose method is chosen by what is public about its data."""

import importlib
import shlex
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxdp.methods.settings import Budget, rules
from jaxdp.program import command_line, several_processes
from jaxdp.program.commands import dp_kip, dp_kip_teacher, dp_ntk, marginals
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import RunFlags

METHODS = {
    "teacher": dp_kip_teacher.KINDS,
    "dp_kip": dp_kip.KINDS,
    "dp_ntk": dp_ntk.KINDS,
    "marginals": marginals.KINDS,
}
"""The classes that declare the flags of each, by the names that `jaxdp run` has for them."""
_REUSED = ("teacher", "embedding", "counts")  # flags of a release that has settings of its own


class _Chosen(NamedTuple):
    method: str
    flags: dict[str, str]
    why: str


def define(own: type, method: str) -> tuple[type, ...]:
    """Make the flags of a command; return those classes that its help shows.

    Args:
        own: of the command.
        method: that such data usually get.
    """
    return command_line.define(own, *METHODS[method])


def check(asked: str | None) -> None:
    """Refuse what needs no data to be refused, before anything is read or written.

    Args:
        asked: the method that was asked for.

    Raises:
        InputError: see `before_data.check`.
    """
    if asked is not None:
        _require_fit(asked)
    if command_line.is_given("coordinator"):  # the first of several processes may have begun
        return
    from jaxdp.program.runs import before_data  # imports jax: not before flags are checked

    budget = command_line.settings_of(Budget)
    before_data.check(command_line.settings_of(METHODS[_likely(asked)][0]), budget)


def _likely(asked: str | None) -> str:
    """Return the method that was asked for, or one whose flags are those of such data."""
    return asked or ("marginals" if command_line.is_given("csv") else "teacher")


def run(asked: str | None) -> None:
    """Run the method that suits the data which flags name.

    Args:
        asked: the method that was asked for.

    Raises:
        InputError: a flag is none of that method.
    """
    budget = command_line.settings_of(Budget)
    several_processes.join(command_line.settings_of(RunFlags))
    from jaxdp import processes  # imports jax: not before flags are checked
    from jaxdp.program.data.load import dataset_for
    from jaxdp.program.runs import driver
    from jaxdp.program.runs.schema_purchase import SchemaBuyer

    run_flags = command_line.settings_of(RunFlags)
    given = (flag for flag in _REUSED if command_line.is_given(flag))
    counts = asked in (None, "marginals")
    likely = _likely(asked)
    settings = command_line.settings_of(METHODS[likely][1])
    complete = importlib.import_module(f"jaxdp.methods.{likely}").complete

    def fitting(settings: Any, spec: Any) -> Any:
        """Return complete settings; refuse flags before a schema is bought."""
        _require_fit(_choice(spec, budget.eps, asked).method)
        return complete(settings, spec)

    buyer = SchemaBuyer(
        *(run_flags, settings, counts, next(given, None)), complete_settings=fitting
    )
    data = dataset_for(run_flags, seed=budget.seed, completes=buyer)
    chosen = _choice(data.spec, budget.eps, asked)
    _require_fit(chosen.method)
    words = [f"jaxdp run {chosen.method}", *_put(chosen.flags)]
    flags_class, settings_class = METHODS[chosen.method]
    settings, run_flags = map(command_line.settings_of, (settings_class, flags_class))
    if processes.is_first():
        print(f"chosen: {' '.join(words)}\n  why: {chosen.why}", file=sys.stderr)
    driver.run(chosen.method, settings, run_flags, data)


def _put(chosen: Mapping[str, str]) -> list[str]:
    """Give flags the values that were chosen, where none are given; return these."""
    if any(command_line.is_given(name) for name in _REUSED):
        return []
    added = {name: text for name, text in chosen.items() if not command_line.is_given(name)}
    for name, text in added.items():
        command_line.put(name, command_line.FLAGS[name].parser.parse(text))
    return [f"--{name}={shlex.quote(text)}" for name, text in added.items()]


def _choice(spec: Any, epsilon: float, asked: str | None) -> _Chosen:
    """Return the method, the flags that it gets unless others are given, and the reason."""
    from jaxdp.program.runs import commands, recommendation

    for choice in recommendation.choices(spec, epsilon, source=""):
        method, flags = commands.parsed(choice.command)
        if asked in (None, method):
            flags.pop("eps", None)
            why = choice.why if asked is None else "You asked for it."
            return _Chosen(method, flags, why)
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
