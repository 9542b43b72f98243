"""The audit of outputs, of scores of them, or of guesses, that somebody already drew.

An event is chosen on a part of them and certified on the rest
(`dpaudit.auditing.estimators.given_outputs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import dpaudit.redaction as redaction
from dpaudit._typing import Array
from dpaudit.auditing.estimators.given_outputs import event_evidence
from dpaudit.auditing.repeat.plan import Wording
from dpaudit.auditing.samples.output_audit import (
    outputs_result,
    outputs_statement,
    prepare_output_audit,
)
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.extension.settings import Settings
from dpaudit.mechanisms.outputs.outcomes import Inexact, as_doubles
from dpaudit.redaction import Record
from dpaudit.report.document import Result

_LEAST = 40  # runs of a side, so that every part has some


def audit_outputs(
    on_dataset: Any,
    on_neighbour: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    confidence: float = 0.95,
    seed: int = 0,
    show_records: bool = False,
) -> Result:
    """Audit the claim that a mechanism is (epsilon, delta)-DP on outputs that somebody drew.

    The audit puts the outputs of each side into a random order and splits them: one part chooses an
    event, and only the rest counts it. Of scores, a third chooses. Of outputs, attacks learn on a
    quarter, and another quarter chooses. All guesses, each 0 or 1, are counted: their order changes
    no number.

    Parameters
    ----------
    on_dataset, on_neighbour
        Independent outputs of two neighbouring datasets, at least 40 of each; the two numbers may
        differ. Scores, shape ``(n,)``, are one number for each run that tends to be higher on one
        of the two datasets, no matter which. Guesses are all 0 or 1. The installed distinguishers
        learn to score outputs of shape ``(n, ...)``. Also the names of files of outputs
        (`dpaudit.auditing.files.column_files`): two files, or one file with a column that names the
        dataset of each row. If the rows of a file contradict independence, there is no verdict.
    epsilon, delta
        The claimed guarantee.
    confidence
        The confidence of the certified lower bound.
    seed
        The seed of the order and of attacks that learn with randomness.
    show_records
        True to let messages hold values of outputs.

    Returns
    -------
    Result
        The result, as `audit` returns it.

    Raises
    ------
    InvalidArgument
        An argument does not fit its description here.

    Notes
    -----
    Formal guarantee: if the outputs are independent, scored by a rule that did not depend on them,
    and the mechanism is (epsilon, delta)-DP, the claim is refuted with a probability of at most
    ``1 - confidence``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> result = audit_outputs(rng.laplace(1, 0.5, 9000), rng.laplace(0, 0.5, 9000), epsilon=1.0)
    >>> result.verdict, 1 < result.measured.lower < 2
    ('refuted', True)

    A paper's attack guesses "in" in 471 of 500 runs with a record, and in 23 of 500 without:

    >>> inside, outside = np.repeat([1, 0], [471, 29]), np.repeat([1, 0], [23, 477])
    >>> round(audit_outputs(inside, outside, epsilon=2.0, delta=1e-5).measured.lower, 2)
    2.59
    """
    asked = Settings(epsilon=epsilon, delta=delta, confidence=confidence, seed=seed)
    files = [one for one in (on_dataset, on_neighbour) if isinstance(one, str | Path)]
    with redaction.run(show_records):
        if files:
            return _of_files(files, on_neighbour, asked)
        evidence = event_evidence(*_require_matching_outputs(on_dataset, on_neighbour), asked)
    statement = outputs_statement(asked, "the caller of dpaudit.audit_outputs")
    return outputs_result(
        statement, evidence, asked, _format_outputs_call("on_dataset, on_neighbour", asked)
    )


def _of_files(files: Sequence[str | Path], last: Any, asked: Settings) -> Result:
    if last is not None and len(files) == 1:
        expected = "the name of another file, or nothing beside a file that holds both"
        raise InvalidArgument("on_neighbour", Record(last), expected)
    names = [str(one) for one in files]
    prepared = prepare_output_audit(
        names, asked, Wording(words=_format_outputs_call(", ".join(map(repr, names)), asked))
    )
    return prepared.run().result


def _format_outputs_call(outputs: str, asked: Settings) -> str:
    return (
        f"dpaudit.audit_outputs({outputs}, epsilon={asked.epsilon!r}, delta={asked.delta!r}, "
        f"confidence={asked.confidence!r}, seed={asked.seed})"
    )


def _require_matching_outputs(on_dataset: Any, on_neighbour: Any) -> tuple[Array, Array]:
    on_p, on_q = (
        _parse_outputs("on_dataset", on_dataset),
        _parse_outputs("on_neighbour", on_neighbour),
    )
    if on_p.shape[1:] != on_q.shape[1:]:
        shapes = VerbatimText(f"outputs of shapes {on_p.shape[1:]} and {on_q.shape[1:]}")
        raise InvalidArgument("on_neighbour", shapes, "outputs of the same shape on both sides")
    return on_p, on_q


def _parse_outputs(name: str, given: Any) -> Array:
    try:
        outputs = as_doubles(given)
    except Inexact as error:
        expected = f"{error.instead}: an output must not change when it becomes doubles"
        raise InvalidArgument(name, VerbatimText(error.seen_in(given)), expected) from None
    except (TypeError, ValueError):
        expected = "an array of numbers, one output a row"
        raise InvalidArgument(name, Record(given), expected) from None
    if outputs.ndim == 0 or len(outputs) < _LEAST or not outputs[0].size:
        shown = VerbatimText(f"shape {outputs.shape}")
        raise InvalidArgument(name, shown, f"at least {_LEAST} outputs, one a row")
    if not np.isfinite(outputs).all():
        raise InvalidArgument(name, VerbatimText("NaN or infinity"), "finite numbers")
    return outputs
