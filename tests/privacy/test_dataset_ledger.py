"""The file that all runs on a dataset share: what it sums up, refuses, and survives."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest
from support import faulty_input

from jaxdp.privacy import certificates, ledger_file, releases
from jaxdp.privacy.certificates import Terms
from jaxdp.privacy.dataset_ledger import (
    BudgetExceededError,
    DatasetLedger,
    ReleasedElsewhereError,
)
from jaxdp.privacy.ledger import (
    Ledger,
    joint_epsilon,
    one_release,
)
from jaxdp.privacy.ledger_file import TotalBudget
from jaxdp.privacy.relations import IN_WORDS, REPLACE, ZERO_OUT
from jaxdp.privacy.stored_certificates import recertified
from jaxdp.program.commands import spent

DELTA = 1e-5
BUDGET = TotalBudget(2.0, DELTA)


def ledger(epsilon: float = 1.0, **changes: Any) -> Ledger:
    found = releases.calibrate({"mean": 0.01}, target_epsilon=epsilon, delta=DELTA)
    facts: dict[str, Any] = {"num_examples": 1000, "delta": DELTA, "releases": found}
    return Ledger(**(facts | changes))


def name(number: int) -> str:
    return f"{number:032x}"


@pytest.fixture
def file(tmp_path: Path) -> DatasetLedger:
    return DatasetLedger(tmp_path / "patients.ledger.jsonl")


def test_guarantee_runs_are_summed_up_as_one_composition(file: DatasetLedger) -> None:
    assert file.enter(name(1), "dp_ntk", ledger(1.0)) == ()
    assert file.enter(name(2), "dp_ntk", ledger(0.5)) == (ledger(1.0),)
    earlier = file.enter(name(3), "dp_kip", ledger(0.7))
    assert earlier == (ledger(1.0), ledger(0.5))
    facts = certificates.certify(ledger(0.7), Terms(covers=(), target_epsilon=0.7, earlier=earlier))
    joint = joint_epsilon([ledger(1.0), ledger(0.5), ledger(0.7)], delta=DELTA)
    assert facts["epsilon_with_earlier_runs"] == joint
    assert 1.2 < joint < 1.5  # less than the sum of 2.2
    assert facts["verdict"].startswith("MAY BE RELEASED, under a medium guarantee (epsilon 1.3")
    assert "with 2 earlier runs on the same data; epsilon 0.7, replace, by" in facts["verdict"]
    assert facts["releasable"]
    assert recertified(facts) == facts
    forged = facts | {"earlier_runs": facts["earlier_runs"][:1]}
    assert recertified(forged)["epsilon_with_earlier_runs"] < joint
    for bad in ([1], [{}], "x", [ledger().to_json() | {"delta": 2}]):
        with pytest.raises(ValueError, match=r"certificate|delta"):
            recertified(facts | {"earlier_runs": bad})


def test_guarantee_a_sum_over_runs_names_its_own_relation(file: DatasetLedger) -> None:
    steps = one_release(1000, noise_multiplier=4.0)
    sampled = ledger(releases=(), steps=steps)
    assert (sampled.relation, ledger().relation) == (ZERO_OUT, REPLACE)
    for last, other in ((ledger(), sampled), (sampled, ledger())):
        terms = Terms(covers=(), target_epsilon=1.0, earlier=(other,))
        facts = certificates.certify(last, terms)
        assert facts["relation"] == IN_WORDS[last.relation]
        assert facts["relation_with_earlier_runs"] == IN_WORDS[ZERO_OUT]
        assert ", zero-out, with an earlier run on the same data; " in facts["verdict"]
        assert facts["verdict"].endswith(f", {last.relation}, by itself)")
    alike = certificates.certify(
        ledger(), Terms(covers=(), target_epsilon=1.0, earlier=(ledger(),))
    )
    assert alike["relation_with_earlier_runs"] == IN_WORDS[REPLACE]
    assert ", replace, with an earlier run on the same data; " in alike["verdict"]
    file.enter(name(1), "teacher", sampled, budget=TotalBudget(1.0, DELTA))
    with pytest.raises(BudgetExceededError, match="zero-out"):
        file.enter(name(2), "dp_ntk", ledger())


def test_guarantee_a_run_is_entered_once(file: DatasetLedger) -> None:
    file.enter(name(1), "dp_ntk", ledger())
    file.enter(name(2), "dp_ntk", ledger())
    before = file.path.read_bytes()
    assert file.enter(name(1), "dp_ntk", ledger()) == ()
    assert file.enter(name(2), "dp_ntk", ledger()) == (ledger(),)
    assert file.path.read_bytes() == before
    with pytest.raises(ValueError, match="with other numbers"):
        file.enter(name(1), "dp_ntk", ledger(0.5))


def test_guarantee_a_new_file_outlives_a_loss_of_power(
    file: DatasetLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its content is on the disk, and so is its name in the folder."""
    flushed, real = [], os.fsync

    def fsync(descriptor: int) -> None:
        flushed.append(os.stat(descriptor).st_ino)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    file.enter(name(1), "dp_ntk", ledger())
    assert flushed == [file.path.stat().st_ino, file.path.parent.stat().st_ino]


