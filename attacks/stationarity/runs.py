"""Runs of the attack on drawn records.

In a run everything is drawn anew: every node's records (uniform directions, labels that a planted
model explains), the private penalties ``eta_i(t) = theta a_i b_i^(t-1)`` with a and b uniform in
``[1, spread]`` and ``[1, growth]``, and the missing record, whose signed direction is uniform and
independent of all else. A guess that has seen nothing therefore has a cosine with it of exactly the
law in `dpaudit.attacks.stationarity.measures`. The notation is that of
`dpaudit.attacks.stationarity.inversion`.

Where records are given, every run draws its own from them, the missing ones with them: features are
those of people, the law of a guess's cosine is unknown, and the guesses say what one gets. Where
none is negative, the label of a signed record is the sign of its entries.

How close the attack comes, as a table against T and alpha, and a picture of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.side_by_side import run_broadcasts_side_by_side
from dpaudit.algorithms.problems.graphs import complete
from dpaudit.algorithms.problems.schedules import Geometric
from dpaudit.attacks.stationarity.inversion import (
    Conditions,
    build_stationarity_conditions,
    estimate_averaged_direction,
    recover_missing_record,
)
from dpaudit.attacks.stationarity.likelihood import (
    INTEGRATED,
    KNOWN,
    PROFILE,
    estimate_likeliest_records,
)
from dpaudit.attacks.stationarity.measures import (
    Closeness,
    match_estimates_to_records,
)
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.execution import one_thread, stream
from dpaudit.execution.ledger import get_current_ledger

AVERAGED = "averaged"
EXACT = "exact"
MEAN = "mean of the known"
UNIFORM = "uniform guess"
ESTIMATORS = (AVERAGED, KNOWN, PROFILE, INTEGRATED, MEAN, UNIFORM)
# Of a norm that is uniform on (0, 1], the guess whose relative error has the least median, 1/3.
GUESSED_NORM = 2 / 3
_STEEPNESS = 8.0  # of the planted model
_NODE = 0
_FEW = 10  # runs side by side


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The public parameters of a run.

    Parameters
    ----------
    nodes, records, dimension, iterations
        N, B of every node, d and T; the graph is complete.
    noise_rate
        alpha; None for no noise.
    loss_weight, regulariser_weight, dual_step
        C, rho and theta.
    spread, growth
        Of the penalties; both 1 is DVP (or ADMM).
    missing
        m: how many records of the first node are wanted, the rest being known.
    norm
        Of the missing records where they are drawn, at most 1; the attacker does not know it.
    participates
        Whether the missing record is in the data; False is a control in which another record is,
        so that the broadcasts reveal nothing about it.

    Examples
    --------
    >>> setting = Setting(records=5, dimension=3, iterations=4)
    >>> run_of(setting, default_rng(0)).conditions.models.shape
    (4, 3)
    """

    nodes: int = 5
    records: int = 50
    dimension: int = 10
    iterations: int = 200
    noise_rate: float | None = 30.0
    loss_weight: float = 50.0
    regulariser_weight: float = 1e-2
    dual_step: float = 0.5
    spread: float = 1.4
    growth: float = 1.005
    missing: int = 1
    norm: float = 1.0
    participates: bool = True

    def __post_init__(self) -> None:
        check.require_integer("nodes", self.nodes, least=2)
        check.require_integer("records", self.records, least=2)
        check.require_integer("dimension", self.dimension, least=2)
        if check.require_integer("missing", self.missing, least=1) >= self.records:
            raise InvalidArgument("missing", self.missing, f"fewer than {self.records} records")
        if not 0 < check.require_real("norm", self.norm) <= 1:
            raise InvalidArgument("norm", self.norm, "a number in (0, 1]")
        for name in ("spread", "growth"):
            check.require_real(name, getattr(self, name))
            if getattr(self, name) < 1:
                raise InvalidArgument(name, getattr(self, name), "a number, at least 1")


@dataclass(frozen=True, kw_only=True)
class Run:
    """The knowledge of the attacker, and the records it wants, signed, shape ``(m, d)``.

    ``non_negative`` says whether features are known to be, so that signed records have labels.
    """

    conditions: Conditions
    records: Array
    non_negative: bool = False

    @property
    def record(self) -> Array:
        """The first of them, shape ``(d,)``."""
        return np.asarray(self.records[0])


