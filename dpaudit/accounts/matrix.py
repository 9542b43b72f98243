"""Matrix mechanisms and outputs with correlated noise, by name: exactly Gaussian.

What is released is ``C x + noise_scale * z``: of every round a row of x, z standard normal, C a
public strategy (`dpaudit.accounting.matrices`). Whatever is made of it is as private: above all
prefix sums ``A x`` with the noise ``noise_scale * B z``, ``A = B C``.

Of neighbours whose rows differ by D, ``||C D||_F <= s``, mu is ``s / noise_scale``. That holds of
rows that are chosen after all that was released before them, too, where a row of C is released as
soon as its last round has come (Denisov et al. 2022, Theorem 2.1). Given the past, what round t
releases moves by ``||(C D)_t||``, whose squares add up to at most ``s^2`` whatever happens. With a
last release that moves by what is missing they add up to ``s^2``: the logarithm of the likelihood
ratio is then a sum of ``m_t xi_t +- m_t^2 / 2``, with standard normals ``xi_t`` and ``m_t`` that
the past fixes and whose squares add up to ``mu^2``, so that it is ``N(+-mu^2 / 2, mu^2)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from dpaudit.errors import InvalidArgument
from dpaudit.extension.parameters import Parameters
from dpaudit.extension.release import ReleaseCard

if TYPE_CHECKING:
    from flint import fmpq_mat

    from dpaudit.accounting.events import Event
    from dpaudit.accounting.matrices.participation import Participation
    from dpaudit.accounting.matrices.strategies import Strategy
    from dpaudit.accounting.pairs.composition import Bracket

Read = Callable[[float], Fraction]
"""A double as a number: the one that it stands for, or the one that it is."""

_ZERO_OUT: Final = "zero-out-record"
_REPLACE: Final = "replace-record"
_ROUNDS, _MOST_COLUMNS = 1_000, 500
_DIGITS = 60
_SHOWN = 8
_EXACT = 1e-12  # relative width of a bracket whose ends are shown as one number

# What a strategy takes beside its rounds.
_OPTIONS: dict[str, tuple[str, ...]] = {
    "identity": (),
    "prefix": ("momentum", "decay"),
    "tree": ("completion",),
    "square-root": ("momentum", "decay"),
    "banded": ("momentum", "decay", "band"),
    "lambda-cgd": ("cancellation",),
    "toeplitz": ("coefficients",),
    "matrix": ("matrix", "noise_matrix"),
}


def _as_lists(given: Any) -> Any:
    """Return an array as lists."""
    return given.tolist() if hasattr(given, "tolist") else given


Numbers = Annotated[tuple[float, ...], BeforeValidator(_as_lists)]
Rows = Annotated[tuple[tuple[float, ...], ...], BeforeValidator(_as_lists)]


class MatrixParameters(Parameters):
    """Of a matrix mechanism."""

    strategy: Literal[
        "identity",
        "prefix",
        "tree",
        "square-root",
        "banded",
        "lambda-cgd",
        "toeplitz",
        "matrix",
    ] = Field(
        "square-root",
        description="C: identity, prefix, tree, square-root, banded (a square root cut to a band), "
        "lambda-cgd, toeplitz (coefficients given) or matrix (rows given)",
    )
    rounds: int | None = Field(
        None,
        ge=1,
        le=100_000,
        description=f"n; none: {_ROUNDS}, or as many as the matrix has columns",
    )
    participation: Literal["single", "min-separation", "cyclic"] = Field(
        "single",
        description="rounds of a record: single (one), min-separation (at least separation apart) "
        "or cyclic (every separation-th)",
    )
    separation: int = Field(1, ge=1, description="b, rounds from one of a record to its next")
    participations: int | None = Field(
        None, ge=1, description="k, rounds of a record at most; none: as many as fit"
    )
    norm: float = Field(1.0, ge=0, description="bound on the L2 norm of a record's row in a round")
    noise_scale: float = Field(1.0, gt=0, description="standard deviation of each coordinate of z")
    relation: Literal["zero-out-record", "replace-record"] = Field(
        _ZERO_OUT, description="zero-out-record (rows become 0) or replace-record (other rows)"
    )
    momentum: float = Field(
        0.0, ge=0, lt=1, description="beta of the sums that prefix, square-root and banded are of"
    )
    decay: float = Field(
        1.0, gt=0, le=1, description="what those sums are multiplied by in each round"
    )
    band: int = Field(1, ge=1, description="diagonals of banded that are not 0")
    cancellation: float = Field(
        0.0,
        ge=0,
        le=1,
        description="lambda of lambda-cgd: how much of its noise a round takes back",
    )
    completion: bool = Field(
        True, description="of tree: nodes that the rounds do not fill are released, too"
    )
    coefficients: Numbers = Field(
        (), description="of toeplitz: the first column of C from its diagonal down, then 0"
    )
    matrix: Rows = Field((), description="of matrix: the rows of C")
    noise_matrix: Rows = Field(
        (),
        description="of matrix: rows of B where the rows of A x + B z are given, square; or none",
    )
    count: int = Field(1, ge=0, description="how many such mechanisms a record is in")


# --- parameters as a strategy ---------------------------------------------------------------------


def strategy_of(given: MatrixParameters, read: Read) -> Strategy:
    """Return C, its doubles read as numbers.

    Raises
    ------
    InvalidArgument
        A parameter is not as its strategy needs it.
    """
    from flint import fmpq

    from dpaudit.accounting.matrices.strategies import Dense, Toeplitz, Tree, power_coefficients

    _check_options(given)
    rounds = _ROUNDS if given.rounds is None else given.rounds
    sums = [read(given.decay), read(given.momentum)]
    match given.strategy:
        case "identity":
            return Toeplitz(rounds, [fmpq(1)])
        case "prefix":
            return Toeplitz(rounds, power_coefficients(rounds, sums, is_root=False))
        case "tree":
            return Tree(rounds, given.completion)
        case "square-root":
            return Toeplitz(rounds, power_coefficients(rounds, sums, is_root=True))
        case "banded":
            band = min(given.band, rounds)
            return Toeplitz(rounds, power_coefficients(band, sums, is_root=True))
        case "lambda-cgd":
            powers = power_coefficients(rounds, [read(given.cancellation)], is_root=False)
            return Toeplitz(rounds, powers)
        case "toeplitz":
            exact = [read(one) for one in given.coefficients]
            return Toeplitz(rounds, [fmpq(one.numerator, one.denominator) for one in exact])
        case "matrix":
            matrix = _given_matrix(given, read)
            return Dense(int(matrix.ncols()), matrix)


def _check_options(given: MatrixParameters) -> None:
    """Refuse what the strategy or the participation has no use for, and what it lacks."""
    own = _OPTIONS[given.strategy]
    for name in sorted({one for names in _OPTIONS.values() for one in names} - set(own)):
        if getattr(given, name) != MatrixParameters.model_fields[name].default:
            raise InvalidArgument(name, getattr(given, name), f"none for {given.strategy}")
    for name in ("coefficients", "matrix"):
        if name in own and not getattr(given, name):
            raise InvalidArgument(name, getattr(given, name), f"numbers for {given.strategy}")
    if given.participation == "single" and given.separation != 1:
        raise InvalidArgument("separation", given.separation, "1 for single")


def _given_matrix(given: MatrixParameters, read: Read) -> fmpq_mat:
    rows = _rectangle("matrix", given.matrix, read)
    columns = int(rows.ncols())
    if columns > _MOST_COLUMNS:
        raise InvalidArgument("matrix", f"{columns} columns", f"at most {_MOST_COLUMNS}")
    if given.rounds not in (None, columns):
        raise InvalidArgument("rounds", given.rounds, f"{columns}, the columns of the matrix")
    return rows if not given.noise_matrix else _whitened(given, rows, read)


def _whitened(given: MatrixParameters, rows: fmpq_mat, read: Read) -> fmpq_mat:
    """Return C of ``A x + B z``."""
    from dpaudit.accounting.matrices.strategies import whitened

    noise, size = _rectangle("noise_matrix", given.noise_matrix, read), int(rows.nrows())
    found = whitened(rows, noise) if noise.nrows() == noise.ncols() == size else None
    if found is None:
        expected = f"an invertible matrix of {size} rows and columns"
        raise InvalidArgument("noise_matrix", given.noise_matrix, expected)
    return found


def _rectangle(name: str, rows: Sequence[Sequence[float]], read: Read) -> fmpq_mat:
    from dpaudit.accounting.matrices.strategies import rational_matrix

    if len({len(row) for row in rows}) != 1 or not rows[0]:
        raise InvalidArgument(name, rows, "rows of one length, of one number at least")
    return rational_matrix(rows, read)


def participation_of(given: MatrixParameters) -> Participation:
    """Return the patterns of a record's rounds."""
    from dpaudit.accounting.matrices.participation import Participation

    return Participation(
        kind=given.participation, separation=given.separation, most=given.participations
    )


