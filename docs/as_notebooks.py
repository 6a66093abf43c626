"""Makes notebooks of the scripts in docs/notebooks.

`python docs/as_notebooks.py` runs each script and writes the page that shows what came out.
`make docs` calls `on_files`, which puts a file for Jupyter and Colab beside each page.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import jupytext
import nbclient
import nbconvert

FOLDER = Path(__file__).parent / "notebooks"
SCRIPTS = sorted(FOLDER.glob("*.py"))
# Rules of style that pandas repeats beside every table.
_STYLE = re.compile(r"<style scoped>.*?</style>\n", re.DOTALL)


def notebook(script: Path) -> Any:
    """Return the notebook of a script with percent cells, without outputs."""
    made = jupytext.read(script, fmt="py:percent")
    made.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    return made


def executed(made: Any, folder: str) -> Any:
    """Return a notebook with what its cells show; progress bars are left out."""
    nbclient.NotebookClient(made, timeout=1800, resources={"metadata": {"path": folder}}).execute()
    for cell in made.cells:
        if cell.cell_type == "code":
            kept = [output for output in cell.outputs if output.get("name") != "stderr"]
            cell.outputs = kept
    return made


def as_page(made: Any, script: Path) -> tuple[str, dict[str, bytes]]:
    """Return an executed notebook as text in Markdown, and its pictures by their names."""
    exporter = nbconvert.MarkdownExporter()
    resources = {"output_files_dir": f"{script.stem}_files", "unique_key": script.stem}
    text, found = exporter.from_notebook_node(made, resources)
    title, _, rest = text.strip().partition("\n")
    about = (
        f"This page shows what [{script.name}]({script.name}) did: a script that "
        f"`python docs/notebooks/{script.name}` runs.\n"
        f"There is [a notebook]({script.stem}.ipynb) of it for Jupyter and Colab.\n"
        f"`python docs/as_notebooks.py {script.stem}` makes the page anew."
    )
    return f"{title}\n\n{about}\n{_STYLE.sub('', rest).rstrip()}\n", found["outputs"]


def on_files(files: Any, config: Any) -> Any:
    """Add a notebook of each script to the files of the site."""
    from mkdocs.structure.files import File

    for script in SCRIPTS:
        content = jupytext.writes(notebook(script), fmt="ipynb")
        files.append(File.generated(config, f"notebooks/{script.stem}.ipynb", content=content))
    return files


def main(names: list[str]) -> None:
    """Write the pages of the scripts that are named, or of all."""
    for script in SCRIPTS:
        if names and script.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            text, pictures = as_page(executed(notebook(script), folder), script)
        script.with_suffix(".md").write_text(text)
        for name, content in pictures.items():
            place = FOLDER / name
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1:])
