"""The display of a budget: sentences, Markdown, JSON and a picture over time."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR
from pathlib import Path

from dpaudit.escaping import one_line
from dpaudit.files import write_files
from dpaudit.formats import to_json
from dpaudit.plots import Curve, Panel, render_picture
from dpaudit.report.formatting import format_significant
from dpaudit.spending.chain import ChainEntry
from dpaudit.spending.document import LimitDocument, Remark, SpendDocument
from dpaudit.spending.filters import FilterMethod, Limit, More
from dpaudit.spending.judging import Charge, currency_of, part_spent

DIGITS = 6
_WIDTH = 24  # of a bar
_WORDS: dict[Remark, str] = {
    "clock-behind": "A clock was slow: some release has an earlier time than the one before it. "
    "The order of the file counts.",
    "torn": "The last line is torn: its writer was kept from finishing it and reported no success. "
    "It counts as far as it can be read.",
    "network": "The file is on a network file system. All machines have to see its locks (flock), "
    "which not every such system grants.",
    "exceeded": "More is spent than the budget allows, so the budget no longer holds.",
    "planned": "The number holds if no parameter of a release depends on an earlier output.",
}


def name_limit(limit: Limit) -> str:
    """Return a limit as text.

    Examples
    --------
    >>> name_limit(Limit(epsilon=3.0, delta=1e-6)), name_limit(Limit(rho=0.5))
    ('epsilon = 3 at delta = 1e-6', 'rho = 0.5')
    """
    at = f" at delta = {format_significant(limit.delta)}" if limit.epsilon is not None else ""
    return f"{currency_of(limit)} = {format_significant(limit.size, DIGITS)}{at}"


def name_method(method: FilterMethod) -> str:
    """Return a method as text."""
    order = "" if method.order is None else f" at order {format_significant(method.order)}"
    return f"{method.name}{order}"


def name_release(entry: ChainEntry) -> str:
    """Return the release of a line: kinds and parameters."""
    if not entry.release:
        return "nothing"
    tables = [
        " ".join(
            _format_spent_value(value) if name == "kind" else f"{name}={_format_spent_value(value)}"
            for name, value in table.items()
            if value is not None
        )
        for table in entry.release
    ]
    stated = entry.stated
    at = (
        ""
        if stated is None
        else f" as ({format_significant(stated.epsilon)}, {format_significant(stated.delta)})-DP"
    )
    before = " (out before it was charged)" if entry.released and entry.torn is None else ""
    return one_line("; ".join(tables) + at + before)


def _format_spent_value(value: object) -> str:
    text = format_significant(value) if isinstance(value, float) else str(value)
    return text if len(text) <= 24 else "..."


def draw_bar(spent: float, size: float) -> str:
    """Return a bar of the spent part of a limit, never shorter than that is.

    Examples
    --------
    >>> draw_bar(1.0, 4.0)
    '██████░░░░░░░░░░░░░░░░░░'
    """
    share = min(1.0, part_spent(spent, size))
    full = math.ceil(share * _WIDTH - 1e-9)
    return "█" * full + "░" * (_WIDTH - full)


def spent_sentence(one: LimitDocument) -> str:
    """Return how much of a limit is spent, rounded so that it is no less."""
    spent = format_significant(one.spent, DIGITS, ROUND_CEILING)
    left = format_significant(one.left, DIGITS, ROUND_FLOOR)
    size = format_significant(one.limit.size, DIGITS)
    return f"Spent: {currency_of(one.limit)} = {spent} of {size}; left: {left}."


def meaning_of(found: SpendDocument) -> Iterator[str]:
    """Yield the meaning of the numbers, sentence by sentence."""
    if found.is_kept and found.filter != "planned":
        named = " and ".join(name_limit(one.limit) for one in found.limits)
        yield (
            f"Holds: {named}, for all that is charged, also where parameters were chosen by "
            "earlier outputs. The amount spent is a gauge, not a guarantee by itself."
        )
    odometer = found.odometer
    if math.isfinite(odometer.epsilon):
        at = f" at delta = {format_significant(odometer.delta)}" if odometer.delta else ""
        yield (
            "At all times at once, also for parameters chosen by earlier outputs (odometer): "
            "epsilon = "
            f"{format_significant(odometer.epsilon, DIGITS, ROUND_CEILING)}{at}."
        )
    if found.planned is not None and found.planned.epsilon is not None:
        best = min(found.planned.answers, key=lambda one: one.upper or 0.0)
        yield (
            "If every parameter was fixed before the first output: epsilon = "
            f"{format_significant(found.planned.epsilon, DIGITS, ROUND_CEILING)} at delta = "
            f"{format_significant(found.planned.delta)} ({best.accountant})."
        )
    if found.more is not None:
        yield f"Releases such as the last one that still fit: {count_text(found.more)}."
    yield from (_WORDS[one] for one in found.remarks)


def count_text(more: More) -> str:
    """Return how many, or at least how many."""
    return f"at least {more.count}" if more.is_least else str(more.count)


def charge_lines(found: Charge, what: str) -> Iterator[str]:
    """Yield the outcome of a release's charge, actual or possible."""
    spent = format_significant(found.spent, DIGITS, ROUND_CEILING)
    size = format_significant(found.size, DIGITS)
    who = f" to {', '.join(map(one_line, found.entry.groups))}" if found.entry.groups else ""
    yield f"{what} as number {found.entry.number}{who}: {name_release(found.entry)}"
    yield f"{found.currency} spent: {spent} of {size}  {draw_bar(found.spent, found.size)}"
    if not found.fits:
        hint = found.without or found.would_fit
        yield f"It does not fit: {hint}." if hint else "It does not fit."
    elif not found.is_slow:
        yield f"More such releases that fit after it: {count_text(found.more)}."


