"""An image folder, for tests of what it holds and of what its parent lists."""

from pathlib import Path

import pytest
from toy_data import colour, save_image


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a small folder of colour images; class "dog" has no test image."""
    save_image(tmp_path / "toy/train/dog/b.png", colour(2))
    save_image(tmp_path / "toy/train/dog/a.png", colour(1))
    save_image(tmp_path / "toy/train/cat/a.png", colour(3))
    save_image(tmp_path / "toy/test/eel/a.PNG", colour(4))
    return tmp_path
