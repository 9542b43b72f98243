"""A proof as a certificate: datasets, programs of all paths, and the claim.

`dpaudit.proving.checker` checks it with rules of its own, and with nothing of this package. So the
claim of a certificate is what that bounds: pure epsilon, Gaussian noise exactly, zCDP. Where other
accountants are closer, as of many releases of two kinds, the certificate claims more epsilon than
the proof. Doubles are written with as many digits as tell them apart, infinities as text.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

import dpaudit
from dpaudit.formats import add_schema, to_json
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, Guarantee, ZeroConcentratedDP
from dpaudit.proving import checker
from dpaudit.proving.events.coin_paths import join_coin_paths
from dpaudit.proving.lowering.certificate_programs import with_hints
from dpaudit.proving.lowering.lowering import lower_trace
from dpaudit.proving.lowering.scalars import NotLowered
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.trace import FunctionTrace
from dpaudit.proving.universe import Part, Universe
from dpaudit.refutation.certificate import FORMAT, VERSION

KIND = "proof"
_LARGEST_EPSILON = 10_000.0


def make_proof_certificate(
    trace: FunctionTrace, bound: object, claim: Guarantee | None, reference: str | None = None
) -> dict[str, Any]:
    """Return the certificate of a claim, or of the checker's bound in its place.

    Parameters
    ----------
    trace
        The paths of a function.
    bound
        What the prover bounds, which may be less than the checker does.
    claim
        What is claimed: without a claim, pure epsilon or, of Gaussian noise, rho.
    reference
        Where the function is, ``module:name``.

    Raises
    ------
    NotProved
        The checker does not follow the program, or bounds no claim of this kind.

    Examples
    --------
    >>> from dpaudit.guarantees.kinds import ApproximateDP
    >>> from dpaudit.proving.program import PathProgram
    >>> from dpaudit.proving.trace import Path
    >>> program = PathProgram()
    >>> records = program.add("data", shape=(3,), part="")
    >>> total = program.add("sum", [records], shape=(), axis=None)
    >>> noise = program.add("draw", shape=(), law="laplace", number=0)
    >>> program.outputs = (program.add("add", [total, noise], shape=()),)
    >>> part = Part("", (3,), np.asarray(0.0), np.asarray(1.0))
    >>> trace = FunctionTrace(Universe((part,), 3, "replace"), (Path(program),))
    >>> make_proof_certificate(trace, None, ApproximateDP(0.5, 0.0))["instance"]["claim"]
    {'epsilon': 1.0, 'delta': 0.0}
    """
    try:
        instance = instance_of(trace, reference)
        # The claim is what the checker itself bounds, so a certificate that is written is one
        # that verifies.
        cost = checker.check_instance(instance)
    except checker.NotVerified as error:
        raise NotProved.at("the checker", str(error)) from error
    instance["claim"] = dict(_choose_holding_claim(cost, _numbers_of(claim, cost)))
    content = {
        "format": FORMAT,
        "version": VERSION,
        "claim": KIND,
        "kind": KIND,
        "source": reference or "function",
        "relation": trace.universe.relation,
        "parameters": {},
        "quantities": {},
        "assumptions": [],
        "search": {},
        "instance": instance,
    }
    return add_schema("certificate", content)


def _numbers_of(claim: Guarantee | None, cost: checker.Cost) -> dict[str, float]:
    if isinstance(claim, ApproximateDP):
        return {"epsilon": float(claim.at_epsilon), "delta": float(claim.at_delta)}
    if isinstance(claim, GaussianDP):
        return {"mu": float(claim.mu)}
    if isinstance(claim, ZeroConcentratedDP):
        return {"rho": float(claim.rho)}
    return {"rho": 0.0} if cost.square else {"epsilon": 0.0, "delta": 0.0}


def _choose_holding_claim(cost: checker.Cost, claim: Mapping[str, float]) -> Mapping[str, float]:
    """Return a claim that holds: the one that is asked for, or one of the same kind and more."""
    if _is_claim_held(cost, claim):
        return claim
    if "epsilon" not in claim and not ("mu" in claim and cost.pure):
        name = "mu" if "mu" in claim else "rho"
        least = checker.evaluated("sqrt", cost.square, True) if name == "mu" else cost.rho
        return {name: _round_exact_up(least)}
    delta = claim.get("delta", 0.0)
    ordered = _with_order(cost, claim["epsilon"], delta) if "epsilon" in claim else claim
    if delta > 0 and _is_claim_held(cost, ordered):
        return ordered
    pure = math.inf if cost.square else _round_exact_up(cost.pure)
    found = _least_epsilon(cost, delta)
    if pure <= found.get("epsilon", math.inf):
        found = {"epsilon": pure, "delta": delta}
    if not math.isfinite(found["epsilon"]):
        raise NotProved.at("the checker", "it bounds no claim of this kind")
    return found


def _least_epsilon(cost: checker.Cost, delta: float) -> dict[str, float]:
    """Return a claim of an epsilon, with six digits, at which the checker's delta is small."""
    low, high, best = 0.0, _LARGEST_EPSILON, dict[str, float]()
    while delta > 0 and high - low > 1e-7 * max(high, 1e-3):
        # The largest epsilon is tried first: if it does not hold, there is nothing to search
        # for.
        middle = (low + high) / 2 if best else high
        claims = ({"epsilon": middle, "delta": delta}, _with_order(cost, middle, delta))
        enough = next((one for one in claims if _is_claim_held(cost, one)), None)
        if enough is None and not best:
            break
        best = enough or best
        low, high = (low, middle) if enough else (middle, high)
    return best


