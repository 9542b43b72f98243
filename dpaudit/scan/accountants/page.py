"""The scan of an accountant as JSON and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR
from pathlib import Path
from typing import Any

from dpaudit.files import write_files
from dpaudit.formats import add_schema
from dpaudit.report.formatting import format_integer, format_significant
from dpaudit.scan.accountants.document import (
    AccountantScan,
    AnswerGroup,
    Example,
    PublishedAccountant,
)
from dpaudit.scan.publication.pages import format_finding_count

NAME = "accountant"
_DIGITS = 8


def make_accountant_document(result: AccountantScan) -> dict[str, Any]:
    """Return all of a scan as JSON takes it, infinities as text."""
    return add_schema(NAME, json.loads(result.model_dump_json()))


def write_accountant_scan(result: AccountantScan, folder: Path) -> Path:
    """Write a scan as JSON and as Markdown; return the page's path."""
    page = folder / f"{NAME}.md"
    text = json.dumps(make_accountant_document(result), indent=2, allow_nan=False) + "\n"
    write_files(
        folder,
        {folder / f"{NAME}.json": text.encode(), page: render_accountant_markdown(result).encode()},
    )
    return page


def format_group_sentence(group: AnswerGroup) -> str:
    """Return the sentence on a group of answers, with its worst example."""
    first = group.examples[0]
    words = first.words or _format_example_answer(group, first)
    many = "" if group.answers == 1 else f", and {format_integer(group.answers - 1)} more"
    threads = f" ({', '.join(group.threads)})" if group.threads else ""
    return f"{group.judgement}: {first.question}: {words}{many}{threads}"


def _format_example_answer(group: AnswerGroup, example: Example) -> str:
    answer = ", ".join(format_significant(value, _DIGITS) for value in example.answer)
    words = f"answers {answer}"
    if example.lower is not None and example.upper is not None:
        # The printed bracket is rounded outwards: rounded inwards, it would be certified by
        # nothing.
        lower = format_significant(example.lower, _DIGITS, ROUND_FLOOR)
        upper = format_significant(example.upper, _DIGITS, ROUND_CEILING)
        what = "delta there" if group.asks in ("noise", "spent") else "the truth"
        words += f", {what} is in [{lower}, {upper}]"
    if example.true_delta is not None and group.asks == "epsilon":
        words += f", delta there is {format_significant(example.true_delta)}"
    return f"{words} ({example.evidence})" if example.evidence else words


def format_closing_sentence(result: AccountantScan) -> str:
    """Return the sentence on all questions and their outcome."""
    false = sum(group.answers for group in result.violations)
    claims = f"{format_integer(false)} answers claim" if false != 1 else "1 answer claims"
    return (
        f"{format_integer(result.questions)} questions, {format_integer(result.answers)} answers "
        "in numbers; "
        f"{claims} more privacy than is true, or bound what they do not. "
        f"{result.seconds:.0f} seconds."
    )


def render_accountant_markdown(result: AccountantScan) -> str:
    """Return a scan as Markdown."""
    return "\n".join(_render_accountant_lines(result)) + "\n"


def public_markdown(public: PublishedAccountant) -> str:
    """Return the public part of a scan as Markdown."""
    return "\n".join(_public_lines(public)) + "\n"


def format_false_claim_count(public: PublishedAccountant) -> str:
    """Return how many false claims there are; of those under disclosure, the number alone."""
    return f"{format_finding_count(len(public.violations), public.under_disclosure).capitalize()}."


def _public_lines(public: PublishedAccountant) -> Iterator[str]:
    yield f"# The accountants of {public.distribution} {public.version}"
    yield ""
    yield f"{public.date}, dpaudit {public.dpaudit}, Python {public.python}. {public.home}"
    yield ""
    yield (
        f"{format_integer(public.questions)} questions, {format_integer(public.answers)} answers "
        "in numbers, each "
        f"held against a certified bracket. {format_false_claim_count(public)}"
    )
    yield ""
    yield "| method | its answers are | neighbours | where it says so |"
    yield "|---|---|---|---|"
    for one in public.methods:
        yield f"| {one.name} | {one.states} | {one.relation} | {one.where} |"
    yield from _render_group_section("False claims", public.violations)


def _render_accountant_lines(result: AccountantScan) -> Iterator[str]:
    yield f"# The accountants of {result.distribution} {result.version}"
    yield ""
    yield f"{result.date}, dpaudit {result.dpaudit}, Python {result.python}. {result.home}"
    yield ""
    yield format_closing_sentence(result)
    yield ""
    yield "| method | states | neighbours | asked | answered | times the truth | milliseconds |"
    yield "|---|---|---|---|---|---|---|"
    for one in result.methods:
        milliseconds = None if one.seconds is None else 1e3 * one.seconds
        excess = f"{format_significant(one.excess)}, at most {format_significant(one.most_excess)}"
        cells = (
            one.name,
            one.states,
            one.relation,
            format_integer(one.asked),
            format_integer(one.answered),
            excess,
            format_significant(milliseconds),
        )
        yield f"| {' | '.join(cells)} |"
    yield from _render_group_section("False claims", result.violations)
    yield from _render_group_section("Wrong, but without a false claim", result.defects)
    yield from _render_group_section(
        "Below our bracket, without a second opinion", result.unconfirmed
    )
    if result.unordered:
        yield ""
        yield "## Not monotone"
        yield ""
    for pair in result.unordered:
        yield (
            f"* {pair.method}, in {pair.coordinate}, {format_integer(pair.pairs)} pairs: "
            f"{pair.less.question} gives {_format_example_numbers(pair.less)}, "
            f"{pair.more.question} "
            f"{_format_example_numbers(pair.more)}"
        )


def _format_example_numbers(example: Example) -> str:
    return ", ".join(format_significant(value, _DIGITS) for value in example.answer)


def _render_group_section(title: str, groups: list[AnswerGroup]) -> Iterator[str]:
    if groups:
        yield ""
        yield f"## {title}"
        yield ""
    for group in groups:
        yield f"* **{group.method}** ({group.relation}), {format_group_sentence(group)}"
        yield f"  * {group.states}: {group.where}"
