"""Compare what the drivers make with what another commit makes, bit for bit.

    python tests/offline_golden.py --before=COMMIT --data_dir=FOLDER [--only=NAME]

For every method, kernel and kind of features a short run with a noise seed is made twice: by the
code of the commit and by the code of this checkout. Arrays of released and made files must have
the same bits, certificates the same content, and files the same names and keys. Runs of the commit
must also open here: they are resumed, sampled from, and used again by `--teacher`, `--embedding`
and `--synthetic`. `{data_dir}/mnist.npz` is wanted; without it the digits alone are run.

Bits hold on one machine and one jax; that is why the commit's runs are made anew.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

_ROOT = Path(__file__).resolve().parents[1]
_SHARED = ("--seed=3", "--overwrite")
_SECONDS = 900
# Nothing is released anew.
_WITHOUT_NOISE = ("again-teacher", "again-embedding")
# Of config.json and metrics.json: where and when, not what.
_PASSING = ("out_dir", "data_dir", "versions", "device", "seconds", "argv")


@dataclasses.dataclass(frozen=True)
class Case:
    """A run: its name, its driver and its flags; `{name}` in a flag stands for another's folder."""

    name: str
    driver: str
    flags: tuple[str, ...]


_DIGITS = ("--dataset=digits", "--eps=2")
_MNIST = ("--dataset=mnist", "--subset=3000", "--eps=2", "--batch_size=200")
_KIP = ("--ipc=2", "--steps=6", "--eval_every=3")
_NTK = ("--steps=4", "--batch_size=40", "--num_synthetic=60")
_TEACHER = ("--steps=20", "--distill_steps=5")


def _cases() -> Iterator[Case]:
    for data, flags in (("digits", _DIGITS), ("mnist", _MNIST)):
        for kernel in ("fc_ntk", "fc_nngp", "scatter", "perceptual"):
            yield Case(f"kip-{kernel}-{data}", "dp_kip", (*flags, *_KIP, f"--kernel={kernel}"))
        few = (*flags, "--subset=300", "--ipc=1", "--steps=2", "--batch_size=30", "--kernel=entk")
        yield Case(f"kip-entk-{data}", "dp_kip", few)
        for features in ("entk", "rff", "hermite", "scatter", "scatter_rbf"):
            more = (*flags, *_NTK, f"--features={features}", "--ntk_width=20")
            yield Case(f"ntk-{features}-{data}", "dp_ntk", more)
        for match in ("teacher", "embedding", "both"):
            more = (*flags, *_TEACHER, f"--match={match}")
            yield Case(f"teacher-{match}-{data}", "dp_kip_teacher", more)
    for network, widths in (("fc_2l", "20_10"), ("cnn_2l", "20_10"), ("cnn2d", "20")):
        more = (*_DIGITS, *_NTK, f"--network={network}", f"--ntk_width={widths}")
        yield Case(f"ntk-{network}", "dp_ntk", more)
    every = (*_DIGITS, *_KIP)
    yield Case("kip-pixels", "dp_kip", (*every, "--kernel=scatter", "--clip_space=pixels"))
    yield Case("kip-bounded", "dp_kip", (*every, "--bounded", "--corrupt=0.3", "--init_scale=1"))
    yield Case("kip-public", "dp_kip", (*every, "--eps=inf"))
    yield Case("kip-classifiers", "dp_kip", (*every, "--evaluate=krr,logistic,mlp,convnet"))
    yield Case("ntk-weights", "dp_ntk", (*_DIGITS, *_NTK, "--features=rff", "--weights_share=0.2"))
    yield Case("ntk-plain", "dp_ntk", (*_DIGITS, *_NTK, "--features=rff", "--unconditional"))
    yield Case("ntk-conv", "dp_ntk", (*_DIGITS, *_NTK, "--features=rff", "--generator=conv"))
    # These use what runs above have released; {name} is a folder of theirs.
    again = (*_DIGITS, *_TEACHER)
    yield Case(
        "again-teacher",
        "dp_kip_teacher",
        (*again, "--teacher={teacher-both-digits}/teacher.npz", "--match=both"),
    )
    yield Case(
        "again-embedding",
        "dp_ntk",
        (*_DIGITS, *_NTK, "--features=rff", "--embedding={ntk-rff-digits}/embedding.npz"),
    )
    yield Case(
        "again-synthetic",
        "dp_kip_teacher",
        (*again, "--eps=9", "--match=both", "--synthetic={ntk-rff-digits}"),
    )


