"""``dpaudit.views``: who learns how much about whom from a recursion, exactly."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit.accounting.events import GaussianRelease
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.affine.certificate import certify_views, get_observer_parts
from dpaudit.affine.changes import Box, Change, Direction, L1Ball, L2Ball
from dpaudit.affine.comparison import Function
from dpaudit.affine.form import AffineForm, ids_of
from dpaudit.affine.inputs import AdaptiveInputs
from dpaudit.affine.knowledge import AdaptiveView
from dpaudit.affine.messages import items_of, parts_of
from dpaudit.affine.observers import Seen, find_observers, functions_among
from dpaudit.affine.program import Ids
from dpaudit.affine.reading import Recursion, read_recursion
from dpaudit.affine.report import ObserverFinding, ViewsReport
from dpaudit.affine.rounds import Rounds
from dpaudit.affine.view import View, delta_of, epsilon_of
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.plots import Grid

Norm = Literal["l1", "l2", "box"]
_BALLS: dict[str, Callable[..., Change]] = {"l1": L1Ball, "l2": L2Ball, "box": Box}


@dataclass(frozen=True, eq=False)
class Views:
    """The knowledge of every observer about each part of the private data.

    Parameters
    ----------
    recursion
        What was read from the function.
    observers
        The coordinates that each of them sees.
    changes
        By how much each part of the private data may change.
    name
        Of the function.
    named
        Of the observers that are no functions of the output: the keys or participants that each
        is made of.

    Notes
    -----
    Formal guarantee: a view is exactly Gaussian DP with ``mu``, for the changes that are named.
    """

    recursion: Recursion
    observers: Mapping[str, Ids]
    changes: Mapping[str, Change]
    name: str = "recursion"
    named: Mapping[str, list[str]] = field(default_factory=dict)

    @cached_property
    def table(self) -> dict[tuple[str, str], View]:
        """The views, by whose data change and who looks."""
        return {
            (about, name): self._view(ids, change)
            for about, change in self.changes.items()
            for name, ids in self.observers.items()
        }

    def _view(self, ids: Ids, change: Change) -> View:
        program, calls = self.recursion.program, self.recursion.calls
        # Without adaptive inputs the program is fixed, and the view is exactly Gaussian.
        if not calls:
            return View(program, ids, change)
        return AdaptiveView(program, ids, change, calls)

    def view(self, observer: str | int, about: str | int | None = None) -> View:
        """Return an observer's view of a part of the private data; of the only one by default."""
        parts = list(self.changes)
        if about is None and len(parts) > 1:
            raise InvalidArgument("about", None, f"one of {parts}")
        key = (parts[0] if about is None else str(about), str(observer))
        if key not in self.table:
            expected = f"one of {parts}, and an observer of {list(self.observers)}"
            raise InvalidArgument("view", VerbatimText(f"{key[0]}, {key[1]}"), expected)
        return self.table[key]

    def mu(self, observer: str | int, about: str | int | None = None) -> Bracket:
        """Return the exact mu, between two ends that hold."""
        return self.view(observer, about).mu

    @property
    def worst(self) -> Bracket:
        """The largest mu of any observer about any part."""
        # The largest lower end and the largest upper end may be of two views; the largest mu
        # lies between them all the same.
        ends = [view.mu for view in self.table.values()]
        return Bracket(max(one.lower for one in ends), max(one.upper for one in ends))

    def delta(self, epsilon: float) -> Bracket:
        """Return delta at ``epsilon >= 0`` of the observer who learns most."""
        check.non_negative("epsilon", epsilon)
        return delta_of(self.worst, epsilon)

    def epsilon(self, delta: float) -> Bracket:
        """Return epsilon at ``delta`` of the observer who learns most."""
        check.require_delta("delta", delta)
        return epsilon_of(self.worst, delta)

    def guarantee(self, observer: str | int | None = None) -> GaussianDP:
        """Return the proved guarantee of an observer, or of all: about every part of the data.

        Raises
        ------
        InvalidArgument
            Nothing hides the data: mu is infinite.
        """
        names = list(self.observers) if observer is None else [str(observer)]
        mine = [self.view(name, about) for name in names for about in self.changes]
        upper = max((one.mu.upper for one in mine), default=0.0)
        # An accountant has no release of infinite mu, and GaussianDP would state a promise that
        # is none.
        if not math.isfinite(upper):
            expected = "an observer from whom noise hides the data: here mu is infinite"
            raise InvalidArgument("observer", observer, expected)
        return GaussianDP(upper)

    def release(self, observer: str | int | None = None) -> GaussianRelease:
        """Return an observer's view as one Gaussian release, to compose with others."""
        mu = self.guarantee(observer).mu
        # A release of sensitivity 0 is no release: it is counted zero times.
        return GaussianRelease(sensitivity=mu, noise_scale=1.0, count=1 if mu else 0)

    # --- showing -----------------------------------------------------------------------------

    @cached_property
    def report(self) -> ViewsReport:
        """All that is found, as plain values: text, pictures, files, and a certificate."""
        findings = [
            ObserverFinding(about, name, one.mu, one.proof, *_kinds_of(one))
            for (about, name), one in self.table.items()
        ]
        change = "; or ".join(dict.fromkeys(one.words for one in self.changes.values()))
        compared, is_adaptive = self.recursion.compared, bool(self.recursion.calls)
        return ViewsReport(
            self.name, findings, change or "is none", compared, certify_views(self), is_adaptive
        )

    def __str__(self) -> str:
        return self.report.text()

    def __repr__(self) -> str:
        return f"<Views of {self.name}: {len(self.observers)} observers, {len(self.changes)} parts>"

    def _repr_html_(self) -> str:
        return self.report.html()

    def grid(self, delta: float | None = None) -> Grid:
        """Return a table of mu, or of epsilon at a delta: a row for whose data, a column a view."""
        return self.report.grid(delta)

    def figure(
        self, path: str | os.PathLike[str] | None = None, *, width: float | None = None
    ) -> NDArray[np.object_]:
        """Return matplotlib axes: the table of mu, and delta at each epsilon by observer.

        They are written to ``path`` where one is given, which ends in ``.pdf``, ``.svg`` or
        ``.png``; ``width`` is in inches. The figure is ``axes[0].figure``; nothing else holds it.

        Raises
        ------
        InvalidArgument, DataError
            The file ends otherwise or cannot be written, or the width is below 2 inches.
        """
        return self.report.figure(path, width=width)

    def to_latex(self, delta: float = 1e-5) -> str:
        r"""Return a row in LaTeX for each view: about, observer, mu and epsilon at a delta."""
        return self.report.to_latex(delta)

    def document(self, delta: float = 1e-5) -> dict[str, Any]:
        """Return all of it as plain JSON values; infinite numbers are the string "Infinity"."""
        return self.report.document(delta)

    def save(self, folder: str | os.PathLike[str], delta: float = 1e-5) -> list[Path]:
        """Write report, picture and certificate into a folder, and return the files.

        ``dpaudit verify`` checks the certificate again.

        Raises
        ------
        DataError
            The folder or a file in it cannot be written.
        """
        return self.report.save(folder, delta)


