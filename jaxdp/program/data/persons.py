"""Persons with several records: whose a record is, how many are used, and test splits of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxdp.privacy.contributions import bounded
from jaxdp.program.data.splits import held_out
from jaxdp.program.errors import InputError


class Persons(NamedTuple):
    """What flags say of persons.

    Attributes:
        most: records of a person that are used at most; None where a record is a person.
        separator: what ends a person's name at the beginning of an image file's.
        column: of a table, that names persons.
        seed: public; chooses which records of a person are used.
    """

    most: int | None = None
    separator: str | None = None
    column: str | None = None
    seed: int = 0

    @property
    def records_per_person(self) -> int:
        """Most records of a person, 1 where a record is a person."""
        return self.most or 1

    def used(self, persons: np.ndarray | None, *, where: str) -> np.ndarray | None:
        """Return the places of the training records to use; None for all.

        Args:
            persons: of each record; None where the data name none.
            where: they are named.

        Raises:
            InputError: persons are named, and nobody says how many records of one are used; a
                name is empty, or they were to be read of names, and are not.

        Guarantee:
            As `jaxdp.privacy.contributions.bounded`.
        """
        if persons is None and self.separator is not None:
            raise InputError(
                f"--person_separator={self.separator}: {where} names no persons; it is for files "
                "of images, leave it out"
            )
        if persons is None:
            return None
        most = self.require_number(where)
        if persons.dtype.kind in "OSU" and any(not str(person).strip() for person in persons):
            raise InputError(
                f"{where} names no person for some records: all of these would be one person's; "
                "give each a name of its own"
            )
        return bounded(persons, most=most, seed=self.seed)

    def require_number(self, where: str) -> int:
        """Return how many records of a person are used at most, of data that name persons.

        Raises:
            InputError: nobody says how many.
        """
        if self.most is None:
            raise InputError(
                f"--records_per_person: {where} names the person of each record; say how many "
                "records of a person are used at most"
            )
        return self.most


def named_by(paths: Sequence[Path], separator: str | None) -> np.ndarray | None:
    """Return the persons that image files are named after; None where they name none.

    Raises:
        InputError: a name has no separator, or no person before it.
    """
    if separator is None:
        return None
    if not separator:
        raise InputError("--person_separator=: give the text that ends a person's name")
    for path in paths:
        if not path.name.partition(separator)[0] or separator not in path.name:
            raise InputError(
                f"--person_separator={separator}: {path} names no person; name files "
                f"PERSON{separator}REST"
            )
    return np.array([path.name.split(separator)[0] for path in paths])


def held_out_persons(persons: np.ndarray, fraction: float, *, seed: int) -> np.ndarray:
    """Return which records are held out: all of a part of the persons.

    Raises:
        InputError: there is one person.

    Guarantee:
        If one person is replaced by another, at most one person's records are other ones among
        those that are not held out.
    """
    names, person_of = np.unique(persons, return_inverse=True)
    if len(names) < 2:
        raise InputError("--test_fraction: the data are of one person; give test data of others")
    chosen = np.array(held_out([str(name) for name in names], fraction, seed=seed))
    return chosen[person_of]