def charge_text(found: Charge) -> str:
    """Return the outcome of a release's charge as JSON."""
    document = {
        "fits": found.fits,
        "currency": found.currency,
        "spent": to_json(found.spent, non_finite="Infinity"),
        "size": found.size,
        "more": None if found.is_slow else found.more.model_dump(),
        "would_fit": None if (one := found.would_fit) is None else {one.name: one.value},
        "digest": found.digest,
        "entry": found.entry.model_dump(mode="json"),
    }
    return json.dumps(document, indent=2)


def as_json_text(found: SpendDocument) -> str:
    """Return all of it as JSON, as ``dpaudit schema spend`` describes it."""
    return found.model_dump_json(indent=2)


def as_markdown(found: SpendDocument) -> str:
    """Return all of it as Markdown."""
    about = [f"- Whose privacy: {_format_markdown_cell(found.unit)}; neighbours: {found.relation}"]
    about += [f"- Data: {_format_markdown_cell(found.period)}"] if found.period else []
    about += [f"- Groups: {_format_markdown_cell(found.partition)}"] if found.partition else []
    lines = ["# Privacy budget", "", *about, f"- Last line: `{found.head}`", ""]
    lines += [sentence for one in found.limits for sentence in (spent_sentence(one), "")]
    lines += [sentence for said in meaning_of(found) for sentence in (said, "")]
    lines += [*_accountant_lines(found)]
    lines += ["| number | when | who | charged to | release | about |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {' | '.join(map(_format_markdown_cell, row_of(one)))} |" for one in found.releases
    ]
    return "\n".join(lines) + "\n"


def _accountant_lines(found: SpendDocument) -> Iterator[str]:
    """Yield a table of the answers of accountants on parameters that are fixed in advance."""
    if found.planned is None:
        return
    yield from ("| accountant, if parameters were fixed in advance | epsilon |", "|---|---|")
    for one in found.planned.answers:
        yield f"| {one.accountant} | {format_significant(one.upper, DIGITS, ROUND_CEILING)} |"
    yield ""


def row_of(entry: ChainEntry) -> tuple[str, str, str, str, str, str]:
    """Return a line as cells of a table."""
    return (
        str(entry.number),
        entry.charged_at,
        entry.by or "",
        ", ".join(entry.groups) or "everybody",
        name_release(entry),
        entry.about or "",
    )


def _format_markdown_cell(text: str) -> str:
    escaped = one_line(text).replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`")
    return escaped.replace("<", "&lt;").replace("[", "\\[")


def write_shown(found: SpendDocument, folder: Path) -> Path:
    """Write JSON, Markdown and the picture into a folder; return the picture.

    Raises
    ------
    DataError
        They cannot be written.
    """
    panels = [_make_spending_panel(found)]
    contents = {
        folder / "spend.json": f"{as_json_text(found)}\n".encode(),
        folder / "spend.md": as_markdown(found).encode(),
        folder / "spend.svg": render_picture("Privacy budget", panels, "svg"),
        folder / "spend.png": render_picture("Privacy budget", panels, "png"),
    }
    write_files(folder, contents)
    return folder / "spend.png"


def _make_spending_panel(found: SpendDocument) -> Panel:
    """Return the spending, release by release, below the limit."""
    limit = max(found.limits, key=lambda one: part_spent(one.spent, one.limit.size)).limit
    points = [(0, 0.0), *((one.number, one.spent) for one in found.history)]
    steps = [(later[0], earlier[1]) for earlier, later in itertools.pairwise(points)]
    drawn = sorted((x, y) for x, y in (*points, *steps) if math.isfinite(y))
    numbers = [float(x) for x, _ in drawn]
    ends = [0.0, max(1.0, float(len(found.releases)))]
    return Panel(
        title=name_limit(limit),
        x_label="releases, in the order of the file",
        y_label=currency_of(limit),
        curves=(
            Curve(label="spent", x=numbers, y=[y for _, y in drawn]),
            Curve(label="budget", x=ends, y=[limit.size, limit.size]),
        ),
    )
