"""The file: what it may hold, its paths, its events and its claim."""

from __future__ import annotations

import json
import math
from fractions import Fraction as F
from typing import Any

from .costs import SLACK, Cost
from .enclosures import INF, NotAlike, NotVerified, meet
from .frames import Array
from .readings import Reading

BYTES, DEPTH, NODES, WORK = 16 * 2**20, 60, 200_000, 3_000_000


def exact(value: Any) -> Any:
    """Return the number that a file writes: a number, "p/q", or an infinity."""
    if isinstance(value, bool):
        return F(int(value))
    if isinstance(value, int | float):
        if isinstance(value, float) and not math.isfinite(value):
            raise NotVerified("a number that is none")
        return F(value)
    if value in ("Infinity", "-Infinity"):
        return INF if value == "Infinity" else -INF
    if isinstance(value, str) and len(value) < 2000:
        return F(value)
    raise NotVerified("a number that is none")


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NotVerified("an object names something twice")
    return found


def fields(given: Any, names: str) -> None:
    if not isinstance(given, dict) or set(given) != set(names.split()):
        raise NotVerified(f"an object has other fields than {names}")


def whole(value: Any, least: int = 0, most: int = 10**9) -> int:
    if type(value) is not int or not least <= value <= most:
        raise NotVerified("a number that is no index, length or count")
    return value


def universe_of(given: Any) -> dict[str, Any]:
    """Return the datasets and neighbours that a file states."""
    fields(given, "parts records change count relation of_cells")
    if given["change"] not in ("replace", "add-remove"):
        raise NotVerified("no rule knows this change")
    adds = given["change"] == "add-remove"
    if adds != (given["records"] is None) or not isinstance(given["of_cells"], bool):
        raise NotVerified("the number of records and what changes do not fit")
    if not adds:
        whole(given["records"], 1, 10**7)
    parts = []
    for one in given["parts"]:
        fields(one, "name shape low high is_integer norm categories is_changed")
        shape = [whole(n) for n in one["shape"][1:]]
        if (
            one["shape"][0] != given["records"]
            or len(one["low"]) != math.prod(shape)
            or len(one["high"]) != math.prod(shape)
        ):
            raise NotVerified("the shape of a part does not fit")
        norm = exact(one["norm"])
        ends = [
            meet((exact(a), exact(b)), (-norm, norm))
            for a, b in zip(one["low"], one["high"], strict=True)
        ]
        if any(low > high for low, high in ends) or norm < 0:
            raise NotVerified("ends that leave nothing between them")
        flags = one["is_integer"], one["is_changed"]
        if not all(isinstance(flag, bool) for flag in flags) or not isinstance(one["name"], str):
            raise NotVerified("a part with no name or flags")
        parts.append(
            {
                "name": one["name"],
                "shape": one["shape"],
                "ends": ends,
                "norm": norm,
                "is_integer": flags[0],
                "is_changed": flags[1],
            }
        )
    if len({one["name"] for one in parts}) < len(parts) or not parts:
        raise NotVerified("parts of the same name, or none")
    whole(given["count"], 1, 10**6)
    return {**given, "parts": parts}


