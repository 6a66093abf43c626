"""config.json may leave: it names files, and not the folders of the machine that they were in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jaxdp.methods import dp_ntk, marginals, teacher
from jaxdp.methods.dp_ntk import labels
from jaxdp.program.errors import InputError
from jaxdp.program.runs.folder import RunFolder
from jaxdp.program.runs.local_paths import without_folders


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("csv", "/home/an na/clinic/patients.csv", "patients.csv"),
        ("schema", "adult", "adult"),
        ("synthetic", "runs/first/", "first"),
        ("data_source", "image folder /home/an na/scans", "image folder scans"),
        ("data_source", "tensorflow-datasets in ../data/mnist", "tensorflow-datasets in mnist"),
        ("data_source", "data/scans.npz", "scans.npz"),
        ("data_source", "scikit-learn's bundled digits", "scikit-learn's bundled digits"),
        ("csv", None, None),
        ("eps", 1.0, 1.0),
        ("preparation", "left/right", "left/right"),
    ],
)
def test_files_are_named_alone(key: str, value: object, told: object) -> None:
    assert without_folders({key: value}) == {key: told}


@pytest.mark.parametrize("package", [dp_ntk, labels, marginals, teacher])
def test_guarantee_a_release_that_is_used_again_is_named_without_its_folder(package: Any) -> None:
    flag = package.FORM.flag or "embedding"
    assert without_folders({flag: "/home/an na/run/released.npz"}) == {flag: "released.npz"}


def test_a_run_is_resumed_where_its_files_have_moved_or_were_stored_with_folders(
    tmp_path: Path,
) -> None:
    folder = RunFolder(tmp_path, resume=True, overwrite=False)
    for stored in ("patients.csv", "/old/patients.csv"):
        (tmp_path / "config.json").write_text(json.dumps({"csv": stored}))
        folder.require_same_config({"csv": "/new/patients.csv"})
        with pytest.raises(InputError, match="was started with csv=patients"):
            folder.require_same_config({"csv": "/new/others.csv"})
