"""Reading of a release: an npz file of arrays, with a JSON description among them.

The description holds the certificate, of which no number is believed: epsilon is computed anew.
`jaxdp.methods.record.release_bytes` makes such a file.
"""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from jaxdp.methods.record import META
from jaxdp.methods.settings import InputError
from jaxdp.methods.stored import Form, Stored
from jaxdp.privacy.ledger import FLOAT32_NOISE, OLD_NOISE
from jaxdp.privacy.stored_certificates import recertified
from jaxdp.saved import npz as npz_files
from jaxdp.saved.files import json_object


def read(path: Path, form: Form, source: str) -> Stored[Any]:
    """Read a release.

    Args:
        path: path of the file.
        form: how the method writes its releases.
        source: the flag that names the file, with its value, for error messages.

    Raises:
        InputError: there is no such file, or it holds no such release.
    """
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


def _read(path: Path, form: Form, source: str) -> Stored[Any]:
    arrays = npz_files.load(path)
    if META not in arrays:
        raise ValueError(f"it lacks {META}")
    meta = json_object(str(arrays.pop(META)))
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
        certificate=recertified(_object(meta["certificate"]), old_noise=old_noise),
        source=source,
        schema=meta.get("schema"),
        class_names=_names(meta.get("class_names"), released.num_classes),
    )


def _names(value: Any, num_classes: int) -> tuple[str, ...] | None:
    """Return the names of classes; None where the file tells none, as older ones."""
    if value is None:
        return None
    is_list = isinstance(value, list) and all(isinstance(name, str) for name in value)
    if not is_list or len(value) != num_classes:
        raise ValueError("its class_names are not a name for each of its classes")
    return tuple(value)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("its certificate is no JSON object")
    return value
