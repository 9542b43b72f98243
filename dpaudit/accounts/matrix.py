"""Matrix mechanisms by name: noise that is correlated across rounds.

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

*Poisson samples* of b groups, where C is lower triangular and has a band of at most b: each record
is in one group for good, and round j draws a sample of those of group ``j mod b``, each with
probability q. Then round j enters the rows j to ``j + b - 1`` alone, which no other round of its
group enters. Given who else is drawn, and all that was released, these rows are a Gaussian release
that moves by ``||c_j||`` with probability q: a Poisson-subsampled Gaussian, of which a record is in
``ceil(n / b)`` (Choquette-Choo et al. 2023).
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field

from dpaudit.accounts.rationals import Numbers, Read, Rows, bracket_of_root, rational_rows
from dpaudit.accounts.releases import Share
from dpaudit.errors import InvalidArgument
from dpaudit.extension.parameters import Parameters
from dpaudit.extension.release import ReleaseCard

if TYPE_CHECKING:
    from flint import fmpq_mat

    from dpaudit.accounting.events import Event
    from dpaudit.accounting.matrices.participation import Participation
    from dpaudit.accounting.matrices.strategies import Strategy
    from dpaudit.accounting.pairs.composition import Bracket

_ZERO_OUT: Final = "zero-out-record"
_REPLACE: Final = "replace-record"
_ADD_REMOVE: Final = "add-remove-record"
_ROUNDS = 1_000
_MOST_COLUMNS = 500
_SHOWN = 8
_EXACT = 2.0**-50  # relative width of a bracket whose ends differ by roundings alone

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


class MatrixParameters(Parameters):
    """Parameters of a matrix mechanism."""

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
    participation: Literal["single", "min-separation", "cyclic", "poisson"] = Field(
        "single",
        description="rounds of a record: single (one), min-separation (at least separation apart), "
        "cyclic (every separation-th) or poisson (of every separation-th a random part)",
    )
    separation: int = Field(1, ge=1, description="b, rounds from one of a record to its next")
    participations: int | None = Field(
        None, ge=1, description="k, rounds of a record at most; none: as many as fit"
    )
    sampling_ratio: Share = Field(
        1.0, gt=0, le=1, description="q of poisson: probability of a record in each of its rounds"
    )
    norm: float = Field(1.0, ge=0, description="bound on the L2 norm of a record's row in a round")
    noise_scale: float = Field(1.0, gt=0, description="standard deviation of each coordinate of z")
    relation: Literal["zero-out-record", "replace-record", "add-remove-record"] = Field(
        _ZERO_OUT,
        description="zero-out-record (rows become 0), replace-record (other rows) or, of poisson, "
        "add-remove-record",
    )
    momentum: float = Field(
        0.0, ge=0, lt=1, description="beta of the sums that prefix, square-root and banded are of"
    )
    decay: float = Field(1.0, gt=0, le=1, description="factor of those sums in each round")
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
    count: int = Field(1, ge=0, description="number of such mechanisms that a record is in")


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
            matrix = _read_strategy_matrix(given, read)
            return Dense(int(matrix.ncols()), matrix)


def _check_options(given: MatrixParameters) -> None:
    """Refuse options that the strategy or the participation does not use, and missing ones."""
    own = _OPTIONS[given.strategy]
    for name in sorted({one for names in _OPTIONS.values() for one in names} - set(own)):
        # A parameter that a strategy ignores would leave the user with an account of another
        # strategy than was meant.
        if getattr(given, name) != MatrixParameters.model_fields[name].default:
            raise InvalidArgument(name, getattr(given, name), f"none for {given.strategy}")
    for name in ("coefficients", "matrix"):
        if name in own and not getattr(given, name):
            raise InvalidArgument(name, getattr(given, name), f"numbers for {given.strategy}")
    if given.participation == "single" and given.separation != 1:
        raise InvalidArgument("separation", given.separation, "1 for single")
    is_poisson = given.participation == "poisson"
    if not is_poisson and given.sampling_ratio != 1:
        raise InvalidArgument(
            "sampling_ratio", given.sampling_ratio, f"1 for {given.participation}"
        )
    if given.relation == (_REPLACE if is_poisson else _ADD_REMOVE):
        other = _ADD_REMOVE if is_poisson else _REPLACE
        expected = f"{_ZERO_OUT} or {other} for {given.participation}"
        raise InvalidArgument("relation", given.relation, expected)


def _read_strategy_matrix(given: MatrixParameters, read: Read) -> fmpq_mat:
    rows = rational_rows("matrix", given.matrix, read)
    columns = int(rows.ncols())
    if columns > _MOST_COLUMNS:
        raise InvalidArgument("matrix", f"{columns} columns", f"at most {_MOST_COLUMNS}")
    if given.rounds not in (None, columns):
        raise InvalidArgument("rounds", given.rounds, f"{columns}, the columns of the matrix")
    return rows if not given.noise_matrix else _require_whitened_matrix(given, rows, read)


def _require_whitened_matrix(given: MatrixParameters, rows: fmpq_mat, read: Read) -> fmpq_mat:
    """Return C of ``A x + B z``."""
    from dpaudit.accounting.matrices.strategies import whiten_rows

    noise, size = rational_rows("noise_matrix", given.noise_matrix, read), int(rows.nrows())
    found = whiten_rows(rows, noise) if noise.nrows() == noise.ncols() == size else None
    if found is None:
        expected = f"an invertible matrix of {size} rows and columns"
        raise InvalidArgument("noise_matrix", given.noise_matrix, expected)
    return found


def participation_of(given: MatrixParameters) -> Participation:
    """Return the patterns of a record's rounds: of Poisson samples, those of one round."""
    from dpaudit.accounting.matrices.participation import Participation

    if given.participation == "poisson":
        return Participation(most=given.participations)
    return Participation(
        kind=given.participation, separation=given.separation, most=given.participations
    )


