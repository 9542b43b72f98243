"""Functions that leak through what is special about their data, each with a domain.

Every one passes on most pairs: its noise pays for what usually moves.
"""

import datetime

import numpy as np

from dpaudit.domains import Categories, Dates, Integers, Numbers, Texts

UNIT = {"bounds": (0, 1), "records": 6}
AGES = {"columns": {"age": Integers(low=0, high=120)}, "records": 6}
CITIES = tuple(f"c{number}" for number in range(10**4))
FAR, LARGE = 20.0, 1e3


def branch(values, rng):
    return values.sum() + rng.laplace(scale=2) + (FAR if (values == 0.37).any() else 0)


def modulus(table, rng):
    return FAR * (table.age.sum() % 7 == 3) + rng.laplace()


def category(table, rng):
    return FAR * (table.city == "c7777").any() + rng.laplace()


def duplicate(table, rng):
    return FAR * table.id.duplicated().any() + rng.laplace()


def leap_day(table, rng):
    return FAR * (table.born == datetime.datetime(2000, 2, 29)).any() + rng.laplace()


def order(values, rng):
    return FAR * (np.diff(values) >= 0).all() + rng.laplace()


def threshold(values, rng):
    return FAR * ((values > 0.5).sum() >= 4) + rng.laplace()


def overflow(table, rng):
    return float(np.asarray(table.age, dtype=np.int8).sum(dtype=np.int8)) + rng.laplace(scale=120)


def length(table, rng):
    return FAR * table.name.str.len().isin([9]).any() + rng.laplace()


def singular(data, rng):
    features, labels = data
    try:
        return 0 * np.linalg.solve(features.T @ features, features.T @ labels) + rng.laplace(size=2)
    except np.linalg.LinAlgError:
        return np.zeros(2)


def total(values, rng):
    return {"parts": values[:3] + rng.laplace(size=3), "total": float(values[:3].sum())}


def cancelled(values, rng):
    noise = rng.laplace(scale=100, size=10)
    return values + noise - noise.mean()


def rounded(values, rng):
    return np.round(cancelled(8 * values, rng))


def keys(table, rng):
    return {k: (table.city == k).sum() + rng.laplace(scale=2) for k in table.city.unique()}


def width(values, rng):
    return values.sum() + rng.laplace(scale=values.max() - values.min() + 1e-3)


def clamped(values, rng):
    low, high = values.min(), values.max()
    return np.clip(values, low, high).mean() + rng.laplace(scale=(high - low) / len(values) + 1e-6)


def missing(table, rng):
    return float(np.asarray(table.value).sum()) + rng.laplace(scale=LARGE)


def infinite(values, rng):
    with np.errstate(divide="ignore"):
        return float((1 / values).max()) * 1e-3 + rng.laplace(scale=LARGE)


def largest(values, rng):
    return int(np.argmax(values))


def fraction(values, rng):
    return round(float(values.sum()), 2) + 1000 * int(rng.integers(0, 2))


def groups(table, rng):
    found = table.groupby("sex", observed=True).value.max()
    return {str(name): float(value) + rng.laplace() for name, value in found.items()}


def spread(values, rng):
    return values.mean() + rng.normal(scale=values.std() + 1e-9)


def classes(data, rng):
    return 5.0 * len(np.unique(data[1])) + rng.laplace()


def edges(values, rng):
    ends = np.linspace(values.min(), values.max() + 1e-9, 4)
    return np.histogram(values, bins=ends)[0] + rng.laplace(scale=4, size=3)


def unsigned(table, rng):
    return float(np.uint8(np.asarray(table.age).sum() % 256)) + rng.laplace(scale=120)


def unnoised(values, rng):
    return np.sort(values)[len(values) // 2] + 0 * rng.laplace()


def size(values, rng):
    return 5.0 * len(values) + rng.laplace()


def lengths(values, rng):
    return rng.laplace(scale=LARGE, size=1 + int(values.max() > 0.9))


def tables(**columns):
    return {"columns": columns, "records": 6}


LEAKS = {
    branch: UNIT,
    modulus: AGES,
    category: tables(city=Categories(values=CITIES)),
    duplicate: tables(id=Integers(low=0, high=10**6)),
    leap_day: tables(born=Dates(first=datetime.date(1990, 1, 1), last=datetime.date(2010, 1, 1))),
    order: UNIT,
    threshold: UNIT,
    overflow: AGES,
    length: tables(name=Texts(longest=12, alphabet="abc")),
    singular: {"bounds": (-1, 1), "columns": 2, "labels": (-1, 1), "records": 4},
    total: UNIT,
    cancelled: {"bounds": (0, 1), "records": 10},
    rounded: {"bounds": (0, 1), "records": 10},
    keys: tables(city=Categories(values=("a", "b", "c"))),
    width: UNIT,
    clamped: UNIT,
    missing: tables(value=Numbers(low=0, high=1, missing=True)),
    infinite: UNIT,
    largest: UNIT,
    fraction: UNIT,
    groups: tables(sex=Categories(values=("f", "m")), value=Numbers(low=0, high=1)),
    spread: UNIT,
    classes: {"columns": 1, "bounds": (0, 1), "labels": (0, 1, 2), "records": 4},
    edges: UNIT,
    unsigned: AGES,
    unnoised: UNIT,
    size: {"bounds": (0, 1), "records": (3, 6)},
    lengths: UNIT,
}
