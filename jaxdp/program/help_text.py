"""What `--help` shows of a command: its flags in groups, the usual ones or all of them."""

import dataclasses
import inspect
import shutil
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

from jaxdp.methods.settings import Rule, group_of, rules, types_of
from jaxdp.program.evaluation import registry

GROUPS = ("data", "privacy", "method", "output")
_VALUES = {int: "N", float: "X", str: "TEXT"}
_INDENT, _WIDEST = 6, 100


def of_command(program: str, module: ModuleType, *, whole: bool) -> str:
    """Return the help of a command.

    Args:
        program: the command as it was typed.
        module: of `jaxdp.program.commands`.
        whole: whether flags are shown that few need.
    """
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    parts = [f"usage: {program} {getattr(module, 'USAGE', '[--flag=value ...]')}"]
    parts.append(inspect.cleandoc(module.__doc__ or ""))
    left_out = 0
    whole = whole or not any(flag.rule.usual for group in GROUPS for flag in _flags(module, group))
    for group in GROUPS:
        flags = list(_flags(module, group))
        shown = [flag for flag in flags if flag.rule.usual or whole]
        left_out += len(flags) - len(shown)
        if shown:
            parts.append("\n".join([f"{group.capitalize()}:", *(_told(f, width) for f in shown)]))
    if left_out:
        parts.append(f"--helpfull shows {left_out} flags more, which few need.")
    return "\n\n".join(parts)


class _Flag(NamedTuple):
    name: str
    rule: Rule
    kind: type
    default: Any


def _flags(module: ModuleType, group: str) -> Iterator[_Flag]:
    seen = set()
    kind = getattr(module, "KIND", "")
    for settings in reversed(module.KINDS):  # a budget before the ledger
        types = types_of(settings)
        defaults = {field.name: field.default for field in dataclasses.fields(settings)}
        for name, rule in rules(settings).items():
            is_other = kind and rule.only and rule.only != kind
            if group_of(settings, name) == group and name not in seen and not is_other:
                seen.add(name)
                if kind and name == "evaluate":
                    rule = dataclasses.replace(rule, help=registry.help_text(kind))
                yield _Flag(name, rule, types[name], defaults[name])


def _told(flag: _Flag, width: int) -> str:
    is_switch = flag.kind is bool
    both = f"  --{flag.name}, --no{flag.name}"
    head = both if is_switch else f"  --{flag.name}={_VALUES[flag.kind]}"
    told = flag.rule.help
    if flag.default not in (None, False) and "(default" not in told:
        told += f" (default: {_shown(flag.default)})"
    indent = " " * _INDENT
    return f"{head}\n{textwrap.fill(told, width, initial_indent=indent, subsequent_indent=indent)}"


def _shown(default: Any) -> str:
    if default is True:
        return "on"
    return f"{default:g}" if isinstance(default, float) else str(default)
