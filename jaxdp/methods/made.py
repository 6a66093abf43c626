"""The result of a method, `Made`: a labelled set and a classifier, to look at, use and save."""

import dataclasses
import html
import io
import json
import shutil
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxdp import new_files
from jaxdp.data import Spec, TableCodec, hints
from jaxdp.methods import card, warned

if TYPE_CHECKING:
    import pandas as pd

_CERTIFICATE, _GENERATOR = "privacy.json", "generator"
QUALITY = "quality.json"
"""How far a set is from the private data, with noise."""
# How many examples of a class a notebook shows, about how large, and how far apart.
_SHOWN, _PIXELS, _GAP = 10, 48, 2


def _as_they_are(rows: np.ndarray, what: str) -> np.ndarray:
    del what
    return rows


class Classifier:
    """A released classifier with the methods of one of scikit-learn.

    It takes examples as the data were stored: images in their own units, rows of numbers, or a data
    frame with the records of a table. Its scores are `scores(features(rows, what))`: keep the
    features to look at several classifiers of one map.

    Examples:
        >>> import numpy as np
        >>> import jaxdp
        >>> from jaxdp.methods.made import softmax
        >>> spec = jaxdp.Spec.rows("points", (100, 1), class_names=["left", "right"])
        >>> classifier = jaxdp.methods.Classifier(spec, lambda x: np.hstack([-x, x]), softmax)
        >>> x = np.array([[-0.5], [0.8]])
        >>> classifier.predict(x), classifier.predict_proba(x).round(2).tolist()
        (array([0, 1]), [[0.73, 0.27], [0.17, 0.83]])
        >>> classifier.score(x, np.array([0, 0]))
        0.5
    """

    def __init__(
        self,
        spec: Spec,
        scores_fn: Callable[[np.ndarray], np.ndarray],
        probabilities_fn: Callable[[np.ndarray], np.ndarray],
        features_fn: Callable[[np.ndarray, str], np.ndarray] = _as_they_are,
    ) -> None:
        """Build a classifier from its functions.

        Args:
            spec: facts about the data.
            scores_fn: maps features (m, p) to scores (m, c).
            probabilities_fn: maps scores (m, c) to probabilities (m, c).
            features_fn: maps examples as rows (m, d), and the name of a progress bar, to features.
        """
        self._spec, self._probabilities = spec, probabilities_fn
        self.features, self.scores = features_fn, scores_fn
        self.classes_ = np.arange(spec.num_classes)

    def decision_function(self, x: Any) -> np.ndarray:
        """Return the scores (m, c) of examples (m, *shape) as stored.

        Raises:
            ValueError: the examples have another shape than the data, or hold no finite numbers.
        """
        given = x
        x = self._spec.kind.as_stored(given, self._spec)
        warned.warn(warned.of_new(given, self._spec), said=set(), stacklevel=2)
        hints.require_example_shape(x, self._spec.stored_shape)
        if x.dtype.kind not in "biuf" or not np.all(np.isfinite(x)):
            raise ValueError("x has values that are no finite numbers")
        return np.asarray(self.scores(self.features(x.reshape(len(x), -1), "features")))

    def predict(self, x: Any) -> np.ndarray:
        """Return the classes (m,) of examples as stored."""
        return np.argmax(self.decision_function(x), axis=1)

    def predict_proba(self, x: Any) -> np.ndarray:
        """Return the probabilities (m, c) of the classes."""
        return self.probabilities(self.decision_function(x))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities (m, c) of scores (m, c) from `decision_function`."""
        return np.asarray(self._probabilities(scores))

    def score(self, x: Any, y: np.ndarray) -> float:
        """Return the accuracy: the part of the examples whose class is predicted, in [0, 1].

        Raises:
            ValueError: labels are not one whole number for each example.
        """
        y = np.asarray(y)
        hints.require_labels(y, len(x))
        return float(np.mean(self.predict(x) == y))


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return the probabilities of logits (m, c)."""
    powers = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return powers / np.sum(powers, axis=1, keepdims=True)