# --- sensitivity ----------------------------------------------------------------------------------


def sensitivity(given: MatrixParameters) -> Bracket:
    """Return the sensitivity of ``C x`` to a record whose rows, of norm at most 1, become 0.

    Raises
    ------
    InvalidArgument
        As `strategy_of`; or there are more rounds than this participation is worked out for.

    Examples
    --------
    >>> sensitivity(MatrixParameters(strategy="tree", rounds=8)).upper
    2.0
    >>> f"{sensitivity(MatrixParameters(rounds=64)).upper:.5f}"
    '1.54559'
    """
    same = {"norm": 1.0, "noise_scale": 1.0, "relation": _ZERO_OUT, "count": 1}
    return _sensitivity(given.model_copy(update=same))


@lru_cache(maxsize=256)
def _sensitivity(given: MatrixParameters) -> Bracket:
    from dpaudit.accounting.matrices.sensitivity import squared_sensitivity

    def squared(read: Read) -> tuple[Any, Any]:
        found = squared_sensitivity(strategy_of(given, read), participation_of(given))
        return found.lower, found.upper

    return _either_way(squared)


def _either_way(squared: Callable[[Read], tuple[Any, Any]]) -> Bracket:
    """Return roots that hold both of what doubles stand for and of the doubles.

    Where what they stand for has a root that a double stands for, it is that double, as ten
    releases of 0.1 spend 1.
    """
    from dpaudit.accounting.matrices.sensitivity import root_down, root_up
    from dpaudit.accounting.pairs.composition import Bracket
    from dpaudit.guarantees.rounding import written
    from dpaudit.reals import precision

    changed = False

    def meant(value: float) -> Fraction:
        nonlocal changed
        changed |= written(value) != Fraction(value)
        return written(value)

    with precision(_DIGITS):
        lower, upper = squared(meant)
        low, high = root_down(lower), root_up(upper)
        if changed and low < high:
            lower, upper = squared(Fraction)
            low, high = min(low, root_down(lower)), max(high, root_up(upper))
    return Bracket(low, high)


