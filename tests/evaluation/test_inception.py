"""The Frechet inception distance: refused early where it cannot be had, and right where it can."""

import sys
from pathlib import Path

import numpy as np
import pytest

from jaxdp.program.errors import InputError
from jaxdp.program.evaluation import inception

SHAPE = (8, 8, 1)


def test_missing_weights_are_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        inception.require(str(tmp_path / "none.pth"))


def test_a_missing_package_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "w.pth").touch()
    monkeypatch.setitem(sys.modules, "torch_fidelity", None)
    with pytest.raises(InputError, match=r"pip install -e \"\.\[fid\]\""):
        inception.require(str(tmp_path / "w.pth"))


@pytest.fixture
def weights(tmp_path: Path) -> str:
    """A file of random weights, which make a distance like any others do."""
    torch = pytest.importorskip("torch", reason="the extra [fid] is not installed")
    extractor = pytest.importorskip("torch_fidelity.feature_extractor_inceptionv3")
    path = tmp_path / "random.pth"
    torch.manual_seed(0)
    with pytest.MonkeyPatch.context() as patch:
        # The constructor insists on a file: give it what it has already.
        kind = extractor.FeatureExtractorInceptionV3
        patch.setattr(kind, "load_state_dict", lambda self, state: None)
        patch.setattr(torch, "load", lambda *args, **kwargs: {})
        network = kind("random", ["2048"], feature_extractor_weights_path="any")
    torch.save(network.state_dict(), path)
    return str(path)


def test_distance_is_zero_to_itself_and_grows(weights: str) -> None:
    x = np.random.default_rng(0).random((12, 64)).astype(np.float32)
    values = [
        inception.inception_fid(x, np.clip(x + shift, 0, 1), SHAPE, weights)["value"]
        for shift in (0.0, 0.1, 0.5)
    ]
    assert values[0] == pytest.approx(0, abs=1e-3 * values[2])
    assert 0 < values[1] < values[2]


def test_a_file_of_something_else_is_one_clear_error(weights: str) -> None:
    x = np.zeros((4, 64), np.float32)
    for content in (b"", b"not a network"):
        Path(weights).write_bytes(content)
        with pytest.raises(InputError, match="--inception_weights="):
            inception.inception_fid(x, x, SHAPE, weights)