def run_of(setting: Setting, rng: Generator, people: Dataset | None = None) -> Run:
    """Return one run, everything in it drawn from ``rng``, its records from ``people`` if given.

    Raises
    ------
    InvalidArgument
        There are fewer people than records, or they do not have the setting's dimension.
    """
    return _side_by_side(setting, [rng], people)[0]


def _side_by_side(
    setting: Setting, generators: Sequence[Generator], people: Dataset | None
) -> list[Run]:
    """Return a run of each generator, none of which depends on the others."""
    drawn = [
        (
            *(
                _draw_setting_data(setting, rng)
                if people is None
                else _sample_people_data(setting, people, rng)
            ),
            rng,
        )
        for rng in generators
    ]
    algorithms = [_draw_consensus_algorithm(setting, rng) for rng in generators]
    with one_thread():
        sent = run_broadcasts_side_by_side(algorithms, [data for data, _, _ in drawn], generators)
    return [
        _make_attack_run(
            setting, algorithm, data, wanted, seen, non_negative=_are_non_negative(people)
        )
        for algorithm, (data, wanted, _), seen in zip(algorithms, drawn, sent, strict=True)
    ]


def _are_non_negative(people: Dataset | None) -> bool:
    return people is not None and bool((people.features >= 0).all())


def _make_attack_run(
    setting: Setting,
    algorithm: ConsensusADMM,
    data: Dataset,
    wanted: Array,
    sent: Array,
    *,
    non_negative: bool,
) -> Run:
    known = data.signed_records[data.rows_of(_NODE)][setting.missing :]
    conditions = build_stationarity_conditions(
        algorithm, sent, _NODE, known, missing=setting.missing
    )
    return Run(conditions=conditions, records=wanted, non_negative=non_negative)


def _draw_setting_data(setting: Setting, rng: Generator) -> tuple[Dataset, Array]:
    """Return drawn data and the missing records, signed."""
    data, count = _draw_planted_records(setting, rng), setting.missing
    # Both are drawn in either case, so that the control has the same draws for everything else.
    wanted, others = setting.norm * draw_uniform_directions(
        2 * count, setting.dimension, rng
    ).reshape(2, count, -1)
    return _with_first(data, wanted if setting.participates else others), wanted


def _sample_people_data(setting: Setting, people: Dataset, rng: Generator) -> tuple[Dataset, Array]:
    """Return some of the people, dealt out in random order, and the missing records, signed."""
    if people.dimension != setting.dimension:
        raise InvalidArgument("dimension", setting.dimension, f"{people.dimension}, as the records")
    total, count = setting.nodes * setting.records, setting.missing
    if total + count > len(people.labels):
        expected = f"at most {(len(people.labels) - count) // setting.nodes} at each node"
        raise InvalidArgument("records", setting.records, expected)
    rows = rng.permutation(len(people.labels))
    taken, spare = rows[:total], rows[total : total + count]
    sizes = (setting.records,) * setting.nodes
    data = Dataset(people.features[taken], people.labels[taken], node_sizes=sizes)
    return data, people.signed_records[taken[:count] if setting.participates else spare]


def _with_first(data: Dataset, signed: Array) -> Dataset:
    """Return the data with these records, of label 1, in place of the first ones."""
    for row, record in enumerate(signed):
        data = data.with_record(row, record, 1.0)
    return data


def draw_uniform_directions(count: int, dimension: int, rng: Generator) -> Array:
    """Return uniform directions, shape ``(count, d)``."""
    drawn = rng.standard_normal((count, dimension))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def _draw_planted_records(setting: Setting, rng: Generator) -> Dataset:
    features = draw_uniform_directions(setting.nodes * setting.records, setting.dimension, rng)
    planted = features @ draw_uniform_directions(1, setting.dimension, rng)[0]
    positive = rng.random(len(features)) < 1 / (1 + np.exp(-_STEEPNESS * planted))
    labels = np.where(positive, 1.0, -1.0)
    return Dataset(features, labels, node_sizes=(setting.records,) * setting.nodes)