def _event(given: MatrixParameters) -> Event:
    from dpaudit.accounting.events import GaussianRelease
    from dpaudit.guarantees import rounding

    factor = 2.0 if given.relation == _REPLACE else 1.0
    return GaussianRelease(
        sensitivity=rounding.product_up(sensitivity(given).upper, factor * given.norm),
        noise_scale=given.noise_scale,
        count=given.count,
    )


def is_attained(given: MatrixParameters) -> bool:
    """Return whether some record moves ``C x`` as far as the account says.

    Examples
    --------
    >>> rows = ((1.0, -1.0, 0.0), (1.0, 0.0, -1.0), (0.0, 1.0, -1.0))
    >>> signed = MatrixParameters(strategy="matrix", matrix=rows, participation="min-separation")
    >>> is_attained(signed), is_attained(MatrixParameters())
    (False, True)
    """
    return _is_one_number(sensitivity(given))


def _is_one_number(bracket: Bracket) -> bool:
    return bracket.width <= _EXACT * bracket.upper


def _words(given: MatrixParameters) -> str:
    return " ".join((_rounds_in_words(given), _sensitivity_in_words(given), _order_in_words(given)))


def _rounds_in_words(given: MatrixParameters) -> str:
    rounds = strategy_of(given, Fraction).rounds
    times, apart = participation_of(given).epochs(rounds), given.separation
    match given.participation:
        case "single":
            return f"A record is in one of {rounds} rounds."
        case "min-separation":
            return f"A record is in at most {times} of {rounds} rounds, at least {apart} apart."
        case "cyclic":
            return f"A record is in at most {times} of {rounds} rounds, one in {apart}."


