"""Flags that make no sense: one line that names them, exit code 2, and nothing written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import drivers
from support.generated_folder import written

from jaxdp.program.commands import dp_kip_teacher, dp_ntk

# Flags, in which {images} stands for a folder that dp_ntk has left, and what is said of them.
TEACHER = {
    "match": ("--match=none", "--match=none"),
    "share": ("--embedding_share=1", "--embedding_share=1"),
    "tiny share": ("--match=both --embedding_share=1e-40", "--embedding_share=1e-40"),
    "whole share": (
        "--match=both --embedding_share=0.9999999999",
        "--embedding_share=0.9999999999",
    ),
    "weight": ("--match=embedding --cosine_weight=1", "--cosine_weight=1"),
    "labels": ("--match=embedding --learn_labels", "--learn_labels"),
    "ipc": ("--ipc=0", "--ipc=0"),
    "eps": ("--eps=-1", "--eps=-1"),
    "whiten": ("--whiten=-1", "--whiten=-1"),
    "batch": ("--batch_size=100000", "--batch_size=100000"),
    "both lengths": ("--steps=3 --epochs=2", "--steps=3"),
    "smoothing": ("--label_smoothing=1", "--label_smoothing=1"),
    "teacher": ("--teacher=nowhere.npz", "no such file"),
    "synthetic": ("--synthetic=nowhere --match=both", "--synthetic=nowhere"),
    "what for": ("--synthetic={images}", "is for --match=embedding or --match=both"),
    "seed": ("--synthetic={images} --match=embedding --noise_seed=1", "--noise_seed=1"),
    "dataset": ("--dataset=none", "--dataset=none"),
    "evaluate": ("--evaluate=magic", "--evaluate=magic"),
    "rate": ("--distill_learning_rate=0", "--distill_learning_rate=0"),
}
GENERATE = {
    "unknown features": ("--features=nothing", "--features=nothing"),
    "unknown network": ("--network=deep", "--network=deep"),
    "widths": ("--ntk_width=a_b", "--ntk_width=a_b"),
    "too many widths": ("--ntk_width=8_8", "--ntk_width=8_8"),
    "moments": ("--moments=3", "--moments=3"),
    "moments of entk": ("--moments=2", "--moments=2"),
    "share": ("--weights_share=1", "--weights_share=1"),
    "tiny share": ("--weights_share=1e-40", "--weights_share=1e-40: must be 0, or 1e-06 or above"),
    "whole share": ("--weights_share=0.9999999999", "--weights_share=0.9999999999"),
    "tiny teacher": ("--labels=teacher --teacher_share=1e-40", "--teacher_share=1e-40"),
    "weights": ("--inception_weights=none.pth", "--inception_weights=none.pth: no such file"),
    "product share": ("--product_share=-0.1", "--product_share=-0.1"),
    "product of entk": ("--product_share=0.1", "has no pairs of columns; use hermite"),
    "decay": ("--ema_decay=1", "--ema_decay=1"),
    "batch": ("--batch_size=5", "--batch_size=5"),
    "eps": ("--eps=0", "--eps=0"),
    "number": ("--num_synthetic=0", "--num_synthetic=0"),
    "generator": ("--generator=table", "--generator=table"),
    "judge": ("--evaluate=krr", "--evaluate=krr: krr is for distilled sets"),
    "unknown judge": ("--evaluate=magic", "--evaluate=magic: 'magic' is unknown; known are krr"),
    "judge of labels": (
        "--unconditional --evaluate=mlp",
        "--evaluate=mlp: mlp tells classes apart",
    ),
    "preset": ("--preset=slow", "--preset=slow"),
    "embedding": ("--embedding=nowhere.npz", "no such file"),
    "dataset": ("--dataset=none", "--dataset=none"),
    "code": ("--code_dim=0", "--code_dim=0"),
    "length": ("--length_scale=-1", "--length_scale=-1"),
    "teacher's share": ("--teacher_share=0.3", "--teacher_share=0.3: is for --labels=teacher"),
    "candidates": ("--candidates=2", "--candidates=2: is for --labels=teacher"),
    "no candidates": ("--labels=teacher --candidates=0", "--candidates=0"),
}
BAD = [
    pytest.param(driver, *case, id=f"{driver.__name__.split('.')[1]}-{name}")
    for driver, cases in ((dp_kip_teacher, TEACHER), (dp_ntk, GENERATE))
    for name, case in cases.items()
]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("images") / "run")


@pytest.mark.parametrize(("driver", "flags", "said"), BAD)
def test_bad_input_gets_one_line_and_writes_nothing(
    driver: Any,
    flags: str,
    said: str,
    images: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, given = tmp_path / "run", flags.format(images=images).split()
    drivers.assert_refused(driver.main, capsys, said, *given, f"--data_dir={tmp_path}", out=out)
    assert not out.exists()
