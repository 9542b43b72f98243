"""A self-test as JSON, Markdown, one HTML page and a picture: all from the same document.

The self-test at a glance: how much of the truth is certified, how often estimators err.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from dpaudit.escaping import make_printable
from dpaudit.files import write_files
from dpaudit.formats import add_schema, to_json
from dpaudit.palette import with_night
from dpaudit.report.formatting import format_integer, format_percent, format_significant
from dpaudit.report.render import make_template_environment, markdown_text
from dpaudit.report.schema import Environment
from dpaudit.selftest.run import (
    CERTAIN,
    CONFIDENCE,
    EstimatorTest,
    KnownAnswerAudit,
    Rate,
    SelfTest,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# From Okabe and Ito's palette.
_OURS = "#0072B2"
_OTHERS = "#E69F00"
_WRONG = "#D55E00"
_ENDLESS = "#999999"
_LARGEST = 1.3
_WIDEST = 100.0  # nominal rates that an interval may span in the picture


def draw_selftest_picture(result: SelfTest, kind: Literal["png", "svg"]) -> bytes:
    """Return the picture: shares of the truth on the left, error rates on the right."""
    height = 1.5 + 0.27 * max(len(result.measured), len(result.tested))
    figure = Figure(figsize=(13.0, height), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_truth_shares(left, result)
    _draw_error_rates(right, result)
    return _render_figure_bytes(figure, kind)


def _draw_truth_shares(axes: Axes, result: SelfTest) -> None:
    """Draw certified over the best event's epsilon; a hatched bar where that is infinite."""
    for place, one in enumerate(result.measured):
        if one.closeness is None:
            _draw_endless_bar(axes, place, one)
        else:
            axes.barh(place, one.closeness, height=0.6, color=_WRONG if one.wrong else _OURS)
            _draw_published_mark(axes, place, one)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.axvline(0.97, color="black", linewidth=0.7, linestyle=":", label="97%")
    if any(one.published is not None for one in result.measured):
        label = "DP-Sniper, another tool: published, at 90% confidence"
        axes.plot([], [], "D", color=_OTHERS, markeredgecolor="black", label=label)
    axes.set_xlim(0, _LARGEST)
    axes.set_xlabel("certified over the best event's exact epsilon")
    axes.figure.legend(loc="outside lower left", ncols=2, fontsize=8, frameon=False)
    _set_axis_names(
        axes, [one.name for one in result.measured], "Known answers, from outputs alone"
    )


def _draw_endless_bar(axes: Axes, place: int, one: KnownAnswerAudit) -> None:
    """Draw a bar that has no share of the truth: the certified number is written."""
    axes.barh(
        place, _LARGEST, height=0.6, color="white", edgecolor=_ENDLESS, hatch="////", linewidth=0.5
    )
    said = f"best event: ∞; certified: {one.found.lower:.3g}"
    if one.published is not None:
        said += f"; DP-Sniper: {one.published:.3g}"
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    axes.text(0.03, place, said, va="center", fontsize=8, bbox=box)


def _draw_published_mark(axes: Axes, place: int, one: KnownAnswerAudit) -> None:
    if one.published is not None:
        mark = min(one.published / one.event, _LARGEST)
        axes.plot(mark, place, "D", color=_OTHERS, markeredgecolor="black", markersize=5)


def _draw_error_rates(axes: Axes, result: SelfTest) -> None:
    """Draw observed over nominal error rates at the first error probability."""
    for place, one in enumerate(result.tested):
        rate = one.rates[0]
        if rate.interval[1] > _WIDEST * rate.nominal:
            _too_few(axes, place, rate)
            continue
        low, high = (end / rate.nominal for end in rate.interval)
        seen = rate.observed / rate.nominal
        colour = _OURS if one.sound else _WRONG
        axes.errorbar(
            seen, place, xerr=[[seen - low], [high - seen]], fmt="o", color=colour, capsize=3
        )
    names = [
        f"{one.estimator}; {one.law}" + (" (made unsound)" if one.control else "")
        for one in result.tested
    ]
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xlim(left=0)
    axes.set_xlabel("observed over nominal error rate")
    _set_axis_names(axes, names, "Estimators: how often they err")


def _too_few(axes: Axes, place: int, rate: Rate) -> None:
    """Write the counts of errors so rare that no share of the nominal rate can be seen."""
    said = (
        f"{rate.misses} of {format_integer(rate.audits)}, of which "
        f"{format_significant(rate.nominal)} may err"
    )
    colour = _OURS if rate.sound else _WRONG
    # Beside the line at 1, which is what may err
    axes.annotate(
        said,
        (1.0, place),
        (6, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=colour,
    )


def _set_axis_names(axes: Axes, names: list[str], title: str) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names), -1)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.set_title(title, fontsize=10)


