"""Tables of numbers: a row for each column, pair, question or model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jaxdp.program.evaluation.fidelity import associations, comparison
from jaxdp.program.evaluation.fidelity.columns import QUANTILES, Compared
from jaxdp.program.evaluation.fidelity.comparison import Fidelity
from jaxdp.program.evaluation.fidelity.resampled import Measured
from jaxdp.program.report.fidelity.associations import NAMES, told
from jaxdp.program.report.values import escaped

_MOST_PAIRS, _MOST_QUERIES = 20, 10
# So many times what chance makes is marked.
_FAR = 3.0
_MEASURES = {"ks": "KS", "total_variation": "total variation"}
_MODELS = {"auc": "AUC", "accuracy": "accuracy", "r2": "R²"}
_KINDS = {**NAMES, associations.SPEARMAN: "correlation of ranks"}


class _Noted(NamedTuple):
    """A text, what is said of it below, and whether it is marked."""

    text: str
    note: str = ""
    is_far: bool = False


_Cell = float | str | _Noted | None


def columns(found: Fidelity) -> str:
    """Return the sections of single columns, those that differ most first."""
    order = sorted(found.compared, key=lambda each: -(each.apart.distance if each.apart else 0))
    rows = [_column(each) for each in order]
    said = (
        f"Marked is what is more than {_FAR:g} times what two samples of one distribution differ "
        "by. Wasserstein: mean distance by which numbers are moved to make one table of the other, "
        "as a share of the largest private number less the least."
    )
    head: Sequence[str] = ("column", "distance", "by chance", "Wasserstein", *_MISSING)
    found_sections = [_section("Columns", head, rows, words=1, said=said)]
    with_numbers = [each for each in found.compared if each.numbers is not None]
    if with_numbers:
        shares = [f"{100 * share:g} %" for share in QUANTILES]
        quantiles = [row for each in with_numbers for row in _quantiles(each)]
        head = ("column", *shares)
        found_sections.append(_section("Quantiles of numbers", head, quantiles, words=1))
    spikes = [
        (each.name, _number(spike.value), _percent(spike.real), _percent(spike.made))
        for each in with_numbers
        if each.numbers is not None
        for spike in each.numbers.spikes
    ]
    if spikes:
        said = "Values that at least 5 % of either table's records have."
        head = ("column", "value", "private", "made")
        found_sections.append(_section("Spikes of numbers", head, spikes, words=1, said=said))
    return "".join(found_sections)


_MISSING = ("missing, private", "missing, made")


def pairs(found: Fidelity) -> str:
    """Return the sections of associations; empty where there are no pairs."""
    if not found.pairs:
        return ""
    kinds = [
        (_KINDS[kind], str(said["pairs"]), said["mean"], said["largest"])
        for kind, said in associations.differences(found.pairs).items()
    ]
    most = sorted(found.pairs, key=lambda pair: -abs(pair.real - pair.made))[:_MOST_PAIRS]
    rows = [
        (_Noted(told(found, pair), NAMES[pair.kind]), pair.real, pair.made, pair.similarity)
        for pair in most
    ]
    head = ("association", "pairs", "mean difference", "largest")
    of_pairs = ("columns", "private", "made", "similarity")
    heading = f"The {len(rows)} pairs that differ most" if len(rows) > 1 else "The pair"
    return _section("Differences of associations", head, kinds, words=1) + _section(
        heading, of_pairs, rows, words=1
    )


def rules(found: Fidelity) -> str:
    """Return the section of rules; empty where the schema has none."""
    rows = [
        (rule, "not read" if real is None else str(real), str(made))
        for rule, real, made in found.rules
    ]
    said = "Records that break each. Totals are not read of private records."
    head = ("rule", "private", "made")
    return _section("Rules", head, rows, words=1, said=said) if rows else ""


def queries(found: Fidelity) -> str:
    """Return the section of questions."""
    mean, largest, chance = comparison.mean_error(found.queries)
    said = (
        f"{len(found.queries)} random questions about three columns at once. Shares of records "
        f"differ by {_percent(mean)} on average (by chance {_percent(chance)}), and by "
        f"{_percent(largest)} at most. These differ most:"
    )
    most = sorted(found.queries, key=lambda query: -query.error)[:_MOST_QUERIES]
    rows = [(query.text, _percent(query.real), _percent(query.made)) for query in most]
    head = ("question", "private", "made")
    return _section("Three columns at once", head, rows, words=1, said=said)


def models(found: Fidelity) -> str:
    """Return the section of trained models; empty where nothing is to be predicted."""
    rows = [
        (
            _Noted(each.target, f"{each.model}, {_MODELS[each.measure]}"),
            _measured(each.real),
            _measured(each.made),
        )
        for each in found.trained
    ]
    said = (
        f"Each model predicts a column from all others, for the {found.records[2]} records held "
        "out. Below each figure: its interval of 95 %, by resampling these."
    )
    head = ("target", "trained on private", "trained on made")
    heading = "Models trained on either table"
    return _section(heading, head, rows, words=1, said=said) if rows else ""


def _measured(of: Measured | None) -> _Noted:
    if of is None or of.value is None or of.interval is None:
        return _Noted("not defined")
    return _Noted(f"{of.value:.3f}", f"{of.interval[0]:.3f} to {of.interval[1]:.3f}")


def _column(each: Compared) -> tuple[_Cell, ...]:
    distance, chance = (None, None) if each.apart is None else each.apart
    is_far = distance is not None and (chance is None or distance > _FAR * chance)
    wasserstein = None if each.numbers is None else each.numbers.wasserstein
    return (
        _Noted(each.name, _MEASURES[each.measure]),
        _Noted(f"{distance:.3f}", is_far=True) if is_far else distance,
        chance,
        wasserstein,
        *map(_percent, each.missing),
    )


def _quantiles(each: Compared) -> Iterable[tuple[_Cell, ...]]:
    assert each.numbers is not None
    real, made = zip(*each.numbers.quantiles.values(), strict=True)
    yield _Noted(each.name, "private"), *map(_number, real)
    yield _Noted(each.name, "made"), *map(_number, made)


def _section(
    heading: str,
    head: Sequence[str],
    rows: Iterable[Sequence[_Cell]],
    *,
    words: int,
    said: str = "",
) -> str:
    """Return a section with a table, the first columns of which are words."""
    names = "".join(_in("th", place < words, escaped(name)) for place, name in enumerate(head))
    body = "".join(
        f"<tr>{''.join(_in('td', at < words, _cell(value)) for at, value in enumerate(row))}</tr>"
        for row in rows
    )
    told = f'<p class="faint">{escaped(said)}</p>' if said else ""
    return (
        f'<section><h2>{escaped(heading)}</h2>{told}<div class="scroll" role="region" '
        f'aria-label="{escaped(heading)}" tabindex="0"><table class="sheet"><tbody>'
        f"<tr>{names}</tr>{body}</tbody></table></div></section>"
    )


def _in(tag: str, is_word: bool, content: str) -> str:
    return f'<{tag} class="words">{content}</{tag}>' if is_word else f"<{tag}>{content}</{tag}>"


def _cell(value: _Cell) -> str:
    if isinstance(value, _Noted):
        text = escaped(value.text)
        text = f'<span class="far">{text}</span>' if value.is_far else text
        return text + (f"<small>{escaped(value.note)}</small>" if value.note else "")
    return escaped("" if value is None else f"{value:.3f}" if isinstance(value, float) else value)


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