def _with_order(cost: checker.Cost, epsilon: float, delta: float) -> dict[str, float]:
    """Return a claim with an order of Renyi divergences at which delta is about the least."""
    # From just above 1 to 10^8, close enough together that the best between two orders is
    # hardly better.
    orders = [1 + 10 ** (k / 100) for k in range(-400, 800)]
    if any(samples for _, samples in cost.paths):
        # The divergence of a sample is known at whole orders only.
        orders = [float(k) for k in (*range(2, 40), 48, 64, 96, 128)]
    order = min(orders, key=lambda one: _log_delta(cost, epsilon, one))
    return {"epsilon": epsilon, "delta": delta, "order": order}


def _log_delta(cost: checker.Cost, epsilon: float, order: float) -> float:
    far = max(
        order * float(rho)
        + sum(_log_sampled(order, float(rate), float(square)) for rate, square in samples)
        / (order - 1)
        for rho, samples in cost.paths
    )
    return (order - 1) * (far - epsilon) - math.log(order - 1) + order * math.log1p(-1 / order)


@lru_cache(maxsize=4096)
def _log_sampled(order: float, rate: float, square: float) -> float:
    """Return about the number that `checker.sampled` bounds, times the order less 1."""
    n, least = int(order), 1e-300
    logs = [
        math.log(math.comb(n, k))
        + (n - k) * math.log(max(1 - rate, least))
        + k * math.log(max(rate, least))
        + k * (k - 1) * square / 2
        for k in range(n + 1)
    ]
    return max(logs) + math.log(sum(math.exp(one - max(logs)) for one in logs))


def _is_claim_held(cost: checker.Cost, claim: Mapping[str, float]) -> bool:
    return cost.holds({name: Fraction(value) for name, value in claim.items()})


def _round_exact_up(exact: Any) -> float:
    """Return the double next above a fraction, or the fraction itself where it is one."""
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


# --- the program ----------------------------------------------------------------------------------


def instance_of(trace: FunctionTrace, reference: str | None = None) -> dict[str, Any]:
    """Return the checker's input, as plain JSON, with no claim.

    Parameters
    ----------
    trace
        The paths of a function.
    reference
        Where the function is.

    Raises
    ------
    checker.NotVerified
        The checker has no such program, or does not follow it.
    """
    first, found = None, None
    for one in (trace, replace(trace, paths=join_coin_paths(trace.paths, trace.skeletons))):
        try:
            found = _instance_of(one, reference)
            checker.check_instance(found)
        except checker.NotVerified as error:
            first = first or error
            continue
        return found
    assert first is not None
    raise first