def _render_figure_bytes(figure: Figure, kind: Literal["png", "svg"]) -> bytes:
    drawn = io.BytesIO()
    if kind == "png":
        FigureCanvasAgg(figure)
        # Matplotlib would write its version into the file.
        figure.savefig(drawn, format="png", dpi=110, metadata={"Software": None})
        return drawn.getvalue()
    FigureCanvasSVG(figure)
    with rc_context({"svg.hashsalt": "selftest", "svg.fonttype": "none"}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    # Inside a page there is no prologue.
    text = re.sub(r"\A.*?(?=<svg )", "", drawn.getvalue().decode("utf-8"), flags=re.DOTALL)
    return with_night(text).encode("utf-8")


VERSION = "1"
Rows = Sequence[Sequence[str]]

ESTIMATOR_COLUMNS = (
    "estimator",
    "law",
    "audits",
    "nominal",
    "observed",
    "interval",
    "closeness",
    "verdict",
)
PUBLISHED = "DP-Sniper"
_ANSWER_COLUMNS = (
    "mechanism",
    "claimed",
    "true",
    "best event",
    "certified",
    "share",
    PUBLISHED,
    "transcripts",
    "attack",
    "CPU s",
    "verdict",
)


def write_selftest(result: SelfTest, folder: Path, workers: int) -> Path:
    """Write ``selftest.json``, ``.md``, ``.html`` and ``.png``; return the page.

    Raises
    ------
    DataError
        If a file cannot be written.
    """
    page = folder / "selftest.html"
    text = json.dumps(make_selftest_document(result, workers), indent=2, allow_nan=False) + "\n"
    write_files(
        folder,
        {
            page: make_printable(_render_selftest_html(result)).encode("utf-8"),
            folder / "selftest.md": make_printable(_render_selftest_markdown(result)).encode(
                "utf-8"
            ),
            folder / "selftest.json": text.encode("utf-8"),
            folder / "selftest.png": draw_selftest_picture(result, "png"),
        },
    )
    return page


def make_selftest_document(result: SelfTest, workers: int) -> dict[str, Any]:
    """Return all numbers as JSON knows them: an infinite epsilon is null."""
    content = {
        "version": VERSION,
        "passed": not (result.failures or result.missing),
        "failures": list(result.failures),
        **_what_is_missing(result),
        "full": result.full,
        "seed": result.seed,
        "interval_confidence": CONFIDENCE,
        "estimators": [_make_tested_document(one) for one in result.tested],
        "known_answers": [_make_measured_document(one) for one in result.measured],
        "environment": Environment.of_this_machine(workers, result.seconds).model_dump(mode="json"),
    }
    return add_schema("selftest", content)


def estimator_rows(result: SelfTest) -> list[tuple[str, ...]]:
    """Return the rows under `ESTIMATOR_COLUMNS`, as people read them."""
    return [
        (
            one.estimator,
            one.law,
            str(rate.audits),
            format_significant(rate.nominal, 2),
            format_significant(rate.observed, 3),
            f"[{format_significant(rate.interval[0], 2)}, "
            f"{format_significant(rate.interval[1], 2)}]",
            "—" if one.closeness is None else format_percent(round(one.closeness, 3)),
            _format_soundness(one, rate.sound),
        )
        for one in result.tested
        for rate in one.rates
    ]


def has_published(result: SelfTest) -> bool:
    """Return whether another tool has a number for any of the answers."""
    return any(one.published is not None for one in result.measured)


def answer_columns(result: SelfTest) -> tuple[str, ...]:
    """Return the columns of known answers; another tool's only if it has a number."""
    kept = has_published(result)
    return tuple(name for name in _ANSWER_COLUMNS if kept or name != PUBLISHED)


def answer_rows(result: SelfTest) -> list[tuple[str, ...]]:
    """Return the rows under `answer_columns`, as people read them."""
    columns = answer_columns(result)
    rows = (dict(zip(_ANSWER_COLUMNS, row, strict=True)) for row in _all_answers(result))
    return [tuple(row[name] for name in columns) for row in rows]


def _all_answers(result: SelfTest) -> list[tuple[str, ...]]:
    return [
        (
            one.name,
            _format_epsilon_cell(one.claimed),
            _format_epsilon_cell(one.true),
            _format_epsilon_cell(one.event),
            _format_epsilon_cell(one.found.lower),
            "—" if one.closeness is None else format_percent(round(one.closeness, 3)),
            "—" if one.published is None else _format_epsilon_cell(one.published),
            format_integer(one.found.trials),
            one.found.attack,
            format_significant(one.found.seconds, 2),
            _format_answer_judgement(one),
        )
        for one in result.measured
    ]


def _format_soundness(one: EstimatorTest, sound: bool) -> str:
    if one.control:
        return "NOT CAUGHT" if sound else "caught"
    return "sound" if sound else "UNSOUND"


def _format_answer_judgement(one: KnownAnswerAudit) -> str:
    if one.wrong:
        return "WRONG: above the truth"
    said = "broken" if one.broken else "correct"
    said += ", refuted" if one.refuted else ", not refuted"
    return f"{said}; a miss, of which 5% may occur" if one.missed else said


def _format_epsilon_cell(value: float) -> str:
    return "∞" if math.isinf(value) else format_significant(value, 4)


def _make_tested_document(one: EstimatorTest) -> dict[str, Any]:
    return {
        "estimator": one.estimator,
        "law": one.law,
        "true_epsilon": one.true,
        "made_unsound": one.control,
        "sound": one.sound,
        "median_certified_over_true": to_json(one.closeness, non_finite=None),
        "cpu_seconds": round(one.seconds, 2),
        "rates": [
            {
                "alpha": rate.nominal,
                "audits": rate.audits,
                "misses": rate.misses,
                "observed": rate.observed,
                "interval": list(rate.interval),
            }
            for rate in one.rates
        ],
    }


def _make_measured_document(one: KnownAnswerAudit) -> dict[str, Any]:
    return {
        "name": one.name,
        "claimed_epsilon": one.claimed,
        "true_epsilon": to_json(one.true, non_finite=None),
        "best_event_epsilon": to_json(one.event, non_finite=None),
        "delta": one.delta,
        "certified_epsilon": one.found.lower,
        "nearly_certain_epsilon": one.found.nearly_certain,
        "published_epsilon": one.published,
        "broken": one.broken,
        "refuted": one.refuted,
        "missed": one.missed,
        "wrong": one.wrong,
        "attack": one.found.attack,
        "hits": one.found.hits,
        "other_hits": one.found.other_hits,
        "transcripts_per_dataset": one.found.trials,
        "cpu_seconds": round(one.found.seconds, 2),
    }


def _what_is_missing(result: SelfTest) -> dict[str, Any]:
    if not result.missing:
        return {}
    missing = [{"name": one.name, "why": one.why} for one in result.missing]
    return {"interrupted": result.interrupted, "missing": missing}


def format_selftest_outcome(result: SelfTest) -> str:
    """Return the outcome of the whole: missing parts keep it from being passed.

    Examples
    --------
    >>> from dpaudit.selftest.run import MissingResult
    >>> missing = (MissingResult("laplace", "not run"),)
    >>> nothing = SelfTest(full=False, seed=0, tested=(), measured=(), seconds=0, missing=missing)
    >>> format_selftest_outcome(nothing)
    'Unfinished, 0 of 1. Missing: laplace (not run).'
    """
    failed = f"Failed: {'; '.join(result.failures)}." if result.failures else ""
    if not result.missing:
        return failed or "Passed."
    listed = ", ".join(f"{one.name} ({one.why})" for one in result.missing)
    begin = "Interrupted" if result.interrupted else "Unfinished"
    there = result.asked - len(result.missing)
    return f"{begin}, {there} of {result.asked}. Missing: {listed}. {failed}".rstrip()


def format_selftest_sentences(result: SelfTest) -> tuple[str, ...]:
    """Return the outcome, its judgement, and the meaning of the columns."""
    misses = result.misses
    seen = f" Here {misses.misses} of {misses.audits} are." if misses else ""
    published = (
        "DP-Sniper is another tool; its numbers are published ones, at 90% confidence from 2·10^8 "
        "final samples.",
    )
    return (
        format_selftest_outcome(result),
        "An estimator may miss the truth as often as its nominal error probability says. The "
        f"interval is Clopper and Pearson's, at {format_percent(CONFIDENCE)}; a row is sound if "
        "its lower "
        "end is at most the nominal one. Rows made unsound on purpose must be caught. Closeness is "
        "the median certified epsilon over the true one.",
        "Known answers are audited from outputs alone, at 95% confidence: attacks learn on some "
        "outputs, the event is set on others, fresh ones certify. The best event is the "
        "epsilon that the most telling set of outputs of this pair shows, exactly. The share "
        "is the certified epsilon over it; where it is infinite there is none.",
        "One in twenty 95% bounds may be above the best event: that is a miss, and misses are "
        f"judged together, as an estimator's are.{seen} A bound is wrong if the same counts put it "
        f"above the best event even at an error probability of {CERTAIN:g} for all together.",
        *(published if has_published(result) else ()),
    )


def _render_selftest_markdown(result: SelfTest) -> str:
    parts = [
        "# Self-test",
        *format_selftest_sentences(result),
        "![certified over true](selftest.png)",
    ]
    parts += ["## Estimators", _markdown_table(ESTIMATOR_COLUMNS, estimator_rows(result))]
    parts += ["## Known answers", _markdown_table(answer_columns(result), answer_rows(result))]
    return "\n\n".join(parts) + "\n"


def _markdown_table(columns: Sequence[str], rows: Rows) -> str:
    lines = [columns, ["---"] * len(columns), *([markdown_text(c) for c in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _render_selftest_html(result: SelfTest) -> str:
    tables = [
        ("Estimators", ESTIMATOR_COLUMNS, estimator_rows(result)),
        ("Known answers", answer_columns(result), answer_rows(result)),
    ]
    page = make_template_environment(html=True).get_template("selftest.html.j2")
    drawn = draw_selftest_picture(result, "svg").decode("utf-8")
    return page.render(sentences=format_selftest_sentences(result), picture=drawn, tables=tables)
