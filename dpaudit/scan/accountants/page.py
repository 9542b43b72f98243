"""The scan of an accountant as JSON and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR
from pathlib import Path
from typing import Any

from dpaudit.files import write_files
from dpaudit.formats import stamped
from dpaudit.report.formatting import count, number
from dpaudit.scan.accountants.document import AccountantScan, Example, Group, PublishedAccountant
from dpaudit.scan.pages import found

NAME = "accountant"
_DIGITS = 8


def document(result: AccountantScan) -> dict[str, Any]:
    """Return all of a scan as JSON takes it, infinities as text."""
    return stamped(NAME, json.loads(result.model_dump_json()))


def write(result: AccountantScan, folder: Path) -> Path:
    """Write a scan as JSON and as Markdown; return the page's path."""
    page = folder / f"{NAME}.md"
    text = json.dumps(document(result), indent=2, allow_nan=False) + "\n"
    write_files(folder, {folder / f"{NAME}.json": text.encode(), page: markdown(result).encode()})
    return page


def sentence(group: Group) -> str:
    """Return what a group of answers has in common, with its worst example."""
    first = group.examples[0]
    words = first.words or _told(group, first)
    many = "" if group.answers == 1 else f", and {count(group.answers - 1)} more"
    threads = f" ({', '.join(group.threads)})" if group.threads else ""
    return f"{group.judgement}: {first.question}: {words}{many}{threads}"


def _told(group: Group, example: Example) -> str:
    answer = ", ".join(number(value, _DIGITS) for value in example.answer)
    words = f"answers {answer}"
    if example.lower is not None and example.upper is not None:
        lower = number(example.lower, _DIGITS, ROUND_FLOOR)
        upper = number(example.upper, _DIGITS, ROUND_CEILING)
        what = "delta there" if group.asks in ("noise", "spent") else "the truth"
        words += f", {what} is in [{lower}, {upper}]"
    if example.true_delta is not None and group.asks == "epsilon":
        words += f", delta there is {number(example.true_delta)}"
    return f"{words} ({example.evidence})" if example.evidence else words


def closing(result: AccountantScan) -> str:
    """Return what was asked in all, and what came of it."""
    false = sum(group.answers for group in result.violations)
    claims = f"{count(false)} answers claim" if false != 1 else "1 answer claims"
    return (
        f"{count(result.questions)} questions, {count(result.answers)} answers in numbers; "
        f"{claims} more privacy than is true, or bound what they do not. "
        f"{result.seconds:.0f} seconds."
    )


def markdown(result: AccountantScan) -> str:
    """Return a scan as Markdown."""
    return "\n".join(_lines(result)) + "\n"


def public_markdown(public: PublishedAccountant) -> str:
    """Return what is public of a scan as Markdown."""
    return "\n".join(_public_lines(public)) + "\n"


def told(public: PublishedAccountant) -> str:
    """Return how many false claims there are, of what is under disclosure the number alone."""
    return f"{found(len(public.violations), public.under_disclosure).capitalize()}."


def _public_lines(public: PublishedAccountant) -> Iterator[str]:
    yield f"# The accountants of {public.distribution} {public.version}"
    yield ""
    yield f"{public.date}, dpaudit {public.dpaudit}, Python {public.python}. {public.home}"
    yield ""
    yield (
        f"{count(public.questions)} questions, {count(public.answers)} answers in numbers, each "
        f"held against a certified bracket. {told(public)}"
    )
    yield ""
    yield "| method | its answers are | neighbours | where it says so |"
    yield "|---|---|---|---|"
    for one in public.methods:
        yield f"| {one.name} | {one.states} | {one.relation} | {one.where} |"
    yield from _section("False claims", public.violations)


def _lines(result: AccountantScan) -> Iterator[str]:
    yield f"# The accountants of {result.distribution} {result.version}"
    yield ""
    yield f"{result.date}, dpaudit {result.dpaudit}, Python {result.python}. {result.home}"
    yield ""
    yield closing(result)
    yield ""
    yield "| method | states | neighbours | asked | answered | times the truth | milliseconds |"
    yield "|---|---|---|---|---|---|---|"
    for one in result.methods:
        milliseconds = None if one.seconds is None else 1e3 * one.seconds
        excess = f"{number(one.excess)}, at most {number(one.most_excess)}"
        cells = (
            one.name,
            one.states,
            one.relation,
            count(one.asked),
            count(one.answered),
            excess,
            number(milliseconds),
        )
        yield f"| {' | '.join(cells)} |"
    yield from _section("False claims", result.violations)
    yield from _section("Wrong, though nothing false is claimed", result.defects)
    yield from _section("Below our bracket, without a second opinion", result.unconfirmed)
    if result.unordered:
        yield ""
        yield "## Not monotone"
        yield ""
    for pair in result.unordered:
        yield (
            f"* {pair.method}, in {pair.coordinate}, {count(pair.pairs)} pairs: "
            f"{pair.less.question} gives {_numbers(pair.less)}, {pair.more.question} "
            f"{_numbers(pair.more)}"
        )


def _numbers(example: Example) -> str:
    return ", ".join(number(value, _DIGITS) for value in example.answer)


def _section(title: str, groups: list[Group]) -> Iterator[str]:
    if groups:
        yield ""
        yield f"## {title}"
        yield ""
    for group in groups:
        yield f"* **{group.method}** ({group.relation}), {sentence(group)}"
        yield f"  * {group.states}: {group.where}"
