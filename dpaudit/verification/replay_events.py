"""The event of a replay as its file has it: conditions on parts of an output."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpaudit.verification.document import Document
from dpaudit.verification.stated_draws import Stated, parse_stated_draw

if TYPE_CHECKING:
    pass

_SIDES = ("dataset", "neighbour")
_POSTS = ("", "round", "floor", "ceil", "trunc")


@dataclass(frozen=True)
class EventCondition:
    """A threshold on one part of an output, in steps of the noise that is added to it."""

    place: int
    above: bool
    steps: float
    draws: tuple[Stated, Stated]
    posts: tuple[str, str]


@dataclass(frozen=True)
class StatedEvent:
    """Conditions that hold together, or a sum of parts, and the dataset that they favour."""

    kind: str
    favours: int
    conditions: tuple[EventCondition, ...]


def parse_replay_event(document: Document, stated: Any) -> StatedEvent:
    """Return the event of a replay as its certificate states it."""
    try:
        kind, favours = stated["kind"], _SIDES.index(stated["favours"])
        conditions = tuple(_parse_event_condition(one) for one in stated["conditions"])
        if kind not in ("all of", "sum", "equal") or not 0 < len(conditions) <= 4096:
            raise ValueError(kind)
        return StatedEvent(kind, favours, conditions)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise document.refused("instance.evidence.event", stated, "an event") from error


def _parse_event_condition(stated: Mapping[str, Any]) -> EventCondition:
    first, second = (parse_stated_draw(one) for one in stated["draws"])
    steps, posts = float(stated["steps"]), tuple(stated["posts"])
    if not math.isfinite(steps) or not set(posts) <= set(_POSTS) or int(stated["place"]) < 0:
        raise ValueError("condition")
    return EventCondition(
        int(stated["place"]), bool(stated["above"]), steps, (first, second), (posts[0], posts[1])
    )


def parse_counted_part(document: Document, stated: Any) -> tuple[str, int, int]:
    """Return which part was counted, the dataset it favours, and its place."""
    try:
        what, favours, place = stated["what"], _SIDES.index(stated["favours"]), int(stated["place"])
    except (KeyError, TypeError, ValueError) as error:
        raise document.refused("instance.evidence.counted", stated, "what is counted") from error
    if what not in ("structure", "text", "number") or place < 0:
        raise document.refused("instance.evidence.counted", stated, "what is counted")
    return what, favours, place
