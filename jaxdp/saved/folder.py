"""The files of a finished run, or of `made.save`, each checked before it is used."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxdp.methods.record import CERTIFICATE, CONFIG
from jaxdp.methods.settings import InputError
from jaxdp.methods.stored import Form
from jaxdp.saved import certificate as certificate_file
from jaxdp.saved import npz as npz_files
from jaxdp.saved import released
from jaxdp.saved.files import digest, json_file


class SavedFolder:
    """A folder whose files are those that its certificate is about.

    Attributes:
        path: of it.
        flag: that names it, with its value.
        certificate: its facts, computed anew.
        config: content of config.json.
    """

    def __init__(self, path: Path, flag: str) -> None:
        """Read what tells of the files, and none of them.

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
        """Whether the run has finished with such a file."""
        return name in self.digests

    def is_there(self, name: str) -> bool:
        """Whether it has, and the file was passed on."""
        return self.has(name) and (self.path / name).exists()

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """Return the arrays of a file.

        Raises:
            InputError: it is gone or another one.
            ValueError: it cannot be read.
        """
        return npz_files.load(self.checked(name))

    def released(self, name: str, form: Form) -> Any:
        """Return what was released, with its options.

        Raises:
            InputError: it is gone, another one, or of another release.
        """
        stored = released.read(self.checked(name), form, f"{self.flag}: {name}")
        if stored.certificate["ledger"] != self.certificate["ledger"]:
            raise InputError(f"{self.flag}: {CERTIFICATE} and {name} are of different releases")
        return stored

    def checked(self, name: str) -> Path:
        """Return the path of a file that is the one that the certificate is about.

        Raises:
            InputError: it is gone or another one.
        """
        path = self.path / name
        try:
            found = digest(path)
        except OSError as error:
            raise InputError(
                f"{self.flag}: {name} cannot be read ({error.strerror}); put it back"
            ) from error
        if found != self.digests[name]:
            raise InputError(
                f"{self.flag}: {name} is not the file that {CERTIFICATE} is about; put that back"
            )
        return path
