"""Marks in numbers of a text: which part a fraction, and which part thousands.

A point or a comma before exactly three digits may be either. Where nothing else in a column says
which, a guess would change numbers without a word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import compress, count

_HEAD = r"[+-]?[1-9]\d{0,2}"
_EXPONENT = r"([eE][+-]?\d+)?"
_FORMS = {
    "whole": rf"[+-]?\d+{_EXPONENT}",
    "either point": rf"{_HEAD}\.\d{{3}}",
    "either comma": rf"{_HEAD},\d{{3}}",
    "point": rf"[+-]?(\d+\.\d*|\.\d+){_EXPONENT}|{_HEAD}(,\d{{3}})+\.\d*",
    "comma": rf"[+-]?(\d+,\d*|,\d+){_EXPONENT}|{_HEAD}(\.\d{{3}})+,\d*",
    "thousands": rf"{_HEAD}((,\d{{3}}){{2,}}|(\.\d{{3}}){{2,}}|(['\u2019\s]\d{{3}})+([.,]\d*)?)",
}
_KINDS = {name: re.compile(form) for name, form in _FORMS.items()}
_MARKED = re.compile(r"[^\d.eE+-]")
_GROUPS = re.compile(rf"{_HEAD}([,'\u2019\s]\d{{3}})+(\.\d*)?")
EXPECTED = "numbers without marks between thousands, such as 1234.5"


def find_number_form(cell: str) -> str | None:
    """Return the form of a number by its marks; None if a text is no finite number.

    Examples
    --------
    >>> [find_number_form(one) for one in ("12", "0.5", "1,234.5", "0,5", "1.234,5")]
    ['whole', 'point', 'point', 'comma', 'comma']
    >>> [find_number_form(one) for one in ("1.234", "1,234", "1 234", "1,234,567", "1,2.3")]
    ['either point', 'either comma', 'thousands', 'thousands', None]
    """
    return next((name for name, kind in _KINDS.items() if kind.fullmatch(cell)), None)


def find_unclear_number(cells: Sequence[str]) -> int | None:
    """Return the place of the first number of a column that may be read in two ways, if any.

    Examples
    --------
    >>> find_unclear_number(["0,5", "1,234"]), find_unclear_number(["0.5", "1,234"])
    (None, 1)
    """
    if not any(map(_MARKED.search, cells)) and not _are_points_unclear(cells):
        return None
    forms = [find_number_form(one) for one in cells]
    refused = {"thousands"}
    if "comma" in forms:
        refused |= {"point", "either point"}
    else:
        refused |= {"either comma"}
    if "point" not in forms:
        refused |= _find_refused_points(cells, forms)
    return next(compress(count(), (form in refused for form in forms)), None)


def _are_points_unclear(cells: Sequence[str]) -> bool:
    """Return whether points are all that parts numbers, and each has three digits behind."""
    with_point = [one for one in cells if "." in one]
    # A column of usual fractions ends the search at once.
    return bool(with_point) and all(find_number_form(one) != "point" for one in with_point)


def _find_refused_points(cells: Sequence[str], forms: Sequence[str | None]) -> set[str]:
    """Return the forms to refuse where every point has three digits behind, and no comma tells."""
    whole = [one for one, form in zip(cells, forms, strict=True) if form == "whole"]
    short = bool(whole) and all(one.lstrip("+-").isdecimal() for one in whole)
    return {"either point"} if short and max(map(len, whole)) <= len("-999") else set()


def are_grouped(lines: Sequence[str]) -> bool:
    """Return whether each line may be one number with marks between thousands.

    Examples
    --------
    >>> are_grouped(["1,234.5", "12,345.5"]), are_grouped(["1 234", "2 345"]), are_grouped(["1 2"])
    (True, True, False)
    """
    return bool(lines) and all(map(_GROUPS.fullmatch, lines))