def _sensitivity_in_words(given: MatrixParameters) -> str:
    from dpaudit.accounts.sharing import totals
    from dpaudit.report.formatting import number

    found = sensitivity(given)
    upper = number(found.upper, _SHOWN, ROUND_CEILING)
    mu = number(totals(_event(given))["mu"] or 0.0, _SHOWN, ROUND_CEILING)
    if _is_one_number(found):
        return f"The sensitivity of C is {upper}: exactly Gaussian, mu = {mu}."
    lower = number(found.lower, _SHOWN, ROUND_FLOOR)
    return f"The sensitivity of C is from {lower} to {upper}: mu is at most {mu}."


def _order_in_words(given: MatrixParameters) -> str:
    if strategy_of(given, Fraction).is_causal:
        return "Each row of x may depend on all that was released before it."
    return "C is not lower triangular: no row of x may depend on what was released."


MATRIX = ReleaseCard(
    name="matrix",
    title="noise correlated across rounds: DP-FTRL, BandMF, trees, square roots, DP-lambda-CGD",
    source="Denisov et al. 2022, Theorem 2.1; dpaudit.accounting.matrices.sensitivity",
    relation="by the parameter relation",
    parameters=MatrixParameters,
    event=_event,
    count="count",
    noise="noise_scale",
    words=_words,
    neighbours=lambda given: str(given.relation),
    attained=is_attained,
)


# --- outputs with correlated noise ----------------------------------------------------------------


class CorrelatedParameters(Parameters):
    """Of outputs that one query enters with known weights, with noise of a known covariance."""

    weights: Numbers = Field((1.0,), description="c: with which each output has the query")
    covariance: Rows = Field((), description="S, of the noise of noise scale 1; none: the identity")
    sensitivity: float = Field(1.0, ge=0, description="of the query, which is one number")
    noise_scale: float = Field(1.0, gt=0, description="what noise of covariance S is multiplied by")
    count: int = Field(1, ge=0, description="how many such releases")


def distance(given: CorrelatedParameters) -> Bracket:
    """Return mu of sensitivity 1 and noise scale 1, ``(c' S^-1 c)^(1/2)``.

    Raises
    ------
    InvalidArgument
        The covariance is none, or of another size.

    Examples
    --------
    >>> distance(CorrelatedParameters(weights=(3, 4))).upper
    5.0
    """
    from dpaudit.accounting.matrices.correlation import squared_distance

    size = len(given.weights)
    unit = tuple(tuple(float(i == j) for j in range(size)) for i in range(size))
    rows = given.covariance or unit

    def squared(read: Read) -> tuple[Any, Any]:
        covariance = _rectangle("covariance", rows, read)
        column: fmpq_mat = _rectangle("weights", [given.weights], read).transpose()
        fits = covariance.nrows() == covariance.ncols() == size
        found = squared_distance(column, covariance) if fits else None
        if found is None:
            expected = f"a symmetric, positive definite matrix of {size} rows"
            raise InvalidArgument("covariance", rows, expected)
        return found, found

    return _either_way(squared)


def _correlated_event(given: CorrelatedParameters) -> Event:
    from dpaudit.accounting.events import GaussianRelease
    from dpaudit.guarantees import rounding

    return GaussianRelease(
        sensitivity=rounding.product_up(distance(given).upper, given.sensitivity),
        noise_scale=given.noise_scale,
        count=given.count,
    )


CORRELATED = ReleaseCard(
    name="correlated-outputs",
    title="outputs that share a query of one number, with noise of a known covariance",
    source="Dong, Roth & Su 2022; dpaudit.accounting.matrices.correlation",
    relation="any",
    parameters=CorrelatedParameters,
    event=_correlated_event,
    count="count",
    noise="noise_scale",
)
