"""What a run has released, as an npz file of arrays with a JSON description beside them.

The description holds the certificate, of which no number is believed: epsilon is computed anew.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments.data import npz as npz_files
from experiments.data.outside_files import json_object, user_path
from experiments.errors import InputError
from experiments.runs.folder import npz_bytes
from experiments.runs.release_log import ReleaseLog
from experiments.runs.stored_certificate import checked_form
from jaxdp.methods.stored import Form, Stored
from jaxdp.privacy import certificates
from jaxdp.privacy.ledger import FLOAT32_NOISE, OLD_NOISE

_META = "meta"


def write(log: ReleaseLog, name: str, form: Form, stored: Stored[Any]) -> None:
    """Write a release with everything that is needed to use it, once.

    Args:
        log: of the run; the file is noted before it can be seen.
        name: of the file.
        form: how such a release is kept.
        stored: the release.
    """
    arrays = {
        key: np.asarray(array)
        for key, array in stored.released._asdict().items()
        if array is not None
    }
    meta = {
        form.options_key: dataclasses.asdict(stored.options),
        "example_shape": list(stored.example_shape),
        "certificate": stored.certificate,
    }
    if stored.schema is not None:
        meta["schema"] = stored.schema
    text = json.dumps(meta, allow_nan=False)
    log.write(name, npz_bytes(**arrays, **{_META: np.array(text)}))


def read(path: str | Path, form: Form) -> Stored[Any]:
    """Read a release.

    Raises:
        InputError: there is no such file, or it is not what its flag asks for.
    """
    source = f"--{form.flag}={path}"
    try:
        return _read(path, form, source)
    except FileNotFoundError as error:
        raise InputError(f"{source}: there is no such file") from error
    except KeyError as error:
        raise InputError(f"{source}: is not {form.what} (it lacks {error.args[0]})") from error
    except InputError:
        raise
    except (ValueError, TypeError) as error:
        raise InputError(f"{source}: is not {form.what} ({error})") from error


def _read(path: str | Path, form: Form, source: str) -> Stored[Any]:
    arrays = npz_files.load(user_path(path, form.flag))
    if _META not in arrays:
        raise ValueError(f"it lacks {_META}")
    meta = json_object(str(arrays.pop(_META)))
    for name, array in arrays.items():
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{name} is not finite")
    released = form.from_arrays(arrays)
    old_noise = FLOAT32_NOISE if arrays.keys() & set(form.float32_arrays) else OLD_NOISE
    options = form.options(**{**form.untold, **meta[form.options_key]})
    for field in dataclasses.fields(options):
        if getattr(options, field.name) is None:
            raise ValueError(f"it does not say {field.name}")
    return Stored(
        released=released,
        options=options,
        example_shape=tuple(meta["example_shape"]),
        num_classes=released.num_classes,
        certificate=certificates.recertified(
            checked_form(meta["certificate"]), old_noise=old_noise
        ),
        source=source,
        schema=meta.get("schema"),
    )
