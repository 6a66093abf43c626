"""The notebooks run from their first cell to their last, and their pages show what they have."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

jupytext = pytest.importorskip("jupytext")
pytest.importorskip("nbconvert")

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "notebooks"
SCRIPTS = sorted(FOLDER.glob("*.py"))
# In the place of their cells of parameters, at a size that takes seconds.
TOY = {
    "distil_your_images": """
import jaxdp

teacher = jaxdp.methods.teacher
settings = teacher.Settings(ipc=2, eps=8.0, steps=2, distill_steps=2, whiten=0.0)
""",
    "synthetic_images": """
import jaxdp

dp_ntk = jaxdp.methods.dp_ntk
settings = dp_ntk.Settings(
    eps=4.0, features="entk", ntk_width="20", steps=2, batch_size=20, num_synthetic=100
)
""",
    "synthetic_table": """
import jaxdp

marginals = jaxdp.methods.marginals
settings = marginals.Settings(eps=1.0, delta=1e-6, num_synthetic=200, steps=2)
""",
    "your_own_kernel": """
epsilon, delta = 4.0, 1e-5
steps = 2
num_features = 20
clip_norm = 0.02
ridge = 1e-3
""",
}

every_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def as_notebooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("as_notebooks", ROOT / "docs/as_notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def at_toy_size(script: Path) -> str:
    """Return the text of a script whose parameters are those of a toy."""
    changed, count = re.subn(
        r'(# %% tags=\["parameters"\]\n).*?(?=# %%)',
        lambda found: f"{found[1]}{TOY[script.stem]}\n",
        script.read_text(),
        flags=re.DOTALL,
    )
    assert count == 1
    return changed


def test_every_script_has_a_toy_size() -> None:
    assert {path.stem for path in SCRIPTS} == set(TOY)


@every_script
def test_a_page_has_the_cells_of_its_script(as_notebooks: ModuleType, script: Path) -> None:
    """What it shows may differ: the noise is new each time."""
    page = script.with_suffix(".md").read_text()
    shown = re.findall(r"^```python\n(.*?)\n```$", page, re.MULTILINE | re.DOTALL)
    cells = as_notebooks.notebook(script).cells
    again = f"run `python docs/as_notebooks.py {script.stem}`"
    assert shown == [cell.source for cell in cells if cell.cell_type == "code"], again
    for cell in cells:
        if cell.cell_type == "markdown":
            assert all(line in page for line in cell.source.split("\n")), again


def test_a_page_names_pictures_that_are_there() -> None:
    named = {
        f"{name}"
        for page in FOLDER.glob("*.md")
        for name in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", page.read_text())
    }
    assert named == {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.png")}
    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) < 150_000


@pytest.mark.slow
def test_scripts_run_in_one_folder_and_again(tmp_path: Path) -> None:
    """Each has a folder of its own to save in, and takes the place of what it saved before."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    for script in [*SCRIPTS, SCRIPTS[0]]:
        toy = tmp_path / script.name
        toy.write_text(at_toy_size(script))
        done = subprocess.run(
            [sys.executable, toy], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert "Warning" not in done.stderr
        assert "differentially private" in done.stdout
        assert "MAY BE RELEASED" in done.stdout


@pytest.mark.slow
def test_a_page_is_made_of_a_script(
    as_notebooks: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    # What Jupyter's own processes warn of is not ours.
    monkeypatch.delenv("PYTHONWARNINGS", raising=False)
    script = tmp_path / "synthetic_images.py"
    script.write_text(at_toy_size(FOLDER / script.name))
    monkeypatch.setattr(as_notebooks, "FOLDER", tmp_path)
    monkeypatch.setattr(as_notebooks, "SCRIPTS", [script])
    as_notebooks.main(["synthetic_images"])
    page = script.with_suffix(".md").read_text()
    assert page.startswith("# Synthetic images\n\nThis page shows")
    assert "MAY BE RELEASED" in page
    assert "step/s" not in page  # a progress bar
    (picture,) = tmp_path.rglob("*.png")
    assert f"]({picture.relative_to(tmp_path)})" in page
