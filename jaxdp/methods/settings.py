"""Settings of methods, declared once: a field has its default, its help and its range.

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Settings(Budget):
        ipc: int = setting(1, "Distilled images per class.", at_least=1)

The command line makes flags of the fields. Ranges are checked wherever settings are made. A field
of type `ByData` has a default that depends on the data: it is None until a method's `complete` has
put it in. This file imports little, so that help texts come without jax.
"""

import dataclasses
import inspect
import math
import numbers
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Optional, TypeVar

from jaxdp import plain_numbers
from jaxdp.escapes import one_line
from jaxdp.methods import presets, words
from jaxdp.methods.presets import Preset
from jaxdp.privacy import relations
from jaxdp.privacy.limits import LEAST_DELTA

_RULE = "rule"
# jax ends the process without a word where the size of an array overflows.
_LARGEST_SIZE = 2**31 - 1
# Where the search for the noise of a single release still ends: its steps are of a fixed size.
_LEAST_EPS = 1e-6
# Above it noise is less than numbers can hold.
_MOST_EPS = 1e6
PRIORS = DATA_PRIORS, EQUAL_PRIORS = ("data", "equal")
"""How common a made set or a classifier takes classes to be."""
LEAST_SHARE = 1e-6
"""Of a budget, and least that is left of it: below, noise is more than accountants take."""
LEAST_CLIP_NORM = 1e-12
"""Below it, noise is less than float32 results can hold."""

S = TypeVar("S")
T = TypeVar("T")
# For mypy the type of what `complete` puts in, so that plans need not ask.
if TYPE_CHECKING:
    ByData = Annotated[T, "None until complete"]
else:
    ByData = Optional