def _draw_consensus_algorithm(setting: Setting, rng: Generator) -> ConsensusADMM:
    first = setting.dual_step * rng.uniform(1.0, setting.spread, setting.nodes)
    growth = rng.uniform(1.0, setting.growth, setting.nodes)
    return ConsensusADMM(
        graph=complete(setting.nodes),
        iterations=setting.iterations,
        penalty=Geometric(first.tolist(), growth.tolist()),
        dual_step=setting.dual_step,
        noise_rate=setting.noise_rate,
        loss_weight=setting.loss_weight,
        regulariser_weight=setting.regulariser_weight,
    )


def estimate_of(run: Run, estimator: str, rng: Generator) -> Array:
    """Return `estimates_of` the first missing record, signed, shape ``(d,)``."""
    return np.asarray(estimates_of(run, estimator, rng)[0])


def estimates_of(run: Run, estimator: str, rng: Generator) -> Array:
    """Return estimates of the missing records, signed, in no order, shape ``(m, d)``.

    Parameters
    ----------
    run
        What is attacked.
    estimator
        ``averaged`` and ``known`` use the penalties; ``profile`` and ``integrated`` do not see
        them; the last two of ``ESTIMATORS`` see no broadcast. ``exact`` is for runs without noise
        and does not see the penalties either. It and ``averaged`` are for one missing record.
    rng
        For starts and for the guess.

    Raises
    ------
    InvalidArgument
        There is no such estimator, or it is for one missing record and there are more.
    """
    count = len(run.records)
    if estimator in (AVERAGED, EXACT) and count > 1:
        raise InvalidArgument("missing", count, f"1: {estimator} finds one record")
    match estimator:
        case "averaged":
            return estimate_averaged_direction(run.conditions)[None]
        case "known":
            return estimate_likeliest_records(run.conditions, rng, missing=count).records
        case "profile" | "integrated":
            private = run.conditions.private()
            return estimate_likeliest_records(private, rng, missing=count, method=estimator).records
        case "exact":
            return recover_missing_record(run.conditions.private()).record[None]
        case "mean of the known":
            return np.tile(_estimate_typical_record(run.conditions.others), (count, 1))
        case "uniform guess":
            return GUESSED_NORM * draw_uniform_directions(count, run.conditions.dimension, rng)
    raise InvalidArgument("estimator", estimator, "one of: " + ", ".join((*ESTIMATORS, EXACT)))


def _estimate_typical_record(others: Array) -> Array:
    """Return the direction of the known records' mean, with the mean of their norms."""
    mean = others.mean(axis=0)
    return np.asarray(np.linalg.norm(others, axis=1).mean() * mean / np.linalg.norm(mean))


def measure_estimator_closeness(
    setting: Setting,
    estimators: Sequence[str],
    runs: int,
    seed: SeedSequence | int,
    people: Dataset | None = None,
) -> dict[str, list[Closeness]]:
    """Return every estimator's closeness to each missing record in each of the runs.

    Every run has a stream of its own: more runs, or other estimators, change no other run.
    """
    found: dict[str, list[Closeness]] = {name: [] for name in estimators}
    for some in _split_runs_into_ranges(runs):
        given = setting, tuple(estimators), some, _make_root_seed(seed), people
        close = get_current_ledger().fact("runs", lambda: _measure_run_closeness(*given), given)  # noqa: B023
        for of_run in close:
            for name, each in zip(estimators, of_run, strict=True):
                found[name] += [Closeness(**one) for one in each]
    return found


def _split_runs_into_ranges(runs: int) -> list[tuple[int, int]]:
    """Return the first of every few runs, and the first that is none of them."""
    count = check.require_integer("runs", runs, least=1)
    return [(first, min(first + _FEW, count)) for first in range(0, count, _FEW)]


def _measure_run_closeness(
    setting: Setting,
    estimators: Sequence[str],
    some: tuple[int, int],
    root: SeedSequence,
    people: Dataset | None,
) -> list[list[list[dict[str, Any]]]]:
    """Return every estimator's closeness to the missing records of some runs, as plain data."""
    return [
        [[asdict(one) for one in closeness_of(run, name, own)] for name in estimators]
        for run, own in _runs_at(setting, some, root, people)
    ]


