"""The command line of an installation: `jaxdp COMMAND`, or `python -m jaxdp COMMAND`.

A command is a module of `jaxdp.program.commands`. It has `KINDS`, the classes that declare its
flags, and `main`; its docstring is its help. `KIND` leaves flags of other kinds of data out of it,
`TAKES` names the flag whose value may stand alone,
and `TAKES_FILES` says that words are files. Only the module that is asked for is imported.
"""

import importlib
import io
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

import jaxdp


class Command(NamedTuple):
    """A command.

    Attributes:
        module: in `jaxdp.program.commands`.
        about: one line.
    """

    module: str
    about: str


METHODS = {
    "teacher": Command("dp_kip_teacher", "Distil from a private teacher: spend the budget once."),
    "dp_kip": Command("dp_kip", "Distil by DP-KIP, as published and better."),
    "dp_ntk": Command("dp_ntk", "Generate by DP-NTK and its kin; a teacher may label."),
    "marginals": Command("marginals", "Make a table of a model of noisy counts."),
}
"""What `jaxdp run` takes, by their names in `jaxdp.methods`."""
COMMANDS = {
    "demo": Command("demo", "Distil bundled digits in a minute; needs no data."),
    "images": Command("images", "Make a few images, or a generator, of private images."),
    "table": Command("table", "Make a synthetic table of a private one."),
    "run": Command("", f"Run a method by its name: {', '.join(METHODS)}."),
    "recommend": Command(
        "recommend", "Say which command to take for your data, and what it costs."
    ),
    "schema": Command("draft_schema", "Begin the schema of a table."),
    "classify": Command("classify", "Tell the classes of new examples by what a run has released."),
    "sample": Command("sample", "Draw more examples from a finished generator."),
    "pack": Command("pack", "Pack what may leave of a run into one zip file."),
    "verify": Command("verify", "Say what may be believed of a file that was passed on."),
    "export": Command("export", "Write what a run has made for other programs."),
    "ui": Command("ui", "Open a page in the browser that does all this."),
    "spent": Command("spent", "Show what all runs on a dataset have released together."),
    "cache": Command("cache", "List the public arrays that runs keep, or remove them."),
    "registry": Command("registry_entry", "Begin an entry for the registry of deployments."),
}
_HELP = {"-h": False, "--help": False, "--helpshort": False, "-?": False, "--helpfull": True}


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run a command; bad input ends it with one line and exit code 2."""
    words = list(sys.argv[1:] if argv is None else argv)
    first, *rest = words or ["--help"]
    if first in _HELP or first == "help":
        print(_usage())
    elif first == "--version":
        print(f"jaxdp {jaxdp.__version__}")
    elif first == "run" and (not rest or rest[0] in _HELP):
        print(_listed("jaxdp run METHOD [--flag=value ...]", METHODS))
    else:
        module, rest, program = resolved(words)
        start(module, rest, program=program)
    sys.exit(0)


def resolved(words: Sequence[str]) -> tuple[str, list[str], str]:
    """Return the module of a command, the words after it, and the command.

    Args:
        words: of a command line, without `jaxdp`.
    """
    first, *rest = words
    if first != "run":
        if first not in COMMANDS:
            _unknown(f"jaxdp {first}", first, COMMANDS)
        return COMMANDS[first].module, rest, f"jaxdp {first}"
    method, *rest = rest
    if method not in METHODS:
        _unknown(f"jaxdp run {method}", method, METHODS)
    return METHODS[method].module, rest, f"jaxdp run {method}"


def start(module: str, words: Sequence[str] | None = None, *, program: str) -> NoReturn:
    """Run the command of a module of `jaxdp.program.commands`, and end the process.

    Args:
        module: its name.
        words: after the command (default: those of the process).
        program: the command as it was typed.
    """
    from absl import app

    from jaxdp.program import command_line, help_text

    for stream in (sys.stdout, sys.stderr):
        # A name of a class that the terminal's encoding lacks is no reason to end a run.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    found = importlib.import_module(f"jaxdp.program.commands.{module}")
    words = list(sys.argv[1:] if words is None else words)
    asked = [word for word in words if word in _HELP]
    if asked:
        print(help_text.of_command(program, found, whole=any(_HELP[word] for word in asked)))
        sys.exit(0)
    takes_files, takes = getattr(found, "TAKES_FILES", False), getattr(found, "TAKES", None)
    app.run(
        found.main,
        [program, *words],
        flags_parser=lambda argv: command_line.parse(argv, takes_files=takes_files, takes=takes),
    )
    raise AssertionError("absl ends the process")


def _usage() -> str:
    end = "`jaxdp COMMAND --help` tells more of one; `jaxdp --version` the version."
    return f"{_listed('jaxdp COMMAND [--flag=value ...]', COMMANDS)}\n\n{end}"


def _listed(head: str, commands: Mapping[str, Command]) -> str:
    width = max(map(len, commands)) + 2
    lines = [f"  {name:<{width}}{command.about}" for name, command in commands.items()]
    return "\n".join([f"usage: {head}", "", *lines])


def _unknown(what: str, name: str, known: Mapping[str, Command]) -> NoReturn:
    import difflib

    from jaxdp.program import command_line

    near = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    command_line.fail(f"{what}: there is no such command; {hint}")


if __name__ == "__main__":
    main()