class SettingsError(ValueError):
    """Report one bad setting: a line that names it, its value and what to do.

    On the command line it is named as a flag: see `jaxdp.methods.words`.

    It may quote what a file holds, so it is made safe to be shown.

    Examples:
        >>> import jaxdp
        >>> jaxdp.methods.teacher.Settings(eps=-1.0)
        Traceback (most recent call last):
            ...
        jaxdp.methods.settings.SettingsError: eps=-1.0: must be above 0; inf switches privacy off
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(words.said(message)))


class InputError(SettingsError):
    """Report one bad input, such as a file: a line that names it and says what to do."""


def bad(settings: Any, name: str, reason: str) -> SettingsError:
    """Return the error that a setting has a value that does not do."""
    return SettingsError(f"--{name}={getattr(settings, name)}: {reason}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rule:
    """What a setting is, and which values it may have.

    Attributes:
        help: one line.
        above: values are above it.
        at_least: values are it or more.
        below: values are below it.
        at_most: values are it or less.
        among: the known values, in order; any where empty.
        infinite: whether infinity is a value.
        fixed: whether a resumed run has to have the same value.
        usual: whether many users need it, so that a short help shows it.
        group: of the help (default: that of the class that declares it).
        only: the kind of data that it is of, "images" or "table"; of any where empty.
    """

    help: str
    above: float | int | None = None
    at_least: float | int | None = None
    below: float | int | None = None
    at_most: float | int | None = None
    among: tuple[str, ...] = ()
    infinite: bool = False
    fixed: bool = True
    usual: bool = False
    group: str = ""
    only: str = ""

    def holds(self, value: Any) -> bool:
        """Whether a number is in the range."""
        return (
            (self.above is None or value > self.above)
            and (self.at_least is None or value >= self.at_least)
            and (self.below is None or value < self.below)
            and (self.at_most is None or value <= self.at_most)
            and (value == value and (self.infinite or abs(value) != math.inf))
        )

    @property
    def range(self) -> str:
        """The range in words."""
        upper = self.below if self.at_most is None else self.at_most
        if self.below is not None and self.below < _LARGEST_SIZE:
            first = "(" if self.above is not None else "["
            lower = self.above if self.at_least is None else self.at_least
            return f"must be in {first}{lower:g}, {self.below:g})"
        words = []
        if self.above is not None:
            words.append(f"must be a number above {self.above:g}")
        if self.at_least is not None:
            least = f"must be at least {self.at_least:g}"
            words.append("must be 0 or above" if self.at_least == 0 else least)
        if upper is not None and upper < 2**60:
            words.append(f"at most {upper:g}" if words else f"must be at most {upper:g}")
        if upper is not None and upper >= 2**60:
            return "must be a whole number from 0 to 2^63 - 1"
        return ", ".join(words) or "must be finite"


def setting(default: Any, help: str, *, among: Sequence[str] = (), **limits: Any) -> Any:
    """Return a field of a settings class; see `Rule` for the limits.

    Args:
        default: None for a default that depends on the data.
        help: one line, in which {names} stands for the known values.
        among: the known values.
        **limits: fields of `Rule`.

    Examples:
        >>> import dataclasses
        >>> from jaxdp.methods.settings import Budget, setting
        >>> @dataclasses.dataclass(frozen=True, kw_only=True)
        ... class Settings(Budget):
        ...     rounds: int = setting(3, "How often.", at_least=1)
        >>> Settings().rounds
        3
        >>> Settings(rounds=0)
        Traceback (most recent call last):
            ...
        jaxdp.methods.settings.SettingsError: rounds=0: must be at least 1
    """
    text = help.replace("{names}", ", ".join(among))
    rule = Rule(help=text, among=tuple(among), **limits)
    return dataclasses.field(default=default, metadata={_RULE: rule})


def rules(kind: type) -> dict[str, Rule]:
    """Return the rules of a settings class by the names of its fields."""
    fields = dataclasses.fields(kind)
    return {field.name: field.metadata[_RULE] for field in fields if _RULE in field.metadata}


def group_of(kind: type, name: str) -> str:
    """Return the group of a setting: its own, or `GROUP` of the class that declares it."""
    declaring = next(each for each in kind.__mro__ if name in inspect.get_annotations(each))
    return rules(kind)[name].group or vars(declaring).get("GROUP", "method")


def types_of(kind: Any) -> dict[str, type]:
    """Return the type of every field of a settings class: bool, int, float or str."""
    hints = typing.get_type_hints(kind)
    found = {}
    for name in rules(kind):
        options = typing.get_args(hints[name]) or (hints[name],)
        found[name] = next(option for option in options if option is not type(None))
    return found


def check_fields(settings: Any) -> None:
    """Raise a `SettingsError` for the first field whose value is not one that it may have."""
    kinds = types_of(type(settings))
    defaults = {field.name: field.default for field in dataclasses.fields(settings)}
    for name, rule in rules(type(settings)).items():
        value, kind = getattr(settings, name), kinds[name]
        if value is None:
            if defaults[name] is not None:
                raise bad(settings, name, f"must be of type {kind.__name__}")
            continue
        _check_type(settings, name, value, kind)
        if kind is str:
            if rule.among and value not in rule.among:
                raise bad(settings, name, f"unknown; known are {', '.join(rule.among)}")
        elif kind is not bool and not rule.holds(value):
            raise bad(settings, name, rule.range)
        elif kind is int and value > _LARGEST_SIZE and rule.below is None:
            raise bad(settings, name, f"must be at most {_LARGEST_SIZE:g}")


def _check_type(settings: Any, name: str, value: Any, kind: type) -> None:
    whole: dict[type, Any] = {int: numbers.Integral, float: numbers.Real}
    fits = isinstance(value, whole.get(kind, kind))
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise bad(settings, name, f"must be of type {kind.__name__}, not {type(value).__name__}")


def filled(settings: S, defaults: Mapping[str, Any]) -> S:
    """Return settings in which fields that are None have the values of a table."""
    missing = {name: value for name, value in defaults.items() if getattr(settings, name) is None}
    return dataclasses.replace(settings, **missing)  # type: ignore[type-var]


def part_of(settings: Any, kind: Callable[..., S]) -> S:
    """Return those fields of settings that another settings class has, as that class."""
    fields: Any = kind
    return kind(**{f.name: getattr(settings, f.name) for f in dataclasses.fields(fields)})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Budget:
    """The privacy budget, and where randomness comes from.

    Raises:
        SettingsError: a value is not one that its field may have.
    """

    GROUP: ClassVar[str] = "privacy"

    eps: float = setting(
        1.0, "Privacy budget epsilon; inf switches privacy off.", infinite=True, usual=True
    )
    delta: float = setting(1e-5, "Privacy budget delta; releasable below 1/n.", usual=True)
    allow_delta: bool = setting(
        False, "Let a delta of 1/n or more be releasable; is recorded.", fixed=False
    )
    allow_epsilon: bool = setting(
        False, "Let an epsilon above 50 be releasable; is recorded.", fixed=False
    )
    relation: str = setting(
        relations.ZERO_OUT,
        "What one record may be exchanged for unnoticed: an empty one (zero-out), or any other "
        "(replace, which takes 1.4 to 2 times the noise).",
        among=relations.NAMES,
    )
    seed: int = setting(
        0,
        "Public randomness: whatever is drawn without the data.",
        at_least=0,
        below=2**63,
        usual=True,
    )
    noise_seed: int | None = setting(
        None,
        "Makes what is private reproducible, for tests only: marks the result not releasable.",
        at_least=0,
        below=2**63,
    )

    def __post_init__(self) -> None:
        plain_numbers.settle(self)  # config.json holds them, after a budget is spent
        self._check_budget()
        check_fields(self)
        self.check()

    def _check_budget(self) -> None:
        eps, delta = self.eps, self.delta
        for name, value in (("eps", eps), ("delta", delta)):
            _check_type(self, name, value, float)
        if not eps > 0:
            raise bad(self, "eps", "must be above 0; inf switches privacy off")
        if eps < _LEAST_EPS:
            raise bad(
                self, "eps", f"below {_LEAST_EPS:g} noise leaves nothing of the data; raise it"
            )
        if _MOST_EPS < eps < math.inf:
            raise bad(self, "eps", "promises nothing; give inf to do without noise")
        if not 0 < delta < 1:
            raise bad(self, "delta", "must be between 0 and 1, well below 1/n")
        if delta < LEAST_DELTA:
            raise bad(self, "delta", f"the arithmetic supports {LEAST_DELTA:g} and more; raise it")

    def check(self) -> None:
        """Raise a `SettingsError` where fields contradict each other."""

    @property
    def is_private(self) -> bool:
        """Whether there is to be noise."""
        return self.eps < math.inf

    @property
    def contributions(self) -> int:
        """How many contributions of one record a neighbour moves a sum by, at most."""
        return relations.contributions(self.relation)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training(Budget):
    """A budget, and how something is trained in steps."""

    steps: ByData[int] = setting(
        None, "Number of steps (default: by the data).", above=0, usual=True
    )
    batch_size: ByData[int] = setting(
        None,
        "Examples of a step, on average where they are private (by the data).",
        above=0,
        usual=True,
    )
    learning_rate: ByData[float] = setting(
        None, "First step size (default: by the data).", above=0, usual=True
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ByPreset(Training):
    """Training whose defaults may come from a preset of `jaxdp.methods.presets`.

    Attributes:
        defaults: the preset whose values stand where none are given and rules would say what to
            take. It is the one that `preset` names; else one may be handed over, as the command
            line does for a dataset that it knows by name.
    """

    LENGTHS: ClassVar[tuple[str, ...]] = ()
    """What else `preset` may be."""

    preset: str | None = setting(
        None,
        "Settings by name, where no flag says otherwise: paper:NAME, those of a paper for a "
        "dataset, or tuned:NAME (default: tuned for a dataset known by name, else by the data).",
        usual=True,
    )
    defaults: Preset | None = dataclasses.field(default=None, repr=False)

    def __post_init__(self) -> None:
        Training.__post_init__(self)
        if self.preset is None or self.preset in self.LENGTHS:
            return
        try:
            named = presets.of(self.preset)
        except LookupError as error:
            known = ", ".join((*self.LENGTHS, *presets.names()))
            raise bad(self, "preset", f"unknown; known are {known}") from error
        object.__setattr__(self, "defaults", named)

    def by_preset(self, method: str, spec: Any, **facts: Any) -> dict[str, Any]:
        """Return the values of the preset for a run; none where there is no preset.

        Args:
            method: its name in `jaxdp.methods`.
            spec: facts about the data.
            **facts: about the run, by which presets choose.

        Raises:
            SettingsError: the preset is not for such data, or not for such a run.
        """
        preset = self.defaults
        if preset is None:
            return {}
        if spec.kind.stored not in preset.kinds:
            raise SettingsError(
                f"--preset={preset.name}: is for images, and --dataset={spec.name} holds "
                f"{spec.kind.holds(spec)}"
            )
        try:
            return preset.values(method, **facts)
        except LookupError as error:
            raise SettingsError(f"--preset={preset.name}: {error.args[0]}") from error


@dataclasses.dataclass(frozen=True, kw_only=True)
class Distilling(ByPreset):
    """What both ways of distilling have."""

    ipc: int = setting(1, "Distilled images per class.", at_least=1, usual=True)
    epochs: ByData[float] = setting(
        None,
        "Expected passes over the data (default: by the data).",
        above=0,
        at_most=1e6,
        usual=True,
    )
    clip_norm: ByData[float] = setting(
        None,
        "Bound on one example's gradient (default: by the data).",
        at_least=LEAST_CLIP_NORM,
        infinite=True,
        usual=True,
    )
    ridge: ByData[float] = setting(
        None, "Ridge relative to the mean of the kernel matrix's diagonal.", at_least=0
    )
    chunk_size: int | None = setting(
        None,
        "Examples processed at once, which bounds the memory (default: by device).",
        above=0,
        fixed=False,
    )

    def check(self) -> None:
        """Raise a `SettingsError` where noise would be asked for without a bound."""
        if self.clip_norm == math.inf and self.is_private:
            raise bad(self, "clip_norm", "must be finite, or noise would be, too")


def require_classes(spec: Any, method: str) -> None:
    """Raise a `SettingsError` where a method tells classes apart, and the data have none."""
    if spec.num_classes < 2:
        raise SettingsError(
            f"{method} tells classes apart, and the schema of {spec.name} has no target of "
            'categories: mark one, name it by --target, or take "jaxdp run marginals"'
        )


def budget(settings: Budget, earlier: Mapping[str, Any] | None) -> float:
    """Return epsilon: as set, or as it was asked for in an earlier certificate; inf for none."""
    if earlier is None:
        return settings.eps
    epsilon = earlier["target_epsilon"]
    return math.inf if epsilon is None else epsilon


def require_one_length(settings: Distilling) -> None:
    """Raise a `SettingsError` where both steps and epochs are given."""
    if settings.epochs is not None and settings.steps is not None:
        raise bad(settings, "steps", "give either --steps or --epochs, not both")


def batch_size_for(settings: Training, default: int, spec: Any) -> int:
    """Return the expected batch size, which is not more than there are examples.

    Raises:
        SettingsError: one was asked for that is.
    """
    if settings.batch_size is not None and settings.batch_size > spec.num_examples:
        raise bad(
            settings,
            "batch_size",
            f"larger than the {spec.num_examples} training examples of {spec.name}",
        )
    return min(default, spec.num_examples)