def closeness_of(run: Run, estimator: str, own: SeedSequence) -> list[Closeness]:
    """Return how close the estimates of a run come, each to the record that suits it best."""
    found = estimates_of(run, estimator, default_rng(own))
    return match_estimates_to_records(found, run.records, non_negative=run.non_negative)


def runs_of(
    setting: Setting, runs: int, seed: SeedSequence | int, people: Dataset | None = None
) -> Iterator[tuple[Run, SeedSequence]]:
    """Yield runs, each with the randomness that an estimator may use."""
    for some in _split_runs_into_ranges(runs):
        yield from _runs_at(setting, some, _make_root_seed(seed), people)


def _make_root_seed(seed: SeedSequence | int) -> SeedSequence:
    return stream(seed, "stationarity") if isinstance(seed, int) else seed


def _runs_at(
    setting: Setting, some: tuple[int, int], root: SeedSequence, people: Dataset | None
) -> list[tuple[Run, SeedSequence]]:
    seeds = [
        # The child that `root.spawn` would give at this index, without its counter: a run is the
        # same whichever runs were drawn before it.
        SeedSequence(root.entropy, spawn_key=(*root.spawn_key, index)).spawn(2)
        for index in range(*some)
    ]
    drawn = _side_by_side(setting, [default_rng(drawing) for drawing, _ in seeds], people)
    return [(run, attacking) for run, (_, attacking) in zip(drawn, seeds, strict=True)]


@dataclass(frozen=True)
class Row:
    """One estimator at one alpha and T: the cosines of all runs, and their summary.

    ``norm_error`` is the median, ``right_labels`` the share; None where features may be negative.
    """

    noise_rate: float
    iterations: int
    estimator: str
    cosines: tuple[float, ...]
    norm_error: float
    right_labels: float | None = None

    @property
    def median(self) -> float:
        """Median cosine."""
        return float(np.median(self.cosines))


def build_closeness_table(
    setting: Setting,
    *,
    iterations: Sequence[int],
    rates: Sequence[float],
    runs: int,
    seed: int,
    estimators: Sequence[str] = (AVERAGED, KNOWN, INTEGRATED),
    people: Dataset | None = None,
) -> list[Row]:
    """Return rows for every alpha, T and estimator.

    The runs at an alpha are as long as the largest T; smaller ones look at their beginning.
    """
    rows = []
    for rate in rates:
        longest = replace(setting, noise_rate=rate, iterations=max(iterations))
        given = longest, tuple(iterations), tuple(estimators), runs, seed, people
        found = get_current_ledger().fact("rows", lambda: _build_rate_rows(*given), given)  # noqa: B023
        rows += [Row(*one) for one in found]
    return rows


def _build_rate_rows(
    longest: Setting,
    iterations: Sequence[int],
    estimators: Sequence[str],
    runs: int,
    seed: int,
    people: Dataset | None,
) -> list[tuple[Any, ...]]:
    """Return the rows of one alpha, as plain data."""
    # Every length looks at the same runs, so that rows differ by T alone.
    drawn, rows = list(runs_of(longest, runs, seed, people)), list[Row]()
    for length in iterations:
        cut = [(replace(r, conditions=r.conditions.first(length)), s) for r, s in drawn]
        rows += [
            _make_closeness_row(cut, longest.noise_rate or 0.0, length, name) for name in estimators
        ]
    return [tuple(getattr(row, one.name) for one in fields(row)) for row in rows]


def _make_closeness_row(
    drawn: Sequence[tuple[Run, SeedSequence]], rate: float, length: int, name: str
) -> Row:
    close = [one for run, own in drawn for one in closeness_of(run, name, own)]
    labels = [each.right_label for each in close if each.right_label is not None]
    return Row(
        noise_rate=rate,
        iterations=length,
        estimator=name,
        cosines=tuple(each.cosine for each in close),
        norm_error=float(np.median([each.norm_error for each in close])),
        right_labels=float(np.mean(labels)) if labels else None,
    )