def test_guarantee_no_run_is_entered_beyond_the_budget(file: DatasetLedger) -> None:
    file.enter(name(1), "dp_ntk", ledger(), budget=BUDGET)
    file.enter(name(2), "dp_ntk", ledger())
    file.enter(name(3), "dp_ntk", ledger())  # sqrt(3) of the loss of one
    before = file.path.read_bytes()
    for call in (
        lambda: file.enter(name(4), "dp_ntk", ledger()),
        lambda: file.require_room(ledger()),
        lambda: file.enter(name(4), "dp_ntk", ledger(), budget=TotalBudget(1.9, DELTA)),
    ):
        with pytest.raises(BudgetExceededError, match="would make it 2") as refused:
            call()
        assert "earlier runs (3) have spent 1." in str(refused.value)
    assert file.path.read_bytes() == before
    file.require_room(ledger(0.1))
    file.enter(name(3), "dp_ntk", ledger())  # it is there already
    file.enter(name(4), "dp_ntk", ledger(), budget=TotalBudget(3.0, DELTA))
    assert file.read().budget == TotalBudget(3.0, DELTA)
    assert len(file.read().entries) == 4


@pytest.mark.parametrize("epsilon", [0.1, 0.25, 3.0])
def test_a_run_for_all_of_a_budget_is_within_it(file: DatasetLedger, epsilon: float) -> None:
    """Noise is found by bisection: what it gives may be above in its last digits."""
    run = ledger(epsilon)
    budget = TotalBudget(run.epsilon() * (1 - 1e-9), DELTA)
    file.enter(name(1), "dp_ntk", run, budget=budget)
    with pytest.raises(BudgetExceededError):
        file.enter(name(2), "dp_ntk", ledger(0.05), budget=budget)


def test_a_first_run_beyond_the_budget_leaves_no_entry(file: DatasetLedger) -> None:
    with pytest.raises(BudgetExceededError):
        file.enter(name(1), "dp_ntk", ledger(3.0), budget=BUDGET)
    assert file.read() == DatasetLedger(file.path.with_name("other")).read()


def test_runs_of_another_unit_have_no_sum(file: DatasetLedger) -> None:
    file.enter(name(1), "dp_ntk", ledger())
    with pytest.raises(ValueError, match="records_per_person=1"):
        file.enter(name(2), "dp_ntk", ledger(records_per_person=3))


def test_guarantee_a_sum_with_runs_about_records_is_not_told_to_persons(
    file: DatasetLedger,
) -> None:
    """Of a person with five records a run of single records may have used all five."""
    file.enter(name(1), "dp_ntk", ledger(), persons=True)
    file.enter(name(2), "dp_ntk", ledger(), persons=True)
    assert [entry.persons for entry in file.read().entries] == [True, True]
    assert file.enter(name(3), "dp_ntk", ledger()) == (ledger(), ledger())  # holds for records
    before = file.path.read_bytes()
    for call in (
        lambda: file.enter(name(4), "dp_ntk", ledger(), persons=True),
        lambda: file.require_room(ledger(), persons=True),
    ):
        with pytest.raises(ValueError, match="they protect single records"):
            call()
    assert file.path.read_bytes() == before
    assert file.enter(name(2), "dp_ntk", ledger(), persons=True) == (ledger(),)


