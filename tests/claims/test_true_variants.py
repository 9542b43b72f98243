"""True variants of every installed claim stand, and what is false beside them is refuted.

Each family is one claim: settings for which it holds, by a proof or with room to spare, and next to
them the published bound where it is false, or half of one that is attained. The fast suite spends
few trials; the slow one what the published audits spend, on seeds of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import dpaudit.extension.registry as registry
from dpaudit.auditing import audit_claim
from dpaudit.extension.settings import Settings

SEEDS, SLOW_SEEDS = (0,), (1, 2, 3, 4)
Asked = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Family:
    """The trials and seeds of the fast suite, and settings of each kind.

    A theorem or a law gives the claims that are ``proved`` for all neighbours of what is run; those
    that are ``true`` hold with room to spare, and nothing proves it there.
    """

    trials: int
    false: tuple[Asked, ...]
    proved: tuple[Asked, ...] = ()
    true: tuple[Asked, ...] = ()
    seeds: tuple[int, ...] = SEEDS
    quick: int = 3  # of each kind, so many are in the fast suite


def given(*, epsilon: float = 1.0, delta: float = 1e-5, **parameters: Any) -> Asked:
    return {"epsilon": epsilon, "delta": delta, "parameters": parameters}


FIRST = {"earliest": 1, "iterations": 1, "start": "zero", "loss": "squared", "penalty": 10.0}
SMALL = {"parties": 2, "penalty": 2.0, "start": "any"}  # (M - 1) rho / 2 is 1
COMPOSED = {"reading": "composition"}
SQUARE = {"features": 3, "samples": 3}
NOISELESS = {"noise": "none", "iterations": 100}
CORRECTED = {"sensitivity": "corrected", "features": 16, "budget": 1_000}
SHORT = {"nodes": 2, "iterations": 2, "inner_steps": 2}
BASIC = {"c0": 10**0.5, "factor": 10.0}  # t epsilon and t delta, for t = 10
DERIVED = {"version": "corrected"}
STEPS = {"inner_steps": 4, "neighbours": 3, "dimension": 2}
TWICE = {"version": "corrected", "multiple": 2.0}
ONE_STEP = {"nodes": 1, "iterations": 1}
FEW_BROADCASTS = {"nodes": 2, "iterations": 4, "records": 10, "dimension": 4}
SPREAD = {"view": "model", "joined": 10}
GROWING = {"nodes": 2, "loss": "linear", "dual_step": 1.0}
FEW = {"nodes": 2, "iterations": 50, "records": 20, "loss_weight": 20.0}
LARGE = {"least_sensitivity": 1.0, "most_sensitivity": 100.0}
BLIND = FEW | {"runs": 60}  # so many runs tell half from hardly any
OPEN = {"noise": False, "iterations": 2}

PAIR = {"half_width": 2.0, "parties": 2}
SIX = {"parties": 6, "features": 2, "samples": 4, "loss_weight": 2.0}

FAMILIES = {
    "hu2019-lemma1": Family(
        trials=8_000,
        proved=(given(features=2), given(factor=7.0), given(features=2, parties=2)),
        false=(given(), given(parties=2)),
    ),
    "hu2019-lemma3": Family(
        trials=2_000,
        true=(given(parties=2), given(version="corrected", parties=5), given(factor=2.0)),
        false=(given(), given(version="corrected", parties=5, factor=0.5)),
    ),
    "hu2019-lemma2": Family(
        trials=2_000,
        true=(given(), given(part="identity"), given(loss="logistic"), given(factor=2.0)),
        false=(given(factor=0.5), given(**FIRST)),
    ),
    "hu2019-lemma4": Family(
        trials=2_000,
        true=(given(version="corrected", start="any"), given(**SMALL), given(**SMALL, factor=2.0)),
        false=(given(start="any"), given(version="with-penalty")),
    ),
    "hu2019-lemma5": Family(
        trials=400,
        true=(given(**SMALL, loss_weight=1.5), given(parties=2), given(factor=1e25)),
        false=(given(), given(**SIX), given(factor=2.0)),
    ),
    "hu2019-convergence": Family(
        trials=400,
        true=(given(**SMALL, loss_weight=1.5), given(parties=2), given(factor=1e25), given(**PAIR)),
        false=(given(), given(**SIX), given(factor=2.0), given(half_width=2.0)),
    ),
    "hu2019-equation42": Family(
        trials=400,
        true=(given(**SMALL, loss_weight=1.5), given(parties=2), given(factor=1e25)),
        false=(given(), given(**SIX), given(factor=2.0)),
    ),
    "hu2020-assumption1": Family(
        quick=1,
        trials=100,
        true=(given(**NOISELESS, factor=150.0), given(**NOISELESS, bound=300.0)),
        false=(given(**NOISELESS, factor=75.0), given(**NOISELESS)),
    ),
    "hu2020-corollary1": Family(
        quick=1,
        trials=1_000,
        proved=(given(**COMPOSED), given(**COMPOSED, factor=2.0), given(**COMPOSED, epsilon=0.5)),
        false=(given(**COMPOSED, factor=0.5), given()),
    ),
    "hu2019-corollary1": Family(trials=300, true=(given(**SQUARE),), false=(given(),)),
    "hu2019-theorem1": Family(trials=300, true=(given(**SQUARE),), false=(given(),)),
    "hu2020-density": Family(
        trials=1_000,
        true=(given(**LARGE), given(**LARGE, entries=1), given(factor=2.0)),
        false=(given(), given(**LARGE, factor=0.3), given(entries=8)),
    ),
    "hu2020-equation12": Family(
        trials=500,
        true=(given(entries=1), given(entries=1, delta=0.46), given(entries=2, factor=1.32)),
        false=(given(), given(entries=2), given(entries=1, delta=0.46, factor=0.6)),
    ),
    "hu2020-lemma1": Family(
        quick=1,
        trials=1_000,
        proved=(given(features=2), given(features=8, factor=3.0), given(factor=6.0)),
        false=(given(features=8), given(factor=3.0)),
    ),
    "hu2020-theorem1": Family(
        quick=1,
        trials=300,
        proved=(given(**CORRECTED), given(features=16, factor=12.0, budget=1_000)),
        false=(given(**CORRECTED, factor=0.45), given(features=16, budget=1_000)),
        seeds=(0,),
    ),
    "huang2020-broadcast": Family(
        quick=1,
        trials=300,
        proved=(
            given(**SHORT),
            given(nodes=2, iterations=2, inner_steps=5),
            given(**SHORT, view="final"),
        ),
        true=(given(**SHORT, view="last"),),  # what is proved is 1e-9 of it above the claim
        false=(given(**SHORT, factor=0.5), given(**SHORT, view="last", factor=0.5)),
        seeds=(0,),
    ),
    "huang2020-definition3": Family(
        trials=2_000,
        proved=(given(delta=0.0), given(**TWICE), given(mechanism="gaussian")),
        false=(given(), given(**TWICE, factor=0.5), given(epsilon=8.0, mechanism="gaussian")),
    ),
    "huang2020-equation29": Family(
        trials=500,
        proved=(
            given(**DERIVED),
            given(**DERIVED, **STEPS),
        ),
        false=(
            given(),
            given(**STEPS),
        ),
    ),
    "huang2020-equation30": Family(
        trials=500,
        proved=(
            given(**DERIVED),
            given(**DERIVED, **STEPS),
        ),
        false=(
            given(),
            given(**DERIVED, factor=0.5),
        ),
    ),
    "huang2020-equation32": Family(
        trials=500,
        proved=(
            given(),
            given(**STEPS),
        ),
        false=(
            given(factor=0.5),
            given(**STEPS, factor=2.0),
        ),
    ),
    "huang2020-equation33": Family(
        trials=500,
        proved=(
            given(**DERIVED),
            given(**DERIVED, **STEPS),
        ),
        false=(given(),),
    ),
    "huang2020-equation34": Family(
        trials=500,
        proved=(
            given(),
            given(**STEPS),
        ),
        false=(given(factor=0.5),),
    ),
    "huang2020-equation36": Family(
        trials=500,
        proved=(
            given(**DERIVED),
            given(**DERIVED, **STEPS),
        ),
        false=(
            given(),
            given(**DERIVED, factor=0.5),
        ),
    ),
    "huang2020-lemma5": Family(
        trials=500,
        proved=(given(), given(factor=2.0), given(penalty=1.0)),
        false=(given(factor=0.5), given(penalty=1.0, factor=0.9)),
    ),
    "huang2020-inner-steps": Family(
        quick=1,
        trials=600,
        true=(given(factor=1e6, iterations=10),),
        false=(given(iterations=10), given(iterations=10, nodes=1)),
    ),
    "huang2020-note1": Family(
        quick=1,
        trials=1_500,
        true=(given(lipschitz="node"), given(factor=5.0, nodes=4)),
        false=(given(),),
    ),
    "huang2020-section42": Family(
        quick=1,
        trials=600,
        true=(given(constant=20.0), given(constant=5.0, iterations=50)),
        false=(given(iterations=100, constant=0.5),),
    ),
    "huang2020-theorem4": Family(
        trials=2_000,
        proved=(given(**BASIC), given(epsilon=0.5, algorithms="gaussian")),
        false=(given(**{**BASIC, "factor": 5.0}), given(), given(c0=100.0)),
    ),
    "huang2020-theorem6": Family(
        quick=1,
        trials=300,
        proved=(
            given(epsilon=8.0, **SHORT),
            given(**SHORT),
            given(epsilon=20.0, factor=1.3, **SHORT),
        ),
        false=(given(**SHORT, factor=0.5), given(epsilon=20.0, **SHORT)),
        seeds=(0,),
    ),
    "huang2020-theorem7": Family(
        quick=1,
        trials=2_000,
        true=(given(lipschitz="node"), given(nodes=1), given(**ONE_STEP)),
        false=(given(), given(**ONE_STEP, factor=0.5)),
    ),
    "tables-equation38": Family(
        trials=500,
        proved=(given(), given(rows=3, tuples=8), given(tuples=1)),
        false=(given(counts="none"), given(counts="squared")),
    ),
    "tables-theorem1": Family(
        trials=1_000,
        proved=(given(), given(noise=2.0), given(encoding="sign"), given(encoding="unit-l1")),
        false=(given(factor=0.5), given(encoding="sign", factor=0.5)),
    ),
    "tables-theorem2": Family(
        quick=1,
        trials=500,
        proved=(given(view="model"), given(**SPREAD, factor=4.65)),
        false=(given(view="model", factor=0.4), given(**SPREAD), given()),
        seeds=(0,),
    ),
    "zhang2018-appendixE": Family(
        quick=1,
        trials=3_000,
        true=(given(**FEW),),
        false=(given(**BLIND, participates=False), given(**BLIND, noise_rate=1e-3)),
        seeds=(0,),
    ),
    "zhang2018-equation23": Family(
        trials=1_000,
        proved=(given(rate="proved"), given(rate="proved", nodes=2)),
        # At most 1 + sigma_min / m_o, and both have limits here.
        true=(given(factor=1e6),),
        false=(given(rate="proved", factor=0.5), given(), given(nodes=2)),
    ),
    "zhang2018-footnote4": Family(
        trials=500,
        proved=(given(), given(records=1, dimension=4)),
        false=(given(power=-1), given(power=0)),
    ),
    "zhang2018-section3": Family(
        trials=1_000,
        proved=(given(rate="proved"), given(rate="proved", nodes=2)),
        true=(given(factor=1.5),),
        false=(given(rate="proved", factor=0.5), given(), given(nodes=2)),
    ),
    "zhang2018-section62": Family(
        trials=100,
        true=(given(**OPEN, participates=False), given(**OPEN, participates=False, factor=2.0)),
        false=(given(**OPEN), given(**OPEN, factor=2.0)),
    ),
    "zhang2018-theorem31": Family(
        quick=1,
        trials=500,
        proved=(given(part="inequality", penalties="shared"), given(part="bounded")),
        false=(given(part="inequality"), given(**GROWING)),
    ),
    "zhang2018-theorem32": Family(
        trials=1_000,
        proved=(given(rate="proved"), given(rate="proved", nodes=2)),
        true=(given(factor=4.0),),
        false=(given(rate="proved", factor=0.5), given(), given(nodes=2)),
    ),
    "zhang2018-broadcasts": Family(
        quick=1,
        trials=200,
        proved=(
            given(delta=0.0, **FEW_BROADCASTS),
            given(delta=0.0, **FEW_BROADCASTS, noise_rate=3.0),
        ),
        false=(given(delta=0.0, **FEW_BROADCASTS, factor=0.02),),
        seeds=(0,),
    ),
    "zhang2018-theorem41": Family(
        trials=2_000,
        proved=(given(), given(noise_rate=30.0), given(start="zero")),
        false=(given(factor=0.5), given(noise_rate=30.0, factor=0.9)),
    ),
}


def cases(kind: str, seeds: tuple[int, ...] | None = None) -> list[Any]:
    """Return a claim, settings, a seed and the verdict for each case of one kind."""
    verdicts = {"true": "not refuted", "proved": "proved", "false": "refuted"}
    return [
        pytest.param(
            name,
            asked,
            seed,
            verdicts[kind],
            id=f"{name}-{kind}-{number}-{seed}",
            marks=pytest.mark.slow if number > family.quick else (),
        )
        for name, family in FAMILIES.items()
        for number, asked in enumerate(getattr(family, kind), start=1)
        for seed in seeds or family.seeds
    ]


def verdict(name: str, asked: Asked, seed: int, trials: int | None = None) -> tuple[str, str]:
    result = audit_claim(name, Settings(**asked, seed=seed, trials=trials))
    return result.verdict, result.reason


def test_every_installed_claim_has_a_true_variant_and_a_control():
    assert set(FAMILIES) == set(registry.CLAIMS.all())
    assert all(family.proved or family.true for family in FAMILIES.values())
    assert all(family.false for family in FAMILIES.values())
    assert sum(len(family.true) for family in FAMILIES.values()) >= 20
    assert sum(len(family.proved) for family in FAMILIES.values()) >= 20


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("name", "asked", "seed", "expected"), [*cases("true"), *cases("proved")])
def test_a_true_variant_is_proved_or_stands(name, asked, seed, expected):
    found, reason = verdict(name, asked, seed, FAMILIES[name].trials)
    assert found == expected, reason


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "asked", "seed", "expected"), cases("false"))
def test_the_false_bound_beside_it_is_refuted(name, asked, seed, expected):
    found, reason = verdict(name, asked, seed, FAMILIES[name].trials)
    assert found == expected, reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "asked", "seed", "expected"),
    [case for kind in ("true", "proved", "false") for case in cases(kind, SLOW_SEEDS)],
)
def test_a_full_audit_comes_to_the_same_verdict(name, asked, seed, expected):
    found, reason = verdict(name, asked, seed)
    assert found == expected, reason
