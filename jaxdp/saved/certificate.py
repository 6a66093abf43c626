"""The certificate in the folder of a run."""

from pathlib import Path
from typing import Any

from jaxdp.methods.settings import InputError
from jaxdp.privacy.stored_certificates import recertified
from jaxdp.saved.files import json_file


def of_run(path: Path, flag: str, *, wanted: str) -> dict[str, Any]:
    """Return the certificate in the folder of a run, computed again from its ledger.

    Args:
        path: path of the folder.
        flag: the flag that names the folder, with its value, for error messages.
        wanted: which run it should be the folder of, such as "a run", for error messages.

    Raises:
        InputError: the folder has none, or its words contradict its numbers.
    """
    try:
        return recertified(json_file(path / "privacy.json"))
    except FileNotFoundError as error:
        raise InputError(
            f"{flag}: has no privacy.json; name a folder in which {wanted} has finished"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(
            f"{flag}: its privacy.json cannot be trusted ({error}); start a new run"
        ) from error