def _command(case: Case, tree: Path, out: Path, data_dir: str, *extra: str) -> None:
    """Run a case by the code of a tree; runs it builds on lie beside its own folder."""
    places = {each.name: str(out.parent / each.name) for each in _cases()}
    flags = [flag.format_map(places) if "{" in flag else flag for flag in case.flags]
    if not case.name.startswith(_WITHOUT_NOISE):
        flags.append("--noise_seed=5")
    command = [sys.executable, "-m", f"experiments.{case.driver}", *flags, *_SHARED, *extra]
    done = subprocess.run(
        [*command, f"--out_dir={out}", f"--data_dir={data_dir}"],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{case.name}, {tree}: {done.stderr[-2000:]}")


def _contents(out: Path) -> dict[str, Any]:
    """Return what a run has left: bits of arrays, values of JSON files, and names of the rest."""
    found: dict[str, Any] = {}
    for path in sorted(each for each in out.rglob("*") if each.is_file()):
        name = path.relative_to(out).as_posix()
        if name.startswith(("checkpoints/", "teacher_checkpoints/", "generator/variables")):
            continue
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as stored:
                for key in stored.files:
                    array = stored[key]
                    found[f"{name}:{key}"] = (str(array.dtype), array.shape, array.tobytes())
        elif path.suffix == ".json":
            found |= _values(name, json.loads(path.read_text()))
        else:
            found[name] = path.read_bytes() if path.suffix == ".png" else "there"
    return found


def _values(name: str, content: Any) -> dict[str, Any]:
    """Return the values of a JSON file by their paths, without places, times and digests."""
    if isinstance(content, dict):
        kept = {k: v for k, v in content.items() if not any(part in k for part in _PASSING)}
        parts = [_values(f"{name}:{key}", value) for key, value in kept.items()]
        return {name: "there"} | {key: value for part in parts for key, value in part.items()}
    return {name: "there" if "sha256" in name or "digest" in name else content}


def _differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the names of what one has and the other has not, or has otherwise."""
    names = sorted(before.keys() | after.keys())
    return [name for name in names if before.get(name) != after.get(name)]


def _opens(case: Case, before: Path, data_dir: str) -> list[str]:
    """Return what the code of this checkout changes in a finished run that it resumes."""
    kept = _contents(before)
    _command(case, _ROOT, before, data_dir, "--nooverwrite", "--resume")
    changed = _differences(kept, _contents(before))
    if case.driver == "dp_ntk":
        drawn = before.parent / f"{case.name}-drawn.npz"
        command = [sys.executable, "-m", "experiments.sample", f"--run={before}", "--num=20"]
        subprocess.run([*command, f"--out={drawn}"], cwd=_ROOT, check=True, capture_output=True)
    return [f"resumed: {name}" for name in changed]


def main() -> int:
    """Compare every case; return 1 where something differs."""
    parser = argparse.ArgumentParser(description="Compare runs with those of another commit.")
    parser.add_argument("--before", required=True, help="the commit to compare with")
    parser.add_argument("--data_dir", default="data", help="where mnist.npz is")
    parser.add_argument("--only", action="append", help="part of a name; may be repeated")
    options = parser.parse_args()
    data_dir = str(Path(options.data_dir).absolute())
    os.environ |= {
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    has_mnist = (Path(data_dir) / "mnist.npz").exists()
    parts = options.only or [""]
    cases = [case for case in _cases() if any(part in case.name for part in parts)]
    cases = [case for case in cases if has_mnist or "mnist" not in case.name]
    different = 0
    with tempfile.TemporaryDirectory(prefix="jaxdp-golden-") as folder:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = f"{folder}/compiled"
        tree = Path(folder) / "tree"
        adding = ["git", "worktree", "add", "--detach", str(tree), options.before]
        subprocess.run(adding, cwd=_ROOT, check=True, capture_output=True)
        try:
            for case in cases:
                before, after = (Path(folder) / side / case.name for side in ("before", "after"))
                _command(case, tree, before, data_dir)
                _command(case, _ROOT, after, data_dir)
                found = _differences(_contents(before), _contents(after))
                found += _opens(case, before, data_dir)
                different += bool(found)
                print(f"{case.name:24} {'; '.join(found) or 'equal'}", flush=True)
        finally:
            removing = ["git", "worktree", "remove", "--force", str(tree)]
            subprocess.run(removing, cwd=_ROOT, check=True, capture_output=True)
    print(f"{len(cases) - different} of {len(cases)} equal")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
