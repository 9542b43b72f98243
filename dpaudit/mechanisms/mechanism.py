"""The contract of a mechanism: batches of outputs and, where it is known, their law.

Trials are the leading axis of every array. A mechanism is configured by public parameters only;
the dataset and the random generator are arguments of each call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.errors import DpauditError, MechanismError
from dpaudit.mechanisms.foreign.outside import Outside
from dpaudit.mechanisms.outputs.layout import Layout, PartLayout
from dpaudit.mechanisms.outputs.outcomes import Inexact, as_doubles
from dpaudit.neighbours import Pair
from dpaudit.standins import what_code_raised

DIGITS = 50
DatasetT = TypeVar("DatasetT")
DatasetT_contra = TypeVar("DatasetT_contra", contravariant=True)


@runtime_checkable
class Mechanism(Protocol[DatasetT_contra]):
    """Anything that turns a dataset into random outputs."""

    def sample(self, dataset: DatasetT_contra, trials: int, rng: Generator) -> Array:
        """Return ``trials`` independent outputs, shape ``(trials, ...)``."""
        ...


@dataclass(frozen=True)
class TiltedSample:
    """Outputs drawn from a tilted law, with the terms that weigh them back.

    The tilted law draws each step from ``r_t ~ p_t exp(theta l_t - K_t(theta))`` where ``l_t`` is
    the step's privacy loss given the history and ``K_t(theta) = log E_p exp(theta l_t)``.

    Parameters
    ----------
    outputs
        The outputs, shape ``(R, ...)``.
    privacy_loss
        ``log p(output) / q(output)``, shape ``(R,)``.
    log_mgf
        ``log p/r + theta privacy_loss``, shape ``(R,)``: ``sum_t K_t(theta)`` along each
        output's history where every step is tilted towards its own loss, as above.
    tilt
        ``theta``; 0 draws from ``p`` itself.
    """

    outputs: Array
    privacy_loss: Array
    log_mgf: Array
    tilt: float

    @property
    def log_weight(self) -> Array:
        """``log p / r``, shape ``(R,)``: expectations under p are weighted means under r."""
        weight: Array = self.log_mgf - self.tilt * self.privacy_loss
        return weight


@runtime_checkable
class HasLaw(Protocol[DatasetT]):
    """A mechanism whose outputs have a known density.

    In every method ``p`` is the law on ``pair.dataset`` and ``q`` the law on ``pair.neighbour``.
    """

    def sample(self, dataset: DatasetT, trials: int, rng: Generator) -> Array:
        """Return ``trials`` independent outputs, shape ``(trials, ...)``."""
        ...

    def privacy_loss(self, outputs: Array, pair: Pair[DatasetT]) -> Array:
        """Return ``log p / q`` of each output, shape ``(R,)``."""
        ...

    def uniform_residuals(self, outputs: Array, dataset: DatasetT) -> Array:
        """Return the probability-integral transform of the noise, shape ``(R, k)``.

        On outputs drawn from ``dataset`` the entries are independent and uniform on (0, 1).
        Where there are as many as an output has numbers they should stand in its order: then
        every step, node and coordinate is also tested by itself.
        """
        ...


@runtime_checkable
class HasLossBounds(HasLaw[DatasetT], Protocol[DatasetT]):
    """A mechanism that can enclose a loss, whatever cancels: its statement on one is proved.

    What the law is made of, such as means and noise levels, may be the doubles that the code
    computes with.
    """

    def loss_bounds(self, output: Array, pair: Pair[Any]) -> tuple[float, float]:
        """Return doubles between which ``log p / q`` of one output lies.

        They are rounded outwards, and infinite where nothing can be proved
        (`dpaudit.laws.loss_enclosure.ends` does both).

        Raises
        ------
        InvalidArgument
            There is no such code for these parameters.
        """
        ...


@runtime_checkable
class HasLossInDigits(HasLaw[DatasetT], Protocol[DatasetT]):
    """A mechanism that can compute a loss once more, in any precision, with code for that alone.

    However many digits there are, they have no error bound: ``(x + y)^2 - x^2`` is 0 in 50 digits
    where x is 1e300 and y is 1e-300, and is 2. An audit at delta = 0 that has `HasLossBounds` does
    without them. Otherwise it takes 50 digits, 1,300 (with which squares and products of two
    doubles are exact) and 2,600, uses the least of the last two if they agree, and says in its
    report that they have no bound.
    """

    def loss_in_digits(self, output: Array, pair: Pair[Any], digits: int = DIGITS) -> Any:
        """Return ``log p / q`` of one output, as a number of mpmath or a ``Decimal``.

        Raises
        ------
        InvalidArgument
            There is no such code for these parameters.
        """
        ...


@runtime_checkable
class Tiltable(HasLaw[DatasetT], Protocol[DatasetT]):
    """A mechanism with a law that can also be drawn tilted, as an exact-loss audit needs it."""

    def sample_tilted(
        self, pair: Pair[DatasetT], tilt: float, trials: int, rng: Generator
    ) -> TiltedSample:
        """Return outputs of the law tilted by ``tilt``, with their weights."""
        ...

    def log_mgf_bounds(self, pair: Pair[DatasetT], tilt: float) -> tuple[float, float]:
        """Return bounds on `TiltedSample.log_mgf` that hold for every output.

        The upper one may be infinite: the audit then has no upper end.
        """
        ...


@runtime_checkable
class Aimable(Tiltable[DatasetT], Protocol[DatasetT]):
    """A mechanism whose losses a tilt serves badly, and that has better draws.

    Where the loss bends upwards, as that of a mean of likelihood ratios does, a tilt by ``exp(theta
    L)`` draws losses far beyond epsilon. Aimed draws are made for the losses beyond one epsilon.
    """

    def sample_aimed(
        self, pair: Pair[DatasetT], aim: float, trials: int, rng: Generator
    ) -> TiltedSample:
        """Return outputs for losses beyond ``aim``, of tilt 0: ``log_mgf`` is ``log p/r``."""
        ...

    def log_payoff_bound(self, pair: Pair[DatasetT], aim: float, epsilon: float) -> float:
        """Return the logarithm of a number that no ``p/r (1 - e^(epsilon - L))_+`` exceeds.

        It is proved, for every epsilon: the audit takes its upper end from it. It is infinite where
        there are no such draws for a pair; these are drawn tilted.
        """
        ...


@dataclass(frozen=True)
class TailDraws:
    """Draws of a mechanism in one direction of a pair, aimed at losses beyond an epsilon."""

    mechanism: Aimable[Any]
    pair: Pair[Any]
    epsilon: float

    def sample(self, trials: int, rng: Generator) -> TiltedSample:
        """Return aimed outputs."""
        return self.mechanism.sample_aimed(self.pair, self.epsilon, trials, rng)

    def log_payoff_bound(self, epsilon: float) -> float:
        """Return the logarithm of a number that no payoff beyond epsilon exceeds."""
        return float(self.mechanism.log_payoff_bound(self.pair, self.epsilon, epsilon))


def draw_checked_sample(
    mechanism: Mechanism[Any], dataset: Any, trials: int, rng: Generator
) -> NDArray[np.float64]:
    """Sample and hold the mechanism to its contract.

    Raises
    ------
    MechanismError
        The mechanism raised, or returned the wrong number of outputs, a non-number, or numbers
        that doubles do not hold exactly (`dpaudit.mechanisms.outputs.outcomes`).
    """
    name, call = name_of(mechanism), call_of(mechanism, trials)
    with convert_mechanism_errors(
        mechanism, trials, dataset, lambda made: mechanism.sample(made, trials, rng)
    ):
        returned = mechanism.sample(dataset, trials, rng)
        try:
            outputs = as_doubles(returned)  # A copy: the mechanism may fill the array again.
        except Inexact as error:
            raise MechanismError(
                f"mechanism {name}: {call} returned {error.seen_in(returned)}, expected "
                f"{error.instead}, one output a trial: an outcome must not change when it "
                "becomes doubles"
            ) from None
    if outputs.ndim == 0 or outputs.shape[0] != trials or not outputs.size:
        raise MechanismError(
            f"mechanism {name}: {call} returned shape "
            f"{outputs.shape}, expected ({trials}, ...): one output a trial"
        )
    if not np.isfinite(outputs).all():
        bad = int(np.argmax(~np.isfinite(outputs).reshape(trials, -1).all(axis=1)))
        raise MechanismError(
            f"mechanism {name}: output {bad} of {trials} holds NaN or infinity, "
            "expected finite numbers"
        )
    return outputs


@contextmanager
def convert_mechanism_errors(
    mechanism: object, trials: int, dataset: Any, again: Callable[[Any], object]
) -> Iterator[None]:
    """Name the mechanism and the call whatever its code raises; standard output is for results.

    ``again`` makes the same call on other data: what it says of these is shown.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    # Somebody at the keyboard interrupts, and not the mechanism.
    except (DpauditError, KeyboardInterrupt):
        raise
    except BaseException as error:  # the mechanism is other people's code
        raised = "" if isinstance(error, SystemExit) else "raised "
        said = what_code_raised(error, dataset, again)
        raise MechanismError(
            f"mechanism {name_of(mechanism)}: {call_of(mechanism, trials)} "
            f"{raised}{said}, expected {_format_expected_output(mechanism, error, dataset)}"
        ) from error


