"""Numbers and names as they are shown: the same in every rendering.

A number is shortened so that what is shown stays true: the lower end of an interval is rounded
down, its upper end and a proved bound are rounded up, and enough digits are kept for a reader to
see which of two numbers is larger.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Any

from dpaudit.escaping import one_line
from dpaudit.faults.catalogue import fault_line

if TYPE_CHECKING:
    from dpaudit.report.counts import WealthPath
    from dpaudit.report.schema import Claimed, Measured, ModelBased, Proved, Result, Taken

NONE = "—"
NO_CLAIM = "no claim"
NO_UPPER = "no certified upper end"
INFINITE = "∞"
AS_DECLARED = "for the release as declared"
_UNITS = {"privacy": "ε", "sensitivity": "L2 sensitivity"}

# More are shown where they are needed to tell a bound from the claim.
DIGITS = 4
# Beyond twelve digits a double shows the rounding of what was computed.
MOST_DIGITS = 12


@dataclass(frozen=True, kw_only=True)
class ResultNumbers:
    """The three numbers of a result, as text that is ready to be shown.

    ``quantity`` is the unit of a property, which no symbol stands for, and else None.
    """

    unit: str
    quantity: str | None
    claimed: str
    claimed_delta: str | None
    proved: str
    proved_delta: str | None
    proved_of: str | None
    lower: str
    upper: str | None
    surety: str
    strict: bool = False

    @property
    def measured(self) -> str:
        """The measured interval, or its lower end in words."""
        if self.upper is not None:
            return f"[{self.lower}, {self.upper}]"
        return f"at least {self.lower}" if self.open_ended else self.lower

    @property
    def open_ended(self) -> bool:
        """Whether the measured number might be larger than the one that is shown."""
        return self.upper is None and self.lower not in (INFINITE, NONE)

    @property
    def sign(self) -> str:
        """The sign before a claimed or proved number in a table."""
        if self.quantity is None:
            return f"{self.unit} ="
        return "below" if self.strict else "at most"


def format_significant(
    value: float | None, digits: int = DIGITS, rounding: str = ROUND_HALF_EVEN
) -> str:
    """Return ``value`` with ``digits`` significant digits, without padding.

    Digits before the point are kept up to a million.

    Examples
    --------
    >>> (
    ...     format_significant(1e-05),
    ...     format_significant(25.4412),
    ...     format_significant(374494.11),
    ...     format_significant(float("inf")),
    ...     format_significant(None),
    ... )
    ('1e-5', '25.44', '374494', '∞', '—')
    """
    if value is None:
        return NONE
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else INFINITE if value > 0 else "-∞"
    return _format_decimal(_round_significant(value, digits, rounding))


def _digits_shown(value: float, digits: int) -> int:
    """Return at least ``digits``, and as many as stand before the point of a number below 1e6."""
    return max(digits, len(str(int(abs(value))))) if 1 <= abs(value) < 1e6 else digits


def format_integer(value: int) -> str:
    """Return an integer with its thousands apart.

    Examples
    --------
    >>> format_integer(200000)
    '200,000'
    """
    return f"{value:,}"


def format_percent(value: float) -> str:
    """Return a probability as a percentage: as it was asked for, or rounded down.

    Less than 1 is never shown as 100%.

    Examples
    --------
    >>> (
    ...     format_percent(0.95),
    ...     format_percent(0.99999),
    ...     format_percent(0.949995997),
    ...     format_percent(1 - 1e-15),
    ... )
    ('95%', '99.999%', '94.99%', '99.9999%')
    """
    # A confidence that somebody typed, such as 0.99995, has few digits and is shown with all of
    # them; a computed one has sixteen.
    asked = len(Decimal(f"{100 * value:.10g}").as_tuple().digits) <= 6
    return format_significant(_below_all(100 * value), 6 if asked else DIGITS, ROUND_FLOOR) + "%"


def share_of(part: float, whole: float) -> str:
    """Return ``part`` as a percentage of ``whole``, both at least 0, rounded down.

    What is less than all of it is not shown as all, and what is more than nothing not as nothing.

    Examples
    --------
    >>> share_of(0.9999, 1.0), share_of(1 - 1e-15, 1.0), share_of(1e-7, 20.0), share_of(0.0, 1.0)
    ('99.9%', '99.9%', '5e-7%', '0%')
    >>> share_of(2.0, 2.0), share_of(2.0, math.inf)
    ('100%', '0%')
    """
    if part >= whole:
        return "100%"
    return format_significant(_below_all(100 * (part / whole)), 3, ROUND_FLOOR) + "%"


def _below_all(share: float) -> float:
    """Return a percentage that does not become 100 when it is rounded to 12 digits."""
    return min(share, 99.9999) if share < 100 else share


def error_probability(confidence: float) -> float:
    """Return one minus a confidence, as they differ in decimals.

    Examples
    --------
    >>> error_probability(0.999999), 1 - 0.999999 == 1e-6
    (1e-06, False)
    """
    # In doubles 1 - 0.95 is 0.050000000000000044, which no reader would recognise.
    return float(1 - Decimal(repr(float(confidence))))


def setting(value: Any) -> str:
    """Return a parameter's value: numbers with six digits, all else as JSON writes it.

    Examples
    --------
    >>> setting(0.1), setting(True), setting([1, 2]), setting("a9a")
    ('0.1', 'true', '[1, 2]', 'a9a')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return format_significant(value, 6)
    return json.dumps(value, ensure_ascii=False, default=str)