def views(
    function: Function,
    *,
    private: Any,
    observers: Mapping[str, Seen] | None = None,
    about: Mapping[str, Any] | None = None,
    change: Any = None,
    norm: Norm = "l2",
    radius: float = 1.0,
    seed: int = 0,
) -> Views:
    """Return who learns how much about whom from a recursion that is linear in data and noise.

    The function runs once on arrays that remember how they depend on the private data and on the
    Gaussian noise. An operation that is not linear raises an error, with its line.

    Parameters
    ----------
    function
        A function of private data and a `numpy.random.Generator` that returns the views.
    private
        Arrays, numbers, or lists and dictionaries of them, of the shapes of the private data.
    observers
        The observers by name, each with its view: a key of a dictionary that is returned, a
        participant of `dpaudit.Message`, a list of either (a coalition), or a function of the
        returned value. The default is one observer for each key or participant, or one who sees
        everything (`dpaudit.affine.observers`).
    about
        The data that may change, by the name of their owner: a key or an index of ``private``, or a
        function of it that returns a part. By default each key of a dictionary, or each row of an
        array.
    change
        One change, of the shapes of ``private``, in place of ``about``.
    norm, radius
        A change is at most ``radius`` in Euclidean norm ("l2"), in the sum of absolute values
        ("l1"), or in every number ("box").
    seed
        The seed of the draws of the run; no result depends on it.

    Raises
    ------
    NotAffine
        The function is not linear; the message names the place and the operation.
    InvalidArgument
        An argument does not fit its description here.

    Notes
    -----
    Formal guarantee: for the named changes, each view is exactly Gaussian DP with its mu. For
    adaptive inputs, an upper view or a bracket is Gaussian DP with its upper end.

    Examples
    --------
    >>> def average(x, rng):
    ...     return {"server": x + rng.normal(scale=2.0, size=3), "public": x.mean() + rng.normal()}
    >>> found = views(average, private=np.zeros(3))
    >>> found.mu("server", about=0), round(found.mu("public", about=0).upper, 6)
    (Bracket(lower=0.5, upper=0.5), 0.333333)
    """
    check.require_choice("norm", norm, tuple(_BALLS))
    beside = {"about": about, "radius": radius, "norm": norm}
    # A change holds its own places, norm and size; an argument that would be ignored is
    # refused.
    for given, default in (("about", None), ("radius", 1.0), ("norm", "l2")):
        if change is not None and beside[given] != default:
            raise InvalidArgument(
                given, beside[given], "nothing together with change, which states the whole change"
            )
    _require_named("observers", observers, "the view of each: {'name': a key of the output}")
    _require_named("about", about, "a part of the data: {'name': a key or an index}")
    # The observers that are functions run with the recursion, so that their operations are read
    # and compared with plain runs as well.
    looks = functions_among(observers)
    recursion = read_recursion(function, private, seed=seed, looks=looks)
    if change is not None:
        changes: dict[str, Change] = {"change": _parse_data_change(recursion, change)}
    else:
        ball = _BALLS[norm]
        parts = _split_private_data(recursion.private, about)
        if (radius, norm) != (1.0, "l2") and any(
            isinstance(one, AdaptiveInputs) for _, one in parts
        ):
            name, value = ("radius", radius) if radius != 1.0 else ("norm", norm)
            raise InvalidArgument(name, value, "none with adaptive inputs, which have a norm")
        # The keys 1 and "1" are two parts of the data with one name in every table.
        if len({name for name, _ in parts}) < len(parts):
            raise InvalidArgument(
                "about", [name for name, _ in parts], "names that differ as texts"
            )
        changes = {
            name: _find_record_rounds(recursion, part)
            if isinstance(part, AdaptiveInputs)
            else ball(_find_private_indices(recursion, name, part), radius)
            for name, part in parts
        }
    seen = find_observers(recursion.output, observers, recursion.looks)
    name = str(getattr(function, "__name__", type(function).__name__))
    return Views(recursion, seen, changes, name, get_observer_parts(observers, seen))


