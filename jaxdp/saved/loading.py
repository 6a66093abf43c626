"""What a run or `made.save` has left in a folder, to be looked at and used: `jaxdp.load`."""

import contextlib
import functools
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxdp.data import Spec, TableCodec
from jaxdp.escapes import for_terminal
from jaxdp.methods import facts
from jaxdp.methods.made import Classifier
from jaxdp.methods.settings import InputError
from jaxdp.privacy.certificates import Certificate
from jaxdp.saved import classifier, public_cache, sets, zips
from jaxdp.saved.folder import SavedFolder

if TYPE_CHECKING:
    import pandas as pd


class Loaded:
    """What a folder holds. Files are checked when they are read, the classifier is made when used.

    Attributes:
        spec: public facts about the data that it was made from.
        certificate: of everything in it; computed anew from what was released.
    """

    def __init__(self, folder: SavedFolder) -> None:
        """Read the facts about the data.

        Raises:
            InputError: they are not there.
        """
        self.folder = folder
        self.certificate = Certificate(folder.certificate)
        with self._refused():
            self.spec: Spec = facts.from_config(folder.config)

    @contextlib.contextmanager
    def _refused(self) -> Iterator[None]:
        """Turn whatever is wrong with files into one line."""
        flag = self.folder.flag
        try:
            yield
        except KeyError as error:
            raise InputError(
                f"{flag}: its files lack {error.args[0]}; start a new run"
            ) from None  # what was raised may quote a file as it is
        except InputError:
            raise
        except (TypeError, ValueError) as error:
            raise InputError(f"{flag}: cannot be used ({error})") from None

    @functools.cached_property
    def made(self) -> sets.SavedSet | None:
        """The labelled set; None where its file was not passed on."""
        with self._refused():
            return sets.read(self.folder, self.spec)

    @property
    def x(self) -> np.ndarray | None:
        """The examples (m, *shape) in the units of the data; records of a table as stored."""
        return None if self.made is None else self.made.x

    @property
    def y(self) -> np.ndarray | None:
        """Their classes (m,), numbers of `class_names`."""
        return None if self.made is None else self.made.y

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, in the order of their numbers."""
        return self.spec.class_names if self.made is None else self.made.class_names

    @property
    def frame(self) -> "pd.DataFrame":
        """The set as a data frame with the columns of its schema.

        Raises:
            ValueError: it is no table with a schema, or was not passed on.
        """
        if self.made is None:
            raise ValueError(f"{self.folder.flag}: its set was not passed on")
        labels = self.made.y if len(self.class_names) > 1 else None
        return self.spec.kind.frame(self.made.x, labels, self.spec)

    @functools.cached_property
    def _classifier(self) -> tuple[Classifier, str]:
        with self._refused():
            return classifier.classifier(self.folder, self.spec, public_cache.cached)

    @property
    def classifier(self) -> Classifier:
        """The classifier that was released: a teacher, kernel ridge regression, or one trained now.

        Raises:
            SettingsError: there is none, or its files cannot be trusted.
        """
        return self._classifier[0]

    @property
    def about(self) -> str:
        """What `classifier` is, in a line."""
        return self._classifier[1]

    def predict(self, x: Any) -> np.ndarray:
        """Return the classes (m,) of new examples, numbers of `class_names`.

        Args:
            x: (m, *shape) as the data were stored; records of a table may be a data frame.

        Raises:
            ValueError: they are not what the data were.
        """
        return self.classifier.predict(self._checked(x))

    def predict_proba(self, x: Any) -> np.ndarray:
        """Return the probabilities (m, c) of the classes; as for `predict`."""
        return self.classifier.predict_proba(self._checked(x))

    def _checked(self, x: Any) -> np.ndarray:
        """Return new examples as stored, of the type and in the range of the data."""
        spec, codec = self.spec, self.spec.codec
        x = spec.kind.as_stored(x, spec)
        if x.dtype.kind not in "iuf" or not np.all(np.isfinite(x)):
            raise ValueError("x has values that are no finite numbers")
        if isinstance(codec, TableCodec):
            if x.shape[1:] != spec.stored_shape or not np.array_equal(x, codec.layout.nearest(x)):
                raise ValueError("x holds no records as the schema stores them: give a data frame")
            return x
        outside = x.size > 0 and (np.min(x) < codec.low or np.max(x) > codec.high)
        said = f"x has values outside [{codec.low:g}, {codec.high:g}], the range of the data"
        if codec.is_whole and (outside or not np.array_equal(x, np.rint(x))):
            raise ValueError(
                f"{said}; scale it as these were"
                if outside
                else f"x has fractions, and the data were stored as {codec.dtype} from "
                f"{codec.low:g} to {codec.high:g}; scale it as these were"
            )
        if outside:  # floats may overshoot a little
            warnings.warn(f"{said}; scale it as these were", stacklevel=3)
        return x

    def __repr__(self) -> str:
        """Show what it holds, in a line."""
        held = "no set" if self.made is None else f"{len(self.made.x)} examples"
        return f"Loaded({held} of {for_terminal(self.spec.name)}, {self.certificate!r})"


def opened(path: Path, flag: str) -> Loaded:
    """Return what a folder holds; files of examples are read when they are asked for.

    Args:
        path: of the folder, or of a zip file that `jaxdp pack` has written.
        flag: that names it, with its value, for messages.

    Raises:
        InputError: it cannot be trusted.
    """
    return Loaded(SavedFolder(zips.folder_of(path, flag), flag))


def load(folder: str | os.PathLike[str]) -> Loaded:
    """Return what a run, or `made.save`, has left in a folder. No private data are needed.

    Every file that was passed on has to be the one that `privacy.json` is about. The certificate is
    computed anew from the numbers of what was released, and no other number of it is believed. It
    is not signed: take a folder from somebody you trust.

    A teacher's classifier needs public arrays that take a minute to compute. They are kept in the
    user's cache folder, as those of runs are.

    Args:
        folder: or a zip file that `jaxdp pack` has written. It has `privacy.json`, `config.json`
            and at least one npz file of what was made.

    Raises:
        SettingsError: there is no such folder, the run has not finished, or its files cannot be
            trusted; the message is one line.
    """
    flag = f"load({os.fspath(folder)!r})"
    try:
        path = Path(folder).expanduser()
    except RuntimeError as error:
        raise InputError(f"{flag}: there is no such home folder; write it in full") from error
    try:
        loaded = opened(path, flag)
        for name in loaded.folder.digests:
            if loaded.folder.is_there(name):
                loaded.folder.checked(name)
        _ = loaded.made  # whatever is wrong with it is said now
    except InputError as error:  # without what it was made from, which quotes files as they are
        raise InputError(str(error)) from None
    return loaded
