"""Numbers of a text that are made up of others: lists under a total, and arithmetic as written."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpaudit.deployments.facts import Equation, Kind, Number, RecordTotal
from dpaudit.deployments.mentions import Mention, Text

_SPLIT = re.compile(
    r"\b(?:split|allocat\w+|apportion\w+|compos(?:ed|es)|as follows?|divided|broken down|breakdown|"
    r"distribut\w+ (?:across|among|between|over)|consist\w*|made up of|sums? of|set as)\b",
    re.IGNORECASE,
)
_SUMMED = re.compile(
    r"\b(?:sequential(?:ly)?|basic|simple)\b.{0,20}\bcompos|"
    r"\b(?:sum|total)\b.{0,30}\b(?:of (?:the )?above|these)",
    re.IGNORECASE,
)
_BUDGET = re.compile(
    r"(?:\b(?:budgets?|epsilon|rho|delta|total|loss|cost|parameters?)\b|[ερδ])[^.;]{0,60}$",
    re.IGNORECASE,
)
_FACTOR = re.compile(r"\bfactor (?:of )?(\d+(?:\.\d+)?)\b")
_NUMBER = r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_SUM = rf"{_NUMBER}(?:\s*[+*×·]\s*{_NUMBER}){{1,50}}"
_RATIO = rf"{_NUMBER}(?:\s*[+*×·/]\s*{_NUMBER}){{1,50}}"
# Of a longer formula before: an operator, a sign, a function, what multiplies a parenthesis.
_REST = re.compile(
    r"(?:[\w)]\s*[-+*×·/^]\s*|\d\s*[xX]\s*|(?:^|\s)-|[\d)]\s*\(|[a-zA-Z]\(|√\s*\(?|"
    r"\b(?:ln|log|exp|sqrt)\s*\(?)\s*$"
)
_MORE = r"(?![\w.]*[+*×·/^]|,?\d|\s?(?:%|percent|thousand|million|billion))"
_FORWARD = re.compile(
    rf"(?<![\w.,^])\(?({_SUM})\)?\s*(?:≈|is|gives|yields)\s*({_NUMBER}){_MORE}|"
    rf"(?<![\w.,^])\(?({_RATIO})\)?\s*=\s*({_NUMBER}){_MORE}"
)
_BACKWARD = re.compile(
    rf"(?<![\w.,^])({_NUMBER})\s*(?:=\s*|\()\s*({_SUM})(?!\s*[-/^\w]|\.\d|\s*\)\s*[-=+*×·/^])"
)
_BULLET = re.compile(r"^(\s*)((?:[-*•]|\d+[.)])\s+)?")
_ADDED: tuple[Kind, ...] = ("epsilon", "delta", "rho")
_OWN = ("text", "total", "local", "field")  # roles of a number that may be a part


@dataclass(frozen=True)
class _TextLine:
    depth: int
    start: int
    end: int
    is_bullet: bool


def totals_in(
    text: Text, mentions: Sequence[Mention], fields: Sequence[Number]
) -> Iterator[RecordTotal]:
    """Yield the totals of a text with their parts: those of its lists, or else those of the text.

    Parameters
    ----------
    text
        The text.
    mentions
        Its numbers, in order.
    fields
        The record's parameters, of which a list may be the parts.
    """
    for kind in _ADDED:
        numbers = [one for one in mentions if one.number.kind == kind]
        listed = list(_of_lists(text, numbers))
        yield from listed
        if not listed:
            yield from _of_all(text, numbers, [one for one in fields if one.kind == kind])
        yield from _of_repeats(text, numbers, [one for one in fields if one.kind == kind])


def _parse_text_lines(text: Text) -> list[_TextLine]:
    found = []
    for hit in re.finditer(r"[^\n]+", text.text):
        mark = _BULLET.match(hit.group())
        assert mark is not None
        if hit.group().strip():
            is_bullet = mark.group(2) is not None
            found.append(_TextLine(len(mark.group(1)), hit.start(), hit.end(), is_bullet))
    return found


def _of_lists(text: Text, numbers: Sequence[Mention]) -> Iterator[RecordTotal]:
    """Yield a line's number and those of the lines one level below it, if each has one."""
    lines = _parse_text_lines(text)
    for place, line in enumerate(lines):
        content = text.text[line.start : line.end]
        own = _find_first_own_number(numbers, line)
        if own is None:
            continue
        is_head = content.rstrip().endswith(":") or _SPLIT.search(content)
        is_total = own.number.role == "total"
        below = _find_child_bullets(lines, place) if is_head or is_total else []
        parts = [
            _find_first_own_number(numbers, one)
            for one in below or _find_summed_siblings(lines, place, content)
        ]
        # A line whose number was not read would be missing in the sum, which then says nothing.
        if len(parts) > 1 and all(parts):
            found = [one.number for one in parts if one is not None]
            is_split = bool(below) and bool(_SPLIT.search(content))
            yield RecordTotal(total=own.number, parts=found, is_listed=True, is_split=is_split)


