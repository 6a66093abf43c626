"""The page as a whole: what it must not be used for, the score, pictures, tables."""

from __future__ import annotations

from collections.abc import Sequence

from jaxdp.program.evaluation.fidelity import comparison
from jaxdp.program.evaluation.fidelity.comparison import Fidelity
from jaxdp.program.evaluation.fidelity.models import Trained
from jaxdp.program.report import page
from jaxdp.program.report.fidelity import associations, histograms, sheets
from jaxdp.program.report.fidelity.style import CSS
from jaxdp.program.report.values import escaped


def render(found: Fidelity, *, title: str) -> str:
    """Return a comparison as one HTML page; **private**.

    Args:
        found: the comparison.
        title: heading of the page.
    """
    said = comparison.figures(found)
    facts = {name: said[name] for name in ("records", "sampled", "compared_in_pairs")}
    sections = [
        f'<section class="loud"><h2>NOT FOR RELEASE</h2><p>{said["note"]}</p></section>',
        _lead(found),
        histograms.section(found),
        associations.section(found),
        sheets.models(found),
        sheets.columns(found),
        sheets.pairs(found),
        sheets.queries(found),
        sheets.rules(found),
        page.table_section("What is compared", facts),
        page.table_section("What is measured", said["measures"]),
    ]
    return page.document(title, sections, more_css=CSS)


def _lead(found: Fidelity) -> str:
    score = found.score
    sentence = (
        f"The made records score {_two(score.score)} of 1: {_two(score.columns)} for single "
        f"columns, {_two(score.pairs)} for pairs of columns."
    )
    mean, _, chance = comparison.mean_error(found.queries)
    cards = {
        "Score": (_two(score.score), "1 is best"),
        "Private and made are told apart": (
            f"AUC {_two(found.told_apart.value)}",
            "0.5 is best",
        ),
        "Error of three-way shares": (
            f"{100 * mean:.2f} %",
            f"by chance {100 * chance:.2f} %",
        ),
    }
    for each in _first_of_targets(found.trained):
        real, made = (None if side is None else side.value for side in (each.real, each.made))
        name = f"Predicting {each.target}, trained on made"
        measure = {"auc": "AUC ", "r2": "R² "}[each.measure] if made is not None else ""
        cards[name] = (f"{measure}{_two(made)}", f"{_two(real)} trained on private")
    facts = "".join(
        f'<div class="fact"><span>{escaped(name)}</span><strong>{escaped(value)}</strong>'
        f"<small>{escaped(more)}</small></div>"
        for name, (value, more) in cards.items()
    )
    return f'<p class="lead gap">{escaped(sentence)}</p><div class="facts">{facts}</div>'


def _first_of_targets(trained: Sequence[Trained]) -> list[Trained]:
    """Return for each of the first three targets its first model and measure."""
    firsts: dict[str, Trained] = {}
    for each in trained:
        firsts.setdefault(each.target, each)
    return list(firsts.values())[:3]


def _two(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.2f}"