# --- sensitivity ----------------------------------------------------------------------------------


def sensitivity(given: MatrixParameters) -> Bracket:
    """Return the sensitivity of ``C x`` to a record whose rows, of norm at most 1, become 0.

    Of Poisson samples it is that to the row of one round.

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
    unused = ("norm", "noise_scale", "sampling_ratio", "count")
    # What the sensitivity of C does not depend on is set back, so that calibrating the noise works
    # it out once.
    same = {name: MatrixParameters.model_fields[name].default for name in unused}
    _check_options(given)
    return _bound_matrix_sensitivity(given.model_copy(update=same))


@lru_cache(maxsize=256)
def _bound_matrix_sensitivity(given: MatrixParameters) -> Bracket:
    from dpaudit.accounting.matrices.sensitivity import compute_squared_sensitivity

    def compute_square(read: Read) -> tuple[Any, Any]:
        strategy = strategy_of(given, read)
        if given.participation == "poisson" and not strategy.is_banded(given.separation):
            expected = "as many as C, which is lower triangular, has diagonals that are not 0"
            raise InvalidArgument("separation", given.separation, expected)
        found = compute_squared_sensitivity(strategy, participation_of(given))
        return found.lower, found.upper

    return bracket_of_root(compute_square)


def _build_matrix_event(given: MatrixParameters) -> Event:
    from dpaudit.accounting.events import GaussianRelease
    from dpaudit.guarantees import rounding

    # Replacing a row is making it 0 and making another one of it: twice as far.
    factor = 2.0 if given.relation == _REPLACE else 1.0
    moved = rounding.product_up(sensitivity(given).upper, factor * given.norm)
    if given.participation == "poisson":
        return _build_banded_sample_event(given, moved)
    return GaussianRelease(sensitivity=moved, noise_scale=given.noise_scale, count=given.count)


def _build_banded_sample_event(given: MatrixParameters, moved: float) -> Event:
    """Return the samples that a record may be in, each of which moves that far."""
    from dpaudit.accounting.events import PoissonSubsampledGaussian
    from dpaudit.guarantees.rounding import (
        round_fraction_down,
        to_larger_fraction,
        to_smaller_fraction,
    )

    # The largest group is drawn in this many rounds, each a sample of its own.
    samples = -(-strategy_of(given, Fraction).rounds // given.separation) * given.count
    return PoissonSubsampledGaussian(
        sampling_ratio=given.sampling_ratio,
        noise_multiplier=round_fraction_down(
            to_smaller_fraction(given.noise_scale) / to_larger_fraction(moved)
        )
        if moved
        else 1.0,
        count=samples if moved else 0,
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
    if given.participation == "poisson" and not _has_longest_cycle(given):
        return False
    return _is_one_number(sensitivity(given))


def _has_longest_cycle(given: MatrixParameters) -> bool:
    """Return whether the columns of a group that is in every cycle are all the longest."""
    from dpaudit.guarantees.rounding import to_written_fraction

    strategy = strategy_of(given, to_written_fraction)
    samples = -(-strategy.rounds // given.separation)
    for first in range(strategy.rounds - (samples - 1) * given.separation):
        cycle = range(first, strategy.rounds, given.separation)
        if all(strategy.is_longest(one) for one in cycle):
            return True
    return False


def _is_one_number(bracket: Bracket) -> bool:
    return bracket.width <= _EXACT * bracket.upper


def _format_matrix_release(given: MatrixParameters) -> str:
    return " ".join((_rounds_in_words(given), _sensitivity_in_words(given), _order_in_words(given)))


def _rounds_in_words(given: MatrixParameters) -> str:
    rounds, apart = strategy_of(given, Fraction).rounds, given.separation
    times = participation_of(given).epochs(rounds)
    match given.participation:
        case "single":
            return f"A record is in one of {rounds} rounds."
        case "min-separation":
            return f"A record is in at most {times} of {rounds} rounds, at least {apart} apart."
        case "cyclic":
            return f"A record is in at most {times} of {rounds} rounds, one in {apart}."
        case "poisson":
            return (
                f"A record is in one of {apart} groups, and is drawn with probability "
                f"{given.sampling_ratio:g} in each of {-(-rounds // apart)} rounds of it at most."
            )


def _sensitivity_in_words(given: MatrixParameters) -> str:
    from dpaudit.accounts.sharing import compute_event_totals
    from dpaudit.report.formatting import format_significant

    found = sensitivity(given)
    upper = format_significant(found.upper, _SHOWN, ROUND_CEILING)
    if given.participation == "poisson":
        return f"A column of C is at most {upper} long."
    mu = format_significant(
        compute_event_totals(_build_matrix_event(given))["mu"] or 0.0, _SHOWN, ROUND_CEILING
    )
    if _is_one_number(found):
        return f"The sensitivity of C is {upper}: exactly Gaussian, mu = {mu}."
    lower = format_significant(found.lower, _SHOWN, ROUND_FLOOR)
    return f"The sensitivity of C is from {lower} to {upper}: mu is at most {mu}."


def _order_in_words(given: MatrixParameters) -> str:
    if strategy_of(given, Fraction).is_causal:
        return "Each row of x may depend on all that was released before it."
    return "Rows of C hold later rounds: no row of x may depend on what was released."


MATRIX = ReleaseCard(
    name="matrix",
    title="noise correlated across rounds: DP-FTRL, BandMF, trees, square roots, DP-lambda-CGD",
    source="Denisov et al. 2022, Theorem 2.1; dpaudit.accounting.matrices.sensitivity",
    relation="by the parameter relation",
    parameters=MatrixParameters,
    event=_build_matrix_event,
    count="count",
    noise="noise_scale",
    words=_format_matrix_release,
    neighbours=lambda given: str(given.relation),
    attained=is_attained,
)
