"""The report of a replay: the same words on the terminal, as a page and in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import TYPE_CHECKING

from dpaudit.escaping import make_printable, one_line
from dpaudit.faults.catalogue import fault_line
from dpaudit.notebook import render_notebook_table, render_piece
from dpaudit.replaying.digits import in_four_digits
from dpaudit.replaying.spending import Reason, Why
from dpaudit.report.render import make_template_environment

if TYPE_CHECKING:
    from dpaudit.replaying.result import Replay, ReplayedCall, ReplayFinding

COLUMNS = ("#", "place", "primitive", "shape", "scale", "moved", "seen", "declared", "spent")
_NONE = "—"
_TIERS = {
    "proof": "Proofs: the claim is false on this pair",
    "violation": "Violations: what is stated does not hold on this pair",
    "withheld": "Withheld: why nothing can be said of the claim",
    "hint": "Hints: places to look at",
}


def format_call_row(call: ReplayedCall, a_unit: float | None = None) -> tuple[str, ...]:
    """Return a call as a row of the table with `COLUMNS`.

    ``a_unit`` is how far it moved a unit of distance, of a claim that is about that.

    Examples
    --------
    >>> from dpaudit.replaying.result import ReplayedCall
    >>> one = ReplayedCall(index=0, place="a.py:3 in f", name="random.gauss", kind="normal",
    ...     shape=(), scale=2.0, other_scale=2.0, moved=1.0, seen="argument", steady=True,
    ...     declared=None, epsilon=None, spent=0.5)
    >>> format_call_row(one)
    ('0', 'a.py:3 in f', 'random.gauss', '—', '2', '1', 'argument', '—', 'mu 0.5')
    """
    scale = _format_optional_number(call.scale)
    if call.other_scale is not None and call.other_scale != call.scale:
        scale = f"{scale} / {_format_optional_number(call.other_scale)}"
    moved = _format_optional_number(call.moved) + ("" if call.steady or not call.moved else " *")
    if a_unit is not None:
        moved += f" ({_format_optional_number(a_unit)} a unit)"
    return (
        str(call.index),
        call.place,
        call.name,
        "x".join(map(str, call.shape)) or _NONE,
        scale,
        moved,
        call.seen or _NONE,
        _format_optional_number(call.declared),
        _NONE if call.spent is None else f"{unit_of(call)} {_format_optional_number(call.spent)}",
    )


def unit_of(call: ReplayedCall) -> str:
    """Return the unit of the spending of a call."""
    return "mu" if call.kind in ("normal", "diffprivlib.Gaussian") else "epsilon"


SHORT = ("#", "place", "primitive", "scale", "moved", "declared", "spent")


def format_call_rows(found: Replay) -> list[tuple[str, ...]]:
    """Return all calls as rows of the table with `COLUMNS`."""
    return [format_call_row(one, found.moved_a_unit(one)) for one in found.calls]


def short_row(call: ReplayedCall, a_unit: float | None = None) -> tuple[str, ...]:
    """Return a call as a row of the table with `SHORT`, for a terminal."""
    held = dict(zip(COLUMNS, format_call_row(call, a_unit), strict=True))
    held["primitive"] = ".".join(call.name.split(".")[-2:])
    return tuple(held[name] for name in SHORT)


def _format_optional_number(value: float | None) -> str:
    return _NONE if value is None or math.isnan(value) else f"{value:.4g}"


def format_replay_summary(found: Replay) -> Iterator[str]:
    """Yield the claim and the subjects of the replay, line by line."""
    yield f"Claimed: epsilon = {found.epsilon:g}, delta = {found.delta:g}; {found.relation}."
    if (a_unit := found.a_unit) is not None:
        far = f"{a_unit.apart:.6g} apart ({a_unit.distance})"
        yield f"The two are {far}, at {a_unit.claimed:g} a unit."
    if found.edit:
        among = f" ({found.pairs} pairs were replayed)" if found.pairs > 1 else ""
        yield f"The neighbour: {found.edit}{among}."
    yield (
        f"Called as {found.form}; {found.runs} replays on each dataset, the first of which is "
        f"shown."
    )
    yield from _format_spending_lines(found)
    yield from _of_no_other(found)
    if found.unread:
        yield f"Replay read no law for: {', '.join(found.unread[:8])}."


def _of_no_other(found: Replay) -> Iterator[str]:
    """Yield the questions that *not refuted* leaves open, and the most that counts can show."""
    if found.verdict != "not refuted":
        return
    pairs = "one pair" if found.pairs == 1 else f"{found.pairs} pairs"
    yield (
        f"Not refuted: the replay tried {pairs}. The loss on one pair proves nothing about other "
        "pairs, and replays show nothing about noise that none of them had: this is not "
        "evidence that the claim holds."
    )
    yield (
        "If replay reads the law of a number, it can prove an epsilon of any size. For all "
        "other parts it counts events, in a number of outputs that can certify at most "
        f"{_format_lower_end(found.cap)}."
    )


_WHY: Mapping[Why, str] = {
    "feedback": "the centre depends on noise, so its movement is not a sensitivity, in",
    "shared": "the same noise is added to several values that move by different amounts in",
    "scale": "the scale differs on the neighbour in",
    "no law": "the noise has no law that an accountant knows in",
    "unseen": "replay did not see the value to which the noise is added in",
    "calls": "replays do not all make the same calls of primitives, as noise or data decide",
    "elsewhere": "some randomness is not intercepted, or calls keep a state",
    "outputs": "the data reach the output without passing through the noise",
    "unread": "a part of the output changes with the noise by no known law, and may show the noise",
    "seeded": "several replays draw noise with the same seed, so this noise hides nothing",
    "slow": "the calls are too slow for replays with noise of every size",
    "infinite": "no epsilon is finite at that delta",
}
_LEAST_EXCESS = 2.0


def _format_spending_lines(found: Replay) -> Iterator[str]:
    """Yield the total that all noisy values spend, or why it is unknown, and the spare part."""
    spending = found.spending
    if spending.epsilon is not None:
        yield (
            "All noisy values together spend an epsilon of "
            f"{_format_upper_number(spending.epsilon)} at that delta on this pair, if each is "
            "released and nothing else looks at the data. Their centres were the same in "
            f"{spending.ordinary} replays on each dataset with other noise, and in "
            f"{spending.graded} with noise of up to 20,000 scales; this does not exclude a "
            "dependence on noise that none of them had."
        )
    elif spending.reasons:
        reasons = "; ".join(
            _format_unknown_reason(one, len(found.calls)) for one in spending.reasons
        )
        yield f"The total loss of all noisy values is unknown: {reasons}."
    if spending.mu is not None:
        yield (
            "All of them have Gaussian noise, with a total mu of "
            f"{_format_upper_number(spending.mu)}: the scale is about {1 / spending.mu:.3g} "
            "times their movement."
        )
    if spending.excess is not None and spending.excess >= _LEAST_EXCESS:
        yield (
            f"That is about {spending.excess:.3g} times the noise that the claim needs on this "
            "pair: it may have been scaled for a larger sensitivity, or another pair moves more."
        )


def _format_upper_number(value: float) -> str:
    """Return an upper number in four digits, rounded up."""
    return f"{in_four_digits(value, ROUND_CEILING):.4g}"


def _format_lower_end(value: float) -> str:
    """Return a lower number in four digits, rounded down."""
    return f"{in_four_digits(value, ROUND_FLOOR):.4g}"


def _format_unknown_reason(one: Reason, calls: int) -> str:
    if not one.calls:
        return _WHY[one.why]
    where = "" if one.place is None else f", the first at {one.place}"
    return f"{_WHY[one.why]} {one.calls} of {calls} calls{where}"


def render_replay_html(found: Replay) -> str:
    """Return the report as one HTML page that needs nothing else; every text in it is escaped."""
    page = (
        make_template_environment(html=True)
        .get_template("replay.html.j2")
        .render(
            found=found,
            summary=list(format_replay_summary(found)),
            tiers=list(_by_tier(found)),
            columns=COLUMNS,
            rows=format_call_rows(found),
        )
    )
    return make_printable(page)


def _by_tier(found: Replay) -> Iterator[tuple[str, list[ReplayFinding]]]:
    for tier, title in _TIERS.items():
        if listed := [one for one in found.findings if one.tier == tier]:
            yield title, listed


def render_replay_markdown(found: Replay) -> str:
    """Return the report as Markdown."""
    lines = [
        f"# {_escape_markdown(found.mechanism)}: {found.verdict}",
        "",
        *format_replay_summary(found),
    ]
    for title, listed in _by_tier(found):
        lines += ["", f"## {title}", ""]
        for one in listed:
            place = "" if one.place is None else f" `{_escape_markdown(one.place)}`"
            lines.append(
                f"- **{one.heading}**: "
                f"{_escape_markdown(one.words)}{place}{_format_finding_fault(one)}"
            )
    lines += ["", "## Calls of random primitives", ""]
    lines += [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    lines += [f"| {' | '.join(map(_escape_markdown, one))} |" for one in format_call_rows(found)]
    lines += [
        "",
        "A `*` beside a movement: the centre depends on noise, so that it is no "
        "sensitivity. docs/replay.md says what each tier rests on.",
        "",
    ]
    return "\n".join(lines)


def as_text(found: Replay) -> str:
    """Return the verdict, the findings with their places, and their kinds of fault, as lines."""
    return "\n".join(
        [
            f"{found.mechanism}: {found.verdict}",
            *format_replay_summary(found),
            *finding_lines(found),
        ]
    )


def finding_lines(found: Replay) -> Iterator[str]:
    """Yield each finding with its place, then each kind of fault once."""
    for one in found.findings:
        place = "" if one.place is None else f" ({one.place})"
        yield f"{one.tier}, {one.heading}: {one.words}{place}"
    for code in dict.fromkeys(one.fault for one in found.findings if one.fault is not None):
        yield fault_line(code)


def as_html(found: Replay) -> str:
    """Return the report as a piece of HTML."""
    listed = [
        (
            one.tier,
            f"{one.heading}: {one.words}{_format_finding_fault(one)}",
            _NONE if one.place is None else one.place,
        )
        for one in found.findings
    ]
    parts = (
        [render_notebook_table("Findings", ("tier", "what moved", "place"), listed)]
        if listed
        else []
    )
    if found.calls:
        parts.append(
            render_notebook_table("Calls of random primitives", COLUMNS, format_call_rows(found))
        )
    return render_piece(f"{found.mechanism}: {found.verdict}", format_replay_summary(found), *parts)


def _format_finding_fault(one: ReplayFinding) -> str:
    return "" if one.fault is None else f" ({fault_line(one.fault)})"


def _escape_markdown(text: str) -> str:
    """Return text on one line in which nothing is markup."""
    return one_line(text).replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
