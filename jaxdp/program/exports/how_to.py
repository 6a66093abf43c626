"""Three short programs that go with a packed set: with numpy alone, with torch, with jaxdp.

They are the same for all sets of a kind but for names of files and public numbers, and find the set
beside themselves, wherever they are started.
"""

import dataclasses

from jaxdp.data import Spec, TableCodec
from jaxdp.saved.sets import DISTILLED, SavedSet

NUMPY, TORCH, JAXDP = "how_to.py", "how_to_torch.py", "how_to_jaxdp.py"
MOST = 2000
"""Examples of which least squares take seconds."""


@dataclasses.dataclass(frozen=True)
class _Facts:
    """What the programs differ in."""

    file: str
    scaled: bool
    labelled: bool
    table: bool
    soft: bool
    images: bool
    low: float
    high: float
    shape: tuple[int, ...]
    dtype: str

    @property
    def tells_files(self) -> bool:
        """Whether the programs tell the classes of image files, which have bytes."""
        bytes_ = (self.dtype, self.low, self.high) == ("uint8", 0, 255)
        return self.images and self.labelled and bytes_ and self.shape[2] in (1, 3)


def files(spec: Spec, made: SavedSet | None) -> dict[str, bytes]:
    """Return the programs for a set, by name.

    Args:
        spec: public facts about the data.
        made: the set; without it jaxdp alone can use what was released.
    """
    if made is None:
        return {JAXDP: _with_jaxdp(None, spec).encode()}
    table = isinstance(spec.codec, TableCodec)
    told = _Facts(
        file=made.file,
        scaled=made.file == DISTILLED and not table,
        labelled=len(made.class_names) > 1,
        table=table,
        soft="y_soft" in made.arrays,
        images=spec.kind.choose(images=True, rows=False, table=False),
        low=spec.codec.low,
        high=spec.codec.high,
        shape=spec.shape,
        dtype=spec.codec.dtype,
    )
    found = {NUMPY: _with_numpy(told, spec), JAXDP: _with_jaxdp(told, spec)}
    if told.labelled:
        found[TORCH] = _with_torch(told)
    return {name: text.encode() for name, text in found.items()}


def _read(told: _Facts) -> list[str]:
    lines = [
        "here = pathlib.Path(__file__).parent",
        f'with np.load(here / "{told.file}") as data:',
        '    x, y, names = data["x"], data["y"], data["class_names"]',
    ]
    if told.scaled:
        lines.append('    x = x * data["scale"] + data["shift"]  # in the units of the data')
    return lines


def _prepared(told: _Facts) -> list[str]:
    """Return a function that reads an image file as jaxdp does."""
    height, width, channels = told.shape
    return [
        "",
        "",
        "def prepared(path):",
        '    """Read an image as jaxdp does: upright, what is transparent white, resized."""',
        "    from PIL import Image, ImageOps",
        "",
        "    with Image.open(path) as file:",
        "        image = ImageOps.exif_transpose(file)",
        "    if image.has_transparency_data:",
        '        image = image.convert("RGBA")',
        '        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)',
        f'    image = image.convert("{"L" if channels == 1 else "RGB"}")',
        f"    pixels = image.resize(({width}, {height}), Image.Resampling.LANCZOS)",
        "    pixels = np.clip(pixels, np.min(image), np.max(image))",
        f"    return pixels.reshape({height}, {width}, {channels}).astype(np.float32)",
        "",
        "",
        "for path in sys.argv[1:]:",
    ]


_MORE = 'print("right far less often than jaxdp: jaxdp classify --run=FOLDER FILE ...")'


