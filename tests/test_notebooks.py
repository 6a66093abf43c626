"""The notebooks run from their first cell to their last, and are kept without their outputs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
# In the place of their cells of parameters, at a size that takes seconds.
TOY = {
    "distil_your_images": """
import jaxdp

teacher = jaxdp.methods.teacher
settings = teacher.Settings(ipc=2, eps=8.0, steps=2, distill_steps=2, whiten=0.0)
""",
    "synthetic_data": """
import jaxdp

dp_ntk = jaxdp.methods.dp_ntk
settings = dp_ntk.Settings(
    eps=4.0, features="entk", ntk_width="20", steps=2, batch_size=20, num_synthetic=100
)
""",
    "your_own_kernel": """
epsilon, delta = 4.0, 1e-5
steps = 2
num_features = 20
clip_norm = 0.02
ridge = 1e-3
""",
}


def test_every_notebook_has_a_toy_size() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(TOY)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert not cell.outputs, cell.source
            assert cell.execution_count is None, cell.source


def parameters_of(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    [cell] = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    return cell


def text_of(notebook: nbformat.NotebookNode, stream: str) -> str:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in cells for output in cell.outputs]
    return "".join(output.text for output in outputs if output.get("name") == stream)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    # What Jupyter's own processes warn of is not ours.
    monkeypatch.delenv("PYTHONWARNINGS", raising=False)
    notebook = nbformat.read(path, as_version=4)
    parameters_of(notebook).source = TOY[path.stem]
    client = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    assert "Warning" not in text_of(notebook, "stderr")
    said = text_of(notebook, "stdout")
    assert "differentially private" in said
    assert "MAY BE RELEASED" in said
