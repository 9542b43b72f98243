"""How an audit is repeated: as a command line, and as a certificate that is drawn again."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import asdict
from typing import Any

from dpaudit.refutation.certificate import Certificate
from dpaudit.report.formatting import value_of
from dpaudit.report.schema import Result
from dpaudit.settings import Settings


def statistical_certificate(result: Result, settings: Settings) -> Certificate | None:
    """Return counts, seed and settings of a refutation by drawing.

    Returns None where 0 was claimed or the number is infinite: there is no ratio to compare.
    ``dpaudit verify`` runs the audit again and compares every number.
    """
    if not value_of(result.claimed, result.kind) or not math.isfinite(result.measured.lower):
        return None
    return Certificate(
        claim=result.claim,
        source=result.source,
        relation=result.relation,
        parameters={"confidence": result.measured.confidence},
        instance={"settings": asdict(settings)},
        quantities=quantities_of(result),
        search={"seed": settings.seed, "trials": result.trials},
        kind="statistical",
    )


def quantities_of(result: Result) -> dict[str, float]:
    """Return the numbers of a result that its statistical certificate states."""
    bound, value = value_of(result.claimed, result.kind) or 0.0, result.measured.lower
    # A quotient says nothing where the bound is negative: -2 is below -1.
    excess = (value - bound) / max(abs(value), abs(bound), 1e-300)
    numbers = {"bound": bound, "value": value, "ratio": value / bound if bound > 0 else 1 + excess}
    return numbers | {f"count: {name}": float(n) for name, n in result.counts.items()}


def rerun_command(name: str, settings: Settings) -> str:
    """Return the command line that repeats an audit.

    Examples
    --------
    >>> rerun_command("c", Settings(parameters={"nodes": 3}))
    'dpaudit audit c --epsilon 1.0 --delta 1e-05 --data worst-case --confidence 0.95 --seed 0 \
--set nodes=3'
    """
    words = ["dpaudit", "audit", name, "--epsilon", repr(settings.epsilon)]
    words += ["--delta", repr(settings.delta)]
    if not name.endswith(".toml"):  # a file names its own data
        words += ["--data", settings.data]
    if settings.trials is not None:
        words += ["--trials", str(settings.trials)]
    words += ["--confidence", repr(settings.confidence), "--seed", str(settings.seed)]
    optional = {"--data-path": settings.data_path, "--attack": settings.attack}
    if settings.estimator != "auto":
        optional["--estimator"] = settings.estimator
    if settings.candidate_pairs is not None:
        optional["--pairs"] = str(settings.candidate_pairs)
    words += [word for flag, value in optional.items() if value for word in (flag, value)]
    words += ["--until-refuted"] if settings.until_refuted else []
    for flag, values in (("--data-option", settings.data_options), ("--set", settings.parameters)):
        words += [word for key, value in values.items() for word in (flag, f"{key}={_toml(value)}")]
    return shlex.join(words)


def _toml(value: Any) -> str:

    return value if isinstance(value, str) else json.dumps(value)