def format_taken(taken: Taken) -> str:
    """Return the amount taken from a store, in words.

    Examples
    --------
    >>> from dpaudit.report.schema import Taken
    >>> format_taken(Taken(outputs=1200, decisions=1, left_out=["the clock (mine.f)"]))
    '1,200 outputs and 1 decision; dpaudit cannot see whether this is the same: the clock (mine.f)'
    """
    outputs = f"{format_integer(taken.outputs)} output{'s' if taken.outputs != 1 else ''}"
    decisions = f"{format_integer(taken.decisions)} decision{'s' if taken.decisions != 1 else ''}"
    left_out = "; ".join(taken.left_out)
    further = f"; dpaudit cannot see whether this is the same: {left_out}" if left_out else ""
    return f"{outputs} and {decisions}{further}"


def value_of(stated: Claimed | Proved | None, kind: str) -> float | None:
    """Return the number of ``stated`` in the unit of ``kind``, or None where it has none."""
    if stated is None:
        return None
    by_kind = {
        "privacy": stated.epsilon if stated.value is None else stated.value,
        "sensitivity": stated.sensitivity,
        "property": stated.value,
    }
    return by_kind[kind]


def get_divisor(result: Result) -> float | None:
    """Return the claimed number if others can be divided by it."""
    claimed = value_of(result.claimed, result.kind)
    usable = claimed is not None and math.isfinite(claimed) and claimed > 0
    return claimed if usable else None


def format_result_label(result: Result) -> str:
    """Return the claim's name on one line, with the variant that was audited, if it has several."""
    return label_of(result.claim, result.variant)


def label_of(claim: str, variant: str | None) -> str:
    """Return the label of an audit by its claim and its variant, on one line.

    Examples
    --------
    >>> label_of("a-lemma", None), label_of("a-lemma", "real records")
    ('a-lemma', 'a-lemma (real records)')
    """
    name = one_line(claim)
    return name if variant is None else f"{name} ({one_line(variant)})"


def verdict_words(result: Result) -> str:
    """Return the verdict; where nothing is claimed, that there is none to give."""
    nothing = value_of(result.claimed, result.kind) is None
    return NO_CLAIM if nothing and result.verdict == "not refuted" else result.verdict


def format_verdict(result: Result) -> str:
    """Return the verdict, and on a second line that its refutation is accepted, if it is."""
    return f"{result.verdict}\n(accepted)" if result.is_accepted else verdict_words(result)


def format_seconds(seconds: float) -> str:
    """Return how long something took, in words.

    Examples
    --------
    >>> format_seconds(0.0), format_seconds(1.0), format_seconds(41.26)
    ('less than a second', '1 second', '41.3 seconds')
    """
    if seconds < 1:
        return "less than a second"
    shown = format_significant(seconds, 3)
    return f"{shown} second{'' if shown == '1' else 's'}"


def make_shown_numbers(result: Result) -> ResultNumbers:
    """Return the three numbers of ``result`` with the digits that keep their order visible.

    Where the verdict is withheld nothing was measured, and no number stands for that.
    """
    digits = _digits_to_tell_apart(result)
    withheld, measured = result.verdict == "withheld", result.measured
    lower = NONE if withheld else format_significant(measured.lower, digits, ROUND_FLOOR)
    upper = (
        None
        if measured.upper is None
        else format_significant(measured.upper, digits, ROUND_CEILING)
    )
    unit = _UNITS.get(result.kind) or one_line(result.quantity or "value")
    if result.kind == "privacy" and result.quantity is not None:
        unit = one_line(result.quantity)
    return ResultNumbers(
        unit=unit,
        quantity=None if result.kind in _UNITS else unit,
        claimed=format_significant(value_of(result.claimed, result.kind), digits),
        claimed_delta=_format_stated_delta(result.claimed),
        proved=_format_proved(result, digits),
        proved_delta=_format_stated_delta(result.proved),
        proved_of=AS_DECLARED if result.proved is not None and result.proved.declared else None,
        lower=lower,
        upper=None if withheld else upper,
        surety="nothing is certified" if withheld else format_surety(measured),
        strict=result.claimed.strict,
    )


def why_unproved(result: Result) -> str | None:
    """Return where a proof from the code stopped, on one line; None where none was tried."""
    if (stop := result.proof_stop) is None:
        return None
    cure = f" ({one_line(stop.cure)})" if stop.cure else ""
    return f"Not proved, because of {one_line(stop.place)}: {one_line(stop.reason)}{cure}"


def is_search(result: Result) -> bool:
    """Return whether instances were evaluated one by one, and nothing was drawn."""
    return result.measured.confidence == 1


