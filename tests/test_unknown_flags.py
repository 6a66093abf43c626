"""An unknown flag ends a program in one line, which names the flag that was meant."""

from __future__ import annotations

import pytest
from support import drivers

from jaxdp.methods.settings import rules
from jaxdp.program import unknown_flags
from jaxdp.program.commands import dp_kip, dp_ntk

MEANT = {
    "--epsilon=1": "eps",
    "--Epsilon=1": "eps",
    "--dataset_name=mnist": "dataset",
    "--num_steps=10": "steps",
    "--stepz=1": "steps",
    "--lr=0.1": "learning_rate",
    "--learning-rate=0.1": "learning_rate",
    "--batch-size=5": "batch_size",
    "--output_dir=x": "out_dir",
    "--images_per_class=3": "ipc",
    "--imagesize=32": "image_size",
    "--force": "overwrite",
    "--noresum": "resume",
    "--no_resume": "noresume",
    "--no-resume": "noresume",
    "--no_eps": "eps",
}


@pytest.mark.parametrize("flag", MEANT)
def test_the_flag_that_was_meant_is_named(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert drivers.drive(dp_kip.main, flag) == 2
    said = capsys.readouterr().err.splitlines()
    assert said == [f"error: {flag}: there is no such flag; did you mean --{MEANT[flag]}?"]


def test_a_generator_takes_names_of_samples(capsys: pytest.CaptureFixture[str]) -> None:
    assert drivers.drive(dp_ntk.main, "--num_samples=10") == 2
    assert capsys.readouterr().err.endswith("did you mean --num_synthetic?\n")


def test_nothing_is_named_where_nothing_is_near() -> None:
    said = unknown_flags.message("zzzz", "--zzzz=1", ("eps", "steps"))
    assert said == "--zzzz=1: there is no such flag; --help lists all"


def test_only_flags_that_the_program_has_are_named() -> None:
    assert "--eps" in unknown_flags.message("epsilon", None, ("eps",))
    assert "--help" in unknown_flags.message("epsilon", None, ("schema", "out"))


def test_no_flag_is_a_synonym_of_itself_and_words_are_flags_of_no_run() -> None:
    """What a run calls a flag stays that flag."""
    from jaxdp.methods.dp_ntk.labels.settings import Settings
    from jaxdp.program.run_flags import GenerateFlags, TeacherFlags

    ours = {*rules(GenerateFlags), *rules(TeacherFlags), *rules(Settings)}
    for name in ours:
        assert f"mean --{name}?" in unknown_flags.message(name, None, ours)
