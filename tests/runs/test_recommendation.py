"""What is recommended fits its facts, can be typed as it stands, and says where it extrapolates."""

from __future__ import annotations

import dataclasses
import itertools
import math
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from support import drivers

from jaxdp.data import Spec
from jaxdp.methods import dp_kip, teacher, warned
from jaxdp.program.commands import recommend
from jaxdp.program.run_flags import RunFlags
from jaxdp.program.runs import commands, expected_curve, recommendation
from jaxdp.tables.schema import Schema

ROOT = Path(__file__).parents[2]
SHAPES = [(8, 8, 1), (28, 28, 1), (33, 47, 3), (32, 32, 3), (224, 224, 4), (14,)]
GRID = list(itertools.product(SHAPES, (12, 300, 5000, 60_000, 10**7), (2, 10, 200), (0.1, 1, 50)))


def of(shape: tuple[int, ...], n: int, c: int, epsilon: float) -> tuple[recommendation.Choice, ...]:
    table = len(shape) == 1
    source = "--csv=x.csv --schema=x.json" if table else "--dataset=own"
    return recommendation.choices(recommendation.spec_of(shape, n, c), epsilon, source=source)


def test_every_command_of_a_grid_of_facts_is_one_that_its_program_takes() -> None:
    lines = set()
    for facts in GRID:
        for choice in of(*facts):
            assert choice.estimate.seconds > 0
            assert choice.why.endswith(".")
            assert choice.expected
            lines.add(choice.command)
    assert len(lines) > 20
    for line in lines:
        program, verb, method, *given = shlex.split(line)
        assert (program, verb) == ("jaxdp", "run")
        for kind in drivers.FLAGS[method]:
            drivers.settings(kind, *given)


def test_a_teacher_comes_first_for_images_and_a_model_of_counts_for_tables() -> None:
    assert of((28, 28, 1), 60_000, 10, 1)[0].method == "teacher"
    assert of((14,), 30_000, 2, 1)[0].command.startswith("jaxdp run marginals --csv=x.csv")
    assert of((14,), 30_000, 2, 1)[1].command.endswith(" --labels=teacher")
    schema = Schema.from_json({"columns": {"x": {"type": "numeric", "lower": 0, "upper": 1}}})
    without = Spec.table("own", schema, 500)
    (only,) = recommendation.choices(without, 1, source="--csv=x.csv --schema=x.json")
    assert only.method == "marginals"
    many = {str(k): {"type": "numeric", "lower": 0, "upper": 1} for k in range(80)}
    wide = Spec.table("own", Schema.from_json({"columns": many}), 500)
    assert only.why == "A model of all noisy counts, of columns and of pairs, makes the records."
    (only,) = recommendation.choices(wide, 1, source="--csv=x.csv --schema=x.json")
    assert only.why.startswith("It has more than 60 columns: a model of noisy counts")
    assert only.method == "marginals"
    for num in (500, 5000):
        assert of((80,), num, 2, 1)[0].command.startswith("jaxdp run marginals")
        assert of((80,), num, 2, 1)[1].command.endswith(" --labels=teacher")
    assert of((28, 28, 1), 60_000, 10, math.inf)[0].method == "dp_kip"
    rows = Spec.rows("own", (569, 30), class_names=["no", "yes"])
    (only,) = recommendation.choices(rows, 1, source="--dataset=own")
    assert only.method == "dp_kip"


def test_there_are_never_more_distilled_images_than_real_ones_where_there_is_one_per_class() -> (
    None
):
    for shape, n, c, epsilon in GRID:
        for choice in of(shape, n, c, epsilon):
            ipc = int(commands.parsed(choice.command)[1].get("ipc", 0))
            assert ipc * c <= max(n, c) or len(shape) == 1


@pytest.mark.parametrize(
    ("n", "classes", "ipc"),
    [(19, 2, 1), (40, 2, 2), (200, 2, 10), (1998, 2, 10), (1000, 10, 10), (300, 10, 3)],
)
def test_a_teacher_gets_up_to_ten_images_per_class_and_a_tenth_of_the_real_ones(
    n: int, classes: int, ipc: int
) -> None:
    first = of((28, 28, 1), n, classes, 1)[0]
    assert commands.parsed(first.command)[1]["ipc"] == str(ipc)


def test_scores_are_those_of_measured_sets_and_others_are_said_to_be_extrapolated() -> None:
    mnist = of((28, 28, 1), 60_000, 10, 1)[0].expected
    assert mnist.startswith("accuracy of 89 to 98 % (measured on")
    assert "MNIST" in mnist
    assert of((28, 28, 1), 60_000, 300, 1)[0].expected.startswith("no measured set has about so")
    assert "whose images are smaller" in of((512, 512, 1), 60_000, 10, 1)[0].expected
    for choice in of((28, 28, 1), 10**8, 10, 1)[1:]:
        assert choice.expected.startswith("no measured set like this")


