"""Published numbers: no rounding error, no placeholder and no odd percentage is one of them."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from dpaudit.report.document import read_report
from dpaudit.report.formatting import value_of

REPORTS = Path(__file__).parents[2] / "reports"
CLAIMS = sorted(path.parent.name for path in REPORTS.glob("*/report.json"))
ROUNDING = 1e-9  # of a number beside what it is compared with: of sixteen digits seven are left
_PERCENT = re.compile(r"(\d+\.\d+)\s?%")
_EXPONENT = re.compile(r"(?<![\w.-])-?\d(?:\.\d+)?e-(\d+)\b")


def numbers_of(result):
    """Return what is claimed, certified and proved of a result, by name, as far as it is there."""
    measured = result.measured
    named = {
        "claimed": value_of(result.claimed, result.kind),
        "lower": measured.lower,
        "upper": measured.upper,
        "proved": value_of(result.proved, result.kind),
    }
    return {name: number for name, number in named.items() if number is not None}


def faults(result):
    """Return what is wrong with the numbers of a result."""
    numbers = numbers_of(result)
    claimed, lower = numbers["claimed"], numbers["lower"]
    return [*dust(numbers), *out_of_order(result, numbers, claimed, lower)]


def dust(numbers):
    """Return the numbers that are 0 but for rounding: nothing else there is as small."""
    sizes = [abs(number) for number in numbers.values() if math.isfinite(number)]
    return [
        f"{name} is {number!r}"
        for name, number in numbers.items()
        if name != "claimed" and 0 < abs(number) < ROUNDING and abs(number) < max(sizes) / 2
    ] + [
        f"{name} is {number!r}"
        for name, number in numbers.items()
        if name != "claimed" and 0 < abs(number) < 1e-14
    ]


def out_of_order(result, numbers, claimed, lower):
    found = []
    if "upper" in numbers and numbers["upper"] < lower:
        found.append("the upper end is below the lower one")
    if "proved" in numbers and lower > numbers["proved"] * (1 + ROUNDING):
        found.append("more is certified than is proved")
    above = lower - claimed if math.isfinite(lower) else math.inf
    scale = ROUNDING * max(abs(claimed), abs(lower)) if math.isfinite(lower) else 0.0
    met = result.claimed.strict and above == 0  # what is claimed to be below is not
    if result.verdict == "refuted" and not (above > scale or met):
        found.append("refuted by no more than rounding")
    if result.verdict != "refuted" and above > scale:
        found.append("more is certified than is claimed, and not refuted")
    return found


@pytest.mark.parametrize("name", CLAIMS)
def test_no_published_number_is_a_rounding_error(name):
    report = read_report(REPORTS / name / "report.json")
    assert {r.variant: found for r in report.results if (found := faults(r))} == {}


def changed(result, **numbers):
    measured = result.measured.model_copy(update=numbers)
    return result.model_copy(update={"measured": measured})


def test_rounding_errors_and_placeholders_among_numbers_are_seen():
    """What was published once: 8.881e-15 where it is 0, and a bound above what is proved."""
    results = [r for name in CLAIMS for r in read_report(REPORTS / name / "report.json").results]
    proved = next(r for r in results if r.verdict == "proved" and value_of(r.proved, r.kind))
    limit = value_of(proved.claimed, proved.kind)
    assert faults(proved) == []
    assert faults(changed(proved, lower=8.881e-15)) != []
    assert faults(changed(proved, lower=2 * limit)) != []
    assert faults(changed(proved, upper=-1.0)) != []
    refuted = next(r for r in results if r.verdict == "refuted" and value_of(r.claimed, r.kind))
    within = value_of(refuted.claimed, refuted.kind) * (1 + 1e-13)
    assert faults(changed(refuted, lower=within)) != []


@pytest.mark.parametrize("name", CLAIMS)
def test_no_page_shows_a_number_of_the_last_digits(name):
    """In its summary and verdicts; what checks found may be as small as rounding makes it."""
    page = (REPORTS / name / "report.md").read_text()
    verdicts = re.findall(r"^Verdict: .*$", page, re.MULTILINE)
    assert verdicts
    shown = "\n".join([page.partition("## ")[0], *verdicts])
    assert [one for one in _PERCENT.findall(shown) if odd_percentage(one)] == []
    assert [one for one in _EXPONENT.findall(shown) if 14 <= int(one) <= 17] == []


@pytest.mark.parametrize("name", CLAIMS)
def test_no_report_is_of_an_earlier_version(name):
    """The gallery is made again before a release: words of an earlier version are not ours."""
    report = read_report(REPORTS / name / "report.json")
    earliest = [int(part) for part in report.environment.dpaudit.split(".")[:2]]
    assert earliest >= [0, 2]


def odd_percentage(digits):
    """Return whether it has more than four digits that are neither all nines nor zeros."""
    return len(digits.replace(".", "").strip("9").lstrip("0")) > 4


def test_odd_percentages_and_rounding_on_pages_are_seen():
    assert odd_percentage("94.9996")
    assert not odd_percentage("99.9999")
    assert not odd_percentage("94.99")
    assert _EXPONENT.findall("at least 8.881e-15, or 1e-5") == ["15", "5"]