def _format_expected_output(mechanism: object, error: BaseException, dataset: Any) -> str:
    if not hasattr(mechanism, "called") or not isinstance(error, Exception):
        return "an array of outputs"
    expected = "an output (if the audit observes exceptions, a raised exception is one)"
    if not getattr(mechanism, "has_returned", False):
        return f"{expected}{_OF_A_FRAME}" if _is_frame(dataset) else expected
    return (
        f"{expected}, because earlier calls returned one: if the object keeps a budget or "
        "another state from call to call, pass the class, or a function that makes the object, "
        "in its place, or reset it with fresh="
    )


_OF_A_FRAME = (
    "; the data are a pandas.DataFrame, as from a file with a header: a function of arrays "
    "needs data.to_numpy(), or a file without a header"
)


def _is_frame(dataset: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(dataset, pandas.DataFrame)


def call_of(mechanism: object, trials: int) -> str:
    """Return how a mechanism is called, for messages."""
    called = getattr(mechanism, "called", None)
    return f"sample(dataset, {trials}, rng)" if called is None else str(called(trials))


class Wraps:
    """A mechanism made of other people's code, which ``function`` is."""

    function: Any


class ForeignCode:
    """Other people's code as a mechanism, or the proxy of a mechanism that runs elsewhere."""

    @property
    def called_as(self) -> str | None:
        """The form of a call, if it is other people's code that states no law."""
        return None

    @property
    def layout(self) -> Layout | None:
        """The layout of its outputs, once it is known."""
        return None

    @property
    def outside(self) -> Outside | None:
        """The called program or service, if it is no code of Python."""
        return None


def is_observed(mechanism: object) -> bool:
    """Return whether a mechanism is other people's code that states no law."""
    return isinstance(mechanism, ForeignCode) and mechanism.called_as is not None


def is_ours(mechanism: object) -> bool:
    """Return whether a mechanism is this package's: it is quick, and keeps no state."""
    if isinstance(mechanism, ForeignCode | Wraps):
        return False
    parts = (mechanism, getattr(mechanism, "process", mechanism))
    return all(type(part).__module__.startswith("dpaudit.") for part in parts)


def outside_of(mechanism: object) -> Outside | None:
    """Return the program or service of a mechanism or of its proxy, if it is no code of Python."""
    found = getattr(mechanism, "outside", mechanism)
    return found if isinstance(found, Outside) else None


def layout_of(mechanism: object) -> PartLayout | None:
    """Return the layout of a mechanism's outputs, if they have discrete parts."""
    layout = getattr(mechanism, "layout", None)
    return layout if isinstance(layout, PartLayout) else None


def name_of(mechanism: object) -> str:
    """Return the name of a mechanism: its type, or the function that it is made of.

    Examples
    --------
    >>> from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
    >>> def noisy(dataset, trials, rng): ...
    >>> name_of(as_mechanism(noisy)), name_of(as_mechanism(partial(noisy, scale=1)))
    ('noisy', 'noisy')
    """
    found = mechanism.function if isinstance(mechanism, Wraps) else type(mechanism)
    while isinstance(found, partial):
        found = found.func
    if isinstance(found, Outside):
        return found.name
    if not hasattr(found, "__qualname__"):
        found = type(found)
    return str(found.__qualname__).rpartition("<locals>.")[2]