def test_noise_that_hides_all_is_said() -> None:
    spec = recommendation.spec_of((28, 28, 1), 100, 10)
    line = warned.too_weak(spec, 1)
    assert line is not None
    assert "is 10; below 30 noise hides most" in line
    assert "--eps=9," in line
    assert warned.too_weak(spec, 10) is None


def test_noise_that_hides_all_is_said_for_persons_with_several_records() -> None:
    spec = recommendation.spec_of((28, 28, 1), 1000, 10)
    assert warned.too_weak(spec, 1) is None
    line = warned.too_weak(spec.of_persons(5), 1)
    assert line is not None
    assert "of a class, divided by 5 records of a person, is 20; below 30" in line
    assert "--eps=4.5, more examples, fewer classes or a smaller --records_per_person" in line
    assert warned.strength(spec.of_persons(5), 4.5) == pytest.approx(90)


def test_other_scores_are_those_of_the_strength_for_persons() -> None:
    spec = recommendation.spec_of((28, 28, 1), 60_000, 10)
    found = recommendation.expected(spec.of_persons(10), 10, "dp_kip")
    assert found == recommendation.expected(spec, 1, "dp_kip")
    assert found != recommendation.expected(spec, 10, "dp_kip")


def test_noise_that_hides_all_is_said_where_records_are_replaced() -> None:
    spec = recommendation.spec_of((28, 28, 1), 400, 10)
    zero_out, replace = (
        teacher.Settings(eps=1.0, relation=r, match="teacher") for r in ("zero-out", "replace")
    )
    assert not any("noise hides" in line for line in warned.before_work(zero_out, spec, 1))
    (line,) = (line for line in warned.before_work(replace, spec, 1) if "noise hides" in line)
    assert "of a class, divided by 2, as records are replaced, is 20; below 30" in line
    assert "--eps=4.5" in line
    found = recommendation.better(spec, 1, method="teacher", settings=replace, source="")
    assert found == line


def test_what_is_expected_of_replaced_records_is_that_of_two_records_of_a_person() -> None:
    spec = recommendation.spec_of((28, 28, 1), 3000, 10)
    replace = teacher.Settings(eps=1.0, relation="replace", match="teacher")
    found = recommendation.of_run("teacher", replace, spec)
    assert found == recommendation.expected(spec.of_persons(2), 1.0, "teacher")
    assert found != recommendation.expected(spec, 1.0, "teacher")
    curve = expected_curve.of_run("teacher", replace, spec.of_persons(100))
    same = expected_curve.curve(dataclasses.replace(spec, records_per_person=200), (1.0,))
    assert curve is not None
    assert same is not None
    assert curve.at(1.0) == same.at(1.0)


def test_commands_for_replaced_records_keep_the_relation() -> None:
    spec = recommendation.spec_of((28, 28, 1), 3000, 10)
    plain = recommendation.choices(spec, 1, source="--dataset=own")
    replaced = recommendation.choices(spec, 1, source="--dataset=own", relation="replace")
    for one, other in zip(plain, replaced, strict=True):
        assert commands.parsed(other.command)[1]["relation"] == "replace"
        assert "relation" not in commands.parsed(one.command)[1]
    assert replaced[0].expected == recommendation.expected(spec.of_persons(2), 1, "teacher")
    settings = dp_kip.Settings(eps=1.0, relation="replace")
    found = recommendation.better(
        spec, 1, method="dp_kip", settings=settings, source="--dataset=own"
    )
    assert "--relation=replace" in found


