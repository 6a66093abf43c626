"""Errors of the program itself: what is logged tells where they are, and no value."""

from __future__ import annotations

import logging

import pytest

from jaxdp.program.ui import faults

SECRET = "7131771"


def fails() -> None:
    raise KeyError(SECRET)


def test_guarantee_a_fault_is_told_without_its_values(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        fails()
    except KeyError as error:
        said = faults.reported(error)
    assert said == "The program has a fault (KeyError); the terminal says where."
    printed = capsys.readouterr().err
    assert "in fails" in printed
    assert "KeyError" in printed
    assert SECRET not in printed


@pytest.mark.parametrize("name", ["nicegui", "uvicorn.error", "asyncio"])
def test_guarantee_libraries_log_no_values(name: str, caplog: pytest.LogCaptureFixture) -> None:
    faults.keep_values_out_of_logs()
    faults.keep_values_out_of_logs()  # once is enough
    logger = logging.getLogger(name)
    assert len(logger.filters) == 1
    try:
        fails()
    except KeyError as error:
        logger.exception(error)
        logger.error("of %s", SECRET, exc_info=error)
    logger.error("a line")
    assert SECRET not in caplog.text
    assert caplog.text.count("in fails") == 2
    assert "a line" in caplog.text
    logger.filters.clear()
