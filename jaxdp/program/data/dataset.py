"""A labelled dataset as plain arrays, with public facts that methods are given of it."""

import dataclasses

import numpy as np

from jaxdp.data import Codec, Private, Spec, TableCodec


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """A labelled dataset with a train and a test split; x as stored (whole numbers or floats).

    `counted_classes` says that nobody declared how many classes there are: the labels were counted.
    `preparation` says what was done to every image by itself, `notes` are lines for the terminal.
    `records_per_person` says how many training records of a person there are at most,
    `persons_declared` that somebody has declared it. `names` tells training records apart where
    their places depend on what others are, as in a folder that is sorted by class and name. What
    methods are given of it are `spec`, public facts, and `private`, the training split.
    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    class_names: tuple[str, ...]
    codec: Codec | TableCodec
    source: str
    counted_classes: bool = False
    preparation: str | None = None
    notes: tuple[str, ...] = ()
    records_per_person: int = 1
    persons_declared: bool = False
    names: np.ndarray | None = None

    @property
    def spec(self) -> Spec:
        """The public facts: (h, w, channels) is the shape of an image, (d,) that of a row."""
        if isinstance(self.codec, TableCodec):
            layout = self.codec.layout
            table = Spec.table(self.name, layout.schema, len(self.x_train), form=layout.form)
            return dataclasses.replace(
                table,
                records_per_person=self.records_per_person,
                persons_declared=self.persons_declared,
            )
        shape = self.x_train.shape[1:]
        return Spec(
            name=self.name,
            kind="image" if len(shape) == 3 else "table",
            shape=shape,
            class_names=self.class_names,
            num_examples=len(self.x_train),
            codec=self.codec,
            counted_classes=self.counted_classes,
            preparation=self.preparation,
            records_per_person=self.records_per_person,
            persons_declared=self.persons_declared,
        )

    @property
    def private(self) -> Private:
        """The training split."""
        return Private(self.x_train, self.y_train)