def _require_named(name: str, given: Any, what: str) -> None:
    if given is not None and not isinstance(given, Mapping):
        raise InvalidArgument(name, given, f"a dictionary of names and {what}")


def _kinds_of(view: View) -> tuple[bool, bool]:
    """Return whether a view is an upper one, and whether last digits decide it."""
    if isinstance(view, AdaptiveView):
        return view.is_upper, False
    return False, view.hangs_on_digits


def _parse_data_change(recursion: Recursion, change: Any) -> Change:
    """Return a change of the shapes of the private data."""
    if recursion.calls:
        given = VerbatimText(type(change).__name__)
        raise InvalidArgument("change", given, "none with adaptive inputs: name whose data")
    if isinstance(change, Change):
        count, places = len(recursion.program.leaves("data")), change.locate_changes()
        # A negative place would silently stand for a number from the end.
        if len(places) and not 0 <= int(places.min()) <= int(places.max()) < count:
            raise InvalidArgument("change", places.tolist(), f"places of {count} private numbers")
        return change
    return Direction(list(_numbers_like(recursion.private, change)))


def _numbers_like(private: Any, change: Any) -> Iterator[Any]:
    """Yield the numbers of a change, in the order of the private numbers that they move."""
    if isinstance(private, AffineForm):
        numbers = np.asarray(change, dtype=object)
        if numbers.shape != private.shape:
            shown = VerbatimText(f"shape {numbers.shape}")
            raise InvalidArgument(
                "change", shown, f"the shape of the private data, {private.shape}"
            )
        yield from numbers.ravel().tolist()
        return
    own = dict(items_of(private))
    given = dict(items_of(list(change) if isinstance(change, np.ndarray) else change))
    if set(own) != set(given):
        shown = VerbatimText(f"parts {list(given)}")
        raise InvalidArgument("change", shown, f"those of the private data, {list(own)}")
    for name, one in own.items():
        yield from _numbers_like(one, given[name])


def places_of_parts(recursion: Recursion) -> dict[str, Ids]:
    """Return which of the private numbers each part of the private data holds, by its name."""
    parts = _split_private_data(recursion.private, None)
    return {name: _find_private_indices(recursion, name, part) for name, part in parts}


def _split_private_data(private: Any, about: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    """Return names and parts of the private data."""
    if about is not None:
        return [(str(name), _select_private_part(private, of)) for name, of in about.items()]
    if isinstance(private, dict):
        return [(str(key), part) for key, part in private.items()]
    if isinstance(private, AdaptiveInputs):
        return [("record", private)]
    if isinstance(private, list | tuple) or private.ndim:
        return [(str(n), part) for n, part in enumerate(private)]
    return [("private", private)]


def _select_private_part(private: Any, of: Any) -> Any:
    if callable(of):
        return of(private)
    try:
        return private[of]
    except (LookupError, TypeError):
        raise InvalidArgument("about", of, "a key or an index of the private data") from None


def _find_record_rounds(recursion: Recursion, inputs: AdaptiveInputs) -> Rounds:
    """Return the changes of adaptive inputs by one record."""
    data = recursion.program.leaves("data")
    number = _inputs_in(recursion.private).index(inputs)
    mine = [one for one in recursion.calls if one.part == number]
    return Rounds(inputs, {one.step: np.searchsorted(data, one.ids) for one in mine})


def _inputs_in(value: Any) -> list[AdaptiveInputs]:
    return [one for one in parts_of(value) if isinstance(one, AdaptiveInputs)]


def _find_private_indices(recursion: Recursion, name: str, part: Any) -> Ids:
    """Return which of the private numbers a part of them holds."""
    data = recursion.program.leaves("data")
    ids = data[:0] if _inputs_in(part) else ids_of(part)
    if not len(ids) or not np.isin(ids, data).all():
        raise InvalidArgument("about", name, "a part of the private data, with at least one number")
    return np.searchsorted(data, np.unique(ids))