PARAMETERS = {
    "data": "part",
    "size": "",
    "constant": "value",
    "draw": "law number",
    "decide": "outcome",
    "quantile": "axis q method",
    "take": "key",
    "assign": "key",
    "reshape": "shape",
    "broadcast": "shape",
    "transpose": "axes",
    "concatenate": "axis",
    "bin_counts": "edges",
    **dict.fromkeys("sum prod max min mean median argmax argmin sort cumsum".split(), "axis"),
}
UNARY = (
    "negative absolute sqrt exp expm1 log log1p sin cos arctan tanh sign floor ceil rint trunc "
    "logical_not"
).split()
BINARY = (
    "add subtract multiply divide minimum maximum remainder power less less_equal equal not_equal "
    "logical_and logical_or logical_xor matmul assign"
).split()
OPERANDS = {
    **dict.fromkeys(UNARY, 1),
    **dict.fromkeys(BINARY, 2),
    "where": 3,
    **dict.fromkeys(("data", "size", "constant", "draw"), 0),
}
RANGES = {
    "bool": (0, 1),
    **{f"int{n}": (-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (8, 16, 32, 64)},
    **{f"uint{n}": (0, 2**n - 1) for n in (8, 16, 32, 64)},
}


def flat(value: Any, shape: Any) -> list[Any]:
    """Return nested lists of a shape as one list."""
    if not shape:
        return [exact(value)]
    if not isinstance(value, list) or len(value) != shape[0]:
        raise NotVerified("a constant of another shape")
    return [one for item in value for one in flat(item, shape[1:])]


def node_of(index: int, given: Any) -> dict[str, Any]:
    """Return a node whose operation, operands and parameters can be followed."""
    fields(given, "operation operands parameters shape dtype place")
    name, parameters = given["operation"], dict(given["parameters"])
    if name not in OPERANDS and name not in PARAMETERS:
        raise NotVerified(f"node {index}: no rule knows this operation")
    operands = [whole(one, 0, index - 1) for one in given["operands"]]
    if len(operands) != OPERANDS.get(
        name, len(operands) if name == "concatenate" and operands else 1
    ):
        raise NotVerified(f"node {index}: another number of operands")
    if name != "draw":
        fields(parameters, PARAMETERS.get(name, ""))
    shape = [None if n is None else whole(n) for n in given["shape"]]
    if given["dtype"] not in RANGES and given["dtype"] != "float64":
        raise NotVerified(f"node {index}: no rule knows numbers of this kind")
    if name == "constant":
        parameters["value"] = shape, flat(parameters["value"], shape)
    if name == "quantile":
        q = parameters["q"]
        parameters["q"] = (
            ([len(q)], [exact(one) for one in q]) if isinstance(q, list) else ([], [exact(q)])
        )
    if name == "bin_counts":
        parameters["edges"] = [exact(one) for one in parameters["edges"]]
    for key in ("axis", "shape", "axes"):
        for one in (
            parameters[key] if isinstance(parameters.get(key), list) else [parameters.get(key)]
        ):
            if one is not None:
                whole(one, -64)
    if name == "decide" and not isinstance(parameters["outcome"], bool):
        raise NotVerified(f"node {index}: a decision without outcome")
    return {**given, "operands": operands, "parameters": parameters, "shape": shape}


def needed(nodes: list[dict[str, Any]], outputs: list[int]) -> list[int]:
    """Return the nodes on which outputs and decisions rest."""
    pending = [*outputs, *(i for i, one in enumerate(nodes) if one["operation"] == "decide")]
    found = set(pending)
    while pending:
        for one in nodes[pending.pop()]["operands"]:
            if one not in found:
                found.add(one)
                pending.append(one)
    return sorted(found)


def fits(node: dict[str, Any], array: Array, count: Any) -> bool:
    """Return whether an array has the shape and the range that its node states."""
    shape = [count if i == array.axis else n for i, n in enumerate(array.shape)]
    if shape != node["shape"]:
        return False
    if node["dtype"] not in RANGES:
        return True
    low, high = RANGES[node["dtype"]]
    for one in array.items:
        ends = one.args[0].ends if one.noise else one.ends
        unknown = ends == (-INF, INF) and not one.moves
        if not unknown and not (low <= ends[0] and ends[1] <= high) and not one.bad:
            return False
    return True


def read_path(universe: Any, path: Any, changed: Any, alike: bool, budget: list[int]) -> Any:
    """Return the events of one path when one record changes."""
    reading = Reading(universe, changed, alike, budget)
    nodes, outputs = path
    reading.arrays = [None] * len(nodes)
    for index in needed(nodes, outputs):
        node = nodes[index]
        found = reading.value(index, node)
        if not fits(node, found, universe["records"]):
            raise NotVerified(f"node {index}: its shape or its range is not what the file states")
        if node["operation"] == "decide" and any(one.moves or one.bad for one in found.items):
            raise NotVerified(f"node {index}: a record decides")
        reading.arrays[index] = found
    for index in outputs:
        shown = reading.shown(reading.arrays[index], index)
        for one in shown.items:
            if one.moves or one.bad:
                raise NotVerified(f"node {index}: a record is returned ({one.bad or 'no noise'})")
    return reading.events


def changes(universe: Any, alike: bool) -> list[Any]:
    """Return which record changes, and which of its numbers where only one does."""
    rows = range(1 if alike else universe["records"])
    cells: list[Any] = [None]
    if universe["of_cells"]:
        cells = [
            (one["name"], i)
            for one in universe["parts"]
            if one["is_changed"]
            for i in range(len(one["ends"]))
        ]
    return [(row, cell) for row in rows for cell in cells]


def complete(paths: list[Any]) -> bool:
    """Return whether paths are all ways through one program: each decision goes both ways."""
    programs = [
        (nodes, [i for i, one in enumerate(nodes) if one["operation"] == "decide"])
        for nodes, _ in paths
    ]

    def whole_tree(members: list[int], depth: int, start: int) -> bool:
        place: Any
        firsts = {programs[m][1][depth] if depth < len(programs[m][1]) else None for m in members}
        if firsts == {None}:
            return len(members) == 1
        if len(firsts) > 1:
            return False
        (place,) = firsts
        sides: dict[bool, list[int]] = {True: [], False: []}
        first = programs[members[0]][0]
        for m in members:
            nodes = programs[m][0]
            if (
                nodes[start:place] != first[start:place]
                or nodes[place]["operands"] != first[place]["operands"]
            ):
                return False
            sides[nodes[place]["parameters"]["outcome"]].append(m)
        return all(side and whole_tree(side, depth + 1, place + 1) for side in sides.values())

    return whole_tree(list(range(len(paths))), 0, 0)


def check_instance(instance: Any) -> tuple[Cost, list[Any]]:
    """Return what a program costs, and its events, by path.

    Raises
    ------
    NotVerified
        No rule bounds it, or the file is not what it has to be.
    """
    universe = universe_of(instance["universe"])
    budget = [WORK]
    paths, total_cost, every = [], Cost([], 1), []
    if not instance["paths"] or sum(len(one["nodes"]) for one in instance["paths"]) > NODES:
        raise NotVerified("no path, or too many nodes")
    for path in instance["paths"]:
        fields(path, "nodes outputs skeleton")
        nodes = [node_of(i, one) for i, one in enumerate(path["nodes"])]
        paths.append((nodes, [whole(one, 0, len(nodes) - 1) for one in path["outputs"]]))
    if not complete(paths):
        raise NotVerified("a decision goes one way, and no path the other")
    for path in paths:
        cost, events = cost_of(universe, path, budget)
        total_cost.join(cost)
        every.append(events)
    return total_cost, every


def cost_of(universe: Any, path: Any, budget: list[int]) -> tuple[Cost, Any]:
    try:
        runs = [read_path(universe, path, one, True, budget) for one in changes(universe, True)]
    except NotAlike:
        if universe["change"] == "add-remove" or universe["records"] > 2000:
            raise NotVerified("records are not treated alike, and too many or unknown") from None
        try:
            runs = [
                read_path(universe, path, one, False, budget) for one in changes(universe, False)
            ]
        except NotAlike:
            raise NotVerified("no rule knows how records are treated") from None
    cost, events = Cost([], 1), dict[Any, Any]()
    for found in runs:
        cost.join(Cost(found, universe["count"]))
        for one in found:
            known = events.setdefault((one["node"], one["law"]), one)
            known["cost"] = max(known["cost"], one["cost"])
    return cost, list(events.values())


def claim_of(given: Any) -> dict[str, F]:
    if not isinstance(given, dict) or set(given) not in ({"epsilon", "delta"}, {"mu"}, {"rho"}):
        raise NotVerified("no rule knows this claim")
    found = {name: exact(value) for name, value in given.items()}
    if any(isinstance(one, float) or one < 0 or one > 10**6 for one in found.values()):
        raise NotVerified("a claim outside of what can be claimed")
    return found


def check(document: Any) -> str:
    """Return the statement of a certificate that holds.

    Raises
    ------
    NotVerified
        It does not hold, or no rule shows it.
    """
    try:
        if document["format"] != "dpaudit-certificate" or document["kind"] != "proof":
            raise NotVerified("no certificate of a proof")
        instance = document["instance"]
        fields(instance, "mechanism universe paths events claim versions")
        claim = claim_of(instance["claim"])
        cost, found = check_instance(instance)
        stated = [
            (whole(one["path"]), whole(one["node"]), one["law"], exact(one["cost"]))
            for one in instance["events"]
        ]
        derived = [
            (n, one["node"], one["law"], one["cost"])
            for n, events in enumerate(found)
            for one in events
        ]
    except NotVerified:
        raise
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        OverflowError,
        ArithmeticError,
        RecursionError,
        MemoryError,
    ) as error:
        raise NotVerified(f"it is not written as it has to be ({type(error).__name__})") from error
    if len(stated) != len(derived) or any(
        a[:3] != b[:3] or b[3] > a[3] * (1 + SLACK) for a, b in zip(stated, derived, strict=True)
    ):
        raise NotVerified("its events are not those that are derived")
    if not cost.holds(claim):
        raise NotVerified("its events cost more than it claims")
    said = ", ".join(f"{name} = {float(value):.12g}" for name, value in claim.items())
    return f"{said}, for every two neighbours ({instance['universe']['relation']})"


def main(arguments: list[str]) -> int:
    """Check files, print a line for each, and return 0 if all hold."""
    status = 0
    for path in arguments:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read(BYTES + 1)
            if len(text) > BYTES:
                raise NotVerified("the file is too large")
            content = json.loads(text, object_pairs_hook=once, parse_constant=exact)
            for one in content if isinstance(content, list) else [content]:
                print(f"{path}: verified: {check(one)}")
        except (NotVerified, OSError, ValueError, RecursionError) as error:
            print(f"{path}: not verified: {error}")
            status = 1
    return status