def _find_summed_siblings(lines: Sequence[_TextLine], place: int, content: str) -> list[_TextLine]:
    """Return the bullets right above a bullet that says that it is their sum."""
    if not lines[place].is_bullet or not _SUMMED.search(content):
        return []
    above: list[_TextLine] = []
    for line in reversed(lines[:place]):
        if line.depth < lines[place].depth or not line.is_bullet:
            break
        if line.depth == lines[place].depth:
            above.append(line)
    return above[::-1]


def _find_child_bullets(lines: Sequence[_TextLine], place: int) -> list[_TextLine]:
    parent = lines[place]
    inside = []
    for line in lines[place + 1 :]:
        if line.depth < parent.depth or (
            line.depth == parent.depth and not _is_child_bullet(parent, line)
        ):
            break
        inside.append(line)
    least = min((one.depth for one in inside), default=0)
    return [one for one in inside if one.depth == least and one.is_bullet]


def _is_child_bullet(parent: _TextLine, line: _TextLine) -> bool:
    """Return whether a line of the same depth belongs to the parent: a bullet under a sentence."""
    return line.is_bullet and not parent.is_bullet


def _find_first_own_number(numbers: Sequence[Mention], line: _TextLine) -> Mention | None:
    inside = (one for one in numbers if line.start <= one.start < line.end)
    return next((one for one in inside if one.number.role in _OWN), None)


def _of_all(
    text: Text, numbers: Sequence[Mention], fields: Sequence[Number]
) -> Iterator[RecordTotal]:
    """Yield a text's total, or the field's, with all its other numbers as parts."""
    field = next((one for one in fields if one.role == "field"), None)
    own = [one.number for one in numbers if one.number.role in ("text", "total")]
    totals = [one for one in own if one.role == "total"]
    totals += [one for one in own if field is not None and one.value == field.value]
    total = totals[0] if totals else field
    parts = [
        one for one in own if one.role == "text" and (total is None or one.value != total.value)
    ]
    equal = [one for one in own if one.role == "text"]
    if total is None or len(parts) < 2:
        parts = equal if total is not None and total is field and len(equal) > 1 else parts
    if total is None or len(parts) < 2 or any(not one.is_single for one in parts):
        return
    content = text.text
    factor = _FACTOR.search(content)
    yield RecordTotal(
        total=total,
        parts=parts,
        factor=float(factor.group(1)) if factor else 1.0,
        is_split=_is_split(content, numbers, parts[0])
        and len({one.value for one in totals}) <= 1
        and len(parts) + len(totals) >= len(numbers),
    )


def _is_split(content: str, numbers: Sequence[Mention], first: Number) -> bool:
    """Return whether a budget is said to be split before the first of its parts stands there."""
    start = next(one.start for one in numbers if one.number == first)
    return any(
        _BUDGET.search(content[max(0, hit.start() - 90) : hit.start()])
        for hit in _SPLIT.finditer(content[: start + 1])
        if start - hit.end() < 160
    )


_COUNTS = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twelve": 12,
}
_COUNT = re.compile(
    rf"\b({_NUMBER}|{'|'.join(_COUNTS)})[- ](?:(?!(?:per|each|for|in|over|of)\b|\d)\w+ ){{0,2}}?"
    r"(day|week|month|year|hour|quarter|quer|release|round|"
    r"statistic|table|report|donation|record|contribution|item|visit|time|iteration|epoch|count|measurement|publication|collection)(?:s|"
    r"ies|y)?\b",
    re.IGNORECASE,
)


