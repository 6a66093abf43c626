"""A folder that Hugging Face's `datasets` loads: plain files, and YAML at the top of the card.

Labels are there twice, as numbers and as names: a name such as `7` is read as a number.
"""

from pathlib import Path

from jaxdp.program.exports import pixels
from jaxdp.program.exports.formats import Exported, labels_of, row_lines, write_csv, write_images
from jaxdp.program.exports.names import folder_names, quoted
from jaxdp.saved.loading import Loaded
from jaxdp.saved.sets import SavedSet

_SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
_LARGEST = "1M<n<10M"
# So many names still fit into a line of code.
_FEW = 50


def write_huggingface(folder: Path, loaded: Loaded, made: SavedSet) -> Exported:
    """Write what `datasets.load_dataset` takes: images with metadata.csv, or a CSV file."""
    write = loaded.spec.kind.choose(images=_write_images, rows=_write_rows, table=_write_table)
    return write(folder, loaded, made)


def _write_table(folder: Path, loaded: Loaded, made: SavedSet) -> Exported:
    from jaxdp.tables import frames

    assert loaded.spec.schema is not None
    # `load_dataset` knows no schema: not its separator, and not how its numbers are written.
    text = frames.to_plain_csv(loaded.frame, loaded.spec.schema)
    (folder / "data.csv").write_bytes(text.encode("utf-8", "backslashreplace"))
    files = (
        "`data.csv`: the records, with the columns of the schema, commas between them and decimal "
        "points",
    )
    front = _front(loaded, made, "tabular", "data.csv")
    return Exported(files, _loading(()), "data.csv", front)


def _write_images(folder: Path, loaded: Loaded, made: SavedSet) -> Exported:
    images = pixels.of_set(made.x, loaded.spec, "--format=huggingface")
    names = folder_names(made.class_names)
    (folder / "train").mkdir()
    lines: list[tuple[object, ...]] = [("file_name", *labels_of(made, None))]
    for path, label in write_images(folder / "train", images.x, made.y, names):
        lines.append((path, *labels_of(made, label)))
    write_csv(folder / "train" / "metadata.csv", lines)
    files = (
        f"`train/CLASS/NUMBER.png`: the images. NUMBER is the row in `{made.file}`. {images.about}",
        "`train/metadata.csv`: the file, and the number and the name of the class of each image",
    )
    front = _front(loaded, made, "image", "train/**")
    return Exported(files, _loading(made.class_names), "train/", front)


def _write_rows(folder: Path, loaded: Loaded, made: SavedSet) -> Exported:
    """Write rows of numbers without a schema."""
    write_csv(folder / "data.csv", row_lines(loaded, made))
    files = ("`data.csv`: the rows, as the data were stored",)
    front = _front(loaded, made, "tabular", "data.csv")
    return Exported(files, _loading(made.class_names), "data.csv", front)


def _loading(class_names: tuple[str, ...]) -> str:
    lines = ["import datasets", "", 'dataset = datasets.load_dataset("FOLDER", split="train")']
    if 1 < len(class_names) <= _FEW:
        lines += [
            f"names = {list(class_names)!r}",
            'dataset = dataset.cast_column("label", datasets.ClassLabel(names=names))',
        ]
    return "```python\n" + "\n".join(lines) + "\n```"


def _front(loaded: Loaded, made: SavedSet, task: str, files: str) -> str:
    """Return what Hugging Face reads at the top of a card."""
    kind = "distilled" if made.file.startswith("distilled") else "synthetic"
    size = next((name for most, name in _SIZES.items() if len(made.x) < most), _LARGEST)
    lines = [f"pretty_name: {quoted(f'{loaded.spec.name}, {kind}')}"]
    if len(made.class_names) > 1:
        lines += ["task_categories:", f"- {task}-classification"]
    lines += ["tags:", "- differential-privacy", f"- {kind}", "size_categories:", f"- {size}"]
    lines += ["configs:", "- config_name: default", "  data_files:", "  - split: train"]
    return "\n".join([*lines, f"    path: {files}"])