def test_guarantee_a_changed_file_is_refused(file: DatasetLedger) -> None:
    for number in range(3):
        file.enter(name(number), "dp_ntk", ledger(), budget=TotalBudget(5.0, DELTA))
    lines = file.path.read_bytes().splitlines(keepends=True)
    quiet = json.loads(lines[2])
    quiet["ledger"]["releases"][0]["stddev"] *= 10
    louder = json.dumps(quiet).encode() + b"\n"
    generous = lines[1].replace(b"5.0", b"9.0")
    for changed in (
        [*lines[:2], louder, *lines[3:]],  # a run that says less
        [lines[0], generous, *lines[2:]],  # a budget that allows more
        [*lines[:2], *lines[3:]],  # a run taken out
        [*lines, lines[-1]],  # a run twice
        lines[1:],
        [b"[]\n"],
        [b"\xff\xfe\n"],
        [b"[" * 100_000 + b"\n"],
        [lines[0], b"{}\n"],
        [lines[0], b'{"budget": {"epsilon": 1e999, "delta": 0.1}}\n'],
    ):
        file.path.write_bytes(b"".join(changed))
        for call in (file.read, lambda: file.enter(name(9), "dp_ntk", ledger())):
            with pytest.raises(ValueError, match="is no dataset ledger, or was changed") as found:
                call()
            assert "\n" not in str(found.value)


def test_guarantee_a_half_written_line_is_not_a_run_and_is_replaced(file: DatasetLedger) -> None:
    file.enter(name(1), "dp_ntk", ledger())
    whole = file.path.read_bytes()
    file.enter(name(2), "dp_ntk", ledger())
    line = file.path.read_bytes()[len(whole) :]
    for torn in (line[:1], line[:-1]):
        file.path.write_bytes(whole + torn)
        assert len(file.read().entries) == 1
        assert file.enter(name(3), "dp_ntk", ledger()) == (ledger(),)
        assert [entry.name for entry in file.read().entries] == [name(1), name(3)]


