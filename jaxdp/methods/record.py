"""What is written beside a made set, so that whoever has the folder can check and use it.

`jaxdp.saved` reads it. The drivers write the same files, with their flags in config.json as well.
"""

import dataclasses
import hashlib
import io
import json
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jaxdp
from jaxdp.data import Spec
from jaxdp.methods import card, certified, facts
from jaxdp.methods.base import Plan
from jaxdp.methods.made import Made
from jaxdp.methods.settings import part_of, rules
from jaxdp.methods.stored import Form, Stored

META = "meta"
"""Of the arrays of a release: its description."""
CONFIG, CERTIFICATE = "config.json", "privacy.json"


def npz_bytes(**arrays: np.ndarray | np.generic) -> bytes:
    """Return a compressed npz without pickled objects: the same bytes for the same arrays."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def json_bytes(content: Mapping[str, Any]) -> bytes:
    """Return strict JSON: no NaN, no Infinity."""
    return (json.dumps(content, indent=2, allow_nan=False) + "\n").encode()


def as_stored(
    plan: Plan[Any], form: Form, released: Any, certificate: Mapping[str, Any]
) -> Stored[Any]:
    """Return a release with everything that is needed to use it again."""
    return Stored(
        released=released,
        options=form.chosen or part_of(plan.settings, form.options),
        example_shape=plan.spec.stored_shape,
        schema=plan.spec.schema_json,
        num_classes=released.num_classes,
        certificate=dict(certificate),
        source="",
        class_names=_told_classes(plan.spec, released.num_classes),
    )


def _told_classes(spec: Spec, num_classes: int) -> tuple[str, ...] | None:
    """Return the names of classes that a release tells apart; None where a schema has them."""
    return spec.class_names if spec.schema is None and num_classes == spec.num_classes else None


def release_bytes(form: Form, stored: Stored[Any]) -> bytes:
    """Return a release as the content of an npz file.

    Args:
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
        **({"schema": stored.schema} if stored.schema else {}),
        **({"class_names": list(stored.class_names)} if stored.class_names else {}),
    }
    return npz_bytes(**arrays, **{META: np.array(json.dumps(meta, allow_nan=False))})


def _fixed(part: Any, *, but: str | None = None) -> dict[str, Any]:
    """Return settings that a resumption must have, but for those of one kind of data."""
    kept = {name: rule for name, rule in rules(type(part)).items() if rule.fixed}
    return {name: getattr(part, name) for name, rule in kept.items() if rule.only != but}


def config_of(plan: Any, *flags: Any) -> dict[str, Any]:
    """Return what must be the same for a run and its resumption, as JSON.

    Args:
        plan: what is run, a `Plan`.
        *flags: other objects of settings, such as the flags of a command.
    """
    config: dict[str, Any] = {}
    # Flags about images cannot be given for a table, and their defaults say nothing of it.
    absent = plan.spec.kind.choose(images=None, rows=None, table="images")
    for part in flags:
        config |= _fixed(part, but=absent)
    config |= _fixed(plan.settings)
    listed = {name: value for name, value in config.items() if name not in plan.story.unlisted}
    return listed | {
        "eps": None if math.isinf(certified.epsilon(plan)) else certified.epsilon(plan),
        "num_examples": plan.spec.num_examples,
        "example_shape": list(plan.spec.shape),
        "preparation": plan.spec.preparation,
        **plan.config(),
    }


def card_of(
    plan: Plan[Any], made: Made, certificate: Mapping[str, Any], files: Collection[str]
) -> str:
    """Return the card of the folder that a made set is in, with files of these names."""
    return card.text(
        spec=plan.spec,
        kind=plan.story.kind,
        name=made.name,
        num_made=len(made.x),
        class_names=made.class_names,
        certificate=certificate,
        files=files,
        config=config_of(plan),
        quality=made.quality,
    )


def files_beside(
    plan: Plan[Any],
    released: Any,
    certificate: Mapping[str, Any],
    made: Made,
    folder: Path,
    files: Mapping[str, bytes],
) -> dict[str, bytes]:
    """Return the files that tell of a made set, by name; the certificate comes last.

    Args:
        plan: that made it.
        released: what it was made from.
        certificate: of that.
        made: the set.
        folder: that they go into; its README.md stays where somebody else has written one.
        files: of the set itself.
    """
    beside = dict[str, bytes]()
    if plan.form is not None and plan.story.released is not None:
        stored = as_stored(plan, plan.form, released, certificate)
        beside[plan.story.released] = release_bytes(plan.form, stored)
    digests = {
        name: hashlib.sha256(content).hexdigest() for name, content in {**files, **beside}.items()
    }
    config = config_of(plan) | {
        facts.KEY: facts.to_json(plan.spec),
        "ledger": plan.ledger and plan.ledger.to_json(),
        "versions": {"jaxdp": jaxdp.__version__, "jax": jax.__version__, "numpy": np.__version__},
    }
    beside[CONFIG] = json_bytes(config)
    if card.may_write(folder / card.NAME):
        beside[card.NAME] = card_of(plan, made, certificate, files).encode()
    return beside | {CERTIFICATE: json_bytes({**certificate, "sha256": digests})}
