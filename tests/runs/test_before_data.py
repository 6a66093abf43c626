"""What is refused of a run before its data are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.own_folder import write_shapes

from jaxdp.methods.settings import Budget
from jaxdp.program.errors import InputError
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import before_data


def check(data_dir: Path, **flags: str | None) -> None:
    asked = RunFlags(dataset="shapes", data_dir=str(data_dir), ledger="none", **flags)
    before_data.check(asked, Budget(eps=1.0))


def test_a_run_in_the_folder_of_its_images_would_be_one_of_their_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_shapes(tmp_path / "shapes", 2)
    for out in (tmp_path / "shapes" / "out", tmp_path / "shapes", tmp_path / "x/../shapes/out"):
        with pytest.raises(InputError, match="whose folders are classes; name a folder elsewhere"):
            check(tmp_path, out_dir=str(out))
    check(tmp_path, out_dir=str(tmp_path / "shapes_out"))
    within_a_class = tmp_path / "shapes" / "circle"
    check(tmp_path, out_dir=str(within_a_class / "runs"))  # is not read
    with pytest.raises(InputError, match="whose folders are classes"):
        check(tmp_path, out_dir=str(within_a_class))
    monkeypatch.chdir(tmp_path / "shapes")
    with pytest.raises(InputError, match="--out_dir=runs: lies in"):
        check(tmp_path)


def test_beside_train_and_test_a_folder_is_no_class(tmp_path: Path) -> None:
    for split in ("train", "test"):
        write_shapes(tmp_path / "shapes" / split, 2)
    check(tmp_path, out_dir=str(tmp_path / "shapes" / "out"))
