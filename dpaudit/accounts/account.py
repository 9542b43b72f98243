"""An account of releases: every accountant's answer, the paper's number, and the proved one.

The releases are given by name with their parameters, as a TOML file of them, or as an event.
"""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit.accounting.accountants import AccountantAnswer, ask_all, select_strongest_answer
from dpaudit.accounting.events import Event
from dpaudit.accounting.samples import (
    SAMPLES,
)
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.accounts.sharing import (
    compute_event_totals,
    of_own_samples,
)
from dpaudit.accounts.target import AccountTarget, read_target
from dpaudit.errors import ConvergenceError, InvalidArgument, VerbatimText
from dpaudit.extension.release import FormulaGuarantee
from dpaudit.formats import add_schema

_DIGITS = 8  # of a number in a sentence
PRIORS = (0.5, 0.1, 0.01)


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """The strongest proved guarantee in words a reader understands.

    Parameters
    ----------
    advantage
        Largest true-positive less false-positive rate of any attack.
    success
        Prior probability of one of two neighbours, and the best chance to guess right.
    group
        A number of steps of the relation between two datasets, and epsilon for them, or None.
    """

    advantage: float
    success: tuple[tuple[float, float], ...]
    group: tuple[int, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Account:
    """Everything about one target at one delta.

    Parameters
    ----------
    name, title, relation, parameters
        What was accounted for.
    delta
        At which epsilon was asked.
    answers
        Of every accountant.
    proved
        The answer with the least upper end, or None.
    published
        The paper's own number, or None.
    meaning
        Of the strongest guarantee.
    words
        What the guarantee is about, of every part that says so.
    remarks
        What is said beside the answer: other readings, and what would change it.
    shared
        What was taken for shared by which releases: ``of``, the kind; ``shared``, which is
        ``nothing``, ``one sample``, ``one budget``, ``disjoint data`` or, of releases that may be
        of one sample, ``unknown``: all numbers are then the worse of both; and how many
        ``releases``.
    own_samples
        Where that is unknown, the epsilon that is proved if every release draws a sample of its
        own; None otherwise.
    total
        ``mu`` of Gaussian releases and ``rho`` of zero-concentrated DP, rounded up; None where
        there is none.
    """

    name: str
    title: str
    relation: str
    parameters: tuple[dict[str, Any], ...]
    delta: float
    answers: tuple[AccountantAnswer, ...]
    proved: AccountantAnswer | None
    published: FormulaGuarantee | None
    meaning: Meaning
    words: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    shared: tuple[dict[str, Any], ...] = ()
    own_samples: float | None = None
    total: dict[str, float | None] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        from dpaudit.accounts.display import as_html

        return as_html(self)

    def figure(
        self, path: str | os.PathLike[str] | None = None, *, width: float | None = None
    ) -> NDArray[np.object_]:
        """Return matplotlib axes with every accountant's answer; write a file where asked.

        Parameters
        ----------
        path
            A file to write, which ends in ``.pdf``, ``.svg`` or ``.png``.
        width
            Of the figure in inches, say 3.3 for one column of two.

        Returns
        -------
        numpy.ndarray
            Axes, shape ``(1,)``. The figure is ``axes[0].figure``.

        Raises
        ------
        InvalidArgument
            The file ends otherwise, or the width is below 2 inches.
        DataError
            The file cannot be written.
        """
        from dpaudit.accounts.display import draw_account

        return draw_account(self, path, width=width)

    def to_latex(self) -> str:
        r"""Return the release, the smallest proved epsilon at delta, and who proves it: a row."""
        from dpaudit.accounts.display import row_of_account

        return row_of_account(self)

    def document(self) -> dict[str, Any]:
        """Return all of it as JSON takes it; times are left out, infinities are text."""
        return add_schema("account", _to_plain_account(asdict(self)))


def _to_plain_account(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _to_plain_account(item) for name, item in value.items() if name != "seconds"}
    if isinstance(value, list | tuple):
        return [_to_plain_account(item) for item in value]
    # JSON has no infinity.
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def account(
    release: str | Event,
    delta: float = 1e-5,
    *,
    group: int | None = None,
    samples: str | None = None,
    **parameters: Any,
) -> Account:
    """Return every accountant's answer about a release, and the meaning of the best of them.

    Parameters
    ----------
    release
        The name of an installed release (``dpaudit list`` shows them), the path of a TOML file of
        releases, or an event.
    delta
        The delta in [0, 1) at which epsilon is asked.
    group
        The number of steps of the neighbour relation between two datasets, to answer for a group of
        records too.
    samples
        ``independent`` states that every release draws a sample of its own. Without this statement,
        releases of one sampler that are written one by one may be of one sample, and all numbers
        are the worse of the two readings.
    parameters
        The public parameters of a release by name. A parameter that has the name of an argument
        here, such as the delta of ``approximate``, needs an event.

    Raises
    ------
    UnknownName, InvalidArgument, DataError
        The name, a parameter or the file is not as expected.
    UnsupportedEvent
        No theorem covers the event.

    Examples
    --------
    >>> answer = account("gaussian", delta=1e-5, noise_scale=5.0, count=25)
    >>> answer.proved.accountant, round(answer.proved.upper, 4)
    ('Gaussian DP', 4.3772)
    >>> from dpaudit.accounting.events import LaplaceRelease
    >>> event = LaplaceRelease(sensitivity=0.1, noise_scale=1.0, count=100)
    >>> round(account(event, 1e-5).proved.upper, 4)
    4.2203
    """
    check.require_delta("delta", delta)
    if samples is not None:
        check.require_choice("samples", samples, SAMPLES)
    if group is not None:
        check.require_integer("group", group, least=1)
    if isinstance(release, str):
        target = read_target(release, parameters)
        said = target.samples if samples is None else samples
        return account_for(replace(target, samples=said), delta, group)
    if parameters:
        given = VerbatimText(", ".join(parameters))
        raise InvalidArgument("parameters", given, "none: the event has its own")
    return account_for(AccountTarget.of(release, samples), delta, group)


def account_for(target: AccountTarget, delta: float, group: int | None = None) -> Account:
    """Return the account of a target at ``delta`` in [0, 1), if asked also for a group."""
    event, shared = target.event, target.if_shared
    answers = ask_all(event, delta)
    exact = shared is None or shared.exact
    # A lower end of an event that is worse than what is released would claim that somebody loses
    # what nobody does.
    if not exact or not all(part.is_attained for part in target.parts):
        answers = tuple(_upper_end(one) for one in answers)
    _require_consistent_answers(answers)
    guarantee = proved_guarantee(event)
    single = target.parts[0] if len(target.parts) == 1 else None
    own = None if shared is None else proved_guarantee(target.own).epsilon(delta)
    return Account(
        name=target.name,
        title=single.card.title if single else f"a sequence of {len(target.parts)} releases",
        relation=target.relation,
        parameters=tuple(
            {"kind": part.card.name} | part.parameters.model_dump() for part in target.parts
        ),
        delta=delta,
        answers=answers,
        proved=select_strongest_answer(answers),
        # A paper's formula is about one reading, and must not stand beside an answer about two.
        published=single.published(delta) if single and shared is None else None,
        meaning=Meaning(
            advantage=guarantee.advantage(),
            success=tuple((prior, guarantee.success(prior)) for prior in PRIORS),
            group=None if group is None else (group, guarantee.group(group).epsilon(delta)),
        ),
        words=target.words,
        remarks=(*of_own_samples(own, _DIGITS), *target.remarks(delta)),
        shared=target.shared,
        own_samples=own,
        total=compute_event_totals(event),
    )


def _upper_end(answer: AccountantAnswer) -> AccountantAnswer:
    """Return an answer about an event that is worse than the release: without its lower end."""
    kind = answer.kind if answer.kind == "estimate" else "upper bound"
    return replace(answer, kind=kind, lower=None)


def _require_consistent_answers(answers: tuple[AccountantAnswer, ...]) -> None:
    """Raise `ConvergenceError` if a proved upper end is below a certified lower end."""
    best = select_strongest_answer(answers)
    for answer in answers:
        if answer.lower is None or best is None or best.upper is None:
            continue
        # Both ends are certified: crossing by more than rounding means that some accountant is
        # wrong, and no answer may be shown.
        if answer.lower > best.upper * (1 + 1e-9):
            raise ConvergenceError(
                f"accountants contradict each other: {best.accountant} proves {best.upper}, "
                f"{answer.accountant} certifies at least {answer.lower}; please report this"
            )
