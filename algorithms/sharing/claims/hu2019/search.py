"""The search for problems and starts on which a lemma of hu2019 fails, and the smallest of them.

An instance is a problem with given public parameters, a start, and one of the iterations that are
audited, the one with the largest ratio. Starts draw the parties' blocks with a correlation of their
own; moves change entries of the designs, labels, or the start. The singular values of every block
are then put back to where Assumption 1.2b holds, at most 1: to scale a block is to scale a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    IterationInstance,
    IterationSetting,
    Measure,
    Problems,
    run_sharing_iterations,
    starting_point,
)
from dpaudit.errors import InvalidArgument
from dpaudit.extension.case import AssumptionOutcome, SearchCase
from dpaudit.refutation import Inequality, Space, WorstInstance, maximise, minimal, searched
from dpaudit.refutation.search import Batch

# What a move changes.
_ENTRIES = 0
_LABELS = 1
_START = 2
_INSIDE = 1 - 1e-9  # keeps conditions strictly within their limits whatever rounding does
_FLATTEST = 1e-3  # least over largest singular value of a block
_BUDGET = 150  # small problems drawn before giving up
_MOST_PARTIES = 4
_SMALL_ENTRIES = (1.0, 2.0, -1.0)
_ON_INSTANCE = {
    "full column rank": "least eigenvalue of every D_m'D_m",
    "strongly convex parties": "eigenvalues of every D_m'D_m; gamma_m = lambda + rho sigma_min",
    "penalty above smoothness": "L of the loss is known",
    "penalty against smoothness": "gamma = rho + the least curvature of the loss",
    "signed labels": "every label",
}
_CHECKED = {name: f"checked on the instance found: {text}" for name, text in _ON_INSTANCE.items()}
_REACHED = {
    "reached by an iteration": "iterations are run from the start, and the first is not audited"
}
_BY_FORM = {
    "bounded below": "every loss and the regulariser are at least 0",
    "regulariser": "R = ||x||^2/2, without a constraint",
}


@dataclass(frozen=True, kw_only=True)
class Window:
    """The audited iterations, the first being 1, and their start.

    Examples
    --------
    >>> Window(earliest=3, latest=2)
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: iterations: got 2, expected at least earliest = 3
    """

    earliest: int = 2
    latest: int = 6
    any_start: bool = False

    def __post_init__(self) -> None:
        if self.latest < self.earliest:
            expected = f"at least earliest = {self.earliest}"
            raise InvalidArgument("iterations", self.latest, expected)


def build_lemma_space(setting: IterationSetting, measure: Measure, window: Window) -> Space:
    """Return the search space of one setting.

    Examples
    --------
    >>> from dpaudit.algorithms.sharing.claims.hu2019.dual_step import dual_step
    >>> from dpaudit.refutation import maximise
    >>> small = build_lemma_space(IterationSetting(parties=2), dual_step, Window())
    >>> 0.99 < maximise(small, 64, np.random.default_rng(0)).ratio <= 1 + 1e-9
    True
    """
    return Space(
        start=partial(_draw_lemma_starts, setting, window),
        move=partial(_move_lemma_instances, window),
        evaluate=partial(_evaluate_lemma_instances, setting, measure, window),
    )


def instance_of(setting: IterationSetting, batch: Batch) -> IterationInstance:
    """Return the instance that one row of an evaluated batch describes."""
    names = ("designs", "labels", "models", "prediction", "dual")
    arrays = {name: batch[name] for name in names}
    return IterationInstance(setting=setting, iteration=int(batch["iteration"]), **arrays)


def _draw_lemma_starts(
    setting: IterationSetting, window: Window, count: int, rng: Generator
) -> Batch:
    m, n, d = setting.parties, setting.samples, setting.features
    # Blocks between alike and independent: the cross terms that Lemma 3 gets wrong are largest for
    # equal steps.
    common = rng.random((count, 1, 1, 1))
    designs = common * rng.standard_normal((count, 1, n, d))
    designs = designs + (1 - common) * rng.standard_normal((count, m, n, d))
    # Starts at zero unless any is allowed; else of all sizes from a hundredth to ten.
    reach = window.any_start * 10 ** rng.uniform(-2, 1, (count, 1))
    return {
        "designs": designs,
        "labels": rng.choice([-1.0, 1.0], size=(count, n)),
        "models": reach[..., None] * rng.standard_normal((count, m, d)),
        "prediction": reach * rng.standard_normal((count, n)),
        "dual": reach * rng.standard_normal((count, n)),
        "iteration": np.zeros(count),
    }


def _move_lemma_instances(window: Window, batch: Batch, step: Array, rng: Generator) -> Batch:
    """Change some entries, a label, or the start of every instance."""
    what = rng.integers(3 if window.any_start else 2, size=(len(step),))
    moved = dict(batch)
    designs, labels = batch["designs"], batch["labels"]
    touched = rng.random(designs.shape) < rng.random((len(step), 1, 1, 1))
    size = (step * (what == _ENTRIES))[:, None, None, None]
    moved["designs"] = designs + size * touched * rng.standard_normal(designs.shape)
    # About one label of an instance.
    flip = rng.random(labels.shape) < 1 / labels.shape[1]
    moved["labels"] = np.where(flip & (what == _LABELS)[:, None], -labels, labels)
    for name in ("models", "prediction", "dual"):
        old = batch[name]
        spread = (step * (what == _START)).reshape(-1, *[1] * (old.ndim - 1))
        # In proportion to the entries, and by a tenth where they are 0.
        moved[name] = old + spread * (0.1 + np.abs(old)) * rng.standard_normal(old.shape)
    return moved


def _evaluate_lemma_instances(
    setting: IterationSetting, measure: Measure, window: Window, batch: Batch
) -> tuple[Batch, Array]:
    """Return the instances inside the assumptions, and the ratio of their worst iteration."""
    inside = dict(batch)
    inside["designs"] = _within_assumptions(setting, batch["designs"])
    problems = Problems(setting=setting, designs=inside["designs"], labels=inside["labels"])
    start = starting_point(problems, *(inside[name] for name in ("models", "prediction", "dual")))
    # Iterations before the first audited one only lead to the state that it starts from.
    points = run_sharing_iterations(problems, start, window.latest)[window.earliest - 1 :]
    ratios = np.stack([measure(problems, *pair).ratio for pair in pairwise(points)])
    inside["iteration"] = window.earliest + np.argmax(ratios, axis=0).astype(np.float64)
    return inside, np.asarray(ratios.max(axis=0))


def _within_assumptions(setting: IterationSetting, designs: Array) -> Array:
    """Return the blocks with singular values at most 1 and as close as 1.2b asks.

    It is ``lambda + rho s_min^2 >= 2 s_max^2``: for one column a matter of its length alone.
    """
    rho, ridge = setting.penalty, setting.regulariser_weight
    left, values, right = np.linalg.svd(designs, full_matrices=False)
    # With rho <= 2 the ridge has to make up for (2 - rho) s_max^2.
    longest = min(1.0, ridge / (2 - rho)) if rho < 2 else 1.0
    values = np.minimum(values, np.sqrt(_INSIDE * longest))
    # A block of zeros would have no direction to be scaled along.
    largest = np.maximum(values[..., :1], _FLATTEST)
    least = np.sqrt(np.maximum(2 * largest**2 - ridge, 0.0) / (_INSIDE * rho))
    floor = np.minimum(np.maximum(least, _FLATTEST * largest), largest)
    return np.asarray((left * np.clip(values, floor, largest)[..., None, :]) @ right)


# The audit of a lemma


def search_case(
    claim: Inequality[IterationInstance],
    measure: Measure,
    settings: Sequence[IterationSetting],
    window: Window,
    *,
    seed: int,
    short: Callable[[IterationInstance], str],
    parameters: dict[str, object],
    budget: int,
    quantity: str,
    notes: tuple[str, ...],
    reached: bool = False,
    bound: float = 1.0,
    proved: tuple[float, str] | None = None,
    is_ratio: bool = False,
) -> SearchCase:
    """Return the audit of a lemma over settings that share the budget.

    Parameters
    ----------
    claim, measure
        The lemma on an instance, and its sides on a batch.
    settings, window
        Which problems, and which of their iterations.
    seed, short
        Of the search; and words for the smallest instance.
    parameters, budget, quantity, notes
        Of the report.
    reached
        Whether the lemma is about states that an iteration has reached.
    bound, proved, is_ratio
        As of a case; by default the bound differs from instance to instance.
    """

    def least(instance: IterationInstance) -> str | None:
        found = find_smallest_lemma_instance(claim, instance.setting, window, seed)
        return None if found is None else f"{found.small_words()}; {short(found)}"

    def attain(trials: int, rng: Generator) -> WorstInstance:
        climb = partial(find_worst_lemma_instance, settings, measure, window)
        return searched(claim, climb, trials, rng, seed=seed, smallest=least)

    outcomes = _CHECKED | (_REACHED if reached else {}) | _BY_FORM
    start = "any start" if window.any_start else "x = y = z = 0, the paper's start"
    return SearchCase(
        bound=bound,
        attain=attain,
        view=f"iterations {window.earliest} to {window.latest}, from {start}",
        data="problems that meet Assumption 1, drawn and improved by the search",
        relation="none: the claim is about one dataset",
        pair="none",
        default_trials=budget,
        parameters=parameters,
        quantity=quantity,
        effort="evaluated runs",
        assumptions=tuple(
            AssumptionOutcome(name=name, holds=True, evidence=text)
            for name, text in outcomes.items()
        ),
        proved=proved,
        is_ratio=is_ratio,
        notes=notes,
    )


def find_worst_lemma_instance(
    settings: Sequence[IterationSetting],
    measure: Measure,
    window: Window,
    budget: int,
    rng: Generator,
) -> IterationInstance:
    """Return the worst of exactly ``budget`` evaluated runs, the earlier setting of equal ones."""
    found = []
    for i, setting in enumerate(settings):
        share = (budget + i) // len(settings)  # they add up to the budget
        best = maximise(build_lemma_space(setting, measure, window), share, rng)
        found.append((best.ratio, -i, instance_of(setting, best.instance)))
    # Only ratio and order are compared; instances have no order of their own.
    *_, instance = max(found, key=lambda item: item[:2])
    return instance


# The smallest instance


def find_smallest_lemma_instance(
    claim: Inequality[IterationInstance], setting: IterationSetting, window: Window, seed: int
) -> IterationInstance | None:
    """Return the smallest problem of one column a party that breaks the claim, or None.

    It starts at zero and has the loss of ``setting``, no regulariser, and a penalty that is a whole
    number.
    """
    return minimal(_make_problem_strategy(setting, window), claim, budget=_BUDGET, seed=seed)


def _make_problem_strategy(
    setting: IterationSetting, window: Window
) -> st.SearchStrategy[IterationInstance]:
    # A penalty that any loss allows, while the other parameters are set.
    lone = replace(setting, features=1, samples=1, regulariser_weight=0.0, penalty=1e9)
    low = next(rho for rho in range(2, 10**6) if _is_penalty_allowed(lone, float(rho)))
    settings = st.builds(
        lambda parties, penalty, samples: replace(
            lone, parties=parties, penalty=float(penalty), samples=samples
        ),
        st.integers(1, _MOST_PARTIES),
        st.integers(low, low + 10),
        st.integers(1, 2),
    )
    return settings.flatmap(lambda one: _make_instance_strategy(one, window))


def _is_penalty_allowed(setting: IterationSetting, penalty: float) -> bool:
    try:
        replace(setting, penalty=penalty)
    except InvalidArgument:
        return False
    return True


def _make_instance_strategy(
    setting: IterationSetting, window: Window
) -> st.SearchStrategy[IterationInstance]:
    m, n = setting.parties, setting.samples
    entries = st.lists(st.sampled_from(_SMALL_ENTRIES), min_size=m * n, max_size=m * n)
    labels = st.lists(st.sampled_from((1.0, -1.0)), min_size=n, max_size=n)
    return st.builds(
        lambda designs, signs, iteration: IterationInstance(
            setting=setting,
            designs=np.reshape(designs, (m, n, 1)),
            labels=np.array(signs),
            models=np.zeros((m, 1)),
            prediction=np.zeros(n),
            dual=np.zeros(n),
            iteration=iteration,
        ),
        entries,
        labels,
        st.integers(window.earliest, min(window.latest, window.earliest + 1)),
    )
