"""`jaxdp.load`: open the folder of a run or of `made.save`, to look at its set and to use it."""

import contextlib
import functools
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxdp.data import Spec, TableCodec, hints
from jaxdp.escapes import for_terminal
from jaxdp.methods import facts, warned
from jaxdp.methods.made import Classifier
from jaxdp.methods.runner import PUBLIC_MAP, PlainRunner
from jaxdp.methods.settings import InputError
from jaxdp.methods.steps import Watch
from jaxdp.privacy.promises import Certificate
from jaxdp.saved import classifier, public_cache, seal, sets, zips
from jaxdp.saved.folder import SavedFolder

if TYPE_CHECKING:
    import pandas as pd


class Loaded:
    """The content of a folder that `jaxdp.load` has opened: a made set and its classifier.

    A file is checked when it is read. The classifier is built when it is first used.

    Attributes:
        spec: public facts about the private data.
        certificate: the certificate of everything in the folder, computed again from the numbers
            of the release.
    """

    def __init__(self, folder: SavedFolder, watch: Watch) -> None:
        """Read the facts about the data.

        Args:
            folder: that was opened.
            watch: shows how much of a public array is computed, where none is kept.

        Raises:
            InputError: the folder does not hold them.
        """
        self.folder = folder
        self._cached = functools.partial(public_cache.cached, watch=watch)
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
        """The labelled set; None where its file is not in the folder."""
        with self._refused():
            return sets.read(self.folder, self.spec)

    @property
    def x(self) -> np.ndarray | None:
        """The examples (m, *shape) in the units of the data; records of a table as stored."""
        return None if self.made is None else self.made.x

    @property
    def y(self) -> np.ndarray | None:
        """The classes (m,) of the examples, numbers of `class_names`."""
        return None if self.made is None else self.made.y

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, in the order of their numbers."""
        return self.spec.class_names if self.made is None else self.made.class_names

    @property
    def frame(self) -> "pd.DataFrame":
        """The set as a data frame with the columns of its schema.

        Raises:
            ValueError: the data are no table with a schema, or the set is not in the folder.
        """
        if self.made is None:
            raise ValueError(f"{self.folder.flag}: its set was not passed on")
        labels = self.made.y if len(self.class_names) > 1 else None
        return self.spec.kind.frame(self.made.x, labels, self.spec)

    @functools.cached_property
    def _classifier(self) -> tuple[Classifier, str]:
        with self._refused():
            return classifier.classifier(self.folder, self.spec, self._cached)

    @property
    def classifier(self) -> Classifier:
        """The classifier of the folder.

        It is the released teacher, kernel ridge regression on a distilled set, or a logistic
        regression that is trained now on a generated set.

        Raises:
            SettingsError: the folder has none, or its files cannot be trusted.
        """
        return self._classifier[0]

    @property
    def about(self) -> str:
        """A line that says which classifier `classifier` is."""
        return self._classifier[1]

    def predict(self, x: Any) -> np.ndarray:
        """Return the classes (m,) of new examples, numbers of `class_names`.

        Args:
            x: (m, *shape) examples as the data were stored, or of the set itself, as `x` has them;
                a data frame for records of a table.

        Raises:
            ValueError: the examples have another shape, type or range than the data.
        """
        x = self._checked(x)  # before a classifier is made, which may take a minute
        return self.classifier.predict(x)

    def predict_proba(self, x: Any) -> np.ndarray:
        """Return the probabilities (m, c) of the classes. Arguments and errors as for `predict`."""
        x = self._checked(x)
        return self.classifier.predict_proba(x)

    def _checked(self, x: Any) -> np.ndarray:
        """Return new examples as stored, of the type and in the range of the data."""
        spec, codec = self.spec, self.spec.codec
        given, x = x, self._as_array(x)
        warned.warn(warned.of_new(given, spec), said=set(), stacklevel=3)
        if x.dtype == object:
            raise ValueError("x is no array of numbers: give examples as the data were stored")
        if x.dtype.kind not in "iuf" or not np.all(np.isfinite(x)):
            raise ValueError("x has values that are no finite numbers")
        if self._are_own(x):
            return x
        if isinstance(codec, TableCodec):
            if x.shape[1:] != spec.stored_shape or not np.array_equal(x, codec.layout.nearest(x)):
                raise ValueError("x holds no records as the schema stores them: give a data frame")
            return x
        hints.require_example_shape(x, spec.stored_shape, self._reads)
        outside = x.size > 0 and (np.min(x) < codec.low or np.max(x) > codec.high)
        said = f"x has values outside [{codec.low:g}, {codec.high:g}], the range of the data"
        if codec.is_whole and outside:
            raise ValueError(f"{said}; scale it as these were")
        is_scaled = self._looks_scaled(x)
        if is_scaled:
            said = f"x has fractions up to {np.max(x):g} alone, and the data go to {codec.high:g}"
        if outside or is_scaled:  # floats may overshoot a little
            warnings.warn(f"{said}; scale it as these were", stacklevel=3)
        return x

    def _looks_scaled(self, x: np.ndarray) -> bool:
        """Whether examples seem to lie from 0 to 1 where data that are stored whole do not.

        Fractions alone say nothing: data of floats may be declared to go from 0 to 255.
        """
        codec = self.spec.codec
        if isinstance(codec, TableCodec) or not codec.is_whole or codec.high <= 1:
            return False
        return bool(np.min(x) >= 0 and np.max(x) <= 1 and not np.array_equal(x, np.rint(x)))

    @property
    def _reads(self) -> str:
        """What takes files of images, for errors about examples of images."""
        reads = (
            "; `jaxdp classify` reads files of images, and resizes them as those of the run were"
        )
        return self.spec.kind.choose(images=reads, rows="", table="")

    def _as_array(self, x: Any) -> np.ndarray:
        """Return new examples as an array, which names of files are not."""
        try:
            found = self.spec.kind.as_stored(x, self.spec)
        except ValueError as error:
            if not isinstance(x, list | tuple):
                raise
            each = f"each has {self.spec.stored_shape}"
            raise ValueError(
                f"x has examples of different shapes, and {each}{self._reads}"
            ) from error
        if found.dtype.kind in "SU" or any(isinstance(one, os.PathLike) for one in found.flat[:1]):
            raise ValueError(
                f"x has texts: give arrays of examples as the data were stored{self._reads}"
            )
        return found

    def _are_own(self, x: np.ndarray) -> bool:
        """Whether all of x are examples of the set: their scale is right, whatever they look like.

        A distilled image has fractions and values that no image of the data can have.
        """
        if self.made is None or x.ndim == 0 or x.shape[1:] != self.made.x.shape[1:]:
            return False
        same = x.astype(self.made.x.dtype)
        return np.array_equal(same, x) and all(each.tobytes() in self._own for each in same)

    @functools.cached_property
    def _own(self) -> frozenset[bytes]:
        assert self.made is not None
        return frozenset(example.tobytes() for example in self.made.x)

    def __repr__(self) -> str:
        """Show the number of examples and the certificate, in a line."""
        held = "no set" if self.made is None else f"{len(self.made.x)} examples"
        return f"Loaded({held} of {for_terminal(self.spec.name)}, {self.certificate!r})"


def opened(path: Path, flag: str, *, watch: Watch | None = None) -> Loaded:
    """Open a folder. Its files of examples are read later, when they are used.

    Args:
        path: path of the folder, or of a zip file that `jaxdp pack` has written.
        flag: the flag that names the folder, with its value, for error messages.
        watch: as for `Loaded`; None shows a bar where somebody looks on.

    Raises:
        InputError: the folder cannot be trusted, or a zip file holds what has no digest.
    """
    packed = zips.is_packed(path)
    place = zips.folder_of(path, flag)
    try:
        folder = SavedFolder(place, flag)
        seal.check(folder, every=packed)
        if packed:
            seal.require_whole(folder, packed=True)
    except InputError:
        if packed:
            zips.remove(place)
        raise
    if watch is None:
        watch = PlainRunner(progress=sys.stderr.isatty()).watched(PUBLIC_MAP)
    return Loaded(folder, watch)


def load(folder: str | os.PathLike[str]) -> Loaded:
    """Open a folder that a run or `made.save` has written. You need no private data.

    Each file in the folder must have the digest that `privacy.json` has of it. The certificate is
    computed again from the numbers of the release; no other number of it is believed. It is not
    signed, so take a folder only from somebody you trust.

    The classifier of a teacher needs public arrays, which take a minute to compute the first time.
    Later they come from the user's cache folder.

    Args:
        folder: path of the folder, or of a zip file that `jaxdp pack` has written. It holds
            `privacy.json`, `config.json` and at least one npz file of a made set or a release.

    Raises:
        SettingsError: there is no such folder, the run has not finished, or its files cannot be
            trusted. The message is one line.

    Examples:
        >>> import jaxdp
        >>> import numpy as np
        >>> x, y = np.random.default_rng(0).random((60, 8, 8)), np.arange(60) % 2
        >>> spec = jaxdp.Spec.images("scans", x.shape, class_names=["no", "yes"], low=0, high=1)
        >>> kip = jaxdp.methods.dp_kip
        >>> settings = kip.Settings(ipc=3, eps=2.0, steps=2, batch_size=60)
        >>> made, _ = jaxdp.run(kip, settings, spec, jaxdp.Private(x, y), progress=False)
        >>> path = made.save("shared")
        >>> loaded = jaxdp.load("shared")
        >>> loaded
        Loaded(6 examples of scans, Certificate(epsilon=2, delta=1e-05, releasable=True))
        >>> loaded.class_names, loaded.predict(x[:5]).shape
        (('no', 'yes'), (5,))
    """
    flag = f"load({os.fspath(folder)!r})"
    try:
        path = Path(folder).expanduser()
    except RuntimeError as error:
        raise InputError(f"{flag}: there is no such home folder; write it in full") from error
    if path.is_file() and path.suffix != zips.SUFFIX:
        raise InputError(
            f"{flag}: is a file; give the folder that a run or made.save has written, or the zip "
            "file that `jaxdp pack` has made of it"
        )
    try:
        loaded = opened(path, flag)
        seal.check(loaded.folder, every=True)
        for name in loaded.folder.digests:
            if loaded.folder.is_there(name):
                loaded.folder.checked(name)
        _ = loaded.made  # whatever is wrong with it is said now
    except InputError as error:  # without what it was made from, which quotes files as they are
        raise InputError(str(error)) from None
    return loaded