def test_replaced_records_are_recommended_for(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--shape=28,28,1", "--n=300", "--classes=10", "--eps=1")
    assert drivers.drive(recommend.main, *flags) == 0
    plain = capsys.readouterr().out
    assert drivers.drive(recommend.main, *flags, "--relation=replace") == 0
    replaced = capsys.readouterr().out
    assert "WARNING" not in plain
    assert "divided by 2, as records are replaced, is 15; below 30" in replaced
    assert "jaxdp run teacher --dataset=NAME --relation=replace --ipc=3 --eps=1" in replaced


def test_what_does_better_is_another_command_or_a_larger_budget() -> None:
    spec = recommendation.spec_of((16, 16, 3), 310, 3)
    found = recommendation.better(spec, 1, method="dp_kip", settings=None, source="--dataset=own")
    assert found.endswith("jaxdp run teacher --dataset=own --ipc=10 --eps=1")
    found = recommendation.better(spec, 1, method="teacher", settings=None, source="--dataset=own")
    assert found.startswith("a larger --eps")
    found = recommendation.better(spec, 0.1, method="dp_kip", settings=None, source="")
    assert "noise hides most" in found


def test_flags_that_name_data_are_given_again() -> None:
    flags = RunFlags(dataset="my cells", data_dir="x", image_size="32", out_dir="out", resume=True)
    found = recommendation.source_of(flags)
    assert found == "--dataset='my cells' --image_size=32 --data_dir=x"
    assert recommendation.source_of(RunFlags()) == "--dataset=digits"
    table = RunFlags(csv="a.csv", schema="a.json")
    assert recommendation.source_of(table) == "--csv=a.csv --schema=a.json"


# --- The program -------------------------------------------------------------------------------


def test_the_program_needs_no_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert drivers.drive(recommend.main, "--shape=28,28,1", "--n=60000", "--classes=10") == 0
    said = capsys.readouterr().out
    assert "jaxdp run teacher --dataset=NAME --ipc=10 --eps=1\n" in said
    assert "89 to 98 %" in said


def test_the_program_goes_by_the_size_that_a_run_resizes_to(
    capsys: pytest.CaptureFixture[str],
) -> None:
    facts = ("--n=6000", "--classes=10")
    said = []
    for shape in ("1024,768,3", "64,64,3", "28,28,1"):
        assert drivers.drive(recommend.main, f"--shape={shape}", *facts) == 0
        said.append(capsys.readouterr().out.splitlines())
    large, small, kept = said
    assert large[0].startswith(
        "1024x768x3, which runs resize to 64x64x3 where no --image_size is given, 6000 training"
    )
    assert large[1:] == small[1:], "the same is expected, and takes as long"
    assert "resize" not in small[0] + kept[0]


def test_the_program_tells_of_persons_without_data(capsys: pytest.CaptureFixture[str]) -> None:
    facts = ("--shape=28,28,1", "--n=3000", "--classes=10")
    assert drivers.drive(recommend.main, *facts, "--records_per_person=20") == 0
    said = capsys.readouterr().out
    assert said.startswith("28x28x1, 3000 training examples, 10 classes, at most 20 records of a")
    assert "WARNING: epsilon times the examples of a class, divided by 20 records" in said
    line = "jaxdp run teacher --dataset=NAME --records_per_person=20 --ipc=10 --eps=1\n"
    assert line in said


def test_the_program_tells_of_persons_in_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert drivers.drive(recommend.main, "--dataset=digits") == 0
    alone = capsys.readouterr().out
    assert "WARNING" not in alone
    assert drivers.drive(recommend.main, "--dataset=digits", "--records_per_person=10") == 0
    said = capsys.readouterr().out
    assert "at most 10 records of a person" in said.splitlines()[0]
    assert "WARNING: epsilon times the examples of a class, divided by 10" in said

    def expected(text: str) -> str:
        return next(line for line in text.splitlines() if "expected: accuracy" in line)

    assert expected(said) != expected(alone)


def test_the_program_takes_a_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    assert drivers.drive(recommend.main, "--dataset=digits", "--eps=0.1") == 0
    said = capsys.readouterr().out
    assert said.startswith("digits: 1437 training images of 8x8 pixels")
    assert "WARNING: epsilon times the examples of a class is 14.4" in said


def test_the_program_says_what_is_left_out_of_an_image_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in ("train/a", "train/b", "test/a", "test/b", "val/a"):
        (tmp_path / "scans" / place).mkdir(parents=True)
        image = PIL.Image.fromarray(np.zeros((8, 8), np.uint8))
        image.save(tmp_path / "scans" / place / "x.png")
    assert drivers.drive(recommend.main, "--dataset=scans", f"--data_dir={tmp_path}") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("WARNING: left out, as only train and test are read: folders val;")


def test_the_program_starts_without_jax() -> None:
    code = (
        "import sys; from jaxdp.program import command_line; "
        "from jaxdp.program.commands import recommend; "
        "command_line.parse(['', '--shape=28,28,1', '--n=300', '--classes=3']); "
        "recommend.main([]); sys.exit('jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "jaxdp run teacher" in done.stdout


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--n=5", "--shape: give it as well"),
        ("--shape=28,28,1 --n=5", "--classes: give it as well"),
        ("--shape=28,x --n=5 --classes=2", "--shape=28,x: must be"),
        ("--shape=8,8,2 --n=5 --classes=2", "has neither 1, 3 nor 4 channels"),
        ("--dataset=mnist --shape=8,8 --n=5 --classes=2", "instead of data"),
        ("--shape=8,8 --n=5 --classes=2 --image_size=16", "--image_size=16: is of data"),
        ("--shape=8,8 --n=5 --classes=2 --target=ill", "--target=ill: is of data"),
        ("--eps=0", "--eps=0.0: must be a number above 0"),
        ("--csv=x.csv", "--schema: say what"),
    ],
)
def test_the_program_refuses_in_one_line(
    flags: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drivers.drive(recommend.main, *flags.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_recommending_looks_at_public_facts_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other private records of the same number and shape get the same answer."""
    from support.toy_runs import private_data

    answers = []
    for seed in (0, 1):
        private_data(tmp_path / "own.npz", seed=seed)
        assert drivers.drive(recommend.main, "--dataset=own", f"--data_dir={tmp_path}") == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]
