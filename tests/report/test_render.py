from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser

import pytest

from dpaudit.report.render import (
    format_code_block,
    format_report_summary,
    markdown_text,
    render_html,
    render_markdown,
)

from . import samples

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Checks nesting and collects what a test may ask for."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.pieces: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.pieces.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.pieces).split())


def test_page_is_well_formed_and_says_everything(usual, usual_html):
    page = Page(usual_html)
    assert "2 of 4 claims were refuted." in page.text
    for result in usual.results:
        check, self_check = result.assumptions[0], result.self_checks[0]
        said = [result.claim, result.statement, result.source, result.reason, result.rerun]
        said += [result.view, result.relation, result.pair, result.data, *result.notes]
        said += [check.statement, check.evidence, self_check.statement, self_check.evidence]
        said += [result.measured.estimator, *result.parameters, *result.counts]
        said += [entry.purpose for entry in result.budget]
        for text in said:
            assert text in page.text
    assert "no certified upper end" in page.text
    assert "An attack shows what leaks" in page.text
    assert "✗ does not hold" in page.text
    assert "✓ holds" in page.text
    assert "L2 sensitivity = 0.04" in page.text


def test_ids_are_unique_and_links_lead_somewhere(usual_html):
    page = Page(usual_html)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.tags:
        for name in ("href", "xlink:href", "aria-labelledby"):
            if name in attributes:
                assert (attributes[name] or "").removeprefix("#") in ids


@pytest.mark.parametrize("name", ["usual", "hostile"])
def test_page_asks_for_nothing_from_outside(name, request):
    html = request.getfixturevalue(f"{name}_html")
    page = Page(html)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in page.tags}
    for _, attributes in page.tags:
        assert not [key for key in attributes if key.startswith("on")]
        for key in ("src", "href", "xlink:href"):
            assert (attributes.get(key) or "#").startswith("#")
    style = "".join(re.findall(r"<style>.*?</style>", html, re.DOTALL))
    assert "@import" not in style
    assert "url(" not in style


def test_verdicts_are_never_praise(usual, usual_html):
    for text in (usual_html, render_markdown(usual)):
        assert not re.search(r"verified|is private\b|✓ not refuted", text)


def test_hostile_text_is_only_text(hostile, hostile_html):
    html = hostile_html
    page = Page(html)
    assert "<script" not in html
    assert html.count("</pre>") == len(hostile.results)
    assert "<script>alert(1)</script> </pre>" in page.text
    assert "{{ 7*7 }}" in page.text
    assert "&amp; " in page.text
    for control in "\x00\x1b\u202e":
        assert control not in html
        assert control not in render_markdown(hostile)


def test_markdown_tables_keep_their_rows(usual, hostile):
    for report in (usual, hostile):
        columns = None
        for line in _without_code(render_markdown(report)).splitlines():
            if not line.startswith("|"):
                columns = None
                continue
            assert line.endswith("|")
            cells = len(re.findall(r"(?<!\\)\|", line)) - 1
            columns = columns or cells
            assert cells == columns


def test_markdown_escapes(hostile):
    text = _without_code(render_markdown(hostile))
    assert "<" not in text
    assert markdown_text("1. a\n- b") == r"1\. a - b"
    assert markdown_text("# x_y *z* &lt; R&D") == r"\# x\_y \*z\* &amp;lt; R&D"


def test_code_block_outlasts_its_content():
    block = format_code_block("a ```` b\n```")
    assert block.startswith("`````sh\n")
    assert block.endswith("\n`````")


def test_markdown_ends_with_one_newline(usual):
    text = render_markdown(usual)
    assert text.endswith("\n")
    assert "\n\n\n" not in text


def test_infinities_and_empty_parts_are_drawn():
    bare = samples.infinite(
        assumptions=[], self_checks=[], budget=[], counts={}, parameters={}, notes=[]
    )
    page = Page(render_html(samples.report(bare)))
    assert "[0, ∞]" in page.text
    assert "No self-check was made." in page.text
    assert "ε = ∞" in render_markdown(samples.report(bare))
    assert "No claim was audited." in Page(render_html(samples.report())).text


