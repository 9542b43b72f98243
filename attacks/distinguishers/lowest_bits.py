"""The last bits of a float: which power of two an output is a multiple of.

A double is an odd multiple of one power of two. In real arithmetic that power says nothing about
the answer a noise was added to; in double precision the sum is rounded, so that some powers occur
on one dataset and not on the other (Mironov 2012). Counting how often each occurs shows it,
whatever the noise and its sampler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.attacks.distinguishers.counting import Steps, fit_step_function, flatten_outputs
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.extension.distinguisher import Distinguisher
from dpaudit.mechanisms.mechanism import Mechanism
from dpaudit.neighbours import Pair

LOWEST_BITS = Distinguisher(
    name="lowest-bits",
    statement=(
        "log-ratio of how often an entry is a multiple of each power of two and no higher, 0 or -0"
    ),
    threat_model=(
        "can run the mechanism on both datasets; sees one output with all of its bits, as "
        "doubles; wants to know which dataset produced it"
    ),
    needs_law=False,
    fit="dpaudit.attacks.distinguishers.lowest_bits:fit",
    default=False,
    of_bits=True,
)

# Binary digits of a double's significand, the leading one included.
_MANTISSA = 53
# Above every exponent: 0 is a multiple of all powers.
_OF_ZERO = 2000.0
_OF_MINUS_ZERO = 2001.0


@dataclass(frozen=True)
class LowestBits:
    """Adds up, over entries, the log-ratio of the lowest bit's exponent."""

    tables: tuple[Steps, ...]

    def __call__(self, outputs: Array) -> Array:
        """Return sums of log-ratios, shape ``(R,)``."""
        exponents = lowest_exponents(flatten_outputs(outputs))
        return np.asarray(
            sum(step(column) for step, column in zip(self.tables, exponents.T, strict=True))
        )


def fit(
    mechanism: Mechanism[Any],
    pair: Pair[Any],
    on_dataset: Array,
    on_neighbour: Array,
    rng: Generator,
) -> LowestBits:
    """Fit on outputs of both datasets, shape ``(R, ...)`` each; uses outputs alone.

    Raises
    ------
    InvalidArgument
        An output holds NaN or infinity, or there is none.

    Examples
    --------
    >>> halves, wholes = np.arange(0.5, 99.5), np.arange(1.0, 100.0)
    >>> score = fit(None, None, halves, wholes, None)
    >>> score(np.array([7.5, 8.0])).round(1)
    array([ 5.3, -5.3])
    """
    for name, sample in (("on_dataset", on_dataset), ("on_neighbour", on_neighbour)):
        if not len(sample) or not np.isfinite(sample).all():
            raise InvalidArgument(name, VerbatimText("none, NaN or infinity"), "finite outputs")
    p, q = (lowest_exponents(flatten_outputs(sample)) for sample in (on_dataset, on_neighbour))
    return LowestBits(tuple(fit_step_function(*columns) for columns in zip(p.T, q.T, strict=True)))


def lowest_exponents(values: Array) -> Array:
    """Return k for every odd multiple of ``2^k``, 2000 for 0 and 2001 for -0; any shape.

    Examples
    --------
    >>> lowest_exponents(np.array([1.0, 12.0, -0.75, 0.1, 0.0, -0.0, 5e-324])).astype(int)
    array([    0,     2,    -2,   -55,  2000,  2001, -1074])
    """
    fraction, exponent = np.frexp(np.abs(values))
    # frexp scales denormals too, so 53 bits hold every finite double as a whole number.
    mantissa = np.ldexp(fraction, _MANTISSA).astype(np.int64)
    # In two's complement, m & -m keeps the lowest set bit of m alone.
    lowest = np.frexp((mantissa & -mantissa).astype(np.float64))[1] - 1
    zeros = np.where(np.signbit(values), _OF_MINUS_ZERO, _OF_ZERO)
    return np.where(values == 0, zeros, exponent - _MANTISSA + lowest)
