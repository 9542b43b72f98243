"""Events of single parts of an output, in words.

What stands in the words is the name of a part and a value of it; records themselves, and the keys
that only some outputs have, only where they are to be shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import default_rng

from dpaudit._typing import Array
from dpaudit.auditing.draws import Drawer
from dpaudit.estimation.counted import Event
from dpaudit.execution import stream
from dpaudit.laws.features import Features, OnePart
from dpaudit.laws.layout import Column, Layout
from dpaudit.laws.observations import ABSENT
from dpaudit.neighbours import Side
from dpaudit.records import Record, are_shown
from dpaudit.report.formatting import number

_ODD = 1e290  # where the numbers stand for what is no finite number
_KEY = re.compile(r"\[[^\]]*\]|^(?!output)\w+")


@dataclass(frozen=True)
class Tried:
    """A score of features, the columns it looks at, and the event of it that promises most."""

    score: Callable[[Array], Array]
    columns: tuple[int, ...]
    event: Event


@dataclass(frozen=True)
class Words:
    """Says an event in words, and whether it says the complement: of what is usual on both sides.

    ``usual`` is from how many of the runs on.
    """

    layout: Layout
    features: Features
    drawer: Drawer
    usual: float

    def of(self, tried: Tried, hits: tuple[int, int]) -> tuple[str, bool]:
        """Return the words for an event, and whether they are for its complement.

        Parameters
        ----------
        tried
            The event.
        hits
            In how many runs it was seen, on the dataset and on its neighbour.
        """
        above, threshold = tried.event.above, tried.event.threshold
        if not isinstance(tried.score, OnePart):
            paths = ", ".join(path_of(self.layout.columns[n]) for n in tried.columns)
            sign = ">" if above else "<"
            return f"a weighted sum of {paths} {sign} {number(threshold)}", False
        path, usual = path_of(self.layout.columns[tried.score.column]), min(hits) > self.usual
        if tried.score.column in self.features.ratios:
            return self._values(tried, path, usual)
        above, threshold = above == (tried.score.sign > 0), threshold * tried.score.sign
        if tried.score.centre is not None:
            how = "farther" if above != usual else "less far"
            return f"{path} {how} than {number(threshold)} from {number(tried.score.centre)}", usual
        if abs(threshold) > _ODD:
            return f"{path} is odd", (threshold > 0) != above
        return f"{path} {'>' if above != usual else '<'} {number(threshold)}", usual

    def _values(self, tried: Tried, path: str, usual: bool) -> tuple[str, bool]:
        """Return which discrete values the event holds; or does not, if it holds unseen ones."""
        ratios = self.features.ratios[tried.columns[0]]
        inside = tried.event.happened(ratios.ratios) > 0
        flipped = bool(inside.sum() > (~inside).sum())
        if not flipped and inside.sum() == (~inside).sum():
            plain, other = (_plainness(ratios.codes[which]) for which in (inside, ~inside))
            flipped = other < plain or (other == plain and usual)
        codes = ratios.codes[~inside if flipped else inside]
        if set(ratios.codes.tolist()) <= {0.0, ABSENT.code}:
            return f"{path} is {'absent' if ABSENT.code in codes else 'there'}", flipped
        shown = " or ".join(self._texts(codes[:3].tolist()))
        more = f" or one of {len(codes) - 3} others" if len(codes) > 3 else ""
        return f"{path} is {shown}{more}", flipped

    def _texts(self, codes: list[float]) -> list[str]:
        pair, seed = self.drawer.pair, self.drawer.seed
        rngs = [default_rng(stream(seed, "witness: texts", side.value)) for side in Side]
        found = self.drawer.mechanism.texts([pair.on(side) for side in Side], 256, rngs, codes)
        return [_value(code, found.get(code)) for code in codes]


def _value(code: float, known: tuple[str, str] | None) -> str:
    if code == ABSENT.code:
        return "absent"
    if code == 0.0:
        return "a number"
    kind, text = known or ("value", repr(code))
    if kind in ("raised", "type", "shape", "dtype", "NoneType", "bool"):
        return text
    if kind == "number" and text in ("nan", "inf", "-inf"):
        return {"nan": "NaN", "inf": "infinite", "-inf": "minus infinity"}[text]
    return f"{text!r}" if are_shown() else f"{Record(text)}"


def _plainness(codes: Array) -> int:
    """Return how plainly codes are said: something there before what is usual or absent."""
    return int(np.isin(codes, (0.0, ABSENT.code)).any())


def path_of(column: Column) -> str:
    """Return the path of a part; a key that some outputs lack may be somebody's record."""
    if column.everywhere or are_shown():
        return f"`{column.path}`"
    return f"`{_KEY.sub(_hidden, column.path)}`"


def _hidden(found: re.Match[str]) -> str:
    key = found[0].strip("[]'")
    digest = f"{Record(key)}".rpartition("#")[2]
    return f"[#{digest}]" if found[0].startswith("[") else f"output[#{digest}]"
