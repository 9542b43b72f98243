"""The page of every statement of papers, as Markdown: the wrong ones first, then all in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dpaudit.extension.ledger import Cause, Paper
from dpaudit.ledger.counts import count_rows
from dpaudit.ledger.verdicts import JudgedRow, Ledger
from dpaudit.report.findings import deciding_words
from dpaudit.report.ledger_schema import causes_of
from dpaudit.report.render import make_template_environment, markdown_text

_MOST = 3  # findings of a check that the page shows; `dpaudit show` has them all
_MARKS: Mapping[str, str] = {
    "proved": "✓",
    "refuted": "✗",
    "reproduced": "✓",
    "differs": "≠",
    "not settled": "?",
    "stipulated": "·",
}


def render_statements(ledger: Ledger) -> str:
    """Return the page of all papers of a ledger."""
    judged = {paper.name: ledger.judge_paper(paper) for paper in ledger.papers}
    papers = [paper for paper in ledger.papers if paper.rows]
    counts = count_rows(row for rows in judged.values() for row in rows)
    lines = [line for paper in papers for line in _render_paper(paper, judged[paper.name])]
    page = make_template_environment(html=False).get_template("statements.md.j2")
    text = page.render(headline=counts.headline, papers="\n".join(lines))
    return text.rstrip("\n") + "\n"


def _render_paper(paper: Paper, judged: Sequence[JudgedRow]) -> Iterator[str]:
    yield from (f"## {paper.name}: {markdown_text(paper.title)}", "")
    yield from (f"{markdown_text(paper.citation)}.", "", f"{count_rows(judged).headline}", "")
    causes = causes_of(judged)
    if causes:
        yield from (f"### What is wrong in {paper.name}", "")
        for cause, falling in causes.values():
            yield from (_render_cause(cause, falling), "")
    yield from (f"### All statements of {paper.name}", "")
    for one in judged:
        yield from _render_row(one)


def _render_cause(cause: Cause, falling: Sequence[JudgedRow]) -> str:
    private = ", touches privacy" if any(one.row.privacy for one in falling) else ""
    rows = ", ".join(_render_row_link(one.row.name) for one in falling)
    name, text = markdown_text(cause.name), markdown_text(cause.text)
    count = "one statement" if len(falling) == 1 else f"{len(falling)} statements"
    return f"- **{name}** ({cause.nature}{private}). {text} It refutes {count}: {rows}."


def _render_row_link(name: str) -> str:
    return f'<a href="#{name}"><code>{name}</code></a>'


def _render_row(judged: JudgedRow) -> Iterator[str]:
    row = judged.row
    private = ", privacy" if row.privacy else ""
    yield from (f'<a id="{row.name}"></a>**{markdown_text(row.place)}** `{row.name}`', "")
    yield from (markdown_text(row.statement), "")
    yield (
        f"{_MARKS[judged.verdict]} "
        f"**{markdown_text(judged.verdict_words)}**{_format_row_cause(judged)}"
    )
    yield from (f"({row.standing}{private}). {_render_numbers(judged)}".rstrip(), "")
    if judged.verdict == "refuted":
        yield from _render_dispute(judged)


def _format_row_cause(judged: JudgedRow) -> str:
    return "" if judged.cause is None else f" (cause: *{markdown_text(judged.cause.name)}*)"


def _render_numbers(judged: JudgedRow) -> str:
    said = [markdown_text(words) for words in deciding_words(judged, _MOST)]
    if judged.audits:
        # Links of a Markdown page lead to Markdown, which code hosts render; their HTML they
        # show as source.
        page = judged.audits[0].report.removesuffix("html") + "md"
        said.append(f"[Report](../reports/{page}).")
    return " ".join(said)


def _render_dispute(judged: JudgedRow) -> Iterator[str]:
    yield from ("<details><summary>The best defence, and our answer</summary>", "")
    yield from (f"*Defence.* {markdown_text(judged.defence)}", "")
    yield from (f"*Answer.* {markdown_text(judged.answer)}", "", "</details>", "")
