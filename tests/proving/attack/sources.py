"""Python functions at random, with the traps that a reader of code may fall into.

A function takes ``data`` and ``rng``, and returns numbers, each with noise of its own: unless a
line breaks that, on purpose. Such a line is *false* if no noise hides a record after it, whatever
the data: a proof of such a function is wrong without any search.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.domains import Domain

from .choices import Choices
from .traps import FALSE, HARMLESS
from .writing import Writer


@dataclass(frozen=True)
class Source:
    """A function's text.

    Parameters
    ----------
    text
        Of the module; the function is ``release``.
    domain
        What datasets may be.
    relation
        What neighbours are.
    traps
        Names of what is in it.
    is_false
        Whether no bound on its epsilon can be right.
    """

    text: str
    domain: Domain
    relation: str
    traps: tuple[str, ...]
    is_false: bool


# --- statements on arrays of records

ARRAYS = (
    "np.clip({a}, {c}, {d})",
    "np.clip({a}, 0, 1)",
    "{a} * {c}",
    "{a} + {c}",
    "{a} ** 2",
    "np.abs({a})",
    "{a} - {a}.mean()",
    "{a}[1:] - {a}[:-1]",
    "{a}[::-1]",
    "{a}[::2]",
    "{a}[1:]",
    "np.where({a} > {c}, {a}, 0)",
    "np.where({a} > {c}, 1.0, {b})",
    "np.minimum({a}, {b})",
    "np.maximum({a}, {c})",
    "{a} + {b}",
    "{a} * {b}",
    "np.sort({a}, axis=0)",
    "np.cumsum({a}, axis=0)",
    "{a} / (1 + np.abs({a}))",
    "{a} / {c}",
    "{c} / {a}",
    "{a} % {c}",
    "{a} // {c}",
    "np.exp(-np.abs({a}))",
    "np.log1p(np.abs({a}))",
    "np.sqrt(np.abs({a}))",
    "np.tanh({a})",
    "np.concatenate([{a}, {b}])",
    "np.roll({a}, 1)",
    "np.diff({a})",
    "{a}[0] * {b}",
    "{a} - {a}[0]",
    "np.outer({a}, {a}).sum(axis=0)",
    "{a}.astype(np.int8)",
    "{a}.astype(np.int64)",
    "{a}.astype(np.float32)",
    "np.broadcast_to({a}, (2, *{a}.shape)).sum(axis=0)",
    "{a}.copy()",
    "{a}.reshape(-1)",
    "np.array([value * {c} for value in {a}])",
    "np.array([min(max(value, 0.0), 1.0) for value in {a}])",
    "{a}[{a} > {c}]",
    "np.repeat({a}, 2, axis=0)",
    "np.round({a}, 1)",
    "np.nan_to_num({a})",
    "{a} / max(1.0, np.linalg.norm({a}))",
    "{a} * min(1.0, 1.0 / np.linalg.norm({a}))",
    "helper({a})",
    "closure({a})",
)
ROWS = (
    "{a} / np.maximum(1.0, np.linalg.norm({a}, axis=1))[:, None]",
    "{a} / np.maximum(1.0, np.linalg.norm({a}, axis=1, keepdims=True))",
    "{a} * np.minimum(1.0, 1.0 / np.linalg.norm({a}, axis=1))[:, None]",
    "{a} / np.maximum(1.0, np.abs({a}).sum(axis=1))[:, None]",
    "{a} / np.maximum(1.0, np.linalg.norm({a}, axis=0))",
    "{a}[:, 0]",
    "{a}[:, ::-1]",
    "{a}.T @ {a}",
    "{a} @ {a}.T",
    "{a}.sum(axis=1)",
    "{a}.max(axis=1)",
    "{a} - {a}.mean(axis=0)",
)
NUMBERS_OF = (
    "{a}.sum()",
    "{a}.sum()",
    "{a}.mean()",
    "np.mean({a})",
    "float({a}.sum())",
    "sum({a})",
    "{a}.max()",
    "max({a})",
    "min({a})",
    "np.median({a})",
    "np.quantile({a}, 0.75)",
    "np.percentile({a}, 25)",
    "{a} @ {b}",
    "((({a} - {a}.mean()) ** 2)).mean()",
    "np.var({a})",
    "np.std({a})",
    "np.var({a}, ddof=1)",
    "np.linalg.norm({a})",
    "({a} > {c}).sum()",
    "int(({a} > {c}).sum())",
    "np.count_nonzero({a} > {c})",
    "np.sum({a}, where={a} > {c})",
    "({a} * {b}).sum()",
    "{a}.ptp() if hasattr({a}, 'ptp') else np.ptp({a})",
    "len({a})",
    "{a}.size",
    "sum(1 for value in {a} if True)",
    "sum(value * value for value in {a})",
    "{a}.astype(np.int8).sum(dtype=np.int8)",
    "{a}.sum() / len({a})",
    "{a}.sum() / {b}.sum()",
    "{a}[0]",
    "{a}[-1] - {a}[0]",
    "np.prod({a})",
    "np.argmax({a})",
    "abs({a}.sum())",
    "round({a}.sum())",
    "math.sqrt(abs({a}.sum()))",
    "np.histogram({a}, bins=[0, 0.5, 1])[0]",
    "np.bincount({a}.astype(int), minlength=3)",
    "np.mean([value for value in {a}])",
    "np.clip({a}.sum(), {c}, {d})",
    "(lambda value: value * 2)({a}.sum())",
    "np.nanmean({a})",
    "np.dot({a}, {a})",
    "np.cov({a}, {b})[0, 1]",
    "np.trapezoid({a})",
)


def _fill(writer: Writer, form: str) -> str:
    return form.format(a=writer.array(), b=writer.array(), c=writer.constant(), d=writer.constant())


def write_array(writer: Writer) -> None:
    """Write an array of records, made of others."""
    forms = ROWS if writer.width and writer.choices.happens(40) else ARRAYS
    writer.let("a", _fill(writer, writer.choices.one_of(forms)))


def write_number(writer: Writer) -> None:
    """Write a statistic."""
    form = writer.choices.one_of(NUMBERS_OF)
    if writer.width and writer.choices.happens(30):
        form = writer.choices.one_of(("{a}.sum(axis=0)", "{a}.mean(axis=0)", "{a}.T @ {a}"))
    writer.let("s", _fill(writer, form))


LAWS = (
    "rng.laplace(scale={s})",
    "rng.laplace(0, {s})",
    "rng.laplace(size=np.shape({v}), scale={s})",
    "rng.normal(scale={s}, size=np.shape({v}))",
    "rng.normal(0.0, {s})",
    "{s} * rng.standard_normal(np.shape({v}))",
    "rng.laplace() * {s}",
    "rng.normal(size=np.shape({v})) / {s}",
    "np.array([rng.laplace(scale={s}) for _ in range(np.size({v}))]).reshape(np.shape({v}))",
    "rng.gumbel(scale={s}, size=np.shape({v}))",
    "rng.exponential({s}) - rng.exponential({s})",
    "rng.uniform(-{s}, {s})",
    "rng.logistic(scale={s}, size=np.shape({v}))",
)


def write_release(writer: Writer) -> None:
    """Write a statistic with noise."""
    if not writer.numbers:
        write_number(writer)
    value = writer.choices.one_of(writer.numbers[-2:])
    law = writer.choices.one_of(LAWS[:9] if writer.choices.happens(80) else LAWS)
    noise = law.format(s=writer.scale(), v=value)
    form = writer.choices.one_of(
        ("{v} + {n}", "{v} + {n}", "{n} + {v}", "{v} - {n}", "{v} * 2 + {n}")
    )
    writer.let("r", form.format(v=value, n=noise))


def write_source(choices: Choices) -> Source:
    """Return a function at random, and the datasets that it is for."""
    domain, relation, width = make_domain(choices)
    writer = Writer(choices, width)
    for _ in range(choices.between(1, 3)):
        for _ in range(choices.between(0, 2)):
            write_array(writer)
        if choices.happens(25):
            choices.one_of(HARMLESS)(writer)
        write_number(writer)
        write_release(writer)
    if choices.happens(20):
        choices.one_of(FALSE)(writer)
    text = write_module(writer)
    return Source(text, domain, relation, tuple(writer.traps), _is_false(writer))


def _is_false(writer: Writer) -> bool:
    """Return whether no bound can be right: what is written over may be public thereafter."""
    return writer.is_false and "the dataset is written into" not in writer.traps


def make_domain(choices: Choices) -> tuple[Domain, str, int]:
    """Return a domain, a relation, and how many numbers a record has, 0 of an array."""
    bounds = choices.one_of(((0, 1), (0.0, 1.0), (-1, 1), (-2, 3), (0.5, 2.0)))
    width = choices.between(2, 3) if choices.happens(25) else 0
    adds = choices.happens(25)
    others: dict[str, Any] = {"columns": width} if width else {}
    if choices.happens(15):
        others["integers"] = True
    elif width and bounds[0] < 0 and choices.happens(60):
        others["norm"] = 1.0
    records = (2, 6) if adds else choices.between(1, 5)
    domain = Domain(bounds=bounds, records=records, **others)
    return domain, "add-remove-record" if adds else "replace-record", width


HELPERS = (
    "def helper(values):",
    "    return np.clip(values, 0, 1)",
    "",
    "",
    "FACTOR = 2.0",
    "closure = (lambda factor: lambda values: values * factor)(FACTOR)",
)


def write_module(writer: Writer) -> str:
    """Return the text of a module."""
    returned = ", ".join(writer.noisy)
    if len(writer.noisy) > 1 or writer.choices.happens(20):
        returned = f"[{returned}]"
    body = [*writer.lines, f"return {returned}"]
    if writer.choices.happens(15):
        body = ["try:", *(f"    {one}" for one in body), "except Exception:", "    return 0.0"]
        writer.trap("try around everything")
    return "\n".join(
        [
            "import copy",
            "import math",
            "import random",
            "",
            "import numpy as np",
            "",
            *HELPERS,
            *writer.before,
            "",
            "def release(data, rng):",
            *(f"    {one}" for one in body),
            "",
        ]
    )


def as_seen(source: Source) -> str:
    """Return a source as it is shown where it breaks a proof."""
    return f"{source.relation} in {source.domain}, {', '.join(source.traps)}:\n{source.text}"


def load_source(source: Source, name: str) -> Callable[..., object]:
    """Return the function of a source, whose lines errors can show."""
    linecache.cache[name] = (len(source.text), None, source.text.splitlines(True), name)
    module: dict[str, object] = {"__name__": name.removesuffix(".py"), "np": np}
    exec(compile(source.text, name, "exec"), module)
    function = module["release"]
    assert callable(function)
    return function