def shares(scores: np.ndarray) -> np.ndarray:
    """Return the one-hot vectors of a regression's labels (m, c), or what they have been moved to.

    `1 / c` is added back, negative scores are cut off, and each row is divided by its sum.
    """
    parts = np.maximum(scores + 1 / scores.shape[1], 1e-6)
    return parts / np.sum(parts, axis=1, keepdims=True)


def from_regression(scores: np.ndarray) -> np.ndarray:
    """Return probabilities from the scores (m, c) of a regression that no teacher has scaled.

    Its labels are centred one-hot vectors, and noise pulls its scores to 0: they are divided by
    `0.4 c^-0.7` before softmax. That is of trials with two and with ten classes, at epsilon 1, 8 or
    10 and without noise: the best divisor of each was .6 to 1.5 times it.
    """
    return softmax(scores * (scores.shape[1] ** 0.7 / 0.4))


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Made:
    """A made set: labelled examples, distilled or generated. Its certificate says who may have it.

    Attributes:
        spec: facts about the private data.
        x: (m, *shape) examples in the units of the data; records of a table as stored.
        y: (m,) classes of the examples, numbers of `class_names`.
        class_names: names of the classes; a single one where the method ignored the labels.
        rows: (m, d) float32, the same examples on the scale of the method's own classifier.
        shift: `rows = (x - shift) / scale`.
        scale: see `shift`.
        arrays: the arrays of its file, by name.
        name: name of its file, without the ending.
        soft_labels: (m, c) probabilities of the classes, to train networks on; None where the
            method makes none.
        classifier: the released teacher, or kernel ridge regression on the set; None where the
            method makes none.
        generator: draws more examples; None for a distilled set.
        released: the teacher or embedding that the set was made from. The certificate covers it.
        quality: how far the set is from the private data, with noise, in JSON's types; None where
            no part of the budget was spent on that. The certificate covers it.
        beside: `(made, folder, files) -> more files`: what `save` writes beside the set's own
            files.

    Examples:
        >>> import numpy as np
        >>> import jaxdp
        >>> from jaxdp.methods.made import distilled
        >>> spec = jaxdp.Spec.images("scans", (60, 8, 8), class_names=["no", "yes"])
        >>> rows = np.zeros((2, 64), np.float32)  # 0 is grey, 127.5 in the units of the data
        >>> made = distilled(spec, rows, np.array([0, 1]), shift=127.5, scale=127.5)
        >>> made
        Made(2 examples of 2 classes, scans)
        >>> made.x.shape, float(made.x.max()), made.y.tolist()
        ((2, 8, 8, 1), 127.5, [0, 1])
        >>> made.save("released").name
        'distilled.npz'
    """

    spec: Spec
    x: np.ndarray
    y: np.ndarray
    class_names: tuple[str, ...]
    rows: np.ndarray
    shift: float
    scale: float
    arrays: dict[str, np.ndarray | np.generic]
    name: str
    soft_labels: np.ndarray | None = None
    classifier: Classifier | None = None
    generator: Any = None
    released: Any = None
    quality: Mapping[str, Any] | None = None
    beside: Callable[["Made", Path, Mapping[str, bytes]], Mapping[str, bytes]] | None = None

    def scaled(self, x: np.ndarray) -> np.ndarray:
        """Return examples as stored on the scale of `rows`. Their shape stays."""
        if isinstance(self.spec.codec, TableCodec):
            return self.spec.codec.to_unit(x)
        return (x.astype(np.float32) - np.float32(self.shift)) / np.float32(self.scale)

    @property
    def frame(self) -> "pd.DataFrame":
        """The set as a data frame with the columns of its schema.

        Raises:
            ValueError: the data are no table with a schema.
        """
        labels = self.y if len(self.class_names) > 1 else None  # one class: labels were not used
        return self.spec.kind.frame(self.x, labels, self.spec)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the set into a folder, and return the path of its file.

        Images become an npz file. A table with a schema becomes a CSV file, beside an npz file of
        its rows. A set that `jaxdp.run` has made also gets the files that `jaxdp.load` needs: the
        release, `config.json` and `privacy.json`, and a card, `README.md`, unless the folder has a
        README of yours.

        Args:
            folder: where to write; it is made if it does not exist.
            overwrite: whether to remove another result from the folder.

        Raises:
            ValueError: the folder holds another result, or a file of yours by a name that is to be
                written, and `overwrite` is False.

        Guarantee:
            No file that another certificate in the folder names stays beside this one.
        """
        place = Path(folder).expanduser()
        if place.exists() and not place.is_dir():
            raise ValueError(f"{place}: is a file; name a folder")
        place.mkdir(parents=True, exist_ok=True)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **self.arrays)
        files = {f"{self.name}.npz": buffer.getvalue()}
        if self.spec.schema is not None:
            files[f"{self.name}.csv"] = self.spec.schema.csv.encode(self.to_csv())
        if self.quality is not None:
            files[QUALITY] = (json.dumps(self.quality, indent=2) + "\n").encode()
        beside = {} if self.beside is None else self.beside(self, place, files)
        content_by_name = {**files, **beside}
        others = _of_another_result(place, content_by_name.get(_CERTIFICATE))
        taken = _not_ours(place, content_by_name)
        if (others or taken) and not overwrite:
            what = "another result" if others else f"{taken[0]}, which is another one"
            raise ValueError(
                f"{place}: holds {what}; save into a new folder, or say overwrite=True"
            )
        for path in others:  # the certificate last: who is stopped here finds the others by it
            shutil.rmtree(path) if path == place / _GENERATOR else path.unlink()
        for name, content in content_by_name.items():
            new_files.write(place / name, content)
        is_table = self.spec.schema is not None
        return place / f"{self.name}.{'csv' if is_table else 'npz'}"

    def to_csv(self) -> str:
        """Return a table as the text of a CSV file."""
        from jaxdp.tables import frames

        frame, schema = self.frame, self.spec.schema
        assert schema is not None
        return frames.to_csv(frame, schema)

    def __repr__(self) -> str:
        """Show how many examples of how many classes."""
        return f"Made({len(self.x)} examples of {len(self.class_names)} classes, {self.spec.name})"

    def _repr_html_(self) -> str:
        """Show the first examples of every class, in a notebook."""
        show = self.spec.kind.choose(
            images=self._html_of_images, rows=self._html_of_rows, table=self._html_of_table
        )
        return f"<p>{html.escape(repr(self))}</p>{show()}"

    def _html_of_rows(self) -> str:
        return ""

    def _html_of_table(self) -> str:
        return str(self.frame.head(_SHOWN).to_html(index=False))

    def _html_of_images(self) -> str:
        picture = b64encode(self._picture()).decode("ascii")
        return f'<img alt="examples of every class" src="data:image/png;base64,{picture}">'

    def _picture(self) -> bytes:
        from PIL import Image  # not before something is shown

        rows = [self.x[self.y == label][:_SHOWN] for label in range(len(self.class_names))]
        across = max(map(len, rows))
        height, width, channels = self.spec.image_shape
        grid = np.full((len(rows), across, height, width, channels), 255, np.uint8)
        codec = self.spec.codec
        for number, images in enumerate(rows):
            unit = np.clip((images - codec.low) / (codec.high - codec.low), 0, 1)
            grid[number, : len(images)] = np.rint(255 * unit)
        enlarge = max(1, _PIXELS // max(height, width))
        grid = grid.repeat(enlarge, axis=2).repeat(enlarge, axis=3)
        gaps = ((0, 0), (0, 0), (_GAP, _GAP), (_GAP, _GAP), (0, 0))
        grid = np.pad(grid, gaps, constant_values=255)
        page = grid.transpose(0, 2, 1, 3, 4).reshape(-1, across * grid.shape[3], channels)
        buffer = io.BytesIO()
        Image.fromarray(page[..., 0] if channels == 1 else page[..., :3]).save(buffer, "PNG")
        return buffer.getvalue()


def relabelled(
    made: Made, x: np.ndarray, probabilities: np.ndarray, labels: np.ndarray | None = None
) -> Made:
    """Return a made set with other examples and the labels that a teacher gives them.

    Args:
        made: the set.
        x: (m, *shape) the new examples as stored, as many as before.
        probabilities: (m, c) the teacher's probabilities of the classes.
        labels: (m,) the classes; None takes the likeliest ones.
    """
    scores = probabilities.astype(np.float32)
    labels = (np.argmax(scores, axis=1) if labels is None else labels).astype(np.int32)
    rows = made.rows if x is made.x else made.scaled(x).reshape(made.rows.shape)
    arrays = made.arrays | {"x": x, "y": labels, "y_scores": scores}
    return dataclasses.replace(made, x=x, y=labels, rows=rows, arrays=arrays, soft_labels=scores)


def with_soft_labels(made: Made, soft: np.ndarray) -> Made:
    """Return a distilled set to which probabilities (m, c) of the classes are added."""
    soft = soft.astype(np.float32)
    return dataclasses.replace(made, arrays=made.arrays | {"y_soft": soft}, soft_labels=soft)


def with_packed(made: Made, packed: np.ndarray) -> Made:
    """Return a distilled set to which packed images (m, d) are added.

    A packed image holds several small ones, on the scale of `rows`. The examples of the set are the
    small ones, enlarged.
    """
    images = packed.reshape(-1, *made.spec.shape)
    return dataclasses.replace(made, arrays=made.arrays | {"packed": images})


def with_arrays(made: Made, **arrays: np.ndarray | None) -> Made:
    """Return a made set whose file has more arrays; those that are None are left out."""
    more = {name: each for name, each in arrays.items() if each is not None}
    return dataclasses.replace(made, arrays={**made.arrays, **more})


def distilled(
    spec: Spec,
    rows: np.ndarray,
    labels: np.ndarray,
    *,
    shift: float,
    scale: float,
    classifier: Classifier | None = None,
    y_scores: np.ndarray | None = None,
) -> Made:
    """Return a distilled set.

    Args:
        spec: facts about the data.
        rows: (m, d) float32 examples on the scale of the classifier.
        labels: (m,) integers, the classes.
        shift: `rows = (stored - shift) / scale`.
        scale: see `shift`.
        classifier: the method's own classifier; None where it has none.
        y_scores: (m, c) labels for a regression, of a method that may learn them.
    """
    x, labels = rows.reshape(-1, *spec.shape), labels.astype(np.int32)
    table = isinstance(spec.codec, TableCodec)
    scores = {} if y_scores is None else {"y_scores": y_scores}
    return Made(
        spec=spec,
        x=spec.codec.from_unit(rows) if table else x * np.float32(scale) + np.float32(shift),
        y=labels,
        class_names=spec.class_names,
        rows=rows,
        shift=shift,
        scale=scale,
        arrays={
            "x": x,
            "y": labels,
            **scores,
            "class_names": np.array(spec.class_names),
            "shift": np.float32(shift),
            "scale": np.float32(scale),
        },
        name="distilled",
        classifier=classifier,
    )


def _of_another_result(place: Path, certificate: bytes | None) -> list[Path]:
    """Return the files that another certificate in a folder names, and then itself."""
    path = place / _CERTIFICATE
    stored = path.read_bytes() if path.is_file() else certificate
    if stored is None or stored == certificate:
        return []
    try:
        names = json.loads(stored)["sha256"]
    except (ValueError, KeyError, TypeError):
        names = None
    # Somebody else may have written it: of what it names, files of this folder are taken alone.
    names = names if isinstance(names, dict) else {}
    plain = [name for name in names if Path(name).name == name]
    named = [place / name for name in plain if name not in (_CERTIFICATE, _GENERATOR)]
    generator = place / _GENERATOR
    is_there = generator.is_dir() and not generator.is_symlink()
    trained = [generator] if is_there and f"{_GENERATOR}/description.json" in names else []
    return [*(each for each in named if each.is_symlink() or each.is_file()), *trained, path]


def _not_ours(place: Path, content_by_name: Mapping[str, bytes]) -> list[str]:
    """Return the names of other files that would be lost, where no certificate says whose."""
    if (place / _CERTIFICATE).exists():
        return []
    names = (name for name in content_by_name if name != card.NAME)  # which is spared elsewhere
    there = {name: place / name for name in names if (place / name).is_file()}
    return [name for name, path in there.items() if path.read_bytes() != content_by_name[name]]