def format_surety(measured: Measured) -> str:
    """Return how sure the measured number is: found by search, or at a confidence."""
    if measured.confidence == 1:
        return "found by search"
    return f"at {as_certain(measured.confidence)} confidence"


def as_certain(confidence: float) -> str:
    """Return a confidence, rounded down: as a percentage, or as one minus a small probability.

    Examples
    --------
    >>> as_certain(0.95), as_certain(0.999999), as_certain(1 - 1.04e-9)
    ('95%', '1 - 1e-6', '1 - 1.1e-9')
    """
    error = error_probability(confidence)
    return (
        format_percent(confidence)
        if error > 1e-5
        else f"1 - {format_significant(error, 2, ROUND_CEILING)}"
    )


def format_model_based(one: ModelBased) -> str:
    """Return a number that rests on a model: a point, or a credible interval.

    Examples
    --------
    >>> from dpaudit.report.schema import ModelBased
    >>> fields = dict(name="fit", assumes="a model", source="somebody")
    >>> format_model_based(ModelBased(lower=1.25, upper=None, confidence=None, **fields))
    '1.25'
    """
    if one.upper is None or one.confidence is None:
        return format_significant(one.lower)
    return (
        f"[{format_significant(one.lower)}, {format_significant(one.upper)}] at "
        f"{format_percent(one.confidence)} credibility"
    )


def select_wealth_landmarks(path: WealthPath, rows: int = 8) -> list[tuple[int, float]]:
    """Return a few points of a path of wealth, first and last among them; none before a bet.

    Examples
    --------
    >>> from dpaudit.report.counts import (WealthPath)
    >>> path = WealthPath(
    ...     transcripts=[50, 60, 70], log10_wealth=[0, 1, 2], log10_goal=1.3, refuted_after=65
    ... )
    >>> select_wealth_landmarks(path, rows=2)
    [(50, 0.0), (70, 2.0)]
    """
    points = list(zip(path.transcripts, path.log10_wealth, strict=True))
    last = len(points) - 1
    places = sorted({last * row // (rows - 1) for row in range(rows)}) if points else []
    return [points[at] for at in places]


def noise_words(result: Result) -> list[str]:
    """Return where the code of a refuted claim draws its noise, a line each."""
    return [f"Noise is drawn at {one.words}" for one in result.lines]


def fault_words(result: Result) -> list[str]:
    """Return the kinds of fault that are decided, and where more stands of them, a line each."""
    return [fault_line(code) for code in fault_codes(result)]


def fault_codes(result: Result) -> list[str]:
    """Return the codes of the fault that a result shows, and of the one that stopped the proof."""
    stop = None if result.proof_stop is None else result.proof_stop.fault
    return list(dict.fromkeys(code for code in (result.fault, stop) if code is not None))


def _format_proved(result: Result, digits: int) -> str:
    """Return the proved number rounded up, or like the claimed one where the two are equal."""
    claimed, proved = (value_of(part, result.kind) for part in (result.claimed, result.proved))
    # A proof of exactly the claim may differ from it in the last bits. Rounded up, it would
    # look like a proof of less.
    equal = claimed is not None and proved is not None and math.isclose(claimed, proved)
    return format_significant(proved, digits, ROUND_HALF_EVEN if equal else ROUND_CEILING)


def _digits_to_tell_apart(result: Result) -> int:
    """Return the fewest digits at which the claim compares with the others as it really does."""
    claimed = value_of(result.claimed, result.kind)
    proved, lower = value_of(result.proved, result.kind), result.measured.lower
    others = [(proved, ROUND_CEILING), (lower, ROUND_FLOOR)]
    pairs = [(other, rounding) for other, rounding in others if other is not None]
    if claimed is None or not math.isfinite(claimed):
        return DIGITS
    # Too few digits could show a refuted claim as equal to its bound, or a bound as above a
    # claim that it does not exceed.
    for digits in range(DIGITS, MOST_DIGITS):
        if all(_order_kept(claimed, other, digits, rounding) for other, rounding in pairs):
            return digits
    return MOST_DIGITS


def _order_kept(claimed: float, other: float, digits: int, rounding: str) -> bool:
    if not math.isfinite(other) or math.isclose(claimed, other, rel_tol=1e-9):
        return True
    shown = (
        _round_significant(claimed, digits, ROUND_HALF_EVEN),
        _round_significant(other, digits, rounding),
    )
    return (shown[0] < shown[1]) == (claimed < other) and shown[0] != shown[1]


def _round_significant(value: float, digits: int, rounding: str) -> Decimal:
    # Through the decimal a person would write, so that 25.31 is not rounded down to 25.30.
    precision = _digits_shown(value, digits)
    return Context(prec=precision, rounding=rounding).create_decimal(f"{value:.{MOST_DIGITS}g}")


def _format_decimal(value: Decimal) -> str:
    if not value:
        return "0"
    if -4 <= value.adjusted() < 6:
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, exponent = f"{value.normalize():e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _format_stated_delta(stated: Claimed | Proved | None) -> str | None:
    return None if stated is None or stated.delta is None else format_significant(stated.delta)
