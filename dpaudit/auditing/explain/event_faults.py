"""The kind of fault of an event, if the part that it reads decides it without words."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dpaudit.auditing.explain.event_words import FeatureEvent
from dpaudit.faults.codes import (
    EXCEPTION_FROM_DATA,
    MISSING_VALUE,
    RUN_TIME,
    STRUCTURE_FROM_DATA,
    WARNING_FROM_DATA,
)
from dpaudit.mechanisms.outputs.features import Features, OneValue
from dpaudit.mechanisms.outputs.layout import NAN, Layout, LayoutColumn
from dpaudit.mechanisms.outputs.leaves import ABSENT

# What is observed beside the output, by the path of its parts; and the last part of a path of
# what an output is made of.
_BESIDE = {"seconds": RUN_TIME, "warnings": WARNING_FROM_DATA}
_ENDS = {
    "raised": EXCEPTION_FROM_DATA,
    "keys": STRUCTURE_FROM_DATA,
    "columns": STRUCTURE_FROM_DATA,
    "index": STRUCTURE_FROM_DATA,
    "len": STRUCTURE_FROM_DATA,
}


def fault_of_event(
    columns: Sequence[LayoutColumn],
    score: object,
    hits: tuple[int, int],
    runs: int,
    codes: Collection[float] = (),
) -> str | None:
    """Return the code of the kind of fault that an event shows; None if it does not decide it.

    A size or an exception may be noisy, and noisy too little: only one that is always there on one
    dataset and never on the other follows the records.

    Parameters
    ----------
    columns
        What the event is about.
    score
        How it looks at them.
    hits, runs
        How often it was seen, of so many outputs on either dataset.
    codes
        The discrete values of the part that were seen, if it has any: where it is there or absent,
        and nothing else, the event is that it is there.

    Examples
    --------
    >>> fault_of_event([LayoutColumn("output.keys", True)], None, (300, 0), 300)
    'DPA006'
    >>> fault_of_event([LayoutColumn("output.keys", True)], None, (300, 20), 300) is None
    True
    """
    if len(columns) != 1:
        return None
    (column,) = columns
    # What an observer sees beside the output has no noise that could excuse it, so any
    # difference counts.
    if (beside := _BESIDE.get(column.path.partition(".")[0])) is not None:
        return beside
    if sorted(hits) != [0, runs]:
        return None
    # The code 0 stands for any number, so the only thing that these values tell is presence.
    if ABSENT.code in codes and set(codes) <= {0.0, ABSENT.code}:
        return STRUCTURE_FROM_DATA
    if isinstance(score, OneValue) and score.value == NAN:
        return MISSING_VALUE
    return _ENDS.get("len" if column.length else column.path.rpartition(".")[2])


def find_tried_event_fault(
    tried: FeatureEvent, layout: Layout, features: Features, hits: tuple[int, int], runs: int
) -> str | None:
    """Return the code of the kind of fault that an event of laid-out outputs shows, if any.

    Parameters
    ----------
    tried
        The event.
    layout, features
        Of the outputs that it is about.
    hits, runs
        How often it was seen, of so many outputs on either dataset.
    """
    columns = [layout.columns[n] for n in tried.columns]
    ratios = features.ratios.get(tried.columns[0])
    codes = () if ratios is None else ratios.codes.tolist()
    return fault_of_event(columns, tried.score, hits, runs, codes)
