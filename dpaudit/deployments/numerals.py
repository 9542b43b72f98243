r"""Numbers as people write them: ``1e-5``, ``10^{-10}``, ``4 × 10−10``, ``ln 3``, ``2 to 4``.

A number keeps how it was written, and how fine its last digit is: what is compared with it is
allowed the rounding that its digits show, and no more than half a hundredth of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_TIMES = r"(?:×|\*|·|x(?=\s*10\s*\^?\s*\{?\s*[-\d]))"
_PLAIN = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.?\d*|\.\d+)"
# The second alternative reads 10-7: copied from a page, a power loses its superscript.
_EXPONENT = r"(?:\^\s*\{?\s*([-+]?\s*\d+)\s*\}?|\s*(-\s*\d+)(?!\d|\.\d))"
_SCIENTIFIC = re.compile(rf"({_PLAIN})(?:\s*{_TIMES}\s*10\s*{_EXPONENT}|[eE]([-+]?\d+))")
_POWER = re.compile(rf"10\s*{_EXPONENT}")
_LOGARITHM = re.compile(
    rf"({_PLAIN})?\s*(?:{_TIMES}\s*)?(?:ln|log)(?:_e)?\s*(?:\(\s*({_PLAIN})\s*\)|\s({_PLAIN}))"
)
_FRACTION = re.compile(rf"({_PLAIN})\s*/\s*({_PLAIN})(?![\w/])")
_DECIMAL = re.compile(rf"({_PLAIN})(?:\s?(%))?")
_INFINITE = re.compile(r"[-+]?(?:∞|\.?inf(?:inity|inite)?\b|infinity\b|infinite\b)", re.IGNORECASE)
_NOT_ONE = re.compile(r"\.?nan\b", re.IGNORECASE)
_RANGE = re.compile(rf"({_PLAIN})\s*(?:-|\.\.|to\b|and\b)\s*({_PLAIN})(?![\d.]*[eE%])")
# 0,5 is a half or two numbers: what has two readings is left out.
_DECIMAL_COMMA = re.compile(r"0,\d|[1-9]\d*,\d{1,2}(?!\s?[\d,.eE×^*·)-])")
_FARTHEST = 400  # of exponents of ten: beyond those of doubles
_COARSE = 5e-3  # of a number: the most that is put down to rounding


@dataclass(frozen=True)
class Numeral:
    """A number as it was written.

    Attributes
    ----------
    value
        The number; the larger end of a range.
    written
        Its own characters.
    unit
        What one more in the last digit would add; 0 for a number that is exact as written.
    least
        The smaller end of a range, ``value`` otherwise.
    """

    value: float
    written: str
    unit: float = 0.0
    least: float | None = None

    @property
    def slack(self) -> float:
        """The largest distance of a number from its rounding.

        Examples
        --------
        >>> read_numeral("17.14").slack, read_numeral("1").slack
        (0.01, 0.005)
        """
        return min(self.unit, _COARSE * abs(self.value)) if math.isfinite(self.value) else 0.0


def normalise_spelling(text: str) -> str:
    r"""Return text with one spelling of minus, powers and Greek letters; line breaks stay.

    Examples
    --------
    >>> normalise_spelling(r"\\(\\epsilon_{user} = 4\\) and \\(\\delta = 10^{−5}\\), 10⁻⁷")
    ' ε_user = 4  and  δ = 10^-5 , 10^-7'
    """
    text = re.sub(r"[−‐‑‒–—﹣－]", "-", text)
    text = _SUPERSCRIPT.sub(lambda found: "^" + found.group().translate(_SUPERSCRIPTS), text)
    text = re.sub(r"<sup>\s*([-+\d]+)\s*</sup>", r"^\1", text)
    text = re.sub(r"\\+[()\[\]]|\$", " ", text)
    text = re.sub(r"\\+prime(?![a-zA-Z])", "'", text)
    for pattern, letter in _LETTERS:
        text = pattern.sub(letter, text)
    text = re.sub(r"\\+(?:mathrm|text|textit|mathit|mathbf|operatorname)\s*", "", text)
    text = re.sub(r"\\+[,;!: ]|~", " ", text)
    return re.sub(r"([\^_])\{([^{}\n]*)\}", r"\1\2", text)


_COMMANDS = {
    "(?:var)?epsilon": "ε",
    "delta": "δ",
    "rho": "ρ",
    "mu": "μ",
    "sigma": "σ",
    "alpha": "α",
    "lambda": "λ",
    "Delta": "Δ",
    "times": "×",
    "cdot": "×",
    "leq?(?:slant)?": "≤",
    "geq?(?:slant)?": "≥",
    "(?:approx|sim)": "≈",
    "infty": "∞",
    "ln": "ln",
    "log": "log",
}
_LETTERS = (
    *((re.compile(rf"\\+{name}(?![a-zA-Z])"), letter) for name, letter in _COMMANDS.items()),
    (re.compile("[ϵɛ]"), "ε"),
    (re.compile("µ"), "μ"),
)


def numeral_at(text: str, start: int = 0, *, powers: bool = False) -> tuple[Numeral, int] | None:
    """Return the number that begins at a place of normal text and where it ends, or None.

    Parameters
    ----------
    text
        Text as `normalise_spelling` returns it.
    start
        Where the number begins.
    powers
        Whether ``10-7`` is ten to the power -7, whose superscript was lost, and no range.
    """
    if _DECIMAL_COMMA.match(text, start):
        return None
    # The order decides: 1e-5, 1/2 and 2-4 all begin with a decimal, so that the decimal is last.
    for read in (
        _parse_infinity,
        _parse_logarithm,
        _parse_scientific,
        _make_power_parser(powers),
        _parse_number_range,
        _parse_numeral_fraction,
        _parse_decimal,
    ):
        found = read(text, start)
        if found is not None:
            return found
    return None


def read_numeral(text: str, *, powers: bool = False) -> Numeral | None:
    """Return the number that a whole text is, or None.

    Examples
    --------
    >>> read_numeral("4 × 10−10").value
    4e-10
    >>> read_numeral("ln 3").value
    1.0986122886681098
    >>> read_numeral("10-7", powers=True).value, read_numeral("10-7").least
    (1e-07, 7.0)
    >>> read_numeral("n^{-2}") is None
    True
    """
    plain = normalise_spelling(text).strip()
    sign = -1.0 if plain.startswith("-") else 1.0
    plain = plain.lstrip("+-").strip()
    if _NOT_ONE.fullmatch(plain):
        return Numeral(math.nan, plain)
    found = numeral_at(plain, powers=powers)
    if found is None or plain[found[1] :].strip():
        return None
    numeral = found[0]
    if sign > 0:
        return numeral
    return Numeral(-numeral.value, f"-{numeral.written}", numeral.unit)


Found = tuple[Numeral, int] | None


def _parse_plain_decimal(text: str) -> tuple[float, float]:
    """Return a decimal's value and the unit of its last digit."""
    digits = text.replace(",", "")
    places = len(digits.partition(".")[2])
    return float(digits), 10.0**-places