def _of_repeats(
    text: Text, numbers: Sequence[Mention], fields: Sequence[Number]
) -> Iterator[RecordTotal]:
    """Yield the total of one of several, their number, and the total of all."""
    field = next((one for one in fields if one.role == "field"), None)
    each = [one.number for one in numbers if one.number.role == "each"]
    totals = [one.number for one in numbers if one.number.role == "total"]
    total = totals[0] if totals else field
    counts = [hit for hit in _COUNT.finditer(text.text) if not _is_rate(text.text, hit)]
    if len(each) != 1 or total is None or len(counts) != 1 or _is_same(total, each[0]):
        return
    count, per = counts[0].group(1).lower(), each[0].per
    noun = counts[0].group(2).lower()
    if per not in ("", "each") and noun != per:
        return
    factor = float(_COUNTS.get(count, 0) or count)
    if factor >= 2 and each[0].is_single:
        yield RecordTotal(total=total, parts=each, factor=factor, way="times")


def _is_same(total: Number, each: Number) -> bool:
    """Return whether a field repeats the parameter of one release, and is no total."""
    return total.role != "total" and total.value == each.value


def _is_rate(text: str, hit: re.Match[str]) -> bool:
    """Return whether a count is how often there is a release: "every 6 hours"."""
    before, after = text[max(0, hit.start() - 8) : hit.start()], text[hit.end() : hit.end() + 10]
    is_often = re.match(r"\s*(?:per|a|each)\b", after) and hit.group(2).lower() in _TIMES
    return bool(re.search(r"\b(?:every|last)\s*$", before, re.IGNORECASE) or is_often)


_TIMES = frozenset({"day", "week", "month", "year", "hour", "quarter", "time"})


def equations_in(text: Text) -> Iterator[Equation]:
    """Yield the arithmetic that a text writes out: ``4 * 0.44 = 1.76``, ``5.0 (2.5 + 2.5)``.

    Examples
    --------
    >>> (found,) = equations_in(Text("0.11 * 2 + 0.22 = 0.44", "composition", 1))
    >>> found.written, found.stated.value
    ('0.11 * 2 + 0.22', 0.44)
    >>> list(equations_in(Text("3 x 0.11 + 0.5 = 0.83", "composition", 1)))  # x may be a letter
    []
    """
    seen: set[int] = set()
    for pattern, sides in ((_FORWARD, (1, 2)), (_FORWARD, (3, 4)), (_BACKWARD, (2, 1))):
        for hit in pattern.finditer(text.text):
            begins = min(hit.start(one) for one in sides)
            # The end of a longer formula looks like a formula, and has another value.
            is_part = _REST.search(text.text[max(0, begins - 12) : begins])
            # -1: the other alternative of the pattern matched.
            if hit.start(sides[0]) in (-1, *seen) or is_part:
                continue
            seen.add(hit.start(sides[0]))
            yield _parse_equation(text, hit, *sides)


def _parse_equation(text: Text, hit: re.Match[str], left: int, right: int) -> Equation:
    from dpaudit.deployments.numerals import Numeral, read_numeral

    written = " ".join(hit.group(left).split())
    numerals = [read_numeral(one) for one in re.findall(_NUMBER, written)]
    result = hit.group(right)
    # Beyond the range of doubles: infinite or 0, as `float` has it.
    stated = read_numeral(result) or Numeral(float(result), result)
    # Half a unit of each last digit, as numbers are rounded to the nearest.
    slack = sum(one.slack for one in numerals if one is not None) / 2
    return Equation(
        written=written,
        slack=slack,
        stated=text.number("epsilon", stated, hit.start(right)),
    )


def compute_sum_of_products(written: str) -> float:
    """Return the value of a sum of products; infinite or NaN where doubles do not hold it.

    Examples
    --------
    >>> (
    ...     compute_sum_of_products("0.11 * 2 + 0.22"),
    ...     compute_sum_of_products("1 + 2 × 3"),
    ...     compute_sum_of_products("1 / 0.5"),
    ... )
    (0.44, 7.0, 2.0)
    """
    from dpaudit.deployments.numerals import parse_exponent

    # In exact arithmetic, so that the sum of 0.11 * 2 and 0.22 is the double 0.44.
    total = Fraction(0)
    for term in written.split("+"):
        product = Fraction(1)
        for sign, factor in re.findall(rf"([*×·/]?)\s*({_NUMBER})", term):
            # A fraction writes every digit of such a power out.
            if parse_exponent(factor.lower().partition("e")[2] or "0") is None:
                return math.nan
            number = Fraction(factor)
            if sign == "/" and not number:
                return math.nan
            product = product / number if sign == "/" else product * number
        total += product
    try:
        return float(total)
    except OverflowError:
        return math.inf
