"""The files of a finished run, or of `made.save`, each checked before it is used."""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxdp.methods.record import CERTIFICATE, CONFIG
from jaxdp.methods.settings import InputError
from jaxdp.methods.stored import Form
from jaxdp.saved import certificate as certificate_file
from jaxdp.saved import npz as npz_files
from jaxdp.saved import released
from jaxdp.saved.files import digest, json_file, open_plain


class SavedFolder:
    """The folder of a finished run. A file is used only if its certificate names its digest.

    Attributes:
        path: path of the folder.
        flag: the flag that names the folder, with its value, for error messages.
        certificate: the facts of the certificate, computed again.
        config: content of config.json.
    """

    def __init__(self, path: Path, flag: str) -> None:
        """Read the certificate and config.json.

        Raises:
            InputError: the run has not finished, or its files cannot be trusted.
        """
        self.path, self.flag = path, flag
        self.certificate = certificate_file.of_run(path, flag, wanted="a run")
        digests = self.certificate.get("sha256")
        if not isinstance(digests, dict):
            raise InputError(
                f"{flag}: has not finished; give the run --resume, or name another (its "
                f"{CERTIFICATE} names no files)"
            )
        self.digests: Mapping[str, Any] = digests
        self.config = self._config()

    def _config(self) -> dict[str, Any]:
        try:
            config = json_file(self.path / CONFIG)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(
                f"{self.flag}: its {CONFIG} cannot be read ({reason}); it may leave with the "
                "other files, and says how to use them"
            ) from error
        if config.get("ledger") not in (None, self.certificate["ledger"]):
            raise InputError(f"{self.flag}: {CONFIG} and {CERTIFICATE} are of different runs")
        return config

    def has(self, name: str) -> bool:
        """Return whether the certificate names a file."""
        return name in self.digests

    def is_there(self, name: str) -> bool:
        """Return whether the certificate names a file, and it is in the folder."""
        return self.has(name) and (self.path / name).exists()

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """Return the arrays of a file.

        Raises:
            InputError: the file is gone, or another one than the certificate names.
            ValueError: the file cannot be read.
        """
        return npz_files.load(self.checked(name))

    def released(self, name: str, form: Form) -> Any:
        """Return the release in a file, with its options.

        Raises:
            InputError: the file is gone, or of another release.
        """
        stored = released.read(self.checked(name), form, f"{self.flag}: {name}")
        if stored.certificate["ledger"] != self.certificate["ledger"]:
            raise InputError(f"{self.flag}: {CERTIFICATE} and {name} are of different releases")
        return stored

    def checked(self, name: str) -> Path:
        """Return the path of a file, once its digest is the one in the certificate.

        Raises:
            InputError: the file is gone, or another one than the certificate names.
        """
        path = self.path / name
        with self._readable(name):
            found = digest(path)
        self._require(name, found)
        return path

    def content(self, name: str) -> bytes:
        """Return the content of a file; errors as for `checked`.

        It is read once: what is returned is what has the digest.
        """
        with self._readable(name), open_plain(self.path / name) as file:
            content = file.read()
        self._require(name, hashlib.sha256(content).hexdigest())
        return content

    @contextlib.contextmanager
    def _readable(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(
                f"{self.flag}: {name} cannot be read ({error.strerror}); put it back"
            ) from error

    def _require(self, name: str, found: str) -> None:
        if found != self.digests.get(name):
            raise InputError(
                f"{self.flag}: {name} is not the file that {CERTIFICATE} is about; put that back"
            )
