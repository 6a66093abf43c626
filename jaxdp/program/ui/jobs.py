"""Commands that the page has started: each a process of its own, which outlives the browser."""

import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

try:
    import pty
    import termios
except ImportError:  # where there are no terminals, progress comes every ten seconds
    pty = termios = None  # type: ignore[assignment]

_MOST_LINES = 400
_BAR = re.compile(r"^(?P<what>[\w ,'-]+):\s+(?P<part>\d+)%\|")
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_WARNING = "WARNING: "
_BLOCK = 4096
_SIZE = (24, 100)  # of the terminal that the process sees
_GRACE_SECONDS = 60.0


class Job:
    """A command and what it has said so far.

    Attributes:
        name: that no other has; nothing about the data.
        words: after `jaxdp`.
        title: for the page.
        folder: of the run; None where there is none.
        lines: the last ones that it has said, without progress.
        warnings: those among all of them that warn of something, each once, without the word.
        phases: what it has been at, in order, and which part of each is done.
        code: exit code; None while it runs.
    """

    def __init__(self, words: Sequence[str], title: str, folder: Path | None = None) -> None:
        """Start the command.

        Args:
            words: as above.
            title: as above.
            folder: as above.
        """
        self.name, self.words = secrets.token_hex(8), tuple(words)
        self.title, self.folder = title, folder
        self.lines: deque[str] = deque(maxlen=_MOST_LINES)
        self._num_lines = 0
        self.warnings: list[str] = []
        self.phases: dict[str, float] = {}
        self.code: int | None = None
        self._saying = threading.Lock()  # for `lines` and `_num_lines`, which go together
        self._process, read = _started([sys.executable, "-m", "jaxdp", *words])
        self._thread = threading.Thread(target=self._listen, args=(read,), daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return self.code is not None

    @property
    def is_run(self) -> bool:
        """Whether it makes something of data, and is no pack of that."""
        return self.folder is not None

    def lines_since(self, number: int) -> tuple[list[str], int]:
        """Return what it has said since it had said so many lines, as far as that is kept.

        Returns:
            These lines, and how many it has said with them.
        """
        with self._saying:
            new = max(self._num_lines - number, 0)
            return list(self.lines)[-new:] if new else [], self._num_lines

    def kill(self) -> None:
        """End it at once; what it has released can be resumed nevertheless."""
        if self.code is None:
            self._process.kill()

    def stop(self) -> None:
        """Ask it to end as Ctrl-C does, so that it can be resumed."""
        if self.code is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)

    def wait(self, seconds: float = _GRACE_SECONDS) -> None:
        """Wait until it has ended, but for so many seconds at most."""
        self._thread.join(seconds)

    def _listen(self, read: Callable[[], bytes]) -> None:
        rest = ""
        while block := read():
            *whole, rest = re.split(r"[\r\n]+", rest + block.decode("utf-8", "replace"))
            for line in whole:
                self._heard(line)
        self._heard(rest)
        self.code = self._process.wait()

    def _heard(self, line: str) -> None:
        line = _CODES.sub("", line).rstrip()
        bar = _BAR.match(line)
        if bar:
            self.phases[bar["what"].strip()] = int(bar["part"]) / 100
        elif line:
            self._heard_warning(line)
            with self._saying:
                self.lines.append(line)
                self._num_lines += 1

    def _heard_warning(self, line: str) -> None:
        text = line.removeprefix(_WARNING)
        if text != line and text not in self.warnings:
            self.warnings.append(text)


def _started(words: list[str]) -> tuple[subprocess.Popen[bytes], Callable[[], bytes]]:
    """Start a process in a session of its own; return it, and what reads of it."""
    if pty is None:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert process.stdout is not None
        return process, lambda: os.read(process.stdout.fileno(), _BLOCK)
    own, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, _SIZE)
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,  # Ctrl-C in the terminal of the page is not for it
    )
    os.close(theirs)

    def read() -> bytes:
        try:
            found = os.read(own, _BLOCK)
        except OSError:  # the other end was closed
            found = b""
        if not found:
            os.close(own)
        return found

    return process, read


class Jobs:
    """All commands of a server, in the order in which they were started."""

    def __init__(self) -> None:
        """There are none yet."""
        self._all: dict[str, Job] = {}

    def start(self, words: Sequence[str], title: str, folder: Path | None = None) -> Job:
        """Start a command; arguments as for `Job`."""
        job = Job(words, title, folder)
        self._all[job.name] = job
        return job

    def get(self, name: str) -> Job | None:
        """Return the one of a name."""
        return self._all.get(name)

    def of_folder(self, folder: Path) -> Job | None:
        """Return the run that is in progress in a folder."""
        own = os.path.realpath(folder)
        found = (job for job in self.running if job.folder is not None)
        return next((job for job in found if os.path.realpath(job.folder or "") == own), None)

    def of_words(self, words: Sequence[str]) -> Job | None:
        """Return the command in progress whose first words these are."""
        own = tuple(words)
        return next((job for job in self.running if job.words[: len(own)] == own), None)

    def __iter__(self) -> Iterator[Job]:
        """Go through all of them."""
        return iter(tuple(self._all.values()))

    @property
    def running(self) -> list[Job]:
        """Those that have not ended."""
        return [job for job in self if not job.is_done]