def _instance_of(trace: FunctionTrace, reference: str | None) -> dict[str, Any]:
    instance = {
        "mechanism": {"reference": reference, "sha256": trace.source},
        "universe": _convert_universe(trace.universe),
        **program_of(trace),
        "claim": {},
        "versions": {
            "dpaudit": dpaudit.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }
    return with_hints(instance)


def program_of(trace: FunctionTrace) -> dict[str, Any]:
    """Return the programs of all paths as the checker reads them: no hints, no datasets.

    Raises
    ------
    checker.NotVerified
        The checker has no such program.
    """
    try:
        lowered = lower_trace(trace)
    except NotLowered as error:
        raise checker.NotVerified(str(error)) from error
    skeletons = trace.skeletons[: len(trace.paths)] or (None,) * len(trace.paths)
    paths = [
        {**path, "skeleton": skeleton_in(skeleton)}
        for path, skeleton in zip(lowered.paths, skeletons, strict=True)
    ]
    return {"alike": lowered.alike, "draws": lowered.draws, "paths": paths}


def _convert_universe(universe: Universe) -> dict[str, Any]:
    return {
        "parts": [_convert_part(one) for one in universe.parts],
        "records": universe.records,
        "count": universe.count,
        "relation": universe.relation,
    }


def _convert_part(part: Part) -> dict[str, Any]:
    shape: Any = part.shape[1:]  # None stands on the axis of records alone
    return {
        "name": part.name,
        "shape": list(part.shape),
        "low": _convert_numbers(np.broadcast_to(part.low, shape).ravel()),
        "high": _convert_numbers(np.broadcast_to(part.high, shape).ravel()),
        "is_integer": part.is_integer,
        "norm": to_plain_parameter(part.norm),
        "categories": None if part.categories is None else list(part.categories),
        "is_changed": part.is_changed,
    }


def universe_in(stated: Mapping[str, Any]) -> Universe:
    """Return the datasets that a certificate is about.

    Parameters
    ----------
    stated
        ``instance.universe`` of one that the checker has read.
    """
    parts = tuple(
        Part(
            name=one["name"],
            shape=tuple(one["shape"]),
            low=_parse_number_array(one["low"], one["shape"][1:]),
            high=_parse_number_array(one["high"], one["shape"][1:]),
            is_integer=one["is_integer"],
            norm=float(one["norm"]),
            categories=None if one["categories"] is None else tuple(one["categories"]),
            is_changed=one["is_changed"],
        )
        for one in stated["parts"]
    )
    relation: str = stated["relation"]
    return Universe(
        parts,
        stated["records"],
        "add-remove" if relation.startswith("add-remove") else "replace",
        stated["count"],
        relation,
        relation == "replace-cell",
    )


def _parse_number_array(numbers: list[Any], shape: list[int]) -> Any:
    return np.array([float(one) for one in numbers], dtype=np.float64).reshape(shape)


def _convert_numbers(values: Iterable[Any]) -> list[Any]:
    return [to_plain_parameter(float(one)) for one in values]


def to_plain_parameter(value: Any) -> Any:
    """Return a public parameter as JSON has it.

    Examples
    --------
    >>> (
    ...     to_plain_parameter(np.array([[1.0, math.inf], [True, 0.1]])),
    ...     to_plain_parameter((None, np.int64(3))),
    ... )
    ([[1.0, 'Infinity'], [1.0, 0.1]], [None, 3])
    """
    if isinstance(value, np.ndarray | np.generic):
        return to_plain_parameter(value.tolist())
    if isinstance(value, list | tuple):
        return [to_plain_parameter(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): to_plain_parameter(one) for name, one in value.items()}
    return to_json(value, non_finite="Infinity")


def skeleton_in(skeleton: Any) -> Any:
    """Return the nesting of a return value as JSON has it."""
    if isinstance(skeleton, list | tuple):
        return [type(skeleton).__name__, *(skeleton_in(one) for one in skeleton)]
    if isinstance(skeleton, Mapping):
        return ["dict", *([str(name), skeleton_in(one)] for name, one in skeleton.items())]
    known = skeleton is None or isinstance(skeleton, str | int | float | bool)
    return to_plain_parameter(skeleton) if known else type(skeleton).__name__
