"""Hostile texts in every stored field: nothing of them steers a terminal, a page or a card."""

from __future__ import annotations

import hashlib
import io
import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from support import saved_folders

import jaxdp
from jaxdp.methods import card
from jaxdp.program.commands import classify, export
from jaxdp.program.errors import InputError
from jaxdp.program.terminal import print_guarantee

HOSTILE = (
    "\x1b]0;x\x07\x9b31m\u202e\u2066\n# Heading\n\n- item\n<script>x</script>"
    "![i](https://a.b/c.png)[l](javascript:x)\n```\n---\n\ud800"
)
YAML = ["pretty_name", "task_categories", "tags", "size_categories", "configs"]
FIELDS = ("privacy.json", "config.json")


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of texts in JSON, and of names of its objects' entries."""
    if isinstance(value, str):
        yield path
    items: Any = enumerate(value) if isinstance(value, list) else ()
    for key, each in value.items() if isinstance(value, dict) else items:
        yield from leaves(each, (*path, key))


def changed(value: Any, path: tuple[Any, ...]) -> Any:
    """Return JSON with a hostile text in one place."""
    if not path:
        return value + HOSTILE
    first, *rest = path
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[first] = changed(value[first], tuple(rest))
    return copy


def kept_digests(folder: Path, names: tuple[str, ...]) -> None:
    """Make the set fit config.json again, and privacy.json the set: who edits one edits all."""
    path = folder / "synthetic.npz"
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["class_names"] = np.array(names)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    path.write_bytes(buffer.getvalue())
    facts = json.loads((folder / "privacy.json").read_text())
    if isinstance(facts.get("sha256"), dict):
        facts["sha256"]["synthetic.npz"] = hashlib.sha256(buffer.getvalue()).hexdigest()
        (folder / "privacy.json").write_text(json.dumps(facts))


def assert_harmless(said: str) -> None:
    """No codes, whatever it is that is shown."""
    for line in said.split("\n"):
        kinds = {unicodedata.category(mark) for mark in line}
        assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}, ascii(line)


def assert_harmless_markdown(text: str) -> None:
    """No HTML, heading, list, rule, link or fence but those of the card itself."""
    assert_harmless(text)
    if text.startswith("---\n"):
        _, front, text = text.split("---\n", 2)
        assert list(yaml.safe_load(front)) == YAML
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert not re.search(r"(?<!\\)<(?!!-- jaxdp)", outside)
    assert not re.search(r"(?<!\\)\[(?!0, 1\])", outside)
    assert "https://" not in outside
    for line in outside.split("\n"):
        assert not line.startswith(("# H", "- item", "+", "="))
        assert line.count("```") == 0


def shown(folder: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    """Yield all that is printed and written of a folder; the errors in the place of both."""
    refused = ""
    try:
        loaded = jaxdp.load(folder)
        yield f"{loaded!r}\n{loaded.certificate}\n{loaded.certificate!r}"
        print_guarantee(dict(loaded.certificate.facts))
        form = "huggingface" if loaded.spec.schema is None else "torch"
        export._exported(str(folder), form, str(out))
        assert_harmless_markdown((out / card.NAME).read_text())
        assert_harmless((out / "privacy.json").read_text())
        for path in out.rglob("*.csv"):
            assert_harmless(path.read_text())
        assert loaded.made is not None
        examples: Any = type("Examples", (), {"files": [HOSTILE], "rows": [None]})
        scores = loaded.classifier.decision_function(loaded.made.x[:1])
        yield classify.as_csv(examples, scores, loaded)
    except InputError as error:
        refused = str(error)
    assert "\n" not in refused
    yield refused
    printed = capsys.readouterr()
    yield re.sub(r"[\r\x1b]\[A|\r.*", "", printed.out)


@pytest.mark.parametrize("make", [saved_folders.images, saved_folders.table])
def test_no_stored_text_steers_what_is_shown(
    make: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make(tmp_path / "run")
    extra = {"reused": "words", "objection": None, "preparation": "done"}
    saved_folders.changed(folder / "privacy.json", **extra)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    number, reached = 0, 0
    for name in FIELDS:
        stored = json.loads(before[name])
        for path in leaves(stored):
            number += 1
            for file, content in before.items():
                (folder / file).write_bytes(content)
            (folder / name).write_text(json.dumps(changed(stored, path)))
            config = json.loads((folder / "config.json").read_text())
            names = config["spec"]["class_names"]
            kept_digests(folder, tuple(names))
            for said in shown(folder, tmp_path / f"out{number}", capsys):
                assert_harmless(said)
            reached += (tmp_path / f"out{number}").exists()
    assert number > 30
    assert reached > 20
