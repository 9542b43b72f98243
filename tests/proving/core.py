"""Runs the programs that the checker reads, on plain numbers: nothing here is of the checker."""

import math
from fractions import Fraction

import numpy as np

_FUNCTIONS = {
    "absolute": np.abs, "inverse": lambda x: 1 / x, "sqrt": np.sqrt, "exp": np.exp, "log": np.log,
    "sin": np.sin, "cos": np.cos, "arctan": np.arctan, "floor": np.floor, "ceil": np.ceil,
    "rint": np.rint, "trunc": np.trunc, "decide": lambda x: x, "within": lambda x: x,
}  # fmt: skip


def number(value):
    """Return a number of a file as a double."""
    return float(value) if isinstance(value, str) and "n" in value else float(Fraction(value))


def run(instance, path, data, noise):
    """Return the value of each node: of a node of each record, an array of all records.

    ``noise`` has a value for each draw, or one of each record.
    """
    values = []
    with np.errstate(all="ignore"):
        for node in path["nodes"]:
            args = [values[k] for k in node["operands"]]
            values.append(_value(instance, node, args, data, noise))
    return values


def _value(instance, node, args, data, noise):
    name, given = node["operation"], node["parameters"]
    if name == "number":
        return number(given["value"])
    if name == "data":
        array = np.asarray(data[given["part"]], dtype=float)
        cells = array.reshape(len(array), -1)[:, given["cell"]]
        return cells if given["row"] is None else cells[given["row"]]
    if name in ("total", "rows"):
        size = len(next(iter(data.values())))
        return _over_records(name, given, np.broadcast_to(args[0], size), noise)
    if name == "release":
        return args[0] + sum(
            number(f) * noise[k] for k, f in zip(given["draws"], given["factors"], strict=True)
        )
    if name == "choose":
        drawn = [number(given["factor"]) * noise[k] for k in given["draws"]]
        return float(np.argmax(np.add(args, drawn)))
    return _plain(name, given, args)


def _over_records(name, given, values, noise):
    if name == "total":
        taken = 1.0 if given["sample"] is None else noise[given["sample"]]
        return float((values * taken).sum())
    return float(np.quantile(values, number(given["by"])))


def _plain(name, given, args):
    if name == "poly":
        terms = (
            number(factor) * math.prod((args[k] ** n for k, n in powers), start=1.0)
            for factor, powers in given["terms"]
        )
        return sum(terms, 0.0)
    if name in ("place", "order"):
        stacked = np.stack(np.broadcast_arrays(*args))
        if name == "place":
            return stacked.argmax(axis=0) * 1.0
        return np.quantile(stacked, number(given["by"]), axis=0) * 1.0
    if name == "clip":
        length = np.linalg.norm(np.stack(np.broadcast_arrays(*args)), axis=0)
        share = np.minimum(
            1, number(given["by"]) / np.maximum(length + number(given["margin"]), 1e-300)
        )
        return args[0] * share
    if name == "inside":
        low, high = number(given["low"]), number(given["high"])
        below = args[0] <= high if given["closed"] else args[0] < high
        return ((args[0] >= low) & below) * 1.0
    return _FUNCTIONS[name](*args)