def test_guarantee_runs_at_the_same_time_do_not_miss_each_other(file: DatasetLedger) -> None:
    many, found = 12, []
    budget = TotalBudget(joint_epsilon([ledger()] * 7, delta=DELTA), DELTA)

    def enter(number: int) -> None:
        try:
            found.append(len(file.enter(name(number), "dp_ntk", ledger(), budget=budget)))
        except BudgetExceededError:
            found.append(-1)

    threads = [threading.Thread(target=enter, args=(number,)) for number in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [-1] * 5 + list(range(7))
    assert len(file.read().entries) == 7


_KILLED = """
import os, signal, sys
from jaxdp.privacy import dataset_ledger, releases
from jaxdp.privacy.ledger import Ledger
found = releases.calibrate({"mean": 0.01}, target_epsilon=1.0, delta=1e-5)
ledger = Ledger(num_examples=1000, delta=1e-5, releases=found)
real = os.write
def torn(file, data):
    real(file, bytes(data)[: len(data) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
path, when = sys.argv[1:]
if when == "writing":
    os.write = torn
dataset_ledger.DatasetLedger(path).enter("0" * 32, "dp_ntk", ledger)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("when", "entries"), [("writing", 0), ("after", 1)])
def test_guarantee_it_survives_a_kill(file: DatasetLedger, when: str, entries: int) -> None:
    """Who is killed before `enter` returns has released nothing; afterwards the run is there."""
    command = [sys.executable, "-c", _KILLED, str(file.path), when]
    killed = subprocess.run(command, timeout=120, cwd=Path(__file__).parents[2])
    assert killed.returncode == -signal.SIGKILL
    assert len(file.read().entries) == entries
    file.enter(name(1), "dp_ntk", ledger())
    assert len(file.read().entries) == entries + 1


def test_guarantee_a_changed_last_line_is_found(file: DatasetLedger) -> None:
    """Whatever the last line is: an entry, a budget, notes or the end of a run."""
    file.enter(name(1), "dp_ntk", ledger(), budget=BUDGET)
    file.note(name(1), "a" * 64, before=None)
    file.finish(name(1), {"embedding.npz": "b" * 64})
    lines = file.path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 5
    for number in range(1, len(lines)):
        whole = b"".join(lines[: number + 1])
        start = len(whole) - len(lines[number])
        for place in range(start, len(whole) - 1, 7):  # its end makes it a half-written one
            file.path.write_bytes(whole[:place] + b"7" + whole[place + 1 :])
            if file.path.read_bytes() == whole:
                continue
            with pytest.raises(ValueError, match=f"line {number + 1}: "):
                file.read()


def resealed(path: Path, number: int, change: Any) -> None:
    """Change a line, and the digest that ends it, as somebody who knows how."""
    lines = path.read_bytes().splitlines(keepends=True)
    found = json.loads(lines[number])
    del found["digest"]
    before = b"".join(lines[:number])
    lines[number] = ledger_file.added(before, [found | change])
    path.write_bytes(b"".join(lines))


def test_guarantee_a_line_in_whose_place_another_whole_one_stands_is_found(
    file: DatasetLedger,
) -> None:
    """Its own digest is right; that of the next line tells of it."""
    for number in range(3):
        file.enter(name(number), "dp_ntk", ledger())
    resealed(file.path, 2, {"method": "another"})
    with pytest.raises(ValueError, match="line 4: it, or what is before, was changed"):
        file.read()
    resealed(file.path, 3, {})  # who computes all digests anew is not found
    assert file.read().entries[1].method == "another"


_OLD = """\
{"jaxdp": "dataset ledger", "version": 1}
{"budget": {"epsilon": 2.0, "delta": 1e-05}, "before": "HASH"}
{"entry": "00000000000000000000000000000001", "method": "dp_ntk", \
"at": "2026-03-01T10:00:00+00:00", "ledger": LEDGER, "before": "HASH"}
{"entry": "00000000000000000000000000000002", "method": "teacher", \
"at": "2026-03-02T10:00:00+00:00", "ledger": LEDGER, "persons": true, "before": "HASH"}
"""
"""A file of version 1: every line after the first one has the digest of what is before it."""


def old_file(path: Path) -> None:
    content = ""
    for line in _OLD.splitlines(keepends=True):
        line = line.replace("LEDGER", json.dumps(ledger().to_json()))
        content += line.replace("HASH", hashlib.sha256(content.encode()).hexdigest())
    path.write_text(content)


def test_guarantee_files_of_version_1_go_on_being_counted(file: DatasetLedger) -> None:
    old_file(file.path)
    before = file.path.read_bytes()
    found = file.read()
    assert [(entry.name, entry.persons) for entry in found.entries] == [
        (name(1), False),
        (name(2), True),
    ]
    assert [entry.notes for entry in found.entries] == [ledger_file.UNKNOWN] * 2
    assert found.budget == BUDGET
    file.path.write_bytes(before.replace(b"dp_ntk", b"dp_kip"))
    with pytest.raises(ValueError, match=r"line 4: what is before was changed"):
        file.read()
    file.path.write_bytes(before)
    with pytest.raises(BudgetExceededError):
        file.enter(name(3), "dp_ntk", ledger(1.9))
    assert file.enter(name(3), "dp_ntk", ledger(0.5)) == (ledger(), ledger())
    with pytest.raises(ReleasedElsewhereError, match="gone on elsewhere"):
        file.note(name(1), "a" * 64, before=None)
    assert file.path.read_bytes().startswith(before)
    assert len(file.read().entries) == 3
    content = file.path.read_bytes()
    for part in (b"dp_ntk", b"teacher"):
        file.path.write_bytes(content.replace(part, b"another", 1))
        with pytest.raises(ValueError, match="was changed"):
            file.read()


def test_guarantee_no_line_of_version_1_comes_after_a_newer_one(file: DatasetLedger) -> None:
    """Its own digest protects nothing of it."""
    old_file(file.path)
    file.enter(name(3), "dp_ntk", ledger(0.5))
    for new_file in (False, True):
        if new_file:
            file.path.unlink()
            file.enter(name(3), "dp_ntk", ledger(0.5))
        content = file.path.read_bytes()
        line = {"budget": {"epsilon": 50.0, "delta": 1e-5}}
        line["before"] = hashlib.sha256(content).hexdigest()
        file.path.write_bytes(content + json.dumps(line).encode() + b"\n")
        with pytest.raises(ValueError, match="was changed"):
            file.read()


def test_guarantee_a_budget_is_taken_at_its_own_delta(file: DatasetLedger) -> None:
    """A run may be meant at another one, at which the same noise is a smaller epsilon."""
    loose = ledger(delta=1e-2)
    at = [joint_epsilon([ledger(), loose], delta=delta) for delta in (DELTA, loose.delta)]
    assert at[1] < 0.8 * at[0]
    file.enter(name(1), "dp_ntk", ledger(), budget=TotalBudget(0.99 * at[0], DELTA))
    with pytest.raises(BudgetExceededError, match="at delta 1e-05"):
        file.enter(name(2), "dp_ntk", loose)
    file.enter(name(2), "dp_ntk", loose, budget=TotalBudget(1.01 * at[0], DELTA))


def test_guarantee_a_budget_that_comes_later_holds_from_then_on(file: DatasetLedger) -> None:
    """It is kept where the run is entered already, and counts the runs after it, too."""
    for number in (1, 2):
        file.enter(name(number), "dp_ntk", ledger())
    before = file.path.read_bytes()
    with pytest.raises(BudgetExceededError, match=r"other runs \(1\) have spent 1 of it"):
        file.enter(name(1), "dp_ntk", ledger(), budget=TotalBudget(1.2, DELTA))
    assert file.path.read_bytes() == before
    file.enter(name(1), "dp_ntk", ledger(), budget=TotalBudget(1.6, DELTA))
    assert file.read().budget == TotalBudget(1.6, DELTA)
    with pytest.raises(BudgetExceededError):
        file.enter(name(3), "dp_ntk", ledger())


def test_guarantee_notes_are_taken_from_who_has_the_last_ones(file: DatasetLedger) -> None:
    file.enter(name(1), "dp_ntk", ledger())
    assert file.read().entries[0].notes is None
    file.note(name(1), "a", before=None)
    for before in (None, "b", ledger_file.UNKNOWN):
        with pytest.raises(ReleasedElsewhereError, match="gone on elsewhere"):
            file.note(name(1), "b", before=before)
    file.note(name(1), "b", before="a")
    assert file.read().entries[0].notes == "b"
    with pytest.raises(ReleasedElsewhereError, match="not in it any more"):
        file.note(name(2), "b", before=None)


def test_guarantee_a_run_that_has_finished_releases_nothing_more(file: DatasetLedger) -> None:
    file.enter(name(1), "dp_ntk", ledger(), notes="a")
    file.finish(name(1), {"x.npz": "0"})
    with pytest.raises(ReleasedElsewhereError, match="has finished"):
        file.note(name(1), "b", before="a")
    before = file.path.read_bytes()
    file.finish(name(1), {"x.npz": "0"})
    assert file.path.read_bytes() == before
    file.finish(name(1), {"x.npz": "1"})  # made anew, by other flags
    assert file.read().entries[0].finished == {"x.npz": "1"}
    with pytest.raises(ReleasedElsewhereError, match="not in it any more"):
        file.finish(name(2), {})


def test_guarantee_a_file_of_somebody_is_not_cut(file: DatasetLedger) -> None:
    """Without an end of line it looks like a first line that was half written."""
    for content in (b"a note to myself", b'{"jaxdp": "something"', b"x\n"):
        file.path.write_bytes(content)
        with pytest.raises(ValueError, match="is no dataset ledger"):
            file.enter(name(1), "dp_ntk", ledger())
        assert file.path.read_bytes() == content
    file.path.write_bytes(b'{"jaxdp": "dataset')
    file.enter(name(1), "dp_ntk", ledger())
    assert len(file.read().entries) == 1


def test_guarantee_a_link_to_a_share_that_is_not_there_begins_no_new_file(
    file: DatasetLedger, tmp_path: Path
) -> None:
    target = tmp_path / "share" / "x.ledger.jsonl"
    target.parent.mkdir()
    file.path.symlink_to(target)
    for call in (file.read, lambda: file.enter(name(1), "dp_ntk", ledger())):
        with pytest.raises(ValueError, match="is a link to a file that is not there"):
            call()
    assert not target.exists()
    DatasetLedger(target).enter(name(1), "dp_ntk", ledger())
    assert file.enter(name(2), "dp_ntk", ledger()) == (ledger(),)
    assert file.path.is_symlink()
    assert len(DatasetLedger(target).read().entries) == 2


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match="no plain file"):
        DatasetLedger(pipe).read()
    with pytest.raises(OSError):  # noqa: PT011  which one depends on the system
        DatasetLedger(tmp_path).enter(name(1), "dp_ntk", ledger())


def test_a_run_without_noise_is_never_entered_as_one_with_it(file: DatasetLedger) -> None:
    bare = dataclasses.replace(
        ledger(), releases=tuple(dataclasses.replace(r, stddev=0.0) for r in ledger().releases)
    )
    with pytest.raises(ValueError, match="no noise"):
        file.enter(name(1), "dp_ntk", bare)
    assert file.read().entries == ()


@pytest.mark.parametrize("bad", [(0.0, DELTA), (float("inf"), DELTA), (1.0, 0.0), (1.0, 1.0)])
def test_budgets_out_of_range_are_refused(bad: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="budget"):
        TotalBudget(*bad)


@hypothesis.settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
@hypothesis.given(edits=st.data())
def test_an_entry_of_any_content_is_read_or_refused_in_one_line(
    edits: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Digests are recomputed: who writes the file anew can write whatever there is."""
    file = DatasetLedger(tmp_path_factory.mktemp("edited") / "x.ledger.jsonl")
    file.enter(name(1), "dp_ntk", ledger(), budget=BUDGET)
    file.note(name(1), "a", before=None)
    file.finish(name(1), {"x.npz": "b"})
    first, *rest = file.path.read_bytes().splitlines(keepends=True)
    content = first
    for line in rest:
        edited = edits.draw(faulty_input.edited(json.loads(line)))
        if isinstance(edited, dict):
            edited.pop("digest", None)
        try:
            content += ledger_file.added(content, [edited])
        except (ValueError, TypeError):  # infinities, and what is no object
            content += json.dumps(edited).encode() + b"\n"
    file.path.write_bytes(content)
    refused = None
    try:
        file.require_room(ledger(0.01))
    except ValueError as error:
        refused = str(error)
    assert refused is None or "\n" not in refused
    assert refused or all(entry.ledger.epsilon() > 0 for entry in file.read().entries)


def test_a_file_that_is_too_large_is_refused_before_it_is_read(file: DatasetLedger) -> None:
    with file.path.open("wb") as written:
        written.truncate(2**40)  # of zeros, which take no room
    with pytest.raises(ValueError, match="is larger than 64 MB"):
        file.read()
    with pytest.raises(ValueError, match="is larger than 64 MB"):
        file.enter(name(1), "dp_ntk", ledger(1.0))


def test_guarantee_texts_of_a_ledger_do_not_steer_a_terminal(file: DatasetLedger) -> None:
    file.enter(name(1), "dp\x1b[2J\u202entk", ledger(1.0))
    assert "dp\\x1b[2J\\u202entk" in spent.lines(str(file.path), None)[0]


def test_guarantee_a_budget_is_not_loosened_by_a_larger_delta(file: DatasetLedger) -> None:
    file.enter(name(1), "dp_ntk", ledger(1.0), budget=TotalBudget(1.5, 1e-6))
    loose = TotalBudget(1.5, 1e-3)
    assert joint_epsilon([ledger(1.0)] * 2, delta=1e-3) < 1.5
    with pytest.raises(BudgetExceededError, match="at delta 1e-06"):
        file.require_room(ledger(1.0), budget=loose)
    with pytest.raises(BudgetExceededError, match="at delta 1e-06"):
        file.enter(name(2), "dp_ntk", ledger(1.0), budget=loose)
    file.enter(name(3), "dp_ntk", ledger(0.1), budget=TotalBudget(3.0, 1e-3))
    assert file.read().budget == TotalBudget(3.0, 1e-6)


def test_a_run_that_is_twice_in_the_file_or_has_no_noise_is_refused(file: DatasetLedger) -> None:
    file.enter(name(1), "dp_ntk", ledger(1.0))
    first, line = file.path.read_bytes().splitlines(keepends=True)
    entry = json.loads(line)
    del entry["digest"]
    open_release = {"name": "m", "sensitivity": 1.0, "stddev": 0.0}
    bare = entry | {"ledger": entry["ledger"] | {"releases": [open_release]}}
    for edited, said in (([entry, entry], "a run is in it twice"), ([bare], "a run has no noise")):
        file.path.write_bytes(first + ledger_file.added(first, edited))
        with pytest.raises(ValueError, match=said):
            file.read()
