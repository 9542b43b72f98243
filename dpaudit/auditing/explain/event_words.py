"""Events of single parts of an output, in words.

What stands in the words is the name of a part and a value of it; records themselves, and the keys
that only some outputs have, only where they are to be shown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import default_rng

from dpaudit._typing import Array
from dpaudit.auditing.explain.threshold_words import format_output_value, format_threshold
from dpaudit.estimation.score_events import ThresholdEvent
from dpaudit.execution import stream
from dpaudit.mechanisms.outputs.features import Features, LogRatios, OneOf, OnePart, OneValue
from dpaudit.mechanisms.outputs.layout import INFINITE, NAN, Layout, LayoutColumn, PartLayout
from dpaudit.mechanisms.outputs.leaves import ABSENT
from dpaudit.neighbours import Pair, Side
from dpaudit.redaction import Record, are_shown
from dpaudit.report.formatting import format_significant

_ODD = 1e290  # where the numbers stand for what is no finite number
_ODDITIES = {NAN: "NaN", INFINITE: "infinite", -INFINITE: "minus infinity"}
_OTHER = "of another kind"
_RESTS = {"absent": "is absent", "as": "is not as usual", "code": "is new", "number": "is new"}
_FOLLOWS = ("keys", "len", "columns", "index")  # from what else is there
_SPECIAL = {0.0, ABSENT.code}
_AT_ONCE = 256  # outputs in which codes are looked for at once
_KEY = re.compile(r"\[[^\]]*\]|^(?!output)\w+")


class DrawSource(Protocol):
    """A source of outputs of a pair: a mechanism that tells the meaning of codes, and a seed."""

    @property
    def mechanism(self) -> Any:
        """Return the mechanism of the draws; it has ``texts``."""
        ...

    @property
    def pair(self) -> Pair[Any]:
        """Return the two datasets."""
        ...

    @property
    def seed(self) -> int:
        """Return the seed of all draws."""
        ...


@dataclass(frozen=True)
class FeatureEvent:
    """A score of features, the columns it looks at, and the event of it that promises most."""

    score: Callable[[Array], Array]
    columns: tuple[int, ...]
    event: ThresholdEvent


@dataclass(frozen=True)
class Words:
    """Puts events into words: of one that is usual on both sides, its complement.

    Parameters
    ----------
    layout, features
        Of the outputs.
    drawer
        What draws outputs, to read off them what a code stands for.
    fresh
        Features of the outputs that were counted, of both sides, shape ``(n, columns)`` each.
    usual
        From how many of the outputs on an event is usual.
    """

    layout: Layout
    features: Features
    drawer: DrawSource
    fresh: Sequence[Array]
    usual: float

    def of(self, tried: FeatureEvent, hits: tuple[int, int]) -> tuple[str, bool]:
        """Return the words for an event, and whether they are for its complement.

        Parameters
        ----------
        tried
            The event.
        hits
            In how many outputs it was seen, on the dataset and on its neighbour.
        """
        if not isinstance(tried.score, OnePart | OneOf | OneValue):
            above, threshold = tried.event.above, tried.event.threshold
            paths = ", ".join(path_of(self.layout.columns[n]) for n in tried.columns)
            sign = ">" if above else "<"
            said = format_threshold(threshold, [tried.score(side) for side in self.fresh])
            return f"a weighted sum of {paths} {sign} {said}", False
        column, usual = tried.score.column, min(hits) > self.usual
        path, ratios = path_of(self.layout.columns[column]), self.features.ratios.get(column)
        if isinstance(tried.score, OneValue):
            inside = tried.event.hits(np.array([tried.score.sign]))
            return f"{path} is {_ODDITIES.get(tried.score.value, '-0')}", not inside
        if isinstance(tried.score, OneOf):
            return self._values(tried, tried.score.ratios, path, usual)
        if ratios is not None:
            return self._values(tried, ratios, path, usual)
        return self._numbers(tried.event, tried.score, path, usual)

    def _numbers(
        self, event: ThresholdEvent, score: OnePart, path: str, usual: bool
    ) -> tuple[str, bool]:
        """Return on which side of a threshold the event is."""
        above, threshold = event.above == (score.sign > 0), event.threshold * score.sign
        sides = [side[:, score.column] for side in self.fresh]
        if score.centre is not None:
            how = "farther" if above != usual else "less far"
            away = format_threshold(threshold, [np.abs(side - score.centre) for side in sides])
            return f"{path} {how} than {away} from {format_threshold(score.centre, sides)}", usual
        if abs(threshold) > _ODD:
            return f"{path} is {self._odd(score.column, threshold)}", (threshold > 0) != above
        length = self._is_length(score.column)  # which `Record` tells as well
        said = format_significant(threshold) if length else format_threshold(threshold, sides)
        return f"{path} {'>' if above != usual else '<'} {said}", usual

    def _is_length(self, place: int) -> bool:
        column = self.layout.columns[place]
        return column.length or column.path.rpartition(".")[2] == "len"

    def _odd(self, column: int, threshold: float) -> str:
        """Return the words for outputs beyond a threshold that no finite number reaches."""
        seen = np.concatenate([side[:, column] for side in self.fresh])
        beyond = seen[seen > threshold] if threshold > 0 else seen[seen < threshold]
        return " or ".join(sorted({_ODDITIES.get(one, _OTHER) for one in beyond.tolist()})) or "odd"

    def _values(
        self, tried: FeatureEvent, ratios: LogRatios, path: str, usual: bool
    ) -> tuple[str, bool]:
        """Return which discrete values the event holds; or does not, if it holds unseen ones."""
        inside = tried.event.happened(ratios.ratios) > 0
        # The shorter list of values is the one to read; a tie goes to the values that are
        # plainer to say.
        flipped = bool(inside.sum() > (~inside).sum())
        if not flipped and inside.sum() == (~inside).sum():
            plain, other = (
                _compute_code_plainness(ratios.codes[which]) for which in (inside, ~inside)
            )
            flipped = other < plain or (other == plain and usual)
        codes = ratios.codes[~inside if flipped else inside]
        if set(ratios.codes.tolist()) <= {0.0, ABSENT.code}:
            return f"{path} is {'absent' if ABSENT.code in codes else 'there'}", flipped
        first, more = codes[:3].tolist(), len(codes) - 3
        if isinstance(tried.score, OneOf):
            return (
                f"{path} is "
                f"{' or '.join(map(format_output_value, first))}{_format_other_count(more)}",
                flipped,
            )
        known = self.known(first)
        if any(kind == "rest" for kind, _ in known.values()):
            said = " or ".join(self._rest(known.get(code)) for code in first)
            return f"{said}{_format_other_count(more)}", flipped
        said = " or ".join(_format_code_value(code, known.get(code)) for code in first)
        return f"{path} is {said}{_format_other_count(more)}", flipped

    def known(self, codes: list[float]) -> dict[float, tuple[str, str]]:
        """Return kinds and texts of codes, of as many outputs as show them, within limits.

        Parameters
        ----------
        codes
            As they stand in a column of what is discrete.
        """
        pair, seed, asked = self.drawer.pair, self.drawer.seed, set(codes) - _SPECIAL
        rngs = [default_rng(stream(seed, "witness: texts", side.value)) for side in Side]
        found, drawn = dict[float, tuple[str, str]](), 0
        # A value that was rare may not come again, and calls of somebody's code take time.
        while asked - set(found) and drawn < max(_AT_ONCE, 2 * len(self.fresh[0])):
            datasets = [pair.on(side) for side in Side]
            found |= self.drawer.mechanism.texts(datasets, _AT_ONCE, rngs, sorted(asked))
            drawn += _AT_ONCE
        return found

    def _rest(self, known: tuple[str, str] | None) -> str:
        """Return the present or absent parts that columns do not show."""
        if known is None:
            return "something else is there"
        told = {path: what.split(" ")[0] for path, what in ast.literal_eval(known[1])}
        # A new key also changes the list of keys and its length, which say less than the key.
        told = {path: what for path, what in told.items() if path not in _FOLLOWS} or told
        said = [f"{path_of(self._column(path))} {_RESTS[what]}" for path, what in told.items()]
        more = f" and {len(said) - 3} more" if len(said) > 3 else ""
        return " and ".join(said[:3]) + more

    def _column(self, path: str) -> LayoutColumn:
        usual = self.layout.usual if isinstance(self.layout, PartLayout) else {}
        everywhere = {one.path for one in self.layout.columns if one.everywhere} | set(usual)
        return LayoutColumn(path, True, path in everywhere)


def _format_other_count(more: int) -> str:
    return f" or one of {more} others" if more > 0 else ""


_UNREAD = "one outcome that was not seen again when its words were read"


def _format_code_value(code: float, known: tuple[str, str] | None) -> str:
    if code == ABSENT.code:
        return "absent"
    if code == 0.0:
        return "a number"
    if known is None:
        return _UNREAD
    kind, text = known
    if kind in ("raised", "type", "shape", "dtype", "NoneType", "bool"):
        return text
    if kind == "number" and text in ("nan", "inf", "-inf"):
        return {"nan": "NaN", "inf": "infinite", "-inf": "minus infinity"}[text]
    if are_shown():
        return f"{text!r}"
    return (
        f"{Record(text)}" if kind in ("str", "value") else f"{kind} #{_format_record_digest(text)}"
    )


def _compute_code_plainness(codes: Array) -> int:
    """Return how plainly codes are said: a value that is there before a usual or absent one."""
    return int(np.isin(codes, (0.0, ABSENT.code)).any())


def path_of(column: LayoutColumn) -> str:
    """Return the path of a part; a key that some outputs lack may be somebody's record."""
    shown = column.everywhere or are_shown()
    path = f"`{column.path if shown else _KEY.sub(_format_hidden_key, column.path)}`"
    return f"len({path})" if column.length else path


def _format_hidden_key(found: re.Match[str]) -> str:
    key = found[0].strip("[]'")
    hidden = f"[#{_format_record_digest(key)}]"
    return hidden if found[0].startswith("[") else f"output{hidden}"


def _format_record_digest(text: str) -> str:
    return f"{Record(text)}".rpartition("#")[2]


def plainness_of(column: LayoutColumn, score: object) -> tuple[int, bool]:
    """Return the place of a part among those that tell as much: codes go before numbers."""
    return first_said(column.path), not (column.discrete or isinstance(score, OneValue))


def first_said(path: str) -> int:
    """Return the rank of a path among others that tell as much: the most telling is first."""
    last = path.rpartition(".")[2]
    return {
        "raised": 0,
        "len": 1,
        "keys": 3,
        "columns": 3,
        "index": 3,
        "the rest": 4,
        "the values of the rest": 5,
    }.get(last, 2)