def _parse_infinity(text: str, start: int) -> Found:
    found = _INFINITE.match(text, start)
    if found is None:
        return None
    return Numeral(math.inf, found.group()), found.end()


def _parse_logarithm(text: str, start: int) -> Found:
    found = _LOGARITHM.match(text, start)
    if found is None:
        return None
    factor = float((found.group(1) or "1").replace(",", ""))
    inner = float((found.group(2) or found.group(3)).replace(",", ""))
    value = factor * math.log(inner) if inner > 0 else math.nan
    return Numeral(value, found.group().strip()), found.end()


def _parse_scientific(text: str, start: int) -> Found:
    found = _SCIENTIFIC.match(text, start)
    if found is None:
        return None
    unit = _parse_plain_decimal(found.group(1))[1]
    exponent = parse_exponent(next(one for one in found.groups()[1:] if one))
    if exponent is None:
        return None
    # From the characters: a product with a power of ten would be rounded twice.
    number = float(f"{found.group(1).replace(',', '')}e{exponent}")
    return Numeral(number, found.group().strip(), unit * _power_of_ten(exponent)), found.end()


def parse_exponent(written: str) -> int | None:
    """Return the exponent of a power of ten, or None for one that no double has.

    Examples
    --------
    >>> parse_exponent("- 07"), parse_exponent("9" * 5000)
    (-7, None)
    """
    text = re.sub(r"\s", "", written)
    # Digits first: Python refuses integers of thousands.
    if len(text.lstrip("+-").lstrip("0")) > len(str(_FARTHEST)):
        return None
    exponent = int(text.lstrip("+-").lstrip("0") or "0") * (-1 if text.startswith("-") else 1)
    return exponent if abs(exponent) <= _FARTHEST else None


def _power_of_ten(exponent: int) -> float:
    return float(f"1e{exponent}")


def _make_power_parser(lost: bool) -> Callable[[str, int], Found]:
    def read(text: str, start: int) -> Found:
        found = _POWER.match(text, start)
        if found is None or (found.group(1) is None and not lost):
            return None
        exponent = parse_exponent(found.group(1) or found.group(2))
        if exponent is None:
            return None
        return Numeral(_power_of_ten(exponent), found.group().strip()), found.end()

    return read


def _parse_number_range(text: str, start: int) -> Found:
    found = _RANGE.match(text, start)
    if found is None:
        return None
    # "2 and 4" is two numbers, "between 2 and 4" is a range.
    if "and" in found.group() and "between" not in text[max(0, start - 12) : start]:
        return None
    ends = [_parse_plain_decimal(one)[0] for one in found.groups()]
    return Numeral(max(ends), found.group().strip(), 0.0, min(ends)), found.end()


def _parse_numeral_fraction(text: str, start: int) -> Found:
    found = _FRACTION.match(text, start)
    if found is None or not _parse_plain_decimal(found.group(2))[0]:
        return None
    value = _parse_plain_decimal(found.group(1))[0] / _parse_plain_decimal(found.group(2))[0]
    return Numeral(value, found.group()), found.end()


def _parse_decimal(text: str, start: int) -> Found:
    found = _DECIMAL.match(text, start)
    if found is None:
        return None
    value, unit = _parse_plain_decimal(found.group(1))
    share = 0.01 if found.group(2) else 1.0
    written = found.group()
    end = found.end()
    if written.endswith("."):  # the end of a sentence
        written, end = written[:-1], end - 1
    return Numeral(value * share, written, unit * share), end