def test_a_property_found_by_search_is_told_as_one():
    report = samples.report(samples.searched())
    page, markdown = Page(render_html(report)), render_markdown(report)
    for said in ("≤ -0.7533", "≥ 0.0467", "What the search evaluated", "What is looked at"):
        assert said in page.text
    assert "at most -0.7533 change of the augmented Lagrangian" in page.text
    assert "at most -0.7533 (change of the augmented Lagrangian)" in markdown
    for text in (page.text, markdown):
        assert "found by search; no certified upper end" in text
        assert "Outputs" not in text
        assert "None" not in text


def test_an_infinite_lower_end_has_no_open_upper_end():
    report = samples.report(samples.no_finite_epsilon())
    for text in (Page(render_html(report)).text, render_markdown(report)):
        assert "∞" in text
        assert "at least ∞" not in text
        assert "≥ ∞" not in text
        assert "no certified upper end" not in text
        assert "no end" not in text


def test_variants_are_audits_of_one_claim():
    variants = [samples.searched(), samples.searched(variant="corrected", verdict="not refuted")]
    report = samples.report(*variants)
    page = Page(render_html(report))
    assert format_report_summary(report) == "1 of 2 audits refuted their claims."
    assert "hu2019-lemma4 (corrected)" in page.text
    assert "divided by the claimed" not in page.text  # no ratio to draw


@pytest.mark.parametrize("render", [render_html, render_markdown])
def test_what_is_missing_is_named_and_is_only_text(render, monkeypatch):
    monkeypatch.setattr(
        "dpaudit.report.render._render_cached_figures", lambda document, index: {"numbers": ""}
    )
    whole = samples.report(samples.result())
    assert "Missing" not in render(whole)
    partial = whole.model_copy(update={"missing": ["two", "<b>three</b>\n| four"]})
    text = Page(render(partial)).text if render is render_html else render(partial)
    assert "Only 1 of 3 audits gave a verdict. Missing: two; " in text
    assert "<b>three</b> | four." in unescape(text).replace("\\", "")
    assert "<b>" not in render(partial)


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ([], "No claim was audited."),
        (["refuted"], "The claim audited was refuted."),
        (["not refuted"], "The claim audited was not refuted."),
        (["proved"], "The claim audited was proved."),
        (["not refuted"] * 2, "None of the 2 claims was refuted."),
        (["refuted", "not refuted"], "1 of 2 claims was refuted."),
        (["refuted"] * 3, "3 of 3 claims were refuted."),
        (["withheld"], "The verdict is withheld."),
        (["withheld"] * 2, "All 2 verdicts are withheld."),
        (["withheld", "proved"], "None of the 2 claims was refuted; 1 is withheld."),
        (["withheld"] * 2 + ["refuted"], "1 of 3 claims was refuted; 2 are withheld."),
    ],
)
def test_summary(verdicts, sentence):
    results = [samples.result(verdict=verdict) for verdict in verdicts]
    assert format_report_summary(samples.report(*results)) == sentence


def test_reading_the_schema_loads_nothing_heavy():
    code = (
        "import sys, dpaudit.report.schema, dpaudit.report; "
        "print({'matplotlib', 'jinja2', 'rich'} & set(sys.modules))"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def _without_code(markdown: str) -> str:
    return re.sub(r"^(`{3,})sh\n.*?\n\1$", "", markdown, flags=re.DOTALL | re.MULTILINE)


def test_figures_hold_a_measurement_or_are_not_drawn():
    full = samples.result()
    bare = full.model_copy(
        update={
            "delta_curves": full.delta_curves.model_copy(
                update={"band_lower": None, "band_upper": None}
            ),
            "trade_off": full.trade_off.model_copy(update={"measured": None}),
        }
    )
    page, without = (render_html(samples.report(one)) for one in (full, bare))
    assert page.count("<svg") == without.count("<svg") + 2


def test_a_result_is_printed_as_a_few_lines():
    result = samples.refuted()
    assert result.reason.split()[0] in str(result)
    assert len(str(result).splitlines()) < 12
    assert repr(result).endswith(": refuted>")
