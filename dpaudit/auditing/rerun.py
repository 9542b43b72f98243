"""An audit repeated: as a command line, and as a certificate that is drawn again."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from dpaudit.extension.settings import Settings
from dpaudit.refutation.certificate import Certificate
from dpaudit.report.formatting import value_of
from dpaudit.report.schema import Result


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
        instance={"settings": settings.document()},
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
    """Return the command line that repeats the audit of an installed claim.

    Examples
    --------
    >>> rerun_command("c", Settings(parameters={"nodes": 3}))
    'dpaudit audit c --epsilon 1.0 --delta 1e-05 --data worst-case --confidence 0.95 --seed 0 \
--set nodes=3'
    """
    given = asdict(settings)
    if settings.estimator == "auto":
        del given["estimator"]
    return repeated_command([name], given)


def repeated_command(targets: Sequence[str], given: Mapping[str, Any]) -> str:
    """Return the command line with these targets and these settings, the others left out.

    Examples
    --------
    >>> repeated_command(["own.toml", "c"], {"seed": 3, "until_refuted": True, "trials": None})
    'dpaudit audit own.toml c --seed 3 --until-refuted'
    """
    words = ["dpaudit", "audit", *targets]
    for name, flag in _FLAGS.items():
        words += _option(flag, given.get(name))
    return shlex.join(words)


def with_options(line: str, given: Mapping[str, Any]) -> str:
    """Return a command line with more options, by their flags; those that are None left out.

    Examples
    --------
    >>> with_options("dpaudit attack a", {"--set": {"k": 2}, "--seed": 1, "--quiet": None})
    'dpaudit attack a --set k=2 --seed 1'
    """
    words = (word for flag, value in given.items() for word in _option(flag, value))
    return " ".join([line, *map(shlex.quote, words)])


def with_unit(rerun: str, unit: int) -> str:
    """Return a command or call that also states the unit of work.

    Examples
    --------
    >>> with_unit("dpaudit audit own.toml", 16), with_unit("audit(f, seed=0)", 16)
    ('dpaudit audit own.toml --unit 16', 'audit(f, seed=0, unit=16)')
    """
    if not rerun.endswith(")"):
        return rerun if " --unit " in rerun else f"{rerun} --unit {unit}"
    return rerun if "unit=" in rerun else f"{rerun[:-1]}, unit={unit})"


def with_looks(rerun: str, looks: Sequence[tuple[int, float]]) -> str:
    """Return a command or call with the looks that were taken in place of a time.

    Examples
    --------
    >>> with_looks("dpaudit audit own.toml --time 30.0", [(100, 0.1), (900, 0.8)])
    'dpaudit audit own.toml --looks 100:0.1,900:0.8'
    >>> with_looks("audit(f, seed=0, time=30.0)", [(100, 0.1)])
    'audit(f, seed=0, looks=((100, 0.1),))'
    """
    if not rerun.endswith(")"):
        command = _LOOKS.sub("", rerun)
        return " ".join([command, *_option("--looks", tuple(looks))])
    given = tuple((trials, share) for trials, share in looks)
    return f"{_GIVEN_LOOKS.sub('', rerun)[:-1]}, looks={given!r})"


_LOOKS = re.compile(r" --(time|looks) \S+")
_GIVEN_LOOKS = re.compile(r", (time=[^,)]+|looks=\(.*\)(?=[,)]))")
_FLAGS = {
    "epsilon": "--epsilon",
    "delta": "--delta",
    "data": "--data",
    "trials": "--trials",
    "confidence": "--confidence",
    "seed": "--seed",
    "data_path": "--data-path",
    "distinguisher": "--distinguisher",
    "estimator": "--estimator",
    "candidate_pairs": "--pairs",
    "unit": "--unit",
    "time": "--time",
    "looks": "--looks",
    "until_refuted": "--until-refuted",
    "show_records": "--show-records",
    "data_options": "--data-option",
    "parameters": "--set",
    "dataset": "--dataset",
    "neighbour": "--neighbour",
    "relation": "--relation",
    "mu": "--mu",
    "rho": "--rho",
    "renyi": "--renyi",
    "curve": "--curve",
    "form": "--form",
    "read": "--read",
    "observe": "--observe",
    "ignore": "--ignore",
    "fresh": "--fresh",
}


def _option(flag: str, value: Any) -> list[str]:
    match value:
        case None | False:
            return []
        case True:
            return [flag]
        case Mapping():
            return [word for key, one in value.items() for word in (flag, f"{key}={_toml(one)}")]
        case (float(order), float(epsilon)):
            return [flag, repr(order), repr(epsilon)]
        case list():
            return [word for one in value for word in (flag, str(one))]
        case tuple():
            return [flag, ",".join(f"{trials}:{share!r}" for trials, share in value)]
        case _:
            return [flag, str(value)]


def _toml(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
