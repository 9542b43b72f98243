"""diffprivlib's linear regression, proved through its own code: ``make prove-diffprivlib``.

What is read is the code that clips, sums and works sensitivities out, as it is installed. Its
mechanisms make Laplace noise of four uniform draws a number; here they are what they say they are:
Laplace noise of scale sensitivity / epsilon, folded at 0 where they say so. The optimiser that
follows sees noisy coefficients alone, and is left out.

A known fault of a sensitivity is a line. With that line as it should be, the same code is read
again.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import dpaudit
from dpaudit.proving.report import CodeProof

MODULE = "diffprivlib.models.linear_regression"
EPSILON = 1.0


@dataclass(frozen=True)
class Case:
    """A fault: the line as it is written and as it should be, and data that show it.

    Attributes
    ----------
    line, repaired
        Of the source. Where nothing is to be replaced, both are alike.
    bounds
        Of features and targets, as the regression is told.
    domain
        What records may be.
    prepared
        Whether data go through the code that clips and centres first.
    """

    fault: str
    line: str
    repaired: str
    bounds: tuple[float, float]
    domain: tuple[float, float]
    prepared: bool


CASES = (
    Case(
        "the sensitivity of a squared feature takes its lower bound twice",
        "np.max(np.abs([bounds_X[0][i], bounds_X[0][i]])) ** 2",
        "np.max(np.abs([bounds_X[0][i], bounds_X[1][i]])) ** 2",
        bounds=(0.5, 1.0),
        domain=(0.5, 1.0),
        prepared=False,
    ),
    Case(
        "without an intercept data are not clipped to the bounds",
        "        X_offset = np.zeros(X.shape[1], dtype=X.dtype)\n",
        "        X = np.clip(X, bounds_X[0][0], bounds_X[1][0])\n"
        "        y = np.clip(y, bounds_y[0][0], bounds_y[1][0])\n"
        "        X_offset = np.zeros(X.shape[1], dtype=X.dtype)\n",
        bounds=(-1.0, 1.0),
        domain=(-5.0, 5.0),
        prepared=True,
    ),
)


_MECHANISMS = """
import numpy as np


class Noise:
    def __init__(self, *, epsilon, sensitivity, random_state, lower=None, upper=None):
        self.scale, self.rng, self.is_folded = sensitivity / epsilon, random_state, lower == 0

    def randomise(self, value):
        noisy = value + self.rng.laplace(scale=self.scale)
        return np.abs(noisy) if self.is_folded else noisy
"""


def mechanism() -> type:
    """Return a mechanism that adds Laplace noise of scale sensitivity / epsilon, folded at 0.

    It is code of a package by the name of its file: a proof names the line that calls it.
    """
    names: dict[str, Any] = {}
    exec(compile(_MECHANISMS, "site-packages/mechanisms.py", "exec"), names)
    return names["Noise"]  # type: ignore[no-any-return]


def module_with(replacements: dict[str, str]) -> ModuleType:
    """Return the module of the regression with lines replaced, each of which it has once."""
    spec = importlib.util.find_spec(MODULE)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    for line, repaired in replacements.items():
        if source.count(line) != 1:
            raise SystemExit(f"{spec.origin} has {source.count(line)} lines {line!r}, expected 1")
        source = source.replace(line, repaired)
    module = ModuleType(f"{MODULE}_read")
    sys.modules[module.__name__] = module
    # A name outside of site-packages: a proof then names the lines of this file, not of its caller.
    exec(compile(source, f"diffprivlib/{Path(spec.origin).name}", "exec"), vars(module))
    noise = mechanism()
    vars(module).update(Laplace=noise, LaplaceFolded=noise, check_random_state=lambda rng: rng)
    return module


def release_of(module: ModuleType, case: Case) -> Callable[..., Any]:
    """Return what the regression publishes, as a function of data and a generator."""
    low, high = (np.full(2, end) for end in case.bounds)
    ends_y = tuple(np.full(1, end) for end in case.bounds)

    def noisy_coefficients(data, rng):
        features, targets = data[:, :2], data[:, 2]
        given = {"bounds_X": (low, high), "bounds_y": ends_y, "random_state": rng}
        if case.prepared:
            found = module._preprocess_data(
                features, targets, fit_intercept=False, check_input=False, copy=False, **given
            )
            features, targets = found[:2]
        _, coefficients = module._construct_regression_obj(
            features, targets, epsilon=EPSILON, alpha=0, **given
        )
        return coefficients

    return noisy_coefficients


def proofs() -> Iterator[tuple[Case, CodeProof, CodeProof]]:
    """Yield of each fault what is proved of the code as it is, and of the repaired code."""
    all_repairs = {case.line: case.repaired for case in CASES}
    for case in CASES:
        others = {line: all_repairs[line] for line in all_repairs if line != case.line}
        yield case, _proof(others, case), _proof(all_repairs, case)


def _proof(replacements: dict[str, str], case: Case) -> CodeProof:
    return dpaudit.prove(
        release_of(module_with(replacements), case),
        domain={"bounds": case.domain, "records": 8, "columns": 3},
        relation="replace-record",
        epsilon=EPSILON,
        certified=False,
    )


def dearest_line(proof: CodeProof) -> str:
    """Return the line whose release spends most for its number, and what it spends a time."""
    if proof.refusal is not None:
        return str(proof.refusal)
    worst = max(proof.lines, key=lambda one: one.epsilon / one.count)
    each = worst.epsilon / worst.count
    return f"{worst.place} spends {each:.4g}"


def main() -> int:
    """Print what is proved, and return 1 if a fault is proved or its repair is not."""
    print(f"diffprivlib {version('diffprivlib')}, LinearRegression, epsilon {EPSILON:g}")
    status = 0
    for case, faulty, repaired in proofs():
        print(f"\n{case.fault}")
        for name, proof in (("as it is written", faulty), ("repaired", repaired)):
            number = "nothing" if proof.numbers is None else f"{proof.numbers.epsilon:.6g}"
            print(f"  {name}: {proof.verdict}, {number}; {dearest_line(proof)}")
        if faulty.verdict == "proved" or repaired.verdict != "proved":
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
