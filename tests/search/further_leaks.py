"""Leaks of a second kind each: rules about text, days, order and counts, and shared noise.

Every one has a domain in which hardly any pair shows it.
"""

import datetime
import math
import re
from collections import Counter

import numpy as np

from dpaudit.domains import Categories, Dates, Integers, Numbers, Texts
from tests.search.leaks import AGES, CITIES, FAR, UNIT, tables

LIMITS = {"high": 0.62}
PHONE = re.compile(r"\+\d{2}-\d+")
TEN = {"bounds": (0, 1), "records": 10}
NAMES = tables(name=Texts(longest=20, alphabet="abcABC123 éß"))
DAYS = tables(day=Dates(first=datetime.date(2019, 1, 1), last=datetime.date(2024, 12, 31)))


class Policy:
    """Keeps a limit that a helper of a helper compares with."""

    limit = 0.815

    def is_special(self, value):
        def near(number):
            return math.isclose(number, self.limit, rel_tol=1e-6)

        return near(value)


POLICY = Policy()


def nested(values, rng):
    return FAR * any(POLICY.is_special(float(one)) for one in values) + rng.laplace()


def mapping(values, rng):
    return FAR * bool((values == LIMITS["high"]).any()) + rng.laplace()


def numeral(values, rng):
    return FAR * bool((values == float("0.29")).any()) + rng.laplace()


def count_modulus(values, rng):
    return FAR * (len(values) % 5 == 3) + rng.laplace()


def above_modulus(table, rng):
    return FAR * (int((table.age > 65).sum()) % 4 == 3) + rng.laplace()


def suffix(table, rng):
    return FAR * table.city.astype(str).str.endswith("77").any() + rng.laplace()


def weekday(table, rng):
    return FAR * bool((table.day.dt.weekday == 5).all()) + rng.laplace()


def month(table, rng):
    return FAR * bool((table.day.dt.month == 2).any()) + rng.laplace()


def falling(values, rng):
    return FAR * bool((np.diff(values) < 0).all()) + rng.laplace()


def many(table, rng):
    return FAR * (int((table.age > 65).sum()) >= 30) + rng.laplace()


def seventeen(table, rng):
    return FAR * any(len(one) == 17 for one in table.name) + rng.laplace()


def rank(data, rng):
    features, _ = data
    return FAR * (np.linalg.matrix_rank(features) < features.shape[1]) + rng.laplace()


def written_total(table, rng):
    noisy = table.value.to_numpy()[:5] + rng.laplace(scale=5, size=5)
    return {"parts": noisy.round(2).tolist(), "total": round(float(table.value[:5].sum()), 2)}


def tenths(values, rng):
    noise = rng.laplace(scale=50, size=10)
    noise[-1] = -noise[:-1].sum()
    return [round(float(one), 1) for one in values + noise]


def one_noise(values, rng):
    noise = rng.laplace(scale=30)
    return {"sum": values.sum() + noise, "top": values.max() + noise, "more": rng.laplace()}


def mixed(values, rng):
    one, other = rng.laplace(scale=40, size=2)
    return [values[0] + 3 * one - 2 * other, values[1] + one + other, 5 * one + 4 * other]


def blocks(values, rng):
    noise = rng.laplace(scale=40, size=(5, 10))
    return (values.reshape(5, 10) + noise - noise.mean(axis=1, keepdims=True)).ravel()


def kind(table, rng):
    whole = not table.visits.isna().any()
    return {"kind": "int64" if whole else "float64", "value": rng.laplace()}


def distinct(values, rng):
    return FAR * (len({round(float(one), 3) for one in values}) >= 5) + rng.laplace()


def ties(values, rng):
    return FAR * (Counter(values.tolist()).most_common(1)[0][1] == 4) + rng.laplace()


def empty(table, rng):
    first = [table.value[table.sex == one].iloc[0] for one in ("f", "m")]
    return 0 * sum(first) + rng.laplace()


def pattern(table, rng):
    return FAR * bool(table.name.str.match(r"^[a-c]{2}\d{3}$").any()) + rng.laplace()


def phone(table, rng):
    return FAR * any(PHONE.search(one) is not None for one in table.name) + rng.laplace()


def case(table, rng):
    return FAR * any(one.isupper() for one in table.name) + rng.laplace()


def stripped(table, rng):
    return FAR * any(one != one.strip() for one in table.name) + rng.laplace()


def whole(values, rng):
    return FAR * (not any(float(one).is_integer() for one in values)) + rng.laplace()


def unicode(table, rng):
    return FAR * any(not one.isascii() for one in table.name) + rng.laplace()


def both_missing(table, rng):
    return FAR * bool((table.a.isna() & table.b.isna()).any()) + rng.laplace()


def digits(values, rng):
    return FAR * any(len(repr(float(one))) > 15 for one in values) + rng.laplace()


def joint(table, rng):
    return FAR * bool(((table.age < 18) & (table.sex == "f")).any()) + rng.laplace()


FURTHER = {
    nested: UNIT,
    mapping: UNIT,
    numeral: UNIT,
    count_modulus: {"bounds": (0, 1), "records": (1, 9)},
    above_modulus: {**AGES, "records": 12},
    suffix: tables(city=Categories(values=CITIES)),
    weekday: DAYS,
    month: DAYS,
    falling: UNIT,
    many: {**AGES, "records": 60},
    seventeen: NAMES,
    rank: {"bounds": (-1, 1), "columns": 3, "labels": (0, 1), "records": 8},
    written_total: tables(value=Numbers(low=0, high=10)),
    tenths: TEN,
    one_noise: UNIT,
    mixed: UNIT,
    blocks: {"bounds": (0, 1), "records": 50},
    kind: tables(visits=Integers(low=0, high=9, missing=True)),
    distinct: UNIT,
    ties: UNIT,
    empty: tables(sex=Categories(values=("f", "m")), value=Numbers()),
    pattern: NAMES,
    phone: tables(name=Texts(longest=9, alphabet="0123456789+-")),
    case: NAMES,
    stripped: NAMES,
    whole: UNIT,
    unicode: NAMES,
    both_missing: tables(a=Numbers(missing=True), b=Numbers(missing=True)),
    digits: UNIT,
    joint: tables(age=Integers(low=0, high=120), sex=Categories(values=("f", "m"))),
}