def _with_numpy(told: _Facts, spec: Spec) -> str:
    lines = ['"""This set with numpy alone: python how_to.py"""', "", "import pathlib"]
    if told.tells_files:
        lines[0] = '"""This set with numpy, new images with Pillow: python how_to.py new.png"""'
        lines.append("import sys")
    lines += ["", "import numpy as np", ""]
    lines += [*_read(told), 'print(x.shape, "examples; classes:", names.tolist())']
    if told.table and spec.schema is not None:
        lines.insert(2, "import csv")
        lines += _records(told, spec)
    if not told.labelled:
        return "\n".join(lines) + "\n"
    spread = "rows.std(axis=0)" if told.table else "rows.std()"
    lines += [
        "# Least squares on the values as they are: kernel ridge regression, its kernel linear.",
        # A distilled set has its classes one after the other.
        f"some = np.random.default_rng(0).permutation(len(x))[:{MOST}]  # of every class",
        "rows, y = x.reshape(len(x), -1)[some].astype(np.float32), y[some]",
        f"middle, spread = rows.mean(axis=0), np.maximum({spread}, 1e-9)",
        "seen = (rows - middle) / spread",
        "kernel = seen @ seen.T + 1  # of new examples: (new - middle) / spread @ seen.T + 1",
        "ridge = rows[0].size / 100 * np.eye(len(y))",
        "dual = np.linalg.solve(kernel + ridge, np.eye(len(names))[y])",
        'print("of its own told right:", np.mean(np.argmax(kernel @ dual, axis=1) == y))',
        'print("  which says nothing of new ones: this classifier sees values as they are")',
        'print("always naming the largest class:", np.bincount(y).max() / len(y))',
    ]
    if told.tells_files:
        lines += [
            *_prepared(told),
            "    new = (prepared(path).ravel() - middle) / spread",
            "    print(path, names[np.argmax((seen @ new + 1) @ dual)])",
            _MORE,
        ]
    return "\n".join(lines) + "\n"


def _records(told: _Facts, spec: Spec) -> list[str]:
    assert spec.schema is not None
    csv, name = spec.schema.csv, told.file.replace(".npz", ".csv")
    return [
        f'with open(here / "{name}", encoding={csv.encoding!r}, newline="") as file:',
        f"    lines = list(csv.reader(file, delimiter={csv.separator!r}))",
        'print(len(lines), "lines, the first ones:", lines[:2])',
    ]


def _with_torch(told: _Facts) -> str:
    lines = ['"""A network on this set with torch: python how_to_torch.py"""', "", "import pathlib"]
    if told.tells_files:
        lines[0] = '"""A network on this set with torch: python how_to_torch.py new.png"""'
        lines.append("import sys")
    lines += ["", "import numpy as np", "import torch", "", *_read(told)]
    targets = "y.astype(np.int64)"
    if told.soft:
        lines.append('    soft = data["y_soft"].astype(np.float32)  # probabilities of the classes')
        targets = "soft"
    if told.table:
        lines.append("x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9)")
    else:
        lines.append(f"x = (x - {told.low!r}) / {told.high - told.low!r}  # from 0 to 1")
    if told.images:
        lines.append("x = x.transpose(0, 3, 1, 2)  # channels first")
    lines += [
        "x = torch.from_numpy(np.ascontiguousarray(x, np.float32))",
        f"targets = torch.from_numpy({targets})",
        "model = torch.nn.Sequential(",
        "    torch.nn.Flatten(), torch.nn.Linear(x[0].numel(), 128), torch.nn.ReLU(),",
        "    torch.nn.Linear(128, len(names)),",
        ")",
        "optimizer = torch.optim.Adam(model.parameters())",
        "for _ in range(300):",
        "    rows = torch.randint(len(x), (256,))",
        "    loss = torch.nn.functional.cross_entropy(model(x[rows]), targets[rows])",
        "    optimizer.zero_grad()",
        "    loss.backward()",
        "    optimizer.step()",
        'print("loss on its own examples:", float(loss.detach()))',
    ]
    if told.tells_files:
        lines += [
            *_prepared(told),
            f"    new = prepared(path).transpose(2, 0, 1)[np.newaxis] / {told.high!r}",
            "    with torch.no_grad():",
            "        told = model(torch.from_numpy(new.astype(np.float32))).softmax(dim=1)[0]",
            "    print(path, names[int(told.argmax())], float(told.max()))",
            _MORE,
        ]
    return "\n".join(lines) + "\n"


def _with_jaxdp(told: _Facts | None, spec: Spec) -> str:
    lines = ['"""This set with jaxdp: python how_to_jaxdp.py"""', "", "import pathlib", ""]
    lines += [
        "import jaxdp",
        "",
        "made = jaxdp.load(pathlib.Path(__file__).parent)  # checks every file",
        "print(made)",
        "print(made.certificate)",
    ]
    if told is not None:
        lines.append(spec.kind.use.show)
    if told is not None and told.labelled:
        lines.append("print(made.about, made.predict(made.x[:3]), made.class_names)")
    return "\n".join(lines) + "\n"
