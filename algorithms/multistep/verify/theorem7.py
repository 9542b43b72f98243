r"""Re-checks a violation of Theorem 7 of Huang & Gong (eq. 24) from the certificate alone.

A star of n nodes; the loss at its centre is ``f(w) = max(right (w_1 - u), -left (w_1 - u),
up (w_2 - v), 0)``, at the leaves 0; D = c_2 = c_1 = c_0 = 1, d = 2, no regulariser. The noise-free
run is computed step by step, all leaves being alike. Noise passes through a linear map, as long as
it changes no gradient: every noise term is followed to the end, and the squares of its effects add
up to variances v. No iterate or dual moves by more than ``slack`` but for a probability p, the sum
of ``exp(-slack^2 / 2v)``, exact for two features of variance v each. Then the gradients are those
of the noise-free run, and the left side of eq. (24) is its noise-free value less mean deviations.
Otherwise no term of it is below 0, as ``f >= 0 = f(u, v)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpmath import exp, log, mpf, sqrt

from dpaudit.algorithms.multistep.verify.node import share
from dpaudit.verification import Document, Outcome

_OUTSIDE = mpf("1e-3")
_LONGEST = 400
_Vector = dict[str, Any]


def recompute(document: Document) -> Outcome:
    """Return every assumption, and both sides of eq. (24).

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> parameters = {
    ...     "nodes": 2, "iterations": 1, "inner_steps": 1, "records": 10**9, "epsilon": 1.0,
    ...     "delta": 1e-5, "steepest": "sum", "penalty": 1.0, "beta": 1.0, "slack": 1e-4,
    ...     "factor": 1.0,
    ... }
    >>> outcome = recompute(
    ...     Document(
    ...         path="c.json",
    ...         claim="huang2020-theorem7",
    ...         kind="property",
    ...         parameters=parameters,
    ...         quantities={},
    ...         assumptions={},
    ...         instance={"target": [0.5, 0.0], "slopes": [1.0, 1.0, 1.0]},
    ...     )
    ... )
    >>> round(float(outcome.quantities["risk"]), 6), round(float(outcome.quantities["bound"]), 4)
    (0.5, 5.4142)
    """
    document.require_kind("property")
    star = _Star(document)
    loss = _Loss(document)
    centre, leaf, duals, gap = _noise_free(star, loss)
    outside, spread_centre, spread_leaf = _noise(star)
    slack, beta, edges = star.slack, star.beta, star.edges
    mean, mean_leaf = (_average(path[:-1]) for path in (centre, leaf))
    risk = max(loss.pieces(mean))
    violation = 2 * edges * beta * _distance(mean, mean_leaf)
    lost = spread_centre + 2 * edges * beta * (spread_centre + spread_leaf)
    value = max((1 - outside) * (risk + violation) - lost, mpf(0))
    bound = star.factor * (
        star.nodes * sqrt(2) * star.share / sqrt(star.steps)
        + 2 * edges * (star.rho + beta**2 / star.rho) / star.iterations
    )
    points = [*centre, *(leaf if edges else []), loss.target]
    return Outcome(
        assumptions={
            "Lipschitz objective": (max(loss.slopes), mpf(1)),
            "bounded models": (_diameter(points) + 2 * slack, mpf(1)),
            "bounded duals": (max(duals) + slack, beta),
            "clear of kinks": (2 * slack, gap),
            "noise stays inside": (outside, _OUTSIDE),
        },
        quantities={
            "risk": risk,
            "violation": violation,
            "value": value,
            "bound": bound,
            "ratio": value / bound,
        },
        summary=f"expected excess risk and violation are at least {float(value):.6g}, where "
        f"{float(bound):.6g} is claimed",
    )


class _Star:
    """The public parameters, checked."""

    def __init__(self, document: Document) -> None:
        self.nodes, self.iterations, self.inner = (
            document.count(name) for name in ("nodes", "iterations", "inner_steps")
        )
        self.steps, self.edges = self.iterations * self.inner, self.nodes - 1
        if self.steps > _LONGEST:
            expected = f"at most {_LONGEST} steps"
            raise document.refused("parameters.iterations", self.steps, expected)
        self.rho, self.beta, self.slack, self.factor, epsilon = document.positive(
            "penalty", "beta", "slack", "factor", "epsilon"
        )
        delta = share(document, "delta")
        steepest = document.choice("steepest", "sum", "node")
        own = mpf(1) / self.nodes if steepest == "sum" else mpf(1)
        records = document.count("records")
        self.noise = sqrt(2 * self.steps * 8 * log(mpf("1.25") / delta)) / (epsilon * records)
        self.share = sqrt(own**2 + self.noise**2)

    def schedule(self) -> list[tuple[Any, bool, bool]]:
        """Return eta of every update, and whether it begins or ends an iteration."""
        return [
            (sqrt(2 * k * r) * self.share, r == 1, r == self.inner)
            for k in range(1, self.iterations + 1)
            for r in range(1, self.inner + 1)
        ]


class _Loss:
    """The loss of the centre."""

    def __init__(self, document: Document) -> None:
        self.target = [mpf(x) for x in document.array("target", (2,))]
        self.slopes = [mpf(x) for x in document.array("slopes", (3,))]
        if min(self.slopes) < 0:
            raise document.refused("instance.slopes", float(min(self.slopes)), "at least 0")

    def pieces(self, model: list[Any]) -> list[Any]:
        along, across = (w - c for w, c in zip(model, self.target, strict=True))
        right, left, up = self.slopes
        return [right * along, -left * along, up * across, mpf(0)]

    def gradient(self, model: list[Any]) -> tuple[list[Any], Any]:
        """Return the gradient, and by how much its piece leads."""
        values = self.pieces(model)
        active = values.index(max(values))
        right, left, up = self.slopes
        gradients = [[right, mpf(0)], [-left, mpf(0)], [mpf(0), up], [mpf(0), mpf(0)]]
        ordered = sorted(values)
        return gradients[active], ordered[-1] - ordered[-2]


def _advance(
    star: _Star, state: _Vector, eta: Any, first: bool, last: bool, push: tuple[Any, Any, Any]
) -> _Vector:
    """Return one coordinate after an update; ``push`` is added to x, y and the others' y.

    ``y`` and ``g`` are of one leaf, ``z`` and ``h`` of any other: noise of one leaf moves it apart.
    """
    rho, edges = star.rho, star.edges
    g_all, b_all = (
        state[one] + (edges - 1) * state[rest] if edges else mpf(0)
        for one, rest in (("g", "h"), ("by", "bz"))
    )
    pulled = 2 * g_all + rho * (edges * state["bx"] + b_all)
    x = (eta * state["x"] + pulled) / (2 * rho * edges + eta) + push[0]

    def leaf(model: str, dual: str, sent: str) -> Any:
        pulled = rho * (state["bx"] + state[sent]) - 2 * state[dual]
        return (eta * state[model] + pulled) / (2 * rho + eta)

    new = dict(state, x=x, y=leaf("y", "g", "by") + push[1], z=leaf("z", "h", "bz") + push[2])
    for total, one in (("sx", "x"), ("sy", "y"), ("sz", "z")):
        new[total] = new[one] + (0 if first else state[total])
    if last:
        for sent, total in (("bx", "sx"), ("by", "sy"), ("bz", "sz")):
            new[sent] = new[total] / star.inner
        new["g"] = state["g"] - rho / 2 * (new["bx"] - new["by"])
        new["h"] = state["h"] - rho / 2 * (new["bx"] - new["bz"])
    return new


def _zero() -> _Vector:
    return dict.fromkeys(("x", "y", "z", "g", "h", "bx", "by", "bz", "sx", "sy", "sz"), mpf(0))


def _noise_free(star: _Star, loss: _Loss) -> tuple[list[Any], list[Any], list[Any], Any]:
    """Return the models of the centre and of a leaf, the norms of the duals, and the least lead."""
    state = [_zero(), _zero()]
    centre, leaf, duals, gaps = [[mpf(0)] * 2], [[mpf(0)] * 2], [mpf(0)], []
    for eta, first, last in star.schedule():
        gradient, gap = loss.gradient(centre[-1])
        gaps.append(gap)
        unit = 2 * star.rho * star.edges + eta
        state = [
            _advance(star, one, eta, first, last, (-slope / unit, mpf(0), mpf(0)))
            for one, slope in zip(state, gradient, strict=True)
        ]
        centre.append([one["x"] for one in state])
        leaf.append([one["y"] if star.edges else one["x"] for one in state])
        if star.edges:
            duals.append(sqrt(sum((one["g"] ** 2 for one in state), mpf(0))))
    return centre, leaf, duals, min(gaps)


def _noise(star: _Star) -> tuple[Any, Any, Any]:
    """Return the probability that some deviation exceeds the slack, and spreads of both w^.

    Noise of the centre moves all leaves alike. Noise of a leaf moves the leaf itself, and all
    others alike: what any leaf suffers is its own, and edges - 1 times another's.
    """
    schedule, edges, std = star.schedule(), star.edges, star.noise / sqrt(2)
    variances = [dict.fromkeys(("x", "y", "g"), mpf(0)) for _ in schedule]
    of_centre, of_leaf = mpf(0), mpf(0)
    kinds: list[tuple[int, Callable[[Any], Any]]] = [
        (0, lambda eta: std / (2 * star.rho * edges + eta))
    ]
    if edges:
        kinds.append((1, lambda eta: std / (2 * star.rho + eta)))
    for place, size in kinds:
        sources, others = (edges, edges - 1) if place else (1, 0)
        for start in range(len(schedule)):
            mean = _followed(star, schedule, start, place, size(schedule[start][0]), variances)
            of_centre += sources * mean["x"] ** 2
            of_leaf += mean["y"] ** 2 + others * mean["z"] ** 2
    counts = {"x": 1, "y": edges, "g": edges}
    outside = sum(
        (
            counts[name] * exp(-(star.slack**2) / (2 * variance))
            for step in variances
            for name, variance in step.items()
            if variance > 0
        ),
        mpf(0),
    )
    return outside, sqrt(2 * of_centre), sqrt(2 * of_leaf)


def _followed(
    star: _Star,
    schedule: list[tuple[Any, bool, bool]],
    start: int,
    place: int,
    size: Any,
    variances: list[_Vector],
) -> _Vector:
    """Add the squares of one noise term's effects to the variances; return its effect on the w^."""
    state, edges = _zero(), star.edges
    sums = dict.fromkeys(("x", "y", "z"), mpf(0))
    for step in range(start, len(schedule)):
        eta, first, last = schedule[step]
        push = [mpf(0)] * 3
        if step == start:
            push[place] = size
        state = _advance(star, state, eta, first, last, (push[0], push[1], push[2]))
        if place == 0:
            state.update(z=state["y"], h=state["g"], bz=state["by"], sz=state["sy"])
        found, others = variances[step], edges - 1 if place else 0
        found["x"] += (edges if place else 1) * state["x"] ** 2
        found["y"] += state["y"] ** 2 + others * state["z"] ** 2
        found["g"] += state["g"] ** 2 + others * state["h"] ** 2
        if step < len(schedule) - 1:
            for name in sums:
                sums[name] += state[name] / star.steps
    return sums


def _average(path: list[list[Any]]) -> list[Any]:
    return [sum(column, mpf(0)) / len(path) for column in zip(*path, strict=True)]


def _distance(one: list[Any], other: list[Any]) -> Any:
    return sqrt(sum(((p - q) ** 2 for p, q in zip(one, other, strict=True)), mpf(0)))


def _diameter(points: list[list[Any]]) -> Any:
    """Return the largest distance; doubles pick the candidates, up to what they can tell apart."""
    rough = [[float(x) for x in point] for point in points]
    best, pairs = -1.0, []
    for i, (a, b) in enumerate(rough):
        for j in range(i):
            square = (a - rough[j][0]) ** 2 + (b - rough[j][1]) ** 2
            if square > best * (1 - 1e-9):
                best = max(best, square)
                pairs.append((square, i, j))
    near = [(i, j) for square, i, j in pairs if square >= best * (1 - 1e-9)]
    return max((_distance(points[i], points[j]) for i, j in near[:1000]), default=mpf(0))
